//! Statements that are attached to images: a scanner that makes some, and what a registry has of them.

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

use super::build::Build;
use super::engine::Lab;
use super::project::Project;
use super::registry::raw;
use super::unique;

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
pub(crate) fn scanner(lab: &Lab) -> Result<String> {
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
pub(crate) fn predicates(lab: &Lab, reference: &str) -> Result<Vec<(String, Value)>> {
    let name = reference.rsplit_once(':').map_or(reference, |(name, _)| name);
    let index = raw(&lab.engine(), reference)?;
    let attached = index["manifests"].as_array().context("no index")?.iter();
    let attached =
        attached.filter(|entry| entry["annotations"]["vnd.docker.reference.type"] == "attestation-manifest");
    let mut found = Vec::new();
    for entry in attached {
        let manifest = raw(
            &lab.engine(),
            &format!("{name}@{}", entry["digest"].as_str().unwrap_or_default()),
        )?;
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
