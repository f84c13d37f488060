//! A filesystem, as an exported archive tells it.

use std::collections::BTreeMap;
use std::io::Read;

use anyhow::{Context as _, Result};
use sha2::{Digest as _, Sha256};

/// All entries by path, without a leading slash.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Tree {
    pub(crate) entries: BTreeMap<String, Entry>,
}

/// What two filesystems are compared by: everything but times.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    /// `file`, `folder`, `link` or `other`.
    pub(crate) kind: &'static str,
    pub(crate) mode: u32,
    pub(crate) owner: (u64, u64),
    /// Target of a symbolic link.
    pub(crate) target: Option<String>,
    /// SHA-256 of a file's content.
    pub(crate) content: Option<String>,
    /// The content itself of files that are small enough to be looked at.
    pub(crate) text: Option<String>,
}

/// Where everything lies that a build installs; only here the content of big files is read.
const OURS: &str = "opt/";

/// Files up to this size are kept for a look at their differences.
const KEPT: u64 = 1024 * 1024;

impl Tree {
    /// Reads a tar archive.
    ///
    /// # Errors
    ///
    /// When it is none.
    pub(crate) fn read(archive: impl Read) -> Result<Self> {
        let mut tree = Self::default();
        let mut archive = tar::Archive::new(archive);
        for entry in archive.entries()? {
            let mut entry = entry?;
            let path = String::from_utf8_lossy(&entry.path_bytes())
                .trim_matches('/')
                .to_owned();
            let path = path.trim_start_matches("./").to_owned();
            let header = entry.header().clone();
            let target = entry
                .link_name_bytes()
                .map(|target| String::from_utf8_lossy(&target).into_owned());
            let kind = header.entry_type();
            if kind.is_hard_link() {
                let target = target.unwrap_or_default();
                let target = target.trim_start_matches("./").trim_matches('/');
                let same = tree
                    .entries
                    .get(target)
                    .with_context(|| format!("{path} links to {target}"))?
                    .clone();
                tree.entries.insert(path, same);
                continue;
            }
            let mut new = Entry {
                kind: "other",
                mode: header.mode()? & 0o7777,
                owner: (header.uid()?, header.gid()?),
                target: None,
                content: None,
                text: None,
            };
            if kind.is_dir() {
                new.kind = "folder";
            } else if kind.is_symlink() {
                new.kind = "link";
                new.target = target;
            } else if kind.is_file() {
                new.kind = "file";
                // A tier is a gigabyte of files that nobody compares.
                if !path.starts_with(OURS) && header.size()? > KEPT {
                    tree.entries.insert(path, new);
                    continue;
                }
                let mut bytes = Vec::new();
                entry.read_to_end(&mut bytes)?;
                new.content = Some(sha256(&bytes));
                new.text = (bytes.len() as u64 <= KEPT)
                    .then(|| String::from_utf8(bytes).ok())
                    .flatten();
            }
            tree.entries.insert(path, new);
        }
        Ok(tree)
    }

    /// What lies below a folder, the folder included.
    pub(crate) fn below(&self, folder: &str) -> Self {
        let folder = folder.trim_matches('/');
        let inside = format!("{folder}/");
        let entries = self
            .entries
            .iter()
            .filter(|(path, _)| *path == folder || path.starts_with(&inside))
            .map(|(path, entry)| (path.clone(), entry.clone()))
            .collect();
        Self { entries }
    }

    /// The tree without `uv_cache.json` of any package, and without its line in `RECORD`.
    pub(crate) fn without_notes(&self) -> Self {
        let mut tree = self.clone();
        tree.entries
            .retain(|path, _| !path.ends_with(".dist-info/uv_cache.json"));
        for (path, entry) in &mut tree.entries {
            if let Some(text) = entry
                .text
                .as_mut()
                .filter(|_| path.ends_with(".dist-info/RECORD"))
            {
                let kept: Vec<&str> = text
                    .split_inclusive('\n')
                    .filter(|line| !line.contains(".dist-info/uv_cache.json,"))
                    .collect();
                *text = kept.concat();
                entry.content = Some(sha256(text.as_bytes()));
            }
        }
        tree
    }

    /// Whether there is something at a path.
    pub(crate) fn has(&self, path: &str) -> bool {
        self.entries.contains_key(path.trim_matches('/'))
    }

    /// How many of the entries are files.
    pub(crate) fn files(&self) -> usize {
        self.entries.values().filter(|entry| entry.kind == "file").count()
    }

    /// Every difference, in words.
    pub(crate) fn differences(&self, other: &Self) -> Vec<String> {
        let mut found = Vec::new();
        for (path, entry) in &self.entries {
            match other.entries.get(path) {
                None => found.push(format!("{path}: only in the first")),
                Some(same) if same == entry => {}
                Some(same) => found.push(format!("{path}: {}", entry.difference(same))),
            }
        }
        found.extend(
            other
                .entries
                .keys()
                .filter(|path| !self.entries.contains_key(*path))
                .map(|path| format!("{path}: only in the second")),
        );
        found
    }
}

impl Entry {
    fn difference(&self, other: &Self) -> String {
        if self.kind != other.kind {
            return format!("a {} and a {}", self.kind, other.kind);
        }
        if self.mode != other.mode {
            return format!("modes {:o} and {:o}", self.mode, other.mode);
        }
        if self.owner != other.owner {
            return format!("owners {:?} and {:?}", self.owner, other.owner);
        }
        if self.target != other.target {
            return format!("links to {:?} and {:?}", self.target, other.target);
        }
        match (&self.text, &other.text) {
            (Some(left), Some(right)) => {
                let line = left
                    .lines()
                    .zip(right.lines())
                    .find(|(left, right)| left != right);
                format!("content differs, first in {line:?}")
            }
            _ => "content differs".to_owned(),
        }
    }
}

/// Lower-case hex.
pub(crate) fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes)
        .iter()
        .fold(String::new(), |text, byte| text + &format!("{byte:02x}"))
}
