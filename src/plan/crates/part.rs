//! The walk from the manifest of a crate to those of all that belongs to it.

use std::collections::BTreeSet;

use crate::lock::{Manifest, Manifests, Workspace};

/// What belongs to the crates of a folder. All paths are relative to the build context.
pub(super) struct Part<'a> {
    /// The crates that are built.
    pub(super) built: BTreeSet<String>,
    /// These, and all that they depend on by path.
    pub(super) crates: BTreeSet<String>,
    /// The workspace with its folder.
    pub(super) root: Option<(String, &'a Workspace)>,
    /// Files that manifests name.
    pub(super) files: BTreeSet<String>,
}

/// A walk through manifests, which notes those that nobody has looked for.
pub(super) struct Walk<'a> {
    known: &'a Manifests,
    path: String,
    pub(super) missing: BTreeSet<String>,
}

impl<'a> Walk<'a> {
    pub(super) fn new(known: &'a Manifests, path: String) -> Self {
        Self {
            known,
            path,
            missing: BTreeSet::new(),
        }
    }

    /// The manifest of a folder, when it has one and it is known.
    fn manifest(&mut self, folder: &str) -> Option<&'a Manifest> {
        let found = self.known.of_folder(folder);
        if found.is_none() {
            self.missing.insert(joined(folder, "Cargo.toml"));
        }
        found.flatten()
    }

    /// What belongs to the crates of the folder; `None` when it has none, or when something is missing.
    pub(super) fn part(&mut self) -> Option<Part<'a>> {
        let path = self.path.clone();
        // Asked for together, since each question is a transfer.
        let own = self.manifest(&path).is_some();
        let usual = joined(&path, "rust");
        let beside = self.manifest(&usual).is_some();
        for folder in above(&path) {
            self.manifest(&folder);
        }
        let Some(named) = self.known.of_project(&path) else {
            self.missing.insert(joined(&path, "pyproject.toml"));
            return None;
        };
        let mut built: BTreeSet<String> = named
            .iter()
            .filter_map(|package| within(&path, package))
            .collect();
        if built.is_empty() && own {
            built.insert(path);
        } else if built.is_empty() && beside {
            // Where maturin looks next.
            built.insert(usual);
        }
        let first = built.first()?.clone();
        // A crate that is a workspace's root alone is none.
        let root = self.root(&first);
        let mut part = Part {
            crates: BTreeSet::new(),
            files: BTreeSet::new(),
            root: root.clone(),
            built,
        };
        let mut next: Vec<String> = part.built.iter().cloned().collect();
        if let Some((folder, workspace)) = &root {
            next.extend(
                workspace
                    .replacements
                    .iter()
                    .filter_map(|path| within(folder, path)),
            );
            part.files
                .extend(workspace.files.iter().filter_map(|file| within(folder, file)));
        }
        while let Some(folder) = next.pop() {
            if !part.crates.insert(folder.clone()) {
                continue;
            }
            let Some(manifest) = self.manifest(&folder) else {
                continue;
            };
            next.extend(manifest.paths.iter().filter_map(|path| within(&folder, path)));
            part.files
                .extend(manifest.files.iter().filter_map(|file| within(&folder, file)));
            if let Some((root, workspace)) = &root {
                let inherited = manifest.inherited.iter();
                let inherited = inherited.filter_map(|name| workspace.dependencies.get(name));
                next.extend(inherited.filter_map(|path| within(root, path)));
            }
        }
        if self.missing.is_empty() {
            let is_crate = |folder: &String| {
                self.known
                    .of_folder(folder)
                    .flatten()
                    .is_some_and(|found| found.package)
            };
            return part.built.iter().all(is_crate).then_some(part);
        }
        // What a crate of the workspace is likely to need is asked for with what is needed for sure.
        if let Some((folder, workspace)) = &root {
            let plain = workspace
                .members
                .iter()
                .filter(|member| !member.contains(['*', '?', '[']));
            for likely in plain.chain(workspace.dependencies.values()) {
                if let Some(likely) = within(folder, likely) {
                    self.manifest(&likely);
                }
            }
        }
        None
    }

    /// The root of the workspace that a crate belongs to, found as cargo finds it.
    fn root(&mut self, package: &str) -> Option<(String, &'a Workspace)> {
        let manifest = self.manifest(package)?;
        if let Some(root) = &manifest.root {
            return Some((package.to_owned(), root));
        }
        if let Some(pointer) = &manifest.workspace {
            let folder = within(package, pointer)?;
            let root = self.manifest(&folder)?.root.as_ref()?;
            return Some((folder, root));
        }
        for folder in above(package) {
            if let Some(root) = self.manifest(&folder).and_then(|manifest| manifest.root.as_ref()) {
                let mut excluded = root.exclude.iter().filter_map(|path| within(&folder, path));
                if !excluded.any(|path| inside(&path, package)) {
                    return Some((folder, root));
                }
            }
        }
        None
    }
}

/// A path relative to a folder, relative to the context; `None` for one outside of it.
pub(super) fn within(folder: &str, path: &str) -> Option<String> {
    let path = crate::plan::beside(&joined(folder, "Cargo.toml"), path);
    (path != ".." && !path.starts_with("../")).then_some(path)
}

/// The folders that a folder is in, innermost first.
fn above(folder: &str) -> Vec<String> {
    let mut folders = Vec::new();
    let mut rest = folder;
    while rest != "." {
        rest = rest.rsplit_once('/').map_or(".", |(above, _)| above);
        folders.push(rest.to_owned());
    }
    folders
}

/// Whether a path is a folder or in it.
pub(super) fn inside(folder: &str, path: &str) -> bool {
    below(folder, path).is_some()
}

/// A path relative to a folder that it is in; `.` for the folder itself.
pub(super) fn below(folder: &str, path: &str) -> Option<String> {
    if folder == path {
        return Some(".".to_owned());
    }
    if folder == "." {
        return Some(path.to_owned());
    }
    let rest = path.strip_prefix(folder)?.strip_prefix('/')?;
    Some(rest.to_owned())
}

/// The innermost folder that holds both.
pub(super) fn common(one: &str, other: &str) -> String {
    let folders = std::iter::once(one.to_owned()).chain(above(one));
    let mut folders = folders.filter(|folder| inside(folder, other));
    folders.next().unwrap_or_else(|| ".".to_owned())
}

pub(super) fn joined(folder: &str, path: &str) -> String {
    match (folder, path) {
        (".", path) => path.to_owned(),
        (folder, ".") => folder.to_owned(),
        (folder, path) => format!("{folder}/{path}"),
    }
}
