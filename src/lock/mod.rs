//! What the resolver decided: a lockfile, and the part of it that a set of roots needs.
//!
//! A lock answers for every platform, Python, extra and group at once. Most edits of it do not concern a given
//! image, so a build that keys its layers by the whole file rebuilds for nothing. This room reads the lock and
//! works out the exact [`Subset`] that some [`Roots`] need on one [`Target`], in a canonical form: sorted, with
//! the one file that will be installed for each package, and free of what changes no installed byte.
//!
//! The semantics are uv's (`crates/uv-resolver/src/lock/installable.rs`), and markers are PEP 508's.
//!
//! # Graphs and lists
//!
//! A `uv.lock` is a graph: it says what each package needs, so any package of it can be a root. A `pylock.toml`
//! (PEP 751) and a `requirements.txt` with hashes are *lists*: each package says by its own marker whether it is
//! installed. What is asked of a list means this:
//!
//! - [`Roots::everything`] is what `pip install -r` and `uv pip install -r` of the file install: every package whose
//!   marker holds, with the extras and dependency groups that were asked for. The default groups of a `pylock.toml`
//!   stand for the project itself and are always on, as in uv; other groups and all extras are off unless named.
//! - A package by name is that entry of the file, and what its `dependencies` name when the file has them. PEP 751
//!   keeps that key from installers, since a whole file needs no graph; to cut a part out of it there is nothing
//!   else. Most files have none ([`Lock::has_dependencies`]): then a name stands for itself alone.
//!
//! Where several entries of one name are installed at once there is no answer, as PEP 751 says. A hashed
//! `requirements.txt` names no files, so its packages become [`Artifact::Pinned`]: an index gives the file, and the
//! hashes decide whether it is the right one.

mod cargo;
mod chain;
#[expect(
    clippy::result_large_err,
    reason = "an error ends the plan, so its size costs nothing"
)]
mod closure;
mod conflict;
mod document;
mod error;
mod expression;
mod format;
mod listed;
mod marker;
mod name;
mod package;
mod parse;
mod plain;
mod pylock;
mod pyproject;
mod reader;
mod requirement;
mod requirements;
mod requires;
#[expect(
    clippy::result_large_err,
    reason = "an error ends the plan, so its size costs nothing"
)]
mod roots;
mod source;
mod subset;
mod tags;
mod url;
#[expect(
    clippy::result_large_err,
    reason = "an error ends the plan, so its size costs nothing"
)]
mod walk;
mod wheel;

#[cfg(test)]
mod faults;
#[cfg(test)]
mod forks;
#[cfg(test)]
mod laws;
#[cfg(test)]
mod lists;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use pep440_rs::VersionSpecifiers;

pub use cargo::{Manifest, Manifests, Workspace};
pub use error::SubsetError;
pub use name::{PackageName, ParseNameError, normalise};
pub use package::{Dependency, Package};
pub use pyproject::Project;
pub use requires::Asked;
pub use source::{Artifact, File, Indexes, Source};
pub use subset::{Locked, Origin, PythonVersion, Root, Roots, Subset, Target};
pub use tags::{Unfit, check_wheel};

use crate::diagnostic::{Diagnostic, SourceFile};

/// A parsed lockfile.
#[derive(Debug, Clone)]
pub struct Lock {
    file: Arc<SourceFile>,
    packages: Vec<Package>,
    /// Indices of `packages`, in the order of the file.
    by_name: BTreeMap<PackageName, Vec<usize>>,
    requires_python: Option<(String, VersionSpecifiers)>,
    /// Environments that the project limits itself to; empty for all.
    supported: Vec<package::MarkerId>,
    /// Forks of the resolution; empty when there was one for all environments.
    forks: Vec<package::MarkerId>,
    conflicts: Vec<BTreeSet<conflict::ConflictItem>>,
    members: BTreeSet<PackageName>,
    overrides: Overrides,
    /// Dependency groups of a workspace root that is no project.
    groups: BTreeMap<String, Vec<parse::Requirement>>,
    /// Every distinct marker once.
    markers: Vec<marker::Marker>,
    /// How packages are chosen from a file that lists them; `None` for a graph.
    list: Option<List>,
}

/// What a project has said against the metadata of packages when it was locked (uv's `override-dependencies`,
/// `exclude-dependencies` and `dependency-metadata`).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Overrides {
    /// Whatever asks for them.
    requirements: BTreeSet<PackageName>,
    /// Packages whose requirements are all the project's.
    packages: BTreeSet<PackageName>,
}

impl Overrides {
    /// Whether the project, and not its metadata, decides what a package gets of a requirement; both by normalised name.
    pub fn decide(&self, package: &str, requirement: &str) -> bool {
        let has = |names: &BTreeSet<PackageName>, name| names.iter().any(|one| one.as_str() == name);
        has(&self.requirements, requirement) || has(&self.packages, package)
    }
}

/// What a file that lists packages can be asked for.
#[derive(Debug, Clone, Default)]
struct List {
    extras: BTreeSet<String>,
    groups: BTreeSet<String>,
    /// Groups that are always on.
    default_groups: BTreeSet<String>,
    /// Whether its packages say what they depend on.
    has_dependencies: bool,
}

impl Lock {
    /// Reads a `uv.lock`, a `pylock.toml` (or `pylock.*.toml`), or a `requirements.txt` with hashes.
    ///
    /// The file's name decides the format, and its content where the name says nothing. Beside the lock come warnings,
    /// such as of a newer revision of the format. The errors are all that were found: broken syntax, missing or wrong
    /// values, edges to packages that are not there, requirements that are not pinned, and credentials in URLs (their
    /// text is blotted out of what the diagnostics show).
    pub fn parse(file: &Arc<SourceFile>) -> Result<(Self, Vec<Diagnostic>), Vec<Diagnostic>> {
        format::parse(file)
    }

    /// What the project has said against the metadata of packages.
    pub fn overrides(&self) -> &Overrides {
        &self.overrides
    }

    /// All packages, in the order of the file.
    pub fn packages(&self) -> &[Package] {
        &self.packages
    }

    /// Whether the file says what its packages need. If not, a root brings nothing but itself.
    pub fn has_dependencies(&self) -> bool {
        self.list.as_ref().is_none_or(|list| list.has_dependencies)
    }

    /// The workspace members; of a single project it is that one.
    pub fn members(&self) -> impl Iterator<Item = &Package> {
        let single = self
            .root()
            .filter(|_| self.members.is_empty())
            .map(|(_, package)| package);
        self.members.iter().flat_map(|name| self.find(name)).chain(single)
    }

    /// All versions of a name.
    pub fn find(&self, name: &PackageName) -> impl Iterator<Item = &Package> {
        self.by_name
            .get(name)
            .into_iter()
            .flatten()
            .filter_map(|index| self.packages.get(*index))
    }

    /// `requires-python` as written, such as `>=3.10, <3.13`.
    pub fn requires_python(&self) -> Option<&str> {
        self.requires_python.as_ref().map(|(text, _)| text.as_str())
    }

    /// The sets of which only one may be chosen, each item as `package[extra]`, `package:group` or `package`.
    pub fn conflicts(&self) -> impl Iterator<Item = Vec<String>> {
        self.conflicts
            .iter()
            .map(|set| set.iter().map(conflict::ConflictItem::describe).collect())
    }

    /// What a package depends on in some environment: its edges without extras and groups, markers not evaluated.
    pub fn dependencies<'a>(
        &'a self,
        package: &'a Package,
    ) -> impl Iterator<Item = (&'a Dependency, &'a Package)> {
        package
            .dependencies
            .iter()
            .filter_map(|edge| Some((edge, self.packages.get(edge.target)?)))
    }

    /// The packages that some roots need on a target, or every reason why there is no answer.
    pub fn subset(&self, roots: &Roots, target: &Target) -> Result<Subset, Vec<SubsetError>> {
        closure::subset(self, roots, None, target)
    }

    /// The packages that some roots need, inside the selection that other roots make.
    ///
    /// Extras and groups of `context` stay on when markers are evaluated, and a root that `context` reaches is that
    /// very version. So the `torch` that a kernel wheel compiles against is the one that the image ships, though
    /// the lock has it once for each CUDA extra. Roots that `context` does not reach are looked up as in
    /// [`Lock::subset`].
    pub fn subset_within(
        &self,
        roots: &Roots,
        context: &Roots,
        target: &Target,
    ) -> Result<Subset, Vec<SubsetError>> {
        closure::subset(self, roots, Some(context), target)
    }

    #[expect(
        clippy::result_large_err,
        reason = "an error ends the plan, so its size costs nothing"
    )]
    /// What a package is built from: its source distribution, git commit or project folder.
    ///
    /// Where several versions are locked, `context` tells which one is meant. Fails for an unknown package, one
    /// that only has wheels, and one that is locked several times when `context` does not have it.
    pub fn sdist(&self, name: &PackageName, context: Option<&Subset>) -> Result<Origin, SubsetError> {
        closure::origin_of(self, name, context)
    }

    /// The project in the lock's own folder.
    fn root(&self) -> Option<(usize, &Package)> {
        self.packages.iter().enumerate().find(|(_, package)| {
            matches!(&package.source, Source::Editable { path } | Source::Virtual { path } if path == ".")
        })
    }
}
