//! `[wheels.NAME]`: one wheel that is compiled, or that is there already.
//!
//! A table is named after a package and may give the wheels of further ones. Which table a package's wheel comes from is
//! therefore asked in many places, and answered here.

use std::collections::{BTreeMap, BTreeSet};

use toml::Spanned;

use super::{Download, Requirement};

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

impl Wheel {
    /// Whether it is compiled here; otherwise it is a wheel that is there already.
    pub fn is_compiled(&self) -> bool {
        !matches!(
            self.source,
            WheelSource::Ready(_) | WheelSource::ReadyInContext(_)
        )
    }
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

/// The table that a package's wheel comes from.
pub(in crate::spec) fn wheel_of<'a>(wheels: &'a BTreeMap<String, Wheel>, package: &str) -> Option<&'a str> {
    let provides = |wheel: &Wheel| wheel.provides.iter().any(|name| name.get_ref() == package);
    let named = wheels.get_key_value(package).map(|(name, _)| name.as_str());
    named.or_else(|| {
        let mut others = wheels.iter();
        others.find_map(|(name, wheel)| provides(wheel).then_some(name.as_str()))
    })
}
