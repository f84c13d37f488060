//! Values of a document with the types that they should have, and a note of every one that has not.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

use super::document::{self, Kind, Table, Value};
use super::marker::Marker;
use super::package::MarkerId;
use super::url;
use super::{Lock, Overrides, Package, PackageName, ParseNameError, normalise};
use crate::diagnostic::{Diagnostic, Location, SourceFile};
use crate::rules::Rule;

/// Something wrong, before it is known which file it may be drawn from.
pub(super) struct Fault {
    pub(super) range: Range<usize>,
    pub(super) message: String,
    pub(super) help: Option<String>,
}

impl Fault {
    /// As an error; `help` is what to do when the fault itself does not say it.
    pub(super) fn error(self, file: &Arc<SourceFile>, help: &str) -> Diagnostic {
        let diagnostic = Diagnostic::error(self.message).at(Location::new(file, self.range), "");
        diagnostic.help(self.help.unwrap_or_else(|| help.to_owned()))
    }

    pub(super) fn warning(self, file: &Arc<SourceFile>) -> Diagnostic {
        let diagnostic = Rule::LockNotUnderstood
            .warning(self.message)
            .at(Location::new(file, self.range), "");
        match self.help {
            Some(help) => diagnostic.help(help),
            None => diagnostic,
        }
    }
}

/// A lock with some packages and nothing more.
pub(super) fn new_lock(file: &Arc<SourceFile>, packages: Vec<Package>) -> Lock {
    let mut by_name: BTreeMap<PackageName, Vec<usize>> = BTreeMap::new();
    for (index, package) in packages.iter().enumerate() {
        by_name.entry(package.name.clone()).or_default().push(index);
    }
    Lock {
        file: Arc::clone(file),
        packages,
        by_name,
        requires_python: None,
        supported: Vec::new(),
        forks: Vec::new(),
        conflicts: Vec::new(),
        members: BTreeSet::new(),
        overrides: Overrides::default(),
        groups: BTreeMap::new(),
        markers: Vec::new(),
        list: None,
    }
}

/// Gathers what is wrong while values are taken from the document.
#[derive(Default)]
pub(super) struct Reader {
    pub(super) faults: Vec<Fault>,
    pub(super) warnings: Vec<Fault>,
    pub(super) secrets: Vec<Range<usize>>,
    pub(super) markers: Vec<Marker>,
    marker_ids: BTreeMap<String, MarkerId>,
}

impl Reader {
    pub(super) fn fault(&mut self, range: &Range<usize>, message: impl Into<String>) {
        self.faults.push(Fault {
            range: range.clone(),
            message: message.into(),
            help: None,
        });
    }

    /// What is no TOML.
    pub(super) fn syntax(&mut self, faults: Vec<document::Fault>) {
        for (range, message) in faults {
            self.fault(&range, message);
        }
    }

    pub(super) fn secret(&mut self, range: Range<usize>) {
        self.secrets.push(range.clone());
        self.faults.push(Fault {
            range,
            message: "a URL of the lock carries credentials".to_owned(),
            help: Some(
                "take user name and password out of the index or git URL that the lock is made from, give them to \
                 the build as a secret, and lock again; consider them leaked if the lock is in a repository"
                    .to_owned(),
            ),
        });
    }

    pub(super) fn wrong_type(&mut self, key: &str, value: &Value<'_>, expected: &str) {
        self.fault(
            &value.span,
            format!("`{key}` must be {expected}, not {}", value.kind.describe()),
        );
    }

    /// A string.
    pub(super) fn text<'v>(&mut self, key: &str, value: &'v Value<'_>) -> Option<&'v str> {
        if let Kind::Text(text) = &value.kind {
            return Some(text);
        }
        self.wrong_type(key, value, "a string");
        None
    }

    /// The string of a key that need not be there.
    pub(super) fn optional<'v>(&mut self, table: &'v Table<'_>, key: &str) -> Option<&'v str> {
        let value = table.get(key)?;
        self.text(key, value)
    }

    /// A URL. Escapes can hide credentials from the search of the raw text, so it is looked at once more.
    pub(super) fn url<'v>(&mut self, table: &'v Table<'_>, key: &str) -> Option<&'v str> {
        let value = table.get(key)?;
        let text = self.text(key, value)?;
        let known = self
            .secrets
            .iter()
            .any(|secret| value.span.contains(&secret.start));
        if !known && url::secrets(text).next().is_some() {
            self.secret(value.span.clone());
        }
        Some(text)
    }

    pub(super) fn table<'v, 't>(&mut self, key: &str, value: &'v Value<'t>) -> Option<&'v Table<'t>> {
        if let Kind::Table(table) = &value.kind {
            return Some(table);
        }
        self.wrong_type(key, value, "a table");
        None
    }

    /// The items of an array that need not be there.
    pub(super) fn array<'v, 't>(&mut self, table: &'v Table<'t>, key: &str) -> &'v [Value<'t>] {
        match table.get(key).map(|value| (value, &value.kind)) {
            None => &[],
            Some((_, Kind::Array(values))) => values,
            Some((value, _)) => {
                self.wrong_type(key, value, "an array");
                &[]
            }
        }
    }

    /// Tables of an array.
    pub(super) fn tables<'v, 't>(
        &mut self,
        table: &'v Table<'t>,
        key: &str,
    ) -> Vec<(&'v Range<usize>, &'v Table<'t>)> {
        let values = self.array(table, key);
        values
            .iter()
            .filter_map(|value| Some((&value.span, self.table(key, value)?)))
            .collect()
    }

    pub(super) fn name(&mut self, range: &Range<usize>, text: &str) -> Option<PackageName> {
        text.parse()
            .map_err(|error: ParseNameError| self.fault(range, error.to_string()))
            .ok()
    }

    /// A package name that must be there.
    pub(super) fn required_name(
        &mut self,
        range: &Range<usize>,
        table: &Table<'_>,
        key: &str,
    ) -> Option<PackageName> {
        let Some(value) = table.get(key) else {
            self.fault(range, format!("`{key}` is missing"));
            return None;
        };
        let text = self.text(key, value)?;
        self.name(&value.span, text)
    }

    /// A normalised extra or group.
    pub(super) fn normalised(&mut self, range: &Range<usize>, text: &str) -> Option<String> {
        let normalised = normalise(text);
        if normalised.is_none() {
            self.fault(range, format!("`{text}` is no name of an extra or group"));
        }
        normalised
    }

    /// The bytes of a file, when they are given.
    pub(super) fn size(&mut self, table: &Table<'_>) -> Option<u64> {
        let value = table.get("size")?;
        if let Kind::Integer(size) = value.kind {
            return u64::try_from(size).ok();
        }
        self.wrong_type("size", value, "an integer");
        None
    }

    /// An array of extras or groups.
    pub(super) fn names(&mut self, table: &Table<'_>, key: &str) -> BTreeSet<String> {
        let values = self.array(table, key);
        values
            .iter()
            .filter_map(|value| {
                let text = self.text(key, value)?;
                self.normalised(&value.span, text)
            })
            .collect()
    }

    pub(super) fn marker(&mut self, value: &Value<'_>) -> Option<MarkerId> {
        let text = self.text("marker", value)?;
        Some(self.marker_text(text, &value.span))
    }

    /// A marker that stands at some bytes of the file.
    pub(super) fn marker_text(&mut self, text: &str, range: &Range<usize>) -> MarkerId {
        if let Some(id) = self.marker_ids.get(text) {
            return *id;
        }
        let id = MarkerId(self.markers.len());
        self.markers.push(Marker::new(text.to_owned(), range.clone()));
        self.marker_ids.insert(text.to_owned(), id);
        id
    }

    pub(super) fn marker_array(&mut self, table: &Table<'_>, key: &str) -> Vec<MarkerId> {
        let values = self.array(table, key);
        values.iter().filter_map(|value| self.marker(value)).collect()
    }
}
