//! A build in which nothing changed, through our frontend image and through BuildKit's own Dockerfile frontend.
//!
//! Both build the quickstart's `serve` on the lab's engine, in turns, and leave the image in its store. The Dockerfile
//! is a careful person's (`tests/support/plain.rs`). It is built by the frontend that is compiled into the engine,
//! which starts no container; the frontend image that BuildKit publishes cannot be had without its registry, and
//! `WHEELBASE_DOCKERFILE_FRONTEND` names a copy of it where there is one.

#![allow(clippy::print_stdout, reason = "it prints its figures")]

use std::process::ExitCode;

use anyhow::Result;

use support::build::Build;
use support::engine::{Lab, lab};
use support::plain;
use support::project::Project;
use support::registry::Manifest;

#[path = "../tests/support/mod.rs"]
mod support;

/// Builds of each kind.
const RUNS: usize = 9;
/// A no-op build takes at most this many times as long as through the Dockerfile frontend's image.
const MOST_RATIO: f64 = 1.0;
/// The compressed frontend image has at most this many bytes.
const MOST_BYTES: u64 = 6_000_000;

fn main() -> ExitCode {
    let Some(lab) = lab() else {
        return ExitCode::SUCCESS;
    };
    match measure(&lab) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            println!("short  {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn measure(lab: &Lab) -> Result<bool> {
    let project = Project::quickstart(lab)?;
    plain::write(&project, lab)?;
    let official = std::env::var("WHEELBASE_DOCKERFILE_FRONTEND")
        .ok()
        .filter(|name| !name.is_empty());
    if let Some(image) = &official {
        let dockerfile = project.read("Dockerfile")?;
        project.write("Official.dockerfile", &format!("# syntax={image}\n{dockerfile}"))?;
    }
    let engine = lab.engine();
    let tag = support::unique();
    let build = |file: &str| -> Result<f64> {
        let build = Build::of(lab, &project)
            .file(file)
            .tag(&tag)
            .arguments(&["--load"]);
        let build = if file == "wheelbase.toml" {
            build.target("serve")
        } else {
            build
        };
        Ok(build.succeed()?.seconds)
    };
    let mut files = vec!["wheelbase.toml", "Dockerfile"];
    if official.is_some() {
        files.push("Official.dockerfile");
    }
    for file in &files {
        build(file)?;
    }
    let mut seconds = vec![Vec::new(); files.len()];
    for _ in 0..RUNS {
        for (file, seconds) in files.iter().zip(&mut seconds) {
            seconds.push(build(file)?);
        }
    }
    engine.remove_image(&tag);
    let medians: Vec<f64> = seconds.into_iter().map(median).collect();
    let (ours, builtin) = (medians[0], medians[1]);
    println!(
        "       no-op build: {ours:.2} s with our image, {builtin:.2} s with the engine's own Dockerfile frontend"
    );

    let mut good = true;
    match medians.get(2) {
        Some(official) => {
            let ratio = ours / official;
            good &= ratio <= MOST_RATIO;
            let word = if ratio <= MOST_RATIO { "ok    " } else { "short " };
            println!(
                "{word} no-op build against the Dockerfile frontend's image ({official:.2} s): {ratio:.2}x (at most {MOST_RATIO}x)"
            );
        }
        None => println!(
            "       against the engine's own: {:.2}x; it needs no image and no container, so it is no target",
            ours / builtin
        ),
    }
    let size = Manifest::of(&engine, &lab.frontend)?.size();
    good &= size <= MOST_BYTES;
    let word = if size <= MOST_BYTES { "ok    " } else { "short " };
    println!("{word} the compressed frontend image: {size} bytes (at most {MOST_BYTES})");
    Ok(good)
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}
