//! The wheel store: what was compiled once is pulled everywhere else.

use anyhow::{Result, ensure};

use crate::support::build::Build;
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
