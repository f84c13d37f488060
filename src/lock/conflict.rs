//! Extras, groups and projects that exclude each other (`[tool.uv] conflicts`).

use std::collections::BTreeSet;

/// How uv writes an extra, group or project of a conflict as the name of an extra in a marker. The length of the
/// package's name makes it unambiguous.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ConflictItem {
    Project(String),
    Extra(String, String),
    Group(String, String),
}

impl ConflictItem {
    /// The name in markers.
    pub(super) fn encode(&self) -> String {
        match self {
            Self::Project(package) => format!("project-{}-{package}", package.len()),
            Self::Extra(package, extra) => format!("extra-{}-{package}-{extra}", package.len()),
            Self::Group(package, group) => format!("group-{}-{package}-{group}", package.len()),
        }
    }

    /// As a person would say it.
    pub(super) fn describe(&self) -> String {
        match self {
            Self::Project(package) => package.clone(),
            Self::Extra(package, extra) => format!("{package}[{extra}]"),
            Self::Group(package, group) => format!("{package}:{group}"),
        }
    }
}

/// The conflict items that are on, with their names in markers.
#[derive(Debug, Clone, Default)]
pub(super) struct Active {
    items: BTreeSet<ConflictItem>,
    encoded: BTreeSet<String>,
}

impl Active {
    /// Turns an item on; whether it was off.
    pub(super) fn insert(&mut self, item: ConflictItem) -> bool {
        self.encoded.insert(item.encode()) && self.items.insert(item)
    }

    /// Turns on an extra or group of a whole list of packages, by its name in markers.
    pub(super) fn select(&mut self, encoded: String) {
        self.encoded.insert(encoded);
    }

    pub(super) fn contains(&self, item: &ConflictItem) -> bool {
        self.items.contains(item)
    }

    /// Whether an extra of a marker is on.
    pub(super) fn has(&self, encoded: &str) -> bool {
        self.encoded.contains(encoded)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_are_encoded_as_uv_does() {
        let item = ConflictItem::Extra("my-app".into(), "cu128".into());
        assert_eq!(
            (item.encode(), item.describe()),
            ("extra-6-my-app-cu128".into(), "my-app[cu128]".into())
        );
        assert_eq!(
            ConflictItem::Group("a".into(), "g".into()).encode(),
            "group-1-a-g"
        );
        assert_eq!(ConflictItem::Project("a".into()).encode(), "project-1-a");
    }
}
