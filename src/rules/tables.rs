//! Which table of a spec a line belongs to, by its headers: a comment above a header speaks of that table.

use std::ops::Range;
use std::sync::Arc;

use crate::diagnostic::{Location, SourceFile};

/// A header, `[images.serve]`, and what it rules over.
pub(super) struct Table<'a> {
    /// What stands between the brackets.
    pub(super) path: &'a str,
    /// The header's place.
    pub(super) header: Range<usize>,
    /// Comment lines directly above it, each with its place.
    pub(super) comments: Vec<(Range<usize>, &'a str)>,
}

/// Whether a path is a table's own or one below it.
pub(super) fn is_within(table: &str, path: &str) -> bool {
    let rest = path.strip_prefix(table);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// The lines of a text, each with the place of its first byte.
pub(super) fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut start = 0;
    text.split('\n').map(move |line| {
        let at = start;
        start += line.len() + 1;
        (at, line.trim_end_matches('\r'))
    })
}

/// All headers, in the order of the file.
pub(super) fn tables(text: &str) -> Vec<Table<'_>> {
    let mut tables = Vec::new();
    let mut comments = Vec::new();
    for (start, line) in lines(text) {
        let place = start..start + line.len();
        if line.starts_with('#') {
            comments.push((place, line));
        } else if let Some(path) = header(line) {
            tables.push(Table {
                path,
                header: place,
                comments: std::mem::take(&mut comments),
            });
        } else {
            comments.clear();
        }
    }
    tables
}

/// The path of a header. What only looks like one, in a text of several lines, is told from it by its characters.
fn header(line: &str) -> Option<&str> {
    let inner = line.strip_prefix('[')?;
    let inner = inner.strip_prefix('[').unwrap_or(inner);
    let (path, rest) = inner.split_once(']')?;
    let rest = rest.trim_start_matches(']').trim_start();
    let bare = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.\"'".contains(&byte);
    (!path.is_empty() && path.bytes().all(bare) && (rest.is_empty() || rest.starts_with('#'))).then_some(path)
}

/// The table that a place belongs to, as its header writes it; `None` above the first one.
pub fn table_of(location: &Location) -> Option<String> {
    let tables = tables(&location.file.text);
    let table = tables
        .iter()
        .take_while(|table| table.header.start <= location.range.start)
        .last()?;
    Some(table.path.to_owned())
}

/// Where a table begins, by its path.
pub fn table_named(file: &Arc<SourceFile>, path: &str) -> Option<Location> {
    let tables = tables(&file.text);
    let table = tables.iter().find(|table| table.path == path)?;
    Some(Location::new(file, table.header.clone()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "# head\nname = \"a\"\n\n# one\n# two\n[images.serve]  # three\ncmd = '''\n[ -f x ]\n'''\n\
                        # lost\n\n[[images.serve.copy]]\nfrom = \"a\"\n[images.server]\n";

    #[test]
    fn headers_are_found_with_the_comments_above() {
        let tables = tables(TEXT);
        let paths: Vec<&str> = tables.iter().map(|table| table.path).collect();
        assert_eq!(paths, ["images.serve", "images.serve.copy", "images.server"]);
        let said: Vec<&str> = tables[0].comments.iter().map(|(_, line)| *line).collect();
        assert_eq!(said, ["# one", "# two"]);
        assert!(tables[1].comments.is_empty());
        let held: Vec<bool> = paths.iter().map(|path| is_within(tables[0].path, path)).collect();
        assert_eq!(held, [true, true, false]);
    }

    #[test]
    fn places_are_told_apart() {
        let file = SourceFile::new("f", TEXT);
        let of = |word: &str| table_of(&Location::new(&file, TEXT.find(word).unwrap()..0));
        assert_eq!(of("name"), None);
        assert_eq!(of("[ -f").as_deref(), Some("images.serve"));
        assert_eq!(of("from").as_deref(), Some("images.serve.copy"));
        assert_eq!(
            table_named(&file, "images.server").map(|place| file.position(place.range.start).0),
            Some(14)
        );
        assert_eq!(table_named(&file, "gpu"), None);
    }
}
