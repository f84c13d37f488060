//! Ignore files: the same files are left out as Docker leaves out.

use std::collections::BTreeSet;
use std::os::unix::fs::symlink;

use anyhow::{Context as _, Result, bail, ensure};

use crate::Claim;
use crate::support::buildx::Buildx;
use crate::support::engine::{Engine, Lab};
use crate::support::listing::{self, WHEEL};
use crate::support::project::Project;

/// The cases; see its first line.
const PATTERNS: &str = include_str!("patterns.txt");

/// What Docker leaves out of the files, for each case in the same order.
const LEFT_OUT: &str = include_str!("left-out.txt");

/// The files that patterns are tried on.
const FILES: [&str; 34] = [
    ".env",
    ".hidden",
    "README.md",
    "a+b.txt",
    "a.txt",
    "b.md",
    "bar/baz/foo",
    "bar/foo",
    "build/keep/me.txt",
    "build/out.bin",
    "caret^.txt",
    "data/1.csv",
    "data/10.csv",
    "data/a.csv",
    "docs/.hidden",
    "docs/api/one.md",
    "docs/api/two.txt",
    "docs/index.md",
    "dollar$.txt",
    "foo",
    "node_modules/p/index.js",
    "paren(1).txt",
    "src/main.py",
    "src/node_modules/q/index.js",
    "src/util/a.txt",
    "src/util/deep/a.txt",
    "src/util/deep/b.py",
    "temp1/t",
    "temp2/t",
    "tempa",
    "tempab",
    "with space.txt",
    "x[1].txt",
    "ünïcode.txt",
];

pub(super) fn claims() -> Vec<Claim> {
    vec![
        Claim::new(
            "every ignore file of the table leaves out what Docker leaves out",
            |lab| {
                let cases = cases();
                let number = cases.len();
                ensure!(number >= 60, "the table has only {number} cases");
                let measured = compared(lab, &lab.engine_of("28.5"), &cases)?;
                let lines = measured
                    .iter()
                    .map(|paths| paths.iter().cloned().collect::<Vec<_>>().join(" | ") + "\n");
                let lines: String = lines.collect();
                // What the frontend matches by itself is compared with these lines.
                if std::env::var_os("UPDATE_LEFT_OUT").is_some() {
                    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/acceptance/buildx");
                    std::fs::write(format!("{folder}/left-out.txt"), &lines)?;
                }
                ensure!(lines == LEFT_OUT, "left-out.txt is not what was measured");
                Ok(format!("{number} ignore files on engine 28.5, the same lists"))
            },
        ),
        Claim::new("older engines leave out the same", |lab| {
            let cases: Vec<String> = cases().into_iter().step_by(8).collect();
            let mut said = Vec::new();
            for version in ["26.1", "20.10"] {
                let number = compared(lab, &lab.engine_of(version), &cases)?.len();
                said.push(format!("{number} on {version}"));
            }
            Ok(format!("{}, the same lists", said.join(", ")))
        }),
        Claim::new(
            "FILE.dockerignore beside the spec counts, and .dockerignore beside it then does not",
            own_file,
        ),
    ]
}

fn cases() -> Vec<String> {
    let lines = PATTERNS.lines().skip(1);
    lines
        .map(|line| line.split(" | ").collect::<Vec<_>>().join("\n"))
        .collect()
}

/// A folder with all files, and one beside it with a spec and a Dockerfile that take all of it.
fn projects(lab: &Lab) -> Result<(Project, Project)> {
    let context = Project::empty()?;
    for file in FILES {
        context.write(file, file)?;
    }
    std::fs::create_dir(context.path().join("data/empty"))?;
    symlink("src/main.py", context.path().join("link"))?;
    symlink("docs", context.path().join("dirlink"))?;
    let files = Project::empty()?;
    files.write("wheelbase.toml", &listing::spec(lab, "{ path = \".\" }"))?;
    files.write("Dockerfile", "FROM scratch\nCOPY . /\n")?;
    Ok((context, files))
}

/// What a Dockerfile's `COPY . /` brings.
fn docker(lab: &Lab, engine: &Engine, context: &Project, files: &Project) -> Result<BTreeSet<String>> {
    let file = files.path().join("Dockerfile");
    let tree = Buildx::build(lab, context.path(), ".")
        .on(engine)
        .arguments(&["--file", &file.to_string_lossy()])
        .export()?;
    Ok(tree
        .entries
        .into_keys()
        .filter(|path| !path.is_empty() && path != ".")
        .collect())
}

/// What a wheel whose source is the whole context sees.
fn ours(lab: &Lab, engine: &Engine, context: &Project, files: &Project) -> Result<BTreeSet<String>> {
    let file = files.path().join("wheelbase.toml");
    let tree = Buildx::build(lab, context.path(), ".")
        .on(engine)
        .arguments(&["--file", &file.to_string_lossy(), "--target", WHEEL])
        .export()?;
    Ok(listing::list(&tree)?.into_iter().collect())
}

/// How many cases are the same for Docker and for us, and what Docker leaves out of each.
fn compared(lab: &Lab, engine: &Engine, cases: &[String]) -> Result<Vec<BTreeSet<String>>> {
    let (context, files) = projects(lab)?;
    context.write(".dockerignore", "")?;
    let all = docker(lab, engine, &context, &files)?;
    let only = |one: &BTreeSet<String>, other: &BTreeSet<String>| -> BTreeSet<String> {
        one.difference(other).cloned().collect()
    };
    let (mut left_out, mut different) = (Vec::new(), Vec::new());
    for case in cases {
        context.write(".dockerignore", case)?;
        let theirs = docker(lab, engine, &context, &files).with_context(|| format!("Docker, {case:?}"))?;
        let ours = ours(lab, engine, &context, &files).with_context(|| format!("ours, {case:?}"))?;
        if theirs != ours {
            different.push(format!(
                "{case:?}: only Docker has {:?}, only we have {:?}",
                only(&theirs, &ours),
                only(&ours, &theirs)
            ));
        }
        left_out.push(only(&all, &theirs));
    }
    if !different.is_empty() {
        bail!("{}", different.join("; "));
    }
    Ok(left_out)
}

fn own_file(lab: &Lab) -> Result<String> {
    let (context, files) = projects(lab)?;
    context.write(".dockerignore", "docs\n")?;
    for name in ["wheelbase.toml.dockerignore", "Dockerfile.dockerignore"] {
        files.write(name, "src\n*.txt\n")?;
    }
    for version in ["28.5", "26.1", "20.10"] {
        let engine = lab.engine_of(version);
        let theirs = docker(lab, &engine, &context, &files)?;
        let ours = ours(lab, &engine, &context, &files)?;
        ensure!(theirs == ours, "engine {version}: {theirs:?} and {ours:?}");
        ensure!(
            ours.contains("docs/index.md") && !ours.contains("src/main.py"),
            "engine {version}: {ours:?}"
        );
    }
    Ok("the same lists on 28.5, 26.1 and 20.10".to_owned())
}
