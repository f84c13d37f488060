//! Wheels whose builds take their time and say when.

use std::fmt::Write as _;

use anyhow::{Context as _, Result};

use super::build::Built;
use super::engine::Lab;
use super::project::Project;
use super::unique;

/// Pure Python wheels `slow-0`, `slow-1` and so on, one for each number of seconds that a build sleeps, in one image
/// `app`. No build had them before. `more` is put before the tables of the wheels.
///
/// # Errors
///
/// When files cannot be written.
pub(crate) fn project(lab: &Lab, seconds: &[u32], more: &str) -> Result<Project> {
    let project = Project::quickstart(lab)?;
    let Lab {
        registry, frontend, ..
    } = lab;
    let names: Vec<String> = (0..seconds.len())
        .map(|number| format!("slow-{number}"))
        .collect();
    let mut spec = format!(
        "# syntax={frontend}\nname = \"slow\"\n[gpu]\ncuda = \"13.0.2\"\nos = \"ubuntu22.04\"\nmirror = \"{registry}\"\n\
         [python]\nversion = \"3.11\"\nprovider = {{ image = \"{registry}/wheelbase-lab/python:3.11\" }}\n\
         [uv]\nimage = \"{registry}/astral-sh/uv:0.13.9\"\n[compiler-cache]\ntool = \"none\"\n\
         [images.app]\ntier = \"base\"\nwheels = {names:?}\n{more}\n"
    );
    let salt = unique();
    for (name, seconds) in names.iter().zip(seconds) {
        project.write(
            &format!("{name}/pyproject.toml"),
            &format!(
                "[build-system]\nrequires = [\"setuptools\"]\nbuild-backend = \"setuptools.build_meta\"\n[project]\n\
                 name = \"{name}\"\nversion = \"1.0\"\n[tool.setuptools]\npy-modules = []\n"
            ),
        )?;
        write!(
            spec,
            "[wheels.{name}]\narch = \"any\"\nsource = {{ path = \"{name}\" }}\nneeds = [\"setuptools\"]\n\
             env = {{ SALT = \"{salt}\" }}\ncommand = \"date +begins=%s.%N; sleep {seconds}; /wheelbase/uv/uv build --wheel \
             --offline --no-build-isolation --no-cache --python /opt/venv/bin/python --out-dir /wheels .; date +ends=%s.%N\"\n"
        )?;
    }
    project.write("wheelbase.toml", &spec)?;
    Ok(project)
}

/// The log of the compile of one of the wheels.
///
/// # Errors
///
/// When it did not run.
pub(crate) fn log(built: &Built, number: usize) -> Result<&str> {
    let name = format!("[wheel slow-{number}] compile");
    let step = built.progress.named(&name).filter(|step| step.executed());
    Ok(&step.with_context(|| format!("{name} did not run"))?.log)
}

/// When the build commands of so many wheels began and ended, in seconds since 1970, by their own clocks and in the order
/// in which they began.
///
/// # Errors
///
/// When one did not run.
pub(crate) fn times(built: &Built, wheels: usize) -> Result<Vec<(f64, f64)>> {
    let mut times = (0..wheels)
        .map(|number| {
            let log = log(built, number)?;
            let time = |word: &str| -> Result<f64> {
                let value = log.lines().find_map(|line| line.strip_prefix(word));
                Ok(value.with_context(|| log.to_owned())?.trim().parse()?)
            };
            Ok((time("begins=")?, time("ends=")?))
        })
        .collect::<Result<Vec<_>>>()?;
    times.sort_by(|left, right| left.0.total_cmp(&right.0));
    Ok(times)
}
