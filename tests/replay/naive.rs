//! A second answer to "does this edit concern that package", by reading a lock as lines of text.
//!
//! It follows names: an edge reaches every version of its name, whatever its marker says, and the extras that it names.
//! All that it meets counts: versions, sources, the hashes of all files, and the edges with their markers as text. So
//! it may call an edit a change where a wheel for another platform was added or a marker does not hold; the other way
//! round, an edit that it calls no change must be none.

use std::collections::{BTreeMap, BTreeSet};

#[derive(Default)]
pub(crate) struct Entry {
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) source: String,
    pub(crate) hashes: BTreeSet<String>,
    /// File names and hashes, as far as the lock has both.
    pub(crate) files: Vec<(String, String)>,
    pub(crate) forks: BTreeSet<String>,
    /// By extra; `None` for what is always needed.
    pub(crate) edges: BTreeMap<Option<String>, Vec<String>>,
}

impl Entry {
    /// Whether it is a folder of the repository.
    pub(crate) fn is_project(&self) -> bool {
        ["editable =", "virtual =", "directory ="]
            .iter()
            .any(|kind| self.source.contains(kind))
    }
}

/// The lock as blocks of lines.
pub(crate) struct Naive {
    pub(crate) requires_python: String,
    pub(crate) entries: Vec<Entry>,
}

impl Naive {
    pub(crate) fn read(lock: &str) -> Self {
        let mut entries: Vec<Entry> = Vec::new();
        // Which table of the package the line is in, and which list.
        let (mut table, mut list) = ("", String::new());
        let requires_python = lock
            .lines()
            .find_map(|line| line.strip_prefix("requires-python = "));
        for line in lock.lines() {
            if line == "[[package]]" {
                entries.push(Entry::default());
                (table, list) = ("package", String::new());
                continue;
            }
            if line.starts_with('[') {
                table = match line {
                    "[package.optional-dependencies]" => "extras",
                    _ => "",
                };
                list.clear();
                continue;
            }
            let Some(entry) = entries.last_mut() else {
                continue;
            };
            if line == "]" {
                list.clear();
                continue;
            }
            let item = line.strip_prefix("    ").map(|item| item.trim_end_matches(','));
            let (key, value) = match (item, line.split_once(" = ")) {
                (Some(item), _) => (list.clone(), item),
                (None, Some((key, "["))) => {
                    key.clone_into(&mut list);
                    continue;
                }
                (None, Some((key, value))) => (key.to_owned(), value),
                (None, None) => continue,
            };
            match (table, key.as_str()) {
                ("package", "name") => value.trim_matches('"').clone_into(&mut entry.name),
                ("package", "version") => value.trim_matches('"').clone_into(&mut entry.version),
                ("package", "source") => value.clone_into(&mut entry.source),
                ("package", "sdist" | "wheels") => {
                    let (hash, url) = (text(value, "hash"), text(value, "url"));
                    entry.hashes.insert(hash.or(url).unwrap_or(value).to_owned());
                    if let Some((hash, url)) = hash.zip(url) {
                        let name = url.rsplit('/').next().unwrap_or(url);
                        entry.files.push((name.replace("%2B", "+"), hash.to_owned()));
                    }
                }
                ("package", "resolution-markers") => {
                    entry.forks.insert(value.to_owned());
                }
                ("package", "dependencies") => {
                    entry.edges.entry(None).or_default().push(value.to_owned());
                }
                ("extras", extra) => {
                    let extra = extra.trim_matches('"').to_owned();
                    entry.edges.entry(Some(extra)).or_default().push(value.to_owned());
                }
                _ => {}
            }
        }
        Self {
            requires_python: requires_python.unwrap_or_default().to_owned(),
            entries,
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Everything that can be reached from a name.
    pub(crate) fn closure(&self, root: &str) -> BTreeSet<String> {
        let mut met = BTreeSet::new();
        let mut seen = BTreeSet::new();
        let mut open = vec![(root.to_owned(), None)];
        while let Some((name, extra)) = open.pop() {
            if !seen.insert((name.clone(), extra.clone())) {
                continue;
            }
            for entry in self.entries.iter().filter(|entry| entry.name == name) {
                let version = if entry.is_project() { "" } else { &entry.version };
                met.insert(format!(
                    "{name} {version} {} {:?} {:?}",
                    entry.source, entry.hashes, entry.forks
                ));
                for edge in entry.edges.get(&extra).into_iter().flatten() {
                    met.insert(format!("{name} {extra:?} -> {edge}"));
                    let Some(target) = text(edge, "name") else {
                        continue;
                    };
                    open.push((target.to_owned(), None));
                    open.extend(extras(edge).map(|extra| (target.to_owned(), Some(extra.to_owned()))));
                }
            }
        }
        met
    }
}

/// The extras that an edge asks for.
pub(crate) fn extras(edge: &str) -> impl Iterator<Item = &str> {
    let list = edge
        .split_once("extra = [")
        .and_then(|(_, rest)| rest.split_once(']'))
        .map_or("", |(list, _)| list);
    list.split('"').skip(1).step_by(2)
}

/// The text of a key in an inline table.
pub(crate) fn text<'a>(table: &'a str, key: &str) -> Option<&'a str> {
    let (_, rest) = table.split_once(&format!("{key} = \""))?;
    rest.split('"').next()
}
