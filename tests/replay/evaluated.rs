//! A third answer: the lines of text again, with markers evaluated and wheels chosen for one Python on Linux.
//!
//! It shares nothing with the library but the format: markers are read by `pep508_rs`, tags by their spelling. What it
//! calls a change is a package, version or file of that Python's closure that was not there before.

use std::collections::BTreeSet;
use std::str::FromStr;

use pep508_rs::{ExtraName, MarkerEnvironment, MarkerTree};

use super::naive::{Entry, Naive, extras, text};
use super::outside::cpython;

/// glibc 2.35, that of Ubuntu 22.04.
const GLIBC: u32 = 35;

/// A lock, seen from `CPython` 3.`minor` on Linux on `x86_64`.
pub(crate) struct Evaluated<'a> {
    lock: &'a Naive,
    minor: u32,
    environment: MarkerEnvironment,
}

impl<'a> Evaluated<'a> {
    pub(crate) fn new(lock: &'a Naive, minor: u32) -> Self {
        // The lowest patch level that the lock admits.
        let patch = lock
            .requires_python
            .split_once(&format!(">=3.{minor}."))
            .map_or(0, |(_, rest)| {
                let digits = rest.split(|letter: char| !letter.is_ascii_digit()).next();
                digits.unwrap().parse().unwrap()
            });
        Self {
            lock,
            minor,
            environment: cpython((3, minor, patch), "x86_64"),
        }
    }

    /// Everything that is installed for a name. uv writes an extra that takes part in a conflict into markers of other
    /// packages, so what the walk switches on is known at its end alone, and it begins again.
    pub(crate) fn closure(&self, root: &str) -> BTreeSet<String> {
        let mut active = Vec::new();
        loop {
            let (met, switched) = self.walk(root, &active);
            if switched == active {
                return met;
            }
            active = switched;
        }
    }

    fn walk(&self, root: &str, active: &[ExtraName]) -> (BTreeSet<String>, Vec<ExtraName>) {
        let mut met = BTreeSet::new();
        let mut seen = BTreeSet::new();
        let mut open: Vec<(usize, Option<String>)> = self
            .entries(root, "")
            .filter(|(_, entry)| self.is_of_fork(entry, active))
            .map(|(index, _)| (index, None))
            .collect();
        while let Some((index, extra)) = open.pop() {
            if !seen.insert((index, extra.clone())) {
                continue;
            }
            let entry = &self.lock.entries[index];
            met.insert(self.installed(entry));
            for edge in entry.edges.get(&extra).into_iter().flatten() {
                if !text(edge, "marker").is_none_or(|marker| self.holds(marker, active)) {
                    continue;
                }
                let Some(name) = text(edge, "name") else { continue };
                let targets: Vec<usize> = self
                    .entries(name, edge)
                    .filter(|(_, entry)| self.is_of_fork(entry, active))
                    .map(|(index, _)| index)
                    .collect();
                for target in targets {
                    open.push((target, None));
                    open.extend(extras(edge).map(|extra| (target, Some(extra.to_owned()))));
                }
            }
        }
        let switched: BTreeSet<String> = seen
            .into_iter()
            .filter_map(|(index, extra)| {
                let name = &self.lock.entries[index].name;
                Some(format!("extra-{}-{name}-{}", name.len(), extra?))
            })
            .collect();
        let switched = switched.iter().map(|extra| ExtraName::from_str(extra).unwrap());
        (met, switched.collect())
    }

    /// The entries of a name that an edge may mean.
    fn entries<'b>(&'b self, name: &'b str, edge: &'b str) -> impl Iterator<Item = (usize, &'b Entry)> {
        let version = text(edge, "version");
        let has_source = edge.contains("source = {");
        self.lock.entries.iter().enumerate().filter(move |(_, entry)| {
            entry.name == name
                && version.is_none_or(|version| version == entry.version)
                && (!has_source || edge.contains(&entry.source))
        })
    }

    fn is_of_fork(&self, entry: &Entry, active: &[ExtraName]) -> bool {
        entry.forks.is_empty()
            || entry
                .forks
                .iter()
                .any(|marker| self.holds(marker.trim_matches('"'), active))
    }

    fn holds(&self, marker: &str, active: &[ExtraName]) -> bool {
        MarkerTree::from_str(marker)
            .unwrap()
            .evaluate(&self.environment, active)
    }

    /// A package by what is put into the environment: a project by its name, a wheel by its hash, what has no wheel by
    /// the hash of its source or by the source itself.
    fn installed(&self, entry: &Entry) -> String {
        let Entry { name, version, .. } = entry;
        if entry.is_project() {
            return name.clone();
        }
        let wheel = entry
            .files
            .iter()
            .filter_map(|(file, hash)| Some((self.rank(file)?, hash)))
            .max();
        let sdist = entry
            .files
            .iter()
            .find(|(file, _)| file.strip_suffix(".whl").is_none())
            .map(|(_, hash)| hash);
        let what = wheel.map(|(_, hash)| hash).or(sdist).unwrap_or(&entry.source);
        format!("{name} {version} {what}")
    }

    /// How well a wheel fits: the interpreter's own ABI before the stable one before none, compiled code before any, a
    /// newer glibc before an older one.
    fn rank(&self, file: &str) -> Option<(u32, u32, u32)> {
        let mut parts = file.strip_suffix(".whl")?.rsplitn(4, '-');
        let (platform, abi, python) = (parts.next()?, parts.next()?, parts.next()?);
        let own = format!("cp3{}", self.minor);
        let minor = |tag: &str, kind: &str| -> Option<u32> {
            let digits = tag.strip_prefix(kind)?.strip_prefix('3')?;
            let minor = if digits.is_empty() {
                0
            } else {
                digits.parse().ok()?
            };
            (minor <= self.minor).then_some(minor)
        };
        let interface = python
            .split('.')
            .flat_map(|python| abi.split('.').map(move |abi| (python, abi)))
            .filter_map(|(python, abi)| match abi {
                _ if python == own && abi == own => Some((3, 0)),
                "abi3" => Some((2, minor(python, "cp")?)),
                "none" if python == own => Some((1, u32::MAX)),
                "none" => Some((0, minor(python, "py")?)),
                _ => None,
            })
            .max()?;
        let platform = platform
            .split('.')
            .filter_map(|platform| {
                let system = platform.strip_suffix("_x86_64");
                match (platform, system) {
                    ("any", _) => Some(0),
                    (_, Some("linux")) => Some(1),
                    (_, Some("manylinux1")) => Some(5),
                    (_, Some("manylinux2010")) => Some(12),
                    (_, Some("manylinux2014")) => Some(17),
                    (_, Some(system)) => {
                        let glibc = system.strip_prefix("manylinux_2_")?.parse().ok()?;
                        (glibc <= GLIBC).then_some(glibc)
                    }
                    _ => None,
                }
            })
            .max()?;
        Some((interface.0, interface.1, platform))
    }
}
