//! What the user wrote, typed.
//!
//! A [`Spec`] holds decisions of the user only: defaults are filled in, names are normalised and references
//! inside the file are known to exist, but nothing here depends on a lockfile, a registry or a platform.
//! Values that later rooms may have to complain about keep their place in the file ([`Spanned`]).
//!
//! Here is the whole, with the sections that one type is enough for and what several of them are made of. A section of more
//! types has a file of its own.

mod compiler_cache;
mod gpu;
mod image;
mod python;
mod wheel;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

pub use compiler_cache::{CompilerCache, CompilerCacheTool, Sccache, Store, StoreKind};
pub use gpu::{Gpu, Os, OsFamily, Tier, Vendor};
pub use image::{Copy, Forbid, Image};
pub use python::{Fetch, Provider, Python};
pub use toml::Spanned;
pub(super) use wheel::wheel_of;
pub use wheel::{Wheel, WheelSource};

use super::args::Arg;
use super::matrix::Matrix;
use crate::diagnostic::{Location, SourceFile};

/// A whole `wheelbase.toml`.
#[derive(Debug, Clone)]
pub struct Spec {
    /// The file, for diagnostics and source maps.
    pub file: Arc<SourceFile>,
    /// `[args]` by name, with the values that were put in.
    pub args: BTreeMap<String, Arg>,
    /// `[matrix]`: the variants for bake. A build does not look at it.
    pub matrix: Option<Matrix>,
    /// `name`: what is built, used in image labels and as a prefix of cache ids.
    pub name: Spanned<String>,
    /// `default`: the image that is built when no target is named. With a single image it is that one.
    pub default: Option<Spanned<String>>,
    /// `[gpu]`: where the tiers come from.
    pub gpu: Gpu,
    /// `[python]`.
    pub python: Python,
    /// `[uv]`: which uv resolves nothing and installs everything.
    pub uv: Uv,
    /// `[system]`: operating system packages of every stage of a kind.
    pub system: System,
    /// `[compiler-cache]`.
    pub compiler_cache: CompilerCache,
    /// `[wheel-store]`.
    pub wheel_store: Option<WheelStore>,
    /// `build.slots`: how many wheels may be compiled at once on a builder; `None` for any number. Never part of a key.
    pub slots: Option<u32>,
    /// `build.emulate`: whether a builder may run images of another platform in its emulator.
    pub emulate: bool,
    /// `[layers]`.
    pub layers: Layers,
    /// `[wheels.NAME]` by normalised name (PEP 503).
    pub wheels: BTreeMap<String, Wheel>,
    /// `[images.NAME]` by name as written.
    pub images: BTreeMap<String, Image>,
}

impl Spec {
    /// Whether both say the same, wherever it stands in their files.
    pub fn same_meaning(&self, other: &Self) -> bool {
        let Self {
            file: _,
            // What they have decided stands in the rest.
            args: _,
            // It decides nothing of a build.
            matrix: _,
            name,
            default,
            gpu,
            python,
            uv,
            system,
            compiler_cache,
            wheel_store,
            slots,
            emulate,
            layers,
            wheels,
            images,
        } = self;
        // `Spanned` compares what is said, without its place.
        *name == other.name
            && *default == other.default
            && *gpu == other.gpu
            && *python == other.python
            && *uv == other.uv
            && *system == other.system
            && *compiler_cache == other.compiler_cache
            && *wheel_store == other.wheel_store
            && *slots == other.slots
            && *emulate == other.emulate
            && *layers == other.layers
            && *wheels == other.wheels
            && *images == other.images
    }

    /// The table of `[wheels]` that a package's wheel comes from.
    pub fn wheel_of(&self, package: &str) -> Option<&str> {
        wheel_of(&self.wheels, package)
    }

    /// The packages whose wheels come from a table of `[wheels]`, the one that it is named after first.
    pub fn packages_of<'a>(&'a self, wheel: &'a str) -> impl Iterator<Item = &'a str> {
        let further = self
            .wheels
            .get(wheel)
            .into_iter()
            .flat_map(|wheel| &wheel.provides);
        std::iter::once(wheel).chain(further.map(|package| package.get_ref().as_str()))
    }

    /// The place of a value of this file.
    pub fn locate<T>(&self, value: &Spanned<T>) -> Location {
        Location::new(&self.file, value.span())
    }
}

/// `[uv]`: where the uv binary comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Uv {
    /// An image with `/uv` (such as `ghcr.io/astral-sh/uv:0.13.9`), fully qualified, mirror applied.
    Image {
        /// The reference.
        reference: Spanned<String>,
    },
    /// A wheel of uv from a package index.
    Wheel(Download),
}

impl Uv {
    /// The image that uv comes from, if it comes from one.
    pub fn image(&self) -> Option<&Spanned<String>> {
        match self {
            Self::Image { reference, .. } => Some(reference),
            Self::Wheel(_) => None,
        }
    }
}

/// `[system]`: operating system packages, sorted and unique.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct System {
    /// For every wheel stage, on the devel tier.
    pub devel: BTreeSet<String>,
    /// For every image.
    pub runtime: BTreeSet<String>,
}

/// `[wheel-store]`: where wheels are that were compiled before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WheelStore {
    /// `repo`: registry and repository, without a tag.
    pub repo: Spanned<String>,
    /// `require`: a store that cannot be asked ends the build.
    pub require: bool,
}

/// `[layers]`: how packages are spread over image layers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layers {
    /// `threshold`: a package whose wheel has at least this many bytes gets a layer of its own.
    pub threshold: u64,
    /// `buckets`: how many layers share the rest.
    pub buckets: u32,
    /// `max`: the most package layers an image may have.
    pub max: u32,
    /// `max-size`: the most bytes of wheels in a layer that packages share.
    pub max_size: u64,
}

/// A file by URL and hash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Download {
    /// `http` or `https` URL without user information.
    pub url: Spanned<String>,
    /// Lower-case hex of the SHA-256.
    pub sha256: String,
}

/// A name with extras: `torch`, `jax[cuda12]`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Requirement {
    /// Normalised (PEP 503).
    pub name: String,
    /// Normalised, sorted.
    pub extras: BTreeSet<String>,
}
