//! Layers: trees that steps have made, taken alone and laid upon each other. A daemon that cannot merge copies the same files
//! in order.

use super::super::{Copy, File, Output};
use super::{Emitter, Made, Tree, context, steps, whole};
use crate::plan::{Root, StageId, Work};

impl Emitter<'_> {
    /// A root as one filesystem.
    pub(super) fn lay(&mut self, root: &Root) -> Output {
        // A tree that was made on exactly what lies below it already is the whole.
        if let Some((last, below)) = root.trees.split_last()
            && let Some(on) = made_on(&self.plan.stage(*last).work)
            && on.base == root.base
            && on.trees == below
            && let Made::Tree(tree) = self.make(*last)
        {
            return tree.full;
        }
        let base = self.filesystem(root.base);
        let trees: Vec<(StageId, Tree)> = root
            .trees
            .iter()
            .filter_map(|id| match self.make(*id) {
                Made::Tree(tree) => Some((*id, tree)),
                Made::Filesystem(_) | Made::Folder(_) => None,
            })
            .collect();
        let group = self.assembly();
        if self.surroundings.merge {
            let mut inputs = vec![base];
            inputs.extend(trees.iter().map(|(_, tree)| tree.alone));
            let metadata = self.named(format!("[{}] merge layers", self.image)).group(group);
            let merged = self.graph.merge(&inputs, metadata).unwrap_or(base);
            return self.alike(base, merged);
        }
        let copied = trees.into_iter().fold(base, |below, (id, tree)| {
            let stage = self.plan.stage(id);
            let metadata = self
                .named(format!("[{}] lay {}", self.image, stage.name))
                .group(group.clone());
            let copy = if let Work::Copy(copy) = &stage.work {
                context::copy(self.context(), &copy.from, &copy.to)
            } else {
                let mut copy = Copy::new(tree.full, tree.path, tree.path);
                copy.contents_only = true;
                copy
            };
            self.graph.file(File::on(below).copy(copy), metadata)
        });
        self.alike(base, copied)
    }

    /// What was made on a filesystem is of its platform.
    pub(super) fn alike(&mut self, base: Output, made: Output) -> Output {
        if self.of_builder.contains(&base) {
            self.of_builder.insert(made);
        }
        made
    }

    /// A tree below `/opt/venv` that a step has made on `on`.
    pub(super) fn installed(&mut self, on: Output, executed: steps::Installed, name: &str) -> Made {
        self.alike(on, executed.root);
        let alone = self.diff(on, executed.root, name);
        Made::Tree(Tree {
            full: executed.root,
            alone,
            path: "/opt/venv",
            list: Some(executed.list),
        })
    }

    /// What a step has changed, or all of it where the daemon cannot tell.
    pub(super) fn diff(&mut self, lower: Output, upper: Output, name: &str) -> Output {
        if !self.surroundings.merge {
            return upper;
        }
        let metadata = self
            .named(format!("[{}] take {name}", self.image))
            .group(self.assembly());
        self.graph.diff(Some(lower), upper, metadata)
    }

    /// What a copy has changed, with one time. A folder of the tier that was copied into, such as `/etc`, is part of the
    /// change, and carries the time of the build: the layer would be another one on every builder.
    pub(super) fn settle(&mut self, changed: Output, name: &str) -> Output {
        if !self.surroundings.merge {
            return changed;
        }
        let metadata = self
            .named(format!("[{}] settle {name}", self.image))
            .group(self.assembly());
        self.graph.file(File::scratch().copy(whole(changed)), metadata)
    }
}

/// What a tree was made on, if it was made on a filesystem.
fn made_on(work: &Work) -> Option<&Root> {
    match work {
        Work::Venv { root } | Work::InstallWheels { root, .. } => Some(root),
        Work::Install(install) => Some(&install.root),
        _ => None,
    }
}
