//! Wheels that were compiled for other GPUs than the spec says.

use anyhow::{Result, ensure};

use crate::support::build::Build;
use crate::support::engine::{Lab, lab};
use crate::support::project::Project;

/// What is said of the kernel of `serve`, whose archs are 8.0 and 9.0, with a change to its setup.py.
fn said(lab: &Lab, from: &str, to: &str) -> Result<String> {
    let project = Project::quickstart(lab)?;
    project.salt("rowmax")?;
    project.edit("kernels/rowmax/setup.py", from, to)?;
    let built = Build::of(lab, &project).target("serve").succeed()?;
    let warnings = built.progress.warnings.iter();
    Ok(warnings
        .filter(|warning| warning.contains("no code for"))
        .cloned()
        .collect::<Vec<_>>()
        .join("\n"))
}

#[test]
fn a_wheel_that_lacks_a_gpu_of_the_spec_is_warned_of() -> Result<()> {
    let Some(lab) = lab() else { return Ok(()) };
    let usual = said(&lab, "*gencode(archs)", "*gencode(archs + \"\")")?;
    ensure!(usual.is_empty(), "{usual}");
    let one = said(&lab, "*gencode(archs)", "*gencode(\"8.0\")")?;
    ensure!(one.contains("wheel `rowmax` has no code for 9.0"), "{one}");
    // PTX is compiled by the driver for GPUs that come later.
    let ptx = said(&lab, "*gencode(archs)", "*gencode(\"8.0+PTX\")")?;
    ensure!(ptx.is_empty(), "{ptx}");
    Ok(())
}

/// As where a build leaves its kernels out because it sees no GPU.
#[test]
fn a_wheel_without_any_kernel_is_warned_of() -> Result<()> {
    let Some(lab) = lab() else { return Ok(()) };
    let project = Project::quickstart(&lab)?;
    project.salt("markupsafe")?;
    project.spec("arch   = \"any\" ", "")?;
    let built = Build::of(&lab, &project).target("serve").succeed()?;
    let words = "wheel `markupsafe` has no code for any GPU";
    let warnings = &built.progress.warnings;
    ensure!(
        warnings.iter().any(|warning| warning.contains(words)),
        "{warnings:?}"
    );
    Ok(())
}
