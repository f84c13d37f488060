//! Reading a lock and deciding what an image takes from it, beside `uv export --frozen` on the same file.
//!
//! Both sides are a process that reads the lock and ends: ours parses it, takes the subset of the project for one platform
//! and plans an image; uv parses it, walks it for all platforms at once and writes requirements. uv plans nothing, so the
//! target is for our process without that; the ratio with it is printed beside. They take turns, so that what else runs
//! on the machine falls on both. The locks are generated ones of 100 to 10,000 packages, and the largest of the corpus
//! that `WHEELBASE_CORPUS` names. `UV` names a uv binary, else one on `PATH` is taken; without one our times stand alone.

#![allow(
    clippy::print_stdout,
    clippy::expect_used,
    clippy::panic,
    reason = "it prints its figures, and fails by panicking"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Instant;

use wheelbase::diagnostic::SourceFile;
use wheelbase::lock::{Lock, Manifests, Project, PythonVersion, Root, Roots, Source, Subset, Target};
use wheelbase::plan::{Footprint, Request, plan};
use wheelbase::platform::Platform;
use wheelbase::spec::{Layers, Spec};

mod generated;

const SIZES: [usize; 3] = [100, 1_000, 10_000];
/// Parsing and subset take at most this many times as long as uv.
const MOST_RATIO: f64 = 1.0;

/// A lock with the project that is asked for.
struct Case {
    /// As it is called in a line of figures.
    name: String,
    /// With `uv.lock` and `pyproject.toml`.
    folder: PathBuf,
    member: String,
    python: PythonVersion,
    /// Whether it is a lock of `generated`, which has a spec.
    generated: bool,
}

fn target(python: PythonVersion) -> Target {
    Target {
        platform: Platform::linux_amd64(),
        python,
        glibc: (2, 35),
    }
}

fn subset(lock: &Lock, member: &str, python: PythonVersion) -> Option<Subset> {
    let roots = Roots {
        packages: vec![Root::new(member.parse().ok()?)],
        ..Roots::default()
    };
    lock.subset(&roots, &target(python)).ok()
}

fn read(folder: &Path) -> Lock {
    let text = std::fs::read_to_string(folder.join("uv.lock")).expect("the lock can be read");
    let (lock, _) = Lock::parse(&SourceFile::new("uv.lock", text)).expect("the lock is good");
    lock
}

/// Does our side's work once and prints its seconds: parse, subset, plan.
fn work(case: &Case) {
    let started = Instant::now();
    let lock = read(&case.folder);
    let parsed = started.elapsed().as_secs_f64();
    let subset = subset(&lock, &case.member, case.python).expect("it has an answer");
    let walked = started.elapsed().as_secs_f64();
    let layers = if case.generated {
        planned(&lock)
    } else {
        // Packages of the corpus that have to be built would need a spec that says how.
        let spec =
            Spec::parse(&SourceFile::new("wheelbase.toml", generated::SPEC)).expect("the spec is good");
        let settings: &Layers = &spec.0.layers;
        Footprint::of_subset(&subset, settings).layers.len()
    };
    let done = started.elapsed().as_secs_f64();
    println!(
        "{parsed} {} {} {} {layers}",
        walked - parsed,
        done - walked,
        subset.packages.len()
    );
}

/// Plans the generated project, and how many stages that makes.
fn planned(lock: &Lock) -> usize {
    let (spec, _) =
        Spec::parse(&SourceFile::new("wheelbase.toml", generated::SPEC)).expect("the spec is good");
    let project = Project::parse(&SourceFile::new("pyproject.toml", generated::PROJECT));
    let project = project.expect("the project is good");
    let plan = plan(&Request {
        spec: &spec,
        lock: Some(lock),
        projects: &BTreeMap::from([(".".to_owned(), project)]),
        manifests: &Manifests::default(),
        platform: Platform::linux_amd64(),
        builder: None,
        stand_ins: &wheelbase::plan::StandIns::default(),
        resolved: &BTreeMap::new(),
        images: &BTreeSet::from(["app".to_owned()]),
    });
    plan.expect("it can be planned").stages.len()
}

/// The seconds of one process, and what it wrote.
fn run(command: &mut Command) -> (f64, String) {
    let started = Instant::now();
    let output = command.output().expect("the program runs");
    let seconds = started.elapsed().as_secs_f64();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    (seconds, String::from_utf8_lossy(&output.stdout).into_owned())
}

fn ours(case: &Case) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("this program has a path"));
    command.arg(CHILD).arg(&case.folder).arg(&case.member);
    command.args([case.python.minor.to_string(), case.generated.to_string()]);
    command
}

fn theirs(uv: &Path, cache: &Path, case: &Case) -> Command {
    let mut command = Command::new(uv);
    command
        .current_dir(&case.folder)
        .env("UV_CACHE_DIR", cache)
        .env("UV_OFFLINE", "1")
        .env("UV_PYTHON_DOWNLOADS", "never")
        .args(["export", "--frozen", "--quiet", "--no-default-groups"])
        .args(["--no-header", "--no-annotate", "--format", "requirements-txt"])
        .args(["--package", &case.member]);
    command
}

/// The first argument of a process that does our side's work.
const CHILD: &str = "work";

fn child() -> Option<Case> {
    let mut arguments = std::env::args().skip_while(|argument| argument != CHILD).skip(1);
    let mut next = || arguments.next();
    Some(Case {
        name: String::new(),
        folder: next()?.into(),
        member: next()?,
        python: PythonVersion::new(3, next()?.parse().ok()?),
        generated: next()? == "true",
    })
}

/// A generated lock with its project in a folder.
fn generated_case(count: usize, folder: &Path) -> Case {
    let folder = folder.join(count.to_string());
    std::fs::create_dir(&folder).expect("a folder can be made");
    let write =
        |name: &str, text: &str| std::fs::write(folder.join(name), text).expect("a file can be written");
    write("uv.lock", &generated::lock(count));
    write("pyproject.toml", generated::PROJECT);
    Case {
        name: format!("{count:>6} packages"),
        folder,
        member: "app".to_owned(),
        python: PythonVersion::new(3, 11),
        generated: true,
    }
}

/// The largest lock of the corpus, with the member that takes most of it.
fn largest() -> Option<Case> {
    let corpus = PathBuf::from(std::env::var_os("WHEELBASE_CORPUS")?).join("uvlock");
    let locks = std::fs::read_dir(&corpus).expect("the corpus can be read");
    let locks = locks.filter_map(|entry| {
        let folder = entry.ok()?.path();
        let size = folder.join("uv.lock").metadata().ok()?.len();
        Some((size, folder))
    });
    let (bytes, folder) = locks.max()?;
    let lock = read(&folder);
    let answers = [12, 13, 11, 10].into_iter().flat_map(|minor| {
        let python = PythonVersion::new(3, minor);
        let lock = &lock;
        let projects = lock
            .members()
            .filter(|member| matches!(member.source(), Source::Editable { .. } | Source::Virtual { .. }));
        projects.filter_map(move |member| {
            let subset = subset(lock, member.name().as_str(), python)?;
            Some((subset.packages.len(), member.name().to_string(), python))
        })
    });
    let (_, member, python) = answers.max_by_key(|(count, ..)| *count)?;
    let name = format!(
        "{} ({} packages, {:.1} MB, {member})",
        folder.file_name()?.to_string_lossy().replace("__", "/"),
        lock.packages().len(),
        u32::try_from(bytes).map_or(f64::INFINITY, f64::from) / 1e6
    );
    Some(Case {
        name,
        folder,
        member,
        python,
        generated: false,
    })
}

fn uv() -> Option<PathBuf> {
    std::env::var_os("UV").map(PathBuf::from).or_else(|| {
        let path = std::env::var_os("PATH")?;
        std::env::split_paths(&path)
            .map(|folder| folder.join("uv"))
            .find(|file| file.is_file())
    })
}

/// What else runs on the machine only adds to a time.
fn shortest(values: impl IntoIterator<Item = f64>) -> f64 {
    values.into_iter().fold(f64::INFINITY, f64::min)
}

/// Measures one lock and prints its line; whether the target is met.
fn measure(case: &Case, uv: Option<&Path>, cache: &Path) -> bool {
    const RUNS: usize = 15;
    let (mut our_seconds, mut uv_seconds, mut parts) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..RUNS {
        let (seconds, text) = run(&mut ours(case));
        our_seconds.push(seconds);
        let numbers: Vec<f64> = text
            .split_whitespace()
            .filter_map(|word| word.parse().ok())
            .collect();
        let numbers: [f64; 5] = numbers
            .try_into()
            .unwrap_or_else(|_| panic!("{}: {text}", case.name));
        parts.push(numbers);
        if let Some(uv) = uv {
            let (seconds, text) = run(&mut theirs(uv, cache, case));
            assert!(!text.is_empty(), "{}: uv exports nothing", case.name);
            uv_seconds.push(seconds);
        }
    }
    let [parse, subset, plan] = [0, 1, 2].map(|part| shortest(parts.iter().map(|parts| parts[part])) * 1e3);
    let without_plan = our_seconds
        .iter()
        .zip(&parts)
        .map(|(whole, parts)| whole - parts[2]);
    let without_plan = shortest(without_plan) * 1e3;
    let (whole, theirs) = (shortest(our_seconds) * 1e3, shortest(uv_seconds) * 1e3);
    let [.., packages, _] = parts[0];
    let figures = format!(
        "{}, {packages} taken: {whole:.1} ms (parse {parse:.2}, subset {subset:.2}, plan {plan:.2})",
        case.name
    );
    if uv.is_none() {
        println!("       {figures}; there is no uv to stand beside it");
        return true;
    }
    let ratio = without_plan / theirs;
    let word = if ratio <= MOST_RATIO { "ok    " } else { "short " };
    println!(
        "{word} {figures}; uv export {theirs:.1} ms: {ratio:.2}x (at most {MOST_RATIO}x), {:.2}x with the plan",
        whole / theirs
    );
    ratio <= MOST_RATIO
}

fn main() -> ExitCode {
    if let Some(case) = child() {
        work(&case);
        return ExitCode::SUCCESS;
    }
    let folder = tempfile::tempdir().expect("a folder can be made");
    let cache = folder.path().join("cache");
    let uv = uv();
    let mut cases: Vec<Case> = SIZES
        .into_iter()
        .map(|count| generated_case(count, folder.path()))
        .collect();
    match largest() {
        Some(case) => cases.push(case),
        None => println!("       WHEELBASE_CORPUS is not set: generated locks alone"),
    }
    let met: Vec<bool> = cases
        .iter()
        .map(|case| measure(case, uv.as_deref(), &cache))
        .collect();
    if met.into_iter().all(|met| met) {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}
