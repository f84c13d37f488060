//! A build in which nothing changed, through our frontend image and through BuildKit's own Dockerfile frontend.
//!
//! Both build the quickstart's `serve` on the lab's engine, in turns, and leave the image in its store. The Dockerfile is
//! a careful person's (`tests/support/plain.rs`), and its `# syntax=` line names the Dockerfile frontend as an image, so
//! that on both sides a container is started for the frontend. `tests/lab/dockerfile-frontend` makes that image;
//! `WHEELBASE_DOCKERFILE_FRONTEND` names another one. Without one the target is short: it was not measured.
//!
//! An engine spends time on each layer of an image that it exports, whoever made it, so the Dockerfile that is compared
//! makes as many layers as ours. Two others are measured beside it and are no targets: the one that installs everything
//! in one step, with fewer layers, and the same through the Dockerfile frontend that is compiled into the engine, which
//! needs neither image nor container.
//!
//! An engine also remembers every result that a step ever had and looks at all of them when it meets the step again.
//! Tests execute the same steps time after time, so the build cache is emptied first: both sides have been built once.

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
const PAIRS: usize = 40;
/// A no-op build takes at most this many times as long as through the Dockerfile frontend's image.
const MOST_RATIO: f64 = 1.0;
/// The compressed frontend image has at most this many bytes.
const MOST_BYTES: u64 = 6_000_000;

/// Our spec.
const OURS: &str = "wheelbase.toml";

/// What our build is compared with.
struct Rival {
    /// The Dockerfile.
    file: &'static str,
    name: &'static str,
    is_target: bool,
}

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
    let engine = lab.engine();
    let rivals = rivals(&project, lab)?;
    // A name for each: an image that lost its name to another one may be collected and has to be unpacked anew.
    let tag = support::unique();
    let tag_of = |file: &str| format!("{tag}-{}", file.to_lowercase());
    let build = |file: &str| -> Result<f64> {
        let build = Build::of(lab, &project)
            .file(file)
            .tag(&tag_of(file))
            .arguments(&["--load"]);
        let build = if file == OURS {
            build.target("serve")
        } else {
            build
        };
        Ok(build.succeed()?.seconds)
    };
    engine.output(&["builder", "prune", "--all", "--force"])?;
    let files: Vec<&str> = std::iter::once(OURS)
        .chain(rivals.iter().map(|rival| rival.file))
        .collect();
    let mut layers = Vec::new();
    for file in &files {
        build(file)?;
        layers.push(engine.output(&[
            "image",
            "inspect",
            "--format",
            "{{len .RootFS.Layers}}",
            &tag_of(file),
        ])?);
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
    let ours = &seconds[0];
    println!(
        "       no-op build through our image: {:.2} s, {} layers",
        median(ours.clone()),
        layers[0].trim()
    );

    let mut good = rivals.iter().any(|rival| rival.is_target);
    if !good {
        println!(
            "short  no-op build against the Dockerfile frontend's image: there is none; \
             tests/lab/dockerfile-frontend makes it"
        );
    }
    for (rival, (theirs, layers)) in rivals.iter().zip(seconds.iter().zip(&layers).skip(1)) {
        let mut ratios: Vec<f64> = ours
            .iter()
            .zip(theirs)
            .map(|(ours, theirs)| ours / theirs)
            .collect();
        ratios.sort_by(f64::total_cmp);
        let (ratio, least, most) = (median(ratios.clone()), ratios[0], ratios[PAIRS - 1]);
        let met = ratio <= MOST_RATIO;
        good &= met || !rival.is_target;
        let (word, target) = match (rival.is_target, met) {
            (false, _) => ("      ", String::new()),
            (true, true) => ("ok    ", format!(" (at most {MOST_RATIO}x)")),
            (true, false) => ("short ", format!(" (at most {MOST_RATIO}x)")),
        };
        println!(
            "{word} no-op build against {} ({:.2} s, {layers} layers): {ratio:.2}x, the median of {PAIRS} pairs from \
             {least:.2}x to {most:.2}x{target}",
            rival.name,
            median(theirs.clone()),
            layers = layers.trim(),
        );
    }
    let size = Manifest::of(&engine, &lab.frontend)?.size();
    good &= size <= MOST_BYTES;
    let word = if size <= MOST_BYTES { "ok    " } else { "short " };
    println!("{word} the compressed frontend image: {size} bytes (at most {MOST_BYTES})");
    Ok(good)
}

/// Writes what our build is compared with into a copy of the quickstart.
fn rivals(project: &Project, lab: &Lab) -> Result<Vec<Rival>> {
    plain::write(project, lab)?;
    plain::write_layers(project, lab)?;
    let mut rivals = vec![Rival {
        file: "Dockerfile",
        name: "the engine's own Dockerfile frontend, one step for all packages",
        is_target: false,
    }];
    if let Some(image) = official(lab) {
        for file in ["Dockerfile", "Dockerfile.layers"] {
            let dockerfile = project.read(file)?;
            project.write(
                &format!("{file}.image"),
                &format!("# syntax={image}\n{dockerfile}"),
            )?;
        }
        rivals.push(Rival {
            file: "Dockerfile.image",
            name: "the Dockerfile frontend's image, one step for all packages",
            is_target: false,
        });
        rivals.push(Rival {
            file: "Dockerfile.layers.image",
            name: "the Dockerfile frontend's image",
            is_target: true,
        });
    }
    Ok(rivals)
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
