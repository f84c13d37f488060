//! The part of a lock that one image needs.
//!
//! This is what makes a layer's key: the closure of some roots, for one platform and Python, in a form that
//! nothing but a real change of an installed package can alter.

use std::collections::BTreeSet;

use super::{Artifact, PackageName, Source};
use crate::platform::Platform;

/// What is asked of a lock. `Default` is empty.
///
/// Default groups (`[tool.uv] default-groups`, normally `dev`) are *not* part of it: an image is production, so a
/// group is installed only when it is named here.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Roots {
    /// All that the lock installs: every member of a workspace, and of a list of packages every entry whose marker
    /// holds.
    pub everything: bool,
    /// Packages by name; workspace members or any other package of the lock.
    pub packages: Vec<Root>,
    /// Extras of every root that has them, normalised. An error when no root has one.
    pub extras: BTreeSet<String>,
    /// Dependency groups of every root that has them, normalised. An error when neither a root nor the
    /// workspace's own root project has one.
    pub groups: BTreeSet<String>,
}

/// One root with the extras that are asked of it alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Root {
    /// The name.
    pub name: PackageName,
    /// Normalised extras.
    pub extras: BTreeSet<String>,
}

impl Root {
    /// A root without extras.
    pub fn new(name: PackageName) -> Self {
        Self {
            name,
            extras: BTreeSet::new(),
        }
    }
}

/// A version of `CPython`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct PythonVersion {
    /// 3.
    pub major: u32,
    /// The 12 of 3.12.
    pub minor: u32,
    /// The patch level, used for `python_full_version` and `requires-python`. `None`: not known; then it is the
    /// lowest one that the lock's `requires-python` admits, and 0 when it says nothing about it.
    pub patch: Option<u32>,
}

impl PythonVersion {
    /// A minor version of which the patch level is not known.
    pub fn new(major: u32, minor: u32) -> Self {
        Self {
            major,
            minor,
            patch: None,
        }
    }
}

/// The environment that a subset is for: `CPython` on Linux with glibc.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// The image's platform.
    pub platform: Platform,
    /// The image's Python.
    pub python: PythonVersion,
    /// The lowest glibc that the wheels meet, major and minor: `(2, 35)` on Ubuntu 22.04.
    pub glibc: (u32, u32),
}

/// What a package is built from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    /// The normalised name.
    pub name: PackageName,
    /// The locked version; `None` for a project whose version is dynamic.
    pub version: Option<String>,
    /// A source distribution, git commit or project folder.
    pub artifact: Artifact,
}

/// The closure of some roots: sorted by name and version, one entry for each name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Subset {
    /// The packages.
    pub packages: Vec<Locked>,
}

/// One package of a subset.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Locked {
    /// The normalised name.
    pub name: PackageName,
    /// The version. `None` for projects (directory, editable and virtual sources): their files decide, and a bump
    /// of a project's own version must rebuild nothing else.
    pub version: Option<String>,
    /// Where it comes from.
    pub source: Source,
    /// What is installed.
    pub artifact: Artifact,
    /// Why it is there: a shortest chain from a root, root first and itself last. Of several shortest chains it is
    /// the lexicographically first.
    pub path: Vec<PackageName>,
    /// Its extras that are on, normalised.
    pub extras: BTreeSet<String>,
    /// Packages of the subset that it depends on directly in this environment.
    pub requires: BTreeSet<PackageName>,
    /// What is installed, exactly: the part of the key line after the name and version.
    pub(super) identity: String,
}

impl Locked {
    /// The exact line that stands for this package in a key: name, version, and hash or commit. Not in it, since
    /// they change nothing that is installed: hosts and paths of URLs, sizes, upload times, own versions of
    /// projects, and extras (which show in the packages that they bring).
    pub fn key_line(&self) -> String {
        match &self.version {
            Some(version) => format!("{}=={version} {}", self.name, self.identity),
            None => format!("{} {}", self.name, self.identity),
        }
    }
}

impl Subset {
    /// The package of a name.
    pub fn get(&self, name: &PackageName) -> Option<&Locked> {
        let index = self
            .packages
            .binary_search_by(|locked| locked.name.cmp(name))
            .ok()?;
        self.packages.get(index)
    }

    /// The lines of all packages that are installed, sorted: a virtual project has none.
    pub fn key_lines(&self) -> impl Iterator<Item = String> {
        self.packages
            .iter()
            .filter(|locked| locked.artifact != Artifact::Nothing)
            .map(Locked::key_line)
    }

    /// The same subset without some packages; what they brought stays.
    #[must_use]
    pub fn without(&self, names: &BTreeSet<PackageName>) -> Self {
        Self {
            packages: self
                .packages
                .iter()
                .filter(|locked| !names.contains(&locked.name))
                .cloned()
                .collect(),
        }
    }
}
