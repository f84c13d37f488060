//! Several platforms in one build.

use std::collections::BTreeSet;

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

use crate::Claim;
use crate::support::build::Build;
use crate::support::engine::Lab;
use crate::support::platforms::{BOTH, project, run_arm64};
use crate::support::unique;

pub(crate) fn claims() -> Vec<Claim> {
    vec![
        Claim::new(
            "one build for two platforms leaves both images in an index, arm64 from arm64 wheels, and they share the layers of \
             Python code",
            both,
        ),
        Claim::new("the image for arm64 runs on that platform", runs),
    ]
}

/// The layers of each image of an index, by platform.
fn images(lab: &Lab, reference: &str) -> Result<Vec<(String, BTreeSet<String>)>> {
    let raw = |reference: &str| -> Result<Value> {
        let text = lab
            .engine()
            .output(&["buildx", "imagetools", "inspect", "--raw", reference])?;
        serde_json::from_str(&text).with_context(|| format!("the manifest of {reference}"))
    };
    let index = raw(reference)?;
    let manifests = index["manifests"].as_array().context("no index")?;
    let name = reference.rsplit_once(':').map_or(reference, |(name, _)| name);
    manifests
        .iter()
        .map(|entry| {
            let platform = &entry["platform"];
            let words = ["os", "architecture"].map(|word| platform[word].as_str().unwrap_or_default());
            let digest = entry["digest"].as_str().unwrap_or_default();
            let manifest = raw(&format!("{name}@{digest}"))?;
            let layers = manifest["layers"].as_array().context("no layers")?.iter();
            let layers = layers.filter_map(|layer| layer["digest"].as_str().map(str::to_owned));
            Ok((words.join("/"), layers.collect()))
        })
        .collect()
}

fn both(lab: &Lab) -> Result<String> {
    let project = project(lab)?;
    let reference = format!("{}/two-platforms:{}", lab.registry, unique());
    let built = Build::of(lab, &project)
        .arguments(&[
            "--platform",
            BOTH,
            "--output",
            &format!("type=image,name={reference},push=true"),
        ])
        .succeed()?;
    let images = images(lab, &reference)?;
    let names: Vec<&str> = images.iter().map(|(name, _)| name.as_str()).collect();
    ensure!(names == ["linux/amd64", "linux/arm64"], "{names:?}");
    let shared = images[0].1.intersection(&images[1].1).count();
    ensure!(shared >= 2, "the images share {shared} layers");
    let fetched = |tag: &str| {
        let vertices = built.progress.vertices.iter();
        vertices
            .filter(|vertex| vertex.name.contains(tag) && vertex.name.contains(".whl"))
            .count()
    };
    let (amd64, arm64) = (fetched("x86_64"), fetched("aarch64"));
    ensure!(
        (amd64, arm64) == (1, 1),
        "{amd64} wheels for amd64, {arm64} for arm64"
    );
    Ok(format!(
        "{:.1} s, {shared} of {} layers are in both",
        built.seconds,
        images[1].1.len()
    ))
}

fn runs(lab: &Lab) -> Result<String> {
    let project = project(lab)?;
    let folder = tempfile::tempdir()?;
    Build::of(lab, &project)
        .arguments(&[
            "--platform",
            "linux/arm64",
            &format!("--output=type=local,dest={}", folder.path().display()),
        ])
        .succeed()?;
    let code = "import charset_normalizer.md, idna, platform; print(platform.machine(), 'imports', idna.__name__, \
                charset_normalizer.md.__file__.rpartition('.cpython')[2])";
    let said = run_arm64(lab, folder.path(), code)?;
    ensure!(said.starts_with("aarch64 imports"), "{said}");
    Ok(said.trim().to_owned())
}
