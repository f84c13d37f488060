//! Targets that are no image and no single wheel: all wheels in a folder, and builds that fill caches.

use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

use crate::support::build::Build;
use crate::support::engine::{Engine, Lab, lab};
use crate::support::project::Project;
use crate::support::sccache::report;
use crate::support::wheel_store::{project, wheels};

/// The packages of the wheels in a folder; a file that is no wheel has its whole name.
fn wheels_in(folder: &Path) -> Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        let wheel = name.strip_suffix(".whl").and_then(|name| name.split_once('-'));
        names.push(wheel.map_or(name.clone(), |(package, _)| package.to_owned()));
    }
    names.sort();
    Ok(names)
}

#[test]
fn all_compiled_wheels_are_left_in_one_folder() -> Result<()> {
    let Some(lab) = lab() else { return Ok(()) };
    let project = project(&lab)?;
    project.salt("vecadd")?;
    wheels(&lab, &project, &["push", "rowmax"])?;
    let out = Project::empty()?;
    let output = format!("--output=type=local,dest={}", out.path().display());
    let built = Build::of(&lab, &project)
        .target("wheel-store")
        .arguments(&[&output])
        .succeed()?;
    let wheels = wheels_in(out.path())?;
    ensure!(wheels == ["markupsafe", "rowmax", "vecadd"], "{wheels:?}");
    // What the store has comes from there, and the rest is compiled.
    ensure!(
        built.executed().contains(&"[wheel vecadd] compile"),
        "{:?}",
        built.executed()
    );
    ensure!(
        built.progress.named("[wheel rowmax] compile").is_none(),
        "it is compiled again"
    );
    let stored = built.metadata["frontend.dev.wheelbase.wheel-store"].as_str();
    let stored: Value = serde_json::from_str(stored.context("the metadata says nothing of the store")?)?;
    ensure!(
        stored["rowmax"]["stored"] == true && stored["vecadd"]["stored"] == false,
        "{stored}"
    );
    let counted = report(&built)?;
    ensure!(
        counted["vecadd"]["compiled"] == true && counted.get("rowmax").is_none(),
        "{counted}"
    );
    Ok(())
}

/// A quickstart whose kernel nobody has compiled.
fn cold(lab: &Lab) -> Result<Project> {
    let project = Project::quickstart(lab)?;
    project.salt("rowmax")?;
    Ok(project)
}

fn fills(lab: &Lab, engine: &Engine) -> Result<()> {
    let project = cold(lab)?;
    let build = |target: &str| Build::of(lab, &project).on(engine).target(target);
    let (filled, left) = build("cache-serve").export()?;
    ensure!(left.entries.is_empty(), "it leaves {:?}", left.entries.keys());
    let executed = filled.executed();
    ensure!(executed.contains(&"[wheel rowmax] compile"), "{executed:?}");
    let counted = report(&filled)?;
    ensure!(counted["rowmax"]["compiled"] == true, "{counted}");
    let after = build("serve").succeed()?;
    let made = after.progress.made();
    ensure!(made.is_empty(), "serve runs {made:?}");
    Ok(())
}

#[test]
fn a_target_for_caches_makes_all_and_leaves_nothing() -> Result<()> {
    let Some(lab) = lab() else { return Ok(()) };
    for version in ["28.5", "26.1", "20.10"] {
        let engine = lab.engine_of(version);
        fills(&lab, &engine).with_context(|| format!("engine {version}"))?;
    }
    Ok(())
}

#[test]
fn a_target_for_caches_is_checked_as_its_image_is() -> Result<()> {
    let Some(lab) = lab() else { return Ok(()) };
    let project = Project::quickstart(&lab)?;
    project.spec(
        "paths = [\"**/bin/nvcc\"",
        "paths = [\"/etc/serve/serve.toml\", \"**/bin/nvcc\"",
    )?;
    let built = Build::of(&lab, &project).target("cache-serve").fail()?;
    ensure!(
        built.text.contains("/etc/serve/serve.toml"),
        "it failed otherwise: {}",
        built.text
    );
    Ok(())
}

#[test]
fn wheels_fill_caches_too() -> Result<()> {
    let Some(lab) = lab() else { return Ok(()) };
    let project = cold(&lab)?;
    let build = |target: &str| Build::of(&lab, &project).target(target);
    let (filled, left) = build("cache-rowmax").export()?;
    ensure!(left.entries.is_empty(), "it leaves {:?}", left.entries.keys());
    ensure!(
        filled.executed().contains(&"[wheel rowmax] compile"),
        "{:?}",
        filled.executed()
    );
    let (all, left) = build("cache-wheel-store").export()?;
    ensure!(left.entries.is_empty(), "it leaves {:?}", left.entries.keys());
    ensure!(
        !all.executed().contains(&"[wheel rowmax] compile"),
        "{:?}",
        all.executed()
    );
    let (files, tree) = build("wheel-store").export()?;
    let compiled = files
        .progress
        .made()
        .iter()
        .any(|name| name.ends_with("] compile"));
    ensure!(!compiled && tree.entries.len() == 3, "{:?}", files.executed());
    ensure!(
        files.metadata["frontend.dev.wheelbase.wheel-store"] == Value::Null,
        "{}",
        files.metadata
    );
    Ok(())
}
