//! What the resolver decided: `uv.lock`, and the part of it that a set of roots needs.
//!
//! A lock answers for every platform, Python, extra and group at once. Most edits of it do not concern a given
//! image, so a build that keys its layers by the whole file rebuilds for nothing. This room reads the lock and
//! works out the exact [`Subset`] that some [`Roots`] need on one [`Target`], in a canonical form: sorted, with
//! the one file that will be installed for each package, and free of what changes no installed byte.
//!
//! The semantics are uv's (`crates/uv-resolver/src/lock/installable.rs`), and markers are PEP 508's.

mod error;
mod name;
mod package;
mod pyproject;
mod source;
mod subset;

pub use error::SubsetError;
pub use name::{PackageName, ParseNameError, normalise};
pub use package::{Dependency, Package};
pub use pyproject::Project;
pub use source::{Artifact, File, Source};
pub use subset::{Locked, PythonVersion, Root, Roots, Subset, Target};
