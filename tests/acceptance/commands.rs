//! The commands of the Makefile, in a clone of its own.

use std::path::Path;
use std::process::Command;

use anyhow::{Result, ensure};

use crate::Claim;
use crate::cargo::{benches, cargo, end, passed, said};
use crate::support::engine::Lab;

pub(crate) fn claims() -> Vec<Claim> {
    vec![
        Claim::new(
            "with CI=true engine tests fail when the engine is stopped",
            stopped_engine,
        ),
        Claim::new("without CI and without a lab engine tests are skipped", no_lab),
        Claim::new(
            "`make demo` succeeds twice in a row and after `git clean -xdf`",
            demo,
        ),
        Claim::new("benchmarks meet their targets", benchmarks),
        Claim::new(
            "what CI runs succeeds when every engine is down before it",
            all_tests,
        ),
    ]
}

const ENGINE_TEST: [&str; 6] = [
    "test",
    "--locked",
    "--test",
    "engine",
    "an_unknown_target_is_guessed",
    "--quiet",
];

fn stopped_engine(_: &Lab) -> Result<String> {
    let folder = tempfile::tempdir()?;
    let socket = format!("unix://{}/docker.sock", folder.path().display());
    let output = cargo(&ENGINE_TEST)
        .env("CI", "true")
        .env("DOCKER_HOST", socket)
        .output()?;
    let text = said(&output);
    ensure!(!output.status.success(), "the test passed");
    ensure!(
        text.contains("0 passed; 1 failed"),
        "it did not fail as a test does: {}",
        end(&text)
    );
    Ok("1 failed".to_owned())
}

fn no_lab(_: &Lab) -> Result<String> {
    let mut command = cargo(&ENGINE_TEST);
    for name in ["CI", "WHEELBASE_REGISTRY", "WHEELBASE_INDEX", "DOCKER_HOST"] {
        command.env_remove(name);
    }
    let output = command.args(["--", "--nocapture"]).output()?;
    let text = said(&output);
    ensure!(
        output.status.success() && text.contains("skipped: all that needs an engine"),
        "{}",
        end(&text)
    );
    Ok("skipped, and says so".to_owned())
}

fn demo(_: &Lab) -> Result<String> {
    let folder = tempfile::tempdir()?;
    let clone = folder.path().join("wheelbase");
    let git = Command::new("git")
        .args(["clone", "--quiet", env!("CARGO_MANIFEST_DIR")])
        .arg(&clone)
        .output()?;
    ensure!(git.status.success(), "{}", said(&git));
    let first = make_demo(&clone)?;
    let second = make_demo(&clone)?;
    let clean = Command::new("git")
        .args(["clean", "-xdfq"])
        .current_dir(&clone)
        .output()?;
    ensure!(clean.status.success(), "{}", said(&clean));
    let third = make_demo(&clone)?;
    Ok(format!("{first:.0} s, {second:.0} s, {third:.0} s"))
}

fn make_demo(clone: &Path) -> Result<f64> {
    let started = std::time::Instant::now();
    let output = Command::new("make")
        .arg("demo")
        .current_dir(clone)
        .env_remove("WHEELBASE_ACCEPTANCE")
        .output()?;
    ensure!(output.status.success(), "make demo: {}", end(&said(&output)));
    Ok(started.elapsed().as_secs_f64())
}

fn benchmarks(_: &Lab) -> Result<String> {
    benches(&["plan", "noop"])
}

/// The engines are stopped, and nothing of this run's lab is told: the command has to start what its tests ask for.
fn all_tests(lab: &Lab) -> Result<String> {
    let down = Command::new("tests/lab/lab")
        .args(["down", "28.5", "26.1", "20.10"])
        .output()?;
    ensure!(down.status.success(), "{}", said(&down));
    let mut command = Command::new(".ci/run");
    for name in [
        "WHEELBASE_ACCEPTANCE",
        "WHEELBASE_CLAIM",
        "WHEELBASE_REGISTRY",
        "WHEELBASE_INDEX",
        "WHEELBASE_CA",
        "DOCKER_HOST",
        "DOCKER_CONFIG",
        "UV",
    ] {
        command.env_remove(name);
    }
    let output = command.env("WHEELBASE_LAB", lab.folder()).output()?;
    let text = said(&output);
    ensure!(output.status.success(), "{}", end(&text));
    Ok(format!("{} tests passed", passed(&text)))
}
