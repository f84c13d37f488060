//! The wheel store: what was compiled once is pulled everywhere else.

use anyhow::{Result, ensure};
use serde_json::json;

use crate::support::build::Build;
use crate::support::buildx::{Buildx, bake};
use crate::support::engine::lab;
use crate::support::unique;
use crate::support::wheel_store::{compiling, project, set_store, wheels};

#[test]
fn what_the_store_has_is_not_compiled() -> Result<()> {
    let Some(lab) = lab() else { return Ok(()) };
    let project = project(&lab)?;
    let list = wheels(&lab, &project, &["list"])?;
    ensure!(list.matches(" missing ").count() == 3, "{list}");
    let pushed = wheels(&lab, &project, &["push"])?;
    ensure!(pushed.matches(": pushed ").count() == 3, "{pushed}");
    let list = wheels(&lab, &project, &["list"])?;
    ensure!(
        list.matches(" stored ").count() == 3 && !list.contains("missing"),
        "{list}"
    );

    let tag = unique();
    let engine = lab.engine();
    let built = Build::of(&lab, &project)
        .target("serve")
        .tag(&tag)
        .arguments(&["--load"])
        .succeed()?;
    let compiling = compiling(&built);
    ensure!(compiling.is_empty(), "{compiling:?}");
    let code = "import rowmax; print(rowmax.__name__)";
    let said = engine.run(&tag, &["--entrypoint", "python"], &["-c", code]);
    engine.remove_image(&tag);
    ensure!(said?.trim() == "rowmax", "the kernel is not in the image");
    let report = built.metadata["frontend.dev.wheelbase.wheel-store"].to_string();
    ensure!(report.matches("true").count() == 2, "{report}");
    Ok(())
}

#[test]
fn an_edit_of_the_source_is_another_key_and_is_told() -> Result<()> {
    let Some(lab) = lab() else { return Ok(()) };
    let project = project(&lab)?;
    wheels(&lab, &project, &["push", "rowmax"])?;
    let again = wheels(&lab, &project, &["push", "rowmax"])?;
    ensure!(
        again.contains("rowmax for linux/amd64: there already, "),
        "{again}"
    );
    let source = project.read("kernels/rowmax/setup.py")?;
    project.write("kernels/rowmax/setup.py", &format!("{source}\n# another one\n"))?;
    let why = wheels(&lab, &project, &["why", "rowmax"])?;
    let changed: Vec<&str> = why
        .lines()
        .skip_while(|line| !line.contains("these changed"))
        .skip(1)
        .collect();
    ensure!(changed == ["  wheel rowmax: files of kernels/rowmax"], "{why}");
    Ok(())
}

#[test]
fn a_store_that_cannot_be_asked_is_done_without_or_ends_the_build() -> Result<()> {
    let Some(lab) = lab() else { return Ok(()) };
    let project = project(&lab)?;
    set_store(&project, "127.0.0.1:9/wheels", false)?;
    let built = Build::of(&lab, &project).target("serve").succeed()?;
    let warnings = built.progress.warnings.join("\n");
    ensure!(
        warnings.contains("the wheel store 127.0.0.1:9/wheels cannot be asked"),
        "{warnings}"
    );
    ensure!(
        compiling(&built).contains(&"[wheel rowmax] compile"),
        "it was not compiled"
    );

    set_store(&project, "127.0.0.1:9/wheels", true)?;
    let built = Build::of(&lab, &project).target("serve").fail()?;
    ensure!(
        built.text.contains("the build requires it") || built.text.contains("cannot be asked"),
        "{}",
        built.text
    );
    ensure!(
        built.text.contains("repo = \"127.0.0.1:9/wheels\""),
        "{}",
        built.text
    );
    ensure!(compiling(&built).is_empty(), "it went on");
    Ok(())
}

#[test]
fn a_wheel_on_another_target_is_warned_of() -> Result<()> {
    const WHEEL: &str = "markupsafe";
    const WORDS: &str = "UnkeyedWheel: wheel `markupsafe` is neither looked for in the wheel store nor offered to it: \
                         tier devel has no digest (line ";
    let Some(lab) = lab() else { return Ok(()) };
    let project = project(&lab)?;
    let devel = format!("{}/nvidia/cuda:13.0.2-devel-ubuntu22.04", lab.registry);
    project.write(
        "devel.Dockerfile",
        &format!("FROM {devel}\nENV SALT={}\n", unique()),
    )?;
    let baked = |context: &str| {
        let file = json!({ "target": {
            "devel": { "dockerfile": "devel.Dockerfile" },
            "result": {
                "dockerfile": "wheelbase.toml",
                "target": WHEEL,
                "network": "host",
                "contexts": { "devel": context },
            },
        } });
        let file = file.to_string();
        let arguments = ["result", "--set", "result.output=type=cacheonly"];
        bake(&lab, &lab.engine(), project.path(), &file, &arguments)?.succeeded()
    };
    let built = baked("target:devel")?;
    let warnings = &built.progress.warnings;
    ensure!(
        warnings.len() == 1 && warnings[0].starts_with(WORDS),
        "{warnings:?}"
    );
    let looks = |name: &str| name.starts_with("[wheel store] look for markupsafe-");
    let is_looked_for = built.progress.vertices.iter().any(|vertex| looks(&vertex.name));
    ensure!(!is_looked_for, "it is looked for");

    // An image of a registry has a digest, whatever context gives it.
    let built = baked(&format!("docker-image://{devel}"))?;
    let warnings = &built.progress.warnings;
    ensure!(warnings.is_empty(), "{warnings:?}");
    let is_looked_for = built.progress.vertices.iter().any(|vertex| looks(&vertex.name));
    ensure!(is_looked_for, "it is not looked for");

    // A check finds it, and `error=true` makes an error of it before anything is built.
    let ask = |arguments: &[&str]| {
        Buildx::build(&lab, project.path(), ".")
            .arguments(&["--file", "wheelbase.toml", "--build-context", "devel=kernels"])
            .arguments(&["--target", WHEEL])
            .arguments(arguments)
            .run()
    };
    let checked = ask(&["--call", "check"])?;
    ensure!(
        checked.answer.contains("WARNING: UnkeyedWheel - ") && !checked.success,
        "{}{}",
        checked.answer,
        checked.text
    );
    let failed = ask(&["--build-arg", "BUILDKIT_DOCKERFILE_CHECK=error=true"])?;
    ensure!(
        !failed.success
            && failed
                .text
                .contains("lint violation found for rules: UnkeyedWheel"),
        "{}",
        failed.text
    );
    let skipped = ask(&[
        "--call",
        "check",
        "--build-arg",
        "BUILDKIT_DOCKERFILE_CHECK=skip=UnkeyedWheel",
    ])?;
    ensure!(skipped.success, "{}{}", skipped.answer, skipped.text);
    Ok(())
}
