//! What is attested of an image: lists of its contents.

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

use crate::support::build::Build;
use crate::support::engine::{Lab, lab};
use crate::support::project::Project;
use crate::support::unique;

/// What a scanner does: a statement for each folder that it is shown.
const SCAN: &str = r#"set -eu
for source in "$BUILDKIT_SCAN_SOURCE" ${BUILDKIT_SCAN_SOURCE_EXTRAS:+"$BUILDKIT_SCAN_SOURCE_EXTRAS"*}; do
    name=$(basename "$source")
    nvcc=no
    if ls "$source"/usr/local/cuda-*/bin/nvcc >/dev/null 2>&1; then nvcc=yes; fi
    cat >"$BUILDKIT_SCAN_DESTINATION/$name.spdx.json" <<END
{"_type": "https://in-toto.io/Statement/v0.1", "predicateType": "https://spdx.dev/Document", "predicate": {
"spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": "$name",
"documentNamespace": "https://spdx.example/$name", "comment": "nvcc $nvcc", "packages": [],
"creationInfo": {"created": "1980-01-01T00:00:00Z", "creators": ["Tool: test"]}}}
END
done
"#;

/// A scanner that keeps to the protocol and says which folders it was shown.
fn scanner(lab: &Lab) -> Result<String> {
    let project = Project::empty()?;
    project.write(
        "Dockerfile",
        &format!(
            "FROM {}/nvidia/cuda:13.0.2-base-ubuntu22.04\nCOPY scan /scan\nENTRYPOINT [\"/bin/sh\", \"/scan\"]\n",
            lab.registry
        ),
    )?;
    project.write("scan", SCAN)?;
    let image = format!("{}/scanner:{}", lab.registry, unique());
    Build::of(lab, &project)
        .file("Dockerfile")
        .arguments(&["--output", &format!("type=image,name={image},push=true")])
        .succeed()?;
    Ok(image)
}

/// The predicates, with their types, that are attached to an image of a registry.
fn predicates(lab: &Lab, reference: &str) -> Result<Vec<(String, Value)>> {
    let name = reference.rsplit_once(':').map_or(reference, |(name, _)| name);
    let raw = |reference: &str| -> Result<Value> {
        let text = lab
            .engine()
            .output(&["buildx", "imagetools", "inspect", "--raw", reference])?;
        Ok(serde_json::from_str(&text)?)
    };
    let index = raw(reference)?;
    let attached = index["manifests"].as_array().context("no index")?.iter();
    let attached =
        attached.filter(|entry| entry["annotations"]["vnd.docker.reference.type"] == "attestation-manifest");
    let mut found = Vec::new();
    for entry in attached {
        let manifest = raw(&format!(
            "{name}@{}",
            entry["digest"].as_str().unwrap_or_default()
        ))?;
        for layer in manifest["layers"].as_array().context("no layers")? {
            let statement = blob(lab, name, layer["digest"].as_str().unwrap_or_default())?;
            ensure!(
                statement["subject"][0]["digest"]["sha256"].is_string(),
                "no subject"
            );
            found.push((
                statement["predicateType"].as_str().unwrap_or_default().to_owned(),
                statement["predicate"].clone(),
            ));
        }
    }
    Ok(found)
}

fn blob(lab: &Lab, name: &str, digest: &str) -> Result<Value> {
    let path = name.trim_start_matches(&lab.registry);
    let url = format!("http://{}/v2{path}/blobs/{digest}", lab.registry);
    let output = std::process::Command::new("python3")
        .args(["-c", "import sys, urllib.request; sys.stdout.write(urllib.request.urlopen(sys.argv[1]).read().decode())"])
        .arg(&url)
        .output()?;
    serde_json::from_slice(&output.stdout).with_context(|| url)
}

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
