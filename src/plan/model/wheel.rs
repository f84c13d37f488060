//! What a wheel is made from, and how.
//!
//! Everything else in a plan is fetched, installed or copied; wheels alone are compiled, which may take hours. So most of
//! what a plan decides is about them: the source, the command, the caches that a compile is given, and what it takes of
//! the builder. Whatever is marked as not part of the key may change, and nothing is compiled again.

use std::collections::BTreeMap;

use super::{Download, Root, StageId};
use crate::plan::crates::Crates;
use crate::spec::{Store, Vendor};

/// A kernel wheel's compile.
#[derive(Debug, Clone)]
pub struct Compile {
    /// Normalised name.
    pub name: String,
    /// What it is compiled in: devel tier, interpreter, environment, needs.
    pub root: Root,
    /// The source.
    pub source: Source,
    /// The folder of the source to build in; empty for its root.
    pub folder: String,
    /// Command of the spec; `None` for the default one.
    pub command: Option<String>,
    /// Whose GPUs the devel tier compiles for, where it is known; it decides which toolkit's folders the environment names.
    pub vendor: Option<Vendor>,
    /// The spec's and the architectures', sorted.
    pub env: BTreeMap<String, String>,
    /// `None` when nothing is cached.
    pub cache: Option<CompilerCache>,
    /// The folder that the next compile starts with.
    pub kept: Option<KeptBuild>,
    /// What it takes of the builder. Not part of the key.
    pub pace: Pace,
    /// Whether the build may use the network.
    pub network: bool,
    /// `Some(index)`: the build is isolated, and its backend comes from this index (empty: uv's default one).
    pub backend_index: Option<String>,
}

/// A compiler cache in a cache mount, and perhaps in a store outside the builder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompilerCache {
    /// What runs it.
    pub tool: CacheTool,
    /// Prefix of objects in a store: the spec's scope, with the targets of AMD's GPUs. Not part of the key.
    pub scope: String,
    /// Id of the cache mount: tool, platform and scope. Not part of the key.
    pub id: String,
    /// Largest size in megabytes. Not part of the key.
    pub max_megabytes: u32,
}

/// What runs a compiler cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CacheTool {
    /// ccache of the devel tier.
    Ccache,
    /// sccache.
    Sccache {
        /// The stage with the binary.
        binary: StageId,
        /// The store outside the builder. That there is one is part of the key, since it gives the step a network; which
        /// one is not.
        store: Option<Store>,
    },
}

impl CacheTool {
    /// The tool's name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ccache => "ccache",
            Self::Sccache { .. } => "sccache",
        }
    }
}

/// A folder that the build makes and that is kept for the next compile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptBuild {
    /// Relative to where the wheel is built.
    pub folder: String,
    /// Id of the cache mount: the wheel, and a digest of everything but its source. Not part of the key.
    pub id: String,
}

/// What a compile takes of the builder. 0 is for what nobody has said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pace {
    /// Compiles at once on the builder, those of other builds counted; 0 for any number.
    pub slots: u32,
    /// Compilers at once; 0 when the step works it out.
    pub jobs: u32,
    /// Megabytes that a compiler takes at most; 0 for what is usual.
    pub job_megabytes: u32,
}

/// A folder with a pyproject.toml that becomes a wheel.
#[derive(Debug, Clone)]
pub struct Project {
    /// Normalised name.
    pub name: String,
    /// What it is built in.
    pub root: Root,
    /// Its folder.
    pub source: Source,
    /// `None`: everything needed is there, no network. `Some(index)`: the build backend comes from this index
    /// (empty: uv's default one).
    pub backend_index: Option<String>,
}

/// A wheel that is there already.
#[derive(Debug, Clone)]
pub enum ReadyWheel {
    /// At a URL.
    Download(Download),
    /// A file of the build context.
    Context {
        /// Relative to the context.
        path: String,
    },
}

/// A source that has to be made ready before anything is built from it. Wheels from one source share it.
#[derive(Debug, Clone)]
pub struct Prepare {
    /// Where Python is found.
    pub root: Root,
    /// What it is made from; all of it, whatever folder is built.
    pub source: Source,
    /// Patches of the build context, in the order in which they are applied.
    pub patches: Vec<String>,
}

/// Source of a wheel.
#[derive(Debug, Clone)]
pub enum Source {
    /// A folder of the build context, or of a named one.
    Context {
        /// The context; `None` for the build context.
        context: Option<NamedContext>,
        /// Relative to the context, `.` for all of it.
        path: String,
        /// Only these, in Docker's pattern syntax; empty for all.
        include: Vec<String>,
        /// Never these.
        exclude: Vec<String>,
    },
    /// A git commit.
    Git {
        /// Remote URL.
        url: String,
        /// Full commit.
        rev: String,
        /// Folder of the repository, empty for its root.
        subdir: String,
        /// Whether submodules are checked out.
        submodules: bool,
        /// Id of the secret that holds a token; `None` for BuildKit's own. Not part of the key.
        token: Option<String>,
        /// Lines of a `known_hosts` file. Not part of the key.
        known_hosts: Option<String>,
    },
    /// A source distribution, or another archive.
    Archive(Download),
    /// A folder of an image.
    Image {
        /// The image.
        image: StageId,
        /// The folder, absolute.
        path: String,
    },
    /// Crates of the build context that are compiled together.
    Crates(Crates),
    /// What a [`Work::Prepare`](super::Work::Prepare) has made.
    Prepared {
        /// That stage.
        stage: StageId,
        /// Folder of it, empty for its root.
        subdir: String,
    },
}

/// A context that the client has given a name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct NamedContext {
    /// The name.
    pub name: String,
    /// A digest of all of it, when there is one.
    pub digest: Option<String>,
}
