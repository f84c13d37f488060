//! Rust extension wheels.

use anyhow::{Context as _, Result, ensure};

use crate::Claim;
use crate::support::build::Build;
use crate::support::engine::Lab;
use crate::support::progress::Vertex;
use crate::support::rust::{STEP, UNCACHED, project, says, value};

pub(crate) fn claims() -> Vec<Claim> {
    vec![Claim::new(
        "a Rust extension wheel is cached after an edit of an unrelated crate of its workspace, and compiled after one of a \
         crate that it needs",
        unrelated,
    )]
}

fn unrelated(lab: &Lab) -> Result<String> {
    let project = project(lab, "source = { path = \"crates/app\" }", UNCACHED)?;
    let (built, said) = says(lab, &project)?;
    ensure!(said.starts_with(&value(&project)?), "the program says {said}");
    let step = built.progress.named(STEP).and_then(Vertex::interval);
    let (start, end) = step.context("it was not compiled")?;
    for (file, text) in [
        ("crates/other/src/lib.rs", "this is no Rust either\n"),
        ("crates/other/README.md", "new\n"),
    ] {
        project.write(file, text)?;
        let built = Build::of(lab, &project).target("app").succeed()?;
        ensure!(built.executed().is_empty(), "{file}: {:?}", built.executed());
    }
    project.write(
        "crates/stamp/src/lib.rs",
        "pub const VALUE: &str = \"another\";\n",
    )?;
    let (built, said) = says(lab, &project)?;
    ensure!(said.ends_with(" another"), "the program says {said}");
    ensure!(built.executed().contains(&STEP), "{:?}", built.executed());
    Ok(format!(
        "compiled in {:.1} s; edits of another crate: 0 executed; an edit of a build dependency: compiled",
        end - start
    ))
}
