//! `docker buildx bake`: the file that `wheelbase bake` prints, and targets that stand in for each other.

use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};

use super::called::{self, One, Row};
use super::table::Cell;
use crate::Claim;
use crate::support::buildx::{Called, bake};
use crate::support::engine::Lab;
use crate::support::listing::{self, WHEEL};
use crate::support::project::Project;
use crate::support::registry::raw;
use crate::support::unique;
use crate::support::wheel_store;

pub(super) fn claims() -> Vec<Claim> {
    let mut claims: Vec<Claim> = ROWS.iter().map(called::claim).collect();
    claims.extend([
        Claim::new(
            "`wheelbase bake` prints a file that bake builds, all images of it",
            all_images,
        ),
        Claim::new(
            "`wheelbase bake --wheel-store` fills the store, each wheel under its key",
            fills_store,
        ),
        Claim::new(
            "layers are zstd of level 1, and what --compression says",
            compression,
        ),
    ]);
    claims
}

const ROWS: [Row; 4] = [
    Row::new(
        "bake: a Dockerfile's `FROM` of an image of ours, `target:`",
        |one| {
            let project = project(one)?;
            project.write("Dockerfile", "FROM ours\nENV ABOVE=1\n")?;
            let (tag, config) = baked(
                one,
                &project,
                &json!({
                    "ours": ours(one, "plain"),
                    "result": { "dockerfile": "Dockerfile", "contexts": { "ours": "target:ours" } },
                }),
            )?;
            ensure!(
                config["Env"].to_string().contains("VIRTUAL_ENV")
                    && config["Env"].to_string().contains("ABOVE=1"),
                "{tag}: {config}"
            );
            Ok(Cell::Works)
        },
    ),
    Row::new("bake: a tier from a Dockerfile's target, `target:`", |one| {
        let project = project(one)?;
        let tier = format!("{}/nvidia/cuda:13.0.2-base-ubuntu22.04", one.lab.registry);
        project.write(
            "Dockerfile",
            &format!("FROM {tier}\nENV MARK=1 SALT={}\n", unique()),
        )?;
        let mut result = ours(one, "plain");
        result["contexts"] = json!({ "base": "target:tier" });
        let (tag, config) = baked(
            one,
            &project,
            &json!({ "tier": { "dockerfile": "Dockerfile" }, "result": result }),
        )?;
        ensure!(config["Env"].to_string().contains("MARK=1"), "{tag}: {config}");
        Ok(Cell::Works)
    }),
    Row::new(
        "bake: a wheel's source from a Dockerfile's target, `target:`",
        |one| {
            let project = project(one)?;
            project.write("Dockerfile", "FROM scratch\nCOPY Dockerfile /made.txt\n")?;
            let mut result = ours(one, WHEEL);
            result["contexts"] = json!({ WHEEL: "target:source" });
            let list = baked_list(
                one,
                &project,
                &json!({ "source": { "dockerfile": "Dockerfile" }, "result": result }),
            )?;
            ensure!(list == ["made.txt"], "{list:?}");
            Ok(Cell::Works)
        },
    ),
    Row::new("`--compression zstd` of `wheelbase build` and `bake`", |one| {
        let types = pushed_types(one, "zstd")?;
        if types.iter().all(|kind| kind.ends_with("zstd")) {
            Ok(Cell::Works)
        } else if types.iter().all(|kind| kind.ends_with("gzip")) {
            Ok(Cell::FallsBack)
        } else {
            Ok(Cell::SaysNo)
        }
    }),
];

fn project(one: &One<'_>) -> Result<Project> {
    listing::project(one.lab, &[])
}

/// A target of the spec. Called directly, the frontend is named by an argument and not by the syntax line.
fn ours(one: &One<'_>, target: &str) -> Value {
    let mut value = json!({ "dockerfile": "wheelbase.toml", "target": target, "network": "host" });
    if one.engine.is_direct {
        value["args"] = json!({ "BUILDKIT_SYNTAX": one.lab.frontend });
    }
    value
}

fn run(one: &One<'_>, project: &Project, targets: &Value, arguments: &[&str]) -> Result<Called> {
    let file = json!({ "target": targets }).to_string();
    bake(one.lab, &one.engine, project.path(), &file, arguments)?.succeeded()
}

/// Builds the target `result` into the engine's own store; its tag and its config.
fn baked(one: &One<'_>, project: &Project, targets: &Value) -> Result<(String, Value)> {
    let tag = unique();
    let set = format!("result.tags={tag}");
    run(one, project, targets, &["result", "--load", "--set", &set])?;
    let config = one.engine.image_config(&tag);
    one.engine.remove_image(&tag);
    Ok((tag, config?))
}

/// Builds the target `result`, a list of files.
fn baked_list(one: &One<'_>, project: &Project, targets: &Value) -> Result<Vec<String>> {
    let out = tempfile::tempdir()?;
    let set = format!("result.output=type=local,dest={}", out.path().display());
    run(one, project, targets, &["result", "--set", &set])?;
    let list = out.path().join("listing-1.0-py3-none-any.whl");
    let text = std::fs::read_to_string(&list).with_context(|| list.display().to_string())?;
    Ok(text.lines().map(str::to_owned).collect())
}

/// What `wheelbase bake` prints.
pub(super) fn printed(project: &Project, arguments: &[&str]) -> Result<String> {
    let output = Command::new(env!("CARGO_BIN_EXE_wheelbase"))
        .arg("bake")
        .args(arguments)
        .current_dir(project.path())
        .output()?;
    ensure!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(String::from_utf8(output.stdout)?)
}

/// The lab's engines have no network but the host's.
pub(super) fn on_the_host(file: &str) -> Result<String> {
    let mut file: Value = serde_json::from_str(file)?;
    let targets = file["target"].as_object_mut().context("no targets")?;
    for target in targets.values_mut() {
        target["network"] = json!("host");
    }
    Ok(file.to_string())
}

fn all_images(lab: &Lab) -> Result<String> {
    let project = Project::quickstart(lab)?;
    // A layer that is there already stays as it was compressed.
    project.write("config/new.txt", &unique())?;
    let repo = format!("{}/bake/{}", lab.registry, unique());
    let file = on_the_host(&printed(&project, &["--tag", &format!("{repo}:{{image}}")])?)?;
    bake(lab, &lab.engine(), project.path(), &file, &["--push"])?.succeeded()?;
    let mut said = Vec::new();
    for image in ["serve", "train"] {
        let kinds = types(lab, &format!("{repo}:{image}"))?;
        said.push(format!("{image} with {} layers", kinds.len()));
        if image == "serve" {
            let last = kinds.last().map(String::as_str).unwrap_or_default();
            ensure!(last.ends_with("zstd"), "the new layer of {image} is {last}");
        }
    }
    Ok(said.join(", "))
}

/// What asks the lab's builder for compiled wheels.
pub(super) fn store_arguments(lab: &Lab) -> Vec<String> {
    let words = [
        "--wheel-store",
        "--",
        "--network",
        "host",
        "--allow",
        "network.host",
    ];
    let mut arguments: Vec<String> = words.map(str::to_owned).to_vec();
    if let Some(ca) = &lab.ca {
        arguments.extend(["--secret".to_owned(), format!("id=ca,src={ca}")]);
    }
    arguments
}

fn fills_store(lab: &Lab) -> Result<String> {
    let project = wheel_store::project(lab)?;
    let arguments = store_arguments(lab);
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let file = on_the_host(&printed(&project, &arguments)?)?;
    bake(lab, &lab.engine(), project.path(), &file, &["wheel-store"])?.succeeded()?;
    let list = wheel_store::wheels(lab, &project, &["list"])?;
    let stored = list.matches(" stored ").count();
    ensure!(stored == 3 && !list.contains("missing"), "{list}");
    Ok(format!("{stored} wheels, all found under their keys"))
}

/// The media types of the layers of an image in the registry.
fn types(lab: &Lab, reference: &str) -> Result<Vec<String>> {
    let engine = lab.engine();
    let mut manifest = raw(&engine, reference)?;
    if let Some(digest) = manifest["manifests"][0]["digest"].as_str() {
        let name = reference.rsplit_once(':').map_or(reference, |(name, _)| name);
        manifest = raw(&engine, &format!("{name}@{digest}"))?;
    }
    let layers = manifest["layers"].as_array().context("no layers")?;
    let kinds = layers.iter().filter_map(|layer| layer["mediaType"].as_str());
    Ok(kinds.map(str::to_owned).collect())
}

/// Builds and pushes what no build had before with `wheelbase build`; the media types of the new layers.
fn pushed_types(one: &One<'_>, compression: &str) -> Result<Vec<String>> {
    let project = project(one)?;
    project.write("new.txt", &unique())?;
    project.spec(
        "tier = \"base\"\n",
        "tier = \"base\"\ncopy = [{ from = \"new.txt\", to = \"/new.txt\" }]\n",
    )?;
    let tag = format!("{}/compression/{}:1", one.lab.registry, unique());
    let docker = one.engine.docker(&[]);
    let mut command = Command::new(env!("CARGO_BIN_EXE_wheelbase"));
    command.args([
        "build",
        "plain",
        "--tag",
        &tag,
        "--push",
        "--compression",
        compression,
    ]);
    command.args([
        "--",
        "--provenance=false",
        "--network",
        "host",
        "--allow",
        "network.host",
    ]);
    if one.engine.is_direct {
        command.args(["--build-arg", &format!("BUILDKIT_SYNTAX={}", one.lab.frontend)]);
    }
    for (name, value) in docker.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    let output = command.current_dir(project.path()).output()?;
    ensure!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let kinds = types(one.lab, &tag)?;
    // The layer of the copy is on top.
    Ok(kinds.into_iter().rev().take(1).collect())
}

fn compression(lab: &Lab) -> Result<String> {
    let one = One {
        lab,
        engine: lab.engine(),
    };
    let mut said = Vec::new();
    for (compression, end) in [("zstd", "zstd"), ("gzip", "gzip"), ("uncompressed", ".tar")] {
        let kinds = pushed_types(&one, compression)?;
        ensure!(
            kinds.iter().all(|kind| kind.ends_with(end)),
            "{compression}: {kinds:?}"
        );
        said.push(format!("{compression}: {}", kinds.join(" ")));
    }
    Ok(said.join(", "))
}
