//! A spec whose one wheel is the list of the files that its source has: what a build sees of a context, in a small target.

use anyhow::{Context as _, Result};

use super::engine::Lab;
use super::project::Project;
use super::tree::Tree;

/// The wheel, and the target.
pub(crate) const WHEEL: &str = "listing";

/// The spec. `source` stands after `source =` of the wheel.
pub(crate) fn spec(lab: &Lab, source: &str) -> String {
    let Lab {
        registry, frontend, ..
    } = lab;
    format!(
        r#"# syntax={frontend}
name = "listing"
[gpu]
cuda = "13.0.2"
os = "ubuntu22.04"
archs = ["9.0"]
mirror = "{registry}"
[python]
version = "3.11"
provider = {{ image = "{registry}/wheelbase-lab/python:3.11" }}
[uv]
image = "{registry}/astral-sh/uv:0.13.9"
[compiler-cache]
tool = "none"
[wheels.listing]
source = {source}
arch = "any"
command = "find . -mindepth 1 -printf '%P\\n' | sort > /wheels/listing-1.0-py3-none-any.whl"
[images.app]
tier = "devel"
wheels = ["listing"]
[images.plain]
tier = "base"
"#
    )
}

/// A folder with the spec, whose wheel is all of it, and some files.
///
/// # Errors
///
/// When it cannot be written.
pub(crate) fn project(lab: &Lab, files: &[&str]) -> Result<Project> {
    let project = Project::empty()?;
    project.write("wheelbase.toml", &spec(lab, "{ path = \".\" }"))?;
    for file in files {
        project.write(file, file)?;
    }
    Ok(project)
}

/// The list in the exported target.
///
/// # Errors
///
/// When it is not there.
pub(crate) fn list(tree: &Tree) -> Result<Vec<String>> {
    let entry = tree.entries.get("listing-1.0-py3-none-any.whl");
    let text = entry.and_then(|entry| entry.text.as_ref());
    let text = text.with_context(|| format!("the target has no list: {:?}", tree.entries.keys()))?;
    Ok(text.lines().map(str::to_owned).collect())
}
