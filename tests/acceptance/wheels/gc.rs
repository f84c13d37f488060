//! A wheel store that is cleaned: what nobody needs is gone, and what is needed compiles nowhere.

use std::time::Instant;

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

use crate::Claim;
use crate::support::build::Build;
use crate::support::engine::Lab;
use crate::support::project::Project;
use crate::support::registry::Repository;
use crate::support::unique;
use crate::support::wheel_store::{compiling, said, set_store, wheels, wheels_command};

const WHEEL: &str = "markupsafe";

pub(crate) fn claims() -> Vec<Claim> {
    vec![
        Claim::new(
            "of what engines 28.5, 26.1 and 20.10 have pushed, `wheels gc` deletes what the spec names no more, and an empty \
             builder pulls the rest",
            swept,
        ),
        Claim::new(
            "a wheel store of 300 tags is read and cleaned in less than 20 seconds after the builder has answered",
            many,
        ),
    ]
}

fn swept(lab: &Lab) -> Result<String> {
    let project = Project::quickstart(lab)?;
    let name = unique();
    let repository = Repository::of(&lab.registry, &name);
    set_store(&project, &format!("{}/{name}", lab.registry), false)?;
    let bare = project.read("wheelbase.toml")?;
    let mut old = Vec::new();
    for version in ["20.10", "26.1", "28.5"] {
        project.write("wheelbase.toml", &bare)?;
        project.salt(WHEEL)?;
        let host = format!("unix://{}/engines/{version}/docker.sock", lab.folder().display());
        said(wheels_command(lab, &project, &["push", WHEEL]).env("DOCKER_HOST", host))?;
        let tags = repository.tags()?;
        let new = tags
            .iter()
            .find(|tag| tag.starts_with("markupsafe-") && !old.contains(*tag));
        old.push(
            new.with_context(|| format!("engine {version} has pushed nothing"))?
                .clone(),
        );
    }
    let current = old.pop().context("nothing was pushed")?;
    let gc = ["gc", "--keep-within", "0s", "--force", "--format", "json"];
    let told: Value = serde_json::from_str(&wheels(lab, &project, &gc)?)?;
    let left = repository.tags()?;
    ensure!(
        left.iter().eq([&current, "markupsafe.linux-amd64"]),
        "{left:?} of {old:?} and {current}"
    );
    let engine = lab.engine_of("26.1");
    engine.output(&["builder", "prune", "--all", "--force"])?;
    let built = Build::of(lab, &project)
        .on(&engine)
        .target("serve")
        .arguments(&["--pull"])
        .succeed()?;
    let compiling = compiling(&built);
    ensure!(
        !compiling.contains(&"[wheel markupsafe] compile"),
        "{compiling:?}"
    );
    Ok(format!(
        "{} manifests of {} wheels deleted, {} bytes; 26.1 took the one that is left from the store",
        told["deleted"].as_array().map_or(0, Vec::len),
        old.len(),
        told["freed"]
    ))
}

fn many(lab: &Lab) -> Result<String> {
    const TAGS: usize = 300;
    let project = Project::quickstart(lab)?;
    let name = unique();
    let repository = Repository::of(&lab.registry, &name);
    set_store(&project, &format!("{}/{name}", lab.registry), false)?;
    wheels(lab, &project, &["push", WHEEL])?;
    let (kind, text) = repository
        .manifest("markupsafe.linux-amd64")?
        .context("nothing was pushed")?;
    for index in 0..TAGS {
        // The same list with other spaces: manifests of their own with the same members.
        let manifest = format!("{text}{}", " ".repeat(index + 1));
        repository.put(&format!("markupsafe-{index:064x}"), &kind, &manifest)?;
    }
    let started = Instant::now();
    wheels(lab, &project, &["list"])?;
    let asking = started.elapsed();
    let started = Instant::now();
    let told = wheels(lab, &project, &["gc", "--keep-within", "0s", "--force"])?;
    let all = started.elapsed();
    ensure!(
        told.contains(&format!("{TAGS} of {} tags deleted", TAGS + 2)),
        "{told}"
    );
    let own = all.saturating_sub(asking).as_secs_f64();
    ensure!(
        own < 20.0,
        "{own:.1} s beside {:.1} s of the builder",
        asking.as_secs_f64()
    );
    Ok(format!(
        "{own:.1} s beside {:.1} s of the builder",
        asking.as_secs_f64()
    ))
}
