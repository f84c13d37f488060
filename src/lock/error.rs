//! Why a subset cannot be had.
//!
//! The lock knows neither the spec nor the line that asked, so these are values: whoever asked turns each into a
//! diagnostic at its own place, with [`SubsetError::message`] and [`SubsetError::help`].

use std::fmt;

use super::PackageName;
use crate::diagnostic::Location;

/// One reason why the lock has no answer for a set of roots and a target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SubsetError {
    /// A root is not in the lock.
    UnknownPackage {
        /// What was asked for.
        name: PackageName,
        /// The package that was probably meant.
        nearest: Option<PackageName>,
    },
    /// No root, or not the root that was named with it, has this extra.
    UnknownExtra {
        /// The root; `None` when the extra was asked of all roots.
        package: Option<PackageName>,
        /// What was asked for.
        extra: String,
        /// The extra that was probably meant.
        nearest: Option<String>,
        /// All extras that could have been asked for, sorted.
        known: Vec<String>,
    },
    /// No root has this dependency group.
    UnknownGroup {
        /// What was asked for.
        group: String,
        /// The group that was probably meant.
        nearest: Option<String>,
        /// All groups that could have been asked for, sorted.
        known: Vec<String>,
    },
    /// Things were asked for together that the project declares as conflicting (`[tool.uv] conflicts`).
    Conflict {
        /// Those of the set that are active, as `package[extra]`, `package:group` or `package`.
        active: Vec<String>,
        /// The whole set.
        set: Vec<String>,
    },
    /// No file of a package can be installed on the target.
    NoArtifact {
        /// The package.
        package: PackageName,
        /// Its version, when the lock has one.
        version: Option<String>,
        /// Wheel tags that the target takes, best first: only a few are named.
        asked: Vec<String>,
        /// Wheel tags that the lock has for this package, sorted.
        have: Vec<String>,
        /// Which part of the tags is in the way, in words.
        why: String,
        /// The chain of packages that leads to it, root first.
        path: Vec<PackageName>,
    },
    /// The target's Python is outside `requires-python` of the lock, or of a package of it.
    PythonMismatch {
        /// The package; `None` for the lock as a whole.
        package: Option<PackageName>,
        /// What is required, such as `>=3.10, <3.13`.
        requires: String,
        /// The Python that was asked for.
        python: String,
    },
    /// A root stands in the lock, but its own marker does not hold.
    Excluded {
        /// The root.
        name: PackageName,
        /// The marker as written.
        marker: String,
    },
    /// The lock was resolved for other environments only (`[tool.uv] environments`).
    Environment {
        /// The target in words.
        target: String,
        /// Markers of the environments that the lock covers.
        covered: Vec<String>,
    },
    /// Several versions of one name are locked and nothing tells which is meant, or two were reached at once.
    Forked {
        /// The name.
        name: PackageName,
        /// Its versions with their sources, sorted.
        versions: Vec<String>,
    },
    /// The lock itself is wrong at a place that the subset needs.
    Malformed {
        /// What is wrong.
        what: String,
        /// Where in the lock.
        location: Location,
    },
}

impl SubsetError {
    /// What is wrong, in one line.
    pub fn message(&self) -> String {
        match self {
            Self::UnknownPackage { name, .. } => format!("the lock has no package `{name}`"),
            Self::UnknownExtra {
                package: Some(package),
                extra,
                ..
            } => {
                format!("`{package}` has no extra `{extra}` in the lock")
            }
            Self::UnknownExtra {
                package: None, extra, ..
            } => format!("no root has an extra `{extra}`"),
            Self::UnknownGroup { group, .. } => format!("no root has a dependency group `{group}`"),
            Self::Conflict { active, .. } => {
                format!("{} cannot be installed together", in_words(active, "and"))
            }
            Self::NoArtifact {
                package,
                version,
                why,
                ..
            } => {
                format!(
                    "nothing of `{}` can be installed here: {why}",
                    pinned(package, version.as_deref())
                )
            }
            Self::PythonMismatch {
                package,
                requires,
                python,
            } => {
                let what = package
                    .as_ref()
                    .map_or_else(|| "the lock".to_owned(), |name| format!("`{name}`"));
                format!("{what} requires Python {requires}, not {python}")
            }
            Self::Excluded { name, marker } => {
                format!("the lock keeps `{name}` from this image: its marker is `{marker}`")
            }
            Self::Environment { target, .. } => format!("the lock was not resolved for {target}"),
            Self::Forked { name, versions } => {
                format!("the lock has `{name}` more than once: {}", versions.join(", "))
            }
            Self::Malformed { what, .. } => what.clone(),
        }
    }

    /// What to do about it.
    pub fn help(&self) -> Option<String> {
        match self {
            Self::UnknownPackage { nearest, .. } => Some(match nearest {
                Some(nearest) => format!("did you mean `{nearest}`?"),
                None => {
                    "a root is a workspace member or any package of the lock; run `uv add` and `uv lock` \
                         for a new one"
                        .to_owned()
                }
            }),
            Self::UnknownExtra { nearest, known, .. } => Some(suggest(nearest.as_deref(), known, "extras")),
            Self::UnknownGroup { nearest, known, .. } => Some(suggest(nearest.as_deref(), known, "groups")),
            Self::Conflict { set, .. } => Some(format!(
                "the project declares that only one of {} may be chosen",
                in_words(set, "or")
            )),
            Self::NoArtifact {
                asked, have, path, ..
            } => {
                let mut help = match (have.is_empty(), asked.is_empty()) {
                    (true, _) => String::new(),
                    (false, true) => format!("the lock has {}", have.join(", ")),
                    (false, false) => {
                        format!(
                            "the lock has {}; this target takes {}",
                            have.join(", "),
                            asked.join(", ")
                        )
                    }
                };
                if path.len() > 1 {
                    if !help.is_empty() {
                        help.push_str("; ");
                    }
                    let names: Vec<&str> = path.iter().map(PackageName::as_str).collect();
                    help.push_str("required by way of ");
                    help.push_str(&names.join(" -> "));
                }
                (!help.is_empty()).then_some(help)
            }
            Self::PythonMismatch { .. } => Some(
                "choose a Python that the lock covers, or widen `requires-python` and lock again".to_owned(),
            ),
            Self::Excluded { .. } => {
                Some("leave it out, or ask for the extra or group that its marker names".to_owned())
            }
            Self::Environment { covered, .. } => Some(format!(
                "it covers {}; see `environments` of [tool.uv]",
                covered.join(" | ")
            )),
            Self::Forked { .. } => Some(
                "ask for the workspace member, extra or group that chooses between them, not for the package"
                    .to_owned(),
            ),
            Self::Malformed { .. } => Some("lock again to write the file anew".to_owned()),
        }
    }
}

impl fmt::Display for SubsetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message())
    }
}

impl std::error::Error for SubsetError {}

/// `name==version`, or the name alone.
fn pinned(name: &PackageName, version: Option<&str>) -> String {
    version.map_or_else(|| name.to_string(), |version| format!("{name}=={version}"))
}

/// Names the nearest of some known words, or all of them when none is near.
fn suggest(nearest: Option<&str>, known: &[String], what: &str) -> String {
    match nearest {
        Some(nearest) => format!("did you mean `{nearest}`?"),
        None if known.is_empty() => format!("none of the roots has {what}"),
        None => format!("known {what}: {}", known.join(", ")),
    }
}

/// `a, b and c`, each in backticks.
fn in_words(items: &[String], conjunction: &str) -> String {
    let quoted: Vec<String> = items.iter().map(|item| format!("`{item}`")).collect();
    match quoted.split_last() {
        None => String::new(),
        Some((last, [])) => last.clone(),
        Some((last, rest)) => format!("{} {conjunction} {last}", rest.join(", ")),
    }
}
