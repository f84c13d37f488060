//! Kernels for AMD's GPUs.

use anyhow::{Context as _, Result, ensure};

use crate::Claim;
use crate::support::build::{Build, Built};
use crate::support::engine::Lab;
use crate::support::progress::Vertex;
use crate::support::rocm::{STEP, TARGETS, project, targets};
use crate::support::sccache::{again, hits};
use crate::support::unique;

pub(crate) fn claims() -> Vec<Claim> {
    let mut claims = vec![Claim::new(
        "a HIP kernel has code for every target of `archs`, in an image without hipcc that imports it",
        compiled,
    )];
    for tool in ["ccache", "sccache"] {
        claims.push(Claim::new(
            format!("{tool} in a cache mount answers at least 90% of the calls of hipcc and g++ when a HIP kernel is compiled again"),
            move |lab| warm(lab, tool),
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

fn warm(lab: &Lab, tool: &str) -> Result<String> {
    let project = project(lab, tool)?;
    let serve = || Build::of(lab, &project).target("serve");
    let cold = serve().succeed()?;
    let (early, calls) = hits(&cold, "scale")?;
    ensure!(early == 0 && calls >= 3, "cold: {early} of {calls} are hits");
    again(&project)?;
    let warm = serve().succeed()?;
    let (hits, calls) = hits(&warm, "scale")?;
    ensure!(hits * 10 >= calls * 9, "warm: {hits} of {calls} are hits");
    ensure!(
        warm.executed() == [STEP],
        "the same wheel came out, and these ran: {:?}",
        warm.executed()
    );
    let seconds = |built: &Built| -> Result<f64> {
        let step = built.progress.named(STEP).and_then(Vertex::interval);
        step.map(|(start, end)| end - start).context("no compile")
    };
    Ok(format!(
        "cold 0 of {calls} in {:.1} s, warm {hits} of {calls} in {:.1} s",
        seconds(&cold)?,
        seconds(&warm)?
    ))
}
