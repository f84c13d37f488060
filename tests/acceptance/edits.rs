//! What an edit runs again.

use anyhow::{Result, ensure};

use crate::Claim;
use crate::support::build::Build;
use crate::support::engine::{Engine, Lab};
use crate::support::project::{Project, Release, SMALL, UNUSED};
use crate::support::unique;

pub(crate) fn claims() -> Vec<Claim> {
    vec![
        Claim::new(
            "a package edit outside an image's subset executes nothing",
            outside_the_subset,
        ),
        Claim::new(
            "a bump of the workspace's own version executes no package layer",
            own_version,
        ),
        Claim::new(
            "other comments and another order of the TOML execute nothing",
            other_order,
        ),
        Claim::new(
            "another cache scope, cache size or number of jobs executes nothing (28.5)",
            |lab| outside_of_keys(lab, "28.5"),
        ),
        Claim::new(
            "another cache scope, cache size or number of jobs executes nothing (26.1)",
            |lab| outside_of_keys(lab, "26.1"),
        ),
        Claim::new(
            "a bump of one small package executes one layer and ships one",
            small_bump,
        ),
    ]
}

/// What building executes after an edit of a project that has just been built.
fn executed(
    lab: &Lab,
    engine: &Engine,
    target: &str,
    edit: impl Fn(&Project) -> Result<()>,
) -> Result<Vec<String>> {
    let project = Project::quickstart(lab)?;
    Build::of(lab, &project).on(engine).target(target).succeed()?;
    edit(&project)?;
    let built = Build::of(lab, &project).on(engine).target(target).succeed()?;
    Ok(built.executed().into_iter().map(str::to_owned).collect())
}

fn nothing(
    lab: &Lab,
    engine: &Engine,
    targets: &[&str],
    edit: impl Fn(&Project) -> Result<()>,
) -> Result<String> {
    for target in targets {
        let executed = executed(lab, engine, target, &edit)?;
        ensure!(
            executed.is_empty(),
            "{target}: {} executed: {}",
            executed.len(),
            executed.join("; ")
        );
    }
    Ok(format!("{}: 0 executed", targets.join(" and ")))
}

fn outside_the_subset(lab: &Lab) -> Result<String> {
    nothing(lab, &lab.engine(), &["serve", "train"], |project| {
        project.bump(&Release::of(lab, UNUSED)).map(drop)
    })
}

fn own_version(lab: &Lab) -> Result<String> {
    // A version that no earlier run has built.
    let version = format!("0.1.{}", u32::from_str_radix(&unique()[8..14], 16)?);
    let executed = executed(lab, &lab.engine(), "serve", |project| {
        let (from, to) = ("version = \"0.1.0\"", format!("version = \"{version}\""));
        project.edit("serve/pyproject.toml", from, &to)?;
        project.edit(
            "uv.lock",
            &format!("name = \"serve\"\n{from}"),
            &format!("name = \"serve\"\n{to}"),
        )?;
        Ok(())
    })?;
    let own = ["[wheel serve] take serve", "[wheel serve] build"];
    let layers: Vec<&String> = executed
        .iter()
        .filter(|name| !own.contains(&name.as_str()) && !name.ends_with("] install serve"))
        .collect();
    ensure!(layers.is_empty(), "executed: {}", executed.join("; "));
    ensure!(
        executed.iter().any(|name| name == own[1]),
        "the new version was not built: {executed:?}"
    );
    Ok(format!("0 package layers; executed: {}", executed.join("; ")))
}

fn other_order(lab: &Lab) -> Result<String> {
    nothing(lab, &lab.engine(), &["serve", "train"], |project| {
        project.shuffle().map(drop)
    })
}

fn outside_of_keys(lab: &Lab, engine: &str) -> Result<String> {
    nothing(lab, &lab.engine_of(engine), &["serve", "train"], |project| {
        let cache = format!(
            "[compiler-cache]\nscope = \"{}\"\nmax-size = \"3G\"\n\n[layers]",
            unique()
        );
        project.spec("[layers]", &cache)?;
        project.spec("[wheels.rowmax]\n", "[wheels.rowmax]\njobs   = 1\n")?;
        project.spec("[wheels.vecadd]\n", "[wheels.vecadd]\njobs   = 3\n")?;
        Ok(())
    })
}

fn small_bump(lab: &Lab) -> Result<String> {
    let project = Project::quickstart(lab)?;
    let release = Release::new(lab, SMALL, "3.20")?;
    let repository = format!("{}/acceptance/{}", lab.registry, unique());
    let push = |tag: &str| {
        Build::of(lab, &project)
            .target("serve")
            .push_gzip(&format!("{repository}:{tag}"))
    };
    let (_, before) = push("before")?;
    project.bump(&release)?;
    let (built, after) = push("after")?;
    let executed = built.executed();
    ensure!(
        executed.len() == 1,
        "{} executed: {}",
        executed.len(),
        executed.join("; ")
    );
    let (layers, bytes) = after.new_since(&before);
    ensure!(layers == 1, "{layers} new layers of {bytes} bytes");
    Ok(format!(
        "1 executed, 1 new layer of {bytes} bytes beside {} kept",
        before.layers.len() - 1
    ))
}
