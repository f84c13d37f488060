//! Builders that come and go: what a layer cache in a registry brings them when their cache mounts are empty.

use anyhow::{Result, ensure};

use crate::Claim;
use crate::support::build::Build;
use crate::support::engine::Lab;
use crate::support::project::Project;
use crate::support::unique;
use crate::support::wheel_store::compiling;

pub(crate) fn claims() -> Vec<Claim> {
    vec![Claim::new(
        "a builder with empty cache mounts compiles nothing that the layer cache in the registry has",
        registry,
    )]
}

/// Engine 26.1 has nothing that 28.5 has, and is emptied of what it had.
fn registry(lab: &Lab) -> Result<String> {
    let project = Project::quickstart(lab)?;
    project.salt("rowmax")?;
    let reference = format!("type=registry,ref={}/{}:cache", lab.registry, unique());
    let first = Build::of(lab, &project)
        .target("serve")
        .arguments(&["--cache-to", &format!("{reference},mode=max")])
        .succeed()?;
    ensure!(
        first.executed().contains(&"[wheel rowmax] compile"),
        "{:?}",
        first.executed()
    );
    let other = lab.engine_of("26.1");
    other.output(&["builder", "prune", "--all", "--force"])?;
    let second = Build::of(lab, &project)
        .on(&other)
        .target("serve")
        .arguments(&["--cache-from", &reference, "--pull"])
        .succeed()?;
    let executed = second.executed();
    let compiled: Vec<&str> = compiling(&second)
        .into_iter()
        .filter(|name| executed.contains(name))
        .collect();
    ensure!(compiled.is_empty(), "{compiled:?}");
    Ok(format!(
        "28.5 compiled and exported; 26.1 executed {} of {} vertices, none of which compiles",
        executed.len(),
        second.progress.vertices.len()
    ))
}
