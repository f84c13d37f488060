//! What the checks of a finished image read: a few small lists in one folder.

use super::super::{Copy, File, Metadata, Output};
use super::{Emitter, Made, Tree};
use crate::plan::{Needed, StageId};

/// A folder with the file lists `0`, `1` and so on, which together are the finished filesystem, lowest first.
#[derive(Debug, Clone, Copy)]
pub struct FileLists {
    /// The folder.
    pub folder: Output,
    /// How many lists are in it.
    pub count: usize,
    /// How many lists `needed-0`, `needed-1` and so on of libraries are in it.
    pub needed: usize,
}

impl Emitter<'_> {
    /// All file lists in one folder: a solve for each would have the daemon load the graph as often.
    pub(super) fn lists(&mut self, stages: &[StageId], needed: &[Needed]) -> Option<FileLists> {
        let mut file = File::scratch();
        for (index, id) in stages.iter().enumerate() {
            let list = self.list_of(*id);
            file = file.copy(Copy::new(list, "/files", format!("/{index}")));
        }
        for (index, needed) in needed.iter().enumerate() {
            let list = self.folder(needed.list);
            file = file.copy(Copy::new(list, "/needed", format!("/needed-{index}")));
        }
        let metadata = Metadata::named(format!("[{}] take file lists", self.image)).group(self.assembly());
        (!stages.is_empty()).then(|| FileLists {
            folder: self.graph.file(file, metadata),
            count: stages.len(),
            needed: needed.len(),
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
