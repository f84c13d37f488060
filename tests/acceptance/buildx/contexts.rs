//! Where a build's files may come from, and what may be put in the place of what a spec names.

use std::collections::BTreeMap;

use anyhow::{Result, ensure};

use super::called::{self, Row};
use super::table::Cell;
use crate::Claim;
use crate::support::buildx::{Buildx, Called, archive};
use crate::support::engine::Lab;
use crate::support::files::Files;
use crate::support::git::Server;
use crate::support::listing::{self, WHEEL};
use crate::support::project::Project;
use crate::support::unique;

pub(super) fn claims() -> Vec<Claim> {
    let mut claims: Vec<Claim> = ROWS.iter().map(called::claim).collect();
    claims.push(Claim::new(
        "a context that is wrong is refused in words that name it",
        mistakes,
    ));
    claims.push(Claim::new(
        "the quickstart from a repository, an archive or standard input is built from the same steps",
        same_steps,
    ));
    claims.push(Claim::new(
        "a tier that another image stands in for is in the plan by its digest",
        keys,
    ));
    claims
}

/// What is measured on each engine.
const ROWS: [Row; 20] = [
    Row::new("a folder as the context", |one| {
        let project = listing::project(one.lab, &["src/a.txt"])?;
        sees(
            &one.build(&project, ".").arguments(SPEC).arguments(TARGET),
            &["src/a.txt"],
        )
    }),
    Row::new("`--file` outside the context", |one| {
        let context = files(&["src/a.txt", ".dockerignore"])?;
        context.write(".dockerignore", "src/b.txt\n")?;
        context.write("src/b.txt", "b")?;
        let spec = listing::project(one.lab, &[])?;
        let file = spec.path().join("wheelbase.toml");
        let file = ["--file", &file.to_string_lossy()];
        sees(
            &one.build(&context, ".").arguments(&file).arguments(TARGET),
            &[".dockerignore", "src/a.txt"],
        )
    }),
    Row::new("a git URL as the context", |one| {
        let (server, _) = repository(one.lab)?;
        let url = format!("{}#main", server.url("app.git"));
        // No ignore file counts in it, as in a Dockerfile's build.
        sees(
            &one.remote(&url).arguments(SPEC).arguments(TARGET),
            &[".dockerignore", "src/a.txt", "sub"],
        )
    }),
    Row::new("a folder of a git URL, `#branch:folder`", |one| {
        let (server, _) = repository(one.lab)?;
        let url = format!("{}#main:sub", server.url("app.git"));
        sees(
            &one.remote(&url).arguments(SPEC).arguments(TARGET),
            &["only-below.txt"],
        )
    }),
    Row::new("a tarball's URL as the context", |one| {
        let project = listing::project(one.lab, &["src/a.txt"])?;
        let files = Files::serve(BTreeMap::from([("c.tar".to_owned(), archive(project.path())?)]))?;
        sees(
            &one.remote(&files.url("c.tar")).arguments(SPEC).arguments(TARGET),
            &["src/a.txt"],
        )
    }),
    Row::new("a spec's URL as the context", |one| {
        let spec = listing::spec(one.lab, "{ path = \".\" }");
        let files = Files::serve(BTreeMap::from([("wheelbase.toml".to_owned(), spec.into_bytes())]))?;
        sees(
            &one.remote(&files.url("wheelbase.toml")).arguments(TARGET),
            &["context"],
        )
    }),
    Row::new("a tarball on standard input, `-`", |one| {
        let project = listing::project(one.lab, &["src/a.txt"])?;
        sees(
            &one.remote("-")
                .input(archive(project.path())?)
                .arguments(SPEC)
                .arguments(TARGET),
            &["src/a.txt"],
        )
    }),
    Row::new("a spec on standard input, `-`", |one| {
        let spec = listing::spec(one.lab, "{ path = \".\" }");
        sees(&one.remote("-").input(spec).arguments(TARGET), &[])
    }),
    Row::new("`--file -` with a folder", |one| {
        let context = files(&["src/a.txt"])?;
        let spec = listing::spec(one.lab, "{ path = \".\" }");
        sees(
            &one.build(&context, ".")
                .input(spec)
                .arguments(&["--file", "-"])
                .arguments(TARGET),
            &["src/a.txt"],
        )
    }),
    Row::new("`--file` of the client with a git URL", |one| {
        let (server, _) = repository(one.lab)?;
        let url = format!("{}#main:sub", server.url("app.git"));
        let spec = listing::spec(one.lab, "{ path = \".\" }");
        sees(
            &one.remote(&url)
                .input(spec)
                .arguments(&["--file", "-"])
                .arguments(TARGET),
            &["only-below.txt"],
        )
    }),
    Row::new("`--build-context TIER=docker-image://`", |one| {
        let mark = one.marked()?;
        let config = one.config(&[&format!("base=docker-image://{mark}")])?;
        ensure!(config.contains("MARK=1"), "{config}");
        Ok(Cell::Works)
    }),
    Row::new("`--build-context IMAGE=docker-image://`", |one| {
        let mark = one.marked()?;
        let tier = format!("{}/nvidia/cuda:13.0.2-base-ubuntu22.04", one.lab.registry);
        let config = one.config(&[&format!("{tier}=docker-image://{mark}")])?;
        ensure!(config.contains("MARK=1"), "{config}");
        Ok(Cell::Works)
    }),
    Row::new("`--build-context TIER=oci-layout://`", |one| {
        let mark = one.marked()?;
        let layout = one.layout(&mark)?;
        let context = format!("base=oci-layout://{}", layout.path().display());
        let called = one.plain(&[&context])?.run()?;
        if says(
            &called,
            "names an OCI layout, and this builder knows no such thing",
        ) {
            return Ok(Cell::SaysNo);
        }
        called.succeeded()?;
        Ok(Cell::Works)
    }),
    Row::new("`--build-context WHEEL=folder`", |one| {
        let context = listing::project(one.lab, &["not/this.txt"])?;
        let other = files(&["other.txt", "hidden.txt"])?;
        other.write(".dockerignore", "hidden.txt\n")?;
        let named = format!("{WHEEL}={}", other.path().display());
        sees_all(
            &one.build(&context, ".")
                .arguments(SPEC)
                .arguments(TARGET)
                .arguments(&["--build-context", &named]),
            &[".dockerignore", "other.txt"],
        )
    }),
    Row::new("`--build-context WHEEL=` a git URL", |one| {
        let (server, _) = repository(one.lab)?;
        let context = listing::project(one.lab, &["not/this.txt"])?;
        let named = format!("{WHEEL}={}#main:sub", server.url("app.git"));
        sees_all(
            &one.build(&context, ".")
                .arguments(SPEC)
                .arguments(TARGET)
                .arguments(&["--build-context", &named]),
            &["only-below.txt", "wheelbase.toml"],
        )
    }),
    Row::new("`--build-context WHEEL=` a tarball's URL", |one| {
        let below = files(&["pkg-1.0/setup.py"])?;
        let served = Files::serve(BTreeMap::from([("s.tar".to_owned(), archive(below.path())?)]))?;
        let context = listing::project(one.lab, &["not/this.txt"])?;
        let named = format!("{WHEEL}={}", served.url("s.tar"));
        sees_all(
            &one.build(&context, ".")
                .arguments(SPEC)
                .arguments(TARGET)
                .arguments(&["--build-context", &named]),
            &["setup.py"],
        )
    }),
    Row::new("`--build-context WHEEL=docker-image://`", |one| {
        let source = one.source_image()?;
        let context = listing::project(one.lab, &["not/this.txt"])?;
        let named = format!("{WHEEL}=docker-image://{source}");
        sees_all(
            &one.build(&context, ".")
                .arguments(SPEC)
                .arguments(TARGET)
                .arguments(&["--build-context", &named]),
            &["from-image.txt"],
        )
    }),
    Row::new("`--build-context lock=`", |one| {
        let project = Project::quickstart(one.lab)?;
        let lock = project.read("uv.lock")?;
        project.remove("uv.lock")?;
        let elsewhere = files(&[])?;
        elsewhere.write("uv.lock", &lock)?;
        let named = format!("lock={}", elsewhere.path().display());
        let arguments = ["--target", "serve", "--build-context", &named];
        one.build(&project, ".")
            .arguments(SPEC)
            .arguments(&arguments)
            .succeed()?;
        let served = Files::serve(BTreeMap::from([("any.lock".to_owned(), lock.into_bytes())]))?;
        let named = format!("lock={}", served.url("any.lock"));
        let arguments = ["--target", "serve", "--build-context", &named];
        let called = one
            .build(&project, ".")
            .arguments(SPEC)
            .arguments(&arguments)
            .succeed()?;
        ensure!(
            called.progress.executed().is_empty(),
            "{:?}",
            called.progress.executed()
        );
        Ok(Cell::Works)
    }),
    Row::new("`--build-context context=`", |one| {
        let spec = listing::project(one.lab, &["not/this.txt"])?;
        let other = files(&["other.txt"])?;
        let named = format!("context={}", other.path().display());
        sees_all(
            &one.build(&spec, ".")
                .arguments(SPEC)
                .arguments(TARGET)
                .arguments(&["--build-context", &named]),
            &["other.txt"],
        )
    }),
    Row::new("`--build-context` of an unknown name", |one| {
        let project = listing::project(one.lab, &[])?;
        let arguments = ["--build-context", "devl=docker-image://x"];
        let called = one
            .build(&project, ".")
            .arguments(SPEC)
            .arguments(TARGET)
            .arguments(&arguments)
            .run()?;
        ensure!(
            !called.success && says(&called, "did you mean `devel`?"),
            "{}",
            called.text
        );
        Ok(Cell::SaysNo)
    }),
];

const SPEC: &[&str] = &["--file", "wheelbase.toml"];
const TARGET: &[&str] = &["--target", WHEEL];

/// A folder with files whose text is their name.
fn files(names: &[&str]) -> Result<Project> {
    let project = Project::empty()?;
    for name in names {
        project.write(name, name)?;
    }
    Ok(project)
}

/// A repository with a spec at its root and in a folder.
fn repository(lab: &Lab) -> Result<(Server, String)> {
    let project = listing::project(lab, &["src/a.txt", "sub/only-below.txt"])?;
    project.write(".dockerignore", "src\n")?;
    project.write("sub/wheelbase.toml", &project.read("wheelbase.toml")?)?;
    let server = Server::start()?;
    let commit = server.commit("app.git", project.path())?;
    Ok((server, commit))
}

/// Whether the source of the wheel has these files, and the spec where it is in the same folder.
fn sees(build: &Buildx<'_>, files: &[&str]) -> Result<Cell> {
    let found = list(build)?;
    for file in files {
        ensure!(found.iter().any(|one| one == file), "no {file}: {found:?}");
    }
    let known = |one: &String| {
        files.iter().any(|file| {
            one == file || file.starts_with(&format!("{one}/")) || one.starts_with(&format!("{file}/"))
        }) || one == "wheelbase.toml"
    };
    let more: Vec<&String> = found.iter().filter(|one| !known(one)).collect();
    ensure!(more.is_empty(), "too many files: {more:?}");
    Ok(Cell::Works)
}

/// Whether the source of the wheel has these files and no others.
fn sees_all(build: &Buildx<'_>, files: &[&str]) -> Result<Cell> {
    let found = list(build)?;
    ensure!(found == files, "{found:?}");
    Ok(Cell::Works)
}

fn list(build: &Buildx<'_>) -> Result<Vec<String>> {
    listing::list(&build.clone().export()?)
}

fn says(called: &Called, words: &str) -> bool {
    !called.success && called.text.contains(words)
}

fn mistakes(lab: &Lab) -> Result<String> {
    let engine = lab.engine();
    let project = listing::project(lab, &["a.txt"])?;
    let (server, _) = repository(lab)?;
    let web = Files::serve(BTreeMap::from([("x.txt".to_owned(), b"no archive".to_vec())]))?;
    let url = |end: &str| format!("{}{end}", server.url("app.git"));
    let query = url("?brnch=main");
    let named = |name: &str, value: &str| vec!["--build-context".to_owned(), format!("{name}={value}")];
    let cases: Vec<(Vec<String>, &str, &str)> = vec![
        (named("devl", "docker-image://x"), ".", "did you mean `devel`?"),
        (
            named("devel", "docker-image://scratch"),
            ".",
            "the named context `devel` is an empty filesystem",
        ),
        (named(WHEEL, &web.url("x.txt")), ".", "is no archive"),
        (
            named(WHEEL, &web.url("gone.tar")),
            ".",
            "the named context `listing` cannot be loaded",
        ),
        (
            named("lock", &project.path().join("empty").to_string_lossy()),
            ".",
            "the named context `lock` has no uv.lock",
        ),
        (
            vec![
                "--file".into(),
                "none.toml".into(),
                "--build-arg".into(),
                format!("BUILDKIT_SYNTAX={}", lab.frontend),
            ],
            &query,
            "its query has the key `brnch`; did you mean `branch`?",
        ),
    ];
    std::fs::create_dir(project.path().join("empty"))?;
    let number = cases.len();
    for (arguments, context, words) in cases {
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let file: &[&str] = if arguments.contains(&"--file") { &[] } else { SPEC };
        let called = Buildx::build(lab, project.path(), context)
            .on(&engine)
            .arguments(file)
            .arguments(TARGET)
            .arguments(&arguments)
            .run()?;
        ensure!(!called.success, "{arguments:?} is built");
        ensure!(called.text.contains(words), "{arguments:?}: {}", called.text);
    }
    // A pattern that is none has a line.
    project.write(".dockerignore", "docs\n[a\n")?;
    let called = Buildx::build(lab, project.path(), ".")
        .arguments(SPEC)
        .arguments(TARGET)
        .run()?;
    ensure!(!called.success, "a wrong pattern is taken");
    ensure!(
        called.text.contains(".dockerignore:2") && called.text.contains("[a"),
        "{}",
        called.text
    );
    Ok(format!("{} mistakes", number + 1))
}

/// Lock, projects, sources and copies come from the context, whatever it is: what was built from a folder is built.
fn same_steps(lab: &Lab) -> Result<String> {
    let project = Project::quickstart(lab)?;
    let target = ["--target", "serve"];
    let build = |context: &str| {
        Buildx::build(lab, project.path(), context)
            .arguments(SPEC)
            .arguments(&target)
    };
    build(".").succeed()?;
    let tar = archive(project.path())?;
    let server = Server::start()?;
    server.commit("quickstart.git", project.path())?;
    let web = Files::serve(BTreeMap::from([("quickstart.tar".to_owned(), tar.clone())]))?;
    let ways = [
        (
            "a repository",
            build(&format!("{}#main", server.url("quickstart.git"))),
        ),
        ("an archive", build(&web.url("quickstart.tar"))),
        ("standard input", build("-").input(tar)),
    ];
    for (way, build) in ways {
        let called = build.succeed()?;
        let mut executed = called.progress.executed();
        // The archive itself is unpacked, by whoever reads the syntax line.
        executed.retain(|step| *step != "copy /context /");
        ensure!(executed.is_empty(), "{way}: {executed:?}");
    }
    Ok("nothing is executed again".to_owned())
}

fn keys(lab: &Lab) -> Result<String> {
    let one = called::One {
        lab,
        engine: lab.engine(),
    };
    let (first, second) = (one.marked()?, one.marked()?);
    let reference = format!("{}/keys/{}:1", lab.registry, unique());
    let project = listing::project(lab, &[])?;
    let build = |mark: &str, more: &[&str]| {
        let named = format!("base=docker-image://{mark}");
        let arguments = ["--target", "plain", "--build-context", &named];
        Buildx::build(lab, project.path(), ".")
            .arguments(SPEC)
            .arguments(&arguments)
            .arguments(more)
            .succeed()
    };
    build(&first, &["--tag", &reference, "--push"])?;
    let previous = format!("previous=docker-image://{reference}");
    let asked = ["--call", "wheelbase.explain", "--build-context", &previous];
    let same = build(&first, &asked)?.answer;
    ensure!(same.contains("nothing changes"), "{same}");
    let other = build(&second, &asked)?.answer;
    ensure!(
        other.contains("  tier base: ") && other.contains(" -> "),
        "{other}"
    );
    let line = other
        .lines()
        .find(|line| line.contains("tier base"))
        .unwrap_or_default();
    Ok(line.trim().to_owned())
}
