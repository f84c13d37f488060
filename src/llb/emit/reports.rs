//! What steps have to say of what they did, in one folder for the frontend to read.

use std::collections::BTreeMap;

use super::super::{Copy, File, Output};
use super::{Counting, Emitter, Made, Tree};
use crate::plan::{Needed, StageId};

/// A folder of small files that steps left. It is one folder, since a solve for each file would have the daemon load the
/// graph as often.
#[derive(Debug, Clone)]
pub struct Reports {
    /// The folder.
    pub folder: Output,
    /// How many file lists are in it, with the names `0`, `1` and so on. Together they are the finished filesystem,
    /// lowest first. None when nothing is forbidden in the image.
    pub lists: usize,
    /// How many lists of the libraries that wheels need are in it, with the names `needed-0`, `needed-1` and so on.
    pub needed: usize,
    /// Whether what became of imports is in it, with the name `imports`.
    pub imports: bool,
    /// The stages whose counts are in it, with the names `counts-0`, `counts-1` and so on.
    pub counts: Vec<StageId>,
}

impl Emitter<'_> {
    /// All that is asked of steps, in one folder.
    pub(super) fn reports(
        &mut self,
        lists: &[StageId],
        needed: &[Needed],
        imports: Option<StageId>,
    ) -> Option<Reports> {
        let mut file = File::scratch();
        for (index, id) in lists.iter().enumerate() {
            let list = self.list_of(*id);
            file = file.copy(Copy::new(list, "/files", format!("/{index}")));
        }
        for (index, needed) in needed.iter().enumerate() {
            let list = self.folder(needed.list);
            file = file.copy(Copy::new(list, "/needed", format!("/needed-{index}")));
        }
        if let Some(id) = imports {
            file = file.copy(Copy::new(self.folder(id), "/imports", "/imports"));
        }
        let counts = if self.surroundings.counts == Counting::Asked {
            std::mem::take(&mut self.counts)
        } else {
            BTreeMap::new()
        };
        for (index, folder) in counts.values().enumerate() {
            file = file.copy(Copy::new(*folder, "/counts.json", format!("/counts-{index}")));
        }
        let metadata = self
            .named(format!("[{}] take reports of steps", self.image))
            .group(self.assembly());
        let asked = !lists.is_empty() || imports.is_some() || !counts.is_empty();
        asked.then(|| Reports {
            folder: self.graph.file(file, metadata),
            lists: lists.len(),
            needed: needed.len(),
            imports: imports.is_some(),
            counts: counts.into_keys().collect(),
        })
    }

    /// The folder with a stage's file list.
    fn list_of(&mut self, id: StageId) -> Output {
        match self.make(id) {
            Made::Tree(Tree { list: Some(list), .. }) | Made::Folder(list) | Made::Filesystem(list) => list,
            Made::Tree(tree) => tree.alone,
        }
    }
}
