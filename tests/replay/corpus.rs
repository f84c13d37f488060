//! Real histories: how many edits of a lock leave a package's part of it as it is.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use super::evaluated::Evaluated;
use super::naive::Naive;
use super::{outside, run};

/// A history, the Python that its locks admit, the project's own package, and kernel packages that are compiled.
type Case = (&'static str, &'static str, &'static str, &'static [&'static str]);

const CASES: [Case; 6] = [
    (
        "NVIDIA-NeMo__Automodel",
        "3.12",
        "nemo-automodel",
        &["torch", "flash-attn", "transformer-engine"],
    ),
    (
        "NVIDIA-NeMo__RL",
        "3.13",
        "nemo-rl",
        &["torch", "flash-attn", "transformer-engine"],
    ),
    (
        "NVIDIA__Megatron-LM",
        "3.12",
        "megatron-core",
        &["torch", "transformer-engine"],
    ),
    (
        "NovaSky-AI__SkyRL",
        "3.12",
        "skyrl",
        &["torch", "flash-attn", "transformer-engine"],
    ),
    (
        "microsoft__agent-framework",
        "3.12",
        "agent-framework",
        &["agent-framework-core"],
    ),
    ("microsoft__autogen", "3.12", "autogenstudio", &["torch"]),
];

/// Unpacks a history; the folder with its locks.
fn unpacked(archives: &Path, name: &str, into: &Path) -> PathBuf {
    let status = Command::new("tar")
        .arg("-xJf")
        .arg(archives.join(format!("{name}.tar.xz")))
        .arg("-C")
        .arg(into)
        .status()
        .unwrap();
    assert!(status.success(), "{name}");
    let folder = into.join(name);
    assert!(folder.is_dir(), "{name}");
    folder
}

fn share(part: usize, whole: usize) -> usize {
    part * 100 / whole.max(1)
}

#[test]
fn edits_that_leave_a_package_alone() {
    let Some(archives) = outside::corpus("history") else {
        return;
    };
    println!(
        "{:<28} {:<22} {:>5}  {:>9}  {:>9}  {:>9}  {:>10} {:>10} {:>10}",
        "history", "package", "edits", "untouched", "evaluated", "naive", "whole file", "subset", "layers"
    );
    let (mut projects, mut compiled) = (Vec::new(), Vec::new());
    for (history, python, project, kernels) in CASES {
        let unpacked_into = tempfile::tempdir().unwrap();
        let folder = unpacked(&archives, history, unpacked_into.path());
        let packages: Vec<&str> = std::iter::once(project).chain(kernels.iter().copied()).collect();
        let played = play(&folder, python, &packages);
        let naive = naive(&folder);
        assert_eq!(played["versions"], naive.len(), "{history}");
        for package in packages {
            let image = &played["images"][package];
            let Counts {
                edits,
                untouched,
                evaluated,
                naive: naive_untouched,
            } = compare(history, package, image, &naive, python);
            let shares = [untouched, evaluated, naive_untouched].map(|part| share(part, edits));
            if package == project {
                projects.push(shares);
            } else {
                compiled.push(shares);
            }
            let gigabytes = |policy: &str| {
                let tenths = image[policy]["bytes"].as_u64().unwrap() / 100_000_000;
                format!("{}.{} GB", tenths / 10, tenths % 10)
            };
            println!(
                "{history:<28} {package:<22} {edits:>5}  {:>8}%  {:>8}%  {:>8}%  {:>10} {:>10} {:>10}",
                shares[0],
                shares[1],
                shares[2],
                gigabytes("whole_file"),
                gigabytes("subset"),
                gigabytes("layers")
            );
            assert!(edits > 10, "{history} {package}: {image}");
            // A third of all edits is for something else, even seen from the whole project; more than half, seen from
            // a package that takes an hour to compile.
            let least = if package == project { 33 } else { 55 };
            assert!(shares[0] >= least, "{history} {package}");
            let bytes = |policy: &str| image[policy]["bytes"].as_u64().unwrap();
            assert!(bytes("layers") <= bytes("subset") && bytes("subset") <= bytes("whole_file"));
        }
    }
    println!(
        "whole projects: {}; kernel packages: {}",
        ranges(&projects),
        ranges(&compiled)
    );
}

/// `35% to 73% of all edits leave one untouched`, as each of the three counts has it.
fn ranges(shares: &[[usize; 3]]) -> String {
    let range = |count: usize| {
        let all = || shares.iter().map(|shares| shares[count]);
        let (least, most) = (all().min().unwrap(), all().max().unwrap());
        format!("{least}-{most}%")
    };
    format!(
        "{} of all edits leave one untouched ({} with markers evaluated, {} by lines of text)",
        range(0),
        range(1),
        range(2)
    )
}

/// Edits, and how many of them leave a package alone.
struct Counts {
    edits: usize,
    /// As we see it.
    untouched: usize,
    /// As the reading with markers does.
    evaluated: usize,
    /// As the naive one does.
    naive: usize,
}

/// Our replay of a folder of locks.
fn play(folder: &Path, python: &str, packages: &[&str]) -> Value {
    let folder = folder.to_str().unwrap();
    let mut arguments = vec![
        "replay", "--locks", folder, "--python", python, "--format", "json",
    ];
    for package in packages {
        arguments.extend(["--package", package]);
    }
    serde_json::from_str(&run(Path::new("."), &arguments)).unwrap()
}

/// The locks of a folder by the name that `replay` gives them.
fn naive(folder: &Path) -> BTreeMap<String, Naive> {
    let mut locks = BTreeMap::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "lock") {
            let read = Naive::read(&std::fs::read_to_string(&path).unwrap());
            assert!(!read.is_empty(), "{}", path.display());
            locks.insert(path.file_stem().unwrap().to_str().unwrap().to_owned(), read);
        }
    }
    locks
}

/// Edits that leave a package alone, as each of the three sees them. The naive reading never sees a change less than we
/// do; the one with markers sees the same ones.
fn compare(
    history: &str,
    package: &str,
    image: &Value,
    naive: &BTreeMap<String, Naive>,
    python: &str,
) -> Counts {
    let unplanned: Vec<&str> = image["unplanned"]
        .as_array()
        .unwrap()
        .iter()
        .map(|version| version["version"].as_str().unwrap())
        .collect();
    let minor = python.strip_prefix("3.").unwrap().parse().unwrap();
    let closures: Vec<_> = naive
        .iter()
        .filter(|(version, _)| !unplanned.contains(&version.as_str()))
        .map(|(version, lock)| {
            let evaluated = Evaluated::new(lock, minor).closure(package);
            (version, lock.closure(package), evaluated)
        })
        .collect();
    let points = image["points"].as_array().unwrap();
    assert_eq!(points.len() + 1, closures.len(), "{history} {package}");
    let mut counts = Counts {
        edits: points.len(),
        untouched: 0,
        evaluated: 0,
        naive: 0,
    };
    for (point, pair) in points.iter().zip(closures.windows(2)) {
        let [(_, before, evaluated_before), (version, after, evaluated_after)] = pair else {
            unreachable!("windows of two")
        };
        assert_eq!(point["version"].as_str(), Some(version.as_str()));
        assert!(!after.is_empty(), "{history} {package} {version}");
        let changed = point["changed"].as_bool().unwrap();
        let layers = point["changed_layers"].as_array().unwrap();
        assert!(
            changed || layers.is_empty(),
            "{history} {package} {version}: {point}"
        );
        assert!(
            !changed || before != after,
            "{history} {package} {version}: a change that no line of text shows"
        );
        assert_eq!(
            changed,
            evaluated_before != evaluated_after,
            "{history} {package} {version}: {:?} became {:?}",
            evaluated_before.difference(evaluated_after).collect::<Vec<_>>(),
            evaluated_after.difference(evaluated_before).collect::<Vec<_>>()
        );
        counts.untouched += usize::from(!changed);
        counts.evaluated += usize::from(evaluated_before == evaluated_after);
        counts.naive += usize::from(before == after);
    }
    counts
}
