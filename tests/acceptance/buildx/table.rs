//! Rows of docs/reference/buildx.md, each measured.

use anyhow::{Context as _, Result, bail, ensure};

use crate::Claim;
use crate::support::build::Build;
use crate::support::engine::Lab;
use crate::support::project::Project;

/// What an engine does with an option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    Works,
    FallsBack,
    #[expect(dead_code, reason = "no engine has refused a measured option so far")]
    SaysNo,
}

impl Outcome {
    fn as_str(self) -> &'static str {
        match self {
            Self::Works => "works",
            Self::FallsBack => "falls back",
            Self::SaysNo => "says no",
        }
    }
}

/// A way to the frontend: an engine, and whether its own Dockerfile frontend comes between.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Road {
    version: &'static str,
    direct: bool,
}

/// The columns of the table. The last is the way of `buildctl`: the daemon is told to run the frontend, and reads no file
/// before it.
const ROADS: [Road; 4] = [
    Road {
        version: "28.5",
        direct: false,
    },
    Road {
        version: "26.1",
        direct: false,
    },
    Road {
        version: "20.10",
        direct: false,
    },
    Road {
        version: "28.5",
        direct: true,
    },
];

/// The usual road.
pub(crate) const MAIN: Road = ROADS[0];

impl Road {
    /// The version of its engine.
    pub(crate) fn version(self) -> &'static str {
        self.version
    }

    /// A build of a project on this road.
    pub(crate) fn build<'a>(self, lab: &'a Lab, project: &Project) -> Build<'a> {
        let build = Build::of(lab, project).on(&lab.engine_of(self.version));
        if self.direct {
            let syntax = format!("BUILDKIT_SYNTAX={}", lab.frontend);
            build.arguments(&["--build-arg", &syntax])
        } else {
            build
        }
    }
}

/// An option with what measures it on a road.
pub(crate) type Row = (&'static str, fn(&Lab, Road) -> Result<Outcome>);

/// A claim for each row: it is measured on every road, and the page says the same.
pub(crate) fn claims(rows: &'static [Row]) -> Vec<Claim> {
    rows.iter()
        .map(|(option, measure)| {
            Claim::new(format!("the table of options has {option}"), move |lab| {
                let mut cells = Vec::new();
                for road in ROADS {
                    let outcome = measure(lab, road)
                        .with_context(|| format!("engine {}, direct: {}", road.version, road.direct))?;
                    cells.push(outcome.as_str());
                }
                let measured = cells.join(" | ");
                let row = format!("| {option} | {measured} |");
                let page = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/reference/buildx.md");
                let text = std::fs::read_to_string(page)?;
                if !text.lines().any(|line| line == row) {
                    let there = text
                        .lines()
                        .find(|line| line.starts_with(&format!("| {option} |")));
                    bail!(
                        "measured {measured}, and the page says {}",
                        there.unwrap_or("nothing")
                    );
                }
                Ok(measured)
            })
        })
        .collect()
}

/// An outcome that holds, or the error that says why not.
pub(crate) fn works(holds: bool, why: &str) -> Result<Outcome> {
    ensure!(holds, "{why}");
    Ok(Outcome::Works)
}
