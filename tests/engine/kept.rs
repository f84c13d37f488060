//! A folder of a build that the next compile starts with.

use anyhow::{Result, ensure};

use crate::backends::lock;
use crate::sources::write_spec;
use crate::support::build::{Build, Built};
use crate::support::engine::{Lab, lab};
use crate::support::project::Project;
use crate::support::unique;

/// Two objects and what is made of both, by ninja. What is compiled says so.
const NINJA: &str = "builddir = build
rule compile
  description = $out
  command = gcc -fPIC -MD -MF $out.d -c $in -o $out && echo made $in
  depfile = $out.d
  deps = gcc
rule link
  description = $out
  command = gcc -shared $in -o $out && echo made $out
build build/a.o: compile a.c
build build/b.o: compile b.c
build build/both.so: link build/a.o build/b.o
";

/// Builds the wheel, and gives what was made for it.
fn made(lab: &Lab, project: &Project) -> Result<(Built, Vec<String>)> {
    let built = Build::of(lab, project).target("app").succeed()?;
    let log = built
        .progress
        .named("[wheel answer] compile")
        .map(|step| step.log.clone());
    let log = log.unwrap_or_default();
    let made = log
        .lines()
        .filter_map(|line| line.strip_prefix("made "))
        .map(str::to_owned);
    let mut made: Vec<String> = made.collect();
    made.sort_unstable();
    Ok((built, made))
}

#[test]
fn only_what_has_changed_is_built_again() -> Result<()> {
    let Some(lab) = lab() else { return Ok(()) };
    let project = Project::empty()?;
    lock(&project, &lab)?;
    let value = unique();
    project.write("answer/build.ninja", NINJA)?;
    // The engine may hold the folder of an earlier run, so no source is the same twice.
    project.write(
        "answer/a.c",
        &format!("#include \"a.h\"\nint a(void) {{ return A; }} /* {value} */\n"),
    )?;
    project.write("answer/a.h", "#define A 1\n")?;
    project.write(
        "answer/b.c",
        &format!("const char *b(void) {{ return \"{value}\"; }}\n"),
    )?;
    project.write(
        "answer/pyproject.toml",
        "[build-system]\nrequires = [\"setuptools\"]\nbuild-backend = \"setuptools.build_meta\"\n\
         [project]\nname = \"answer\"\nversion = \"1.0\"\n[tool.setuptools]\npackages = [\"answer\"]\n\
         package-data = { answer = [\"*.so\"] }\n",
    )?;
    project.write("answer/answer/__init__.py", "VALUE = 1\n")?;
    let uv = "/wheelbase/uv/uv build --quiet --wheel --offline --no-config --no-build-isolation --no-cache \
              --python /opt/venv/bin/python --out-dir /wheels .";
    let spec = |more: &str| {
        write_spec(
            &project,
            &lab,
            &format!(
                "source = {{ path = \"answer\" }}\nneeds = [\"setuptools\"]\nkeep-build = \"build\"\n\
                 command = \"ninja && cp build/both.so answer/ && {uv}\"\n{more}"
            ),
        )
    };
    spec("")?;
    let everything = ["a.c", "b.c", "build/both.so"];
    let (_, first) = made(&lab, &project)?;
    ensure!(first == everything, "{first:?}");
    // An edit, in the file itself and in one that it takes in.
    project.write(
        "answer/b.c",
        &format!("const char *b(void) {{ return \"new {value}\"; }}\n"),
    )?;
    let (built, edited) = made(&lab, &project)?;
    ensure!(edited == ["b.c", "build/both.so"], "{edited:?}");
    let log = built.progress.log();
    ensure!(
        log.contains("wheelbase: answer: starts with build of the last compile"),
        "{log}"
    );
    project.write("answer/a.h", "#define A 2\n")?;
    let (_, header) = made(&lab, &project)?;
    ensure!(header == ["a.c", "build/both.so"], "{header:?}");
    // What was before the edit is out of date again.
    project.write("answer/a.h", "#define A 1\n")?;
    project.write("answer/note", "a file that nothing is made of\n")?;
    let (_, back) = made(&lab, &project)?;
    ensure!(back == ["a.c", "build/both.so"], "{back:?}");
    // Another variable may make other objects.
    spec("env = { CFLAGS = \"-g\" }")?;
    let (_, other) = made(&lab, &project)?;
    ensure!(other == everything, "{other:?}");
    Ok(())
}
