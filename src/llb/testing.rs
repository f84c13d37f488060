//! What the tests of this room ask a graph.

use std::collections::{BTreeMap, BTreeSet};

use super::{Graph, Output};
use crate::diagnostic::SourceFile;
use crate::lock::Manifests;
use crate::plan::{Plan, Request, StandIns, plan};
use crate::platform::Platform;
use crate::proto::pb;
use crate::spec::Spec;

/// The plan of all images of a spec that needs no lock, for `linux/amd64`, with no registry asked.
pub(crate) fn planned(text: &str) -> Plan {
    let (spec, _) = Spec::parse(&SourceFile::new("wheelbase.toml", text)).unwrap();
    let images: BTreeSet<String> = spec.images.keys().cloned().collect();
    plan(&Request {
        spec: &spec,
        lock: None,
        projects: &BTreeMap::new(),
        manifests: &Manifests::default(),
        platform: Platform::linux_amd64(),
        builder: None,
        stand_ins: &StandIns::default(),
        resolved: &BTreeMap::new(),
        images: &images,
    })
    .unwrap()
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
