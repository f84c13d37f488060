//! Time and peak memory of planning, for locks of 100, 1,000 and 10,000 packages.
//!
//! What is timed is all that the frontend does by itself: read the spec, read the lock, plan, make the graph, encode
//! it. Each lock is measured in a process of its own, so that its peak memory (`VmHWM` of Linux) is its own. The
//! locks are generated here, in the shape of real ones: a quarter of the packages has a wheel for each of twelve
//! platforms, some edges have markers.

#![allow(
    clippy::print_stdout,
    clippy::expect_used,
    clippy::panic,
    reason = "it prints its figures, and fails by panicking"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::process::{Command, ExitCode};
use std::time::Instant;

use prost::Message as _;
use wheelbase::diagnostic::SourceFile;
use wheelbase::llb::{Surroundings, emit};
use wheelbase::lock::{Lock, Project};
use wheelbase::plan::{Request, plan};
use wheelbase::platform::Platform;
use wheelbase::spec::Spec;

const SIZES: [usize; 3] = [100, 1_000, 10_000];
/// Names the size to a process that measures.
const CHILD: &str = "WHEELBASE_BENCH_PACKAGES";

/// 1,000 packages are planned in less.
const MOST_MILLISECONDS: f64 = 20.0;
/// Ten times the lock costs at most this many times as much.
const MOST_GROWTH: f64 = 12.0;

const SPEC: &str = r#"# syntax=registry.example/wheelbase:1
name = "bench"
[gpu]
cuda = "12.8.1"
os = "ubuntu22.04"
archs = ["9.0"]
[python]
version = "3.11"
[images.app]
tier = "runtime"
packages = ["app"]
"#;

const PROJECT: &str = r#"[project]
name = "app"
version = "1.0.0"
[build-system]
requires = ["uv_build"]
build-backend = "uv_build"
"#;

/// A lock of one project and `count` packages, all of which it needs: each one needs two of the next.
fn lock(count: usize) -> String {
    let platforms = [
        "manylinux_2_17_x86_64.manylinux2014_x86_64",
        "manylinux_2_17_aarch64.manylinux2014_aarch64",
        "musllinux_1_2_x86_64",
        "musllinux_1_2_aarch64",
        "macosx_10_9_x86_64",
        "macosx_11_0_arm64",
        "win_amd64",
        "win_arm64",
        "win32",
        "manylinux_2_31_riscv64",
        "manylinux_2_17_s390x.manylinux2014_s390x",
        "manylinux_2_17_ppc64le.manylinux2014_ppc64le",
    ];
    let mut text = String::from(
        "version = 1\nrevision = 3\nrequires-python = \">=3.11\"\n\n[[package]]\nname = \"app\"\nversion = \"1.0.0\"\n\
         source = { editable = \".\" }\ndependencies = [{ name = \"p0\" }]\n",
    );
    for index in 0..count {
        let hash = |file: usize| format!("{:064x}", index * 100 + file);
        let size = if index % 40 == 0 {
            60_000_000
        } else {
            40_000 + index
        };
        let _ = write!(
            text,
            "\n[[package]]\nname = \"p{index}\"\nversion = \"1.{index}.0\"\n\
             source = {{ registry = \"https://index.example/simple\" }}\n"
        );
        let next: Vec<usize> = [2 * index + 1, 2 * index + 2]
            .into_iter()
            .filter(|next| *next < count)
            .collect();
        if !next.is_empty() {
            text.push_str("dependencies = [\n");
            for next in next {
                let marker = if next % 5 == 0 {
                    ", marker = \"sys_platform == 'linux'\""
                } else {
                    ""
                };
                let _ = writeln!(text, "    {{ name = \"p{next}\"{marker} }},");
            }
            text.push_str("]\n");
        }
        let url = format!("https://files.index.example/{index}/p{index}-1.{index}.0");
        let _ = writeln!(
            text,
            "sdist = {{ url = \"{url}.tar.gz\", hash = \"sha256:{}\", size = {size} }}\nwheels = [",
            hash(99)
        );
        let tags: Vec<String> = if index % 4 == 0 {
            platforms
                .iter()
                .map(|platform| format!("cp311-cp311-{platform}"))
                .collect()
        } else {
            vec!["py3-none-any".to_owned()]
        };
        for (file, tag) in tags.iter().enumerate() {
            let _ = writeln!(
                text,
                "    {{ url = \"{url}-{tag}.whl\", hash = \"sha256:{}\", size = {size} }},",
                hash(file)
            );
        }
        text.push_str("]\n");
    }
    text
}

/// One build's worth of work: the length of the definition, and the seconds of reading, planning and making the graph.
fn work(lock: &str) -> (usize, [f64; 3]) {
    let started = Instant::now();
    let spec = SourceFile::new("wheelbase.toml", SPEC);
    let (spec, _) = Spec::parse(&spec).expect("the spec is good");
    let (lock, _) = Lock::parse(&SourceFile::new("uv.lock", lock)).expect("the lock is good");
    let project = Project::parse(&SourceFile::new("pyproject.toml", PROJECT)).expect("the project is good");
    let read = started.elapsed().as_secs_f64();
    let plan = plan(&Request {
        spec: &spec,
        lock: Some(&lock),
        projects: &BTreeMap::from([(".".to_owned(), project)]),
        platform: Platform::linux_amd64(),
        resolved: &BTreeMap::new(),
        images: &BTreeSet::from(["app".to_owned()]),
    })
    .expect("it can be planned");
    let planned = started.elapsed().as_secs_f64();
    let emitted = emit(&plan, "app", &Surroundings::default());
    let bytes = emitted.graph.definition(emitted.image).encode_to_vec().len();
    let made = started.elapsed().as_secs_f64();
    (bytes, [read, planned - read, made - planned])
}

/// Does one size's work once, as a frontend does in its life, and prints its seconds (reading, planning, graph), the
/// peak in kilobytes and the definition in bytes. A second run in the same process would find memory that the first
/// one has already touched, for a small lock and not for a large one.
fn measure(count: usize) {
    let lock = lock(count);
    let (bytes, [read, plan, graph]) = std::hint::black_box(work(std::hint::black_box(&lock)));
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak: u64 = status
        .lines()
        .find_map(|line| {
            line.strip_prefix("VmHWM:")?
                .trim()
                .strip_suffix("kB")?
                .trim()
                .parse()
                .ok()
        })
        .unwrap_or(0);
    println!("{read} {plan} {graph} {peak} {bytes}");
}

/// What else runs on the machine only adds to a time.
fn shortest(values: Vec<f64>) -> f64 {
    values.into_iter().fold(f64::INFINITY, f64::min)
}

struct Figures {
    milliseconds: f64,
    megabytes: f64,
}

fn measured(count: usize) -> Figures {
    let program = std::env::current_exe().expect("this program has a path");
    let runs: Vec<[f64; 5]> = (0..(50_000 / count).clamp(8, 40))
        .map(|_| {
            let output = Command::new(&program)
                .env(CHILD, count.to_string())
                .output()
                .expect("this program runs");
            let text = String::from_utf8_lossy(&output.stdout).into_owned();
            let numbers: Vec<f64> = text
                .split_whitespace()
                .filter_map(|word| word.parse().ok())
                .collect();
            numbers
                .try_into()
                .unwrap_or_else(|_| panic!("{count} packages: {}", String::from_utf8_lossy(&output.stderr)))
        })
        .collect();
    let all = shortest(runs.iter().map(|run| run[..3].iter().sum()).collect());
    let [read, plan, graph] = [0, 1, 2].map(|part| shortest(runs.iter().map(|run| run[part]).collect()));
    let [.., kilobytes, bytes] = runs[0];
    let figures = Figures {
        milliseconds: all * 1e3,
        megabytes: kilobytes / 1e3,
    };
    println!(
        "       {count:>6} packages: {:.2} ms (read {:.2}, plan {:.2}, graph {:.2}), {:.1} MB at most, a definition of {bytes} bytes",
        figures.milliseconds,
        read * 1e3,
        plan * 1e3,
        graph * 1e3,
        figures.megabytes
    );
    figures
}

fn main() -> ExitCode {
    if let Some(count) = std::env::var(CHILD).ok().and_then(|count| count.parse().ok()) {
        measure(count);
        return ExitCode::SUCCESS;
    }
    let figures = SIZES.map(measured);
    let mut good = true;
    let mut target = |what: &str, figure: f64, most: f64, unit: &str| {
        let word = if figure <= most { "ok    " } else { "short " };
        good &= figure <= most;
        println!("{word} {what}: {figure:.1}{unit} (at most {most}{unit})");
    };
    target(
        "1,000 packages are planned",
        figures[1].milliseconds,
        MOST_MILLISECONDS,
        " ms",
    );
    for (pair, name) in figures.windows(2).zip(["100 to 1,000", "1,000 to 10,000"]) {
        target(
            &format!("time, {name} packages"),
            pair[1].milliseconds / pair[0].milliseconds,
            MOST_GROWTH,
            "x",
        );
        target(
            &format!("peak memory, {name} packages"),
            pair[1].megabytes / pair[0].megabytes,
            MOST_GROWTH,
            "x",
        );
    }
    if good {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}
