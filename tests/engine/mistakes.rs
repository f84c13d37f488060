//! What a user gets wrong, and what is said of it.

use anyhow::{Context as _, Result};

use crate::support::build::Build;
use crate::support::engine::lab;
use crate::support::errors::{MISTAKES, points_at};
use crate::support::project::Project;

#[test]
fn mistakes_are_explained_and_leave_no_image() -> Result<()> {
    let Some(lab) = lab() else { return Ok(()) };
    for mistake in MISTAKES {
        mistake.check(&lab)?;
    }
    Ok(())
}

#[test]
fn all_mistakes_are_reported_at_once() -> Result<()> {
    let Some(lab) = lab() else { return Ok(()) };
    let project = Project::quickstart(&lab)?;
    project.spec("buckets   = 4", "buckets   = \"four\"")?;
    project.spec("packages   = [\"serve\"]", "packges    = [\"serve\"]")?;
    let built = Build::of(&lab, &project).target("serve").fail()?;
    assert!(
        built.text.contains("packges") && built.text.contains("buckets"),
        "{}",
        built.text
    );
    Ok(())
}

#[test]
fn a_forbidden_file_stops_the_build() -> Result<()> {
    let Some(lab) = lab() else { return Ok(()) };
    let project = Project::quickstart(&lab)?;
    project.spec("tier       = \"base\"", "tier       = \"devel\"")?;
    let built = Build::of(&lab, &project).target("serve").fail()?;
    let spec = project.read("wheelbase.toml")?;
    let line = spec
        .lines()
        .position(|line| line.starts_with("paths = [\"**/bin/nvcc\""))
        .context("no forbid")?
        + 1;
    points_at(&built.text, "wheelbase.toml", line)?;
    assert!(
        built.text.contains("bin/nvcc") && built.text.contains("/usr/local/cuda"),
        "{}",
        built.text
    );
    Ok(())
}

#[test]
fn an_unknown_target_is_guessed() -> Result<()> {
    let Some(lab) = lab() else { return Ok(()) };
    let built = Build::of(&lab, &Project::quickstart(&lab)?)
        .target("sreve")
        .fail()?;
    assert!(
        built.text.contains("did you mean --target serve?"),
        "{}",
        built.text
    );
    Ok(())
}
