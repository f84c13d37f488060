//! The arena of vertices.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fmt::Write as _;
use std::sync::Arc;

use prost::Message as _;
use sha2::{Digest as _, Sha256};

use super::caps::Cap;
use super::metadata::{Metadata, ProgressGroup};
use crate::diagnostic::SourceFile;
use crate::platform::Platform;
use crate::proto::pb;

/// An edge: one output of one vertex. It belongs to the graph that made it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
pub struct Output {
    pub(crate) vertex: u32,
    pub(crate) index: u32,
}

impl Output {
    /// Which of the vertex's outputs this is; 0 for all operations but exec.
    pub fn index(self) -> u32 {
        self.index
    }

    fn vertex(self) -> usize {
        self.vertex as usize
    }
}

/// One operation with all that is known about it.
#[derive(Debug, Clone)]
pub struct Vertex {
    pub(crate) op: pb::Op,
    pub(crate) bytes: Vec<u8>,
    pub(crate) digest: String,
    pub(crate) inputs: Vec<Output>,
    pub(crate) caps: BTreeSet<String>,
    pub(crate) metadata: Metadata,
    /// Places that came with a grafted definition, which names its own files.
    pub(crate) foreign_places: Vec<(Arc<pb::SourceInfo>, Vec<pb::Range>)>,
}

impl Vertex {
    /// The operation as it goes over the wire. Fields that this crate does not know are missing here, though
    /// not in [`Vertex::bytes`], when the vertex was grafted.
    pub fn op(&self) -> &pb::Op {
        &self.op
    }

    /// The encoded operation.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// `sha256:` and the digest of the bytes.
    pub fn digest(&self) -> &str {
        &self.digest
    }

    /// The edges that it depends on, in the order of the operation's inputs.
    pub fn inputs(&self) -> &[Output] {
        &self.inputs
    }

    /// Ids of the capabilities that the operation itself needs.
    pub fn caps(&self) -> &BTreeSet<String> {
        &self.caps
    }

    /// What is said about it.
    pub fn metadata(&self) -> &Metadata {
        &self.metadata
    }

    /// Its name, or words made from the operation in the way of BuildKit's progress output.
    pub fn name(&self) -> String {
        if let Some(name) = &self.metadata.name {
            return name.clone();
        }
        match &self.op.op {
            Some(pb::op::Op::Source(source)) => source.identifier.clone(),
            Some(pb::op::Op::Exec(exec)) => exec
                .meta
                .as_ref()
                .map_or_else(String::new, |meta| meta.args.join(" ")),
            Some(pb::op::Op::File(file)) => {
                let actions: Vec<String> = file.actions.iter().filter_map(action_name).collect();
                actions.join(", ")
            }
            Some(pb::op::Op::Merge(_)) => "merge".to_owned(),
            Some(pb::op::Op::Diff(_)) => "diff".to_owned(),
            None => self.digest.clone(),
        }
    }
}

fn action_name(action: &pb::FileAction) -> Option<String> {
    use pb::file_action::Action;
    Some(match action.action.as_ref()? {
        Action::Copy(copy) => format!("copy {} {}", copy.src, copy.dest),
        Action::Mkfile(mkfile) => format!("mkfile {}", mkfile.path),
        Action::Mkdir(mkdir) => format!("mkdir {}", mkdir.path),
        Action::Rm(rm) => format!("rm {}", rm.path),
        Action::Symlink(symlink) => format!("symlink {} {}", symlink.oldpath, symlink.newpath),
    })
}

/// A graph under construction.
///
/// Methods that take an [`Output`] expect one of the same graph, and panic when it is not.
#[derive(Debug, Clone)]
pub struct Graph {
    platform: Platform,
    vertices: Vec<Vertex>,
    by_digest: BTreeMap<String, u32>,
    pub(crate) origins: Vec<(Arc<SourceFile>, pb::Definition)>,
}

impl Graph {
    /// An empty graph whose images are fetched, and whose processes run, on `platform` unless they say
    /// otherwise.
    pub fn new(platform: Platform) -> Self {
        Self {
            platform,
            vertices: Vec::new(),
            by_digest: BTreeMap::new(),
            origins: Vec::new(),
        }
    }

    /// The platform of images and processes that name none.
    pub fn platform(&self) -> &Platform {
        &self.platform
    }

    /// Every vertex in the order of addition; those an output does not need are among them.
    pub fn vertices(&self) -> impl Iterator<Item = &Vertex> {
        self.vertices.iter()
    }

    /// The vertex that an edge starts at.
    pub fn vertex(&self, output: Output) -> &Vertex {
        &self.vertices[output.vertex()]
    }

    /// Digest of the vertex that an edge starts at: `sha256:` and 64 hexadecimal digits.
    pub fn digest(&self, output: Output) -> &str {
        self.vertex(output).digest()
    }

    /// Says how a file that locations point into was obtained, which BuildKit keeps in provenance.
    pub fn set_origin(&mut self, file: &Arc<SourceFile>, definition: pb::Definition) {
        match self.origins.iter_mut().find(|(known, _)| known == file) {
            Some(origin) => origin.1 = definition,
            None => self.origins.push((Arc::clone(file), definition)),
        }
    }

    /// The vertices that `output` needs, dependencies first and its own last. The order depends on the graph
    /// below `output` alone.
    pub fn closure(&self, output: Output) -> Vec<&Vertex> {
        self.closure_indices(output)
            .into_iter()
            .map(|index| &self.vertices[index])
            .collect()
    }

    fn closure_indices(&self, output: Output) -> Vec<usize> {
        // Depth first over the inputs in their order, as Go's llb does it; a stack of its own because a long
        // chain of layers is deep.
        let mut seen = BTreeSet::from([output.vertex()]);
        let mut order = Vec::new();
        let mut stack = vec![(output.vertex(), 0)];
        while let Some((vertex, next_input)) = stack.pop() {
            match self.vertices[vertex].inputs.get(next_input) {
                None => order.push(vertex),
                Some(input) => {
                    stack.push((vertex, next_input + 1));
                    if seen.insert(input.vertex()) {
                        stack.push((input.vertex(), 0));
                    }
                }
            }
        }
        order
    }

    /// Makes the wire form of an edge.
    pub(crate) fn input(&self, output: Output) -> pb::Input {
        pb::Input {
            digest: self.digest(output).to_owned(),
            index: i64::from(output.index),
        }
    }

    /// Adds an operation whose inputs are `inputs`, in that order.
    pub(crate) fn add(
        &mut self,
        op: pb::op::Op,
        inputs: Vec<Output>,
        platform: Option<&Platform>,
        caps: BTreeSet<Cap>,
        metadata: Metadata,
    ) -> Output {
        let op = pb::Op {
            inputs: inputs.iter().map(|input| self.input(*input)).collect(),
            platform: platform.map(wire_platform),
            // Always there, and empty: Go's llb writes it so, and equal bytes are worth having.
            constraints: Some(pb::WorkerConstraints::default()),
            op: Some(op),
        };
        let bytes = op.encode_to_vec();
        let digest = digest_of(&bytes);
        let caps = caps.into_iter().map(|cap| cap.id().to_owned()).collect();
        let foreign_places = Vec::new();
        self.insert(Vertex {
            op,
            bytes,
            digest,
            inputs,
            caps,
            metadata,
            foreign_places,
        })
    }

    fn insert(&mut self, vertex: Vertex) -> Output {
        let index = match self.by_digest.get(&vertex.digest) {
            Some(index) => {
                let known = &mut self.vertices[*index as usize];
                known.metadata.unite(vertex.metadata);
                known.caps.extend(vertex.caps);
                for place in vertex.foreign_places {
                    if !known.foreign_places.contains(&place) {
                        known.foreign_places.push(place);
                    }
                }
                *index
            }
            None => {
                // More vertices than a u32 counts do not fit into the memory of any daemon.
                let index = u32::try_from(self.vertices.len()).unwrap_or(u32::MAX);
                self.by_digest.insert(vertex.digest.clone(), index);
                self.vertices.push(vertex);
                index
            }
        };
        Output {
            vertex: index,
            index: 0,
        }
    }

    /// Takes over a definition that somebody else made, such as a frontend input, byte for byte, and returns
    /// the edge that it ends in. A definition without operations is an empty file system: `None`.
    pub fn graft(&mut self, definition: &pb::Definition) -> Result<Option<Output>, GraftError> {
        let Some((terminal, operations)) = definition.def.split_last() else {
            return Ok(None);
        };
        let infos: Vec<Arc<pb::SourceInfo>> = definition
            .source
            .iter()
            .flat_map(|source| &source.infos)
            .cloned()
            .map(Arc::new)
            .collect();
        for bytes in operations {
            let op = decode(bytes)?;
            let digest = digest_of(bytes);
            let inputs = self.grafted_inputs(&op)?;
            let given = definition.metadata.get(&digest).cloned().unwrap_or_default();
            let locations = definition
                .source
                .iter()
                .filter_map(|source| source.locations.get(&digest));
            let foreign_places = locations
                .flat_map(|locations| &locations.locations)
                .filter_map(|location| {
                    let info = infos.get(usize::try_from(location.source_index).ok()?)?;
                    Some((Arc::clone(info), location.ranges.clone()))
                })
                .collect();
            let caps = given.caps.keys().cloned().collect();
            let metadata = grafted_metadata(given);
            self.insert(Vertex {
                op,
                bytes: bytes.clone(),
                digest,
                inputs,
                caps,
                metadata,
                foreign_places,
            });
        }
        let end = decode(terminal)?;
        match self.grafted_inputs(&end)?.as_slice() {
            [output] if end.op.is_none() => Ok(Some(*output)),
            _ => Err(GraftError::Terminal),
        }
    }

    fn grafted_inputs(&self, op: &pb::Op) -> Result<Vec<Output>, GraftError> {
        op.inputs
            .iter()
            .map(|input| {
                let vertex = self.by_digest.get(&input.digest);
                let vertex = *vertex.ok_or_else(|| GraftError::MissingInput(input.digest.clone()))?;
                let index = u32::try_from(input.index).map_err(|_| GraftError::OutputIndex(input.index))?;
                Ok(Output { vertex, index })
            })
            .collect()
    }
}

fn decode(bytes: &[u8]) -> Result<pb::Op, GraftError> {
    pb::Op::decode(bytes).map_err(|error| GraftError::Decode(error.to_string()))
}

fn grafted_metadata(given: pb::OpMetadata) -> Metadata {
    let mut description = given.description;
    Metadata {
        name: description.remove(super::metadata::NAME_KEY),
        group: given.progress_group.map(|group| ProgressGroup {
            id: group.id,
            name: group.name,
            weak: group.weak,
        }),
        ignore_cache: given.ignore_cache,
        export_cache: given.export_cache.map(|export| export.value),
        locations: Vec::new(),
        description,
    }
}

/// Why a definition cannot be taken over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GraftError {
    /// An operation is not the encoding of one.
    Decode(String),
    /// An operation refers to one that does not stand before it.
    MissingInput(String),
    /// An output number below 0 or beyond what fits.
    OutputIndex(i64),
    /// The last operation is not a bare edge.
    Terminal,
}

impl fmt::Display for GraftError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Decode(reason) => write!(f, "an operation of the definition cannot be decoded: {reason}"),
            Self::MissingInput(digest) => write!(f, "the definition refers to {digest} before it is there"),
            Self::OutputIndex(index) => write!(f, "the definition refers to output {index}"),
            Self::Terminal => f.write_str("the definition does not end in one edge"),
        }
    }
}

impl std::error::Error for GraftError {}

/// The wire form of a platform.
pub(crate) fn wire_platform(platform: &Platform) -> pb::Platform {
    pb::Platform {
        architecture: platform.architecture.clone(),
        os: platform.os.clone(),
        variant: platform.variant.clone(),
        ..pb::Platform::default()
    }
}

/// `sha256:` and hexadecimal digits.
pub(crate) fn digest_of(bytes: &[u8]) -> String {
    let mut text = String::from("sha256:");
    for byte in Sha256::digest(bytes) {
        // Writing into a String cannot fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::super::{File, ImageSource, LocalSource, Mkfile};
    use super::*;
    use crate::diagnostic::Location;

    fn graph() -> Graph {
        Graph::new(Platform::linux_amd64())
    }

    #[test]
    fn digests_are_those_of_the_bytes() {
        assert_eq!(
            digest_of(b""),
            "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
        );
    }

    #[test]
    fn equal_operations_are_one_vertex() {
        let mut graph = graph();
        let first = graph.image(ImageSource::new("alpine"), Metadata::named("one"));
        let second = graph.image(
            ImageSource::new("docker.io/library/alpine:latest"),
            Metadata::named("two"),
        );
        assert_eq!(first, second);
        assert_eq!(graph.vertices().count(), 1);
        assert_eq!(graph.vertex(first).name(), "one");
    }

    #[test]
    fn closure_does_not_depend_on_the_order_of_addition() {
        let build = |reversed: bool| {
            let mut graph = graph();
            let names = if reversed { ["b", "a"] } else { ["a", "b"] };
            for name in names {
                graph.image(ImageSource::new(name), Metadata::default());
            }
            let a = graph.image(ImageSource::new("a"), Metadata::default());
            let b = graph.image(ImageSource::new("b"), Metadata::default());
            let merged = graph.merge(&[a, b], Metadata::default()).unwrap();
            graph.definition(merged)
        };
        assert_eq!(build(false), build(true));
    }

    #[test]
    fn a_deep_chain_needs_no_deep_stack() {
        let mut graph = graph();
        let mut output = graph.local(LocalSource::new("context"), Metadata::default());
        for step in 0..20_000 {
            let file = File::on(output).mkfile(Mkfile::new("/f", step.to_string()));
            output = graph.file(file, Metadata::default());
        }
        assert_eq!(graph.closure(output).len(), 20_001);
    }

    #[test]
    fn grafts_a_definition_byte_for_byte() {
        let file = SourceFile::new("other.toml", "a = 1\n");
        let mut theirs = graph();
        let image = theirs.image(ImageSource::new("a"), Metadata::named("base").ignore_cache(true));
        let made = File::on(image).mkfile(Mkfile::new("/f", "x"));
        let made = theirs.file(
            made,
            Metadata::named("step")
                .at(Location::new(&file, 0..5))
                .export_cache(true),
        );
        let definition = theirs.definition(made);

        let mut ours = graph();
        let grafted = ours.graft(&definition).unwrap().unwrap();
        assert_eq!(ours.definition(grafted), definition);
        assert_eq!(ours.caps(grafted), theirs.caps(made));
        assert_eq!(ours.graft(&pb::Definition::default()), Ok(None));
    }

    #[test]
    fn refuses_to_graft_what_is_no_graph() {
        let mut theirs = graph();
        let image = theirs.image(ImageSource::new("a"), Metadata::default());
        let made = theirs.file(
            File::on(image).mkfile(Mkfile::new("/f", "x")),
            Metadata::default(),
        );
        let definition = theirs.definition(made);
        let with = |def: Vec<Vec<u8>>| {
            graph().graft(&pb::Definition {
                def,
                ..pb::Definition::default()
            })
        };

        assert!(matches!(
            with(definition.def[1..].to_vec()),
            Err(GraftError::MissingInput(_))
        ));
        assert_eq!(with(definition.def[..2].to_vec()), Err(GraftError::Terminal));
        assert!(matches!(with(vec![vec![0xff]]), Err(GraftError::Decode(_))));
        let mut edge = theirs.input(image);
        edge.index = -1;
        let end = pb::Op {
            inputs: vec![edge],
            ..pb::Op::default()
        }
        .encode_to_vec();
        assert_eq!(
            with(vec![definition.def[0].clone(), end]),
            Err(GraftError::OutputIndex(-1))
        );
    }
}
