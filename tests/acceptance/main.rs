//! The project's claims, each measured from outside: BuildKit's progress, the registry, exported filesystems.
//!
//! `make acceptance AREA=main` runs the claims of one area and prints one line for each: `ok` or `short`, the claim, and
//! the figure that was measured. It exits with 1 when one is short. Without `WHEELBASE_ACCEPTANCE` nothing is done, so
//! that `cargo test` stays quick. `WHEELBASE_CLAIM` narrows the run to claims that contain its text.

#![allow(clippy::print_stdout, reason = "the lines are what this program is for")]

use std::io::Write as _;
use std::process::ExitCode;
use std::time::Instant;

use support::engine::Lab;

#[path = "../support/mod.rs"]
mod support;

mod buildx;
mod cargo;
mod commands;
mod definition;
mod edits;
mod engines;
mod install;
mod lock;
mod mistakes;
mod wheels;

/// Claims that belong together.
type Group = fn() -> Vec<Claim>;

type Measure = Box<dyn Fn(&Lab) -> anyhow::Result<String>>;

/// One claim.
struct Claim {
    /// What is claimed, in the words of a user.
    says: String,
    /// Measures it; the text is the figure. An error is a claim that fell short.
    measure: Measure,
}

impl Claim {
    fn new(says: impl Into<String>, measure: impl Fn(&Lab) -> anyhow::Result<String> + 'static) -> Self {
        Self {
            says: says.into(),
            measure: Box::new(measure),
        }
    }
}

/// Claims by area. A file of this folder is a group of claims; an area with files of its own has them in a folder.
const AREAS: [(&str, &[Group]); 4] = [
    (
        "main",
        &[
            engines::claims,
            edits::claims,
            mistakes::claims,
            definition::claims,
            install::claims,
            commands::claims,
        ],
    ),
    ("lock", lock::CLAIMS),
    ("buildx", buildx::CLAIMS),
    ("wheels", wheels::CLAIMS),
];

fn main() -> ExitCode {
    let Ok(area) = std::env::var("WHEELBASE_ACCEPTANCE") else {
        return ExitCode::SUCCESS;
    };
    let Some((_, groups)) = AREAS.iter().find(|(name, _)| *name == area) else {
        let names: Vec<&str> = AREAS.iter().map(|(name, _)| *name).collect();
        println!("there is no area `{area}`; there are: {}", names.join(", "));
        return ExitCode::FAILURE;
    };
    let claims: Vec<Claim> = groups.iter().flat_map(|group| group()).collect();
    let Some(lab) = support::engine::lab() else {
        println!("there is no lab: run tests/run acceptance {area}");
        return ExitCode::FAILURE;
    };
    let wanted = std::env::var("WHEELBASE_CLAIM").unwrap_or_default();
    let (mut ok, mut short) = (0, 0);
    for claim in claims.iter().filter(|claim| claim.says.contains(&wanted)) {
        let started = Instant::now();
        let measured = (claim.measure)(&lab);
        let seconds = started.elapsed().as_secs_f64();
        match measured {
            Ok(figure) => {
                ok += 1;
                println!("ok     {} ... {figure} ({seconds:.0} s)", claim.says);
            }
            Err(error) => {
                short += 1;
                println!("short  {} ... {error:#} ({seconds:.0} s)", claim.says);
            }
        }
        std::io::stdout().flush().ok();
    }
    println!("acceptance {area}: {ok} ok, {short} short");
    if short == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}
