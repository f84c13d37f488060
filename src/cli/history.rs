//! Where the versions of a lock come from: git, or a folder.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context as _, anyhow, bail};

use super::git::{Commit, Repository};
use super::load::Files;
use crate::diagnostic::SourceFile;

/// The versions of a lock, oldest first.
#[derive(Debug)]
pub(super) struct History {
    pub(super) versions: Vec<Source>,
    /// What the reader should know of it.
    pub(super) note: Option<String>,
}

/// A version of a lock that can be read.
#[derive(Debug)]
pub(super) struct Source {
    /// A short commit, or a file's name.
    pub(super) name: String,
    /// The day; empty for a file.
    pub(super) date: String,
    /// The commit's subject; empty for a file.
    pub(super) subject: String,
    /// Where it and the files beside it are.
    pub(super) files: Files,
    /// Its path there.
    path: String,
}

impl Source {
    /// The lock; `None` when the commit took it away.
    pub(super) fn read(&self) -> anyhow::Result<Option<Arc<SourceFile>>> {
        self.files.read(&self.path)
    }
}

impl History {
    /// The commits that changed a lock. `path` is relative to `folder`.
    pub(super) fn of_git(folder: &Path, path: &str, most: Option<usize>) -> anyhow::Result<Self> {
        let repository = Repository::of(folder)?;
        let commits = repository.history(path, most)?;
        if commits.is_empty() {
            bail!("git has no history of {}", folder.join(path).display());
        }
        let cut = most.is_none_or(|most| commits.len() < most) && repository.is_shallow()?;
        let source = |commit: Commit| Source {
            name: commit.short().to_owned(),
            files: Files::Commit {
                repository: repository.clone(),
                name: commit.short().to_owned(),
                id: commit.id,
            },
            date: commit.date,
            subject: commit.subject,
            path: path.to_owned(),
        };
        Ok(Self {
            versions: commits.into_iter().rev().map(source).collect(),
            note: cut.then(|| {
                "the repository is a shallow clone: `git fetch --unshallow` brings what is older".into()
            }),
        })
    }

    /// The files `*.lock` of a folder, sorted by name. Other files are read from `beside`.
    pub(super) fn of_folder(
        folder: &Path,
        beside: Option<&Path>,
        most: Option<usize>,
    ) -> anyhow::Result<Self> {
        let shown = folder.display();
        let mut paths = Vec::new();
        for entry in std::fs::read_dir(folder).with_context(|| format!("failed to read {shown}"))? {
            let path = entry?.path();
            if path.extension().is_some_and(|extension| extension == "lock") {
                paths.push(path);
            }
        }
        paths.sort();
        if paths.is_empty() {
            bail!("{shown} has no file `*.lock`");
        }
        let skipped = most.map_or(0, |most| paths.len().saturating_sub(most));
        let versions = paths
            .drain(skipped..)
            .map(|path| {
                let name = path
                    .file_stem()
                    .and_then(|name| name.to_str())
                    .ok_or_else(|| anyhow!("{} is no name in UTF-8", path.display()))?;
                // Relative to where the command runs, so that it is found from any folder that is joined with it.
                let path = std::path::absolute(&path)?;
                let text = path
                    .to_str()
                    .ok_or_else(|| anyhow!("{} is no name in UTF-8", path.display()))?;
                Ok(Source {
                    name: name.to_owned(),
                    date: String::new(),
                    subject: String::new(),
                    files: Files::Disk(beside.unwrap_or(folder).to_owned()),
                    path: text.to_owned(),
                })
            })
            .collect::<anyhow::Result<_>>()?;
        Ok(Self { versions, note: None })
    }
}
