//! The conformance table of docs/reference/buildx.md, and rows of it that are measured.

use anyhow::{Context as _, Result, bail, ensure};

use crate::Claim;
use crate::support::engine::{Engine, Lab};

/// The engines, in the order of the table's columns.
pub(crate) const ENGINES: [&str; 3] = ["28.5", "26.1", "20.10"];

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

/// A row that is measured: the option as the document writes it, and how an engine is tried.
pub(crate) struct Row {
    pub(crate) option: &'static str,
    pub(crate) measure: fn(&Lab, &Engine) -> Result<Cell>,
}

/// A claim for each row: each engine does what the document says.
pub(crate) fn claims(rows: &'static [Row]) -> Vec<Claim> {
    let claim = |row: &'static Row| {
        let says = format!(
            "{} does on every engine what docs/reference/buildx.md says",
            row.option
        );
        Claim::new(says, move |lab| check(lab, row))
    };
    rows.iter().map(claim).collect()
}

fn check(lab: &Lab, row: &Row) -> Result<String> {
    let said = documented(row.option)?;
    let mut measured = Vec::new();
    for (version, said) in ENGINES.into_iter().zip(said) {
        let cell =
            (row.measure)(lab, &lab.engine_of(version)).with_context(|| format!("engine {version}"))?;
        ensure!(
            cell.words() == said,
            "engine {version}: {}, and the document says {said:?}",
            cell.words()
        );
        measured.push(format!("{version} {}", cell.words()));
    }
    Ok(measured.join(", "))
}

/// The cells of a row of the document, one for each engine.
fn documented(option: &str) -> Result<Vec<String>> {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/reference/buildx.md");
    let page = std::fs::read_to_string(&path).with_context(|| path.display().to_string())?;
    for line in page.lines().filter(|line| line.starts_with("| ")) {
        let mut cells = line.trim_matches('|').split('|').map(str::trim);
        if cells.next() == Some(option) {
            let cells: Vec<String> = cells.map(str::to_owned).collect();
            ensure!(
                cells.len() > ENGINES.len(),
                "the row of {option} is short: {line}"
            );
            return Ok(cells.into_iter().take(ENGINES.len()).collect());
        }
    }
    bail!("the document has no row of {option}")
}
