//! Questions: `--call outline`, `targets` and our own, as people and as programs read them. `check` is one too, and more
//! than an answer: `checks.rs`.

use std::collections::BTreeSet;

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::Value;

use super::table::{self, Row, works};
use crate::Claim;
use crate::support::build::{Build, Built};
use crate::support::engine::{Engine, Lab};
use crate::support::project::Project;

const ROWS: &[Row] = &[
    Row {
        option: "`--call outline`",
        measure: |lab, engine| {
            let said = answered(lab, engine, "outline")?;
            works(said.starts_with("TARGET: serve\n"), &said)
        },
    },
    Row {
        option: "`--call targets`",
        measure: |lab, engine| {
            let said = answered(lab, engine, "targets")?;
            works(said.contains("\nserve (default) "), &said)
        },
    },
    Row {
        option: "`--call subrequests.describe`",
        measure: |lab, engine| {
            let said = answered(lab, engine, "subrequests.describe")?;
            works(said.contains("\nlint "), &said)
        },
    },
    Row {
        option: "`--call wheelbase.plan`",
        measure: |lab, engine| {
            let said = answered(lab, engine, "wheelbase.plan")?;
            works(
                said.contains("\nimage serve\n") && said.contains("\n      digest "),
                &said,
            )
        },
    },
    Row {
        option: "`--call wheelbase.schema`",
        measure: |lab, engine| {
            let said = answered(lab, engine, "wheelbase.schema")?;
            works(
                serde_json::from_str::<Value>(&said)?["$schema"].is_string(),
                &said,
            )
        },
    },
];

pub(crate) fn claims() -> Vec<Claim> {
    let mut claims = vec![
        Claim::new(
            "--call targets lists images, the default one marked, then wheels, and then what is made of them, in the client's \
             own table",
            targets,
        ),
        Claim::new(
            "--call outline names every secret, socket and cache mount of the target, with the line that asks for it",
            outline,
        ),
        Claim::new(
            "JSON answers have no field that the Dockerfile frontend's answers do not have",
            shapes,
        ),
        Claim::new("a question that is not known is refused by its name", unknown),
    ];
    claims.extend(table::claims(ROWS));
    claims
}

/// A question about the quickstart, on a road.
fn answered(lab: &Lab, engine: &Engine, call: &str) -> Result<String> {
    let project = Project::quickstart(lab)?;
    let built = Build::of(lab, &project)
        .on(engine)
        .arguments(&["--call", call])
        .succeed()?;
    Ok(built.answer)
}

pub(super) fn ask(lab: &Lab, project: &Project, arguments: &[&str]) -> Result<Built> {
    Build::of(lab, project).arguments(arguments).run()
}

pub(super) fn json(lab: &Lab, project: &Project, call: &str) -> Result<Value> {
    let built = ask(lab, project, &["--call", &format!("{call},format=json")])?;
    // buildx wraps its own calls in nothing; what comes is what the frontend said.
    serde_json::from_str(&built.answer).with_context(|| format!("{}{}", built.text, built.answer))
}

/// Makes `serve` run as root.
pub(super) fn break_rule(project: &Project) -> Result<()> {
    project.spec("user       = \"app\"\n", "").map(drop)
}

pub(super) fn line_of(project: &Project, text: &str) -> Result<usize> {
    let spec = project.read("wheelbase.toml")?;
    let found = spec.lines().position(|line| line.contains(text));
    Ok(found.with_context(|| format!("no line has {text:?}"))? + 1)
}

/// The line that a `location` of an answer names.
pub(super) fn line_in(value: &Value) -> u64 {
    value["location"]["ranges"][0]["start"]["line"]
        .as_u64()
        .unwrap_or(0)
}

fn targets(lab: &Lab) -> Result<String> {
    let project = Project::quickstart(lab)?;
    project.spec(
        "[images.serve]\n",
        "[images.serve]\ndescription = \"the service\"\n",
    )?;
    let built = ask(lab, &project, &["--call", "targets"])?;
    let expected = "TARGET            DESCRIPTION\n\
                    train             image on tier devel\n\
                    serve (default)   the service\n\
                    vecadd            compiled wheel\n\
                    rowmax            compiled wheel\n\
                    markupsafe        compiled wheel\n\
                    wheel-store       all compiled wheels in one folder\n\
                    cache-train       train for caches, with nothing left of it\n\
                    cache-serve       serve for caches, with nothing left of it\n\
                    cache-vecadd      vecadd for caches, with nothing left of it\n\
                    cache-rowmax      rowmax for caches, with nothing left of it\n\
                    cache-markupsafe  markupsafe for caches, with nothing left of it\n\
                    cache-wheel-store wheel-store for caches, with nothing left of it\n";
    ensure!(built.answer == expected, "{}{}", built.text, built.answer);
    let json = json(lab, &project, "targets")?;
    let list = json["targets"].as_array().context("no targets")?;
    for target in list {
        let name = target["name"].as_str().context("no name")?;
        let name = name.strip_prefix("cache-").unwrap_or(name);
        if name == "wheel-store" {
            ensure!(target["location"].is_null(), "{target}");
            continue;
        }
        let line = line_of(&project, &format!(".{name}]"))?;
        ensure!(line_in(target) == line as u64, "{target}");
    }
    Ok(format!("{} targets", list.len()))
}

fn outline(lab: &Lab) -> Result<String> {
    let project = Project::quickstart(lab)?;
    project.spec(
        "[wheels.vecadd]\nsource = { path = \"kernels/vecadd\" }",
        "[wheels.vecadd]\nsource = { git = \"ssh://git@git.example/vecadd\", rev = \"0123456789012345678901234567890123456789\" }",
    )?;
    project.spec(
        "[layers]",
        "[compiler-cache]\ntool = \"sccache\"\nstore = \"redis\"\nrequire = true\n\n[layers]",
    )?;
    let built = ask(lab, &project, &["--call", "outline", "--target", "train"])?;
    let rows: BTreeSet<Vec<&str>> = built
        .answer
        .lines()
        .map(|line| line.split_whitespace().collect())
        .collect();
    for row in [
        "TARGET: train",
        "SECRET REQUIRED",
        "ca",
        "sccache true",
        "SSH REQUIRED",
        "default true",
    ] {
        let row: Vec<&str> = row.split(' ').collect();
        ensure!(
            rows.contains(&row),
            "{row:?} is not in\n{}{}",
            built.text,
            built.answer
        );
    }
    let json = json_of_target(lab, &project, "train")?;
    let line = line_of(&project, "ssh://git@git.example/vecadd")? as u64;
    let ssh = &json["ssh"][0];
    ensure!(line_in(ssh).abs_diff(line) <= 1, "{ssh} is not at line {line}");
    let caches = json["cache"].as_array().context("no cache mounts")?;
    let slots = caches.iter().any(|cache| cache["ID"] == "wheelbase-slots-1");
    ensure!(slots, "{caches:?}");
    // An image without kernels asks for none of it.
    let built = ask(lab, &project, &["--call", "outline", "--target", "nothing"])?;
    ensure!(
        !built.success && built.text.contains("there is no target `nothing`"),
        "{}",
        built.text
    );
    Ok(format!(
        "{} secrets, 1 socket, {} cache mounts",
        json["secrets"].as_array().map_or(0, Vec::len),
        caches.len()
    ))
}

fn json_of_target(lab: &Lab, project: &Project, target: &str) -> Result<Value> {
    let built = ask(
        lab,
        project,
        &["--call", "outline,format=json", "--target", target],
    )?;
    serde_json::from_str(&built.answer).with_context(|| built.text.clone())
}

/// A Dockerfile that gives rise to every field that its frontend has.
const DOCKERFILE: &str = "# check=experimental=all\n# the tag\nARG TAG=1\n# base is the base\nFROM --platform=linux/amd64 scratch AS base\n# WORD is a word\nARG WORD=a\n\
    RUN --mount=type=secret,id=one,required --mount=type=ssh,required --mount=type=cache,target=/c echo $WORD\n\
    # last is the last\nFROM base AS last\nENV API_TOKEN=x\nMAINTAINER me\n";

fn shapes(lab: &Lab) -> Result<String> {
    let project = Project::quickstart(lab)?;
    break_rule(&project)?;
    let other = Project::empty()?;
    other.write("wheelbase.toml", DOCKERFILE)?;
    let mut known = 0;
    for (call, optional) in [
        ("targets", &[][..]),
        // A Dockerfile's cache mounts are not in its outline, though the type has them.
        ("outline", &["cache", "cache[].ID", "cache[].location"]),
        ("lint", &["sources[].definition"]),
    ] {
        let ours = fields(&json(lab, &project, call)?);
        let theirs = fields(&json(lab, &other, call)?);
        let extra: Vec<&String> = ours
            .iter()
            // A Dockerfile's places are whole lines: characters are 0 there, and not written.
            .filter(|field| !field.ends_with(".character"))
            .filter(|field| {
                !theirs.contains(*field) && !optional.iter().any(|known| field.starts_with(known))
            })
            .collect();
        ensure!(
            extra.is_empty(),
            "{call} has {extra:?}, a Dockerfile's has {theirs:?}"
        );
        known += ours.len();
    }
    Ok(format!("{known} fields in three answers"))
}

/// The fields of a document, with `[]` for the items of a list.
fn fields(value: &Value) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut open = vec![(String::new(), value)];
    while let Some((path, value)) = open.pop() {
        match value {
            Value::Object(members) => {
                for (name, value) in members {
                    let path = if path.is_empty() {
                        name.clone()
                    } else {
                        format!("{path}.{name}")
                    };
                    found.insert(path.clone());
                    open.push((path, value));
                }
            }
            Value::Array(items) => open.extend(items.iter().map(|item| (format!("{path}[]"), item))),
            _ => {}
        }
    }
    found
}

fn unknown(lab: &Lab) -> Result<String> {
    let project = Project::quickstart(lab)?;
    let built = ask(lab, &project, &["--call", "wheelbase.nothing"])?;
    if built.success
        || !built
            .text
            .contains("unsupported request frontend.wheelbase.nothing")
    {
        bail!("{}{}", built.text, built.answer);
    }
    Ok("refused".to_owned())
}
