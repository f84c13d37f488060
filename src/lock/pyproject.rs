//! What a build needs to know of a member's `pyproject.toml`.
//!
//! The lock pins what is installed, but not what builds a project: its backend and the packages of
//! `[build-system] requires` stand only here (PEP 517, 518 and 621).

use std::ops::Range;
use std::sync::Arc;

use super::document::{self, Kind, Table, Value};
use super::{PackageName, url};
use crate::diagnostic::{Diagnostic, Location, SourceFile};

/// The parts of one `pyproject.toml` that matter to a build.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Project {
    /// `[project] name`; `None` for a workspace root that is no project itself.
    pub name: Option<PackageName>,
    /// `[project] version`, as written.
    pub version: Option<String>,
    /// Whether `version` is in `[project] dynamic`: it comes from a tag, file or module at build time.
    pub dynamic_version: bool,
    /// `[build-system] build-backend`. `None` means setuptools' legacy backend (PEP 517).
    pub backend: Option<String>,
    /// `[build-system] requires`: the package, and the whole requirement as written (PEP 508).
    /// Without the table it is `setuptools` (PEP 518).
    pub build_requires: Vec<(PackageName, String)>,
    /// Whether it is installed itself: `[tool.uv] package`, else whether there is a `[build-system]`.
    pub package: bool,
}

impl Project {
    /// Reads a `pyproject.toml`. Only the keys above are looked at; the errors are all that concern them.
    pub fn parse(file: &Arc<SourceFile>) -> Result<Self, Vec<Diagnostic>> {
        let mut reader = Reader { faults: Vec::new() };
        let project = match document::read(&file.text) {
            Ok(document) => reader.project(&document),
            Err(faults) => {
                reader.faults = faults
                    .into_iter()
                    .map(|(range, message)| (range, message, None))
                    .collect();
                None
            }
        };
        match project {
            Some(project) if reader.faults.is_empty() => Ok(project),
            _ => {
                // A diagnostic draws the line that it points to, and URLs of indexes can carry passwords.
                let secrets: Vec<_> = url::secrets(&file.text).collect();
                let redacted = url::redact(file, &secrets);
                let diagnostic = |(range, message, help): Fault| {
                    let message = url::redact_message(message, file, &secrets);
                    let diagnostic = Diagnostic::error(message).at(Location::new(&redacted, range), "");
                    match help {
                        Some(help) => diagnostic.help(help),
                        None => diagnostic,
                    }
                };
                Err(reader.faults.into_iter().map(diagnostic).collect())
            }
        }
    }
}

/// Where, what, and what to write instead.
type Fault = (Range<usize>, String, Option<String>);

struct Reader {
    faults: Vec<Fault>,
}

impl Reader {
    fn project(&mut self, document: &Table<'_>) -> Option<Project> {
        let project = self.table(document, "project");
        let build_system = self.table(document, "build-system");
        let tool = self
            .table(document, "tool")
            .and_then(|tool| self.table(tool, "uv"));

        let mut name = None;
        let mut version = None;
        let mut dynamic_version = false;
        if let Some(project) = project {
            match project.get("name") {
                Some(value) => name = Some(self.name(value)?),
                None => self.faults.push((
                    0..0,
                    "[project] has no `name`".to_owned(),
                    Some("PEP 621 requires it: name = \"...\"".to_owned()),
                )),
            }
            version = project
                .get("version")
                .and_then(|value| self.text("version", value))
                .map(str::to_owned);
            for value in self.array(project, "dynamic") {
                dynamic_version |= self.text("dynamic", value) == Some("version");
            }
        }
        let backend = build_system
            .and_then(|table| table.get("build-backend"))
            .and_then(|value| self.text("build-backend", value))
            .map(str::to_owned);
        let build_requires = match build_system {
            // PEP 518: what a project without the table is built with.
            None => vec![("setuptools".parse().ok()?, "setuptools".to_owned())],
            Some(table) => {
                let values = self.array(table, "requires");
                values
                    .iter()
                    .filter_map(|value| self.requirement(value))
                    .collect()
            }
        };
        let package = match tool.and_then(|table| table.get("package")) {
            None => build_system.is_some(),
            Some(Value {
                kind: Kind::Boolean(package),
                ..
            }) => *package,
            Some(value) => {
                self.wrong_type("package", value, "true or false");
                false
            }
        };
        Some(Project {
            name,
            version,
            dynamic_version,
            backend,
            build_requires,
            package,
        })
    }

    fn wrong_type(&mut self, key: &str, value: &Value<'_>, expected: &str) {
        let message = format!("`{key}` must be {expected}, not {}", value.kind.describe());
        self.faults.push((value.span.clone(), message, None));
    }

    fn table<'v, 't>(&mut self, parent: &'v Table<'t>, key: &str) -> Option<&'v Table<'t>> {
        let value = parent.get(key)?;
        if let Kind::Table(table) = &value.kind {
            return Some(table);
        }
        self.wrong_type(key, value, "a table");
        None
    }

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

    fn text<'v>(&mut self, key: &str, value: &'v Value<'_>) -> Option<&'v str> {
        if let Kind::Text(text) = &value.kind {
            return Some(text);
        }
        self.wrong_type(key, value, "a string");
        None
    }

    fn name(&mut self, value: &Value<'_>) -> Option<PackageName> {
        let text = self.text("name", value)?;
        match text.parse() {
            Ok(name) => Some(name),
            Err(error) => {
                self.faults.push((value.span.clone(), format!("{error}"), None));
                None
            }
        }
    }

    /// The name at the start of a requirement (PEP 508), with the whole text.
    fn requirement(&mut self, value: &Value<'_>) -> Option<(PackageName, String)> {
        let text = self.text("requires", value)?.trim();
        let is_end = |character: char| !(character.is_ascii_alphanumeric() || "-_.".contains(character));
        let name = text
            .get(..text.find(is_end).unwrap_or(text.len()))
            .unwrap_or_default();
        let Ok(name) = name.parse() else {
            self.faults.push((
                value.span.clone(),
                "a build requirement must begin with the name of a package".to_owned(),
                Some("write it as PEP 508 says: \"setuptools>=80\"".to_owned()),
            ));
            return None;
        };
        Some((name, text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Project, Vec<String>> {
        Project::parse(&SourceFile::new("pyproject.toml", text))
            .map_err(|errors| errors.iter().map(Diagnostic::one_line).collect())
    }

    #[test]
    fn reads_what_a_build_needs() {
        let project = read(
            "[project]\nname = \"Mai_Kernels\"\ndynamic = [\"version\"]\n[build-system]\n\
             requires = [\"setuptools>=80\", \"torch ; sys_platform == 'linux'\", \"ninja[x] @ https://index.example/n\"]\n\
             build-backend = \"setuptools.build_meta\"\n",
        )
        .unwrap();
        assert_eq!(project.name.unwrap().as_str(), "mai-kernels");
        assert!(project.dynamic_version && project.package);
        assert_eq!(project.backend.as_deref(), Some("setuptools.build_meta"));
        let names: Vec<_> = project
            .build_requires
            .iter()
            .map(|(name, _)| name.as_str())
            .collect();
        assert_eq!(names, ["setuptools", "torch", "ninja"]);
        assert_eq!(project.build_requires[0].1, "setuptools>=80");
    }

    #[test]
    fn defaults_are_those_of_the_peps() {
        let project = read("[project]\nname = \"a\"\nversion = \"1\"\n").unwrap();
        assert!(!project.package && !project.dynamic_version);
        assert_eq!(project.build_requires[0].1, "setuptools");
        assert!(
            read("[build-system]\nrequires = []\n[tool.uv]\npackage = false\n").is_ok_and(|p| !p.package)
        );
        assert!(read("[project]\nname = \"a\"\n[tool.uv]\npackage = true\n").is_ok_and(|p| p.package));
        assert_eq!(read("[tool.uv.workspace]\nmembers = []\n").unwrap().name, None);
    }

    #[test]
    fn says_what_is_wrong_at_its_line() {
        let errors = read("[project]\nname = 1\n").unwrap_err();
        assert_eq!(
            errors,
            ["pyproject.toml:2:8: `name` must be a string, not an integer"]
        );
        let errors = read("[project]\nname = \"a\"\nversion = []\n[build-system]\nrequires = [\"\", 1]\n")
            .unwrap_err();
        assert_eq!(errors.len(), 3, "{errors:?}");
        assert!(read("[project\n").unwrap_err()[0].starts_with("pyproject.toml:1:"));
    }

    #[test]
    fn never_shows_a_password() {
        let file = SourceFile::new(
            "pyproject.toml",
            "[build-system]\nrequires = [\"@ https://u:hunter2@index.example/x\"]\n\
             [project]\nname = \"https://u:hunter2@index.example\"\n",
        );
        for diagnostic in Project::parse(&file).unwrap_err() {
            assert!(!diagnostic.render(false).contains("hunter2") && !diagnostic.message.contains("hunter2"));
        }
    }
}
