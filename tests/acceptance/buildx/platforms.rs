//! Several platforms in one build, and what is attested of images.

use std::collections::BTreeSet;

use anyhow::{Context as _, Result, ensure};

use super::table::{self, Cell, Row};
use crate::Claim;
use crate::support::attest::{predicates, scanner};
use crate::support::build::{Build, Built};
use crate::support::engine::{Engine, Lab};
use crate::support::platforms::{BOTH, project, run_arm64};
use crate::support::registry::raw;
use crate::support::unique;

const ROWS: &[Row] = &[
    Row {
        option: "`--platform` with several platforms",
        measure: several,
    },
    Row {
        option: "`--sbom`",
        measure: |lab, engine| {
            let scanner = format!("type=sbom,generator={}", scanner(lab)?);
            attested(
                lab,
                engine,
                "false",
                &["--attest", &scanner],
                "https://spdx.dev/Document",
                2,
            )
        },
    },
    Row {
        option: "`--provenance`",
        measure: |lab, engine| attested(lab, engine, "mode=max", &[], "https://slsa.dev/provenance/", 1),
    },
];

fn several(lab: &Lab, engine: &Engine) -> Result<Cell> {
    let project = project(lab)?;
    let built = Build::of(lab, &project)
        .on(engine)
        .arguments(&["--platform", BOTH])
        .run()?;
    said_no(&built)
}

/// A build that worked, or one that an engine without attestations or indexes refuses.
fn said_no(built: &Built) -> Result<Cell> {
    if built.success {
        return Ok(Cell::Works);
    }
    let known = ["multi-platform", "multiple platforms", "ttestation"];
    ensure!(
        known.iter().any(|word| built.text.to_lowercase().contains(word)),
        "{}",
        built.text
    );
    Ok(Cell::SaysNo)
}

/// Pushes an image with what the client asks for; the registry has to have so many statements of a kind.
fn attested(
    lab: &Lab,
    engine: &Engine,
    provenance: &str,
    flags: &[&str],
    kind: &str,
    count: usize,
) -> Result<Cell> {
    let project = project(lab)?;
    let reference = format!("{}/attested:{}", lab.registry, unique());
    let output = format!("type=image,name={reference},push=true");
    let built = Build::of(lab, &project)
        .on(engine)
        .provenance(provenance)
        .arguments(flags)
        .arguments(&["--output", &output])
        .run()?;
    let cell = said_no(&built)?;
    if cell == Cell::Works {
        let found = predicates(lab, &reference)?;
        let of_kind = found.iter().filter(|(of, _)| of.starts_with(kind)).count();
        ensure!(of_kind == count, "{of_kind} statements {kind}, not {count}");
    }
    Ok(cell)
}

pub(crate) fn claims() -> Vec<Claim> {
    let mut claims = vec![
        Claim::new(
            "one build for two platforms leaves both images in an index, arm64 from arm64 wheels, and they share the layers of \
             Python code",
            both,
        ),
        Claim::new("the image for arm64 runs on that platform", runs),
    ];
    claims.extend(table::claims(ROWS));
    claims
}

/// The layers of each image of an index, by platform.
fn images(lab: &Lab, reference: &str) -> Result<Vec<(String, BTreeSet<String>)>> {
    let index = raw(&lab.engine(), reference)?;
    let manifests = index["manifests"].as_array().context("no index")?;
    let name = reference.rsplit_once(':').map_or(reference, |(name, _)| name);
    manifests
        .iter()
        .map(|entry| {
            let platform = &entry["platform"];
            let words = ["os", "architecture"].map(|word| platform[word].as_str().unwrap_or_default());
            let digest = entry["digest"].as_str().unwrap_or_default();
            let manifest = raw(&lab.engine(), &format!("{name}@{digest}"))?;
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
    let fetched = |package: &str| {
        let vertices = built.progress.vertices.iter();
        vertices
            .filter(|vertex| vertex.name.starts_with(&format!("[fetch] {package}-")))
            .count()
    };
    let (compiled, pure) = (fetched("charset_normalizer"), fetched("idna"));
    ensure!(
        (compiled, pure) == (2, 1),
        "{compiled} wheels of the compiled package, {pure} of the one that is Python alone"
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
