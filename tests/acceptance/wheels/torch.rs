//! Kernels for the real torch: an extension over `CUDAExtension`, and a kernel project as it is published.

use anyhow::{Context as _, Result, ensure};

use crate::Claim;
use crate::support::build::{Build, Built};
use crate::support::engine::Lab;
use crate::support::progress::Vertex;
use crate::support::project::Project;
use crate::support::sccache::hits;
use crate::support::torch::Torch;
use crate::support::unique;

pub(crate) fn claims() -> Vec<Claim> {
    vec![
        Claim::new(
            "a CUDA extension of torch is compiled against the lock's torch, passes the checks of libraries and imports, and \
             computes on the host in an image on the runtime tier, without a compiler or a driver",
            extension,
        ),
        Claim::new(
            "a published kernel project (causal-conv1d, from the sdist of the lock) is compiled in less than 8 minutes, and \
             ccache answers at least 90% when it is compiled again",
            published,
        ),
    ]
}

fn extension(lab: &Lab) -> Result<String> {
    let torch = Torch::start(lab)?;
    let project = &torch.project;
    fresh(project)?;
    project.edit(
        "kernels/axpby/setup.py",
        "version=\"1.0\"",
        &format!("version=\"1.0\", description=\"{}\"", unique()),
    )?;
    let built = Build::of(lab, project).target("axpby").succeed()?;
    let steps = ["[wheel axpby] compile", "[wheel axpby] list libraries", IMPORT];
    for step in steps {
        ensure!(
            built.executed().contains(&step),
            "{step} is not in {:?}",
            built.executed()
        );
    }
    // What the image's own module says of the image that it is imported in.
    let log = built.progress.named(IMPORT).map(|step| step.log.clone());
    let log = log.unwrap_or_default();
    let said = log.lines().find(|line| line.starts_with("computes with"));
    let said = said.with_context(|| log.clone())?;
    ensure!(
        !built
            .progress
            .warnings
            .iter()
            .any(|warning| warning.contains("no code for")),
        "{:?}",
        built.progress.warnings
    );
    let again = Build::of(lab, project).target("axpby").succeed()?;
    ensure!(again.executed().is_empty(), "again: {:?}", again.executed());
    Ok(format!(
        "compiled in {:.0} s, imported in {:.0} s, where it {said}; again: 0 executed",
        seconds(&built, steps[0])?,
        seconds(&built, IMPORT)?,
    ))
}

const IMPORT: &str = "[imports of axpby] import torch axpby._C axpby.check";

fn published(lab: &Lab) -> Result<String> {
    const STEP: &str = "[wheel causal-conv1d] compile";
    let torch = Torch::start(lab)?;
    let project = &torch.project;
    fresh(project)?;
    let salt = "[wheels.causal-conv1d.env]\n";
    project.spec(salt, &format!("{salt}SALT = \"{}\"\n", unique()))?;
    let build = || Build::of(lab, project).target("conv").succeed();
    let cold = build()?;
    let (early, calls) = hits(&cold, "causal-conv1d")?;
    let compiled = seconds(&cold, STEP)?;
    ensure!(early == 0 && calls >= 4, "cold: {early} of {calls} are hits");
    ensure!(compiled < 480.0, "{compiled:.0} s");
    project.spec("SALT = \"", "SALT = \"again-")?;
    let warm = build()?;
    let (hits, calls) = hits(&warm, "causal-conv1d")?;
    ensure!(hits * 10 >= calls * 9, "warm: {hits} of {calls} are hits");
    Ok(format!(
        "compiled in {compiled:.0} s; again in {:.0} s with {hits} of {calls} hits",
        seconds(&warm, STEP)?
    ))
}

/// Gives the compiler cache a scope that nobody has used.
fn fresh(project: &Project) -> Result<()> {
    let scope = format!("[compiler-cache]\nscope = \"{}\"\n\n[images.axpby]\n", unique());
    project.spec("[images.axpby]\n", &scope)?;
    Ok(())
}

/// How long a step took.
fn seconds(built: &Built, step: &str) -> Result<f64> {
    let interval = built.progress.named(step).and_then(Vertex::interval);
    interval
        .map(|(start, end)| end - start)
        .with_context(|| format!("no {step}"))
}
