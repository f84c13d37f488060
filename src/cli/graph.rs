//! The plan as a picture: stages as boxes, an arrow from each to what is made from it.

use std::fmt::Write as _;

use crate::plan::show::kind;
use crate::plan::{Plan, StageId};

/// Arrows of the plan: from a stage to a stage or an image. Uv is part of nearly every step and would hide the
/// rest, so its arrows are left out.
fn edges(plan: &Plan) -> Vec<(StageId, Node<'_>)> {
    let mut edges = Vec::new();
    for (id, stage) in plan.iter() {
        let mut from: Vec<StageId> = stage.work.stands_on(plan.uv);
        from.retain(|from| *from != plan.uv);
        from.dedup();
        edges.extend(from.into_iter().map(|from| (from, Node::Stage(id))));
    }
    for (name, image) in &plan.images {
        edges.push((image.root.base, Node::Image(name)));
        edges.extend(image.root.trees.iter().map(|tree| (*tree, Node::Image(name))));
    }
    edges
}

enum Node<'a> {
    Stage(StageId),
    Image(&'a str),
}

impl Node<'_> {
    fn id(&self, plan: &Plan) -> String {
        match self {
            Node::Stage(id) => format!("s{}", position(plan, *id)),
            Node::Image(name) => {
                format!(
                    "i{}",
                    plan.images
                        .keys()
                        .position(|image| image == name)
                        .unwrap_or_default()
                )
            }
        }
    }
}

fn position(plan: &Plan, id: StageId) -> usize {
    plan.iter().position(|(other, _)| other == id).unwrap_or_default()
}

/// Graphviz.
pub(super) fn dot(plan: &Plan) -> String {
    let quote = |text: &str| text.replace('\\', "\\\\").replace('"', "\\\"");
    let mut out =
        String::from("digraph wheelbase {\n  rankdir=LR;\n  node [shape=box, fontname=\"sans-serif\"];\n");
    for (index, (_, stage)) in plan.iter().enumerate() {
        let (name, kind) = (quote(&stage.name), kind(&stage.work));
        let _ = writeln!(
            out,
            "  s{index} [label=\"{name}\\n{kind} {}\"];",
            stage.key.short()
        );
    }
    for (index, name) in plan.images.keys().enumerate() {
        let _ = writeln!(out, "  i{index} [label=\"image {}\", style=bold];", quote(name));
    }
    for (from, to) in edges(plan) {
        let _ = writeln!(out, "  s{} -> {};", position(plan, from), to.id(plan));
    }
    out.push_str("}\n");
    out
}

/// Mermaid.
pub(super) fn mermaid(plan: &Plan) -> String {
    let quote = |text: &str| text.replace('"', "#quot;");
    let mut out = String::from("flowchart LR\n");
    for (index, (_, stage)) in plan.iter().enumerate() {
        let _ = writeln!(
            out,
            "  s{index}[\"{}<br/>{}\"]",
            quote(&stage.name),
            kind(&stage.work)
        );
    }
    for (index, name) in plan.images.keys().enumerate() {
        let _ = writeln!(out, "  i{index}([\"image {}\"])", quote(name));
    }
    for (from, to) in edges(plan) {
        let _ = writeln!(out, "  s{} --> {}", position(plan, from), to.id(plan));
    }
    out
}
