//! What a build needs to know of `Cargo.toml` files: which folders of a Cargo workspace a crate is compiled from.
//!
//! Cargo reads the manifest of every member of a workspace before it compiles one of them. Who hands over all of them
//! compiles a wheel again for every edit of every crate. So the manifests are read here, for the crates that one crate
//! depends on by path, and for a manifest of the workspace that names no other member
//! (<https://doc.rust-lang.org/cargo/reference/workspaces.html>).
//!
//! Cargo is the judge of a manifest. What has another shape than it should have reads as absent here, and Cargo will say so;
//! only what is no TOML is an error.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

use super::document::{self, Kind, Table, Value};
use super::url;
use crate::diagnostic::{Diagnostic, Location, SourceFile};

/// The tables that dependencies stand in, here and below `target.*`. Cargo takes those with `_`, too.
const DEPENDENCIES: [&str; 5] = [
    "dependencies",
    "dev-dependencies",
    "dev_dependencies",
    "build-dependencies",
    "build_dependencies",
];

/// The parts of one `Cargo.toml` that say what belongs to a crate. All paths are as written, relative to its folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Manifest {
    /// Whether it has a `[package]`.
    pub package: bool,
    /// `package.workspace`: the folder of the workspace's root, where it is not to be looked for.
    pub workspace: Option<String>,
    /// Folders of dependencies: of all kinds, and for all targets.
    pub paths: BTreeSet<String>,
    /// Names of dependencies that the workspace describes (`workspace = true`).
    pub inherited: BTreeSet<String>,
    /// Files that the package names: `readme` and `license-file`.
    pub files: BTreeSet<String>,
    /// `[workspace]`, when it is the root of one.
    pub root: Option<Workspace>,
}

/// The root of a Cargo workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Workspace {
    /// `members`: folders, or patterns of folders.
    pub members: Vec<String>,
    /// `exclude`: folders that are no members.
    pub exclude: Vec<String>,
    /// `dependencies` that have a path, by name.
    pub dependencies: BTreeMap<String, String>,
    /// Folders that `[patch]` and `[replace]` put in the place of other crates.
    pub replacements: BTreeSet<String>,
    /// Files that `workspace.package` names for its members.
    pub files: BTreeSet<String>,
    text: Arc<SourceFile>,
    /// Where the lists of members stand in the text.
    lists: Vec<Range<usize>>,
}

impl Manifest {
    /// Reads a `Cargo.toml`.
    ///
    /// # Errors
    ///
    /// All places where it is no TOML.
    pub fn parse(file: &Arc<SourceFile>) -> Result<Self, Vec<Diagnostic>> {
        let document = document::read_any(&file.text).map_err(|faults| {
            // A diagnostic draws the line that it points to, and URLs of git repositories can carry passwords.
            let secrets: Vec<_> = url::secrets(&file.text).collect();
            let redacted = url::redact(file, &secrets);
            let faults = faults.into_iter().map(|(range, message)| {
                let message = url::redact_message(message, file, &secrets);
                Diagnostic::error(message).at(Location::new(&redacted, range), "")
            });
            faults.collect::<Vec<_>>()
        })?;
        let mut manifest = Self {
            package: false,
            workspace: None,
            paths: BTreeSet::new(),
            inherited: BTreeSet::new(),
            files: BTreeSet::new(),
            root: table(&document, "workspace").map(|workspace| Workspace::of(workspace, &document, file)),
        };
        if let Some(package) = table(&document, "package") {
            manifest.package = true;
            manifest.workspace = text(package, "workspace");
            manifest.files = files(package);
        }
        let targets = table(&document, "target").into_iter().flat_map(Table::iter);
        let targets = targets.filter_map(|(_, target)| as_table(target));
        for parent in std::iter::once(&document).chain(targets) {
            for name in DEPENDENCIES {
                let entries = table(parent, name).into_iter().flat_map(Table::iter);
                for (name, dependency) in entries {
                    let Some(dependency) = as_table(dependency) else {
                        continue;
                    };
                    manifest.paths.extend(text(dependency, "path"));
                    if matches!(
                        dependency.get("workspace").map(|value| &value.kind),
                        Some(Kind::Boolean(true))
                    ) {
                        manifest.inherited.insert(name.to_owned());
                    }
                }
            }
        }
        Ok(manifest)
    }
}

impl Workspace {
    fn of(workspace: &Table<'_>, document: &Table<'_>, file: &Arc<SourceFile>) -> Self {
        let dependencies = table(workspace, "dependencies").into_iter().flat_map(Table::iter);
        let dependencies = dependencies
            .filter_map(|(name, dependency)| Some((name.to_owned(), text(as_table(dependency)?, "path")?)));
        let patches = table(document, "patch").into_iter().flat_map(Table::iter);
        let patches = patches.filter_map(|(_, registry)| as_table(registry));
        let replacements = patches
            .chain(table(document, "replace"))
            .flat_map(Table::iter)
            .filter_map(|(_, replacement)| text(as_table(replacement)?, "path"));
        let lists = ["members", "default-members"].into_iter();
        Self {
            members: texts(workspace, "members"),
            exclude: texts(workspace, "exclude"),
            dependencies: dependencies.collect(),
            replacements: replacements.collect(),
            files: table(workspace, "package").map(files).unwrap_or_default(),
            text: Arc::clone(file),
            lists: lists
                .filter_map(|name| Some(workspace.get(name)?.span.clone()))
                .collect(),
        }
    }

    /// The text of the manifest, byte for byte, with other members. Crates that these depend on by path are members without
    /// being named.
    pub fn with_members(&self, members: &BTreeSet<String>) -> String {
        let list = toml::Value::from(members.iter().cloned().collect::<Vec<_>>()).to_string();
        let mut text = self.text.text.clone();
        let mut lists = self.lists.clone();
        lists.sort_by_key(|range| std::cmp::Reverse(range.start));
        for range in lists {
            if text.get(range.clone()).is_some() {
                text.replace_range(range, &list);
            }
        }
        text
    }

    /// Whether the manifest lists members.
    pub fn lists_members(&self) -> bool {
        !self.lists.is_empty()
    }
}

/// The manifests of a build context that have been looked for, by folder relative to the context (`.` for itself).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Manifests {
    crates: BTreeMap<String, Option<Manifest>>,
    projects: BTreeMap<String, BTreeSet<String>>,
}

impl Manifests {
    /// Takes a `Cargo.toml` or `pyproject.toml`, by its path relative to the context; `None` for one that is not there.
    ///
    /// # Errors
    ///
    /// Of [`Manifest::parse`]. A `pyproject.toml` that cannot be read names no crates: its build front will tell.
    pub fn add(&mut self, path: &str, file: Option<&Arc<SourceFile>>) -> Result<(), Vec<Diagnostic>> {
        let (folder, name) = path.rsplit_once('/').unwrap_or((".", path));
        if name == "Cargo.toml" {
            let manifest = file.map(Manifest::parse).transpose()?;
            self.crates.insert(folder.to_owned(), manifest);
        } else {
            let crates = file.map(|file| crates_of(&file.text)).unwrap_or_default();
            self.projects.insert(folder.to_owned(), crates);
        }
        Ok(())
    }

    /// The crate of a folder; `Some(None)` when it has none, and `None` when nobody has looked.
    pub fn of_folder(&self, folder: &str) -> Option<Option<&Manifest>> {
        self.crates.get(folder).map(Option::as_ref)
    }

    /// The folders of crates that a folder's `pyproject.toml` names, relative to it; `None` when nobody has looked.
    pub fn of_project(&self, folder: &str) -> Option<&BTreeSet<String>> {
        self.projects.get(folder)
    }
}

/// The crates of maturin and setuptools-rust: `tool.maturin.manifest-path`, and `path` of the extension modules and
/// programs of `tool.setuptools-rust`.
fn crates_of(pyproject: &str) -> BTreeSet<String> {
    let Ok(document) = document::read(pyproject) else {
        return BTreeSet::new();
    };
    let tool = table(&document, "tool");
    let maturin = tool
        .and_then(|tool| table(tool, "maturin"))
        .and_then(|maturin| text(maturin, "manifest-path"));
    let setuptools = tool.and_then(|tool| table(tool, "setuptools-rust"));
    let modules = ["ext-modules", "bins"]
        .into_iter()
        .filter_map(|name| array(setuptools?, name))
        .flatten()
        .filter_map(|module| text(as_table(module)?, "path").or_else(|| Some("Cargo.toml".to_owned())));
    maturin
        .into_iter()
        .chain(modules)
        .map(|manifest| match manifest.rsplit_once('/') {
            Some((folder, _)) => folder.to_owned(),
            None => ".".to_owned(),
        })
        .collect()
}

fn files(package: &Table<'_>) -> BTreeSet<String> {
    ["readme", "license-file"]
        .into_iter()
        .filter_map(|name| text(package, name))
        .collect()
}

fn as_table<'v, 't>(value: &'v Value<'t>) -> Option<&'v Table<'t>> {
    match &value.kind {
        Kind::Table(table) => Some(table),
        _ => None,
    }
}

fn table<'v, 't>(parent: &'v Table<'t>, key: &str) -> Option<&'v Table<'t>> {
    as_table(parent.get(key)?)
}

fn array<'v, 't>(parent: &'v Table<'t>, key: &str) -> Option<&'v [Value<'t>]> {
    match &parent.get(key)?.kind {
        Kind::Array(values) => Some(values),
        _ => None,
    }
}

fn as_text(value: &Value<'_>) -> Option<String> {
    match &value.kind {
        Kind::Text(text) => Some(text.to_string()),
        _ => None,
    }
}

fn text(parent: &Table<'_>, key: &str) -> Option<String> {
    as_text(parent.get(key)?)
}

fn texts(parent: &Table<'_>, key: &str) -> Vec<String> {
    let values = array(parent, key).unwrap_or_default();
    values.iter().filter_map(as_text).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Manifest {
        Manifest::parse(&SourceFile::new("Cargo.toml", text)).unwrap()
    }

    fn set(words: &[&str]) -> BTreeSet<String> {
        words.iter().map(|word| (*word).to_owned()).collect()
    }

    #[test]
    fn dependencies_of_every_kind_and_target_are_found() {
        let manifest = parse(
            "[package]\nname = \"a\"\nworkspace = \"../..\"\nreadme = \"../README.md\"\n\
             [dependencies]\nb = { path = \"../b\", features = [] }\nserde = \"1\"\nc.workspace = true\n\
             [dependencies.d]\npath = \"../d\"\n[dev-dependencies]\ne = { path = \"../e\" }\n\
             [build_dependencies]\nf = { path = \"../f\" }\n\
             [target.'cfg(unix)'.dependencies]\ng = { path = \"../g\" }\n\
             [target.x86_64-unknown-linux-gnu.build-dependencies]\nh = { workspace = true }\n",
        );
        assert!(manifest.package && manifest.root.is_none());
        assert_eq!(manifest.workspace.as_deref(), Some("../.."));
        assert_eq!(manifest.paths, set(&["../b", "../d", "../e", "../f", "../g"]));
        assert_eq!(manifest.inherited, set(&["c", "h"]));
        assert_eq!(manifest.files, set(&["../README.md"]));
    }

    #[test]
    fn a_workspace_is_written_with_other_members() {
        let text = "# the lot\n[workspace]\nmembers = [\n  \"crates/*\", # all\n]\nexclude = [\"old\"]\ndefault-members = [\"x\"]\n\
                    [workspace.dependencies]\na = { path = \"crates/a\" }\nb = \"1\"\n\
                    [patch.somewhere]\nc = { path = \"patched/c\" }\n[profile.release]\nlto = true\n";
        let root = parse(text).root.unwrap();
        assert_eq!(
            (root.members.as_slice(), root.exclude.as_slice()),
            (&["crates/*".to_owned()][..], &["old".to_owned()][..])
        );
        assert_eq!(root.dependencies.get("a").map(String::as_str), Some("crates/a"));
        assert_eq!(root.dependencies.len(), 1);
        assert_eq!(root.replacements, set(&["patched/c"]));
        assert!(root.lists_members());
        assert_eq!(
            root.with_members(&set(&["crates/a", "od\"d"])),
            text.replace("[\n  \"crates/*\", # all\n]", "[\"crates/a\", 'od\"d']")
                .replace("[\"x\"]", "[\"crates/a\", 'od\"d']")
        );
        assert!(
            !parse("[package]\nname = \"a\"\n[workspace]\n")
                .root
                .unwrap()
                .lists_members()
        );
    }

    #[test]
    fn crates_are_named_by_python_projects() {
        assert_eq!(
            crates_of("[tool.maturin]\nmanifest-path = \"crates/py/Cargo.toml\"\n"),
            set(&["crates/py"])
        );
        let setuptools = "[[tool.setuptools-rust.ext-modules]]\ntarget = \"a._b\"\n\
                          [[tool.setuptools-rust.ext-modules]]\npath = \"rust/Cargo.toml\"\n";
        assert_eq!(crates_of(setuptools), set(&[".", "rust"]));
        assert_eq!(crates_of("[project\n"), set(&[]));
    }

    #[test]
    fn what_is_no_toml_is_shown_and_other_mistakes_are_left_to_cargo() {
        let file = SourceFile::new("crates/a/Cargo.toml", "[package\n");
        let errors = Manifest::parse(&file).unwrap_err();
        assert!(
            errors[0].one_line().starts_with("crates/a/Cargo.toml:1:"),
            "{errors:?}"
        );
        let odd = parse("package = 1\ndependencies = [\"a\"]\nworkspace = { members = \"a\" }\n");
        assert!(!odd.package && odd.paths.is_empty() && odd.root.is_some_and(|root| root.members.is_empty()));
    }

    #[test]
    fn never_shows_a_password() {
        let text = "[dependencies]\na = { git = \"https://u:hunter2@git.example/a\" b }\n";
        for error in Manifest::parse(&SourceFile::new("Cargo.toml", text)).unwrap_err() {
            let shown = error.render(false);
            assert!(
                shown.contains("git.example") && !shown.contains("hunter2"),
                "{shown}"
            );
        }
    }

    #[test]
    fn manifests_know_what_was_looked_for() {
        let mut manifests = Manifests::default();
        let file = SourceFile::new("Cargo.toml", "[package]\nname = \"a\"\n");
        manifests.add("Cargo.toml", Some(&file)).unwrap();
        manifests.add("a/Cargo.toml", None).unwrap();
        manifests.add("a/pyproject.toml", None).unwrap();
        assert!(
            manifests
                .of_folder(".")
                .flatten()
                .is_some_and(|manifest| manifest.package)
        );
        assert!(manifests.of_folder("a") == Some(None) && manifests.of_folder("b").is_none());
        assert!(manifests.of_project("a").is_some() && manifests.of_project(".").is_none());
    }
}
