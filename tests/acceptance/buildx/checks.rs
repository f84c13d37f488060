//! `--call check` and `--check`, and the same warnings in a build: what breaks a rule, where, and how it is kept quiet.
//!
//! Whoever knows them from Dockerfiles expects the same words at the same places, and the same exit codes.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result, ensure};

use super::calls::{ask, break_rule, json, line_in, line_of};
use super::table::{self, Cell, Row, works};
use crate::Claim;
use crate::support::build::Build;
use crate::support::engine::Lab;
use crate::support::project::Project;

const ROWS: &[Row] = &[
    Row {
        option: "`--call check`, `--check`",
        measure: |lab, engine| {
            let project = Project::quickstart(lab)?;
            break_rule(&project)?;
            for arguments in [&["--call", "check"][..], &["--check"]] {
                let built = Build::of(lab, &project).on(engine).arguments(arguments).run()?;
                ensure!(built.code == Some(1), "{arguments:?}: status {:?}", built.code);
                ensure!(built.answer.contains("WARNING: RootUser - "), "{}", built.answer);
            }
            Ok(Cell::Works)
        },
    },
    Row {
        option: "`# check=` directive",
        measure: |lab, engine| {
            let project = Project::quickstart(lab)?;
            break_rule(&project)?;
            directive(&project, "error=true")?;
            let built = Build::of(lab, &project).on(engine).target("serve").fail()?;
            let says = built.text.contains("lint violation found for rules: RootUser");
            ensure!(says, "{}", built.text);
            directive(&project, "skip=RootUser;error=true")?;
            let built = Build::of(lab, &project)
                .on(engine)
                .arguments(&["--check"])
                .run()?;
            works(built.code == Some(0), &built.answer)
        },
    },
    Row {
        option: "`--build-arg BUILDKIT_DOCKERFILE_CHECK=`",
        measure: |lab, engine| {
            let project = Project::quickstart(lab)?;
            break_rule(&project)?;
            directive(&project, "error=true")?;
            let check = |value: &str| {
                let argument = format!("BUILDKIT_DOCKERFILE_CHECK={value}");
                let arguments = ["--check", "--build-arg", &argument];
                Build::of(lab, &project).on(engine).arguments(&arguments).run()
            };
            let (skipped, kept) = (check("skip=all")?, check("skip=LatestTag")?);
            ensure!(kept.code == Some(1), "{}", kept.answer);
            works(skipped.code == Some(0), &skipped.answer)
        },
    },
    Row {
        option: "warnings of a build",
        measure: |lab, engine| {
            let project = Project::quickstart(lab)?;
            break_rule(&project)?;
            let built = Build::of(lab, &project).on(engine).target("serve").succeed()?;
            let warnings = &built.progress.warnings;
            if engine.name == "20.10" {
                // BuildKit 0.8 has no way to show them. `--check` does.
                ensure!(warnings.is_empty(), "{warnings:?}");
                return Ok(Cell::FallsBack);
            }
            let line = line_of(&project, "[images.serve]")?;
            let expected = format!("RootUser: image `serve` names no user, and runs as root (line {line})");
            works(*warnings == [expected], &format!("{warnings:?}"))
        },
    },
];

pub(crate) fn claims() -> Vec<Claim> {
    let mut claims = vec![
        Claim::new(
            "--check shows rule, advice and line of what is probably not meant, and ends with 1; with 0 on the quickstart",
            check,
        ),
        Claim::new(
            "--check of a spec with a mistake shows it with its line",
            mistakes,
        ),
        Claim::new(
            "`wheelbase check` and --check find the same rules at the same lines",
            same_rules,
        ),
    ];
    claims.extend(table::claims(ROWS));
    claims
}

/// Writes or replaces the directive at the head.
fn directive(project: &Project, value: &str) -> Result<()> {
    let spec = project.read("wheelbase.toml")?;
    let (first, rest) = spec.split_once('\n').context("an empty spec")?;
    let rest = match rest.split_once('\n') {
        Some((second, rest)) if second.starts_with("# check=") => rest,
        _ => rest,
    };
    project.write("wheelbase.toml", &format!("{first}\n# check={value}\n{rest}"))
}

fn check(lab: &Lab) -> Result<String> {
    let project = Project::quickstart(lab)?;
    let built = ask(lab, &project, &["--check"])?;
    ensure!(
        built.code == Some(0) && built.answer == "Check complete, no warnings found.\n",
        "{:?}: {}{}",
        built.code,
        built.text,
        built.answer
    );
    break_rule(&project)?;
    project.spec(
        "copy       = [{ from = \"config\"",
        "copy       = [{ from = \".\"",
    )?;
    let built = ask(lab, &project, &["--check"])?;
    ensure!(built.code == Some(1), "{:?}", built.code);
    let (root, copy) = (
        line_of(&project, "[images.serve]")?,
        line_of(&project, "from = \".\"")?,
    );
    for words in [
        "Check complete, 2 warnings have been found!".to_owned(),
        "WARNING: RootUser - docs/reference/rules.md#rootuser\nimage `serve` names no user, and runs as root\nhelp: "
            .to_owned(),
        format!("wheelbase.toml:{root}\n"),
        "WARNING: WholeContext - ".to_owned(),
        format!("wheelbase.toml:{copy}\n"),
        format!("{copy} | >>> copy       = [{{ from = \".\""),
    ] {
        ensure!(
            built.answer.contains(&words),
            "{words:?} is not in\n{}",
            built.answer
        );
    }
    // What stands in another target's tables is not about this one.
    let built = ask(lab, &project, &["--check", "--target", "train"])?;
    ensure!(built.code == Some(0), "{}", built.answer);
    Ok("2 warnings, 1; 0 of another target; 0 on the quickstart".to_owned())
}

fn mistakes(lab: &Lab) -> Result<String> {
    let project = Project::quickstart(lab)?;
    let mut figures = Vec::new();
    for (from, to, words, place) in [
        (
            "buckets   = 4",
            "buckets   = \"four\"",
            "expected an integer",
            "buckets   = \"four\"",
        ),
        (
            "packages   = [\"serve\"]",
            "packages   = [\"server\"]",
            "`server` is not in uv.lock",
            "[\"server\"]",
        ),
        (
            "# syntax=",
            "# check=skp=all\n# syntax=",
            "a check has no option `skp`",
            "# check=skp",
        ),
    ] {
        let whole = project.read("wheelbase.toml")?;
        if from == "# syntax=" {
            directive(&project, "skp=all")?;
        } else {
            project.spec(from, to)?;
        }
        let line = line_of(&project, place)?;
        let built = ask(lab, &project, &["--check"])?;
        let said = format!("{}{}", built.text, built.answer);
        project.write("wheelbase.toml", &whole)?;
        ensure!(built.code == Some(1), "{to}: {:?}\n{said}", built.code);
        for words in [
            words.to_owned(),
            format!("wheelbase.toml:{line}"),
            format!("{line} | >>> "),
        ] {
            ensure!(said.contains(&words), "{words:?} is not in\n{said}");
        }
        figures.push(format!("line {line}"));
    }
    // The daemon reads the argument before any frontend, and has words of its own; daemons before BuildKit 0.14 do not.
    for value in ["skp=all", "error=yes"] {
        let argument = format!("BUILDKIT_DOCKERFILE_CHECK={value}");
        let built = ask(lab, &project, &["--check", "--build-arg", &argument])?;
        let named = built.text.contains("BUILDKIT_DOCKERFILE_CHECK");
        ensure!(!built.success && named, "{}", built.text);
        let arguments = ["--check", "--build-arg", &argument];
        let old = lab.engine_of("20.10");
        let built = Build::of(lab, &project).on(&old).arguments(&arguments).run()?;
        let ours = format!("--build-arg BUILDKIT_DOCKERFILE_CHECK={value}: ");
        ensure!(!built.success && built.text.contains(&ours), "{}", built.text);
    }
    project.spec("buckets   = 4", "buckets   = \"four\"")?;
    let line = line_of(&project, "\"four\"")?;
    for call in ["outline", "targets", "wheelbase.plan"] {
        let built = ask(lab, &project, &["--call", call])?;
        let place = format!("wheelbase.toml:{line}");
        ensure!(
            !built.success && built.text.contains(&place),
            "{call}: {}",
            built.text
        );
    }
    Ok(figures.join(", "))
}

fn same_rules(lab: &Lab) -> Result<String> {
    let project = Project::quickstart(lab)?;
    break_rule(&project)?;
    project.spec("# check=skip=CompilerInImage\n", "")?;
    project.spec("[layers]", "[compiler-cache]\ntool = \"none\"\n\n[layers]")?;
    directive(&project, "experimental=NoPtx")?;
    let json = json(lab, &project, "check")?;
    let mut theirs: BTreeMap<u64, String> = BTreeMap::new();
    for warning in json["warnings"].as_array().context("no warnings")? {
        let rule = warning["ruleName"].as_str().unwrap_or_default();
        theirs.insert(line_in(warning), rule.to_owned());
    }
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_wheelbase"))
        .arg("check")
        .current_dir(&project)
        .output()?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let mut ours = BTreeMap::new();
    let mut rule = None;
    for line in said.lines() {
        if let Some(name) = line
            .strip_prefix("warning[")
            .and_then(|rest| rest.split(']').next())
        {
            rule = Some(name.to_owned());
        } else if let Some(place) = line.trim_start().strip_prefix("--> wheelbase.toml:")
            && let Some(rule) = rule.take()
        {
            let line = place.split(':').next().unwrap_or_default().parse()?;
            ours.insert(line, rule);
        }
    }
    ensure!(
        ours == theirs && ours.len() == 4,
        "{ours:?} and {theirs:?}\n{said}"
    );
    Ok(format!("{ours:?}"))
}
