//! From the text of a `pylock.toml` (PEP 751) to a [`Lock`].
//!
//! Unknown keys are let through and a newer minor `lock-version` is read with a warning, as the specification asks;
//! a newer major one is refused.

use std::collections::BTreeSet;
use std::ops::Range;
use std::str::FromStr;
use std::sync::Arc;

use pep440_rs::Version;

use super::document::{Kind, Table, Value};
use super::reader::{Fault, Reader, new_lock};
use super::wheel::WheelName;
use super::{Dependency, File, List, Lock, Package, PackageName, Source, url};
use crate::diagnostic::SourceFile;

/// The major `lock-version` whose meaning is known here, and the newest minor one.
const VERSION: (u64, u64) = (1, 0);

/// Keys that say where a package comes from, of which one excludes the others.
const ORIGINS: [&str; 3] = ["vcs", "directory", "archive"];

impl Reader {
    /// A `pylock.toml`; `None` when something is wrong with it.
    pub(super) fn pylock(&mut self, file: &Arc<SourceFile>, document: &Table<'_>) -> Option<Lock> {
        self.lock_version(document)?;
        let requires_python = self.requires_python(document);
        let supported = self.marker_array(document, "environments");
        let mut list = List {
            extras: self.names(document, "extras"),
            groups: self.names(document, "dependency-groups"),
            default_groups: self.names(document, "default-groups"),
            has_dependencies: false,
        };
        let tables = self.tables(document, "packages");
        let packages: Vec<Package> = tables
            .iter()
            .filter_map(|(span, table)| self.listed_package(span, table))
            .collect();
        if packages.len() < tables.len() {
            return None;
        }
        let mut lock = new_lock(file, packages);
        for (index, (_, table)) in tables.iter().enumerate() {
            list.has_dependencies |= table.get("dependencies").is_some();
            let edges = self.listed_dependencies(&lock, table);
            if let Some(package) = lock.packages.get_mut(index) {
                package.dependencies = edges;
            }
        }
        lock.requires_python = requires_python;
        lock.supported = supported;
        lock.markers = std::mem::take(&mut self.markers);
        lock.list = Some(list);
        Some(lock)
    }

    fn lock_version(&mut self, document: &Table<'_>) -> Option<()> {
        let Some(value) = document.get("lock-version") else {
            self.fault(&(0..0), "this is no pylock.toml: it has no `lock-version`");
            return None;
        };
        let text = self.text("lock-version", value)?;
        let (major, minor) = text.split_once('.').unwrap_or((text, "0"));
        match (major.parse::<u64>(), minor.parse::<u64>()) {
            (Ok(major), Ok(minor)) if major == VERSION.0 => {
                if minor > VERSION.1 {
                    self.warnings.push(Fault {
                        range: value.span.clone(),
                        message: format!(
                            "lock-version {major}.{minor} is newer than {}.{}, the newest known here",
                            VERSION.0, VERSION.1
                        ),
                        help: Some(
                            "it is read as far as it is known, which PEP 751 promises to be safe".to_owned(),
                        ),
                    });
                }
                Some(())
            }
            _ => {
                self.faults.push(Fault {
                    range: value.span.clone(),
                    message: format!("only lock-version {}.x of pylock.toml can be read", VERSION.0),
                    help: Some("lock with an older tool, or use a newer release of Wheelbase".to_owned()),
                });
                None
            }
        }
    }

    /// A package without its edges.
    fn listed_package(&mut self, span: &Range<usize>, table: &Table<'_>) -> Option<Package> {
        let name = self.required_name(span, table, "name");
        let name_span = table.get("name").map_or(span, |value| &value.span).clone();
        let origins: Vec<(&str, &Value<'_>)> = ORIGINS
            .iter()
            .filter_map(|key| Some((*key, table.get(key)?)))
            .collect();
        let given: Vec<String> = origins
            .iter()
            .map(|(key, _)| *key)
            .chain(
                ["sdist", "wheels"]
                    .into_iter()
                    .filter(|key| table.get(key).is_some()),
            )
            .map(|key| format!("`{key}`"))
            .collect();
        if !origins.is_empty() && given.len() > 1 {
            let message = format!("a package has one source, and not {}", given.join(" and "));
            self.fault(&name_span, message);
            return None;
        }
        let version = match table.get("version") {
            Some(value) => {
                let text = self.text("version", value)?;
                if Version::from_str(text).is_err() {
                    self.fault(&value.span, format!("`{text}` is no version (PEP 440)"));
                    return None;
                }
                Some(text.to_owned())
            }
            None => None,
        };
        let marker = table.get("marker").and_then(|value| self.marker(value));
        let requires_python = self.requires_python(table);
        let mut package = match origins.first() {
            Some((key, value)) => self.originated(name?, name_span, key, value)?,
            None => self.indexed(name?, name_span, table)?,
        };
        package.version = version.or_else(|| {
            let filename = package.wheels.first()?.filename();
            let wheel = WheelName::parse(&filename)?;
            Version::from_str(wheel.version).ok()?;
            Some(wheel.version.to_owned())
        });
        package.marker = marker;
        package.requires_python = requires_python.map(Box::new);
        Some(package)
    }

    /// A package of a repository, folder or archive.
    fn originated(
        &mut self,
        name: PackageName,
        span: Range<usize>,
        key: &str,
        value: &Value<'_>,
    ) -> Option<Package> {
        let table = self.table(key, value)?;
        let (source, file) = match key {
            "vcs" => (self.vcs(&value.span, table)?, None),
            "directory" => (self.directory(&value.span, table)?, None),
            _ => self.archive(&value.span, table)?,
        };
        let mut package = Package::new(name, source, span);
        match file {
            Some(file) if WheelName::parse(&file.filename()).is_some() => package.wheels.push(file),
            file => package.sdist = file.map(Box::new),
        }
        Some(package)
    }

    /// A package of an index, by the files that it has there.
    fn indexed(&mut self, name: PackageName, span: Range<usize>, table: &Table<'_>) -> Option<Package> {
        let source = match self.url(table, "index") {
            Some(index) => Source::Registry {
                url: index.to_owned(),
            },
            None => Source::Files,
        };
        let mut package = Package::new(name, source, span);
        let wheels = self.tables(table, "wheels").into_iter();
        package.wheels = wheels
            .filter_map(|(span, table)| self.listed_file(span, table))
            .collect();
        if let Some(value) = table.get("sdist") {
            let table = self.table("sdist", value)?;
            package.sdist = self.listed_file(&value.span, table).map(Box::new);
        }
        Some(package)
    }

    /// `[packages.vcs]`: a git commit, since nothing else can be fetched in a build.
    fn vcs(&mut self, span: &Range<usize>, table: &Table<'_>) -> Option<Source> {
        let kind = self.optional(table, "type");
        let rev = self.optional(table, "commit-id").map(str::to_ascii_lowercase);
        let subdirectory = self.subdirectory(table);
        let reference = self.optional(table, "requested-revision").map(str::to_owned);
        let location = self.url(table, "url").map(str::to_owned);
        if kind != Some("git") {
            let kind = kind.unwrap_or("none");
            self.fault(
                span,
                format!("only git repositories can be built from, and its type is `{kind}`"),
            );
            return None;
        }
        let Some(rev) = rev.filter(|rev| super::source::is_commit(rev)) else {
            self.fault(span, "`commit-id` must be the 40 hex digits of a commit");
            return None;
        };
        let Some(location) = location else {
            self.fault(
                span,
                "a repository needs a `url`: one in a folder is not part of the build",
            );
            return None;
        };
        Some(Source::Git {
            url: location.strip_prefix("git+").unwrap_or(&location).to_owned(),
            rev,
            reference,
            subdirectory,
            path: None,
            lfs: false,
        })
    }

    /// `[packages.directory]`: a project folder.
    fn directory(&mut self, span: &Range<usize>, table: &Table<'_>) -> Option<Source> {
        let subdirectory = self.subdirectory(table);
        let editable = match table.get("editable").map(|value| (value, &value.kind)) {
            Some((_, Kind::Boolean(editable))) => *editable,
            Some((value, _)) => {
                self.wrong_type("editable", value, "true or false");
                false
            }
            None => false,
        };
        let Some(path) = self.optional(table, "path") else {
            self.fault(span, "a directory needs a `path`");
            return None;
        };
        let path = match (path, subdirectory) {
            ("" | ".", None) => ".".to_owned(),
            ("" | ".", Some(folder)) => folder,
            (path, None) => path.to_owned(),
            (path, Some(folder)) => format!("{}/{folder}", path.trim_end_matches('/')),
        };
        Some(if editable {
            Source::Editable { path }
        } else {
            Source::Directory { path }
        })
    }

    /// `[packages.archive]`: a wheel or source archive by itself.
    fn archive(&mut self, span: &Range<usize>, table: &Table<'_>) -> Option<(Source, Option<File>)> {
        let subdirectory = self.subdirectory(table);
        let file = self.listed_file(span, table)?;
        let source = match (&file.url, &file.path) {
            (Some(url), _) => Source::Url {
                url: url.clone(),
                subdirectory,
            },
            (None, path) => Source::Path {
                path: path.clone().unwrap_or_default(),
            },
        };
        Some((source, Some(file)))
    }

    fn subdirectory(&mut self, table: &Table<'_>) -> Option<String> {
        let folder = self.optional(table, "subdirectory")?;
        (!folder.is_empty()).then(|| folder.to_owned())
    }

    /// A wheel, source distribution or archive. Its name is given only where it is not the last part of its place.
    fn listed_file(&mut self, span: &Range<usize>, table: &Table<'_>) -> Option<File> {
        let url = self.url(table, "url").map(str::to_owned);
        let path = self.optional(table, "path").map(str::to_owned);
        let name = self.optional(table, "name").map(str::to_owned);
        let size = self.size(table);
        let hash = match table.get("hashes") {
            Some(value) => {
                let hashes = self.table("hashes", value)?;
                self.hash(hashes)
            }
            None => None,
        };
        let name = name.or_else(|| match (&url, &path) {
            (None, Some(path)) => Some(url::filename(path).into_owned()),
            _ => None,
        });
        let file = File {
            name,
            url,
            path,
            hash,
            size,
        };
        if file.filename().is_empty() {
            self.fault(span, "this file has neither a `url` nor a `path`");
            return None;
        }
        Some(file)
    }

    /// The SHA-256 of a file, or else another hash.
    fn hash(&mut self, hashes: &Table<'_>) -> Option<String> {
        let mut found: Option<String> = None;
        for (algorithm, value) in hashes.iter() {
            let digits = self.text(algorithm, value)?.to_ascii_lowercase();
            let is_sha256 = algorithm == "sha256";
            if is_sha256 && !super::source::is_hex(&digits, 64) {
                self.fault(&value.span, "a SHA-256 has 64 hex digits");
                return None;
            }
            let hash = format!("{algorithm}:{digits}");
            if is_sha256
                || found
                    .as_ref()
                    .is_none_or(|found| !found.starts_with("sha256:") && hash < *found)
            {
                found = Some(hash);
            }
        }
        found
    }

    /// The packages that a package names as its dependencies. Where its table fits several entries of one name, each
    /// counts where its own marker holds.
    fn listed_dependencies(&mut self, lock: &Lock, table: &Table<'_>) -> Vec<Dependency> {
        let mut edges = Vec::new();
        for (span, table) in self.tables(table, "dependencies") {
            let Some(name) = self.required_name(span, table, "name") else {
                continue;
            };
            let Some(candidates) = lock.by_name.get(&name) else {
                self.fault(span, format!("the lock has no package `{name}`"));
                continue;
            };
            let version = self.optional(table, "version");
            let marker = table.get("marker").and_then(|value| self.marker(value));
            let fits = |index: &&usize| {
                lock.packages.get(**index).is_some_and(|package| {
                    (version.is_none() || version == package.version())
                        && (marker.is_none() || marker == package.marker)
                })
            };
            let fitting: Vec<usize> = candidates.iter().filter(fits).copied().collect();
            let targets = if fitting.is_empty() { candidates } else { &fitting };
            edges.extend(targets.iter().map(|target| Dependency {
                name: name.clone(),
                target: *target,
                extras: BTreeSet::new(),
                marker: lock.packages.get(*target).and_then(|package| package.marker),
            }));
        }
        edges
    }
}
