//! The histories of images as text.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::history::History;
use crate::plan::show::bytes;
use crate::plan::{LayerHistory, Replay};

/// More layers, or versions without a plan, than this are counted.
const MOST_LINES: usize = 12;

/// Which lock was looked at, and how much of it.
#[derive(Debug)]
pub(super) struct Span {
    /// Path of the lock or of the folder.
    pub(super) title: String,
    /// How many versions there are.
    pub(super) versions: usize,
    /// Name and day of the first and of the last.
    pub(super) ends: String,
}

impl Span {
    pub(super) fn of(title: &str, history: &History) -> Self {
        let word = |source: Option<&super::history::Source>| {
            source
                .map(|source| format!("{} {}", source.name, source.date).trim_end().to_owned())
                .unwrap_or_default()
        };
        let (first, last) = (history.versions.first(), history.versions.last());
        Self {
            title: title.to_owned(),
            versions: history.versions.len(),
            ends: format!("{} to {}", word(first), word(last)),
        }
    }
}

/// A table of the images, then what is to be said of each.
pub(super) fn text(span: &Span, images: &BTreeMap<String, Replay>) -> String {
    let mut out = format!("{}: {} versions, {}\n\n", span.title, span.versions, span.ends);
    let head = [
        "image",
        "edits",
        "by whole file",
        "shipped",
        "by subset",
        "shipped",
        "by layer",
        "shipped",
    ];
    let mut rows = vec![head.map(str::to_owned)];
    for (name, image) in images {
        rows.push([
            name.clone(),
            image.edits.to_string(),
            image.whole_file.keys.to_string(),
            bytes(image.whole_file.bytes),
            image.subset.keys.to_string(),
            bytes(image.subset.bytes),
            image.layers.keys.to_string(),
            bytes(image.layers.bytes),
        ]);
    }
    out.push_str(&table(&rows));
    for (name, image) in images {
        let _ = writeln!(out, "\n{name}: {}", untouched(image));
        let changed = changed(image);
        for (layer, history) in changed.iter().take(MOST_LINES) {
            let _ = writeln!(
                out,
                "  {layer}: changed by {}, {}",
                count(history.changes, "edit"),
                bytes(history.bytes)
            );
        }
        more(&mut out, changed.len(), "layer");
        if !image.unknown.is_empty() {
            let names: Vec<&str> = image.unknown.iter().map(String::as_str).collect();
            let _ = writeln!(
                out,
                "  not in the bytes, since the lock has no size or it is built: {}",
                names.join(", ")
            );
        }
        if !image.unplanned.is_empty() {
            let _ = writeln!(
                out,
                "  {} cannot be planned:",
                count(image.unplanned.len(), "version")
            );
        }
        for unplanned in image.unplanned.iter().take(MOST_LINES) {
            let _ = writeln!(out, "    {}: {}", unplanned.version, unplanned.why);
        }
        more(&mut out, image.unplanned.len(), "version");
    }
    out
}

/// `21 of 60 edits (35 %) leave its packages as they are`.
pub(super) fn untouched(image: &Replay) -> String {
    let untouched = image.edits - image.subset.edits;
    let Some(share) = (untouched * 100).checked_div(image.edits) else {
        return "there is no edit to compare".to_owned();
    };
    format!(
        "{untouched} of {} ({share} %) leave its packages as they are",
        count(image.edits, "edit")
    )
}

/// The layers that changed, most often first.
pub(super) fn changed(image: &Replay) -> Vec<(&String, &LayerHistory)> {
    let mut changed: Vec<_> = image
        .by_layer
        .iter()
        .filter(|(_, history)| history.changes > 0)
        .collect();
    changed.sort_by_key(|(_, history)| std::cmp::Reverse((history.changes, history.bytes)));
    changed
}

fn more(out: &mut String, all: usize, what: &str) {
    let more = all.saturating_sub(MOST_LINES);
    if more > 0 {
        let plural = if more == 1 { "" } else { "s" };
        let _ = writeln!(out, "  and {more} more {what}{plural}");
    }
}

fn count(number: usize, what: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {what}{plural}")
}

/// Columns of equal width: the first to the left, numbers to the right.
pub(super) fn table<const N: usize>(rows: &[[String; N]]) -> String {
    let width = |column: usize| {
        rows.iter()
            .map(|row| row[column].chars().count())
            .max()
            .unwrap_or_default()
    };
    let widths: Vec<usize> = (0..N).map(width).collect();
    let mut out = String::new();
    for row in rows {
        for (column, (cell, width)) in row.iter().zip(&widths).enumerate() {
            if column == 0 {
                let _ = write!(out, "{cell:<width$}");
            } else {
                let _ = write!(out, "  {cell:>width$}");
            }
        }
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_stand_straight() {
        let row = |cells: [&str; 2]| cells.map(str::to_owned);
        assert_eq!(
            table(&[row(["image", "edits"]), row(["a", "7"])]),
            "image  edits\na          7\n"
        );
    }

    #[test]
    fn numbers_have_their_plural() {
        assert_eq!(count(1, "edit"), "1 edit");
        assert_eq!(count(0, "edit"), "0 edits");
    }
}
