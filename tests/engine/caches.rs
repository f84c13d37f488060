//! What runs again, and what the compiler cache answers.

use anyhow::{Context as _, Result};

use crate::support::build::{Build, Built};
use crate::support::engine::lab;
use crate::support::project::Project;
use crate::support::unique;

#[test]
fn an_ignored_file_is_neither_copied_nor_in_a_key() -> Result<()> {
    let Some(lab) = lab() else { return Ok(()) };
    let project = Project::quickstart(&lab)?;
    project.write(".dockerignore", "**/*.log\n")?;
    project.write("config/debug.log", "one")?;
    project.write("kernels/rowmax/build.log", "one")?;
    let (_, tree) = Build::of(&lab, &project).target("serve").export()?;
    assert!(tree.has("etc/serve/serve.toml") && !tree.has("etc/serve/debug.log"));
    project.write("config/debug.log", "two")?;
    project.write("kernels/rowmax/build.log", "two")?;
    let built = Build::of(&lab, &project).target("serve").succeed()?;
    assert_eq!(built.executed(), [""; 0]);
    Ok(())
}

#[test]
fn a_warm_compiler_cache_answers_every_compile() -> Result<()> {
    let Some(lab) = lab() else { return Ok(()) };
    let project = Project::quickstart(&lab)?;
    project.spec(
        "[wheels.vecadd]\n",
        &format!("[compiler-cache]\nscope = \"{}\"\n[wheels.vecadd]\n", unique()),
    )?;
    project.salt("vecadd")?;
    let count = |built: &Built, word: &str| -> Result<u32> {
        let log = &built
            .progress
            .named("[wheel vecadd] compile")
            .context("no compile")?
            .log;
        let line = log
            .lines()
            .find(|line| line.contains("ccache hits="))
            .with_context(|| log.clone())?;
        let value = line
            .split(word)
            .nth(1)
            .and_then(|rest| rest.split_whitespace().next());
        value
            .and_then(|value| value.parse().ok())
            .with_context(|| line.to_owned())
    };
    let cold = Build::of(&lab, &project).target("train").succeed()?;
    assert_eq!(count(&cold, "hits=")?, 0, "{}", cold.progress.log());
    let calls = count(&cold, "misses=")?;
    assert!(calls >= 4, "{}", cold.progress.log());
    // Another variable runs the step again. (`--no-cache-filter` would: BuildKit empties its cache mounts then.)
    project.edit("wheelbase.toml", "SALT", "OTHER_SALT")?;
    let warm = Build::of(&lab, &project).target("train").succeed()?;
    assert_eq!(count(&warm, "misses=")?, 0, "{}", warm.progress.log());
    assert_eq!(count(&warm, "hits=")?, calls, "{}", warm.progress.log());
    // The same wheel came out again, so nothing was installed again.
    assert_eq!(warm.executed(), ["[wheel vecadd] compile"]);
    Ok(())
}
