//! Graphs that somebody else made.
//!
//! A frontend input, such as another target of the same bake file, arrives as a finished definition. It becomes
//! part of our graph with the bytes it came in, so that its digests, and all caches below them, stay what they
//! were.

use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

use prost::Message as _;

use super::exec::Resources;
use super::graph::{Graph, Output, Vertex, digest_of};
use super::metadata::{Metadata, NAME_KEY, ProgressGroup};
use crate::proto::pb;

impl Graph {
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
            let digest: Arc<str> = digest_of(bytes).into();
            let inputs = self.grafted_inputs(&op)?;
            let given = definition.metadata.get(&*digest).cloned().unwrap_or_default();
            let locations = definition
                .source
                .iter()
                .filter_map(|source| source.locations.get(&*digest));
            let foreign_places = locations
                .flat_map(|locations| &locations.locations)
                .filter_map(|location| {
                    let info = infos.get(usize::try_from(location.source_index).ok()?)?;
                    Some((Arc::clone(info), location.ranges.clone()))
                })
                .collect();
            let caps = given.caps.keys().cloned().map(Cow::Owned).collect();
            let metadata = grafted_metadata(given);
            self.insert(Vertex {
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
                let vertex = self.index_of(&input.digest);
                let vertex = vertex.ok_or_else(|| GraftError::MissingInput(input.digest.clone()))?;
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
        name: description.remove(NAME_KEY),
        group: given.progress_group.map(|group| ProgressGroup {
            id: group.id.into(),
            name: group.name.into(),
            weak: group.weak,
        }),
        ignore_cache: given.ignore_cache,
        export_cache: given.export_cache.map(|export| export.value),
        locations: Vec::new(),
        description,
        resources: given.linux_resources.map(grafted_resources).map(Box::new),
    }
}

/// On the wire 0 is no limit.
fn grafted_resources(given: pb::LinuxResources) -> Resources {
    let signed = |number: i64| (number != 0).then_some(number);
    let unsigned = |number: u64| (number != 0).then_some(number);
    Resources {
        memory: signed(given.memory),
        memory_swap: signed(given.memory_swap),
        cpu_shares: unsigned(given.cpu_shares),
        cpu_period: unsigned(given.cpu_period),
        cpu_quota: signed(given.cpu_quota),
        cpus: given.cpuset_cpus,
        memory_nodes: given.cpuset_mems,
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

#[cfg(test)]
mod tests {
    use super::super::{File, ImageSource, Mkfile};
    use super::*;
    use crate::diagnostic::{Location, SourceFile};
    use crate::platform::Platform;

    fn graph() -> Graph {
        Graph::new(Platform::linux_amd64())
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
