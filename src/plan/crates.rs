//! The part of a Cargo workspace that a wheel is compiled from.
//!
//! A crate of a workspace is compiled from its own folder, the folders of the crates that it depends on by path, and the
//! workspace's `Cargo.toml` and `Cargo.lock`. An edit of any other crate must compile nothing. So only these are taken,
//! with a `Cargo.toml` of the workspace that names no other member: cargo refuses a workspace in which one lacks.

mod part;

use std::collections::BTreeSet;

use self::part::{Walk, below, common, inside, joined, within};
use super::model::Source;
use super::source::{folder, junk};
use crate::lock::Manifests;
use crate::spec::{Spec, Wheel, WheelSource};

/// What cargo reads of a workspace's root beside the manifest: versions, settings, the toolchain, and the folder that
/// `cargo vendor` writes.
const OF_THE_ROOT: [&str; 5] = [
    "Cargo.lock",
    ".cargo",
    "rust-toolchain",
    "rust-toolchain.toml",
    "vendor",
];

/// The part of the build context that a crate is compiled from. Patterns are Docker's, relative to `base`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Crates {
    /// The folder that all of it is in, relative to the context; `.` for the context itself.
    pub base: String,
    /// Only these; empty for all.
    pub include: Vec<String>,
    /// Never these; `!` takes back.
    pub exclude: Vec<String>,
    /// A manifest of the workspace in place of its own: path relative to `base`, and text.
    pub manifest: Option<(String, String)>,
    /// Folders of the crates, relative to the context.
    pub crates: BTreeSet<String>,
    /// What is asked of the client for it, relative to the context.
    pub sent: BTreeSet<String>,
}

impl Crates {
    /// Whether it is less than a folder with all that is in it.
    pub fn is_part(&self) -> bool {
        !self.include.is_empty() || self.manifest.is_some()
    }
}

/// Files, relative to the build context, that planning has still to see to know what wheels are compiled from. Each answer
/// may lead to further ones; with none left all are known.
pub fn manifest_paths(spec: &Spec, known: &Manifests) -> BTreeSet<String> {
    let mut missing = BTreeSet::new();
    for wheel in spec.wheels.values().filter(|wheel| may_call_cargo(wheel)) {
        if let WheelSource::Path { path, .. } = &wheel.source {
            let mut walk = Walk::new(known, folder(path.get_ref()));
            walk.part();
            missing.extend(walk.missing);
        }
    }
    missing
}

/// Whether the build of a wheel may call cargo: by its command, by a build backend that does, or by one that nobody has named.
/// Most wheels have no crate, and every build would ask the client for files that are not there.
fn may_call_cargo(wheel: &Wheel) -> bool {
    const BACKENDS: [&str; 2] = ["maturin", "setuptools-rust"];
    let command = wheel.command.as_deref().unwrap_or_default();
    wheel.isolation
        || wheel
            .needs
            .iter()
            .any(|need| BACKENDS.contains(&need.get_ref().name.as_str()))
        || ["cargo", "maturin"].iter().any(|word| command.contains(word))
}

/// The source of a wheel in a folder of the build context that holds a crate, with the folder of it to build in; `None` for
/// any other folder. The patterns are the user's, relative to the folder.
pub(super) fn source(
    known: &Manifests,
    path: &str,
    include: &[String],
    exclude: &[String],
) -> Option<(Source, String)> {
    let mut walk = Walk::new(known, path.to_owned());
    let part = walk.part()?;
    let root = part.root.as_ref().map(|(root, _)| root.as_str());
    let folders = || part.crates.iter().map(String::as_str).chain(root);
    let base = folders().fold(path.to_owned(), |base, other| common(&base, other));
    let here = |path: &str| below(&base, path).unwrap_or_default();

    // Folders that are taken as a whole, and files beside them.
    let mut whole: BTreeSet<&str> = part.crates.iter().map(String::as_str).collect();
    if include.is_empty() {
        whole.insert(path);
    } else {
        whole.remove(path);
    }
    let taken = |file: &str| whole.iter().any(|folder| inside(folder, file));
    let mut sent: BTreeSet<String> = whole.iter().map(|folder| (*folder).to_owned()).collect();
    let mut patterns: BTreeSet<String> = whole.iter().map(|folder| here(folder)).collect();
    if !include.is_empty() {
        sent.insert(path.to_owned());
        patterns.extend(include.iter().map(|pattern| joined(&here(path), pattern)));
    }
    let mut manifest = None;
    let mut left_out = Vec::new();
    let mut files: BTreeSet<String> = part.files;
    if let Some((root, workspace)) = &part.root {
        files.extend(OF_THE_ROOT.iter().map(|name| joined(root, name)));
        let own = joined(root, "Cargo.toml");
        if workspace.lists_members() {
            let members = part.built.iter().filter(|package| *package != root);
            let members = members.filter_map(|package| below(root, package)).collect();
            manifest = Some((here(&own), workspace.with_members(&members)));
        } else {
            files.insert(own);
        }
        // Members inside a folder that is taken as a whole, as all are where the root is a crate.
        if whole.iter().any(|folder| inside(folder, root)) {
            let members = workspace.members.iter().filter_map(|member| within(root, member));
            left_out.extend(
                members
                    .filter(|member| member != root)
                    .map(|member| here(&member)),
            );
            let kept = whole.iter().filter(|folder| !inside(folder, root));
            left_out.extend(kept.map(|folder| format!("!{}", here(folder))));
        }
    }
    let files: Vec<String> = files.into_iter().filter(|file| !taken(file)).collect();
    patterns.extend(files.iter().map(|file| here(file)));
    sent.extend(files);
    // Behind what takes back: a folder that is taken as a whole may hold it.
    left_out.extend(manifest.iter().map(|(path, _)| path.clone()));
    left_out.extend(junk());
    left_out.extend(folders().map(|folder| joined(&here(folder), "target")));
    left_out.extend(exclude.iter().map(|pattern| match pattern.strip_prefix('!') {
        Some(pattern) => format!("!{}", joined(&here(path), pattern)),
        None => joined(&here(path), pattern),
    }));
    let everything = patterns.contains(".");
    let crates = Crates {
        include: if everything {
            Vec::new()
        } else {
            patterns.into_iter().collect()
        },
        exclude: left_out,
        sent,
        manifest,
        crates: part.crates,
        base: base.clone(),
    };
    let build_in = below(&base, path)
        .filter(|folder| folder != ".")
        .unwrap_or_default();
    Some((Source::Crates(crates), build_in))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnostic::SourceFile;

    /// A workspace in which `py` needs `core`, and `core` needs `macros` to build for one target.
    const ROOT: &str = "[workspace]\nmembers = [\"crates/*\"]\n[workspace.dependencies]\ncore = { path = \"crates/core\" }\n";
    const PY: &str =
        "[package]\nname = \"py\"\nreadme = \"../../README.md\"\n[dependencies]\ncore.workspace = true\n";
    const CORE: &str = "[package]\nname = \"core\"\n[target.'cfg(unix)'.build-dependencies]\nmacros = { path = \"../macros\" }\n";
    const MACROS: &str = "[package]\nname = \"macros\"\n";

    #[test]
    fn manifests_are_asked_for_where_cargo_may_be_called() {
        let asked = |wheel: &str| {
            let spec = format!(
                "name = \"app\"\n[gpu]\narchs = [\"9.0\"]\ntiers.base = \"registry.example/base:1\"\n\
                 tiers.devel = \"registry.example/devel:1\"\n[python]\nversion = \"3.11\"\n\
                 provider = {{ image = \"registry.example/python:3.11\" }}\n[images.app]\ntier = \"base\"\n\
                 wheels = [\"kernel\"]\n[wheels.kernel]\nsource = {{ path = \"kernel\" }}\n{wheel}\n"
            );
            let (spec, _) = Spec::parse(&SourceFile::new("wheelbase.toml", spec)).unwrap();
            !manifest_paths(&spec, &Manifests::default()).is_empty()
        };
        for wheel in [
            "needs = [\"maturin\"]",
            "needs = [\"setuptools\", \"setuptools-rust\"]",
            "isolation = true",
            "command = \"maturin build --out dist\"",
        ] {
            assert!(asked(wheel), "{wheel}");
        }
        assert!(!asked("needs = [\"setuptools\"]"));
    }

    /// Looks for files as a reader does, and returns all that was looked for.
    fn read(path: &str, files: &[(&str, &str)]) -> (Manifests, Vec<BTreeSet<String>>) {
        let (mut known, mut rounds) = (Manifests::default(), Vec::new());
        loop {
            let mut walk = Walk::new(&known, path.to_owned());
            walk.part();
            let missing = walk.missing;
            if missing.is_empty() {
                return (known, rounds);
            }
            for path in &missing {
                let file = files.iter().find(|(name, _)| name == path);
                let file = file.map(|(name, text)| SourceFile::new(*name, *text));
                known.add(path, file.as_ref()).unwrap();
            }
            rounds.push(missing);
        }
    }

    fn crates(path: &str, files: &[(&str, &str)]) -> Option<(Crates, String)> {
        let (known, _) = read(path, files);
        let (source, folder) = source(&known, path, &[], &[])?;
        let Source::Crates(crates) = source else {
            panic!("{source:?}")
        };
        Some((crates, folder))
    }

    const FILES: [(&str, &str); 4] = [
        ("Cargo.toml", ROOT),
        ("crates/py/Cargo.toml", PY),
        ("crates/core/Cargo.toml", CORE),
        ("crates/macros/Cargo.toml", MACROS),
    ];

    #[test]
    fn a_member_takes_what_it_needs_and_nothing_else() {
        let (crates, folder) = crates("crates/py", &FILES).unwrap();
        assert_eq!((crates.base.as_str(), folder.as_str()), (".", "crates/py"));
        assert_eq!(
            crates.include,
            [
                ".cargo",
                "Cargo.lock",
                "README.md",
                "crates/core",
                "crates/macros",
                "crates/py",
                "rust-toolchain",
                "rust-toolchain.toml",
                "vendor"
            ]
        );
        let (path, manifest) = crates.manifest.unwrap();
        assert_eq!(path, "Cargo.toml");
        assert_eq!(manifest, ROOT.replace("crates/*", "crates/py"));
        assert!(crates.exclude.contains(&"crates/core/target".to_owned()));
        assert!(!crates.sent.contains("."), "{:?}", crates.sent);
    }

    #[test]
    fn manifests_are_looked_for_in_few_rounds() {
        let (_, rounds) = read("crates/py", &FILES);
        assert_eq!(rounds.len(), 3, "{rounds:?}");
        let (_, rounds) = read("kernels/a", &[("kernels/a/pyproject.toml", "")]);
        assert_eq!(rounds.len(), 1, "{rounds:?}");
    }

    #[test]
    fn a_folder_without_a_crate_is_an_ordinary_one() {
        assert!(crates("a", &[("a/pyproject.toml", "")]).is_none());
        assert!(crates("a", &[("Cargo.toml", ROOT)]).is_none());
        assert!(
            crates(".", &[("Cargo.toml", ROOT)]).is_none(),
            "a workspace is no crate"
        );
    }

    #[test]
    fn a_crate_of_its_own_is_its_folder() {
        let inner = [
            (
                "a/Cargo.toml",
                "[package]\nname = \"a\"\n[dependencies]\nb = { path = \"b\" }\n",
            ),
            ("a/b/Cargo.toml", MACROS),
        ];
        let excluded = [
            ("Cargo.toml", "[workspace]\nmembers = []\nexclude = [\"a\"]\n"),
            ("a/Cargo.toml", MACROS),
        ];
        for files in [&inner, &excluded] {
            let (crates, folder) = crates("a", files).unwrap();
            assert_eq!((crates.base.as_str(), folder.as_str()), ("a", ""));
            assert!(crates.include.is_empty() && crates.manifest.is_none());
            assert!(crates.exclude.contains(&"target".to_owned()));
            assert!(crates.sent.contains("a"), "{:?}", crates.sent);
        }
    }

    #[test]
    fn a_crate_without_a_workspace_brings_what_it_depends_on() {
        let files = [
            (
                "libs/a/Cargo.toml",
                "[package]\nname = \"a\"\n[dependencies]\nb = { path = \"../b\" }\n",
            ),
            (
                "libs/b/Cargo.toml",
                "[package]\nname = \"b\"\n[dependencies]\nc = { path = \"../../../outside\" }\n",
            ),
        ];
        let (crates, folder) = crates("libs/a", &files).unwrap();
        assert_eq!((crates.base.as_str(), folder.as_str()), ("libs", "a"));
        assert_eq!(crates.include, ["a", "b"]);
        assert!(crates.manifest.is_none());
    }

    #[test]
    fn the_root_leaves_out_members_that_it_does_not_need() {
        let root = "[package]\nname = \"py\"\n[workspace]\nmembers = [\"crates/*\", \"tools\"]\n[dependencies]\n\
                    core = { path = \"crates/core\" }\n";
        let files = [("Cargo.toml", root), FILES[2], FILES[3]];
        let (crates, folder) = crates(".", &files).unwrap();
        assert_eq!((crates.include.as_slice(), folder.as_str()), (&[][..], ""));
        assert_eq!(
            crates.exclude[..5],
            [
                "crates/*",
                "tools",
                "!crates/core",
                "!crates/macros",
                "Cargo.toml"
            ]
        );
        assert!(crates.exclude.contains(&"target".to_owned()));
        assert_eq!(
            crates.manifest.unwrap().1,
            root.replace("[\"crates/*\", \"tools\"]", "[]")
        );
        assert!(crates.sent.contains("."));
    }

    #[test]
    fn the_crate_that_a_python_project_names_is_built() {
        let project = (
            "pyproject.toml",
            "[tool.maturin]\nmanifest-path = \"crates/py/Cargo.toml\"\n",
        );
        let files = [project, FILES[0], FILES[1], FILES[2], FILES[3]];
        let (crates, folder) = crates(".", &files).unwrap();
        assert_eq!((crates.include.as_slice(), folder.as_str()), (&[][..], ""));
        assert_eq!(
            crates.exclude[..5],
            [
                "crates/*",
                "!crates/core",
                "!crates/macros",
                "!crates/py",
                "Cargo.toml"
            ]
        );
        assert_eq!(crates.crates.len(), 3);
    }

    #[test]
    fn patterns_of_the_user_are_those_of_the_folder() {
        let (known, _) = read("crates/py", &FILES);
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        let (include, exclude) = (words(&["src/**"]), words(&["tests", "!tests/data"]));
        let Some((Source::Crates(crates), _)) = source(&known, "crates/py", &include, &exclude) else {
            panic!()
        };
        assert!(crates.include.contains(&"crates/py/src/**".to_owned()));
        assert!(!crates.include.contains(&"crates/py".to_owned()));
        assert_eq!(
            crates.exclude[crates.exclude.len() - 2..],
            ["crates/py/tests", "!crates/py/tests/data"]
        );
    }
}
