//! Targets that leave no image: what they bring into caches, and at what price.

use anyhow::{Result, ensure};

use crate::Claim;
use crate::support::build::{Build, Built};
use crate::support::engine::Lab;
use crate::support::project::Project;
use crate::support::registry::Manifest;
use crate::support::unique;

pub(crate) fn claims() -> Vec<Claim> {
    vec![
        Claim::new(
            "--target cache-serve with --cache-to mode=max fills a registry, from which an emptied builder takes all of serve",
            registry,
        ),
        Claim::new(
            "--target cache-serve makes all that serve is made of, and leaves less than 1000 bytes",
            bytes,
        ),
        Claim::new(
            "a target that is not there is met with one that is, for caches and for all wheels too",
            misspelt,
        ),
    ]
}

fn salted(lab: &Lab) -> Result<Project> {
    let project = Project::quickstart(lab)?;
    project.salt("rowmax")?;
    Ok(project)
}

/// What processes have left on an engine since it was emptied. What comes out of a cache elsewhere is told apart from that by
/// the engine's own records; progress shows a time for both.
fn processes(lab: &Lab) -> Result<usize> {
    let records = lab.engine().output(&["buildx", "du", "--verbose"])?;
    Ok(records
        .lines()
        .filter(|line| line.contains(" from exec "))
        .count())
}

/// Both targets write a cache of their own; the emptied engine then builds `serve` from each.
fn registry(lab: &Lab) -> Result<String> {
    let project = salted(lab)?;
    let name = unique();
    let cache = |target: &str| format!("type=registry,ref={}/{name}/{target}:cache", lab.registry);
    let build = |target: &str, arguments: &str| {
        Build::of(lab, &project)
            .target(target)
            .arguments(&[arguments, "--pull"])
            .succeed()
    };
    let mut filled = Vec::new();
    for target in ["cache-serve", "serve"] {
        filled.push(build(target, &format!("--cache-to={},mode=max", cache(target)))?);
    }
    let compiled = filled[0].executed().contains(&"[wheel rowmax] compile");
    ensure!(compiled, "{:?}", filled[0].executed());
    let mut ran = Vec::new();
    for target in ["cache-serve", "serve"] {
        lab.engine().output(&["builder", "prune", "--all", "--force"])?;
        build("serve", &format!("--cache-from={}", cache(target)))?;
        ran.push(processes(lab)?);
    }
    ensure!(ran[0] == 0, "{} processes ran for serve", ran[0]);
    Ok(format!(
        "{} processes ran on the emptied engine; with the cache of serve itself, {}",
        ran[0], ran[1]
    ))
}

/// Bytes of the layers that a target pushes.
fn pushed(lab: &Lab, project: &Project, target: &str) -> Result<(Built, u64)> {
    let reference = format!("{}/targets/{}:1", lab.registry, unique());
    let output = format!("--output=type=image,name={reference},push=true");
    let built = Build::of(lab, project)
        .target(target)
        .arguments(&[&output])
        .succeed()?;
    let manifest = Manifest::of(&lab.engine(), &reference)?;
    lab.engine().remove_image(&reference);
    Ok((built, manifest.size()))
}

fn bytes(lab: &Lab) -> Result<String> {
    let project = salted(lab)?;
    let (_, nothing) = pushed(lab, &project, "cache-serve")?;
    let (built, all) = pushed(lab, &project, "serve")?;
    let made = built.progress.made();
    ensure!(made.is_empty(), "serve runs {made:?}");
    ensure!(nothing < 1000 && all > 1_000_000, "{nothing} and {all} bytes");
    Ok(format!(
        "{nothing} bytes; serve has {all}, and runs no step after it"
    ))
}

fn misspelt(lab: &Lab) -> Result<String> {
    let project = Project::quickstart(lab)?;
    let words = [
        ("cache-srve", "did you mean --target cache-serve?"),
        ("wheels-store", "did you mean --target wheel-store?"),
    ];
    for (target, help) in words {
        let built = Build::of(lab, &project).target(target).fail()?;
        ensure!(built.text.contains(help), "{target}: {}", built.text);
    }
    Ok(format!("{} words", words.len()))
}
