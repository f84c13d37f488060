//! Subsets beside what `uv export` writes for the same question: the other opinion of what a lock means.
//!
//! Every member of every lock of the corpus is asked for, with each of its extras and groups, on both platforms.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::str::FromStr;

use pep508_rs::{MarkerEnvironment, MarkerTree};
use wheelbase::lock::{Lock, Package, PythonVersion, Root, Roots, Source, Subset, Target};
use wheelbase::platform::Platform;

use super::outside::{Uv, admitted, cpython};
use super::{corpus, kind, read, roots, target};

fn environment(platform: &Platform, python: PythonVersion) -> MarkerEnvironment {
    let PythonVersion { major, minor, patch } = python;
    cpython((major, minor, patch.unwrap()), platform.machine())
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
    let Some(uv) = Uv::find() else { return };
    let mut tally = Tally::default();
    for path in &locks {
        let lock = read(path);
        let python = admitted(&lock);
        for member in lock.members() {
            for question in questions(&lock, member) {
                compare(&uv, path, &lock, member, python, &question, &mut tally);
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

fn compare(
    uv: &Uv,
    path: &Path,
    lock: &Lock,
    member: &Package,
    python: PythonVersion,
    question: &Question,
    tally: &mut Tally,
) {
    let mut command = uv.export(path.parent().unwrap(), "requirements-txt");
    command
        .args(["--no-header", "--no-annotate", "--no-hashes"])
        .args(["--package", member.name().as_str()]);
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
