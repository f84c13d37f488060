//! From what is asked for to starting points in the lock.

use std::collections::{BTreeMap, BTreeSet};

use super::conflict::{Active, ConflictItem};
use super::error::SubsetError;
use super::expression::Environment;
use super::package::MarkerId;
use super::walk::{Reached, Start, Walker};
use super::{Lock, Package, PackageName, Root, Roots};
use crate::diagnostic::nearest;

/// The walk that some roots stand for, and the conflict items that it turned on.
pub(super) struct Selection<'l> {
    pub(super) reached: Reached<'l>,
    pub(super) active: Active,
    /// Which version of each name it reached.
    pub(super) chosen: BTreeMap<&'l PackageName, usize>,
}

/// Walks from some roots, inside the selection of others when there is one.
pub(super) fn select<'l>(
    lock: &'l Lock,
    environment: &'l Environment,
    roots: &Roots,
    context: Option<&Selection<'l>>,
) -> Result<Selection<'l>, Vec<SubsetError>> {
    if let Some(list) = &lock.list {
        return super::listed::select(lock, list, environment, roots, context);
    }
    let mut walker = Walker::new(lock, environment);
    let mut active = context.map(|context| context.active.clone()).unwrap_or_default();
    let mut errors = Vec::new();

    // Names that are locked once, or chosen by the context, are clear at once. What they reach then tells which
    // version of the others is meant.
    let mut known: Vec<(usize, &Root)> = Vec::new();
    let mut open: Vec<(&[usize], &Root)> = Vec::new();
    let is_named = |name: &PackageName| roots.packages.iter().any(|root| root.name == *name);
    let members: Vec<Root> = lock
        .members()
        .filter(|member| roots.everything && !is_named(member.name()))
        .map(|member| Root::new(member.name().clone()))
        .collect();
    for root in roots.packages.iter().chain(&members) {
        let chosen = context
            .and_then(|context| context.chosen.get(&root.name))
            .copied();
        match (chosen, lock.by_name.get(&root.name).map(Vec::as_slice)) {
            (Some(index), _) => known.push((index, root)),
            (None, Some([index])) => known.push((*index, root)),
            (None, Some(indices)) => open.push((indices, root)),
            (None, None) => errors.push(unknown_package(lock, &root.name)),
        }
    }
    if !errors.is_empty() {
        return Err(errors);
    }
    if !open.is_empty() {
        let starts = starts(lock, roots, &known, &walker, &mut active, &mut Vec::new());
        let reached = walker.walk(&starts, &mut active)?;
        let chosen = chosen(lock, &reached);
        for (indices, root) in open {
            match chosen.get(&root.name) {
                Some(index) => known.push((*index, root)),
                None => match choose(lock, &mut walker, indices, &active) {
                    Ok(Some(index)) => known.push((index, root)),
                    Ok(None) => errors.push(forked(lock, &root.name, indices)),
                    Err(error) => errors.push(error),
                },
            }
        }
    }
    let starts = starts(lock, roots, &known, &walker, &mut active, &mut errors);
    if !errors.is_empty() {
        return Err(errors);
    }
    let reached = walker.walk(&starts, &mut active)?;
    let chosen = chosen(lock, &reached);
    conflicts(lock, &active, &chosen)?;
    Ok(Selection {
        reached,
        active,
        chosen,
    })
}

/// The version of each name that was reached.
pub(super) fn chosen<'l>(lock: &'l Lock, reached: &Reached<'l>) -> BTreeMap<&'l PackageName, usize> {
    reached
        .packages()
        .filter_map(|index| Some((lock.packages.get(index)?.name(), index)))
        .collect()
}

/// Of several versions of one name, the only one whose fork of the resolution fits.
fn choose(
    lock: &Lock,
    walker: &mut Walker<'_>,
    indices: &[usize],
    active: &Active,
) -> Result<Option<usize>, SubsetError> {
    let mut fitting = Vec::new();
    for &index in indices {
        let Some(package) = lock.packages.get(index) else {
            continue;
        };
        let mut fits = package.forks.is_empty();
        for &fork in &package.forks {
            fits |= walker.marker(fork, active)?;
        }
        if fits {
            fitting.push(index);
        }
    }
    Ok(if let [index] = fitting.as_slice() {
        Some(*index)
    } else {
        None
    })
}

/// The starting points of roots whose packages are known, with their extras and groups.
fn starts<'l>(
    lock: &'l Lock,
    roots: &Roots,
    known: &[(usize, &Root)],
    walker: &Walker<'l>,
    active: &mut Active,
    errors: &mut Vec<SubsetError>,
) -> Vec<Start<'l>> {
    let packages: Vec<(usize, &'l Package, &Root)> = known
        .iter()
        .filter_map(|(index, root)| Some((*index, lock.packages.get(*index)?, *root)))
        .collect();
    let mut starts = Vec::new();
    let mut unused = roots.extras.clone();
    for (index, package, root) in &packages {
        let mut extras = BTreeSet::new();
        for extra in package.extras() {
            if root.extras.contains(extra) || roots.extras.contains(extra) {
                extras.insert(extra);
                walker.activate(
                    ConflictItem::Extra(package.name.to_string(), extra.to_owned()),
                    active,
                );
            }
            unused.remove(extra);
        }
        for extra in root
            .extras
            .iter()
            .filter(|extra| !extras.contains(extra.as_str()))
        {
            errors.push(unknown_extra(Some(*package), extra, package.extras().collect()));
        }
        walker.activate(ConflictItem::Project(package.name.to_string()), active);
        starts.push(Start {
            via: None,
            target: *index,
            extras,
            markers: Vec::new(),
        });
    }
    for extra in unused {
        let known = packages
            .iter()
            .flat_map(|(_, package, _)| package.extras())
            .collect();
        errors.push(unknown_extra(None, &extra, known));
    }
    for group in &roots.groups {
        // As in uv, a group of the workspace's own root project counts when no root has one of that name. One of a
        // workspace root that is no project counts beside those of the roots, unless there is one root and it has it.
        let mut owners: Vec<(usize, &Package)> = packages
            .iter()
            .filter(|(_, package, _)| package.groups().any(|name| name == group))
            .map(|(index, package, _)| (*index, *package))
            .collect();
        let is_shared = owners.is_empty() || packages.len() > 1;
        let shared = lock
            .groups
            .get(group)
            .filter(|_| is_shared)
            .map_or(&[][..], Vec::as_slice);
        if owners.is_empty() {
            owners.extend(
                lock.root()
                    .filter(|(_, package)| package.groups().any(|name| name == group)),
            );
            if owners.is_empty() && !lock.groups.contains_key(group) {
                errors.push(unknown_group(lock, group, &packages));
            }
        }
        for (index, package) in owners {
            walker.activate(
                ConflictItem::Group(package.name.to_string(), group.clone()),
                active,
            );
            for edge in package.groups.get(group).into_iter().flatten() {
                let extras = edge.extras.iter().map(String::as_str).collect();
                let markers = edge.marker.into_iter().collect();
                starts.push(Start {
                    via: Some(index),
                    target: edge.target,
                    extras,
                    markers,
                });
            }
        }
        for requirement in shared {
            // The requirement does not say which version is meant: the fork of the resolution that fits does.
            let indices = lock.by_name.get(&requirement.name).map_or(&[][..], Vec::as_slice);
            for &target in indices {
                let Some(package) = lock.packages.get(target) else {
                    continue;
                };
                let extras: BTreeSet<&str> = requirement.extras.iter().map(String::as_str).collect();
                let start = |fork: Option<&MarkerId>| Start {
                    via: None,
                    target,
                    extras: extras.clone(),
                    markers: requirement.marker.iter().chain(fork).copied().collect(),
                };
                if indices.len() == 1 || package.forks.is_empty() {
                    starts.push(start(None));
                } else {
                    starts.extend(package.forks.iter().map(|fork| start(Some(fork))));
                }
            }
        }
    }
    starts
}

/// Every set of the lock's conflicts of which two items are on. A project that is in conflict as a whole is on when it
/// is a root, and also when it is a workspace member that a root depends on.
fn conflicts(
    lock: &Lock,
    active: &Active,
    chosen: &BTreeMap<&PackageName, usize>,
) -> Result<(), Vec<SubsetError>> {
    let is_on = |item: &ConflictItem| {
        let is_member = |name: &str| lock.members.contains(name) && chosen.contains_key(name);
        active.contains(item) || matches!(item, ConflictItem::Project(name) if is_member(name))
    };
    let mut errors = Vec::new();
    for set in &lock.conflicts {
        let on: Vec<String> = set
            .iter()
            .filter(|item| is_on(item))
            .map(ConflictItem::describe)
            .collect();
        if on.len() > 1 {
            let set = set.iter().map(ConflictItem::describe).collect();
            errors.push(SubsetError::Conflict { active: on, set });
        }
    }
    if errors.is_empty() { Ok(()) } else { Err(errors) }
}

pub(super) fn unknown_package(lock: &Lock, name: &PackageName) -> SubsetError {
    let names = lock.by_name.keys().map(PackageName::as_str);
    let nearest = nearest(name.as_str(), names).and_then(|name| name.parse().ok());
    SubsetError::UnknownPackage {
        name: name.clone(),
        nearest,
    }
}

pub(super) fn unknown_extra(package: Option<&Package>, extra: &str, known: BTreeSet<&str>) -> SubsetError {
    SubsetError::UnknownExtra {
        package: package.map(|package| package.name.clone()),
        extra: extra.to_owned(),
        nearest: nearest(extra, known.iter().copied()).map(str::to_owned),
        known: known.into_iter().map(str::to_owned).collect(),
    }
}

fn unknown_group(lock: &Lock, group: &str, packages: &[(usize, &Package, &Root)]) -> SubsetError {
    let root = lock.root();
    let known: BTreeSet<&str> = packages
        .iter()
        .flat_map(|(_, package, _)| package.groups())
        .chain(root.iter().flat_map(|(_, package)| package.groups()))
        .chain(lock.groups.keys().map(String::as_str))
        .collect();
    SubsetError::UnknownGroup {
        group: group.to_owned(),
        nearest: nearest(group, known.iter().copied()).map(str::to_owned),
        known: known.into_iter().map(str::to_owned).collect(),
    }
}

/// Says that nothing tells which of several versions is meant.
pub(super) fn forked(lock: &Lock, name: &PackageName, indices: &[usize]) -> SubsetError {
    let versions: BTreeSet<String> = indices
        .iter()
        .filter_map(|index| lock.packages.get(*index))
        .map(|package| {
            format!(
                "{} ({})",
                package.version().unwrap_or("no version"),
                package.source
            )
        })
        .collect();
    SubsetError::Forked {
        name: name.clone(),
        versions: versions.into_iter().collect(),
    }
}
