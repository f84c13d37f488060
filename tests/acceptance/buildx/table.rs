//! The conformance table of docs/reference/buildx.md: each of its rows is measured.

use anyhow::{Context as _, Result, bail, ensure};

use crate::Claim;
use crate::support::engine::{Engine, Lab};

/// What an engine does with an option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cell {
    /// What the Dockerfile frontend of a current BuildKit does.
    Works,
    /// Something else that serves, or the build goes on without it and says so.
    FallsBack,
    /// An error that names what is needed.
    SaysNo,
}

impl Cell {
    fn words(self) -> &'static str {
        match self {
            Self::Works => "works",
            Self::FallsBack => "falls back",
            Self::SaysNo => "says no",
        }
    }
}

/// A row: the option as the document writes it, and how an engine is tried.
pub(crate) struct Row {
    pub(crate) option: &'static str,
    pub(crate) measure: fn(&Lab, &Engine) -> Result<Cell>,
}

/// The columns with their names. The last is the way of `buildctl`: the daemon is told to run the frontend.
fn columns(lab: &Lab) -> [(&'static str, Engine); 4] {
    [
        ("28.5", lab.engine_of("28.5")),
        ("26.1", lab.engine_of("26.1")),
        ("20.10", lab.engine_of("20.10")),
        ("buildctl", lab.engine_of("28.5").direct()),
    ]
}

/// A claim for each row: each engine does what the document says.
pub(crate) fn claims(rows: &'static [Row]) -> Vec<Claim> {
    rows.iter().map(|row| claim(row.option, row.measure)).collect()
}

/// The claim that each engine does with an option what the document says.
pub(crate) fn claim(
    option: &'static str,
    measure: impl Fn(&Lab, &Engine) -> Result<Cell> + 'static,
) -> Claim {
    let says = format!("{option} does on every engine what docs/reference/buildx.md says");
    Claim::new(says, move |lab| {
        let mut measured = Vec::new();
        for (name, engine) in columns(lab) {
            let cell = measure(lab, &engine).with_context(|| format!("engine {name}"))?;
            measured.push(cell.words());
        }
        let measured = measured.join(" | ");
        let said = documented(option)?;
        ensure!(
            measured == said,
            "measured {measured}, and the document says {said}"
        );
        Ok(measured)
    })
}

/// The cells of a row of the document.
fn documented(option: &str) -> Result<String> {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/reference/buildx.md");
    let page = std::fs::read_to_string(&path).with_context(|| path.display().to_string())?;
    let start = format!("| {option} | ");
    match page.lines().find_map(|line| line.strip_prefix(&start)) {
        Some(cells) => Ok(cells.trim_end_matches(['|', ' ']).to_owned()),
        None => bail!("the document has no row of {option}"),
    }
}

/// A cell of what holds, or the error that says why not.
pub(crate) fn works(holds: bool, why: &str) -> Result<Cell> {
    ensure!(holds, "{why}");
    Ok(Cell::Works)
}
