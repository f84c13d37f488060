//! What the tests of this room ask a graph.

use super::{Graph, Output};
use crate::proto::pb;

/// The source operation behind an edge.
pub(crate) fn source(graph: &Graph, output: Output) -> &pb::SourceOp {
    match &graph.vertex(output).op().op {
        Some(pb::op::Op::Source(source)) => source,
        other => panic!("not a source: {other:?}"),
    }
}

/// The attributes of a source operation, in order.
pub(crate) fn attrs(graph: &Graph, output: Output) -> Vec<(&str, &str)> {
    source(graph, output)
        .attrs
        .iter()
        .map(|(key, value)| (key.as_str(), value.as_str()))
        .collect()
}

/// The capabilities of the vertex behind an edge, in order.
pub(crate) fn caps(graph: &Graph, output: Output) -> Vec<&str> {
    graph.vertex(output).caps().iter().map(String::as_str).collect()
}

/// The exec operation behind an edge.
pub(crate) fn exec(graph: &Graph, output: Output) -> &pb::ExecOp {
    match &graph.vertex(output).op().op {
        Some(pb::op::Op::Exec(exec)) => exec,
        other => panic!("not an exec: {other:?}"),
    }
}

/// The actions of the file operation behind an edge.
pub(crate) fn actions(graph: &Graph, output: Output) -> &[pb::FileAction] {
    match &graph.vertex(output).op().op {
        Some(pb::op::Op::File(file)) => &file.actions,
        other => panic!("not a file operation: {other:?}"),
    }
}
