//! The arena of vertices.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use prost::Message as _;
use sha2::{Digest as _, Sha256};

use super::caps::Cap;
use super::metadata::Metadata;
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
///
/// The operation is kept as the bytes that are digested and sent, and in no other form: a lock makes thousands.
#[derive(Debug, Clone)]
pub struct Vertex {
    pub(crate) bytes: Vec<u8>,
    pub(crate) digest: Arc<str>,
    pub(crate) inputs: Vec<Output>,
    /// Sorted, each once. Most vertices have one or two, for which a set would take ten times the memory.
    pub(crate) caps: Vec<Cow<'static, str>>,
    pub(crate) metadata: Metadata,
    /// Places that came with a grafted definition, which names its own files.
    pub(crate) foreign_places: Vec<(Arc<pb::SourceInfo>, Vec<pb::Range>)>,
}

impl Vertex {
    /// The operation, decoded from [`Vertex::bytes`]. Fields that this crate does not know are missing here when the
    /// vertex was grafted.
    pub fn op(&self) -> pb::Op {
        // Bytes that are no operation are refused by `Graph::graft`.
        pb::Op::decode(self.bytes.as_slice()).unwrap_or_default()
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
    pub fn caps(&self) -> impl Iterator<Item = &str> {
        self.caps.iter().map(AsRef::as_ref)
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
        match self.op().op {
            Some(pb::op::Op::Source(source)) => source.identifier,
            Some(pb::op::Op::Exec(exec)) => exec.meta.map_or_else(String::new, |meta| meta.args.join(" ")),
            Some(pb::op::Op::File(file)) => {
                let actions: Vec<String> = file.actions.iter().filter_map(action_name).collect();
                actions.join(", ")
            }
            Some(pb::op::Op::Merge(_)) => "merge".to_owned(),
            Some(pb::op::Op::Diff(_)) => "diff".to_owned(),
            None => self.digest.to_string(),
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

/// The bytes of a digest. Kept in the index itself, so that finding a vertex reads no texts all over the memory; their
/// order is that of the texts.
type Raw = [u8; 32];

fn raw(digest: &str) -> Option<Raw> {
    let digits = digest.strip_prefix("sha256:")?.as_bytes();
    let digit = |byte: u8| match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        _ => None,
    };
    let mut raw = [0; 32];
    if digits.len() != 2 * raw.len() {
        return None;
    }
    for (byte, pair) in raw.iter_mut().zip(digits.chunks_exact(2)) {
        *byte = digit(pair[0])? << 4 | digit(pair[1])?;
    }
    Some(raw)
}

/// A graph under construction.
///
/// Methods that take an [`Output`] expect one of the same graph, and panic when it is not.
#[derive(Debug, Clone)]
pub struct Graph {
    platform: Platform,
    vertices: Vec<Vertex>,
    by_digest: BTreeMap<Raw, u32>,
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

    /// [`Graph::closure`] in the order of the digests. Nothing is sorted: that would be most of the work for a large graph,
    /// and the index is in this order.
    pub(crate) fn closure_by_digest(&self, output: Output) -> Vec<&Vertex> {
        let mut needed = vec![false; self.vertices.len()];
        for index in self.closure_indices(output) {
            needed[index] = true;
        }
        let indices = self.by_digest.values().map(|index| *index as usize);
        indices
            .filter(|index| needed[*index])
            .map(|index| &self.vertices[index])
            .collect()
    }

    fn closure_indices(&self, output: Output) -> Vec<usize> {
        // Depth first over the inputs in their order, as Go's llb does it; a stack of its own because a long
        // chain of layers is deep.
        let mut seen = vec![false; self.vertices.len()];
        seen[output.vertex()] = true;
        let mut order = Vec::new();
        let mut stack = vec![(output.vertex(), 0)];
        while let Some((vertex, next_input)) = stack.pop() {
            match self.vertices[vertex].inputs.get(next_input) {
                None => order.push(vertex),
                Some(input) => {
                    stack.push((vertex, next_input + 1));
                    if !std::mem::replace(&mut seen[input.vertex()], true) {
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
        let bytes = encode(op);
        let digest = digest_of(&bytes).into();
        let mut caps: Vec<_> = caps.into_iter().map(|cap| Cow::Borrowed(cap.id())).collect();
        caps.sort_unstable();
        let foreign_places = Vec::new();
        self.insert(Vertex {
            bytes,
            digest,
            inputs,
            caps,
            metadata,
            foreign_places,
        })
    }

    pub(crate) fn insert(&mut self, vertex: Vertex) -> Output {
        let raw = raw(&vertex.digest);
        if let Some(index) = raw.and_then(|raw| self.by_digest.get(&raw)) {
            let known = &mut self.vertices[*index as usize];
            known.metadata.unite(vertex.metadata);
            known.caps.extend(vertex.caps);
            known.caps.sort_unstable();
            known.caps.dedup();
            for place in vertex.foreign_places {
                if !known.foreign_places.contains(&place) {
                    known.foreign_places.push(place);
                }
            }
            return Output {
                vertex: *index,
                index: 0,
            };
        }
        // More vertices than a u32 counts do not fit into the memory of any daemon.
        let index = u32::try_from(self.vertices.len()).unwrap_or(u32::MAX);
        if let Some(raw) = raw {
            self.by_digest.insert(raw, index);
        }
        self.vertices.push(vertex);
        Output {
            vertex: index,
            index: 0,
        }
    }

    pub(crate) fn index_of(&self, digest: &str) -> Option<u32> {
        self.by_digest.get(&raw(digest)?).copied()
    }
}

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
    let mut text = String::with_capacity("sha256:".len() + 64);
    text.push_str("sha256:");
    for byte in Sha256::digest(bytes) {
        text.extend([byte >> 4, byte & 15].map(|digit| char::from(b"0123456789abcdef"[usize::from(digit)])));
    }
    text
}

/// The bytes of an operation as Go writes them: in order of field numbers, except that the kind of operation, a
/// `oneof`, comes last. BuildKit decodes, encodes and digests what it gets anew (`recomputeDigests` in
/// `solver/llbsolver/vertex.go`) and looks up source locations by that digest, so any other order would lose them.
fn encode(mut op: pb::Op) -> Vec<u8> {
    let kind = pb::Op {
        op: op.op.take(),
        ..pb::Op::default()
    };
    let mut bytes = Vec::with_capacity(op.encoded_len() + kind.encoded_len());
    // A vector takes all that is written to it.
    op.encode(&mut bytes).ok();
    kind.encode(&mut bytes).ok();
    bytes
}

#[cfg(test)]
mod tests {
    use super::super::{File, ImageSource, LocalSource, Mkfile};
    use super::*;

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
    fn the_order_of_digests_is_that_of_their_texts() {
        let mut graph = graph();
        let mut output = graph.local(LocalSource::new("context"), Metadata::default());
        for step in 0..40 {
            graph.image(ImageSource::new(format!("stranger:{step}")), Metadata::default());
            let file = File::on(output).mkfile(Mkfile::new("/f", step.to_string()));
            output = graph.file(file, Metadata::default());
        }
        let mut expected: Vec<&str> = graph
            .closure(output)
            .iter()
            .map(|vertex| vertex.digest())
            .collect();
        expected.sort_unstable();
        let found: Vec<&str> = graph
            .closure_by_digest(output)
            .iter()
            .map(|vertex| vertex.digest())
            .collect();
        assert_eq!((found.len(), found), (41, expected));
    }

    #[test]
    fn what_is_no_digest_is_found_nowhere() {
        let mut graph = graph();
        let image = graph.image(ImageSource::new("alpine"), Metadata::default());
        let digest = graph.digest(image).to_owned();
        assert_eq!(graph.index_of(&digest), Some(image.vertex));
        for other in [
            "",
            "sha256:",
            &digest[7..],
            &digest[..70],
            &digest.to_uppercase(),
            &format!("{digest}0"),
        ] {
            assert_eq!(graph.index_of(other), None, "{other}");
        }
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
}
