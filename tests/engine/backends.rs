//! Wheels of the build backends that people have, against `needs` of the lock and in isolation.

use std::process::Command;

use anyhow::{Result, ensure};

use crate::sources::{SAY, compiled, run, says, write_spec};
use crate::support::build::Build;
use crate::support::engine::{Lab, lab};
use crate::support::project::Project;
use crate::support::unique;

/// A backend, what it is called in `needs`, and the file that tells it what to compile.
const BACKENDS: [(&str, &str, &str, &str); 3] = [
    (
        "setuptools.build_meta",
        "setuptools",
        "setup.py",
        "from setuptools import Extension, setup\nsetup(ext_modules=[Extension(\"answer\", [\"answer.c\"])])\n",
    ),
    (
        "scikit_build_core.build",
        "scikit-build-core",
        "CMakeLists.txt",
        "cmake_minimum_required(VERSION 3.20)\nproject(answer LANGUAGES C)\n\
         find_package(Python REQUIRED COMPONENTS Interpreter Development.Module)\n\
         python_add_library(answer MODULE answer.c WITH_SOABI)\ninstall(TARGETS answer DESTINATION .)\n",
    ),
    (
        "mesonpy",
        "meson-python",
        "meson.build",
        "project('answer', 'c', version: '1.0')\npy = import('python').find_installation(pure: false)\n\
         py.extension_module('answer', 'answer.c', install: true)\n",
    ),
];

/// A folder whose wheel is one extension module.
pub(crate) fn write_extension(project: &Project, backend: usize, value: &str) -> Result<()> {
    let (backend, package, file, text) = BACKENDS[backend];
    project.write(
        &format!("{package}/pyproject.toml"),
        &format!(
            "[build-system]\nrequires = [\"{package}\"]\nbuild-backend = \"{backend}\"\n\
             [project]\nname = \"answer\"\nversion = \"1.0\"\n"
        ),
    )?;
    project.write(&format!("{package}/{file}"), text)?;
    project.write(
        &format!("{package}/answer.c"),
        &format!(
            "#include <Python.h>\nstatic struct PyModuleDef module = {{PyModuleDef_HEAD_INIT, \"answer\", NULL, -1, NULL}};\n\
             PyMODINIT_FUNC PyInit_answer(void) {{\n    PyObject *made = PyModule_Create(&module);\n    \
             PyModule_AddStringConstant(made, \"VALUE\", \"{value}\");\n    PyModule_AddIntConstant(made, \"OTHER\", 2);\n    \
             return made;\n}}\n"
        ),
    )
}

/// Locks all backends.
pub(crate) fn lock(project: &Project, lab: &Lab) -> Result<()> {
    lock_with(project, lab, "")
}

/// As [`lock`], with more in the project's file.
pub(crate) fn lock_with(project: &Project, lab: &Lab, more: &str) -> Result<()> {
    let names = BACKENDS.map(|(_, package, ..)| format!("\"{package}\""));
    project.write(
        "pyproject.toml",
        &format!(
            "[project]\nname = \"root\"\nversion = \"1.0\"\nrequires-python = \">=3.11\"\n\
             [dependency-groups]\nbuild = [{}]\n{more}[[tool.uv.index]]\nurl = \"{}/simple\"\ndefault = true\n",
            names.join(", "),
            lab.index
        ),
    )?;
    let uv = std::env::var_os("UV").unwrap_or_else(|| lab.folder().join("bin/uv").into_os_string());
    run(Command::new(uv)
        .args(["lock", "--quiet", "--no-cache"])
        .env_remove("UV_DEFAULT_INDEX")
        .env_remove("UV_INDEX_URL")
        .current_dir(project.path()))
}

#[test]
fn each_backend_builds_against_needs_and_in_isolation() -> Result<()> {
    let Some(lab) = lab() else { return Ok(()) };
    let project = Project::empty()?;
    lock(&project, &lab)?;
    for (number, (_, package, ..)) in BACKENDS.into_iter().enumerate() {
        for how in [format!("needs = [\"{package}\"]"), "isolation = true".to_owned()] {
            let value = unique();
            write_extension(&project, number, &value)?;
            write_spec(
                &project,
                &lab,
                &format!("source = {{ path = \"{package}\" }}\n{how}"),
            )?;
            let (built, said) = says(&lab, &project, &[], SAY)?;
            assert_eq!(said, format!("{value} 2"), "{package}, {how}");
            assert!(compiled(&built));
        }
    }
    // Nothing of the environment is needed twice: what was built stays built.
    let (built, _) = says(&lab, &project, &[], SAY)?;
    assert!(!compiled(&built), "{:?}", built.executed());
    Ok(())
}

#[test]
fn a_library_that_the_image_lacks_is_an_error() -> Result<()> {
    let Some(lab) = lab() else { return Ok(()) };
    let project = Project::empty()?;
    lock(&project, &lab)?;
    write_extension(&project, 0, &unique())?;
    project.edit(
        "setuptools/answer.c",
        "#include <Python.h>",
        "#include <Python.h>\nint omp_get_max_threads(void);\nint threads(void) { return omp_get_max_threads(); }",
    )?;
    project.edit(
        "setuptools/setup.py",
        "[\"answer.c\"]",
        "[\"answer.c\"], libraries=[\"gomp\"]",
    )?;
    // The compiler of the devel tier finds it where compilers have their own.
    let wheel = "source = { path = \"setuptools\" }\nneeds = [\"setuptools\"]";
    write_spec(&project, &lab, wheel)?;
    let failed = Build::of(&lab, &project).target("app").fail()?;
    let expected = "wheel `answer` needs libgomp.so.1, which is not in image `app`";
    ensure!(failed.text.contains(expected), "{}", failed.text);
    ensure!(failed.text.contains(">>> [wheels.answer]"), "{}", failed.text);

    write_spec(&project, &lab, &format!("{wheel}\nmay-lack = [\"libgomp.so.1\"]"))?;
    let built = Build::of(&lab, &project).target("app").succeed()?;
    assert!(!compiled(&built), "{:?}", built.executed());
    // Where a compiler may be it may be looked for by hand.
    write_spec(&project, &lab, wheel)?;
    project.edit("wheelbase.toml", "tier = \"base\"", "tier = \"devel\"")?;
    let (_, said) = says(&lab, &project, &[], "import answer; print(answer.OTHER)")?;
    assert_eq!(said, "2");
    Ok(())
}

#[test]
fn an_isolated_build_reads_a_private_index() -> Result<()> {
    let Some(lab) = lab() else { return Ok(()) };
    let project = Project::empty()?;
    lock(&project, &lab)?;
    let private = format!("{}/private/simple", lab.index);
    project.edit("uv.lock", &format!("{}/simple", lab.index), &private)?;
    write_extension(&project, 0, &unique())?;
    write_spec(
        &project,
        &lab,
        "source = { path = \"setuptools\" }\nisolation = true",
    )?;
    project.write("netrc", "machine 127.0.0.1 login reader password secret\n")?;
    let secret = format!("id=netrc,src={}", project.path().join("netrc").display());
    let (built, _) = says(&lab, &project, &["--secret", &secret], SAY)?;
    assert!(compiled(&built));
    assert!(
        !built.progress.log().contains("reader"),
        "{}",
        built.progress.log()
    );
    Ok(())
}
