//! Places and files in the JSON that Go makes of `pb.Location` and `pb.SourceInfo`, the shape of all answers that point into
//! files: zeros are left out, and bytes are base64.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};

use crate::diagnostic::{Location, SourceFile};
use crate::llb::{source_info, source_range};
use crate::proto::pb;

/// Files that an answer points into, each once.
#[derive(Debug)]
pub(super) struct Sources(Vec<Arc<SourceFile>>);

impl Sources {
    /// The file that comes first, whether or not something points into it.
    pub(super) fn new(first: &Arc<SourceFile>) -> Self {
        Self(vec![Arc::clone(first)])
    }

    /// A place as `pb.Location`.
    pub(super) fn place(&mut self, location: &Location) -> Value {
        let known = self.0.iter().position(|file| *file == location.file);
        let index = known.unwrap_or_else(|| {
            self.0.push(Arc::clone(&location.file));
            self.0.len() - 1
        });
        let range = source_range(location);
        let mut place = Map::new();
        if index > 0 {
            place.insert("sourceIndex".to_owned(), json!(index));
        }
        let range = json!({ "start": position(range.start), "end": position(range.end) });
        place.insert("ranges".to_owned(), json!([range]));
        Value::Object(place)
    }

    /// The place of what has none. Clients look at an index below 0 as at no place, and fail without any.
    pub(super) fn nowhere() -> Value {
        json!({ "sourceIndex": -1 })
    }

    /// The files' texts.
    pub(super) fn texts(&self) -> Value {
        self.0
            .iter()
            .map(|file| json!(STANDARD.encode(&file.text)))
            .collect()
    }

    /// The files as `pb.SourceInfo`.
    pub(super) fn infos(&self) -> Value {
        self.0
            .iter()
            .map(|file| {
                let info = source_info(file, None);
                let mut value = json!({ "filename": info.filename, "data": STANDARD.encode(&info.data) });
                if !info.language.is_empty() {
                    value["language"] = json!(info.language);
                }
                value
            })
            .collect()
    }
}

fn position(position: Option<pb::Position>) -> Value {
    let position = position.unwrap_or_default();
    let mut value = Map::new();
    for (name, number) in [("line", position.line), ("character", position.character)] {
        if number != 0 {
            value.insert(name.to_owned(), json!(number));
        }
    }
    Value::Object(value)
}

/// Rows of columns as Go's tabwriter sets them, `gap` spaces apart.
pub(super) fn columns(rows: &[Vec<String>], gap: usize) -> String {
    let width = |column: usize| {
        let cells = rows.iter().filter(|row| column + 1 < row.len());
        cells.map(|row| row[column].chars().count()).max().unwrap_or(0) + gap
    };
    let count = rows.iter().map(Vec::len).max().unwrap_or(0);
    let widths: Vec<usize> = (0..count).map(width).collect();
    let lines = rows.iter().map(|row| {
        let mut line = String::new();
        for (column, cell) in row.iter().enumerate() {
            line.push_str(cell);
            if column + 1 < row.len() {
                let fill = widths[column].saturating_sub(cell.chars().count());
                line.push_str(&" ".repeat(fill));
            }
        }
        line.truncate(line.trim_end().len());
        line + "\n"
    });
    lines.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_gos_json() {
        let spec = SourceFile::new("wheelbase.toml", "name = 1\n[gpu]\n");
        let lock = SourceFile::new("uv.lock", "version = 1\n");
        let mut sources = Sources::new(&spec);
        assert_eq!(
            sources.place(&Location::new(&spec, 10..13)).to_string(),
            r#"{"ranges":[{"end":{"character":4,"line":2},"start":{"character":1,"line":2}}]}"#
        );
        assert_eq!(
            sources.place(&Location::new(&lock, 0..7)).to_string(),
            r#"{"ranges":[{"end":{"character":7,"line":1},"start":{"line":1}}],"sourceIndex":1}"#
        );
        assert_eq!(sources.texts()[1], "dmVyc2lvbiA9IDEK");
        assert_eq!(
            sources.infos()[0],
            json!({ "filename": "wheelbase.toml", "data": "bmFtZSA9IDEKW2dwdV0K", "language": "TOML" })
        );
    }

    #[test]
    fn columns_line_up() {
        let rows = [["A", "B"], ["long", ""], ["é", "x"]].map(|row| row.map(str::to_owned).to_vec());
        assert_eq!(columns(&rows, 2), "A     B\nlong\né     x\n");
    }
}
