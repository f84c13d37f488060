//! The same bytes from the same meaning.

use std::collections::BTreeMap;
use std::process::Command;

use anyhow::{Result, bail, ensure};
use bollard_buildkit_proto::pb;
use prost::Message as _;

use crate::Claim;
use crate::support::engine::Lab;
use crate::support::project::Project;

pub(crate) fn claims() -> Vec<Claim> {
    vec![
        Claim::new("two processes give byte-identical LLB", two_processes),
        Claim::new(
            "shuffled tables give byte-identical operations and metadata",
            shuffled_tables,
        ),
    ]
}

/// What `wheelbase plan IMAGE --format llb` writes.
fn definition(project: &Project, image: &str) -> Result<Vec<u8>> {
    let output = Command::new(env!("CARGO_BIN_EXE_wheelbase"))
        .args(["plan", image, "--format", "llb"])
        .current_dir(project.path())
        .output()?;
    if !output.status.success() {
        bail!("{}", String::from_utf8_lossy(&output.stderr));
    }
    ensure!(output.stdout.len() > 1000, "only {} bytes", output.stdout.len());
    Ok(output.stdout)
}

/// A definition without its source map, read by an implementation of the protocol that is not ours.
fn without_source(bytes: &[u8]) -> Result<Vec<u8>> {
    let definition = pb::Definition::decode(bytes)?;
    let mut all: Vec<u8> = definition.def.concat();
    let metadata: BTreeMap<_, _> = definition.metadata.into_iter().collect();
    for (digest, metadata) in metadata {
        all.extend(format!("{digest} {metadata:?}\n").bytes());
    }
    Ok(all)
}

fn two_processes(lab: &Lab) -> Result<String> {
    let (one, other) = (Project::quickstart(lab)?, Project::quickstart(lab)?);
    let mut bytes = 0;
    for image in ["serve", "train"] {
        let first = definition(&one, image)?;
        ensure!(
            first == definition(&other, image)?,
            "{image}: two processes differ"
        );
        bytes += first.len();
    }
    Ok(format!("{bytes} bytes, equal"))
}

fn shuffled_tables(lab: &Lab) -> Result<String> {
    let project = Project::quickstart(lab)?;
    let mut bytes = 0;
    for image in ["serve", "train"] {
        let shuffled = Project::quickstart(lab)?;
        shuffled.shuffle()?;
        let first = without_source(&definition(&project, image)?)?;
        let second = without_source(&definition(&shuffled, image)?)?;
        ensure!(first == second, "{image}: the definitions differ");
        bytes += first.len();
    }
    Ok(format!(
        "{bytes} bytes, equal; the source map, which holds the file's text, is left out"
    ))
}
