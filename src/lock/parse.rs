//! From the text of `uv.lock` to a [`Lock`].
//!
//! Unknown keys are let through, since uv adds some with each revision and promises that they can be ignored; a newer
//! major `version` is refused. Everything wrong is reported at once, at its line.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::str::FromStr;
use std::sync::Arc;

use pep440_rs::VersionSpecifiers;

use super::conflict::ConflictItem;
use super::document::{self, Kind, Table};
use super::package::MarkerId;
use super::reader::{Fault, Reader, new_lock};
use super::source::read_source;
use super::url;
use super::{Dependency, File, Lock, Overrides, Package, PackageName, Source};
use crate::diagnostic::SourceFile;

/// The only format that exists (uv's `VERSION`).
const VERSION: i64 = 1;
/// The newest revision of it whose meaning is known here (uv's `REVISION`).
const REVISION: i64 = 5;

/// The array of tables that is nearly all of a lock.
const PACKAGE: &str = "package";

/// What of a package is read when all packages are known: edges can point to any other, and the place of a marker is
/// that of the first text in the order lock, packages, edges.
const LATER: [&str; 5] = [
    "resolution-markers",
    "dependencies",
    "optional-dependencies",
    "dependency-groups",
    "dev-dependencies",
];

/// The packages of a lock while it is read. Each is taken over at once, so that the table with all its files is gone
/// before the next one is read.
struct Found<'a> {
    reader: Reader,
    packages: Vec<Package>,
    /// Of each package what is read [`LATER`].
    tables: Vec<Table<'a>>,
    is_broken: bool,
}

impl<'a> Found<'a> {
    fn new(secrets: &[Range<usize>], text: &str) -> Self {
        // Hardly a package takes less text than this; growing means copying megabytes.
        const LEAST: usize = 1024;

        let mut reader = Reader::default();
        reader.secrets.extend_from_slice(secrets);
        Self {
            reader,
            packages: Vec::with_capacity(text.len() / LEAST),
            tables: Vec::new(),
            is_broken: false,
        }
    }

    fn add(&mut self, span: &Range<usize>, mut table: Table<'a>) {
        match self.reader.package(span, &table) {
            Some(package) => {
                table.keep(&LATER);
                self.packages.push(package);
                self.tables.push(table);
            }
            None => self.is_broken = true,
        }
    }
}

/// A requirement that belongs to the lock as a whole.
#[derive(Debug, Clone)]
pub(super) struct Requirement {
    pub(super) name: PackageName,
    pub(super) extras: BTreeSet<String>,
    pub(super) marker: Option<MarkerId>,
}

impl Reader {
    /// A `uv.lock`; `None` when something is wrong with it.
    pub(super) fn uv_lock(&mut self, file: &Arc<SourceFile>) -> Option<Lock> {
        let begin = || Found::new(&self.secrets, &file.text);
        let (document, mut found) = match document::read_each(&file.text, PACKAGE, begin, Found::add) {
            Ok(read) => read,
            Err(faults) => {
                self.syntax(faults);
                return None;
            }
        };
        let document = &document;
        self.version(document)?;
        self.faults.append(&mut found.reader.faults);
        self.secrets = found.reader.secrets;
        let requires_python = self.requires_python(document);
        let supported = self.marker_array(document, "supported-markers");
        let forks = self.marker_array(document, "resolution-markers");
        let conflicts = self.conflicts(document);
        let empty = Table::default();
        let manifest = document
            .get("manifest")
            .and_then(|value| self.table("manifest", value))
            .unwrap_or(&empty);
        let members = self.package_names(manifest, "members");
        let groups = self.groups_of_manifest(manifest);
        let overrides = self.overrides(manifest);

        // What is not a table has been left there.
        self.tables(document, PACKAGE);
        for (package, table) in found.packages.iter_mut().zip(&found.tables) {
            package.forks = self.marker_array(table, "resolution-markers");
        }
        if found.is_broken {
            // The edges of broken packages would only repeat what is known to be wrong.
            return None;
        }
        let mut lock = new_lock(file, found.packages);
        lock.requires_python = requires_python;
        lock.supported = supported;
        lock.forks = forks;
        lock.conflicts = conflicts;
        lock.members = members;
        lock.groups = groups;
        lock.overrides = overrides;
        self.duplicates(&lock);
        for (index, table) in found.tables.iter().enumerate() {
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

    /// The `requires-python` of the lock or of a package.
    pub(super) fn requires_python(&mut self, table: &Table<'_>) -> Option<(String, VersionSpecifiers)> {
        let value = table.get("requires-python")?;
        let text = self.text("requires-python", value)?;
        let Ok(specifiers) = VersionSpecifiers::from_str(text) else {
            self.fault(&value.span, format!("`{text}` is no version specifier (PEP 440)"));
            return None;
        };
        Some((text.to_owned(), specifiers))
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

    fn package_names(&mut self, table: &Table<'_>, key: &str) -> BTreeSet<PackageName> {
        let values = self.array(table, key).iter();
        values
            .filter_map(|value| {
                let text = self.text(key, value)?;
                self.name(&value.span, text)
            })
            .collect()
    }

    fn overrides(&mut self, manifest: &Table<'_>) -> Overrides {
        let mut names = |key| -> BTreeSet<PackageName> {
            let tables = self.tables(manifest, key).into_iter();
            tables
                .filter_map(|(span, table)| self.required_name(span, table, "name"))
                .collect()
        };
        let mut overrides = Overrides {
            requirements: names("overrides"),
            packages: names("dependency-metadata"),
        };
        overrides
            .requirements
            .extend(self.package_names(manifest, "excludes"));
        overrides
    }

    /// A package without what [`LATER`] says.
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
        let tables = self.tables(table, "wheels");
        let mut wheels = Vec::with_capacity(tables.len());
        for (span, table) in tables {
            wheels.extend(self.file(span, table, &source));
        }
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
        let mut package = Package::new(name?, source, name_span);
        package.version = version;
        package.sdist = sdist.map(Box::new);
        package.wheels = wheels;
        package.declared_extras = declared_extras;
        package.declared_groups = declared_groups;
        Some(package)
    }

    /// A wheel or source distribution. A file of a direct URL or path source is that source itself; one of a flat
    /// folder is named relative to the folder.
    fn file(&mut self, span: &Range<usize>, table: &Table<'_>, source: &Source) -> Option<File> {
        let hash = self.optional(table, "hash").map(str::to_owned);
        let size = self.size(table);
        let name = self.optional(table, "filename").map(str::to_owned);
        let given_path = self.optional(table, "path");
        let given_url = self.url(table, "url");
        let (url, path) = match (given_url.or(given_path), source) {
            (Some(given), Source::Registry { url }) => url::resolve(url, given),
            (None, Source::Url { url, .. }) => (Some(url.clone()), None),
            (None, Source::Path { path }) => (None, Some(path.clone())),
            _ => (given_url.map(str::to_owned), given_path.map(str::to_owned)),
        };
        let file = File {
            name,
            url,
            path,
            hash,
            size,
        };
        if file.filename().is_empty() {
            self.fault(span, "this file has neither a `url`, a `path` nor a `filename`");
            return None;
        }
        Some(file)
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
        // A name as uv writes it is a key of the map: nothing has to be normalised or allocated.
        let plain = match table.get("name").map(|value| &value.kind) {
            Some(Kind::Text(text)) => lock.by_name.get_key_value(text.as_ref()),
            _ => None,
        };
        let (name, candidates) = if let Some((name, candidates)) = plain {
            (name.clone(), candidates)
        } else {
            let name = self.required_name(span, table, "name")?;
            let Some(candidates) = lock.by_name.get(&name) else {
                self.fault(span, format!("the lock has no package `{name}`"));
                return None;
            };
            (name, candidates)
        };
        let extras = self.names(
            table,
            if table.get("extras").is_some() {
                "extras"
            } else {
                "extra"
            },
        );
        let marker = table.get("marker").and_then(|value| self.marker(value));
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
