//! One `[[package]]` of the lock.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use pep440_rs::VersionSpecifiers;

use super::{File, PackageName, Source};

/// A package as the resolver locked it: for every platform and Python that the lock covers.
#[derive(Debug, Clone)]
pub struct Package {
    pub(super) name: PackageName,
    pub(super) version: Option<String>,
    pub(super) source: Source,
    pub(super) sdist: Option<Box<File>>,
    pub(super) wheels: Vec<File>,
    /// `algorithm:hex` of files of which nothing else is known, sorted (hashed requirements).
    pub(super) hashes: Vec<String>,
    /// What must hold for it to be installed, in a file that lists packages.
    pub(super) marker: Option<MarkerId>,
    /// Its own `requires-python`, in a file that lists packages.
    pub(super) requires_python: Option<Box<(String, VersionSpecifiers)>>,
    pub(super) dependencies: Vec<Dependency>,
    pub(super) extras: BTreeMap<String, Vec<Dependency>>,
    pub(super) groups: BTreeMap<String, Vec<Dependency>>,
    /// Forks of the resolution that chose this version or source; empty when all did.
    pub(super) forks: Vec<MarkerId>,
    /// Extras and groups that the project declares, with or without dependencies.
    pub(super) declared_extras: BTreeSet<String>,
    pub(super) declared_groups: BTreeSet<String>,
    /// Bytes of its name in the lock.
    pub(super) span: Range<usize>,
}

impl Package {
    /// A package of which only the name and source are known yet.
    pub(super) fn new(name: PackageName, source: Source, span: Range<usize>) -> Self {
        Self {
            name,
            version: None,
            source,
            sdist: None,
            wheels: Vec::new(),
            hashes: Vec::new(),
            marker: None,
            requires_python: None,
            dependencies: Vec::new(),
            extras: BTreeMap::new(),
            groups: BTreeMap::new(),
            forks: Vec::new(),
            declared_extras: BTreeSet::new(),
            declared_groups: BTreeSet::new(),
            span,
        }
    }

    /// The normalised name.
    pub fn name(&self) -> &PackageName {
        &self.name
    }

    /// The version (PEP 440); `None` for a project whose version is dynamic.
    pub fn version(&self) -> Option<&str> {
        self.version.as_deref()
    }

    /// Where it comes from.
    pub fn source(&self) -> &Source {
        &self.source
    }

    /// The source distribution that the lock pins.
    pub fn sdist(&self) -> Option<&File> {
        self.sdist.as_deref()
    }

    /// All wheels of the lock, for every platform.
    pub fn wheels(&self) -> &[File] {
        &self.wheels
    }

    /// What it always depends on, before markers are evaluated.
    pub fn dependencies(&self) -> &[Dependency] {
        &self.dependencies
    }

    /// Its extras by normalised name: those with dependencies, and those that a project merely declares.
    pub fn extras(&self) -> impl Iterator<Item = &str> {
        self.extras
            .keys()
            .chain(&self.declared_extras)
            .map(String::as_str)
            .collect::<BTreeSet<_>>()
            .into_iter()
    }

    /// Its dependency groups (PEP 735) by normalised name.
    pub fn groups(&self) -> impl Iterator<Item = &str> {
        self.groups
            .keys()
            .chain(&self.declared_groups)
            .map(String::as_str)
            .collect::<BTreeSet<_>>()
            .into_iter()
    }
}

/// Place of a marker in the lock's table of distinct markers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct MarkerId(pub(super) usize);

/// An edge to another package of the lock.
#[derive(Debug, Clone)]
pub struct Dependency {
    pub(super) name: PackageName,
    /// Index of the package; the edge is exact, whatever other versions of the name are locked.
    pub(super) target: usize,
    pub(super) extras: BTreeSet<String>,
    pub(super) marker: Option<MarkerId>,
}

impl Dependency {
    /// The package at the other end.
    pub fn name(&self) -> &PackageName {
        &self.name
    }

    /// Extras of it that this edge turns on.
    pub fn extras(&self) -> &BTreeSet<String> {
        &self.extras
    }
}
