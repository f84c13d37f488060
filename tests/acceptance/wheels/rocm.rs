//! Kernels for AMD's GPUs.

use anyhow::{Result, ensure};

use super::caches::warm;
use crate::Claim;
use crate::support::build::Build;
use crate::support::engine::Lab;
use crate::support::rocm::{TARGETS, project, targets};
use crate::support::unique;

pub(crate) fn claims() -> Vec<Claim> {
    let mut claims = vec![Claim::new(
        "a HIP kernel has code for every target of `archs`, in an image without hipcc that imports it",
        compiled,
    )];
    for tool in ["ccache", "sccache"] {
        claims.push(Claim::new(
            format!("{tool} in a cache mount answers at least 90% of the calls of hipcc and g++ when a HIP kernel is compiled again"),
            move |lab| warm(lab, &project(lab, tool)?, "serve", "scale", 3),
        ));
    }
    claims
}

fn compiled(lab: &Lab) -> Result<String> {
    let project = project(lab, "ccache")?;
    let tag = unique();
    let built = Build::of(lab, &project)
        .target("serve")
        .tag(&tag)
        .arguments(&["--load"])
        .succeed();
    let measured = built.and_then(|_| {
        let said = lab.engine().run(&tag, &[], &[])?;
        ensure!(said.contains("[2.0, 4.0, 6.0] without a GPU"), "{said}");
        let found = targets(lab, &tag)?;
        ensure!(found == TARGETS, "{found:?}");
        Ok(format!("imports; code for {}", found.join(" and ")))
    });
    lab.engine().remove_image(&tag);
    measured
}
