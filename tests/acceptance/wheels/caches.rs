//! Compiler caches in a cache mount, and the counts of them.

use anyhow::{Context as _, Result, ensure};

use crate::Claim;
use crate::support::build::Build;
use crate::support::engine::Lab;
use crate::support::progress::Vertex;
use crate::support::project::Project;
use crate::support::sccache::{again, hits, project, report};
use crate::support::unique;

pub(crate) fn claims() -> Vec<Claim> {
    vec![
        Claim::new(
            "ccache in a cache mount answers at least 90% of the calls of gcc and nvcc when a wheel is compiled again",
            |lab| warm(lab, &ccache(lab)?, "train", "vecadd", 4),
        ),
        Claim::new(
            "sccache in a cache mount answers at least 90% of the calls of gcc and nvcc when a wheel is compiled again",
            |lab| warm(lab, &project(lab, "")?, "train", "vecadd", 4),
        ),
        Claim::new(
            "counts of a cached wheel are those of the build that compiled it, and cost no step",
            cached_counts,
        ),
        Claim::new(
            "another scope, size and number of jobs of sccache rebuild nothing",
            outside_of_keys,
        ),
    ]
}

fn ccache(lab: &Lab) -> Result<Project> {
    let project = Project::quickstart(lab)?;
    project.spec(
        "[wheels.vecadd]\n",
        &format!("[compiler-cache]\nscope = \"{}\"\n\n[wheels.vecadd]\n", unique()),
    )?;
    project.salt("vecadd")?;
    Ok(project)
}

/// Compiles a wheel of an image twice, the second time because of a variable that nothing reads. The compiler cache is asked
/// `least` times or more.
pub(super) fn warm(lab: &Lab, project: &Project, image: &str, wheel: &str, least: u64) -> Result<String> {
    let step = format!("[wheel {wheel}] compile");
    let build = || Build::of(lab, project).target(image);
    let cold = build().succeed()?;
    let (early, calls) = hits(&cold, wheel)?;
    ensure!(early == 0 && calls >= least, "cold: {early} of {calls} are hits");
    again(project)?;
    let warm = build().succeed()?;
    let (hits, calls) = hits(&warm, wheel)?;
    ensure!(hits * 10 >= calls * 9, "warm: {hits} of {calls} are hits");
    ensure!(
        warm.executed() == [step.as_str()],
        "the same wheel came out, and these ran: {:?}",
        warm.executed()
    );
    let seconds = |built: &crate::support::build::Built| -> Result<f64> {
        let interval = built.progress.named(&step).and_then(Vertex::interval);
        interval.map(|(start, end)| end - start).context("no compile")
    };
    Ok(format!(
        "cold 0 of {calls} in {:.1} s, warm {hits} of {calls} in {:.1} s",
        seconds(&cold)?,
        seconds(&warm)?
    ))
}

fn cached_counts(lab: &Lab) -> Result<String> {
    let project = project(lab, "")?;
    let train = || Build::of(lab, &project).target("train");
    let first = report(&train().succeed()?)?;
    let second = train().succeed()?;
    ensure!(second.executed().is_empty(), "{:?}", second.executed());
    let told = report(&second)?;
    ensure!(
        first["vecadd"]["compiled"] == true && told["vecadd"]["compiled"] == false,
        "{told}"
    );
    ensure!(told["vecadd"]["counts"] == first["vecadd"]["counts"], "{told}");
    Ok(format!("0 executed; {}", told["vecadd"]["counts"]))
}

fn outside_of_keys(lab: &Lab) -> Result<String> {
    let project = project(lab, "")?;
    let train = || Build::of(lab, &project).target("train");
    train().succeed()?;
    let scope = format!("scope = \"{}\"\nmax-size = \"3G\"\n# ", unique());
    project.spec("scope = ", &scope)?;
    project.spec("[wheels.vecadd]\n", "[wheels.vecadd]\njobs = 2\n")?;
    let built = train().succeed()?;
    ensure!(built.executed().is_empty(), "{:?}", built.executed());
    Ok("0 executed".to_owned())
}
