//! Merged layers against one plain install.

use anyhow::{Result, ensure};

use crate::Claim;
use crate::support::build::Build;
use crate::support::engine::Lab;
use crate::support::plain;
use crate::support::project::Project;

pub(crate) fn claims() -> Vec<Claim> {
    vec![Claim::new(
        "/opt/venv from merged layers equals one plain `uv pip install`, file for file",
        plain_install,
    )]
}

/// Times are not compared: a plain install leaves the time at which it ran. Nor is `uv_cache.json`, in which uv notes
/// the time of a wheel that it installs from a folder, as the three that are built here; it is no part of the package.
fn plain_install(lab: &Lab) -> Result<String> {
    let project = Project::quickstart(lab)?;
    let (_, ours) = Build::of(lab, &project).target("serve").export()?;
    plain::write(&project, lab)?;
    let (_, theirs) = Build::of(lab, &project).file("Dockerfile").export()?;
    let (ours, theirs) = (ours.below("opt/venv"), theirs.below("opt/venv").without_notes());
    let differences = ours.differences(&theirs);
    ensure!(
        differences.is_empty(),
        "{} differences: {}",
        differences.len(),
        differences.iter().take(8).cloned().collect::<Vec<_>>().join("; ")
    );
    Ok(format!(
        "{} files, 0 differences (but times, and uv's notes of them)",
        ours.files()
    ))
}
