//! The lock room against real locks and against uv itself.
//!
//! `WHEELBASE_CORPUS` names a folder with `uvlock/*/uv.lock` and the `pyproject.toml` files beside them; `UV` a uv
//! binary, else one on `PATH` is taken. Where they are absent these tests say so and pass, except under `CI`.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a test fails by panicking, and says what it compared"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::str::FromStr;
use std::time::{Duration, Instant};

use pep508_rs::{MarkerEnvironment, MarkerEnvironmentBuilder, MarkerTree};
use wheelbase::diagnostic::{Diagnostic, SourceFile};
use wheelbase::lock::{Lock, Package, PythonVersion, Root, Roots, Source, Subset, SubsetError, Target};
use wheelbase::platform::Platform;

/// What is missing fails under CI and is said aloud elsewhere.
fn missing<T>(what: &str) -> Option<T> {
    assert!(std::env::var_os("CI").is_none(), "{what}, and CI is set");
    eprintln!("skipped: {what}");
    None
}

fn corpus() -> Option<Vec<PathBuf>> {
    let Some(folder) = std::env::var_os("WHEELBASE_CORPUS") else {
        return missing("WHEELBASE_CORPUS is not set");
    };
    let folders = std::fs::read_dir(Path::new(&folder).join("uvlock")).unwrap();
    let mut locks: Vec<PathBuf> = folders
        .map(|entry| entry.unwrap().path().join("uv.lock"))
        .filter(|path| path.is_file())
        .collect();
    locks.sort();
    assert!(
        !locks.is_empty(),
        "no lock below {}",
        Path::new(&folder).display()
    );
    Some(locks)
}

fn uv() -> Option<PathBuf> {
    let binary = std::env::var_os("UV").map(PathBuf::from).or_else(|| {
        let path = std::env::var_os("PATH")?;
        std::env::split_paths(&path)
            .map(|folder| folder.join("uv"))
            .find(|file| file.is_file())
    });
    binary.or_else(|| missing("there is no uv binary in UV or on PATH"))
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

/// A Python that the lock admits, patch level included.
fn admitted(lock: &Lock) -> PythonVersion {
    for minor in [12, 13, 11, 10, 14, 9, 8] {
        for patch in 0..40 {
            let python = PythonVersion {
                major: 3,
                minor,
                patch: Some(patch),
            };
            let result = lock.subset(&Roots::default(), &target(Platform::linux_amd64(), python));
            if !matches!(&result, Err(errors) if errors.iter().any(|error| kind(error) == "python")) {
                return python;
            }
        }
    }
    panic!("no Python fits {:?}", lock.requires_python());
}

fn environment(platform: &Platform, python: PythonVersion) -> MarkerEnvironment {
    let PythonVersion { major, minor, patch } = python;
    let full = format!("{major}.{minor}.{}", patch.unwrap());
    let short = format!("{major}.{minor}");
    MarkerEnvironment::try_from(MarkerEnvironmentBuilder {
        implementation_name: "cpython",
        implementation_version: &full,
        os_name: "posix",
        platform_machine: platform.machine(),
        platform_python_implementation: "CPython",
        platform_release: "",
        platform_system: "Linux",
        platform_version: "",
        python_full_version: &full,
        python_version: &short,
        sys_platform: "linux",
    })
    .unwrap()
}

/// What is asked of one member, or of two.
#[derive(Debug, Clone, Default)]
struct Question {
    extras: BTreeSet<String>,
    groups: BTreeSet<String>,
    other: Option<String>,
}

/// Nothing more, each extra and group alone, groups of the workspace's root, all pairs of extras where they are few, an
/// extra with groups, and two members at once.
fn questions(lock: &Lock, member: &Package) -> Vec<Question> {
    let set = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    let ask = |extras: &[&str], groups: &[&str]| Question {
        extras: set(extras),
        groups: set(groups),
        other: None,
    };
    let extras: Vec<&str> = member.extras().collect();
    let groups: Vec<&str> = member.groups().collect();
    let mut questions = vec![Question::default()];
    questions.extend(extras.iter().map(|extra| ask(&[extra], &[])));
    questions.extend(groups.iter().map(|group| ask(&[], &[group])));
    let root = lock.members().find(|member| {
        matches!(member.source(), Source::Editable { path } | Source::Virtual { path } if path == ".")
    });
    let shared = root
        .iter()
        .flat_map(|root| root.groups())
        .filter(|group| !groups.contains(group));
    questions.extend(shared.map(|group| ask(&[], &[group])));
    if extras.len() <= 12 {
        for (index, left) in extras.iter().enumerate() {
            questions.extend(extras[index + 1..].iter().map(|right| ask(&[left, right], &[])));
        }
    }
    if let (Some(extra), Some(group)) = (extras.last(), groups.last()) {
        questions.push(ask(&[extra], &[group]));
        questions.push(ask(&[extra], &groups));
    }
    let next = lock
        .members()
        .skip_while(|other| other.name() != member.name())
        .nth(1);
    questions.extend(next.map(|next| Question {
        other: Some(next.name().to_string()),
        ..ask(&[], &groups)
    }));
    questions
}

/// What uv would install: `name==version`, `name @` for git and URLs, `tree path` for projects.
fn exported(text: &str, environment: &MarkerEnvironment) -> BTreeSet<String> {
    let mut lines = BTreeSet::new();
    for line in text
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
    {
        let (requirement, marker) = line.split_once(" ; ").unwrap_or((line, ""));
        if !marker.is_empty() && !MarkerTree::from_str(marker).unwrap().evaluate(environment, &[]) {
            continue;
        }
        let requirement = requirement.trim();
        let path = requirement
            .strip_prefix("-e ")
            .or_else(|| requirement.starts_with('.').then_some(requirement));
        lines.insert(match (path, requirement.split_once(" @ ")) {
            (Some(path), _) => format!("tree {}", path.trim_start_matches("./")),
            (None, Some((name, _))) => format!("{name} @"),
            (None, None) => requirement.to_owned(),
        });
    }
    lines
}

/// The same of a subset.
fn ours(subset: &Subset) -> BTreeSet<String> {
    let lines = subset.packages.iter().filter_map(|locked| match &locked.source {
        Source::Registry { .. } => Some(format!("{}=={}", locked.name, locked.version.as_ref().unwrap())),
        Source::Git { .. } | Source::Url { .. } | Source::Path { .. } => Some(format!("{} @", locked.name)),
        Source::Directory { path } | Source::Editable { path } => Some(format!("tree {path}")),
        Source::Virtual { .. } | Source::Files | Source::Indexes(_) => None,
    });
    lines.collect()
}

#[derive(Debug, Default)]
struct Tally {
    compared: usize,
    conflicts: usize,
    without_artifact: usize,
    stricter_in_uv: usize,
    refused_by_uv: BTreeMap<String, usize>,
    differences: Vec<String>,
}

#[test]
fn subsets_are_those_of_uv() {
    let Some(locks) = corpus() else { return };
    let Some(uv) = uv() else { return };
    let cache = tempfile::tempdir().unwrap();
    let mut tally = Tally::default();
    for path in &locks {
        let lock = read(path);
        let python = admitted(&lock);
        for member in lock.members() {
            for question in questions(&lock, member) {
                compare(
                    &uv,
                    cache.path(),
                    path,
                    &lock,
                    member,
                    python,
                    &question,
                    &mut tally,
                );
            }
        }
    }
    println!(
        "{} subsets compared with uv, {} conflicts that both refuse, {} that uv alone refuses, {} without a fitting \
         file, {} differences; not exported by uv: {:?}",
        tally.compared,
        tally.conflicts,
        tally.stricter_in_uv,
        tally.without_artifact,
        tally.differences.len(),
        tally.refused_by_uv
    );
    assert!(tally.compared > 0);
    assert!(tally.differences.is_empty(), "{}", tally.differences.join("\n"));
}

/// Whether uv's complaint names an extra of another package than the one that was asked for.
fn is_of_a_member(errors: &str, member: &Package) -> bool {
    let set = errors.split_once('{').map_or("", |(_, set)| set);
    set.split('`')
        .filter(|item| item.contains('['))
        .any(|item| !item.starts_with(&format!("{}[", member.name())))
}

#[expect(clippy::too_many_arguments, reason = "one comparison has this many sides")]
fn compare(
    uv: &Path,
    cache: &Path,
    path: &Path,
    lock: &Lock,
    member: &Package,
    python: PythonVersion,
    question: &Question,
    tally: &mut Tally,
) {
    let mut command = Command::new(uv);
    command
        .current_dir(path.parent().unwrap())
        .env("UV_CACHE_DIR", cache)
        .env("UV_OFFLINE", "1")
        .env("UV_PYTHON_DOWNLOADS", "never")
        .args([
            "export",
            "--frozen",
            "--no-header",
            "--no-annotate",
            "--no-hashes",
            "--no-default-groups",
        ])
        .args([
            "--quiet",
            "--format",
            "requirements-txt",
            "--package",
            member.name().as_str(),
        ]);
    for extra in &question.extras {
        command.args(["--extra", extra]);
    }
    for group in &question.groups {
        command.args(["--group", group]);
    }
    if let Some(other) = &question.other {
        command.args(["--package", other]);
    }
    let output = command.output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    let mut asked = Roots {
        extras: question.extras.clone(),
        groups: question.groups.clone(),
        ..roots(member)
    };
    asked.packages.extend(
        question
            .other
            .iter()
            .map(|other| Root::new(other.parse().unwrap())),
    );
    let place = || format!("{} {} {question:?}", path.display(), member.name());
    for platform in [Platform::linux_amd64(), Platform::linux_arm64()] {
        let target = Target {
            glibc: (2, 99),
            ..target(platform.clone(), python)
        };
        let subset = lock.subset(&asked, &target);
        if !output.status.success() {
            let conflicting = errors.contains("conflict");
            match subset {
                Err(found) if conflicting && found.iter().any(|error| kind(error) == "conflict") => {
                    tally.conflicts += 1;
                }
                // uv takes an extra of the root for one of a member that the root depends on, when both have one of
                // that name, and refuses what can be installed.
                Ok(_) if conflicting && is_of_a_member(&errors, member) => tally.stricter_in_uv += 1,
                _ if conflicting => tally.differences.push(format!("{}: uv: {errors}", place())),
                _ => {
                    let reason = errors.lines().next().unwrap_or_default().to_owned();
                    *tally.refused_by_uv.entry(reason).or_default() += 1;
                }
            }
            continue;
        }
        match subset {
            Ok(subset) => {
                let theirs = exported(
                    &String::from_utf8(output.stdout.clone()).unwrap(),
                    &environment(&platform, python),
                );
                let ours = ours(&subset);
                tally.compared += 1;
                if ours != theirs {
                    tally.differences.push(format!(
                        "{} on {platform}: only here {:?}; only in uv {:?}",
                        place(),
                        ours.difference(&theirs).collect::<Vec<_>>(),
                        theirs.difference(&ours).collect::<Vec<_>>()
                    ));
                }
            }
            Err(found) if found.iter().all(|error| kind(error) == "artifact") => tally.without_artifact += 1,
            Err(found) if found.iter().all(|error| kind(error) == "environment") => {
                let theirs = exported(
                    &String::from_utf8(output.stdout.clone()).unwrap(),
                    &environment(&platform, python),
                );
                tally.compared += 1;
                if theirs.iter().any(|line| !line.starts_with("tree ")) {
                    tally
                        .differences
                        .push(format!("{} on {platform}: {found:?}, uv {theirs:?}", place()));
                }
            }
            Err(found) => tally
                .differences
                .push(format!("{} on {platform}: {found:?}", place())),
        }
    }
}
