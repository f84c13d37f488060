//! A graph that is taken over whole: another target of a bake file, or what was read before the rest was known.

use std::sync::Arc;

use prost::Message as _;

use super::graft::GraftError;
use super::graph::{Graph, Output, digest_of};
use super::{File, Metadata, Mkdir};
use crate::platform::Platform;
use crate::proto::pb;

/// A definition that is known to be one, and to end in a filesystem. Copies of it share their bytes.
#[derive(Debug, Clone, PartialEq)]
pub struct Given(Arc<pb::Definition>);

impl Given {
    /// Looks at a definition. One without operations is an empty filesystem: `None`.
    ///
    /// # Errors
    ///
    /// When it is no graph.
    pub fn new(definition: pb::Definition) -> Result<Option<Self>, GraftError> {
        let end = Graph::new(Platform::linux_amd64()).graft(&definition)?;
        Ok(end.map(|_| Self(Arc::new(definition))))
    }

    /// What a graph of our own makes.
    pub fn of(graph: &Graph, output: Output) -> Self {
        Self(Arc::new(graph.definition(output)))
    }

    /// A graph of one operation in the bytes that BuildKit's own frontends wrote with their earlier encoder: the kind of operation stood
    /// among its fields in the order of their numbers, and not last. `None` for any other graph.
    pub fn in_old_order(&self) -> Option<Self> {
        let [only, _] = self.0.def.as_slice() else {
            return None;
        };
        let mut rest = pb::Op::decode(only.as_slice()).ok()?;
        let kind = pb::Op {
            op: rest.op.take(),
            ..pb::Op::default()
        };
        let bytes = [kind.encode_to_vec(), rest.encode_to_vec()].concat();
        let digest = digest_of(&bytes);
        let input = pb::Input {
            digest: digest.clone(),
            index: 0,
        };
        let end = pb::Op {
            inputs: vec![input],
            ..pb::Op::default()
        };
        let metadata = self.0.metadata.get(&digest_of(only)).cloned().unwrap_or_default();
        let definition = pb::Definition {
            def: vec![bytes, end.encode_to_vec()],
            metadata: [(digest, metadata)].into(),
            ..pb::Definition::default()
        };
        Self::new(definition).ok().flatten()
    }

    /// The definition.
    pub fn definition(&self) -> &pb::Definition {
        &self.0
    }
}

impl Graph {
    /// Takes over a whole graph, byte for byte, and returns what it ends in.
    pub fn give(&mut self, given: &Given) -> Output {
        match self.graft(&given.0) {
            Ok(Some(output)) => output,
            // `Given::new` lets nothing through that comes to this.
            Ok(None) | Err(_) => self.file(File::scratch().mkdir(Mkdir::new("/")), Metadata::default()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::ImageSource;
    use super::*;

    #[test]
    fn what_is_no_filesystem_is_not_taken() {
        assert_eq!(Given::new(pb::Definition::default()), Ok(None));
        let cut = pb::Definition {
            def: vec![vec![0xff]],
            ..pb::Definition::default()
        };
        assert!(Given::new(cut).is_err());
    }

    #[test]
    fn an_older_encoder_writes_the_same_in_another_order() {
        let mut theirs = Graph::new(Platform::linux_amd64());
        let image = theirs.image(ImageSource::new("a"), Metadata::named("base"));
        let given = Given::of(&theirs, image);
        let old = given.in_old_order().unwrap();
        let op = |given: &Given| given.definition().def[0].clone();
        assert_ne!(op(&given), op(&old));
        // Field 3, the source, comes before 10 and 11.
        assert_eq!(op(&old)[0] >> 3, 3);
        assert_eq!(pb::Op::decode(&*op(&given)), pb::Op::decode(&*op(&old)));
        let mut ours = Graph::new(Platform::linux_amd64());
        let output = ours.give(&old);
        assert_eq!(ours.vertex(output).name(), "base");
    }

    #[test]
    fn it_keeps_its_bytes_in_another_graph() {
        let mut theirs = Graph::new(Platform::linux_arm64());
        let image = theirs.image(ImageSource::new("a"), Metadata::named("base"));
        let given = Given::of(&theirs, image);
        assert_eq!(Given::new(given.definition().clone()), Ok(Some(given.clone())));
        let mut ours = Graph::new(Platform::linux_amd64());
        let output = ours.give(&given);
        assert_eq!(ours.digest(output), theirs.digest(image));
        assert_eq!(ours.definition(output), *given.definition());
    }
}
