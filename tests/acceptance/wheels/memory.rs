//! Compiles with little memory. The frontend sets no limit, so the text of the step itself is run in a container that has
//! one.

use std::process::Output;

use anyhow::{Result, ensure};
use wheelbase::plan::steps;

use crate::Claim;
use crate::support::build::Build;
use crate::support::engine::{Engine, Lab};
use crate::support::slow::project;
use crate::support::unique;

/// Four compilers of 300 MB each, as many at once as there are jobs, and what they leave.
const COMPILE: &str = "seq 4 | xargs -P \"$MAX_JOBS\" -I{} /opt/venv/bin/python -c 'import time; taken = b\"x\" * 300_000_000; \
                       time.sleep(1)'; touch /wheels/hog-1-py3-none-any.whl";

pub(crate) fn claims() -> Vec<Claim> {
    vec![Claim::new(
        "a compile that would take 1.2 GB survives in 500 MB, because its jobs adapt; with jobs = 4 it is killed",
        survives,
    )]
}

fn survives(lab: &Lab) -> Result<String> {
    let project = project(lab, &[0], "")?;
    let (engine, tag) = (lab.engine(), unique());
    Build::of(lab, &project)
        .target("app")
        .tag(&tag)
        .arguments(&["--load"])
        .succeed()?;
    let adapted = compile(&engine, &tag, "500m", &[("job-memory", 300)]);
    let wider = compile(&engine, &tag, "1400m", &[("job-memory", 300)]);
    let fixed = compile(&engine, &tag, "500m", &[("job-memory", 300), ("jobs", 4)]);
    engine.remove_image(&tag);
    let (adapted, wider, fixed) = (adapted?, wider?, fixed?);
    let jobs = |output: &Output| {
        let said = text(output);
        let line = said.lines().find(|line| line.ends_with(" jobs"));
        line.unwrap_or_default().to_owned()
    };
    ensure!(adapted.status.success(), "{}", text(&adapted));
    ensure!(jobs(&adapted) == "wheelbase: hog: 1 jobs", "{}", text(&adapted));
    ensure!(wider.status.success(), "{}", text(&wider));
    ensure!(jobs(&fixed) == "wheelbase: hog: 4 jobs", "{}", text(&fixed));
    ensure!(
        !fixed.status.success() && text(&fixed).contains("signal 9"),
        "{}: {}",
        fixed.status,
        text(&fixed)
    );
    Ok(format!(
        "500 MB: `{}`, survives; 1400 MB: `{}`, survives; 500 MB with `{}`: killed by the kernel",
        jobs(&adapted),
        jobs(&wider),
        jobs(&fixed)
    ))
}

/// Runs the step of a compile with a limit of memory, and the numbers that it is told.
fn compile(engine: &Engine, image: &str, limit: &str, numbers: &[(&str, u32)]) -> Result<Output> {
    let folder = tempfile::tempdir()?;
    for (name, program) in [
        ("step", steps::compile()),
        ("run", steps::run()),
        ("count", steps::count()),
    ] {
        std::fs::write(folder.path().join(name), program + "\n")?;
    }
    let mut command = engine.docker(&[
        "run",
        "--rm",
        "--network",
        "none",
        "--env",
        "SOURCE_DATE_EPOCH=315532800",
    ]);
    command
        .args([
            "--memory",
            limit,
            "--memory-swap",
            limit,
            "--entrypoint",
            "/bin/sh",
        ])
        .arg("--volume")
        .arg(format!("{}:/given:ro", folder.path().display()));
    for (name, number) in numbers {
        let [_, high, middle, low] = number.to_be_bytes();
        let host = format!("{name}.wheelbase.internal:0.{high}.{middle}.{low}");
        command.arg("--add-host").arg(host);
    }
    let before = "mkdir -p /src/hog /wheels /wheelbase/counts && cp /given/* /wheelbase && exec sh -eu /wheelbase/step \"$@\"";
    command.args([image, "-euc", before, "sh", "hog", "folder", "none", COMPILE]);
    Ok(command.output()?)
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}
