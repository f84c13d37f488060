//! Locks that list packages — `pylock.toml` and hashed requirements — against real files, those of `otherlocks` in the
//! corpus, against uv, and on the command line.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a test fails by panicking, and says what it compared"
)]

#[path = "lists/exports.rs"]
mod exports;
#[path = "support/outside.rs"]
mod outside;
#[path = "lists/planned.rs"]
mod planned;

use std::path::{Path, PathBuf};

use wheelbase::diagnostic::SourceFile;
use wheelbase::lock::{Artifact, Lock, PythonVersion, Roots, Target};
use wheelbase::platform::Platform;

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            found.push(path);
        }
    }
    found.sort();
    found
}

fn parse(name: &str, text: String) -> Result<Lock, String> {
    match Lock::parse(&SourceFile::new(name, text)) {
        Ok((lock, warnings)) => {
            assert_eq!(warnings, [], "{name}");
            Ok(lock)
        }
        Err(errors) => Err(errors.iter().map(|error| error.render(false) + "\n").collect()),
    }
}

fn everything() -> Roots {
    Roots {
        everything: true,
        ..Roots::default()
    }
}

fn target(platform: Platform, python: PythonVersion) -> Target {
    Target {
        platform,
        python,
        glibc: (2, 99),
    }
}

#[test]
fn every_other_lock_of_the_corpus_answers_or_names_its_export() {
    let Some(corpus) = outside::corpus("otherlocks") else {
        return;
    };
    let (mut pylocks, mut requirements, mut refused, mut packages) = (0, 0, 0, 0);
    for path in files(&corpus) {
        let name = path.file_name().unwrap().to_str().unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        let extension = path.extension().unwrap().to_str().unwrap();
        let (is_pylock, is_requirements) = (name.starts_with("pylock."), extension == "txt");
        if !is_pylock && !is_requirements {
            if extension == "lock" {
                let errors = Lock::parse(&SourceFile::new(name, text)).unwrap_err();
                assert!(
                    errors[0].help.as_ref().unwrap().contains("write lock = "),
                    "{errors:?}"
                );
                refused += 1;
            }
            continue;
        }
        let lock = parse(name, text).unwrap_or_else(|errors| panic!("{}: {errors}", path.display()));
        let subset = lock.subset(
            &everything(),
            &target(Platform::linux_amd64(), PythonVersion::new(3, 12)),
        );
        let subset = subset.unwrap_or_else(|errors| panic!("{}: {errors:?}", path.display()));
        assert!(!subset.packages.is_empty(), "{}", path.display());
        for locked in &subset.packages {
            let pinned = match &locked.artifact {
                Artifact::Wheel { url, sha256, .. } | Artifact::Sdist { url, sha256, .. } => {
                    url.is_some() && sha256.is_some()
                }
                Artifact::Pinned { hashes } => !hashes.is_empty() && hashes.is_sorted(),
                _ => false,
            };
            assert!(pinned, "{}: {locked:?}", path.display());
        }
        packages += subset.packages.len();
        if is_pylock {
            pylocks += 1;
        } else {
            requirements += 1;
        }
    }
    println!(
        "{pylocks} pylock.toml and {requirements} requirement files with {packages} packages for linux/amd64; {refused} \
         locks of other tools refused"
    );
    assert!(pylocks > 0 && requirements > 0 && refused > 0);
}
