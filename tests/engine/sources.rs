//! Where the source of a wheel may come from, and what may be done to it before it is built.

use std::path::Path;
use std::process::Command;

use anyhow::{Result, ensure};

use crate::Tag;
use crate::support::build::{Build, Built};
use crate::support::engine::{Lab, lab};
use crate::support::git::{Server, TOKEN, git};
use crate::support::project::Project;
use crate::support::tree::sha256;
use crate::support::unique;

/// A folder whose wheel is one module, `answer`, with a value that no other test has.
fn write_answer(project: &Project, folder: &str, value: &str) -> Result<()> {
    project.write(
        &format!("{folder}/pyproject.toml"),
        "[build-system]\nrequires = [\"setuptools\"]\nbuild-backend = \"setuptools.build_meta\"\n\
         [project]\nname = \"answer\"\nversion = \"1.0\"\n[tool.setuptools]\npy-modules = [\"answer\"]\n",
    )?;
    project.write(
        &format!("{folder}/answer.py"),
        &format!("VALUE = '{value}'\nOTHER = 2\n"),
    )
}

/// A spec with one image that holds `answer`, built as these lines of its table say.
pub(crate) fn write_spec(project: &Project, lab: &Lab, wheel: &str) -> Result<()> {
    let Lab {
        registry, frontend, ..
    } = lab;
    project.write(
        "wheelbase.toml",
        &format!(
            "# syntax={frontend}\nname = \"sources\"\n[gpu]\ncuda = \"13.0.2\"\nos = \"ubuntu22.04\"\nmirror = \"{registry}\"\n\
             [python]\nversion = \"3.11\"\nprovider = {{ image = \"{registry}/wheelbase-lab/python:3.11\" }}\n\
             [uv]\nimage = \"{registry}/astral-sh/uv:0.13.9\"\n[compiler-cache]\ntool = \"none\"\n\
             [images.app]\ntier = \"base\"\nwheels = [\"answer\"]\nentrypoint = [\"python\"]\n\
             [wheels.answer]\narch = \"any\"\n{wheel}\n"
        ),
    )
}

/// Builds, and runs Python in the image.
pub(crate) fn says(lab: &Lab, project: &Project, arguments: &[&str], code: &str) -> Result<(Built, String)> {
    let tag = Tag::new(lab);
    let built = Build::of(lab, project)
        .target("app")
        .tag(&tag.1)
        .arguments(&["--load"])
        .arguments(arguments)
        .succeed()?;
    let said = lab.engine().run(&tag.1, &[], &["-c", code])?;
    Ok((built, said.trim().to_owned()))
}

/// Prints what `answer` holds.
pub(crate) const SAY: &str = "import answer; print(answer.VALUE, answer.OTHER)";

/// Whether `answer` was compiled, and not known.
pub(crate) fn compiled(built: &Built) -> bool {
    built.executed().contains(&"[wheel answer] compile")
}

/// A file that the index serves until it goes out of scope.
struct Served(std::path::PathBuf, String);

impl Served {
    fn new(lab: &Lab, end: &str, pack: impl FnOnce(&Path) -> Result<()>) -> Result<(Self, String)> {
        let name = format!("{}{end}", unique());
        let path = lab.folder().join("index/static").join(&name);
        pack(&path)?;
        let digest = sha256(&std::fs::read(&path)?);
        Ok((Self(path, format!("{}/files/{name}", lab.index)), digest))
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        std::fs::remove_file(&self.0).ok();
    }
}

/// Runs a command that has to succeed.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    let output = command.output()?;
    ensure!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(())
}

#[test]
fn an_archive_of_any_kind_is_a_source() -> Result<()> {
    let Some(lab) = lab() else { return Ok(()) };
    let project = Project::quickstart(&lab)?;
    let value = unique();
    write_answer(&project, "kernels-1.0/python/answer", &value)?;
    let mut first = true;
    for end in [".tar.gz", ".tar.xz", ".tar.zst", ".zip"] {
        let (file, digest) = Served::new(&lab, end, |path| {
            let mut command = Command::new(if end == ".zip" { "python3" } else { "tar" });
            if end == ".zip" {
                command.args(["-m", "zipfile", "-c"]).arg(path);
            } else {
                command.arg("-caf").arg(path);
            }
            run(command.arg("kernels-1.0").current_dir(project.path()))
        })?;
        let source = |digest: &str| {
            format!(
                "source = {{ url = \"{}\", sha256 = \"{digest}\", subdir = \"python/answer\" }}\nneeds = [\"setuptools\"]",
                file.1
            )
        };
        write_spec(&project, &lab, &source(&digest))?;
        let (built, said) = says(&lab, &project, &[], SAY)?;
        assert_eq!(said, format!("{value} 2"), "{end}");
        // The same tree out of another archive is the same source.
        assert_eq!(compiled(&built), first, "{end}: {:?}", built.executed());
        first = false;

        write_spec(&project, &lab, &source(&"0".repeat(64)))?;
        let failed = Build::of(&lab, &project).target("app").fail()?;
        assert!(
            failed.text.contains("digest") || failed.text.contains("checksum"),
            "{}",
            failed.text
        );
    }
    Ok(())
}

#[test]
fn what_is_left_out_counts_for_nothing() -> Result<()> {
    let Some(lab) = lab() else { return Ok(()) };
    let project = Project::quickstart(&lab)?;
    write_answer(&project, "answer", &unique())?;
    project.write("answer/tests/a.py", "1")?;
    project.write("answer/docs/a.md", "1")?;
    let command = "test ! -e tests && test ! -e docs/a.md && test -e docs/kept.md && \
                   /wheelbase/uv/uv build --wheel --offline --no-build-isolation --no-cache --python /opt/venv/bin/python --out-dir /wheels .";
    write_spec(
        &project,
        &lab,
        &format!(
            "source = {{ path = \"answer\", exclude = [\"tests\", \"**/*.md\", \"!docs/kept.md\"] }}\nneeds = [\"setuptools\"]\n\
             command = \"{command}\""
        ),
    )?;
    project.write("answer/docs/kept.md", "1")?;
    let built = Build::of(&lab, &project).target("app").succeed()?;
    assert!(compiled(&built));
    project.write("answer/tests/a.py", "2")?;
    project.write("answer/docs/a.md", "2")?;
    let built = Build::of(&lab, &project).target("app").succeed()?;
    assert_eq!(built.executed(), [""; 0]);
    project.write("answer/docs/kept.md", "2")?;
    let built = Build::of(&lab, &project).target("app").succeed()?;
    assert!(compiled(&built), "{:?}", built.executed());
    Ok(())
}

#[test]
fn a_ready_wheel_is_installed_without_a_compiler() -> Result<()> {
    let Some(lab) = lab() else { return Ok(()) };
    let project = Project::quickstart(&lab)?;
    let file = "idna-3.20-py3-none-any.whl";
    let wheel = lab.folder().join("index/files").join(file);
    let digest = sha256(&std::fs::read(&wheel)?);
    let version = "import idna; print(idna.__version__)";
    let spec = |source: &str| -> Result<()> {
        write_spec(&project, &lab, &format!("source = {{ {source} }}"))?;
        project.edit("wheelbase.toml", "arch = \"any\"\n", "")?;
        project.edit("wheelbase.toml", "answer", "idna")?;
        // The lock has 3.10, for this dependency too.
        project.spec("wheels = [", "packages = [\"requests\"]\nwheels = [")?;
        Ok(())
    };
    spec(&format!(
        "wheel = \"{}/files/{file}\", sha256 = \"{digest}\"",
        lab.index
    ))?;
    let (built, said) = says(&lab, &project, &[], version)?;
    assert_eq!(said, "3.20");
    assert!(
        built
            .progress
            .vertices
            .iter()
            .all(|vertex| !vertex.name.contains("devel"))
    );

    std::fs::create_dir(project.path().join("wheels"))?;
    std::fs::copy(&wheel, project.path().join("wheels").join(file))?;
    spec(&format!("wheel = \"wheels/{file}\""))?;
    let (_, said) = says(&lab, &project, &[], version)?;
    assert_eq!(said, "3.20");

    spec("wheel = \"wheels/idna-3.20-cp312-cp312-manylinux_2_28_x86_64.whl\"")?;
    let failed = Build::of(&lab, &project).target("app").fail()?;
    assert!(failed.text.contains("is not for CPython 3.11"), "{}", failed.text);
    Ok(())
}

#[test]
fn a_folder_of_an_image_counts_by_its_content() -> Result<()> {
    let Some(lab) = lab() else { return Ok(()) };
    let project = Project::quickstart(&lab)?;
    let value = unique();
    write_answer(&project, "answer", &value)?;
    let engine = lab.engine();
    for (round, note) in ["one", "two"].into_iter().enumerate() {
        project.write("note", note)?;
        project.write(
            "Dockerfile",
            "FROM scratch\nCOPY answer /src/answer\nCOPY note /\n",
        )?;
        let name = format!("wheelbase-lab/{value}:{note}");
        let reference = format!("{}/{name}", lab.registry);
        let folder = project.path().to_string_lossy().into_owned();
        engine.output(&[
            "buildx",
            "build",
            "--quiet",
            "--push",
            "--provenance=false",
            "--tag",
            &reference,
            &folder,
        ])?;
        // Docker Hub's, which the mirror stands for.
        write_spec(
            &project,
            &lab,
            &format!("source = {{ image = \"{name}\", path = \"/src/answer\" }}\nneeds = [\"setuptools\"]"),
        )?;
        let (built, said) = says(&lab, &project, &[], SAY)?;
        assert_eq!(said, format!("{value} 2"));
        assert_eq!(compiled(&built), round == 0, "{:?}", built.executed());
    }
    project.edit("wheelbase.toml", ":two\"", ":three\"")?;
    let failed = Build::of(&lab, &project).target("app").fail()?;
    assert!(failed.text.contains(":three"), "{}", failed.text);
    Ok(())
}

#[test]
fn a_repository_is_read_with_its_submodules_and_its_token() -> Result<()> {
    let Some(lab) = lab() else { return Ok(()) };
    let (project, server) = (Project::quickstart(&lab)?, Server::start()?);
    let value = unique();
    let (inner, outer) = (Project::empty()?, Project::empty()?);
    inner.write("answer.py", &format!("VALUE = '{value}'\nOTHER = 2\n"))?;
    server.commit("inner", inner.path())?;
    write_answer(&outer, "python", "not this one")?;
    outer.edit(
        "python/pyproject.toml",
        "[tool.setuptools]",
        "[tool.setuptools]\npackage-dir = { \"\" = \"inner\" }",
    )?;
    git(outer.path(), &["init", "--quiet"])?;
    git(
        outer.path(),
        &[
            "submodule",
            "--quiet",
            "add",
            &server.url("inner"),
            "python/inner",
        ],
    )?;
    let commit = server.commit("outer", outer.path())?;
    let spec = |url: &str, commit: &str, more: &str| {
        let source = format!("git = \"{url}\", rev = \"{commit}\", subdir = \"python\"{more}");
        write_spec(
            &project,
            &lab,
            &format!("source = {{ {source} }}\nneeds = [\"setuptools\"]"),
        )
    };
    project.write("token", TOKEN)?;
    let file = project.path().join("token");
    let secret = |id: &str| format!("id={id},src={}", file.display());

    // The private one first: what the builder has is not fetched again.
    spec(&server.private_url("outer"), &commit, "")?;
    let failed = Build::of(&lab, &project).target("app").fail()?;
    assert!(failed.text.contains("private/outer"), "{}", failed.text);
    let (built, said) = says(&lab, &project, &["--secret", &secret("GIT_AUTH_TOKEN")], SAY)?;
    assert_eq!(said, format!("{value} 2"));
    let told = built.progress.log() + &built.metadata.to_string();
    assert!(!told.contains(TOKEN), "{told}");

    // Another commit, and a secret of another name, for this host.
    outer.write("python/NOTE", "new")?;
    let commit = server.commit("outer", outer.path())?;
    spec(&server.private_url("outer"), &commit, ", token = \"FORGE\"")?;
    let usual = secret("GIT_AUTH_TOKEN");
    let failed = Build::of(&lab, &project)
        .target("app")
        .arguments(&["--secret", &usual])
        .fail()?;
    assert!(failed.text.contains("private/outer"), "{}", failed.text);
    let host = server.url("").replace("http://", "FORGE.");
    let (built, _) = says(
        &lab,
        &project,
        &["--secret", &secret(host.trim_end_matches('/'))],
        SAY,
    )?;
    assert!(compiled(&built));

    // Where a commit was read from is no part of what it holds.
    spec(&server.url("outer"), &commit, "")?;
    let (built, _) = says(&lab, &project, &[], SAY)?;
    assert!(!compiled(&built), "{:?}", built.executed());
    Ok(())
}

#[test]
fn one_build_leaves_several_wheels() -> Result<()> {
    let Some(lab) = lab() else { return Ok(()) };
    let project = Project::quickstart(&lab)?;
    let value = unique();
    write_answer(&project, "both/answer", &value)?;
    write_answer(&project, "both/question", &value)?;
    project.edit("both/question/pyproject.toml", "answer", "question")?;
    std::fs::rename(
        project.path().join("both/question/answer.py"),
        project.path().join("both/question/question.py"),
    )?;
    let command = "for folder in answer question; do /wheelbase/uv/uv build --wheel --offline --no-build-isolation \
                   --no-cache --python /opt/venv/bin/python --out-dir /wheels $folder; done";
    let wheel = format!("source = {{ path = \"both\" }}\nneeds = [\"setuptools\"]\ncommand = \"{command}\"");
    write_spec(&project, &lab, &format!("{wheel}\nprovides = [\"question\"]"))?;
    let ask = "import answer, question; print(answer.VALUE == question.VALUE)";
    let (built, said) = says(&lab, &project, &[], ask)?;
    assert_eq!(said, "True");
    assert!(compiled(&built));
    write_spec(&project, &lab, &wheel)?;
    let ask = "import answer, importlib.util as u; print(u.find_spec('question'))";
    let (built, said) = says(&lab, &project, &[], ask)?;
    assert_eq!(said, "None");
    assert!(!compiled(&built), "{:?}", built.executed());
    write_spec(&project, &lab, &format!("{wheel}\nprovides = [\"riddle\"]"))?;
    let failed = Build::of(&lab, &project).target("app").fail()?;
    assert!(
        (failed.progress.log() + &failed.text).contains("riddle"),
        "{}",
        failed.text
    );
    Ok(())
}

#[test]
fn patches_are_applied_in_order_and_named_when_they_fail() -> Result<()> {
    let Some(lab) = lab() else { return Ok(()) };
    let project = Project::quickstart(&lab)?;
    let value = unique();
    write_answer(&project, "answer", &value)?;
    let patch = |from: &str, to: &str| {
        format!(
            "--- a/answer.py\n+++ b/answer.py\n@@ -1,2 +1,2 @@\n VALUE = '{value}'\n-OTHER = {from}\n+OTHER = {to}\n"
        )
    };
    project.write("patches/first.patch", &patch("2", "3"))?;
    project.write("patches/second.patch", &patch("3", "4"))?;
    let spec = |patches: &str| {
        write_spec(
            &project,
            &lab,
            &format!("source = {{ path = \"answer\" }}\npatches = [{patches}]\nneeds = [\"setuptools\"]"),
        )
    };
    spec("\"patches/first.patch\", \"patches/second.patch\"")?;
    let (built, said) = says(&lab, &project, &[], SAY)?;
    assert_eq!(said, format!("{value} 4"));
    assert!(compiled(&built));

    // One patch for two: the source that comes of it is the same, so it is not compiled again.
    project.write(
        "patches/both.patch",
        &format!("What it does.\n{}", patch("2", "4")),
    )?;
    spec("\"patches/both.patch\"")?;
    let (built, said) = says(&lab, &project, &[], SAY)?;
    assert_eq!(said, format!("{value} 4"));
    assert!(!compiled(&built), "{:?}", built.executed());
    project.write("patches/both.patch", &patch("2", "5"))?;
    let (built, said) = says(&lab, &project, &[], SAY)?;
    assert_eq!(said, format!("{value} 5"));
    assert!(compiled(&built));

    spec("\"patches/second.patch\", \"patches/first.patch\"")?;
    let failed = Build::of(&lab, &project).target("app").fail()?;
    let told = failed.progress.log() + &failed.text;
    assert!(
        told.contains("patches/second.patch: answer.py: hunk 1, of line 1, does not match"),
        "{told}"
    );
    assert!(
        failed.text.contains("patches = ["),
        "the line of the spec is shown: {}",
        failed.text
    );
    spec("\"patches/absent.patch\"")?;
    let failed = Build::of(&lab, &project).target("app").fail()?;
    assert!(failed.text.contains("patches/absent.patch"), "{}", failed.text);
    Ok(())
}
