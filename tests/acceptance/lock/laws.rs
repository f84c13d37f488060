//! Laws that hold for every lock, tried on generated ones, and failures that users have had.

use anyhow::Result;

use crate::Claim;
use crate::cargo::{benches, tests};

pub(crate) fn claims() -> Vec<Claim> {
    vec![
        Claim::new(
            "a subset grows with its roots, has no order, and changes with what is inside it alone",
            |_| passing(&["--lib", "lock::laws::"]),
        ),
        Claim::new(
            "a layer that packages share is halved above its largest size, and nothing else moves",
            |_| passing(&["--lib", "plan::layers::"]),
        ),
        Claim::new("failures that users of locks have had do not happen", |_| {
            passing(&["--test", "cases"])
        }),
        Claim::new(
            "time to parse, subset and plan beside `uv export --frozen`",
            |_| benches(&["lock"]),
        ),
    ]
}

fn passing(arguments: &[&str]) -> Result<String> {
    let (_, passed) = tests(arguments)?;
    Ok(format!("{passed} tests passed"))
}
