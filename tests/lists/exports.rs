//! What uv exports of a `uv.lock` as a list, beside the subset of the `uv.lock` itself.
//!
//! Whoever moves from one to the other has to get the same packages, and the same files of them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use wheelbase::lock::{Artifact, Lock, Root, Roots, Source, Subset, Target};
use wheelbase::platform::Platform;

use super::outside::{self, Uv, admitted};
use super::{everything, files, parse, target};

/// What uv writes of a member with some extras and groups, in a format; `None` when it refuses.
fn export(uv: &Uv, folder: &Path, arguments: &[String], format: &str) -> Option<String> {
    let output = uv.export(folder, format).args(arguments).output().unwrap();
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
    let Some(uv) = Uv::find() else { return };
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
    let mut locks: Vec<PathBuf> = ["quickstart", "explicit-tiers", "torch-flash-attn"]
        .map(|name| examples.join(name).join("uv.lock"))
        .into();
    if let Some(corpus) = outside::corpus("uvlock") {
        let all = files(&corpus);
        locks.extend(all.into_iter().filter(|path| path.ends_with("uv.lock")));
    }
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
                let pylock = export(&uv, folder, &arguments, "pylock.toml");
                arguments.extend(["--no-emit-local", "--emit-index-url"].map(str::to_owned));
                let requirements = export(&uv, folder, &arguments, "requirements-txt");
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
