//! What is attested of an image: lists of its contents.

use anyhow::{Context as _, Result};

use crate::support::attest::{predicates, scanner};
use crate::support::build::Build;
use crate::support::engine::lab;
use crate::support::project::Project;
use crate::support::unique;

#[test]
fn a_scanner_and_the_lock_say_what_is_in_an_image() -> Result<()> {
    let Some(lab) = lab() else { return Ok(()) };
    let project = Project::quickstart(&lab)?;
    let reference = format!("{}/attested:{}", lab.registry, unique());
    Build::of(&lab, &project)
        .target("serve")
        .arguments(&[
            "--attest",
            &format!("type=sbom,generator={}", scanner(&lab)?),
            "--build-arg",
            "BUILDKIT_SBOM_SCAN_STAGE=true",
            "--output",
            &format!("type=image,name={reference},push=true"),
        ])
        .succeed()?;
    let found = predicates(&lab, &reference)?;
    let named = |name: &str| {
        let mut spdx = found
            .iter()
            .filter(|(kind, _)| kind == "https://spdx.dev/Document");
        spdx.find_map(|(_, predicate)| (predicate["name"] == name).then_some(predicate))
    };
    let core = named("sbom").context("nothing of the scanner")?;
    assert_eq!(core["comment"], "nvcc no");
    let stage = named("sbom-rowmax").context("the compile was not scanned")?;
    assert_eq!(stage["comment"], "nvcc yes");

    let lock = named("serve").context("nothing of the lock")?;
    let packages = lock["packages"].as_array().context("no packages")?;
    let package = |name: &str| packages.iter().find(|package| package["name"] == name);
    let numpy = package("numpy").context("no numpy")?;
    assert!(numpy["versionInfo"].is_string() && numpy["checksums"][0]["checksumValue"].is_string());
    assert!(
        package("vecadd").is_none() && package("click").is_none(),
        "of another image"
    );
    let rowmax = package("rowmax").context("no rowmax")?;
    let relations = lock["relationships"].as_array().context("no relationships")?;
    assert!(relations.iter().any(|relation| {
        relation["spdxElementId"] == rowmax["SPDXID"] && relation["relationshipType"] == "GENERATED_FROM"
    }));
    Ok(())
}

#[test]
fn provenance_names_every_wheel() -> Result<()> {
    let Some(lab) = lab() else { return Ok(()) };
    let project = Project::quickstart(&lab)?;
    let reference = format!("{}/attested:{}", lab.registry, unique());
    Build::of(&lab, &project)
        .target("serve")
        .provenance("mode=max")
        .arguments(&["--output", &format!("type=image,name={reference},push=true")])
        .succeed()?;
    let found = predicates(&lab, &reference)?;
    let (_, provenance) = found
        .iter()
        .find(|(kind, _)| kind.starts_with("https://slsa.dev/provenance/"))
        .context("no provenance")?;
    let text = provenance.to_string();
    let lock = project.read("uv.lock")?;
    for name in ["idna", "numpy", "markupsafe"] {
        let of_package =
            |line: &&str| line.contains(&format!("/files/{name}-")) && line.contains("hash = \"sha256:");
        let known = lock.lines().filter(of_package).any(|line| {
            let part = |start: &str| line.split(start).nth(1).and_then(|rest| rest.split('"').next());
            let (url, hash) = (part("url = \""), part("hash = \"sha256:"));
            url.is_some_and(|url| text.contains(url)) && hash.is_some_and(|hash| text.contains(hash))
        });
        assert!(known, "{name}: {text}");
    }
    Ok(())
}

#[test]
fn a_scanner_that_is_not_there_ends_the_build() -> Result<()> {
    let Some(lab) = lab() else { return Ok(()) };
    let project = Project::quickstart(&lab)?;
    let missing = format!("{}/scanner:missing", lab.registry);
    let built = Build::of(&lab, &project)
        .target("serve")
        .arguments(&["--attest", &format!("type=sbom,generator={missing}")])
        .fail()?;
    assert!(
        built
            .text
            .contains(&format!("the scanner {missing} cannot be resolved")),
        "{}",
        built.text
    );
    Ok(())
}
