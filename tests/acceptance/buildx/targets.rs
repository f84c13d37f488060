//! Targets that leave no image: what they bring into caches, and at what price.

use anyhow::{Result, ensure};

use crate::Claim;
use crate::support::build::{Build, Built};
use crate::support::engine::Lab;
use crate::support::progress::Vertex;
use crate::support::project::Project;
use crate::support::unique;

pub(crate) fn claims() -> Vec<Claim> {
    vec![
        Claim::new(
            "--target cache-serve with --cache-to mode=max fills a registry, from which an emptied builder takes all of serve",
            registry,
        ),
        Claim::new(
            "--target cache-serve makes what serve is made of, and exports in no time",
            seconds,
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

fn registry(lab: &Lab) -> Result<String> {
    let project = salted(lab)?;
    let reference = format!("type=registry,ref={}/{}:cache", lab.registry, unique());
    let build = |target: &str, cache: &str| {
        Build::of(lab, &project)
            .target(target)
            .arguments(&[cache, "--pull"])
            .succeed()
    };
    let filled = build("cache-serve", &format!("--cache-to={reference},mode=max"))?;
    let compiled = filled.executed().contains(&"[wheel rowmax] compile");
    ensure!(compiled, "{:?}", filled.executed());
    lab.engine().output(&["builder", "prune", "--all", "--force"])?;
    let taken = build("serve", &format!("--cache-from={reference}"))?;
    ensure!(taken.executed().is_empty(), "serve runs {:?}", taken.executed());
    Ok(format!(
        "{} steps filled the cache in {:.1} s; emptied, the engine ran none for serve, in {:.1} s",
        filled.executed().len(),
        filled.seconds,
        taken.seconds
    ))
}

/// The seconds of the part of a build that exports.
fn exporting(built: &Built) -> f64 {
    let exports = built.progress.vertices.iter();
    let exports = exports.filter(|vertex| vertex.name.starts_with("exporting"));
    exports
        .filter_map(Vertex::interval)
        .map(|(start, end)| end - start)
        .sum()
}

fn seconds(lab: &Lab) -> Result<String> {
    let project = salted(lab)?;
    let tag = unique();
    let build = |target: &str| {
        let built = Build::of(lab, &project)
            .target(target)
            .tag(&tag)
            .arguments(&["--load"])
            .succeed();
        lab.engine().remove_image(&tag);
        built
    };
    let filled = build("cache-serve")?;
    let image = build("serve")?;
    ensure!(image.executed().is_empty(), "serve runs {:?}", image.executed());
    let (nothing, all) = (exporting(&filled), exporting(&image));
    ensure!(
        nothing < 1.0 && nothing < all,
        "{nothing:.1} s to export nothing, {all:.1} s to export serve"
    );
    Ok(format!(
        "{nothing:.1} s to export nothing, {all:.1} s to export serve"
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
