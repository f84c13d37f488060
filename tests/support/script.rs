//! A graph as a list of additions to it.
//!
//! Edges of a graph belong to that graph, so proptest cannot make them up; it makes up a script, whose numbers stand for
//! edges, and the script makes the graph.

use wheelbase::llb::{
    Access, Bind, Cache, ContentCache, Copy, Exec, File, GitSource, Graph, HttpSource, ImageSource,
    LocalSource, Metadata, Mkdir, Mkfile, Mount, MountKind, OciLayoutSource, Output, Rm, Sharing, Symlink,
    Timestamp,
};
use wheelbase::platform::Platform;

/// One addition to a graph. Numbers choose among the edges that are there already.
#[derive(Debug, Clone)]
pub(crate) enum Step {
    Image(ImageSource),
    OciLayout(OciLayoutSource),
    Local(LocalSource),
    Git(GitSource),
    Http(HttpSource),
    Exec(Box<Exec>, Option<usize>, Vec<(String, Kind)>),
    File(Option<usize>, Vec<Change>),
    Merge(Vec<usize>),
    Diff(Option<usize>, usize),
}

/// A mount before its edge is known.
#[derive(Debug, Clone)]
pub(crate) enum Kind {
    Bind(Option<usize>, String, Access, ContentCache),
    Cache(Option<usize>, String, Sharing),
    Other(MountKind),
}

/// An action before its edge is known.
#[derive(Debug, Clone)]
pub(crate) enum Change {
    Copy(usize, String, Option<u32>, Option<i64>, Vec<String>, [bool; 4]),
    Mkfile(Mkfile),
    Mkdir(Mkdir),
    Rm(Rm),
    Symlink(Symlink),
}

/// Steps in their order, each with its metadata.
pub(crate) type Script = Vec<(Step, Metadata)>;

/// Runs a script. An edge number counts modulo the edges that are there; where there are none, there is none.
pub(crate) fn build(script: &Script) -> (Graph, Option<Output>) {
    let mut graph = Graph::new(Platform::linux_amd64());
    let mut edges: Vec<Output> = Vec::new();
    for (step, metadata) in script {
        let metadata = metadata.clone();
        let edge = |number: usize| edges.get(number % edges.len().max(1)).copied();
        let output = match step.clone() {
            Step::Image(source) => Some(graph.image(source, metadata)),
            Step::OciLayout(source) => Some(graph.oci_layout(source, metadata)),
            Step::Local(source) => Some(graph.local(source, metadata)),
            Step::Git(source) => Some(graph.git(source, metadata)),
            Step::Http(source) => Some(graph.http(source, metadata)),
            Step::Exec(exec, root, mounts) => {
                let mounts = mounts
                    .into_iter()
                    .map(|(dest, kind)| Mount {
                        dest,
                        kind: kind.with(edge),
                    })
                    .collect();
                let exec = Exec {
                    root: root.and_then(edge),
                    mounts,
                    ..*exec
                };
                Some(graph.exec(exec, metadata).root())
            }
            Step::File(base, changes) => {
                let file = changes
                    .into_iter()
                    .fold(File::default(), |file, change| change.add(file, edge));
                let file = File {
                    base: base.and_then(edge),
                    ..file
                };
                Some(graph.file(file, metadata))
            }
            Step::Merge(inputs) => {
                let inputs: Vec<Output> = inputs.into_iter().filter_map(edge).collect();
                graph.merge(&inputs, metadata)
            }
            Step::Diff(lower, upper) => {
                let lower = lower.and_then(edge);
                edge(upper).map(|upper| graph.diff(lower, upper, metadata))
            }
        };
        edges.extend(output);
    }
    (graph, edges.last().copied())
}

impl Kind {
    fn with(self, edge: impl Fn(usize) -> Option<Output>) -> MountKind {
        match self {
            Self::Bind(source, selector, access, content_cache) => MountKind::Bind(Bind {
                source: source.and_then(edge),
                selector,
                access,
                content_cache,
            }),
            Self::Cache(base, id, sharing) => MountKind::Cache(Cache {
                id,
                sharing,
                base: base.and_then(edge),
                selector: String::new(),
            }),
            Self::Other(kind) => kind,
        }
    }
}

impl Change {
    fn add(self, file: File, edge: impl Fn(usize) -> Option<Output>) -> File {
        match self {
            Self::Copy(from, path, mode, seconds, patterns, [follow, contents, wildcard, replace]) => {
                let Some(from) = edge(from) else { return file };
                file.copy(Copy {
                    mode,
                    timestamp: seconds.map(Timestamp::from_seconds),
                    include: patterns.clone(),
                    exclude: patterns.clone(),
                    required: patterns,
                    follow_symlinks: follow,
                    contents_only: contents,
                    wildcard,
                    always_replace: replace,
                    ..Copy::new(from, path.clone(), path)
                })
            }
            Self::Mkfile(mkfile) => file.mkfile(mkfile),
            Self::Mkdir(mkdir) => file.mkdir(mkdir),
            Self::Rm(rm) => file.rm(rm),
            Self::Symlink(symlink) => file.symlink(symlink),
        }
    }
}
