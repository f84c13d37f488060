//! What the tests of this room ask a graph.

use std::collections::BTreeMap;

use super::{Graph, Output};
use crate::plan::{Plan, StandIns, testing};
use crate::proto::pb;

/// A spec of two kernels and an image with both.
pub(crate) const TWO_WHEELS: &str = "name = \"job\"\n[gpu]\narchs = [\"9.0\"]\n\
     tiers = { base = \"registry.example/base:1\", devel = \"registry.example/devel:1\" }\n\
     [python]\nversion = \"3.12\"\nprovider = { image = \"registry.example/python:1\" }\n\
     [wheels.fast]\nsource = { path = \"fast\" }\n[wheels.faster]\nsource = { path = \"faster\" }\n\
     [images.serve]\ntier = \"base\"\nwheels = [\"fast\", \"faster\"]\n";

/// The plan of all images of a spec that needs no lock, for `linux/amd64`, with no registry asked.
pub(crate) fn planned(spec: &str) -> Plan {
    testing::planned(spec, None, &StandIns::default())
}

/// The source operation behind an edge.
pub(crate) fn source(graph: &Graph, output: Output) -> pb::SourceOp {
    match graph.vertex(output).op().op {
        Some(pb::op::Op::Source(source)) => source,
        other => panic!("not a source: {other:?}"),
    }
}

/// The attributes of a source operation, to be compared with pairs in order.
pub(crate) fn attrs(graph: &Graph, output: Output) -> Attrs {
    Attrs(source(graph, output).attrs)
}

#[derive(Debug)]
pub(crate) struct Attrs(BTreeMap<String, String>);

impl Attrs {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<const N: usize> PartialEq<[(&str, &str); N]> for Attrs {
    fn eq(&self, pairs: &[(&str, &str); N]) -> bool {
        self.0
            .iter()
            .map(|(key, value)| (key.as_str(), value.as_str()))
            .eq(pairs.iter().copied())
    }
}

/// The capabilities of the vertex behind an edge, in order.
pub(crate) fn caps(graph: &Graph, output: Output) -> Vec<&str> {
    graph.vertex(output).caps().collect()
}

/// The exec operation behind an edge.
pub(crate) fn exec(graph: &Graph, output: Output) -> pb::ExecOp {
    match graph.vertex(output).op().op {
        Some(pb::op::Op::Exec(exec)) => exec,
        other => panic!("not an exec: {other:?}"),
    }
}

/// The actions of the file operation behind an edge.
pub(crate) fn actions(graph: &Graph, output: Output) -> Vec<pb::FileAction> {
    match graph.vertex(output).op().op {
        Some(pb::op::Op::File(file)) => file.actions,
        other => panic!("not a file operation: {other:?}"),
    }
}
