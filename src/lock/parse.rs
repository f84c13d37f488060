//! From the text of `uv.lock` to a [`Lock`].
//!
//! Unknown keys are let through, since uv adds some with each revision and promises that they can be ignored; a newer
//! major `version` is refused. Everything wrong is reported at once, at its line.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::str::FromStr;
use std::sync::Arc;

use pep440_rs::VersionSpecifiers;

use super::document::{self, Kind, Table, Value};
use super::marker::{ConflictItem, Marker};
use super::package::MarkerId;
use super::source::read_source;
use super::url;
use super::{Dependency, File, Lock, Package, PackageName, Source, normalise};
use crate::diagnostic::{Diagnostic, Location, SourceFile};

/// The only format that exists (uv's `VERSION`).
const VERSION: i64 = 1;
/// The newest revision of it whose meaning is known here (uv's `REVISION`).
const REVISION: i64 = 5;

/// A requirement that belongs to the lock as a whole.
#[derive(Debug, Clone)]
pub(super) struct Requirement {
    pub(super) name: PackageName,
    pub(super) extras: BTreeSet<String>,
    pub(super) marker: Option<MarkerId>,
}

/// Reads a lock; the warnings beside it, or all errors.
pub(super) fn parse(file: &Arc<SourceFile>) -> Result<(Lock, Vec<Diagnostic>), Vec<Diagnostic>> {
    let mut reader = Reader::default();
    for range in url::secrets(&file.text) {
        reader.secret(range);
    }
    let lock = match document::read(&file.text) {
        Ok(document) => reader.lock(file, &document),
        Err(faults) => {
            reader
                .faults
                .extend(faults.into_iter().map(|(range, message)| Fault {
                    range,
                    message,
                    help: None,
                }));
            None
        }
    };
    match lock {
        Some(lock) if reader.faults.is_empty() => {
            let warnings = reader
                .warnings
                .into_iter()
                .map(|fault| fault.warning(file))
                .collect();
            Ok((lock, warnings))
        }
        _ => {
            // A diagnostic draws the line that it points to: a password there must not be on it.
            let file = url::redact(file, &reader.secrets);
            let mut faults = reader.faults;
            faults.sort_by_key(|fault| fault.range.start);
            Err(faults.into_iter().map(|fault| fault.error(&file)).collect())
        }
    }
}

/// Something wrong, before it is known which file it may be drawn from.
struct Fault {
    range: Range<usize>,
    message: String,
    help: Option<String>,
}

impl Fault {
    fn error(self, file: &Arc<SourceFile>) -> Diagnostic {
        let diagnostic = Diagnostic::error(self.message).at(Location::new(file, self.range), "");
        match self.help {
            Some(help) => diagnostic.help(help),
            None => diagnostic.help("uv.lock is written by `uv lock`; run it to write the file anew"),
        }
    }

    fn warning(self, file: &Arc<SourceFile>) -> Diagnostic {
        let diagnostic = Diagnostic::warning(self.message).at(Location::new(file, self.range), "");
        match self.help {
            Some(help) => diagnostic.help(help),
            None => diagnostic,
        }
    }
}

/// Gathers what is wrong while values are taken from the document.
#[derive(Default)]
pub(super) struct Reader {
    faults: Vec<Fault>,
    warnings: Vec<Fault>,
    secrets: Vec<Range<usize>>,
    markers: Vec<Marker>,
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

    fn secret(&mut self, range: Range<usize>) {
        self.secrets.push(range.clone());
        self.faults.push(Fault {
            range,
            message: "a URL of the lock carries credentials".to_owned(),
            help: Some(
                "take user name and password out of the index or git URL in pyproject.toml, give them to the build \
                 as a secret, and run `uv lock`; consider them leaked if the lock is in a repository"
                    .to_owned(),
            ),
        });
    }

    fn wrong_type(&mut self, key: &str, value: &Value<'_>, expected: &str) {
        self.fault(
            &value.span,
            format!("`{key}` must be {expected}, not {}", value.kind.describe()),
        );
    }

    /// A string.
    pub(super) fn text<'v>(&mut self, key: &str, value: &'v Value<'_>) -> Option<&'v str> {
        match &value.kind {
            Kind::Text(text) => Some(text),
            _ => {
                self.wrong_type(key, value, "a string");
                None
            }
        }
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

    fn table<'v, 't>(&mut self, key: &str, value: &'v Value<'t>) -> Option<&'v Table<'t>> {
        match &value.kind {
            Kind::Table(table) => Some(table),
            _ => {
                self.wrong_type(key, value, "a table");
                None
            }
        }
    }

    /// The items of an array that need not be there.
    fn array<'v, 't>(&mut self, table: &'v Table<'t>, key: &str) -> &'v [Value<'t>] {
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
    fn tables<'v, 't>(&mut self, table: &'v Table<'t>, key: &str) -> Vec<(&'v Range<usize>, &'v Table<'t>)> {
        let values = self.array(table, key);
        values
            .iter()
            .filter_map(|value| Some((&value.span, self.table(key, value)?)))
            .collect()
    }

    fn name(&mut self, range: &Range<usize>, text: &str) -> Option<PackageName> {
        text.parse()
            .map_err(|error: super::ParseNameError| self.fault(range, error.to_string()))
            .ok()
    }

    /// A package name that must be there.
    fn required_name(&mut self, range: &Range<usize>, table: &Table<'_>, key: &str) -> Option<PackageName> {
        let Some(value) = table.get(key) else {
            self.fault(range, format!("`{key}` is missing"));
            return None;
        };
        let text = self.text(key, value)?;
        self.name(&value.span, text)
    }

    /// A normalised extra or group.
    fn normalised(&mut self, range: &Range<usize>, text: &str) -> Option<String> {
        let normalised = normalise(text);
        if normalised.is_none() {
            self.fault(range, format!("`{text}` is no name of an extra or group"));
        }
        normalised
    }

    /// An array of extras or groups.
    fn names(&mut self, table: &Table<'_>, key: &str) -> BTreeSet<String> {
        let values = self.array(table, key);
        values
            .iter()
            .filter_map(|value| {
                let text = self.text(key, value)?;
                self.normalised(&value.span, text)
            })
            .collect()
    }

    fn marker(&mut self, value: &Value<'_>) -> Option<MarkerId> {
        let text = self.text("marker", value)?;
        if let Some(id) = self.marker_ids.get(text) {
            return Some(*id);
        }
        let id = MarkerId(self.markers.len());
        self.markers
            .push(Marker::new(text.to_owned(), value.span.clone()));
        self.marker_ids.insert(text.to_owned(), id);
        Some(id)
    }

    fn marker_array(&mut self, table: &Table<'_>, key: &str) -> Vec<MarkerId> {
        let values = self.array(table, key);
        values.iter().filter_map(|value| self.marker(value)).collect()
    }

    fn lock(&mut self, file: &Arc<SourceFile>, document: &Table<'_>) -> Option<Lock> {
        self.version(document)?;
        let requires_python = self.requires_python(document);
        let supported = self.marker_array(document, "supported-markers");
        let forks = self.marker_array(document, "resolution-markers");
        let conflicts = self.conflicts(document);
        let empty = Table::default();
        let manifest = document
            .get("manifest")
            .and_then(|value| self.table("manifest", value))
            .unwrap_or(&empty);
        let member_values = self.array(manifest, "members");
        let mut members = BTreeSet::new();
        for value in member_values {
            if let Some(text) = self.text("members", value) {
                members.extend(self.name(&value.span, text));
            }
        }
        let groups = self.groups_of_manifest(manifest);

        let tables = self.tables(document, "package");
        let read: Vec<_> = tables
            .iter()
            .map(|(span, table)| self.package(span, table))
            .collect();
        let packages: Vec<Package> = read.iter().flatten().cloned().collect();
        if packages.len() < read.len() {
            // The edges of broken packages would only repeat what is known to be wrong.
            return None;
        }
        let mut lock = Lock {
            file: Arc::clone(file),
            by_name: BTreeMap::new(),
            packages,
            requires_python,
            supported,
            forks,
            conflicts,
            members,
            groups,
            markers: Vec::new(),
        };
        for (index, package) in lock.packages.iter().enumerate() {
            lock.by_name.entry(package.name.clone()).or_default().push(index);
        }
        self.duplicates(&lock);
        for (index, (_, table)) in tables.iter().enumerate() {
            let edges = self.edges(&lock, table);
            if let Some(package) = lock.packages.get_mut(index) {
                (package.dependencies, package.extras, package.groups) = edges;
            }
        }
        lock.markers = std::mem::take(&mut self.markers);
        Some(lock)
    }

    /// Refuses formats whose meaning is not known; warns of revisions that may hold more than is read.
    fn version(&mut self, document: &Table<'_>) -> Option<()> {
        let Some(version) = document.get("version") else {
            self.fault(&(0..0), "this is no uv.lock: it has no `version`");
            return None;
        };
        if version.kind != Kind::Integer(VERSION) {
            self.faults.push(Fault {
                range: version.span.clone(),
                message: format!("only version {VERSION} of uv.lock can be read"),
                help: Some("lock with an older uv, or use a newer release of Wheelbase".to_owned()),
            });
            return None;
        }
        match document.get("revision").map(|value| (value, &value.kind)) {
            Some((value, Kind::Integer(revision))) if *revision > REVISION => self.warnings.push(Fault {
                range: value.span.clone(),
                message: format!(
                    "revision {revision} of uv.lock is newer than {REVISION}, the newest known here"
                ),
                help: Some("it is read as far as it is known, which uv promises to be safe".to_owned()),
            }),
            None | Some((_, Kind::Integer(_))) => {}
            Some((value, _)) => self.wrong_type("revision", value, "an integer"),
        }
        Some(())
    }

    fn requires_python(&mut self, document: &Table<'_>) -> Option<(String, VersionSpecifiers)> {
        let value = document.get("requires-python")?;
        let text = self.text("requires-python", value)?;
        match VersionSpecifiers::from_str(text) {
            Ok(specifiers) => Some((text.to_owned(), specifiers)),
            Err(_) => {
                self.fault(&value.span, format!("`{text}` is no version specifier (PEP 440)"));
                None
            }
        }
    }

    fn conflicts(&mut self, document: &Table<'_>) -> Vec<BTreeSet<ConflictItem>> {
        let mut sets = Vec::new();
        for set in self.array(document, "conflicts") {
            let Kind::Array(items) = &set.kind else {
                self.wrong_type("conflicts", set, "an array of arrays");
                continue;
            };
            let items = items.iter().filter_map(|item| {
                let table = self.table("conflicts", item)?;
                let package = self.required_name(&item.span, table, "package")?.to_string();
                if let Some(extra) = self.optional(table, "extra") {
                    return Some(ConflictItem::Extra(package, self.normalised(&item.span, extra)?));
                }
                match self.optional(table, "group") {
                    Some(group) => Some(ConflictItem::Group(package, self.normalised(&item.span, group)?)),
                    None => Some(ConflictItem::Project(package)),
                }
            });
            sets.push(items.collect());
        }
        sets
    }

    fn groups_of_manifest(&mut self, manifest: &Table<'_>) -> BTreeMap<String, Vec<Requirement>> {
        let mut groups = BTreeMap::new();
        let Some(value) = manifest.get("dependency-groups") else {
            return groups;
        };
        let Some(table) = self.table("dependency-groups", value) else {
            return groups;
        };
        for (key, value) in table.iter() {
            let Some(group) = self.normalised(&value.span, key) else {
                continue;
            };
            let tables = self.tables(table, key);
            let requirements = tables.into_iter().filter_map(|(span, table)| {
                Some(Requirement {
                    name: self.required_name(span, table, "name")?,
                    extras: self.names(table, "extras"),
                    marker: table.get("marker").and_then(|value| self.marker(value)),
                })
            });
            groups.insert(group, requirements.collect());
        }
        groups
    }

    /// A package without its edges, which can point to any other.
    fn package(&mut self, span: &Range<usize>, table: &Table<'_>) -> Option<Package> {
        let name = self.required_name(span, table, "name");
        let name_span = table.get("name").map_or(span, |value| &value.span).clone();
        let version = self.optional(table, "version").map(str::to_owned);
        let Some(source) = table.get("source") else {
            self.fault(&name_span, "this package has no `source`");
            return None;
        };
        let source = self
            .table("source", source)
            .and_then(|table| read_source(self, &source.span, table))?;
        let sdist = match table.get("sdist") {
            Some(value) => {
                let table = self.table("sdist", value)?;
                self.file(&value.span, table, &source)
            }
            None => None,
        };
        let wheels = self.tables(table, "wheels");
        let wheels = wheels
            .into_iter()
            .filter_map(|(span, table)| self.file(span, table, &source))
            .collect();
        let mut declared_extras = BTreeSet::new();
        let mut declared_groups = BTreeSet::new();
        if let Some(metadata) = table
            .get("metadata")
            .and_then(|value| self.table("metadata", value))
        {
            declared_extras = self.names(metadata, "provides-extras");
            let requires_dev = metadata
                .get("requires-dev")
                .and_then(|value| self.table("requires-dev", value));
            for (key, value) in requires_dev.iter().flat_map(|table| table.iter()) {
                declared_groups.extend(self.normalised(&value.span, key));
            }
        }
        Some(Package {
            name: name?,
            version,
            source,
            sdist,
            wheels,
            dependencies: Vec::new(),
            extras: BTreeMap::new(),
            groups: BTreeMap::new(),
            forks: self.marker_array(table, "resolution-markers"),
            declared_extras,
            declared_groups,
            span: name_span,
        })
    }

    /// A wheel or source distribution. A file of a direct URL or path source is that source itself; one of a flat
    /// folder is named relative to the folder.
    fn file(&mut self, span: &Range<usize>, table: &Table<'_>, source: &Source) -> Option<File> {
        let hash = self.optional(table, "hash").map(str::to_owned);
        let size = match table.get("size").map(|value| (value, &value.kind)) {
            Some((_, Kind::Integer(size))) => u64::try_from(*size).ok(),
            Some((value, _)) => {
                self.wrong_type("size", value, "an integer");
                None
            }
            None => None,
        };
        let given_name = self.optional(table, "filename").map(str::to_owned);
        let given_path = self.optional(table, "path");
        let (url, path) = match (self.url(table, "url"), given_path, source) {
            (Some(given), _, Source::Registry { url }) => url::resolve(url, given),
            (Some(given), _, _) => (Some(given.to_owned()), None),
            (None, Some(given), Source::Registry { url }) => url::resolve(url, given),
            (None, Some(given), _) => (None, Some(given.to_owned())),
            (None, None, Source::Url { url, .. }) => (Some(url.clone()), None),
            (None, None, Source::Path { path }) => (None, Some(path.clone())),
            (None, None, _) => (None, None),
        };
        let filename = given_name
            .or_else(|| url.as_deref().map(url::filename))
            .or_else(|| {
                path.as_deref()
                    .map(|path| path.rsplit('/').next().unwrap_or(path).to_owned())
            });
        match filename {
            Some(filename) if !filename.is_empty() => Some(File {
                filename,
                url,
                path,
                hash,
                size,
            }),
            _ => {
                self.fault(span, "this file has neither a `url`, a `path` nor a `filename`");
                None
            }
        }
    }

    /// Reports packages that stand twice in the lock: an edge could not tell them apart.
    fn duplicates(&mut self, lock: &Lock) {
        for indices in lock.by_name.values().filter(|indices| indices.len() > 1) {
            let mut seen = BTreeSet::new();
            for package in indices.iter().filter_map(|index| lock.packages.get(*index)) {
                if !seen.insert((&package.version, &package.source)) {
                    self.fault(
                        &package.span,
                        format!("`{}` stands twice in the lock", package.name),
                    );
                }
            }
        }
    }

    #[expect(
        clippy::type_complexity,
        reason = "the three kinds of edges of a package, taken apart at once"
    )]
    fn edges(
        &mut self,
        lock: &Lock,
        table: &Table<'_>,
    ) -> (
        Vec<Dependency>,
        BTreeMap<String, Vec<Dependency>>,
        BTreeMap<String, Vec<Dependency>>,
    ) {
        let dependencies = self.dependencies(lock, table, "dependencies");
        let extras = self.keyed_dependencies(lock, table, "optional-dependencies");
        let key = if table.get("dependency-groups").is_some() {
            "dependency-groups"
        } else {
            "dev-dependencies"
        };
        (dependencies, extras, self.keyed_dependencies(lock, table, key))
    }

    fn keyed_dependencies(
        &mut self,
        lock: &Lock,
        table: &Table<'_>,
        key: &str,
    ) -> BTreeMap<String, Vec<Dependency>> {
        let mut keyed = BTreeMap::new();
        let Some(value) = table.get(key) else { return keyed };
        let Some(table) = self.table(key, value) else {
            return keyed;
        };
        for (name, value) in table.iter() {
            if let Some(normalised) = self.normalised(&value.span, name) {
                keyed.insert(normalised, self.dependencies(lock, table, name));
            }
        }
        keyed
    }

    fn dependencies(&mut self, lock: &Lock, table: &Table<'_>, key: &str) -> Vec<Dependency> {
        let tables = self.tables(table, key);
        tables
            .into_iter()
            .filter_map(|(span, table)| self.dependency(lock, span, table))
            .collect()
    }

    /// An edge. Where a name is locked once, uv leaves version and source out.
    fn dependency(&mut self, lock: &Lock, span: &Range<usize>, table: &Table<'_>) -> Option<Dependency> {
        let name = self.required_name(span, table, "name")?;
        let extras = self.names(
            table,
            if table.get("extras").is_some() {
                "extras"
            } else {
                "extra"
            },
        );
        let marker = table.get("marker").and_then(|value| self.marker(value));
        let Some(candidates) = lock.by_name.get(&name) else {
            self.fault(span, format!("the lock has no package `{name}`"));
            return None;
        };
        if let [target] = candidates.as_slice() {
            return Some(Dependency {
                name,
                target: *target,
                extras,
                marker,
            });
        }
        let version = self.optional(table, "version");
        let source = match table.get("source") {
            Some(value) => {
                let table = self.table("source", value)?;
                Some(read_source(self, &value.span, table)?)
            }
            None => None,
        };
        let matching: Vec<usize> = candidates
            .iter()
            .filter(|index| {
                lock.packages.get(**index).is_some_and(|package| {
                    (version.is_none() || version == package.version())
                        && source.as_ref().is_none_or(|source| *source == package.source)
                })
            })
            .copied()
            .collect();
        match matching.as_slice() {
            [target] => Some(Dependency {
                name,
                target: *target,
                extras,
                marker,
            }),
            [] => {
                self.fault(
                    span,
                    format!("the lock has no `{name}` of this version and source"),
                );
                None
            }
            _ => {
                self.fault(
                    span,
                    format!("`{name}` is locked more than once, and this does not say which is meant"),
                );
                None
            }
        }
    }
}
