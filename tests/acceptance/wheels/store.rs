//! Stores of compiled objects outside the builder: real servers that ask for a password.

use anyhow::{Context as _, Result, ensure};

use crate::Claim;
use crate::support::engine::Lab;
use crate::support::progress::Vertex;
use crate::support::sccache::{again, build, counts, hits, project};
use crate::support::store::Store;

const STEP: &str = "[wheel vecadd] compile";

pub(crate) fn claims() -> Vec<Claim> {
    let mut claims = Vec::new();
    for kind in ["webdav", "redis", "s3"] {
        claims.push(Claim::new(
            format!(
                "a {kind} store on another port with another password rebuilds nothing, and answers at least 90% from there"
            ),
            move |lab| moves(lab, kind),
        ));
    }
    for kind in ["webdav", "s3", "redis", "gha"] {
        claims.push(Claim::new(
            format!(
                "a required {kind} store that nobody answers for ends the build in less than 15 seconds, before the first \
                 compile"
            ),
            move |lab| gone(lab, kind),
        ));
    }
    claims.push(Claim::new(
        "a store of another kind, required or not, under another prefix rebuilds nothing",
        another_kind,
    ));
    claims.push(Claim::new(
        "a builder with an empty cache mount is answered by the store",
        another_builder,
    ));
    claims
}

fn moves(lab: &Lab, kind: &'static str) -> Result<String> {
    let mut store = Store::start(kind)?;
    let project = project(lab, &store.required())?;
    let cold = build(lab, &project, &store.secret())?.target("train").succeed()?;
    ensure!(
        counts(&cold, "vecadd")?["store"] == kind,
        "the store was not used"
    );
    store.move_away()?;
    let moved = build(lab, &project, &store.secret())?.target("train").succeed()?;
    ensure!(moved.executed().is_empty(), "{:?}", moved.executed());
    again(&project)?;
    let warm = build(lab, &project, &store.secret())?.target("train").succeed()?;
    let (hits, calls) = hits(&warm, "vecadd")?;
    ensure!(hits * 10 >= calls * 9, "{hits} of {calls} are hits");
    Ok(format!(
        "moved: 0 executed; compiled again: {hits} of {calls} hits"
    ))
}

fn another_kind(lab: &Lab) -> Result<String> {
    let (first, second) = (Store::start("webdav")?, Store::start("redis")?);
    let project = project(lab, &first.required())?;
    build(lab, &project, &first.secret())?.target("train").succeed()?;
    project.spec(&first.required(), "store = \"redis\"")?;
    project.spec("scope = \"", "scope = \"another-")?;
    let built = build(lab, &project, &second.secret())?
        .target("train")
        .succeed()?;
    ensure!(built.executed().is_empty(), "{:?}", built.executed());
    Ok("0 executed".to_owned())
}

/// Engine 26.1 has cache mounts of its own.
fn another_builder(lab: &Lab) -> Result<String> {
    let server = Store::start("webdav")?;
    let project = project(lab, &server.required())?;
    let first = build(lab, &project, &server.secret())?
        .target("train")
        .succeed()?;
    let other = lab.engine_of("26.1");
    let second = build(lab, &project, &server.secret())?
        .on(&other)
        .target("train")
        .succeed()?;
    let ((before, _), (hits, calls)) = (hits(&first, "vecadd")?, hits(&second, "vecadd")?);
    ensure!(before == 0, "the first builder had {before} hits");
    ensure!(hits * 10 >= calls * 9, "{hits} of {calls} are hits");
    Ok(format!(
        "{hits} of {calls} calls on engine 26.1 are hits of engine 28.5's objects"
    ))
}

fn gone(lab: &Lab, kind: &'static str) -> Result<String> {
    let store = Store::gone(kind)?;
    let project = project(lab, &store.required())?;
    let failed = build(lab, &project, &store.secret())?.target("train").fail()?;
    let step = failed.progress.named(STEP).context("the step did not run")?;
    let (start, end) = Vertex::interval(step).context("the step did not end")?;
    ensure!(end - start < 15.0, "{:.1} s", end - start);
    ensure!(!step.log.contains("running build_ext"), "{}", step.log);
    let line = step.log.lines().find(|line| line.contains("is required"));
    let line = line.with_context(|| step.log.clone())?;
    ensure!(
        line.contains("secret `sccache`")
            && !line.contains(&store.password)
            && !line.contains(&store.port.to_string()),
        "{line}"
    );
    Ok(format!("{:.1} s: {line}", end - start))
}
