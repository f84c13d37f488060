//! Builders that come and go: what a layer cache in a registry brings them when their cache mounts are empty.

use anyhow::{Result, ensure};

use crate::Claim;
use crate::support::build::Build;
use crate::support::engine::Lab;
use crate::support::progress::Vertex;
use crate::support::project::Project;
use crate::support::unique;
use crate::support::wheel_store::compiling;

pub(crate) fn claims() -> Vec<Claim> {
    vec![Claim::new(
        "a builder with empty cache mounts compiles nothing that the layer cache in the registry has",
        registry,
    )]
}

/// The engine exports its cache and is emptied of it and of all cache mounts, as a builder that is made anew. It is of the
/// same version: those of other versions have other keys for steps with cache mounts.
fn registry(lab: &Lab) -> Result<String> {
    let project = Project::quickstart(lab)?;
    project.salt("rowmax")?;
    let reference = format!("type=registry,ref={}/{}:cache", lab.registry, unique());
    let first = Build::of(lab, &project)
        .target("serve")
        .arguments(&["--cache-to", &format!("{reference},mode=max"), "--pull"])
        .succeed()?;
    ensure!(
        first.executed().contains(&"[wheel rowmax] compile"),
        "{:?}",
        first.executed()
    );
    lab.engine().output(&["builder", "prune", "--all", "--force"])?;
    let second = Build::of(lab, &project)
        .target("serve")
        .arguments(&["--cache-from", &reference, "--pull"])
        .succeed()?;
    let ran = |name: &&str| second.progress.named(name).is_some_and(Vertex::spoke);
    let compiled: Vec<&str> = compiling(&second).into_iter().filter(ran).collect();
    ensure!(compiled.is_empty(), "{compiled:?}");
    Ok(format!(
        "compiled and exported; emptied, the engine ran {} of {} vertices, none of which compiles",
        second
            .progress
            .vertices
            .iter()
            .filter(|vertex| vertex.spoke())
            .count(),
        second.progress.vertices.len()
    ))
}
