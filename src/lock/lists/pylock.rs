//! Small `pylock.toml` files, one for each thing that PEP 751 lets them say, and laws of generated ones.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::{ONE, all, names, read};
use crate::diagnostic::SourceFile;
use crate::lock::testing::{roots, target};
use crate::lock::{Artifact, Lock, PackageName, Roots, Source, SubsetError};

fn pylock(text: &str) -> Lock {
    let head = "lock-version = \"1.0\"\ncreated-by = \"hand\"\n";
    let (lock, warnings) = read("pylock.toml", &format!("{head}{text}")).unwrap();
    assert_eq!(warnings, []);
    lock
}

fn refused_pylock(text: &str) -> Vec<String> {
    read("pylock.toml", text).unwrap_err()
}

/// An entry with one pure wheel, and more lines.
fn entry(name: &str, version: &str, more: &str) -> String {
    let file = name.replace('-', "_");
    format!(
        "[[packages]]\nname = \"{name}\"\nversion = \"{version}\"\n{more}\n\
         wheels = [{{ url = \"https://files.index.example/{file}-{version}-py3-none-any.whl\", size = 10, \
         upload-time = 2025-01-01T00:00:00Z, hashes = {{ sha256 = \"{ONE}\" }} }}]\n\n"
    )
}

fn errors(lock: &Lock, roots: &Roots) -> Vec<String> {
    let errors = lock.subset(roots, &target()).unwrap_err();
    errors.iter().map(SubsetError::message).collect()
}

#[test]
fn markers_choose_from_the_whole_file() {
    let lock = pylock(&format!(
        "{}{}{}",
        entry("a", "1.0", ""),
        entry("w", "1.0", "marker = \"sys_platform == 'win32'\""),
        entry(
            "l",
            "1.0",
            "marker = \"sys_platform == 'linux' and python_version >= '3.9'\""
        ),
    ));
    assert_eq!(names(&lock, &all("")), ["a", "l"]);
    let subset = lock.subset(&all(""), &target()).unwrap();
    assert_eq!(subset.packages[0].key_line(), format!("a==1.0 sha256:{ONE}"));
    assert_eq!(subset.packages[0].source, Source::Files);
    assert_eq!(names(&lock, &roots("a")), ["a"]);
    assert_eq!(
        errors(&lock, &roots("w")),
        ["the lock keeps `w` from this image: its marker is `sys_platform == 'win32'`"]
    );
    assert_eq!(
        errors(&lock, &roots("aa b")),
        ["the lock has no package `aa`", "the lock has no package `b`"]
    );
    assert!(!lock.has_dependencies());
}

#[test]
fn extras_and_groups_are_sets_of_a_file_for_several_uses() {
    let lock = pylock(&format!(
        "extras = [\"GPU\"]\ndependency-groups = [\"default\", \"dev\"]\ndefault-groups = [\"default\"]\n{}{}{}{}",
        entry("a", "1.0", "marker = \"'default' in dependency_groups\""),
        entry("d", "1.0", "marker = \"'dev' in dependency_groups\""),
        entry("g", "1.0", "marker = \"'gpu' in extras\""),
        entry(
            "n",
            "1.0",
            "marker = \"'gpu' not in extras and 'dev' in dependency_groups\""
        ),
    ));
    assert_eq!(names(&lock, &all("")), ["a"]);
    assert_eq!(names(&lock, &all("gpu")), ["a", "g"]);
    assert_eq!(names(&lock, &all(":dev")), ["a", "d", "n"]);
    assert_eq!(names(&lock, &all("gpu :dev")), ["a", "d", "g"]);
    let unknown = lock.subset(&all("gpus :dve"), &target()).unwrap_err();
    assert_eq!(unknown[0].help().as_deref(), Some("did you mean `gpu`?"));
    assert_eq!(unknown[1].help().as_deref(), Some("did you mean `dev`?"));
    // What a wheel needs is chosen in the selection of its image.
    assert_eq!(
        lock.subset_within(&roots("g"), &all("gpu"), &target())
            .unwrap()
            .packages
            .len(),
        1
    );
    assert_eq!(errors(&lock, &roots("g")).len(), 1);
}

#[test]
fn dependencies_cut_a_part_out() {
    let lock = pylock(&format!(
        "{}{}{}{}{}",
        entry(
            "a",
            "1.0",
            "dependencies = [{ name = \"b\", version = \"2.0\" }, { name = \"w\" }]"
        ),
        entry("b", "1.0", "marker = \"sys_platform == 'win32'\""),
        entry(
            "b",
            "2.0",
            "marker = \"sys_platform != 'win32'\"\ndependencies = [{ name = \"a\" }]"
        ),
        entry("w", "1.0", "marker = \"sys_platform == 'win32'\""),
        entry("z", "1.0", ""),
    ));
    assert!(lock.has_dependencies());
    assert_eq!(names(&lock, &roots("a")), ["a", "b"]);
    assert_eq!(names(&lock, &all("")), ["a", "b", "z"]);
    let subset = lock.subset(&roots("a"), &target()).unwrap();
    let b = subset.get(&"b".parse().unwrap()).unwrap();
    assert_eq!(b.version.as_deref(), Some("2.0"));
    let path: Vec<&str> = b.path.iter().map(PackageName::as_str).collect();
    assert_eq!(path, ["a", "b"]);
    let gone = refused_pylock(&format!(
        "lock-version = \"1.0\"\n{}",
        entry("a", "1.0", "dependencies = [{ name = \"gone\" }]")
    ));
    assert_eq!(gone, ["pylock.toml:5:17: the lock has no package `gone`"]);
}

#[test]
fn two_entries_of_a_name_at_once_are_no_answer() {
    let lock = pylock(&format!(
        "{}{}",
        entry("a", "1.0", "marker = \"python_version > '3.8'\""),
        entry("a", "2.0", "")
    ));
    assert_eq!(
        errors(&lock, &all("")),
        ["the lock has `a` more than once: 1.0 (files), 2.0 (files)"]
    );
}

#[test]
fn pythons_and_environments_are_checked() {
    let wrong = pylock(&format!(
        "requires-python = \">=3.13\"\n{}",
        entry("a", "1.0", "")
    ));
    assert_eq!(
        errors(&wrong, &all("")),
        ["the lock requires Python >=3.13, not 3.12"]
    );
    let one = pylock(&format!(
        "{}{}",
        entry("a", "1.0", "requires-python = \">=3.13\""),
        entry("b", "1.0", "requires-python = \">=3.8\"")
    ));
    assert_eq!(errors(&one, &all("")), ["`a` requires Python >=3.13, not 3.12.0"]);
    assert_eq!(names(&one, &roots("b")), ["b"]);
    let elsewhere = pylock(&format!(
        "environments = [\"sys_platform == 'win32'\"]\n{}",
        entry("a", "1.0", "")
    ));
    assert!(errors(&elsewhere, &all(""))[0].contains("not resolved for CPython 3.12"));
}

#[test]
fn every_origin_is_read() {
    const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";
    let lock = pylock(&format!(
        "[[packages]]\nname = \"v\"\n[packages.vcs]\ntype = \"git\"\nurl = \"https://git.example/v\"\n\
         requested-revision = \"main\"\ncommit-id = \"{COMMIT}\"\nsubdirectory = \"py\"\n\
         [[packages]]\nname = \"d\"\ndirectory = {{ path = \"lib\", subdirectory = \"d\", editable = true }}\n\
         [[packages]]\nname = \"e\"\ndirectory = {{ path = \".\" }}\n\
         [[packages]]\nname = \"w\"\n\
         archive = {{ url = \"https://files.example/w-1.5%2Bcu1-py3-none-any.whl\", hashes = {{ sha256 = \"{ONE}\" }} }}\n\
         [[packages]]\nname = \"s\"\nversion = \"2.0\"\n\
         archive = {{ url = \"https://files.example/s.tar.gz\", hashes = {{ sha256 = \"{ONE}\" }}, subdirectory = \"x\" }}\n\
         [[packages]]\nname = \"i\"\nversion = \"1.0\"\nindex = \"https://index.example/simple\"\n\
         sdist = {{ name = \"i-1.0.tar.gz\", url = \"https://files.example/42\", hashes = {{ md5 = \"00\", sha256 = \"{ONE}\" }} }}\n\
         [[packages]]\nname = \"p\"\nversion = \"1.0\"\n\
         wheels = [{{ path = \"wheels/p-1.0-py3-none-any.whl\", hashes = {{ sha512 = \"00\" }} }}]\n"
    ));
    let subset = lock.subset(&all(""), &target()).unwrap();
    let artifact = |name: &str| subset.get(&name.parse().unwrap()).unwrap().artifact.clone();
    assert_eq!(
        artifact("v"),
        Artifact::Git {
            url: "https://git.example/v".to_owned(),
            rev: COMMIT.to_owned(),
            subdirectory: Some("py".to_owned()),
            submodules: true,
            lfs: false
        }
    );
    let tree = |path: &str, editable| Artifact::Tree {
        path: path.to_owned(),
        editable,
    };
    assert_eq!(
        (artifact("d"), artifact("e")),
        (tree("lib/d", true), tree(".", false))
    );
    assert!(
        matches!(artifact("w"), Artifact::Wheel { filename, sha256: Some(_), .. } if filename.contains("+cu1"))
    );
    let w = subset.get(&"w".parse().unwrap()).unwrap();
    assert_eq!(w.version.as_deref(), Some("1.5+cu1"));
    assert!(matches!(artifact("s"), Artifact::Sdist { subdirectory: Some(folder), .. } if folder == "x"));
    assert!(
        matches!(artifact("i"), Artifact::Sdist { filename, sha256: Some(sha256), .. } if filename == "i-1.0.tar.gz" && sha256 == ONE)
    );
    assert!(
        matches!(artifact("p"), Artifact::Wheel { url: None, path: Some(path), sha256: None, .. } if path.starts_with("wheels/"))
    );
}

#[test]
fn wrong_pylocks_are_reported_at_their_lines() {
    assert!(refused_pylock("")[0].contains("no pylock.toml"));
    assert_eq!(
        refused_pylock("lock-version = \"2.0\"\n"),
        ["pylock.toml:1:16: only lock-version 1.x of pylock.toml can be read"]
    );
    let found = refused_pylock(
        "lock-version = \"1.0\"\n[[packages]]\nname = \"a\"\nversion = \"x\"\n\
         [[packages]]\nname = \"b\"\nsdist = {}\nvcs = { type = \"git\" }\n\
         [[packages]]\nname = \"c\"\nvcs = { type = \"hg\", commit-id = \"1\" }\n\
         [[packages]]\nname = \"d\"\nwheels = [{ hashes = { sha256 = \"1\" } }]\n\
         [[packages]]\nname = \"e\"\ndirectory = {}\n[[packages]]\nversion = \"1\"\n",
    );
    assert_eq!(
        found,
        [
            "pylock.toml:4:11: `x` is no version (PEP 440)",
            "pylock.toml:6:8: a package has one source, and not `vcs` and `sdist`",
            "pylock.toml:11:7: only git repositories can be built from, and its type is `hg`",
            "pylock.toml:14:11: this file has neither a `url` nor a `path`",
            "pylock.toml:14:33: a SHA-256 has 64 hex digits",
            "pylock.toml:17:13: a directory needs a `path`",
            "pylock.toml:18:1: `name` is missing",
        ]
    );
    let (lock, warnings) = read(
        "pylock.gpu.toml",
        &format!(
            "lock-version = \"1.4\"\nnovelty = 1\n{}",
            entry(
                "a",
                "1.0",
                "novelty = {}\n[packages.tool.x]\n[[packages]]\nname = \"b\""
            )
        ),
    )
    .unwrap();
    assert!(
        warnings[0]
            .one_line()
            .starts_with("pylock.gpu.toml:1:16: lock-version 1.4 is newer")
    );
    assert_eq!(lock.packages().len(), 2);
}

/// A pylock with some markers over extras, groups and platforms.
fn generated() -> impl Strategy<Value = Vec<(usize, usize)>> {
    prop::collection::vec((0_usize..6, 0_usize..5), 0..12)
}

const MARKERS: [&str; 5] = [
    "",
    "marker = \"'x' in extras\"",
    "marker = \"'g' in dependency_groups or sys_platform == 'win32'\"",
    "marker = \"sys_platform == 'win32'\"",
    "marker = \"'x' not in extras and python_version >= '3.9'\"",
];

fn write(packages: &[(usize, usize)]) -> String {
    let entries = packages.iter().enumerate();
    let entries = entries.map(|(index, (version, marker))| {
        entry(&format!("p{index}"), &format!("1.{version}"), MARKERS[*marker])
    });
    format!(
        "extras = [\"x\"]\ndependency-groups = [\"g\"]\n{}",
        entries.collect::<String>()
    )
}

proptest! {
    #[test]
    fn a_list_gives_what_its_markers_say(packages in generated(), x in any::<bool>(), g in any::<bool>()) {
        let lock = pylock(&write(&packages));
        let words = [(x, "x"), (g, ":g")].into_iter().filter(|(on, _)| *on).map(|(_, word)| word).collect::<Vec<_>>();
        let expected: BTreeSet<String> = packages.iter().enumerate().filter(|(_, (_, marker))| match marker {
            0 => true,
            1 => x,
            2 => g,
            3 => false,
            _ => !x,
        }).map(|(index, _)| format!("p{index}")).collect();
        let found: BTreeSet<String> = names(&lock, &all(&words.join(" "))).into_iter().collect();
        prop_assert_eq!(found, expected);
    }

    #[test]
    fn the_order_of_a_list_is_nothing(packages in generated()) {
        let text = write(&packages);
        let (head, entries) = text.split_once("[[packages]]").unwrap_or((&text, ""));
        let mut turned: Vec<String> = entries.split("[[packages]]").filter(|entry| !entry.is_empty())
            .map(|entry| format!("[[packages]]{entry}")).collect();
        turned.reverse();
        let turned = pylock(&format!("{head}{}", turned.concat()));
        prop_assert_eq!(pylock(&text).subset(&all("x"), &target()).unwrap(), turned.subset(&all("x"), &target()).unwrap());
    }

    #[test]
    fn no_damage_makes_it_panic(packages in generated(), cut in any::<prop::sample::Index>(), junk in "[\\[\\]{}=\"'a#\n,.@:/é]{0,8}") {
        let mut text = format!("lock-version = \"1.0\"\n{}", write(&packages));
        let mut at = cut.index(text.len());
        while !text.is_char_boundary(at) {
            at -= 1;
        }
        text.insert_str(at, &junk);
        if let Ok((lock, _)) = Lock::parse(&SourceFile::new("pylock.toml", text)) {
            drop(lock.subset(&all(""), &target()));
        }
    }
}
