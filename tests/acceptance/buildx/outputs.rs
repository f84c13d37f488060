//! Rows of the table of options that are about where a result goes, what it is called, and what the client writes of it.

use std::fs::File;

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::Value;

use super::table::{self, Cell, Row, works};
use crate::Claim;
use crate::support::build::{Build, Built};
use crate::support::engine::{Engine, Lab};
use crate::support::listing;
use crate::support::probe::{project, sights};
use crate::support::project::Project;
use crate::support::registry::raw;
use crate::support::tree::Tree;
use crate::support::unique;

const ROWS: &[Row] = &[
    Row {
        option: "`--output type=local`",
        measure: local,
    },
    Row {
        option: "`--output type=tar`",
        measure: tar,
    },
    Row {
        option: "`--output type=oci`",
        measure: oci,
    },
    Row {
        option: "`--output type=docker`",
        measure: docker,
    },
    Row {
        option: "`--output type=image,compression=zstd`",
        measure: zstd,
    },
    Row {
        option: "`--tag`, several times, and `--iidfile`",
        measure: tags,
    },
    Row {
        option: "`--metadata-file`",
        measure: metadata,
    },
    Row {
        option: "`--network host` with `--allow network.host`",
        measure: host,
    },
];

/// The only file of the target that is exported.
const WHEEL: &str = "listing-1.0-py3-none-any.whl";

pub(crate) fn claims() -> Vec<Claim> {
    table::claims(ROWS)
}

/// Builds the wheel with an output; `None` where the client or the engine refuses the output by its name.
fn exported(lab: &Lab, engine: &Engine, output: &str) -> Result<Option<Built>> {
    const REFUSED: [&str; 2] = ["exporter is not supported", "could not be found"];
    let project = listing::project(lab, &["a.txt"])?;
    let built = Build::of(lab, &project)
        .on(engine)
        .target(listing::WHEEL)
        .arguments(&[&format!("--output={output}")])
        .run()?;
    if built.success {
        return Ok(Some(built));
    }
    let said = format!("{}{}", built.text, built.progress.failures());
    ensure!(
        REFUSED.iter().any(|words| said.contains(words)),
        "it failed otherwise: {said}"
    );
    Ok(None)
}

/// The same for an archive; the files in it, by their paths.
fn archive(lab: &Lab, engine: &Engine, output: &str) -> Result<Option<Tree>> {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("out.tar");
    let output = format!("{output},dest={}", file.display());
    match exported(lab, engine, &output)? {
        Some(_) => Ok(Some(Tree::read(File::open(&file)?)?)),
        None => Ok(None),
    }
}

fn local(lab: &Lab, engine: &Engine) -> Result<Cell> {
    let folder = tempfile::tempdir()?;
    let output = format!("type=local,dest={}", folder.path().display());
    match exported(lab, engine, &output)? {
        Some(_) => works(folder.path().join(WHEEL).is_file(), "the folder has no wheel"),
        None => Ok(Cell::SaysNo),
    }
}

fn tar(lab: &Lab, engine: &Engine) -> Result<Cell> {
    match archive(lab, engine, "type=tar")? {
        Some(tree) => works(tree.has(WHEEL), "the archive has no wheel"),
        None => Ok(Cell::SaysNo),
    }
}

/// JSON of an archive of an image.
fn json(tree: &Tree, path: &str) -> Result<Value> {
    let text = tree.entries.get(path).and_then(|entry| entry.text.as_deref());
    let text = text.with_context(|| format!("no {path} in {:?}", tree.entries.keys()))?;
    Ok(serde_json::from_str(text)?)
}

fn oci(lab: &Lab, engine: &Engine) -> Result<Cell> {
    let Some(tree) = archive(lab, engine, "type=oci")? else {
        return Ok(Cell::SaysNo);
    };
    let digest = json(&tree, "index.json")?["manifests"][0]["digest"]
        .as_str()
        .context("an index without a manifest")?
        .replace(':', "/");
    let manifest = json(&tree, &format!("blobs/{digest}"))?;
    works(
        manifest["layers"].as_array().map(Vec::len) == Some(1),
        &manifest.to_string(),
    )
}

fn docker(lab: &Lab, engine: &Engine) -> Result<Cell> {
    let name = unique();
    let Some(tree) = archive(lab, engine, &format!("type=docker,name={name}"))? else {
        return Ok(Cell::SaysNo);
    };
    let manifest = &json(&tree, "manifest.json")?[0];
    let tag = manifest["RepoTags"][0].as_str().unwrap_or_default();
    works(
        tag.contains(&name) && manifest["Layers"].as_array().map(Vec::len) == Some(1),
        &manifest.to_string(),
    )
}

/// An engine whose image store has no zstd pushes gzip.
fn zstd(lab: &Lab, engine: &Engine) -> Result<Cell> {
    let reference = format!("{}/outputs/{}:1", lab.registry, unique());
    let output = format!("type=image,name={reference},push=true,compression=zstd,force-compression=true");
    if exported(lab, engine, &output)?.is_none() {
        return Ok(Cell::SaysNo);
    }
    let manifest = raw(&lab.engine(), &reference)?;
    engine.remove_image(&reference);
    let layer = manifest["layers"][0]["mediaType"].as_str().unwrap_or_default();
    match layer.rsplit(['+', '.']).next() {
        Some("zstd") => Ok(Cell::Works),
        Some("gzip") => Ok(Cell::FallsBack),
        _ => bail!("{manifest}"),
    }
}

/// The image that is a tier and nothing else, with further arguments.
fn plain(lab: &Lab, engine: &Engine, tag: &str, arguments: &[&str]) -> Result<Built> {
    let project = listing::project(lab, &[])?;
    Build::of(lab, &project)
        .on(engine)
        .target("plain")
        .tag(tag)
        .arguments(&["--load"])
        .arguments(arguments)
        .succeed()
}

/// The file has the digest of the config, which an image store of containerd does not show as the image's id.
fn tags(lab: &Lab, engine: &Engine) -> Result<Cell> {
    let (one, other) = (unique(), unique());
    let folder = Project::empty()?;
    let file = folder.path().join("iid");
    let built = plain(
        lab,
        engine,
        &one,
        &["--tag", &other, "--iidfile", &file.to_string_lossy()],
    );
    let ids = [&one, &other].map(|tag| engine.output(&["image", "inspect", "--format", "{{.Id}}", tag]));
    for tag in [&one, &other] {
        engine.remove_image(tag);
    }
    let metadata = built?.metadata;
    let [id, same] = ids;
    let (id, written) = (id?, std::fs::read_to_string(&file)?);
    ensure!(id == same?, "the tags are two images");
    let config = metadata["containerimage.config.digest"]
        .as_str()
        .unwrap_or_default();
    works(
        [id.trim(), config].contains(&written.trim()),
        &format!("the image is {id}, its config {config}, and the file says {written}"),
    )
}

fn metadata(lab: &Lab, engine: &Engine) -> Result<Cell> {
    let tag = unique();
    let built = plain(lab, engine, &tag, &[]);
    engine.remove_image(&tag);
    let mut metadata = built?.metadata;
    let said = metadata["frontend.dev.wheelbase.plan"].take();
    let plan: Value = match said.as_str() {
        Some(text) => serde_json::from_str(text)?,
        None => said,
    };
    ensure!(plan["image"] == "plain", "{plan}");
    let digest = metadata["containerimage.digest"].as_str().unwrap_or_default();
    works(digest.starts_with("sha256:"), &metadata.to_string())
}

/// A step with a network has the engine's own, as a `RUN` has.
fn host(lab: &Lab, engine: &Engine) -> Result<Cell> {
    let flags = ["--network", "host", "--allow", "network.host"];
    let devices = sights(lab, &project(lab)?, engine, &flags)?
        .map(|mut sight| sight.remove("devices").unwrap_or_default());
    let [ours, theirs] = &devices;
    works(
        ours == theirs && ours.split_whitespace().any(|device| device != "lo"),
        &format!("the step saw {ours:?}, RUN {theirs:?}"),
    )
}
