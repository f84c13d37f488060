//! The step that runs a build command, run as processes: how many run at once, who waits and for what, and how many jobs
//! a step has room for.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use proptest::prelude::*;
use wheelbase::plan::steps;

/// A builder: its locks, and what the kernel says of memory and cores.
struct Builder(tempfile::TempDir);

impl Builder {
    /// One with much memory and no control groups.
    fn new() -> Self {
        let builder = Self(tempfile::tempdir().unwrap());
        for folder in ["slots", "cgroup"] {
            fs::create_dir(builder.path(folder)).unwrap();
        }
        builder
            .available(1 << 40)
            .write("self", "0::/\n")
            .write("log", "")
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn write(self, name: &str, text: &str) -> Self {
        fs::create_dir_all(self.path(name).parent().unwrap()).unwrap();
        fs::write(self.path(name), text).unwrap();
        self
    }

    fn available(self, bytes: u64) -> Self {
        let kilobytes = bytes / 1024;
        let text = format!("MemTotal: 1 kB\nMemFree: 1 kB\nMemAvailable: {kilobytes} kB\nBuffers: 1 kB\n");
        self.write("meminfo", &text)
    }

    /// The step with these numbers (slots, jobs, megabytes of a job), about to run a command.
    fn step(&self, wheel: &str, numbers: [u64; 3], command: &[&str]) -> Command {
        let text = [
            ("/wheelbase/slots", "slots"),
            ("/tmp/waited", "waited"),
            ("/sys/fs/cgroup", "cgroup"),
            ("/proc/self/cgroup", "self"),
            ("/proc/meminfo", "meminfo"),
        ]
        .into_iter()
        .fold(steps::run(), |text, (there, here)| {
            assert!(text.contains(there), "{there}");
            text.replace(there, self.path(here).to_str().unwrap())
        });
        let mut step = Command::new("python3");
        step.args(["-I", "-S", "-B", "-c", &text, wheel])
            .args(numbers.map(|number| number.to_string()))
            .args(command)
            .env("LOG", self.path("log"))
            .env_remove("NVCC_THREADS");
        step
    }

    /// Starts a compile that notes when it begins and ends.
    fn compile(&self, wheel: &str, slots: u64, seconds: &str) -> Child {
        let command = format!("echo + >>\"$LOG\"; sleep {seconds}; echo - >>\"$LOG\"");
        self.step(wheel, [slots, 1, 0], &["sh", "-c", &command])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap()
    }

    /// How many compiles ran after each beginning and end.
    fn running(&self) -> Vec<i32> {
        let log = fs::read_to_string(self.path("log")).unwrap();
        let steps = log.lines().map(|line| if line == "+" { 1 } else { -1 });
        steps
            .scan(0, |running, step| {
                *running += step;
                Some(*running)
            })
            .collect()
    }

    /// The jobs of compilers and of cargo.
    fn jobs(&self, numbers: [u64; 3], threads: Option<&str>) -> (u64, u64) {
        let mut step = self.step(
            "a",
            numbers,
            &[
                "sh",
                "-c",
                "echo $MAX_JOBS $CARGO_BUILD_JOBS $CMAKE_BUILD_PARALLEL_LEVEL $MAKEFLAGS $NVCC_THREADS",
            ],
        );
        if let Some(threads) = threads {
            step.env("NVCC_THREADS", threads);
        }
        let output = step.output().unwrap();
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        let said = String::from_utf8(output.stdout).unwrap();
        let (first, variables) = said.trim().split_once('\n').unwrap();
        let words: Vec<&str> = variables.split(' ').collect();
        assert_eq!(first, format!("wheelbase: a: {} jobs", words[0]));
        assert_eq!(
            words[2..],
            [words[0], &format!("-j{}", words[0]), threads.unwrap_or("1")]
        );
        (words[0].parse().unwrap(), words[1].parse().unwrap())
    }
}

/// All that a compile says, when it has ended well.
fn said(mut child: Child) -> String {
    let text = std::io::read_to_string(child.stdout.take().unwrap()).unwrap();
    assert!(child.wait().unwrap().success(), "{text}");
    text
}

#[test]
fn no_more_compiles_run_than_there_are_slots() {
    let builder = Builder::new();
    let compiles: Vec<Child> = (0..6)
        .map(|number| builder.compile(&format!("w{number}"), 2, "1"))
        .collect();
    let said: Vec<String> = compiles.into_iter().map(said).collect();
    let running = builder.running();
    assert_eq!(running.len(), 12);
    assert_eq!(running.iter().max(), Some(&2), "{running:?}");
    let waits = said.iter().map(|said| {
        said.matches(" waits for a slot (build.slots = 2) behind ")
            .count()
    });
    assert!(
        waits.clone().all(|count| count <= 1) && waits.sum::<usize>() >= 1,
        "{said:?}"
    );
}

#[test]
fn a_build_without_slots_waits_for_nobody() {
    let builder = Builder::new();
    let compiles = [1, 0, 0].map(|slots| builder.compile("a", slots, "2"));
    for compile in compiles {
        assert!(!said(compile).contains("waits"));
    }
    assert_eq!(builder.running().iter().max(), Some(&3));
}

#[test]
fn a_holder_that_is_killed_leaves_its_slot() {
    let builder = Builder::new();
    let mut holder = builder
        .step("holder", [1, 1, 0], &["sleep", "600"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(holder.stdout.take().unwrap())
        .read_line(&mut line)
        .unwrap();
    assert_eq!(line, "wheelbase: holder: 1 jobs\n");
    let mut waiter = builder.compile("waiter", 1, "0");
    let mut lines = BufReader::new(waiter.stdout.take().unwrap()).lines();
    assert_eq!(
        lines.next().unwrap().unwrap(),
        "wheelbase: waiter: waits for a slot (build.slots = 1) behind holder"
    );
    assert!(waiter.try_wait().unwrap().is_none());
    holder.kill().unwrap();
    holder.wait().unwrap();
    assert_eq!(lines.next().unwrap().unwrap(), "wheelbase: waiter: 1 jobs");
    assert!(waiter.wait().unwrap().success());
}

#[test]
fn a_build_that_lets_few_compiles_run_counts_those_of_others_and_gets_its_turn() {
    let builder = Builder::new();
    let mut others: Vec<Child> = (0..3).map(|_| builder.compile("other", 3, "2")).collect();
    while builder.running().len() < 3 {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    let mut alone = builder.compile("alone", 1, "0.3");
    let mut lines = BufReader::new(alone.stdout.take().unwrap()).lines();
    assert_eq!(
        lines.next().unwrap().unwrap(),
        "wheelbase: alone: waits for a slot (build.slots = 1) behind other, other, other"
    );
    others.push(builder.compile("later", 3, "0"));
    let texts: Vec<String> = others.into_iter().map(said).collect();
    assert!(
        texts[3].contains("waits for a slot (build.slots = 3) behind others, which wait too"),
        "{texts:?}"
    );
    assert!(alone.wait().unwrap().success());
    // All three end before the one begins, and the last one waits for it or runs beside it.
    assert_eq!(builder.running()[..7], [1, 2, 3, 2, 1, 0, 1]);
}

#[test]
fn jobs_are_what_cores_and_memory_allow() {
    let builder = Builder::new();
    let (cores, cargo) = builder.jobs([0, 0, 0], None);
    assert!(cores >= 1 && cargo == cores);
    assert_eq!(builder.jobs([0, 3, 0], None), (3, 3), "told");
    let builder = builder.available(10_500_000_000);
    assert_eq!(builder.jobs([0, 0, 0], None).0, cores.min(2), "5 GB a job");
    assert_eq!(builder.jobs([0, 0, 9000], None), (1, 1), "one job is of 9 GB");
    assert_eq!(builder.jobs([2, 0, 0], None).0, 1, "two slots share");
    assert_eq!(builder.jobs([0, 0, 0], Some("2")).0, 1, "a job is of two threads");
    assert_eq!(builder.jobs([0, 0, 1], Some("0")).0, 1, "a job is of all cores");
    assert_eq!(builder.available(1).jobs([0, 0, 0], None), (1, 1), "never none");
}

#[test]
fn limits_of_control_groups_count() {
    let gigabytes = "6000000000\n";
    let two = || Builder::new().write("self", "0::/a/b\n");
    for file in ["memory.max", "memory.high", "a/memory.max", "a/b/memory.max"] {
        let builder = two()
            .write("cgroup/memory.max", "max\n")
            .write(&format!("cgroup/{file}"), gigabytes);
        assert_eq!(builder.jobs([0, 0, 0], None).0, 1, "{file}");
    }
    let one = || Builder::new().write("self", "5:cpu,cpuacct:/a\n4:memory:/a\n0::/\n");
    let none = "9223372036854771712\n";
    for (file, text) in [
        ("memory/memory.limit_in_bytes", gigabytes),
        ("memory/a/memory.limit_in_bytes", gigabytes),
        (
            "memory/memory.stat",
            "cache 1\nhierarchical_memory_limit 6000000000\n",
        ),
    ] {
        let builder = one()
            .write("cgroup/memory/memory.limit_in_bytes", none)
            .write(&format!("cgroup/{file}"), text);
        assert_eq!(builder.jobs([0, 0, 0], None).0, 1, "{file}");
    }
    let cores = Builder::new().jobs([0, 0, 0], None).0;
    for (quota, most) in [
        ("max 100000\n", cores),
        ("100000 100000\n", 1),
        ("50000 100000\n", 1),
    ] {
        let builder = two().write("cgroup/cpu.max", quota);
        assert_eq!(builder.jobs([0, 0, 0], None).0, most, "{quota}");
    }
    for (quota, most) in [("-1\n", cores), ("100000\n", 1)] {
        let builder = one()
            .write("cgroup/cpu/a/cpu.cfs_quota_us", quota)
            .write("cgroup/cpu/a/cpu.cfs_period_us", "100000\n");
        assert_eq!(builder.jobs([0, 0, 0], None).0, most, "{quota}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn what_runs_at_once_fits_or_is_one_job(
        limit in 1_u64..200_000_000_000, megabytes in 1_u64..20_000, slots in 1_u64..5, threads in 1_u64..5,
    ) {
        let builder = Builder::new().write("cgroup/memory.max", &format!("{limit}\n"));
        let jobs = builder.jobs([slots, 0, megabytes], Some(&threads.to_string())).0;
        prop_assert!(jobs == 1 || jobs * megabytes * 1_000_000 * threads * slots <= limit, "{jobs}");
    }
}
