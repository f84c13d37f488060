//! The lock room against real locks, those of `uvlock/*/uv.lock` in the corpus, and against uv itself.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a test fails by panicking, and says what it compared"
)]

#[path = "lock/exports.rs"]
mod exports;
#[path = "support/outside.rs"]
mod outside;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use wheelbase::diagnostic::{Diagnostic, SourceFile};
use wheelbase::lock::{Lock, Package, PythonVersion, Root, Roots, Source, Subset, SubsetError, Target};
use wheelbase::platform::Platform;

/// The locks of the corpus.
fn corpus() -> Option<Vec<PathBuf>> {
    let folder = outside::corpus("uvlock")?;
    let mut locks: Vec<PathBuf> = std::fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().path().join("uv.lock"))
        .filter(|path| path.is_file())
        .collect();
    locks.sort();
    assert!(!locks.is_empty(), "no lock below {}", folder.display());
    Some(locks)
}

fn read(path: &Path) -> Lock {
    let file = SourceFile::new("uv.lock", std::fs::read_to_string(path).unwrap());
    match Lock::parse(&file) {
        Ok((lock, warnings)) => {
            assert_eq!(warnings, [], "{}", path.display());
            lock
        }
        Err(errors) => panic!(
            "{}: {}",
            path.display(),
            errors.iter().map(Diagnostic::one_line).collect::<String>()
        ),
    }
}

fn target(platform: Platform, python: PythonVersion) -> Target {
    Target {
        platform,
        python,
        glibc: (2, 35),
    }
}

fn roots(package: &Package) -> Roots {
    Roots {
        packages: vec![Root::new(package.name().clone())],
        ..Roots::default()
    }
}

#[test]
fn every_lock_of_the_corpus_answers() {
    let Some(locks) = corpus() else { return };
    let (mut answered, mut packages, mut refused) = (0, 0, BTreeMap::<&str, usize>::new());
    let mut slowest = (Duration::ZERO, PathBuf::new());
    for path in &locks {
        let begun = Instant::now();
        let lock = read(path);
        let mut took = begun.elapsed();
        assert!(lock.members().next().is_some(), "{}", path.display());
        for member in lock.members() {
            let begun = Instant::now();
            let subset = lock.subset(
                &roots(member),
                &target(Platform::linux_amd64(), PythonVersion::new(3, 12)),
            );
            took = took.max(begun.elapsed());
            match subset {
                Ok(subset) => {
                    answered += 1;
                    packages += subset.packages.len();
                    well_formed(&lock, &subset);
                }
                Err(errors) => {
                    for error in errors {
                        assert!(!error.message().is_empty() && error.help().is_some(), "{error:?}");
                        *refused.entry(kind(&error)).or_default() += 1;
                    }
                }
            }
        }
        if took > slowest.0 {
            slowest = (took, path.clone());
        }
    }
    println!(
        "{} locks: {answered} subsets with {packages} packages; refused: {refused:?}; slowest step {:?} ({})",
        locks.len(),
        slowest.0,
        slowest.1.display()
    );
    assert!(answered > 0);
    assert!(
        refused.keys().all(|kind| ["python", "artifact"].contains(kind)),
        "{refused:?}"
    );
}

/// docs/reference/corpus.md: what every lock of the corpus holds, and how long it takes to read. `UPDATE_DOCS=1`
/// writes it; times are not compared.
#[test]
fn the_table_of_the_corpus_is_fresh() {
    let Some(locks) = corpus() else { return };
    let kinds = [
        "registry",
        "git",
        "url",
        "path",
        "directory",
        "editable",
        "virtual",
    ];
    let mut table = String::from(
        "# The corpus\n\nReal `uv.lock` files of public projects, read by `tests/lock.rs` through \
         `WHEELBASE_CORPUS`; none of them is part of\nthis repository. Packages by kind of source, and \
         milliseconds to parse the file with a debug build on two busy cores.\n\n| lock | packages |",
    );
    for kind in kinds {
        write!(table, " {kind} |").unwrap();
    }
    table.push_str(" ms |\n| --- |");
    table.push_str(&" ---: |".repeat(kinds.len() + 2));
    table.push('\n');
    for path in &locks {
        let begun = Instant::now();
        let lock = read(path);
        let took = begun.elapsed();
        let mut counts = BTreeMap::<&str, usize>::new();
        for package in lock.packages() {
            *counts.entry(source(package.source())).or_default() += 1;
        }
        let name = path
            .parent()
            .unwrap()
            .file_name()
            .unwrap()
            .to_string_lossy()
            .replace("__", "/");
        write!(table, "| {name} | {} |", lock.packages().len()).unwrap();
        for kind in kinds {
            match counts.get(kind) {
                Some(count) => write!(table, " {count} |").unwrap(),
                None => table.push_str(" |"),
            }
        }
        writeln!(table, " {} |", took.as_millis()).unwrap();
    }
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/reference/corpus.md");
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&file, &table).unwrap();
    }
    let without_times = |text: &str| -> Vec<String> {
        text.lines()
            .map(|line| line.rsplitn(3, '|').last().unwrap().to_owned())
            .collect()
    };
    let committed = std::fs::read_to_string(&file).unwrap_or_default();
    assert_eq!(
        without_times(&committed),
        without_times(&table),
        "UPDATE_DOCS=1 writes it anew"
    );
    println!("{} locks in the table", locks.len());
}

fn source(source: &Source) -> &'static str {
    match source {
        Source::Registry { .. } => "registry",
        Source::Git { .. } => "git",
        Source::Url { .. } => "url",
        Source::Path { .. } => "path",
        Source::Directory { .. } => "directory",
        Source::Editable { .. } => "editable",
        Source::Virtual { .. } => "virtual",
        Source::Files | Source::Indexes(_) => "list",
    }
}

fn kind(error: &SubsetError) -> &'static str {
    match error {
        SubsetError::PythonMismatch { .. } => "python",
        SubsetError::NoArtifact { .. } => "artifact",
        SubsetError::Conflict { .. } => "conflict",
        SubsetError::Environment { .. } => "environment",
        SubsetError::Forked { .. } => "forked",
        SubsetError::Excluded { .. } => "excluded",
        SubsetError::Malformed { .. } => "malformed",
        SubsetError::UnknownPackage { .. }
        | SubsetError::UnknownExtra { .. }
        | SubsetError::UnknownGroup { .. } => "unknown",
    }
}

/// What holds for every subset, whatever the lock.
fn well_formed(lock: &Lock, subset: &Subset) {
    let names: Vec<_> = subset.packages.iter().map(|locked| &locked.name).collect();
    assert!(names.is_sorted() && names.windows(2).all(|pair| pair[0] != pair[1]));
    for locked in &subset.packages {
        assert_eq!(locked.path.last(), Some(&locked.name));
        for pair in locked.path.windows(2) {
            let parent = subset.get(&pair[0]).unwrap();
            assert!(parent.requires.contains(&pair[1]), "{:?}", locked.path);
        }
        assert!(locked.requires.iter().all(|name| subset.get(name).is_some()));
        assert!(
            lock.find(&locked.name)
                .any(|package| *package.source() == locked.source)
        );
        assert!(!locked.key_line().contains("://"), "{}", locked.key_line());
    }
}
