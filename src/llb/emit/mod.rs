//! The one translation from a plan to a graph.
//!
//! A plan says what is made from what; here it is said how, within three rules that decide what users pay for:
//!
//! - What must not rebuild anything stays out of the operation, or goes where BuildKit does not look for a key
//!   (ids of cache mounts, addresses of hosts).
//! - What is exact by definition, such as a wheel by hash or a whole image, is mounted with content caching off:
//!   BuildKit must never read gigabytes to learn what it knows.
//! - Layers are made next to each other and merged; a daemon without merge copies the same files in order.

use std::collections::{BTreeMap, BTreeSet};

use crate::diagnostic::Location;
use crate::plan::{Plan, PythonSource, ReadyWheel, Root, StageId, Work};

use super::{
    Copy, ExtraHost, File, Given, Graph, HttpSource, ImageSource, Metadata, Mkdir, Mount, Network, Output,
    ProgressGroup, ProxyEnv, ResolveMode, Timestamp,
};

/// 1980-01-01, the earliest time that a zip file, and so a wheel, can hold: the time of every file of a layer, so
/// that the same packages make the same layer on another day.
const EPOCH: i64 = 315_532_800;

mod compile;
mod context;
mod layers;
mod no_cache;
mod nothing;
mod progress;
mod reports;
mod sandbox;
mod scan;
mod source;
mod steps;
mod wheels;

pub use no_cache::NoCache;
pub use reports::Reports;
pub use sandbox::Sandbox;
pub use scan::{SCANNED, Scan, emit_file};
pub use wheels::{emit_reads, emit_wheel, emit_wheels};

/// What a graph depends on beside the plan: the client, and what the daemon can do.
#[derive(Debug, Clone)]
pub struct Surroundings {
    /// The client's session, for the build context; empty where the daemon knows it by itself.
    pub session: String,
    /// Patterns of the context's ignore file.
    pub ignore: Vec<String>,
    /// The files of the build context, where they are not those of the client's folder.
    pub context: Option<Given>,
    /// What stands in for what the spec names, by the name of the context.
    pub contexts: BTreeMap<String, Given>,
    /// Whether the daemon merges and diffs; otherwise trees are copied over each other.
    pub merge: bool,
    /// Whether content caching of a mount can be switched off (`exec.mount.cache.content`).
    pub content_cache: bool,
    /// Whether copies take patterns (`file.copy.includeexcludepatterns`).
    pub patterns: bool,
    /// The network of steps that need one.
    pub online: Network,
    /// Where images are looked for.
    pub resolve_mode: ResolveMode,
    /// Whether counts of compiles are asked for.
    pub counts: Counting,
    /// What is run again.
    pub no_cache: NoCache,
    /// Proxy variables for steps with a network.
    pub proxy: Option<ProxyEnv>,
    /// Further lines of `/etc/hosts` for steps with a network.
    pub extra_hosts: Vec<ExtraHost>,
    /// The containers of all steps.
    pub sandbox: Sandbox,
}

/// Whether counts of compiles are asked for. They are outputs of the steps that compile: where no result of such a step is
/// known, asking compiles.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Counting {
    /// They are.
    Asked,
    /// They are not.
    Left,
}

/// A current daemon and a plain client.
impl Default for Surroundings {
    fn default() -> Self {
        Self {
            session: String::new(),
            ignore: Vec::new(),
            context: None,
            contexts: BTreeMap::new(),
            merge: true,
            content_cache: true,
            patterns: true,
            online: Network::Sandbox,
            resolve_mode: ResolveMode::Default,
            counts: Counting::Asked,
            no_cache: NoCache::None,
            proxy: None,
            extra_hosts: Vec::new(),
            sandbox: Sandbox::default(),
        }
    }
}

/// A plan's image as a graph.
#[derive(Debug)]
pub struct Emitted {
    /// The operations.
    pub graph: Graph,
    /// The finished filesystem.
    pub image: Output,
    /// What steps have to say; `None` when nothing is asked of them.
    pub reports: Option<Reports>,
    /// The filesystems that wheels are compiled in, by the stage that compiles.
    pub compiled_in: BTreeMap<StageId, Output>,
}

/// Translates one image of a plan.
///
/// # Panics
///
/// When the plan has no image of this name.
pub fn emit(plan: &Plan, image: &str, surroundings: &Surroundings) -> Emitted {
    let image_plan = &plan.images[image];
    let mut emitter = Emitter::new(plan, image, surroundings, Some(&image_plan.location));
    emitter.position = positions(&image_plan.root);
    emitter.own = no_cache::own_layers(plan, &image_plan.root);
    let output = emitter.lay(&image_plan.root);
    let imports = image_plan.imports.as_ref().map(|imports| imports.stage);
    let reports = emitter.reports(&image_plan.lists, &image_plan.needed, imports);
    Emitted {
        graph: emitter.graph,
        image: output,
        reports,
        compiled_in: emitter.compiled_in,
    }
}

/// Layer numbers for progress lines: the base is 1.
fn positions(root: &Root) -> BTreeMap<StageId, usize> {
    std::iter::once(root.base)
        .chain(root.trees.iter().copied())
        .enumerate()
        .map(|(index, id)| (id, index + 1))
        .collect()
}

/// What a stage has become.
#[derive(Debug, Clone, Copy)]
enum Made {
    /// A whole filesystem.
    Filesystem(Output),
    /// Something to be laid on a filesystem.
    Tree(Tree),
    /// A folder to be mounted.
    Folder(Output),
}

#[derive(Debug, Clone, Copy)]
struct Tree {
    /// The filesystem that holds the tree, and more.
    full: Output,
    /// The tree alone.
    alone: Output,
    /// Where it is, for daemons that copy.
    path: &'static str,
    /// The folder with its file list, if its step made one.
    list: Option<Output>,
}

struct Emitter<'a> {
    plan: &'a Plan,
    image: &'a str,
    surroundings: &'a Surroundings,
    graph: Graph,
    made: BTreeMap<StageId, Made>,
    /// The folders with counts of what is compiled.
    counts: BTreeMap<StageId, Output>,
    compiled_in: BTreeMap<StageId, Output>,
    context: Option<Output>,
    position: BTreeMap<StageId, usize>,
    /// Layers that the name of the image stands for.
    own: BTreeSet<StageId>,
    /// The place of what is built as a whole.
    home: Option<Location>,
    /// The place of the stage that is being made: where the user looks when one of its operations fails.
    place: Option<Location>,
    /// Filesystems of the builder's platform, where that is another one than the plan's.
    of_builder: BTreeSet<Output>,
}

impl<'a> Emitter<'a> {
    fn new(plan: &'a Plan, image: &'a str, surroundings: &'a Surroundings, home: Option<&Location>) -> Self {
        Self {
            plan,
            image,
            surroundings,
            graph: Graph::new(plan.platform.clone()),
            made: BTreeMap::new(),
            counts: BTreeMap::new(),
            compiled_in: BTreeMap::new(),
            context: None,
            position: BTreeMap::new(),
            own: BTreeSet::new(),
            home: home.cloned(),
            place: home.cloned(),
            of_builder: BTreeSet::new(),
        }
    }
}

impl Emitter<'_> {
    fn make(&mut self, id: StageId) -> Made {
        if let Some(made) = self.made.get(&id) {
            return *made;
        }
        let place = self.plan.stage(id).location.clone();
        let place = place.or_else(|| self.home.clone());
        let above = std::mem::replace(&mut self.place, place);
        let made = self.make_stage(id);
        self.place = above;
        self.made.insert(id, made);
        made
    }

    /// Makes a stage that is not there yet.
    fn make_stage(&mut self, id: StageId) -> Made {
        let plan = self.plan;
        let stage = plan.stage(id);
        let metadata = self.metadata(id, stage);
        match &stage.work {
            Work::Image(source) => Made::Filesystem(self.published(source, metadata)),
            Work::System(system) => {
                let on = self.filesystem(system.on);
                let output = self.system(system, on, metadata);
                Made::Filesystem(self.alike(on, output))
            }
            Work::Python(source) => self.python(source, metadata),
            Work::Unpack { root, file, program } => {
                let root = self.lay(root);
                let file = self.download(file);
                Made::Folder(self.unpack(program, root, file, metadata))
            }
            Work::Venv { root } => {
                let on = self.lay(root);
                let executed = self.venv(on, metadata);
                self.installed(on, executed, &stage.name)
            }
            Work::Install(install) => {
                let on = self.lay(&install.root);
                let executed = self.install(install, on, metadata);
                self.installed(on, executed, &stage.name)
            }
            Work::InstallWheels { root, wheels } => {
                let on = self.lay(root);
                let wheels: Vec<(String, Output, bool)> = wheels
                    .iter()
                    .map(|(name, id)| (name.clone(), self.folder(*id), is_exact(&plan.stage(*id).work)))
                    .collect();
                let executed = self.install_wheels(&wheels, on, metadata);
                self.installed(on, executed, &stage.name)
            }
            Work::Prepare(prepare) => {
                let root = self.lay(&prepare.root);
                Made::Folder(self.prepare(prepare, root, &stage.name, metadata))
            }
            Work::Ready(ready) => Made::Folder(self.ready(ready, metadata)),
            Work::Stored { image } => {
                let mut image = ImageSource::new(image);
                image.resolve_mode = self.surroundings.resolve_mode;
                Made::Folder(self.graph.image(image, metadata.ignore_cache(false)))
            }
            Work::Compile(compile) => {
                let root = self.lay(&compile.root);
                self.compiled_in.insert(id, root);
                let compiled = self.compile(compile, root, metadata);
                self.counts.insert(id, compiled.counts);
                Made::Folder(compiled.wheels)
            }
            Work::Project(project) => {
                let root = self.lay(&project.root);
                Made::Folder(self.project(project, root, metadata))
            }
            Work::Copy(copy) => {
                let on = self.filesystem(copy.on);
                let context = self.context();
                let file = File::on(on).copy(context::copy(context, &copy.from, &copy.to));
                let full = self.graph.file(file, metadata);
                let changed = self.diff(on, full, &stage.name);
                let alone = self.settle(changed, &stage.name);
                // Without diff the copy is made again on the image in progress; see `lay`.
                Made::Tree(Tree {
                    full,
                    alone,
                    path: "/",
                    list: None,
                })
            }
            Work::ListNeeded { root, of, packages } => {
                let root = self.lay(root);
                let folder = self.folder(*of);
                let wheels = self.wheels_at("/wheelbase/wheels", folder, is_exact(&plan.stage(*of).work));
                Made::Folder(self.list_needed(root, wheels, packages, metadata))
            }
            Work::Import { root, modules, env } => Made::Folder(self.import(root, modules, env, metadata)),
            Work::List { root, of } => {
                let root = self.lay(root);
                let of = match self.make(*of) {
                    Made::Filesystem(output) | Made::Folder(output) => output,
                    Made::Tree(tree) => tree.alone,
                };
                Made::Folder(self.list(root, of, metadata))
            }
        }
    }

    /// A published image, or what stands in for it.
    fn published(&mut self, source: &crate::plan::ImageSource, metadata: Metadata) -> Output {
        if let Some(context) = &source.context {
            return self.files(Some(context));
        }
        let reference = match &source.digest {
            Some(digest) if !source.reference.contains('@') => format!("{}@{digest}", source.reference),
            _ => source.reference.clone(),
        };
        let mut image = ImageSource::new(reference);
        image.resolve_mode = self.surroundings.resolve_mode;
        image.platform.clone_from(&source.platform);
        let output = self.graph.image(image, metadata.ignore_cache(false));
        if source.platform.is_some() {
            self.of_builder.insert(output);
        }
        output
    }

    fn python(&mut self, source: &PythonSource, metadata: Metadata) -> Made {
        let (from, src) = match source {
            PythonSource::Archive(archive) => {
                let file = self.download(archive);
                let mut unpack = Copy::new(file, format!("/{}", archive.filename), "/");
                unpack.unpack = true;
                let unpacked = self
                    .graph
                    .file(File::scratch().copy(unpack), self.named("[python] unpack"));
                (unpacked, "/*".to_owned())
            }
            PythonSource::Image { image, path } => (self.filesystem(*image), path.clone()),
        };
        let mut copy = Copy::new(from, src, "/opt/python");
        copy.contents_only = true;
        copy.wildcard = matches!(source, PythonSource::Archive(_));
        copy.timestamp = Some(Timestamp::from_seconds(EPOCH));
        copy.follow_symlinks = true;
        // Older daemons (BuildKit 0.13) give `/opt` the time at which `python` was made in it. A folder that is copied
        // over it settles that.
        let mut above = Mkdir::new("/opt");
        above.timestamp = Some(Timestamp::from_seconds(EPOCH));
        let above = self
            .graph
            .file(File::scratch().mkdir(above), self.named("[python] make /opt"));
        let copied = File::scratch().copy(copy).copy(whole(above));
        let output = self.graph.file(copied, metadata);
        Made::Tree(Tree {
            full: output,
            alone: output,
            path: "/opt/python",
            list: None,
        })
    }

    fn filesystem(&mut self, id: StageId) -> Output {
        match self.make(id) {
            Made::Filesystem(output) | Made::Folder(output) => output,
            Made::Tree(tree) => tree.full,
        }
    }

    fn folder(&mut self, id: StageId) -> Output {
        self.filesystem(id)
    }

    /// A file by URL and hash.
    fn download(&mut self, download: &crate::plan::Download) -> Output {
        let mut source = HttpSource::new(download.url.clone());
        source.checksum = Some(format!("sha256:{}", download.sha256));
        source.filename = Some(download.filename.clone());
        source.mode = Some(0o644);
        let group = ProgressGroup {
            id: "wheelbase-fetch".into(),
            name: "fetch files of the lock".into(),
            weak: true,
        };
        self.graph.http(
            source,
            self.named(format!("[fetch] {}", progress::cut(&download.filename)))
                .group(group),
        )
    }

    /// uv, to be mounted.
    fn uv(&mut self) -> Mount {
        let uv = self.folder(self.plan.uv);
        self.exact("/wheelbase/uv", uv)
    }

    /// A read-only mount of something that is exact by definition: its bytes are not read for a key.
    fn exact(&self, dest: &str, source: Output) -> Mount {
        let mount = Mount::read_only(dest, source);
        if self.surroundings.content_cache {
            mount.content_cache(super::ContentCache::Off)
        } else {
            mount
        }
    }
}

/// All of a filesystem, with the time that layers have. Folders that are there take owner, mode and time.
fn whole(from: Output) -> Copy {
    let mut copy = Copy::new(from, "/", "/");
    copy.contents_only = true;
    copy.timestamp = Some(Timestamp::from_seconds(EPOCH));
    copy
}

/// Whether a folder with wheels is exact by definition.
fn is_exact(work: &Work) -> bool {
    matches!(work, Work::Ready(ReadyWheel::Download(_)))
}
