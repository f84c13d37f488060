//! A build in which nothing changed, through our frontend image and through BuildKit's own Dockerfile frontend.
//!
//! Both build the quickstart's `serve` on the lab's engine, in turns, and leave the image in its store. The Dockerfile
//! is a careful person's (`tests/support/plain.rs`), and its `# syntax=` line names the Dockerfile frontend as an image,
//! so that on both sides a container is started for the frontend. `tests/lab/dockerfile-frontend` makes that image;
//! `WHEELBASE_DOCKERFILE_FRONTEND` names another one. The Dockerfile frontend that is compiled into the engine starts
//! no container; it is measured beside them and is no target.

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

/// Pairs of builds: one through either image.
const PAIRS: usize = 12;
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
    let engine = lab.engine();
    let official = official(lab);
    if let Some(image) = &official {
        let dockerfile = project.read("Dockerfile")?;
        project.write("Official.dockerfile", &format!("# syntax={image}\n{dockerfile}"))?;
    }
    // A name for each: an image that lost its name to another one may be collected and has to be unpacked anew.
    let tag = support::unique();
    let tag_of = |file: &str| format!("{tag}-{}", file.to_lowercase());
    let build = |file: &str| -> Result<f64> {
        let build = Build::of(lab, &project)
            .file(file)
            .tag(&tag_of(file))
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
    for pair in 0..PAIRS {
        let mut order: Vec<usize> = (0..files.len()).collect();
        // What the build before leaves behind (a busy disk, warm caches) falls on both sides alike.
        if pair % 2 == 1 {
            order.reverse();
        }
        for index in order {
            seconds[index].push(build(files[index])?);
        }
    }
    for file in &files {
        engine.remove_image(&tag_of(file));
    }
    let (ours, builtin) = (median(seconds[0].clone()), median(seconds[1].clone()));
    println!(
        "       no-op build: {ours:.2} s with our image, {builtin:.2} s with the engine's own Dockerfile frontend"
    );

    let mut good = true;
    match seconds.get(2) {
        Some(theirs) => {
            let mut ratios: Vec<f64> = seconds[0]
                .iter()
                .zip(theirs)
                .map(|(ours, theirs)| ours / theirs)
                .collect();
            ratios.sort_by(f64::total_cmp);
            let (ratio, least, most) = (median(ratios.clone()), ratios[0], ratios[PAIRS - 1]);
            let met = ratio <= MOST_RATIO;
            good &= met;
            println!(
                "{} no-op build against the Dockerfile frontend's image ({:.2} s): {ratio:.2}x, the median of {PAIRS} pairs from {least:.2}x to {most:.2}x (at most {MOST_RATIO}x)",
                if met { "ok    " } else { "short " },
                median(theirs.clone()),
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

/// The Dockerfile frontend's image: the one that is named, or the lab's where it has been made.
fn official(lab: &Lab) -> Option<String> {
    let named = std::env::var("WHEELBASE_DOCKERFILE_FRONTEND")
        .ok()
        .filter(|name| !name.is_empty());
    named.or_else(|| {
        let image = format!("{}/docker/dockerfile:1", lab.registry);
        Manifest::of(&lab.engine(), &image).is_ok().then_some(image)
    })
}

/// The middle value, or the mean of the two in the middle; not a number where there is none.
fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match (values.get(middle), values.len() % 2) {
        (Some(value), 1) => *value,
        (Some(value), _) => f64::midpoint(values[middle - 1], *value),
        (None, _) => f64::NAN,
    }
}
