//! From the lock's subset to what each package becomes: a wheel to install, a wheel to compile, or a folder of
//! the build context to build.

use std::collections::{BTreeMap, BTreeSet};

use super::model::{Download, Package};
use super::planner::{Planner, Wanted};
use crate::diagnostic::{Diagnostic, Location, nearest};
use crate::lock::{Artifact, Indexes, Lock, Locked, PackageName, Root, Roots, Subset, SubsetError};
use crate::spec::{Fetch, Requirement, Spanned};

/// A subset, told apart by what has to be done.
#[derive(Debug, Default)]
pub(super) struct Sorted {
    /// To be installed as they are.
    pub(super) packages: Vec<Wanted>,
    /// Names of `[wheels]` that stand in for a package of the lock.
    pub(super) wheels: BTreeSet<String>,
    /// Packages without a wheel that fits.
    pub(super) sdists: Vec<SdistRef>,
    /// Folders of the build context.
    pub(super) projects: Vec<ProjectRef>,
}

/// A package that the lock has only a source distribution of, for this platform and Python.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SdistRef {
    /// Normalised name.
    pub(super) name: String,
    /// The source distribution.
    pub(super) archive: Download,
    /// Which chain of requirements brings it.
    pub(super) because: String,
}

/// A folder of the build context that the lock names as a package.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ProjectRef {
    /// Normalised name.
    pub(super) name: String,
    /// Relative to the lockfile's folder, `.` for that folder itself.
    pub(super) path: String,
}

/// What the spec asks for, as the lock wants it.
pub(super) fn roots(
    packages: &[Spanned<Requirement>],
    extras: impl IntoIterator<Item = String>,
    groups: impl IntoIterator<Item = String>,
) -> Roots {
    Roots {
        everything: false,
        packages: packages
            .iter()
            .filter_map(|requirement| {
                let requirement = requirement.get_ref();
                let name: PackageName = requirement.name.parse().ok()?;
                Some(Root {
                    name,
                    extras: requirement.extras.clone(),
                })
            })
            .collect(),
        extras: extras.into_iter().collect(),
        groups: groups.into_iter().collect(),
    }
}

impl<'a> Planner<'a> {
    /// The subset for `wanted`, in the resolution that `context` selects, told apart. Errors are placed at the
    /// words of the spec that caused them, and `None` is returned.
    pub(super) fn sorted(
        &mut self,
        wanted: &Roots,
        context: Option<&Roots>,
        words: &[(String, Location)],
    ) -> Option<Sorted> {
        if wanted.packages.is_empty() && !wanted.everything {
            return Some(Sorted::default());
        }
        let lock = self.lock()?;
        let target = self.target();
        let subset = match context {
            Some(context) => lock.subset_within(wanted, context, &target),
            None => lock.subset(wanted, &target),
        };
        match subset {
            Ok(subset) => self.sort(subset, words),
            Err(errors) => {
                for error in errors {
                    self.error(subset_error(&error, words));
                }
                None
            }
        }
    }

    fn sort(&mut self, subset: Subset, words: &[(String, Location)]) -> Option<Sorted> {
        let mut sorted = Sorted::default();
        let errors = self.errors.len();
        sorted.packages.reserve(subset.packages.len());
        for mut locked in subset.packages {
            let name = locked.name.as_str().to_owned();
            if let Some(wheel) = self.spec.wheel_of(&name) {
                sorted.wheels.insert(wheel.to_owned());
                continue;
            }
            let artifact = std::mem::replace(&mut locked.artifact, Artifact::Nothing);
            let locked = &locked;
            match artifact {
                Artifact::Wheel {
                    filename,
                    url,
                    sha256,
                    size,
                    pure,
                    ..
                } => match self.wheel(locked, filename, url, sha256) {
                    Ok((wheel, index)) => sorted.packages.push(Wanted {
                        package: Package {
                            name,
                            version: locked.version.clone().unwrap_or_default(),
                            hashes: vec![format!("sha256:{}", wheel.sha256)],
                            wheel: Some(wheel),
                            size,
                        },
                        because: path(locked),
                        index,
                        pure,
                    }),
                    Err(error) => self.package_error(locked, words, error),
                },
                Artifact::Pinned { hashes } => match self.pinned(locked, hashes) {
                    Ok(wanted) => sorted.packages.push(wanted),
                    Err(error) => self.package_error(locked, words, error),
                },
                Artifact::Tree { path, .. } => sorted.projects.push(ProjectRef { name, path }),
                Artifact::Nothing => {}
                Artifact::Sdist {
                    filename,
                    url: Some(url),
                    sha256: Some(sha256),
                    ..
                } => {
                    sorted.sdists.push(SdistRef {
                        name,
                        archive: Download {
                            url,
                            sha256,
                            filename,
                        },
                        because: path(locked),
                    });
                }
                Artifact::Sdist { filename, .. } => self.package_error(
                    locked,
                    words,
                    Diagnostic::error(format!("the lock pins `{filename}` by no URL and SHA-256")).help(
                        format!("give its source in [wheels.{name}]: a path or a git commit"),
                    ),
                ),
                Artifact::Git { url, rev, .. } => self.package_error(
                    locked,
                    words,
                    Diagnostic::error(format!(
                        "`{name}` comes from a git repository and has to be built"
                    ))
                    .help(format!(
                        "build it in a stage of its own: [wheels.{name}] with \
                             source = {{ git = \"{url}\", rev = \"{rev}\" }}"
                    )),
                ),
            }
        }
        (self.errors.len() == errors).then_some(sorted)
    }

    fn package_error(&mut self, locked: &Locked, words: &[(String, Location)], mut error: Diagnostic) {
        let root = locked.path.first().map(PackageName::as_str);
        let place = words
            .iter()
            .find(|(word, _)| Some(word.as_str()) == root)
            .or_else(|| words.first());
        if let Some((_, location)) = place {
            error = error.at(location.clone(), format!("needed by {}", path(locked)));
        }
        self.error(error);
    }

    /// How a locked wheel is fetched: by URL and hash, and from which indexes where not from that URL.
    fn wheel(
        &self,
        locked: &Locked,
        filename: String,
        url: Option<String>,
        sha256: Option<String>,
    ) -> Result<(Download, Option<Indexes>), Diagnostic> {
        let fetch = self.spec.python.fetch;
        let Some(sha256) = sha256 else {
            return Err(Diagnostic::error(format!("the lock has no SHA-256 for `{filename}`")).help(
                "lock it from an index that publishes hashes: what is not pinned by a hash is not installed",
            ));
        };
        let index = match (fetch, &url) {
            (Fetch::Auto | Fetch::File, Some(_)) => None,
            (Fetch::File, None) => {
                return Err(
                    Diagnostic::error(format!("the lock gives no URL for `{filename}`"))
                        .help("write fetch = \"index\" in [python]: uv then takes it from its index"),
                );
            }
            (Fetch::Auto | Fetch::Index, _) => locked.source.indexes(),
        };
        if url.is_none() && index.is_none() {
            return Err(
                Diagnostic::error(format!("`{filename}` is a file beside the lock"))
                    .help("publish it in an index, or give its source in [wheels]"),
            );
        }
        let wheel = Download {
            url: url.unwrap_or_default(),
            sha256,
            filename,
        };
        Ok((wheel, index))
    }

    /// How a package is fetched of which the lock knows hashes alone: an index has to be asked for the file.
    fn pinned(&self, locked: &Locked, hashes: Vec<String>) -> Result<Wanted, Diagnostic> {
        let lock = self.spec.python.lock.get_ref();
        if self.spec.python.fetch == Fetch::File {
            return Err(
                Diagnostic::error(format!("{lock} gives hashes of `{}`, and no URL", locked.name)).help(
                    "leave fetch = \"file\" out of [python], or use a uv.lock or pylock.toml, which have URLs",
                ),
            );
        }
        let package = Package {
            name: locked.name.as_str().to_owned(),
            version: locked.version.clone().unwrap_or_default(),
            wheel: None,
            hashes,
            size: None,
        };
        Ok(Wanted {
            package,
            because: path(locked),
            index: Some(locked.source.indexes().unwrap_or_default()),
            // Nothing is known of the file; a layer for each would use up those that an image may have.
            pure: true,
        })
    }

    /// The lock; that there is none is an error as soon as somebody asks for it.
    pub(super) fn lock(&mut self) -> Option<&'a Lock> {
        if self.request.lock.is_none() {
            let path = &self.spec.python.lock;
            self.error(
                Diagnostic::error(format!("the lockfile `{}` does not exist", path.get_ref()))
                    .at(self.spec.locate(path), "looked for in the build context")
                    .help("write it with `uv lock`, and see that no .dockerignore hides it"),
            );
        }
        self.request.lock
    }

    /// Whether a name is in the lock or in `[wheels]`; it is an error if it is not. Without a lock that cannot be
    /// said, and is an error elsewhere.
    pub(super) fn check_known(&mut self, requirement: &Spanned<Requirement>) -> bool {
        let name = &requirement.get_ref().name;
        if self.request.lock.is_none() || self.in_lock(name) || self.spec.wheel_of(name).is_some() {
            return true;
        }
        let location = self.spec.locate(requirement);
        self.unknown(
            name,
            location,
            "neither a package of the lock nor one of [wheels]",
        );
        false
    }

    /// The error that a name is not in the lock.
    pub(super) fn unknown(&mut self, name: &str, location: Location, label: &str) {
        let locked = self.request.lock.into_iter().flat_map(Lock::packages);
        let names: BTreeSet<&str> = locked
            .map(|package| package.name().as_str())
            .chain(self.spec.wheels.keys().map(String::as_str))
            .filter(|known| *known != name)
            .collect();
        let help = nearest(name, names).map_or_else(
            || format!("add it with `uv add {name}`, or to a dependency group of the project"),
            |near| format!("did you mean `{near}`?"),
        );
        let lock = self.spec.python.lock.get_ref();
        self.error(
            Diagnostic::error(format!("`{name}` is not in {lock}"))
                .at(location, label)
                .help(help),
        );
    }

    /// Notes an error once: the same mistake is met on several ways.
    pub(super) fn error(&mut self, error: Diagnostic) {
        if !self.errors.contains(&error) {
            self.errors.push(error);
        }
    }

    /// Whether the lock has a package of this name.
    pub(super) fn in_lock(&self, name: &str) -> bool {
        let Ok(name) = name.parse::<PackageName>() else {
            return false;
        };
        self.request
            .lock
            .is_some_and(|lock| lock.find(&name).next().is_some())
    }

    /// Words of the spec with their places, for errors.
    pub(super) fn words(
        &self,
        requirements: &[Spanned<Requirement>],
        others: &[&[Spanned<String>]],
    ) -> Vec<(String, Location)> {
        let requirements = requirements
            .iter()
            .map(|word| (word.get_ref().name.clone(), self.spec.locate(word)));
        let others = others
            .iter()
            .flat_map(|words| words.iter())
            .map(|word| (word.get_ref().clone(), self.spec.locate(word)));
        requirements.chain(others).collect()
    }
}

/// An error of the lock, at the word of the spec that it is about, or else at the first root.
fn subset_error(error: &SubsetError, words: &[(String, Location)]) -> Diagnostic {
    let message = error.message();
    // A package by its name, or an extra or a group of one: `app[cpu]`, `app:dev`.
    let is_named = |word: &str| {
        let written = [format!("`{word}`"), format!("[{word}]`"), format!(":{word}`")];
        written.iter().any(|written| message.contains(written))
    };
    let word = words
        .iter()
        .find(|(word, _)| is_named(word))
        .or_else(|| words.first());
    let mut diagnostic = Diagnostic::error(message);
    if let SubsetError::Malformed { location, .. } = error {
        diagnostic = diagnostic.at(location.clone(), "in the lock");
    }
    if let Some((_, location)) = word {
        diagnostic = diagnostic.at(location.clone(), "asked for here");
    }
    match error.help() {
        Some(help) => diagnostic.help(help),
        None => diagnostic,
    }
}

/// `train > torch > numpy`.
fn path(locked: &Locked) -> String {
    locked
        .path
        .iter()
        .map(PackageName::as_str)
        .collect::<Vec<_>>()
        .join(" > ")
}

/// The requirement that a wheel's own name is.
pub(super) fn as_requirement(name: &Spanned<String>) -> Spanned<Requirement> {
    let requirement = Requirement {
        name: name.get_ref().clone(),
        extras: BTreeSet::new(),
    };
    Spanned::new(name.span(), requirement)
}

/// Stages by name.
pub(super) type Built = BTreeMap<String, super::model::StageId>;
