//! From what is asked for to starting points in a file that lists packages.

use std::collections::BTreeSet;

use super::error::SubsetError;
use super::expression::{Environment, Set};
use super::roots::{Selection, chosen, unknown_extra, unknown_package};
use super::walk::{Start, Walker};
use super::{List, Lock, Package, Roots};
use crate::diagnostic::nearest;

/// As [`super::roots::select`], for a list: packages are chosen by their own markers.
pub(super) fn select<'l>(
    lock: &'l Lock,
    list: &'l List,
    environment: &'l Environment,
    roots: &Roots,
    context: Option<&Selection<'l>>,
) -> Result<Selection<'l>, Vec<SubsetError>> {
    let mut walker = Walker::new(lock, environment);
    let mut active = context.map(|context| context.active.clone()).unwrap_or_default();
    let mut errors = Vec::new();
    for extra in &roots.extras {
        if !list.extras.contains(extra) {
            let known = list.extras.iter().map(String::as_str).collect();
            errors.push(unknown_extra(None, extra, known));
        }
        active.select(Set::Extras.member(extra));
    }
    for group in roots.groups.iter().chain(&list.default_groups) {
        if !list.groups.contains(group) && !list.default_groups.contains(group) {
            errors.push(unknown_group(list, group));
        }
        active.select(Set::DependencyGroups.member(group));
    }

    let start = |index: usize, package: &Package| Start {
        via: None,
        target: index,
        extras: BTreeSet::new(),
        markers: package.marker.into_iter().collect(),
    };
    let mut starts = Vec::new();
    if roots.everything {
        let all = lock.packages.iter().enumerate();
        starts.extend(all.map(|(index, package)| start(index, package)));
    }
    for root in &roots.packages {
        let Some(indices) = lock.by_name.get(&root.name) else {
            errors.push(unknown_package(lock, &root.name));
            continue;
        };
        // An extra of a single package is not in a list: what it brings stands there like everything else.
        for extra in &root.extras {
            let package = indices.first().and_then(|index| lock.packages.get(*index));
            errors.push(unknown_extra(package, extra, BTreeSet::new()));
        }
        if let Some(index) = context.and_then(|context| context.chosen.get(&root.name)) {
            starts.push(Start {
                via: None,
                target: *index,
                extras: BTreeSet::new(),
                markers: Vec::new(),
            });
            continue;
        }
        let packages = indices
            .iter()
            .filter_map(|index| Some((*index, lock.packages.get(*index)?)));
        let mut is_installed = false;
        for (index, package) in packages.clone() {
            is_installed |= match package.marker {
                Some(marker) => walker.marker(marker, &active).map_err(|error| vec![error])?,
                None => true,
            };
            starts.push(start(index, package));
        }
        if !is_installed {
            let markers = packages.filter_map(|(_, package)| lock.markers.get(package.marker?.0));
            let markers: Vec<&str> = markers.map(|marker| marker.text.as_str()).collect();
            errors.push(SubsetError::Excluded {
                name: root.name.clone(),
                marker: markers.join("` or `"),
            });
        }
    }
    if !errors.is_empty() {
        return Err(errors);
    }
    let reached = walker.walk(&starts, &mut active)?;
    for package in reached.packages().filter_map(|index| lock.packages.get(index)) {
        if let Some((requires, specifiers)) = package.requires_python.as_deref()
            && !specifiers.contains(environment.python())
        {
            errors.push(SubsetError::PythonMismatch {
                package: Some(package.name.clone()),
                requires: requires.clone(),
                python: environment.python().to_string(),
            });
        }
    }
    if !errors.is_empty() {
        return Err(errors);
    }
    let chosen = chosen(lock, &reached);
    Ok(Selection {
        reached,
        active,
        chosen,
    })
}

fn unknown_group(list: &List, group: &str) -> SubsetError {
    let known: BTreeSet<&str> = list
        .groups
        .union(&list.default_groups)
        .map(String::as_str)
        .collect();
    SubsetError::UnknownGroup {
        group: group.to_owned(),
        nearest: nearest(group, known.iter().copied()).map(str::to_owned),
        known: known.into_iter().map(str::to_owned).collect(),
    }
}
