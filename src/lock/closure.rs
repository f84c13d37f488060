//! From a walk to the canonical subset: one artifact for each package that was reached.

use pep440_rs::Version;

use super::error::SubsetError;
use super::expression::Environment;
use super::roots::{Selection, forked, select};
use super::tags::Tags;
use super::walk::Walker;
use super::wheel::WheelName;
use super::{
    Artifact, File, Lock, Locked, Origin, Package, PackageName, PythonVersion, Roots, Source, Subset, Target,
};
use crate::diagnostic::Location;

/// Works a subset out, inside the selection of `context` when there is one.
pub(super) fn subset(
    lock: &Lock,
    roots: &Roots,
    context: Option<&Roots>,
    target: &Target,
) -> Result<Subset, Vec<SubsetError>> {
    let python = python(lock, target.python).map_err(|error| vec![error])?;
    let environment = Environment::new(&target.platform, python);
    covers(lock, &environment, target).map_err(|error| vec![error])?;
    let context = context
        .map(|roots| select(lock, &environment, roots, None))
        .transpose()?;
    let selection = select(lock, &environment, roots, context.as_ref())?;
    finish(lock, &selection, &Tags::new(target))
}

/// The Python with a patch level, when the lock admits it.
fn python(lock: &Lock, python: PythonVersion) -> Result<PythonVersion, SubsetError> {
    /// No minor version has had more releases than this.
    const LAST: u32 = 99;
    let PythonVersion { major, minor, patch } = python;
    let Some((requires, specifiers)) = &lock.requires_python else {
        return Ok(PythonVersion {
            patch: patch.or(Some(0)),
            ..python
        });
    };
    let fits = |patch: &u32| {
        specifiers.contains(&Version::new([
            u64::from(major),
            u64::from(minor),
            u64::from(*patch),
        ]))
    };
    let patch_level = match patch {
        Some(patch) => Some(patch).filter(fits),
        None => (0..=LAST).find(fits),
    };
    match patch_level {
        Some(patch) => Ok(PythonVersion {
            major,
            minor,
            patch: Some(patch),
        }),
        None => Err(SubsetError::PythonMismatch {
            package: None,
            requires: requires.clone(),
            python: patch.map_or_else(
                || format!("{major}.{minor}"),
                |patch| format!("{major}.{minor}.{patch}"),
            ),
        }),
    }
}

/// Whether the lock was resolved for an environment at all.
fn covers(lock: &Lock, environment: &Environment, target: &Target) -> Result<(), SubsetError> {
    let walker = Walker::new(lock, environment);
    let linux = target.platform.os == "linux";
    for markers in [&lock.supported, &lock.forks] {
        let mut covered = linux && markers.is_empty();
        for &marker in markers {
            covered |= linux && walker.is_possible(marker)?;
        }
        if !covered {
            let PythonVersion { major, minor, .. } = target.python;
            let texts = markers
                .iter()
                .filter_map(|marker| Some(lock.markers.get(marker.0)?.text.clone()));
            return Err(SubsetError::Environment {
                target: format!("CPython {major}.{minor} on {}", target.platform),
                covered: texts.collect(),
            });
        }
    }
    Ok(())
}

fn finish(lock: &Lock, selection: &Selection<'_>, tags: &Tags) -> Result<Subset, Vec<SubsetError>> {
    let mut errors = Vec::new();
    let chains = selection.reached.chains(lock);
    let mut packages = Vec::with_capacity(selection.reached.packages().count());
    for (name, indices) in &lock.by_name {
        let reached = indices.iter().filter(|index| selection.reached.has(**index));
        let reached: Vec<usize> = reached.copied().collect();
        let index = match reached.as_slice() {
            [] => continue,
            [index] => *index,
            several => {
                errors.push(forked(lock, name, several));
                continue;
            }
        };
        let Some(package) = lock.packages.get(index) else {
            continue;
        };
        let path = chains.names(index);
        if matches!(package.source, Source::Indexes(_)) && package.hashes.is_empty() {
            errors.push(SubsetError::Malformed {
                what: super::requirement::without_hash(name),
                location: Location::new(&lock.file, package.span.clone()),
            });
            continue;
        }
        match artifact(package, tags) {
            Ok((artifact, identity)) => packages.push(Locked {
                name: name.clone(),
                version: package.version.clone().filter(|_| !package.source.is_project()),
                source: package.source.clone(),
                artifact,
                path,
                extras: selection.reached.extras(index),
                requires: selection.reached.requires(index),
                identity,
            }),
            Err(why) => errors.push(SubsetError::NoArtifact {
                package: name.clone(),
                version: package.version.clone(),
                asked: tags.best(),
                have: tags_of(package),
                why,
                path,
            }),
        }
    }
    if errors.is_empty() {
        Ok(Subset { packages })
    } else {
        Err(errors)
    }
}

/// All wheel tags of a package, sorted.
fn tags_of(package: &Package) -> Vec<String> {
    let names = package.wheels.iter().map(File::filename);
    let mut tags: Vec<String> = names
        .filter_map(|name| WheelName::parse(&name).map(WheelName::tags))
        .collect();
    tags.sort();
    tags.dedup();
    tags
}

/// What is installed of a package, and the words that stand for it in a key; or why there is nothing.
fn artifact(package: &Package, tags: &Tags) -> Result<(Artifact, String), String> {
    match &package.source {
        Source::Indexes(_) => {
            let hashes = package.hashes.clone();
            let identity = hashes.join(" ");
            Ok((Artifact::Pinned { hashes }, identity))
        }
        Source::Registry { .. } | Source::Files | Source::Url { .. } | Source::Path { .. } => {
            match tags.choose(&package.wheels) {
                Ok((file, pure)) => Ok((wheel(file, pure), identity(file))),
                Err(misfit) => origin(package).ok_or_else(|| tags.explain(misfit)),
            }
        }
        _ => origin(package).ok_or_else(|| {
            "it is a single file inside a git repository, which cannot be fetched by itself".to_owned()
        }),
    }
}

/// What a package is built from, and the words that stand for it in a key.
fn origin(package: &Package) -> Option<(Artifact, String)> {
    match &package.source {
        Source::Registry { .. } | Source::Files | Source::Path { .. } => {
            let file = package.sdist.as_deref()?;
            Some((sdist(file, None), format!("sdist {}", identity(file))))
        }
        Source::Url { subdirectory, .. } => {
            let file = package.sdist.as_deref()?;
            let identity = format!("sdist {}{}", identity(file), in_folder(subdirectory.as_deref()));
            Some((sdist(file, subdirectory.clone()), identity))
        }
        Source::Indexes(_) | Source::Git { path: Some(_), .. } => None,
        Source::Git {
            url,
            rev,
            subdirectory,
            lfs,
            path: None,
            ..
        } => {
            let folder = in_folder(subdirectory.as_deref());
            let identity = format!("git {rev}{folder}{}", if *lfs { " lfs" } else { "" });
            let artifact = Artifact::Git {
                url: url.clone(),
                rev: rev.clone(),
                subdirectory: subdirectory.clone(),
                submodules: true,
                lfs: *lfs,
            };
            Some((artifact, identity))
        }
        Source::Directory { path } => Some((
            Artifact::Tree {
                path: path.clone(),
                editable: false,
            },
            format!("tree {path}"),
        )),
        Source::Editable { path } => Some((
            Artifact::Tree {
                path: path.clone(),
                editable: true,
            },
            format!("tree {path} editable"),
        )),
        Source::Virtual { .. } => Some((Artifact::Nothing, "virtual".to_owned())),
    }
}

fn in_folder(subdirectory: Option<&str>) -> String {
    subdirectory
        .map(|folder| format!(" subdirectory={folder}"))
        .unwrap_or_default()
}

/// The hash; the file name where the index gave none.
fn identity(file: &File) -> String {
    file.hash
        .clone()
        .unwrap_or_else(|| format!("file {}", file.filename()))
}

fn wheel(file: &File, pure: bool) -> Artifact {
    Artifact::Wheel {
        filename: file.filename().into_owned(),
        url: file.url.clone(),
        path: file.path.clone(),
        sha256: file.sha256().map(str::to_owned),
        size: file.size,
        pure,
    }
}

fn sdist(file: &File, subdirectory: Option<String>) -> Artifact {
    Artifact::Sdist {
        filename: file.filename().into_owned(),
        url: file.url.clone(),
        path: file.path.clone(),
        sha256: file.sha256().map(str::to_owned),
        size: file.size,
        subdirectory,
    }
}

/// What a package of the lock is built from.
pub(super) fn origin_of(
    lock: &Lock,
    name: &PackageName,
    context: Option<&Subset>,
) -> Result<Origin, SubsetError> {
    let indices = lock.by_name.get(name).map_or(&[][..], Vec::as_slice);
    let index = match indices {
        [] => return Err(super::roots::unknown_package(lock, name)),
        [index] => *index,
        _ => {
            let chosen = context.and_then(|subset| subset.get(name));
            let fits = |index: &&usize| {
                lock.packages
                    .get(**index)
                    .zip(chosen)
                    .is_some_and(|(package, chosen)| {
                        package.source == chosen.source
                            && (package.source.is_project() || package.version == chosen.version)
                    })
            };
            *indices
                .iter()
                .find(fits)
                .ok_or_else(|| forked(lock, name, indices))?
        }
    };
    let package = lock
        .packages
        .get(index)
        .ok_or_else(|| super::roots::unknown_package(lock, name))?;
    match origin(package) {
        Some((artifact, _)) => Ok(Origin {
            name: name.clone(),
            version: package.version.clone(),
            artifact,
        }),
        None => Err(SubsetError::NoArtifact {
            package: name.clone(),
            version: package.version.clone(),
            asked: Vec::new(),
            have: tags_of(package),
            why: if package.hashes.is_empty() {
                "the lock has no source distribution of it".to_owned()
            } else {
                "the lock has hashes of its files and not their URLs".to_owned()
            },
            path: Vec::new(),
        }),
    }
}
