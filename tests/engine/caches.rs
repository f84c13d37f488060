//! What runs again, and what the compiler cache answers.

use anyhow::{Context as _, Result};
use serde_json::json;

use crate::support::build::{Build, Built};
use crate::support::engine::lab;
use crate::support::project::Project;
use crate::support::sccache::{self, counts, report};
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
    let cold = Build::of(&lab, &project).target("train").succeed()?;
    let counted = counts(&cold, "vecadd")?;
    let calls = counted["misses"].as_u64().unwrap_or(0);
    assert!(counted["hits"] == 0 && calls >= 4, "{counted}");
    assert!(counted["uncacheable"] == json!({}), "{counted}");
    assert!(cold.progress.warnings.is_empty(), "{:?}", cold.progress.warnings);
    // Another variable runs the step again. (`--no-cache-filter` would: BuildKit empties its cache mounts then.)
    project.edit("wheelbase.toml", "SALT", "OTHER_SALT")?;
    let warm = Build::of(&lab, &project).target("train").succeed()?;
    let counted = counts(&warm, "vecadd")?;
    assert!(counted["hits"] == calls && counted["misses"] == 0, "{counted}");
    // The same wheel came out again, so nothing was installed again.
    assert_eq!(warm.executed(), ["[wheel vecadd] compile"]);
    // A build that compiles nothing tells the counts of the one that did, and that they are not its own.
    let cached = Build::of(&lab, &project).target("train").succeed()?;
    assert_eq!(cached.executed(), [""; 0]);
    assert_eq!(counts(&cached, "vecadd")?, counted);
    assert!(report(&warm)?["vecadd"]["compiled"] == true);
    assert!(report(&cached)?["vecadd"]["compiled"] == false);
    Ok(())
}

/// As torch's extension builder calls nvcc for ninja.
#[test]
fn options_of_nvcc_by_their_long_names_are_answered() -> Result<()> {
    let Some(lab) = lab() else { return Ok(()) };
    let ccache = Project::quickstart(&lab)?;
    ccache.spec(
        "[wheels.vecadd]\n",
        &format!("[compiler-cache]\nscope = \"{}\"\n[wheels.vecadd]\n", unique()),
    )?;
    ccache.salt("vecadd")?;
    for project in [ccache, sccache::project(&lab, "")?] {
        project.edit(
            "kernels/vecadd/setup.py",
            "            subprocess.run([*compiler, \"-O3\"",
            "            depends = [\"--generate-dependencies-with-compile\", \"--dependency-output\", output + \".d\"]\n\
             \x20           compiler = [*compiler, *depends] if compiler is nvcc else compiler\n\
             \x20           subprocess.run([*compiler, \"-O3\"",
        )?;
        let cold = Build::of(&lab, &project).target("train").succeed()?;
        let counted = counts(&cold, "vecadd")?;
        assert!(
            counted["hits"] == 0 && counted["uncacheable"] == json!({}),
            "{counted}"
        );
        sccache::again(&project)?;
        let warm = Build::of(&lab, &project).target("train").succeed()?;
        let (hits, calls) = sccache::hits(&warm, "vecadd")?;
        assert!(calls >= 4 && hits * 10 >= calls * 9, "{hits} of {calls} are hits");
    }
    Ok(())
}

#[test]
fn a_cache_that_never_answers_is_warned_of_at_its_wheel() -> Result<()> {
    let Some(lab) = lab() else { return Ok(()) };
    let project = Project::quickstart(&lab)?;
    // A time in every call: what a build folder with a random name does to a compiler cache.
    project.spec(
        "[wheels.vecadd]\n",
        &format!(
            "[compiler-cache]\nscope = \"{}\"\n[wheels.vecadd]\ncommand = \"for n in $(seq 16); do echo 'int f(void) {{ \
             return STAMP; }}' >$n.c; gcc -DSTAMP=1$(date +%N)L -c $n.c; done; /wheelbase/uv/uv build --wheel --offline \
             --no-config --no-build-isolation --no-cache --python /opt/venv/bin/python --out-dir /wheels .\"\n",
            unique()
        ),
    )?;
    // The scope is in no key: an engine that has run this test before would compile nothing.
    project.salt("vecadd")?;
    let said = "CompilerCacheMissed: ccache answered ";
    let warned = |built: &Built| -> Vec<String> {
        let about = built.progress.warnings.iter();
        about
            .filter(|warning| warning.starts_with(said))
            .cloned()
            .collect()
    };
    let cold = Build::of(&lab, &project).target("train").succeed()?;
    assert_eq!(warned(&cold), [""; 0], "a cold cache is no reason to warn");
    let source = "kernels/vecadd/csrc/module.cpp";
    project.write(source, &(project.read(source)? + "// edited\n"))?;
    let again = Build::of(&lab, &project).target("train").succeed()?;
    let counted = counts(&again, "vecadd")?;
    let line = project.read("wheelbase.toml")?;
    let line = line
        .lines()
        .position(|line| line == "[wheels.vecadd]")
        .context("no wheel")?
        + 1;
    assert_eq!(
        warned(&again),
        [format!(
            "{said}{} of {} compiler calls of wheel `vecadd`, which it has compiled before (line {line})",
            counted["hits"],
            counted["hits"].as_u64().unwrap_or(0) + counted["misses"].as_u64().unwrap_or(0),
        )],
        "{counted}"
    );
    let cached = Build::of(&lab, &project).target("train").succeed()?;
    assert_eq!(warned(&cached), [""; 0], "what did not run is not warned of");
    Ok(())
}
