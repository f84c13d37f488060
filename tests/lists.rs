//! Locks that list packages — `pylock.toml` and hashed requirements — against real files, against uv, and on the
//! command line.
//!
//! `WHEELBASE_CORPUS` and `UV` are those of `tests/lock.rs`: where they are absent the tests that need them say so and
//! pass, except under `CI`.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a test fails by panicking, and says what it compared"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use prost::Message as _;
use wheelbase::diagnostic::SourceFile;
use wheelbase::lock::{Artifact, Lock, PythonVersion, Root, Roots, Source, Subset, SubsetError, Target};
use wheelbase::platform::Platform;
use wheelbase::proto::pb;

/// What is missing fails under CI and is said aloud elsewhere.
fn missing<T>(what: &str) -> Option<T> {
    assert!(std::env::var_os("CI").is_none(), "{what}, and CI is set");
    eprintln!("skipped: {what}");
    None
}

fn corpus() -> Option<PathBuf> {
    std::env::var_os("WHEELBASE_CORPUS")
        .map(PathBuf::from)
        .or_else(|| missing("WHEELBASE_CORPUS is not set"))
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
    let Some(corpus) = corpus() else { return };
    let (mut pylocks, mut requirements, mut refused, mut packages) = (0, 0, 0, 0);
    for path in files(&corpus.join("otherlocks")) {
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

/// A Python that the lock admits, patch level included.
fn admitted(lock: &Lock) -> PythonVersion {
    let all = [12, 13, 11, 10, 14, 9, 8]
        .into_iter()
        .flat_map(|minor| (0..40).map(move |patch| (minor, patch)));
    let mut pythons = all.map(|(minor, patch)| PythonVersion {
        major: 3,
        minor,
        patch: Some(patch),
    });
    let fits = |python: &PythonVersion| {
        let result = lock.subset(&Roots::default(), &target(Platform::linux_amd64(), *python));
        !matches!(&result, Err(errors) if errors.iter().any(|error| matches!(error, SubsetError::PythonMismatch { .. })))
    };
    pythons.find(fits).unwrap()
}

/// What uv writes of a member with some extras and groups, in a format; `None` when it refuses.
fn export(uv: &Path, cache: &Path, folder: &Path, arguments: &[String], format: &str) -> Option<String> {
    let output = Command::new(uv)
        .current_dir(folder)
        .env("UV_CACHE_DIR", cache)
        .env("UV_OFFLINE", "1")
        .env("UV_PYTHON_DOWNLOADS", "never")
        .args([
            "export",
            "--frozen",
            "--no-default-groups",
            "--quiet",
            "--format",
            format,
        ])
        .args(arguments)
        .output()
        .unwrap();
    output
        .status
        .success()
        .then(|| String::from_utf8(output.stdout).unwrap())
}

#[derive(Debug, Default)]
struct Tally {
    pylocks: usize,
    requirements: usize,
    packages: usize,
    without_answer: usize,
    refused_by_uv: usize,
    differences: Vec<String>,
}

/// A uv.lock and what uv makes of it in other formats are the same subset.
#[test]
fn exports_of_uv_are_the_same_subset() {
    let Some(uv) = uv() else { return };
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
    let mut locks: Vec<PathBuf> = ["quickstart", "explicit-tiers", "torch-flash-attn"]
        .map(|name| examples.join(name).join("uv.lock"))
        .into();
    if let Some(corpus) = corpus() {
        let all = files(&corpus.join("uvlock"));
        locks.extend(all.into_iter().filter(|path| path.ends_with("uv.lock")));
    }
    let cache = tempfile::tempdir().unwrap();
    let mut tally = Tally::default();
    for path in &locks {
        let lock = parse("uv.lock", std::fs::read_to_string(path).unwrap()).unwrap();
        let python = admitted(&lock);
        for member in lock.members() {
            let mut questions: Vec<(BTreeSet<String>, BTreeSet<String>)> = vec![Default::default()];
            questions.extend(
                member
                    .extras()
                    .map(|extra| ([extra.to_owned()].into(), [].into())),
            );
            questions.extend(
                member
                    .groups()
                    .map(|group| ([].into(), [group.to_owned()].into())),
            );
            for (extras, groups) in questions {
                let mut arguments = vec!["--package".to_owned(), member.name().to_string()];
                arguments.extend(
                    extras
                        .iter()
                        .flat_map(|extra| ["--extra".to_owned(), extra.clone()]),
                );
                arguments.extend(
                    groups
                        .iter()
                        .flat_map(|group| ["--group".to_owned(), group.clone()]),
                );
                let roots = Roots {
                    packages: vec![Root::new(member.name().clone())],
                    extras,
                    groups,
                    ..Roots::default()
                };
                let folder = path.parent().unwrap();
                let place = format!("{} {arguments:?}", path.display());
                let pylock = export(&uv, cache.path(), folder, &arguments, "pylock.toml");
                arguments.extend(["--no-emit-local", "--emit-index-url"].map(str::to_owned));
                let requirements = export(&uv, cache.path(), folder, &arguments, "requirements-txt");
                let (Some(pylock), Some(requirements)) = (pylock, requirements) else {
                    tally.refused_by_uv += 1;
                    continue;
                };
                let pylock = parse("pylock.toml", pylock);
                let requirements = parse("requirements.txt", requirements);
                let (pylock, requirements) = match (pylock, requirements) {
                    (Ok(pylock), Ok(requirements)) => (pylock, requirements),
                    (pylock, requirements) => {
                        for errors in [pylock.err(), requirements.err()].into_iter().flatten() {
                            tally.differences.push(format!("{place}: {errors}"));
                        }
                        continue;
                    }
                };
                for platform in [Platform::linux_amd64(), Platform::linux_arm64()] {
                    let target = target(platform.clone(), python);
                    let Ok(subset) = lock.subset(&roots, &target) else {
                        tally.without_answer += 1;
                        continue;
                    };
                    compare(
                        &subset,
                        &pylock,
                        &requirements,
                        &target,
                        &format!("{place} {platform}"),
                        &mut tally,
                    );
                }
            }
        }
    }
    println!(
        "{} subsets with {} packages equal in pylock.toml and {} in requirements.txt; {} without an answer on the \
         platform, {} not exported by uv, {} differences",
        tally.pylocks,
        tally.packages,
        tally.requirements,
        tally.without_answer,
        tally.refused_by_uv,
        tally.differences.len()
    );
    assert!(tally.differences.is_empty(), "{}", tally.differences.join("\n"));
    assert!(tally.pylocks > 0 && tally.requirements > 0);
}

fn compare(
    subset: &Subset,
    pylock: &Lock,
    requirements: &Lock,
    target: &Target,
    place: &str,
    tally: &mut Tally,
) {
    let expected: BTreeSet<String> = subset.key_lines().collect();
    match pylock.subset(&everything(), target) {
        Ok(other) => {
            let found: BTreeSet<String> = other.key_lines().collect();
            if found == expected {
                tally.pylocks += 1;
                tally.packages += found.len();
            } else {
                tally.differences.push(format!(
                    "{place}: only in uv.lock {:?}; only in pylock.toml {:?}",
                    expected.difference(&found).collect::<Vec<_>>(),
                    found.difference(&expected).collect::<Vec<_>>()
                ));
            }
        }
        Err(errors) => tally
            .differences
            .push(format!("{place}: pylock.toml: {errors:?}")),
    }
    let other = match requirements.subset(&everything(), target) {
        Ok(other) => other,
        Err(errors) => {
            tally
                .differences
                .push(format!("{place}: requirements.txt: {errors:?}"));
            return;
        }
    };
    // Local projects are not in a file of requirements. Its hashes are those of all files of a package; ours, of the
    // one that fits, has to be among them.
    let is_local = |source: &Source| source.is_project() || matches!(source, Source::Path { .. });
    let mut expected: BTreeMap<&str, _> = subset
        .packages
        .iter()
        .filter(|locked| !is_local(&locked.source))
        .map(|locked| (locked.name.as_str(), locked))
        .collect();
    let mut wrong = Vec::new();
    for locked in &other.packages {
        let same = expected
            .remove(locked.name.as_str())
            .is_some_and(|ours| match &locked.artifact {
                Artifact::Pinned { hashes } => {
                    let line = ours.key_line();
                    ours.version == locked.version && hashes.iter().any(|hash| line.ends_with(hash.as_str()))
                }
                _ => ours.artifact == locked.artifact || ours.key_line().ends_with(&locked.key_line()),
            });
        if !same {
            wrong.push(locked.key_line());
        }
    }
    if wrong.is_empty() && expected.is_empty() {
        tally.requirements += 1;
    } else {
        let lost: Vec<_> = expected.keys().collect();
        tally.differences.push(format!(
            "{place}: requirements.txt: other {wrong:?}; lost {lost:?}"
        ));
    }
}

const HASHES: [&str; 2] = [
    "1111111111111111111111111111111111111111111111111111111111111111",
    "2222222222222222222222222222222222222222222222222222222222222222",
];

fn spec(lock: &str, packages: &str, more: &str) -> String {
    format!(
        "name = \"x\"\n[gpu]\ncuda = \"12.8.1\"\nos = \"ubuntu22.04\"\n[python]\nversion = \"3.10\"\nlock = \"{lock}\"\n\
         {more}\n[images.a]\npackages = {packages}\n"
    )
}

/// Runs the built binary on a spec and a lock.
fn wheelbase(spec: &str, lock: (&str, &str), arguments: &[&str]) -> Output {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("wheelbase.toml"), spec).unwrap();
    std::fs::write(folder.path().join(lock.0), lock.1).unwrap();
    Command::new(env!("CARGO_BIN_EXE_wheelbase"))
        .args(arguments)
        .current_dir(folder.path())
        .output()
        .unwrap()
}

fn pylock() -> String {
    let entry = |name: &str, marker: &str, hash: &str| {
        format!(
            "[[packages]]\nname = \"{name}\"\nversion = \"1.0\"\n{marker}\n\
             wheels = [{{ url = \"https://files.index.example/{name}-1.0-py3-none-any.whl\", \
             hashes = {{ sha256 = \"{hash}\" }} }}]\n"
        )
    };
    let (one, two) = (HASHES[0], HASHES[1]);
    format!(
        "lock-version = \"1.0\"\ncreated-by = \"hand\"\nextras = [\"gpu\"]\n{}{}",
        entry("red", "", one),
        entry("green", "marker = \"'gpu' in extras\"", two)
    )
}

/// The step that installs from an index.
fn index_step(output: &Output) -> pb::ExecOp {
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    let definition = pb::Definition::decode(output.stdout.as_slice()).unwrap();
    let steps = definition
        .def
        .iter()
        .filter_map(|op| match pb::Op::decode(op.as_slice()).unwrap().op? {
            pb::op::Op::Exec(exec) => Some(exec),
            _ => None,
        });
    let mut steps = steps.filter(|exec| {
        let arguments = &exec.meta.as_ref().unwrap().args;
        arguments.iter().any(|argument| argument.contains("--hash="))
    });
    steps.next().unwrap()
}

#[test]
fn a_pylock_is_planned_like_any_lock() {
    let spec = spec("pylock.toml", "[\"*\"]", "");
    let lock = pylock();
    let lock = ("pylock.toml", lock.as_str());
    let plan = |spec: &str| {
        let output = wheelbase(spec, lock, &["plan"]);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success() && said.is_empty(), "{said}");
        String::from_utf8(output.stdout).unwrap()
    };
    let (few, more) = (plan(&spec), plan(&format!("{spec}extras = [\"gpu\"]\n")));
    assert!(few.contains("red 1.0") && !few.contains("green 1.0"), "{few}");
    assert!(more.contains("red 1.0") && more.contains("green 1.0"), "{more}");
    let wrong = wheelbase(&format!("{spec}extras = [\"gpus\"]\n"), lock, &["plan"]);
    let said = String::from_utf8(wrong.stderr).unwrap();
    assert!(
        said.contains("did you mean `gpu`?") && said.contains("extras = [\"gpus\"]"),
        "{said}"
    );
}

#[test]
fn names_of_a_file_without_dependencies_are_warned_of() {
    let output = wheelbase(
        &spec("pylock.toml", "[\"red\"]", ""),
        ("pylock.toml", &pylock()),
        &["check"],
    );
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{said}");
    assert!(
        said.contains("does not say what its packages need") && said.contains("packages = [\"*\"]"),
        "{said}"
    );
}

#[test]
fn hashed_requirements_are_installed_from_their_indexes_by_all_their_hashes() {
    let [one, two] = HASHES;
    let lines = format!("red==1.0 --hash=sha256:{two} --hash=sha256:{one}\ngreen==1.0 --hash=sha256:{one}\n");
    let spec = spec("requirements.txt", "[\"*\"]", "");
    let plain = wheelbase(
        &spec,
        ("requirements.txt", &lines),
        &["plan", "a", "--format", "llb"],
    );
    let meta = index_step(&plain).meta.unwrap();
    let start = meta.args.iter().position(String::is_empty).unwrap();
    assert!(
        !meta
            .env
            .iter()
            .any(|entry| entry.starts_with("UV_INDEX_STRATEGY="))
    );
    let wanted = [
        format!("green==1.0 --hash=sha256:{one}"),
        format!("red==1.0 --hash=sha256:{one} --hash=sha256:{two}"),
    ];
    let found: BTreeSet<&String> = meta.args[start + 1..].iter().collect();
    // The two may be in different buckets.
    assert!(found.iter().all(|line| wanted.contains(line)), "{found:?}");

    let several =
        format!("-i https://index.example/simple\n--extra-index-url https://index.example/cu\n{lines}");
    let several = wheelbase(
        &spec,
        ("requirements.txt", &several),
        &["plan", "a", "--format", "llb"],
    );
    let meta = index_step(&several).meta.unwrap();
    let start = meta
        .args
        .iter()
        .position(|argument| argument == "https://index.example/simple")
        .unwrap();
    assert_eq!(meta.args[start + 1], "--extra-index-url https://index.example/cu");
    assert!(
        meta.env
            .contains(&"UV_INDEX_STRATEGY=unsafe-best-match".to_owned())
    );

    let files = spec.replace("[images", "fetch = \"file\"\n[images");
    let output = wheelbase(&files, ("requirements.txt", &lines), &["check"]);
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("gives hashes of `red`, and no URL"), "{said}");
}

#[test]
fn a_hash_more_is_another_key() {
    let [one, two] = HASHES;
    let keys = |lines: &str| {
        let spec = spec("requirements.txt", "[\"*\"]", "");
        let output = wheelbase(&spec, ("requirements.txt", lines), &["plan", "--format", "json"]);
        let plan: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        let stages = plan["stages"].as_array().unwrap().clone();
        let layers = stages
            .into_iter()
            .filter(|stage| stage["name"].as_str().unwrap().starts_with("layer "));
        layers
            .map(|stage| stage["key"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    let before = keys(&format!("red==1.0 --hash=sha256:{one} --hash=sha256:{two}\n"));
    assert_eq!(before.len(), 1);
    assert_eq!(
        before,
        keys(&format!(
            "# said\nred==1.0 --hash=sha256:{two} \\\n  --hash=sha256:{one}\n"
        ))
    );
    assert_ne!(before, keys(&format!("red==1.0 --hash=sha256:{one}\n")));
}

#[test]
fn a_lock_that_is_wrong_is_shown_with_its_line() {
    let output = wheelbase(
        &spec("requirements.txt", "[\"*\"]", ""),
        ("requirements.txt", "red>=1.0\n"),
        &["check"],
    );
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(
        said.contains("requirements.txt:1:4") && said.contains("^^^^^"),
        "{said}"
    );
    let output = wheelbase(
        &spec("poetry.lock", "[\"*\"]", ""),
        ("poetry.lock", ""),
        &["check"],
    );
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(
        !output.status.success() && said.contains("poetry export"),
        "{said}"
    );
}
