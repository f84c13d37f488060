//! The quickstart with a wheel store, and the command that fills it.

use std::process::Command;

use anyhow::{Result, ensure};

use super::build::Built;
use super::engine::Lab;
use super::project::Project;

/// A quickstart whose kernel nobody has compiled, with a store that nobody has filled.
///
/// # Errors
///
/// When it cannot be written.
pub(crate) fn project(lab: &Lab) -> Result<Project> {
    let project = Project::quickstart(lab)?;
    project.salt("rowmax")?;
    set_store(&project, &format!("{}/{}", lab.registry, super::unique()), false)?;
    Ok(project)
}

/// Names the store.
///
/// # Errors
///
/// When the spec cannot be written.
pub(crate) fn set_store(project: &Project, repo: &str, require: bool) -> Result<()> {
    let spec = project.read("wheelbase.toml")?;
    let spec = spec.split("\n[wheel-store]").next().unwrap_or(&spec);
    project.write(
        "wheelbase.toml",
        &format!("{spec}\n[wheel-store]\nrepo = \"{repo}\"\nrequire = {require}\n"),
    )
}

/// Runs `wheelbase wheels` on the lab's main engine, and gives what it says.
///
/// # Errors
///
/// With what it says when it fails.
pub(crate) fn wheels(lab: &Lab, project: &Project, arguments: &[&str]) -> Result<String> {
    said(&mut wheels_command(lab, project, arguments))
}

/// A command of `wheelbase wheels` on the lab's main engine.
pub(crate) fn wheels_command(lab: &Lab, project: &Project, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_wheelbase"));
    command.arg("wheels").args(arguments).current_dir(project.path());
    command.args(["--", "--network", "host", "--allow", "network.host"]);
    if let Some(ca) = &lab.ca {
        command.arg("--secret").arg(format!("id=ca,src={ca}"));
    }
    command
}

/// What a command says on standard output.
///
/// # Errors
///
/// With all that it says when it fails.
pub(crate) fn said(command: &mut Command) -> Result<String> {
    let output = command.output()?;
    ensure!(
        output.status.success(),
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Vertices of a build that have to do with compiling: compiles, and the tier that they stand on.
pub(crate) fn compiling(built: &Built) -> Vec<&str> {
    let names = built.progress.vertices.iter().map(|vertex| vertex.name.as_str());
    names
        .filter(|name| {
            name.starts_with("[tier devel]")
                || name.starts_with("[system devel]")
                || (name.starts_with("[wheel ") && name.ends_with("] compile"))
        })
        .collect()
}
