//! A store of compiled objects outside the builder: a real server that speaks `WebDAV` and asks for a password.

use anyhow::{Context as _, Result, ensure};

use crate::Claim;
use crate::support::engine::Lab;
use crate::support::progress::Vertex;
use crate::support::sccache::{again, build, counts, hits, project};
use crate::support::unique;
use crate::support::webdav::{WebDav, free_port};

const STEP: &str = "[wheel vecadd] compile";

const REQUIRED: &str = "store = \"webdav\"\nrequire = true";

pub(crate) fn claims() -> Vec<Claim> {
    vec![
        Claim::new(
            "a WebDAV store on another port with another password rebuilds nothing, and answers at least 90% from there",
            moves,
        ),
        Claim::new(
            "a builder with an empty cache mount is answered by the store",
            another_builder,
        ),
        Claim::new(
            "a required store that nobody answers for ends the build in less than 10 seconds, before the first compile",
            gone,
        ),
    ]
}

fn moves(lab: &Lab) -> Result<String> {
    let mut server = WebDav::start()?;
    let project = project(lab, REQUIRED)?;
    let cold = build(lab, &project, &server.secret())?
        .target("train")
        .succeed()?;
    ensure!(
        counts(&cold, "vecadd")?["store"] == "webdav",
        "the store was not used"
    );
    server.move_away()?;
    let moved = build(lab, &project, &server.secret())?
        .target("train")
        .succeed()?;
    ensure!(moved.executed().is_empty(), "{:?}", moved.executed());
    again(&project)?;
    let warm = build(lab, &project, &server.secret())?
        .target("train")
        .succeed()?;
    let (hits, calls) = hits(&warm, "vecadd")?;
    ensure!(hits * 10 >= calls * 9, "{hits} of {calls} are hits");
    Ok(format!(
        "moved: 0 executed; compiled again: {hits} of {calls} hits"
    ))
}

/// Engine 26.1 has cache mounts of its own.
fn another_builder(lab: &Lab) -> Result<String> {
    let server = WebDav::start()?;
    let project = project(lab, REQUIRED)?;
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

fn gone(lab: &Lab) -> Result<String> {
    let project = project(lab, REQUIRED)?;
    let (port, password) = (free_port()?, unique());
    let secret = format!(
        "SCCACHE_WEBDAV_ENDPOINT=http://127.0.0.1:{port}/\nSCCACHE_WEBDAV_USERNAME=builder\nSCCACHE_WEBDAV_PASSWORD={password}\n"
    );
    let failed = build(lab, &project, &secret)?.target("train").fail()?;
    let step = failed.progress.named(STEP).context("the step did not run")?;
    let (start, end) = Vertex::interval(step).context("the step did not end")?;
    ensure!(end - start < 10.0, "{:.1} s", end - start);
    ensure!(!step.log.contains("running build_ext"), "{}", step.log);
    let line = step.log.lines().find(|line| line.contains("is required"));
    let line = line.with_context(|| step.log.clone())?;
    ensure!(
        line.contains("secret `sccache`") && !line.contains(&password) && !line.contains(&port.to_string()),
        "{line}"
    );
    Ok(format!("{:.1} s: {line}", end - start))
}
