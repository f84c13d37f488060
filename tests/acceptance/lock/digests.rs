//! The same layers on another builder.

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

use crate::Claim;
use crate::support::build::Build;
use crate::support::engine::{Engine, Lab};
use crate::support::project::Project;
use crate::support::unique;

pub(crate) fn claims() -> Vec<Claim> {
    ["serve", "train"]
        .into_iter()
        .map(|target| {
            Claim::new(
                format!(
                    "all layers of {target} have the same digests when engines 28.5 and 26.1 make them anew"
                ),
                move |lab| same_digests(lab, target),
            )
        })
        .collect()
}

fn same_digests(lab: &Lab, target: &str) -> Result<String> {
    let project = Project::quickstart(lab)?;
    // `--no-cache` empties the cache mounts that it meets, so they are this build's own.
    project.spec(
        "[layers]",
        &format!("[compiler-cache]\nscope = \"{}\"\n\n[layers]", unique()),
    )?;
    let engines = ["28.5", "26.1"].map(|version| lab.engine_of(version));
    let layers = |engine: &Engine| layers(lab, &project, engine, target);
    let (first, second) = (layers(&engines[0])?, layers(&engines[1])?);
    ensure!(
        first.len() == second.len(),
        "{} layers on 28.5, {} on 26.1",
        first.len(),
        second.len()
    );
    let other: Vec<String> = (1..)
        .zip(first.iter().zip(&second))
        .filter(|(_, (first, second))| first != second)
        .map(|(number, _)| number.to_string())
        .collect();
    ensure!(
        other.is_empty(),
        "of {} layers these differ: {}",
        first.len(),
        other.join(", ")
    );
    Ok(format!("{} layers, 0 differences", first.len()))
}

/// Digests of an image's uncompressed layers, lowest first. Compressed ones would compare two versions of gzip.
fn layers(lab: &Lab, project: &Project, engine: &Engine, target: &str) -> Result<Vec<String>> {
    let folder = tempfile::tempdir()?;
    let archive = folder.path().join("image.tar");
    // `--pull` has both engines start from the registry's tiers, whatever their own stores have under the name.
    Build::of(lab, project)
        .on(engine)
        .target(target)
        .arguments(&["--no-cache", "--pull"])
        .arguments(&[&format!("--output=type=oci,dest={}", archive.display())])
        .succeed()?;
    let index = blob(&archive, "index.json")?;
    let mut manifest = blob(&archive, &path(&index["manifests"][0])?)?;
    if manifest["manifests"].is_array() {
        manifest = blob(&archive, &path(&manifest["manifests"][0])?)?;
    }
    let config = blob(&archive, &path(&manifest["config"])?)?;
    let digests = config["rootfs"]["diff_ids"]
        .as_array()
        .context("the image has no layers")?;
    Ok(digests.iter().map(ToString::to_string).collect())
}

/// Where a descriptor's blob is in an OCI layout.
fn path(descriptor: &Value) -> Result<String> {
    let digest = descriptor["digest"].as_str().context("no digest")?;
    Ok(format!("blobs/{}", digest.replace(':', "/")))
}

/// A JSON file of a tar archive.
fn blob(archive: &std::path::Path, path: &str) -> Result<Value> {
    let mut tar = tar::Archive::new(std::fs::File::open(archive)?);
    for entry in tar.entries_with_seek()? {
        let entry = entry?;
        if entry.path()?.to_string_lossy() == path {
            return Ok(serde_json::from_reader(entry)?);
        }
    }
    anyhow::bail!("the image has no {path}")
}
