//! Modules that are imported in an image before it is returned.

use anyhow::{Result, ensure};

use crate::backends::{lock, lock_with, write_extension};
use crate::sources::{compiled, says, write_spec};
use crate::support::build::Build;
use crate::support::engine::{Lab, lab};
use crate::support::project::Project;
use crate::support::unique;

/// The step that imports.
const STEP: &str = "[imports of app] import answer";

/// A wheel whose extension module has a line of C at its top level, is linked against a library of the driver or not, and is
/// imported in the image.
fn project(lab: &Lab, line: &str, driver: bool) -> Result<Project> {
    let project = Project::empty()?;
    lock(&project, lab)?;
    write_extension(&project, 0, &unique())?;
    let head = "#include <Python.h>";
    project.edit("setuptools/answer.c", head, &format!("{head}\n{line}"))?;
    if driver {
        project.edit(
            "setuptools/setup.py",
            "[\"answer.c\"]",
            "[\"answer.c\"], libraries=[\"cuda\"]",
        )?;
    }
    write(&project, lab, "imports = [\"answer\"]")?;
    Ok(project)
}

fn write(project: &Project, lab: &Lab, more: &str) -> Result<()> {
    let wheel = "source = { path = \"setuptools\" }\nneeds = [\"setuptools\"]";
    write_spec(project, lab, &format!("{wheel}\n{more}"))
}

#[test]
fn a_module_that_is_linked_against_the_driver_is_imported_without_one() -> Result<()> {
    let Some(lab) = lab() else { return Ok(()) };
    let line = "unsigned cuInit(unsigned);\nunsigned (*begin)(unsigned) = cuInit;";
    let project = project(&lab, line, true)?;
    let (built, tree) = Build::of(&lab, &project).target("app").export()?;
    let log = built.progress.named(STEP).map(|step| step.log.as_str());
    assert!(
        log.is_some_and(|log| log.contains("a stub stands in for libcuda.so.1")
            && log.contains("wheelbase: imported answer")),
        "{log:?}"
    );
    // The stub is that step's own.
    let left: Vec<&String> = tree
        .entries
        .keys()
        .filter(|path| path.contains("libcuda.so") || path.starts_with("wheelbase"))
        .collect();
    assert!(left.is_empty(), "{left:?}");

    let built = Build::of(&lab, &project).target("app").succeed()?;
    assert_eq!(built.executed(), [""; 0]);
    // Where layers are copied and not merged it is the same.
    let old = Build::of(&lab, &project)
        .on(&lab.engine_of("20.10"))
        .target("app")
        .succeed()?;
    let log = old.progress.named(STEP).map(|step| step.log.as_str());
    assert!(
        log.is_some_and(|log| log.contains("wheelbase: imported answer")),
        "{log:?}"
    );
    // What is only imported is not built again.
    write(&project, &lab, "imports = [\"answer\", \"json\"]")?;
    let built = Build::of(&lab, &project).target("app").succeed()?;
    assert_eq!(built.executed(), [format!("{STEP} json")]);
    Ok(())
}

#[test]
fn a_module_that_cannot_be_imported_is_an_error_at_its_place() -> Result<()> {
    let Some(lab) = lab() else { return Ok(()) };
    let line = "void nobody_has_this(void);\nvoid (*gone)(void) = nobody_has_this;";
    let project = project(&lab, line, false)?;
    let failed = Build::of(&lab, &project).target("app").fail()?;
    for words in [
        "wheel `answer` cannot be imported in image `app`: answer",
        "undefined symbol: nobody_has_this",
        ">>> imports = [\"answer\"]",
    ] {
        ensure!(failed.text.contains(words), "{words}: {}", failed.text);
    }
    // It is known from then on, and costs nothing to be told again.
    let failed = Build::of(&lab, &project).target("app").fail()?;
    ensure!(
        failed.text.contains("cannot be imported") && failed.executed().is_empty(),
        "{:?}",
        failed.executed()
    );
    // Nobody who does not ask for it imports it.
    write(&project, &lab, "")?;
    let built = Build::of(&lab, &project).target("app").succeed()?;
    assert!(!compiled(&built), "{:?}", built.executed());
    Ok(())
}

/// Where pip would have taken what the wheel asks for, and broken what the lock has decided.
#[test]
fn a_wheel_that_asks_for_another_version_is_refused_unless_the_lock_overrides_it() -> Result<()> {
    let Some(lab) = lab() else { return Ok(()) };
    let project = project(&lab, "", false)?;
    project.edit(
        "setuptools/pyproject.toml",
        "version = \"1.0\"",
        "version = \"1.0\"\ndependencies = [\"packaging==1.0\"]",
    )?;
    write(&project, &lab, "imports = [\"answer\", \"packaging\"]")?;
    project.spec("[images.app]\n", "[images.app]\npackages = [\"packaging\"]\n")?;
    let built = Build::of(&lab, &project).target("app").fail()?;
    for words in [
        "wheel `answer` asks for packaging==1.0, and image `app` has packaging ",
        "its metadata says so",
        "[wheels.answer]",
    ] {
        ensure!(built.text.contains(words), "{}", built.text);
    }

    // The lock's version is what the image has, and nothing is compiled again.
    lock_with(
        &project,
        &lab,
        "[tool.uv]\noverride-dependencies = [\"packaging>=20\"]\n",
    )?;
    let code = "import answer, packaging; print(answer.OTHER, packaging.__version__)";
    let (built, said) = says(&lab, &project, &[], code)?;
    ensure!(!compiled(&built), "{:?}", built.executed());
    let lock = project.read("uv.lock")?;
    let version = said.strip_prefix("2 ").unwrap_or_default();
    ensure!(
        lock.contains(&format!("name = \"packaging\"\nversion = \"{version}\"")),
        "{said}"
    );
    Ok(())
}
