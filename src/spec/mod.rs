//! What the user wrote: from the text of a `wheelbase.toml` to a typed [`Spec`].
//!
//! A build that takes an hour must not fail in its last minute over a slip of the pen. So everything that can be
//! known from the file alone is checked here, before anything is pulled: keys and types, names and paths, whether
//! an image of that toolkit was ever published, whether its compiler knows that GPU, and whether that system has that
//! Python. All errors come at once, each with its place and a way out.
//!
//! The road of a file: `decode` asks the TOML parser for a tree with places; `args` puts the values of build arguments into
//! it; `shape` checks it against the one table of [`keys`]; then each section is read by its own file (`gpu`, `python`,
//! `compiler_cache`, `wheels`, `images`; `matrix` too, which decides nothing of a build) with the facts of `cuda`, `archs`,
//! `rocm`, `gfx` and `os` and the small grammars of `names`, `paths`, `urls` and `reference`. What is wrong gathers in
//! `findings`, and `secrets` keeps credentials out of it. Of a file without errors `targets` says what each image and wheel is
//! made of, and `lint` what is probably not meant. [`schema`] and [`docs`] render the same table of keys for
//! editors and readers.

mod archs;
mod args;
mod circles;
mod compiler_cache;
mod cuda;
mod cuda_tags;
mod decode;
pub mod docs;
mod findings;
mod gfx;
mod gpu;
mod images;
pub mod keys;
mod lint;
mod matrix;
mod model;
mod names;
mod os;
mod paths;
mod python;
mod reference;
mod rocm;
pub mod schema;
mod secrets;
mod section;
mod shape;
mod sources;
mod targets;
mod toolkits;
mod urls;
mod wheel_store;
mod wheels;

#[cfg(test)]
mod tests;

pub use args::{Arg, ArgKind, is_predefined};
pub use compiler_cache::DEFAULT_CACHE_SIZE;
pub use decode::{
    DEFAULT_BUCKETS, DEFAULT_LOCK, DEFAULT_MAX_LAYER_SIZE, DEFAULT_MAX_LAYERS, DEFAULT_THRESHOLD,
    DEFAULT_UV_IMAGE,
};
pub use matrix::{Axis, Combination, MOST_COMBINATIONS, Matrix, gather};
pub use model::*;
pub use names::{WHEEL_STORE, normalise};
pub use reference::Reference;
