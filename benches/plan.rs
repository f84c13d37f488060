//! Time and peak memory of planning, for locks of 100, 1,000 and 10,000 packages.
//!
//! What is timed is all that the frontend does by itself: read the spec, read the lock, plan, make the graph, encode
//! it. Each lock is measured in a process of its own, so that its peak memory (`VmHWM` of Linux) is its own.

#![allow(
    clippy::print_stdout,
    clippy::expect_used,
    clippy::panic,
    reason = "it prints its figures, and fails by panicking"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::process::{Command, ExitCode};
use std::time::Instant;

use prost::Message as _;
use wheelbase::diagnostic::SourceFile;
use wheelbase::llb::{Surroundings, emit};
use wheelbase::lock::{Lock, Manifests, Project};
use wheelbase::plan::{Request, plan};
use wheelbase::platform::Platform;
use wheelbase::spec::Spec;

mod generated;

use generated::{PROJECT, SPEC, lock};

/// The binary's.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const SIZES: [usize; 3] = [100, 1_000, 10_000];
/// Names the size to a process that measures.
const CHILD: &str = "WHEELBASE_BENCH_PACKAGES";

/// As many for each size: the shortest of more runs is shorter.
const RUNS: usize = 40;

/// 1,000 packages are planned in less.
const MOST_MILLISECONDS: f64 = 20.0;
/// Ten times the lock costs at most this many times as much.
const MOST_GROWTH: f64 = 12.0;

/// One build's worth of work: the length of the definition, and the seconds of reading, planning and making the graph.
fn work(lock: String) -> (usize, [f64; 3]) {
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
        manifests: &Manifests::default(),
        platform: Platform::linux_amd64(),
        builder: None,
        stand_ins: &wheelbase::plan::StandIns::default(),
        resolved: &BTreeMap::new(),
        images: &BTreeSet::from(["app".to_owned()]),
    })
    .expect("it can be planned");
    let planned = started.elapsed().as_secs_f64();
    let emitted = emit(&plan, "app", &Surroundings::default());
    let definition = emitted.graph.definition(emitted.image);
    let bytes = definition.encode_to_vec().len();
    let made = started.elapsed().as_secs_f64();
    (bytes, [read, planned - read, made - planned])
}

/// Does one size's work once, as a frontend does in its life, and prints its seconds (reading, planning, graph), the
/// peak in kilobytes and the definition in bytes. A second run in the same process would find memory that the first
/// one has already touched, for a small lock and not for a large one.
fn measure(count: usize) {
    let lock = lock(count);
    let (bytes, [read, plan, graph]) = std::hint::black_box(work(std::hint::black_box(lock)));
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

/// The figures of every size. They are measured in turns: a machine that is slower for a while is so for all of them.
fn measured() -> [Figures; SIZES.len()] {
    let mut runs = SIZES.map(|_| Vec::new());
    for _ in 0..RUNS {
        for (runs, count) in runs.iter_mut().zip(SIZES) {
            runs.push(run(count));
        }
    }
    std::array::from_fn(|size| figures(SIZES[size], &runs[size]))
}

/// What [`measure`] prints, from a process of its own.
fn run(count: usize) -> [f64; 5] {
    let program = std::env::current_exe().expect("this program has a path");
    let output = Command::new(program)
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
}

fn figures(count: usize, runs: &[[f64; 5]]) -> Figures {
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
    let figures = measured();
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
