//! File systems laid over each other, and what one of them changes in another (BuildKit 0.10).
//!
//! Both are lazy: nothing is copied before a process mounts the result. A daemon on a graphdriver store
//! cannot do either; see [`Graph::caps`].

use std::collections::BTreeSet;

use super::caps::Cap;
use super::graph::{Graph, Output};
use super::metadata::Metadata;
use crate::proto::pb;

impl Graph {
    /// Lays file systems over each other, later ones on top. Nothing to merge is `None`, and one input is
    /// itself, because BuildKit refuses merges of fewer than two.
    pub fn merge(&mut self, inputs: &[Output], metadata: Metadata) -> Option<Output> {
        match inputs {
            [] => None,
            [only] => Some(*only),
            inputs => {
                let op = pb::MergeOp {
                    inputs: (0..)
                        .zip(inputs)
                        .map(|(input, _)| pb::MergeInput { input })
                        .collect(),
                };
                let caps = BTreeSet::from([Cap::Merge]);
                Some(self.add(pb::op::Op::Merge(op), inputs.to_vec(), None, caps, metadata))
            }
        }
    }

    /// What `upper` changes in `lower`. What it changes in nothing is all of it.
    pub fn diff(&mut self, lower: Option<Output>, upper: Output, metadata: Metadata) -> Output {
        let Some(lower) = lower else {
            return upper;
        };
        let op = pb::DiffOp {
            lower: Some(pb::LowerDiffInput { input: 0 }),
            upper: Some(pb::UpperDiffInput { input: 1 }),
        };
        let caps = BTreeSet::from([Cap::Diff]);
        self.add(pb::op::Op::Diff(op), vec![lower, upper], None, caps, metadata)
    }
}

#[cfg(test)]
mod tests {
    use super::super::ImageSource;
    use super::super::testing::caps;
    use super::*;
    use crate::platform::Platform;

    fn images() -> (Graph, Output, Output) {
        let mut graph = Graph::new(Platform::linux_amd64());
        let a = graph.image(ImageSource::new("a"), Metadata::default());
        let b = graph.image(ImageSource::new("b"), Metadata::default());
        (graph, a, b)
    }

    #[test]
    fn merges_keep_order_and_repetition() {
        let (mut graph, a, b) = images();
        let merged = graph.merge(&[b, a, b], Metadata::default()).unwrap();
        let op = graph.vertex(merged).op();
        let expected = pb::MergeOp {
            inputs: [0, 1, 2].map(|input| pb::MergeInput { input }).to_vec(),
        };
        assert_eq!(op.op, Some(pb::op::Op::Merge(expected)));
        assert_eq!(op.platform, None);
        assert_eq!(graph.vertex(merged).inputs(), [b, a, b]);
        assert_eq!(caps(&graph, merged), ["mergeop"]);
    }

    #[test]
    fn merges_of_fewer_than_two_are_no_vertex() {
        let (mut graph, a, _) = images();
        assert_eq!(graph.merge(&[], Metadata::default()), None);
        assert_eq!(graph.merge(&[a], Metadata::default()), Some(a));
        assert_eq!(graph.vertices().count(), 2);
    }

    #[test]
    fn diffs_name_both_sides() {
        let (mut graph, a, b) = images();
        let diff = graph.diff(Some(a), b, Metadata::default());
        let op = graph.vertex(diff).op();
        let Some(pb::op::Op::Diff(wire)) = &op.op else {
            panic!("{op:?}")
        };
        assert_eq!(wire.lower.map(|lower| lower.input), Some(0));
        assert_eq!(wire.upper.map(|upper| upper.input), Some(1));
        assert_eq!(op.platform, None);
        assert_eq!(graph.vertex(diff).inputs(), [a, b]);
        assert_eq!(caps(&graph, diff), ["diffop"]);
        assert_eq!(graph.diff(None, b, Metadata::default()), b);
    }
}
