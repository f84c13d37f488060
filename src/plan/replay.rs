//! What the edits of a lock would have cost, under three ways to key what is installed.
//!
//! Each edit is compared with the version before it. What an older version had is shipped again when it comes back,
//! as it is on a node that has kept the newest version only.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::footprint::Footprint;
use super::key::{Input, Key, key};

/// One version of a lock, as far as one image is concerned.
#[derive(Debug, Clone)]
pub struct Version {
    /// What it is called: a short commit, or a file's name.
    pub name: String,
    /// The day, `2026-03-02`, and the subject of the commit; empty where there is none.
    pub date: String,
    /// See `date`.
    pub subject: String,
    /// Key of the whole file, see [`file_key`]; `None` when it could not be read.
    pub file: Option<Key>,
    /// What the image takes from it, or why that cannot be said.
    pub footprint: Result<Footprint, String>,
}

/// The history of one image.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Replay {
    /// Versions that could be planned.
    pub versions: usize,
    /// Pairs of successive versions that could be planned.
    pub edits: usize,
    /// One layer with all packages, keyed by the whole lockfile.
    pub whole_file: Policy,
    /// One layer with all packages, keyed by the subset that the image uses.
    pub subset: Policy,
    /// Layers keyed by their own packages.
    pub layers: Policy,
    /// The layers by name.
    pub by_layer: BTreeMap<String, LayerHistory>,
    /// Bytes shipped so far after each edit, the first version not counted.
    pub points: Vec<Point>,
    /// Packages whose bytes are known at no time, in any version: those that are built, and those that the index gives
    /// no size of.
    pub unknown: BTreeSet<String>,
    /// Versions that cannot be planned.
    pub unplanned: Vec<Unplanned>,
}

/// What a way to make keys costs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Policy {
    /// How many edits changed a key.
    pub edits: usize,
    /// How many keys changed; more than `edits` where an edit changes several layers.
    pub keys: usize,
    /// Bytes of the wheels in what is made anew.
    pub bytes: u64,
}

/// How often a layer changed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct LayerHistory {
    /// Versions that have it.
    pub versions: usize,
    /// Edits that changed its key, the one that made it included.
    pub changes: usize,
    /// Bytes shipped for it.
    pub bytes: u64,
}

/// Bytes shipped after an edit since the first version.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Point {
    /// The version that the edit made.
    pub version: String,
    /// Its day.
    pub date: String,
    /// Its subject.
    pub subject: String,
    /// Whether the subset changed.
    pub changed: bool,
    /// The layers that the edit makes anew, in the order of the image.
    pub changed_layers: Vec<String>,
    /// When all is keyed by the whole file.
    pub whole_file: u64,
    /// When all is keyed by the subset.
    pub subset: u64,
    /// When each layer has its key.
    pub layers: u64,
}

/// A version that cannot be planned.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Unplanned {
    /// What it is called.
    pub version: String,
    /// Why.
    pub why: String,
}

/// The key of all that a lock says, comments included: what a `COPY uv.lock` in a Dockerfile is keyed by.
pub fn file_key(text: &str) -> Key {
    key("file", &[Input::new("text", text)])
}

/// Adds the edits of a history up, oldest version first.
pub fn replay(versions: impl IntoIterator<Item = Version>) -> Replay {
    let mut tally = Replay {
        versions: 0,
        edits: 0,
        whole_file: Policy::default(),
        subset: Policy::default(),
        layers: Policy::default(),
        by_layer: BTreeMap::new(),
        points: Vec::new(),
        unknown: BTreeSet::new(),
        unplanned: Vec::new(),
    };
    let mut last: Option<(Option<Key>, Footprint)> = None;
    for version in versions {
        let footprint = match &version.footprint {
            Ok(footprint) => footprint.clone(),
            Err(why) => {
                tally.unplanned.push(Unplanned {
                    version: version.name,
                    why: why.clone(),
                });
                continue;
            }
        };
        tally.versions += 1;
        tally.unknown.extend(footprint.unknown.iter().cloned());
        for layer in &footprint.layers {
            tally.by_layer.entry(layer.name.clone()).or_default().versions += 1;
        }
        if let Some((file, before)) = &last {
            tally.edit(&version, file.as_ref(), before, &footprint);
        }
        last = Some((version.file, footprint));
    }
    tally
}

impl Replay {
    fn edit(&mut self, version: &Version, file: Option<&Key>, before: &Footprint, after: &Footprint) {
        self.edits += 1;
        if version.file.as_ref() != file {
            self.whole_file.add(1, after.bytes());
        }
        let changed = before.subset != after.subset;
        if changed {
            self.subset.add(1, after.bytes());
        }
        let known: BTreeSet<&Key> = before.layers.iter().map(|layer| &layer.key).collect();
        let (mut changed_layers, mut bytes) = (Vec::new(), 0);
        for layer in after.layers.iter().filter(|layer| !known.contains(&layer.key)) {
            let history = self.by_layer.entry(layer.name.clone()).or_default();
            history.changes += 1;
            history.bytes += layer.bytes;
            changed_layers.push(layer.name.clone());
            bytes += layer.bytes;
        }
        if !changed_layers.is_empty() {
            self.layers.add(changed_layers.len(), bytes);
        }
        self.points.push(Point {
            version: version.name.clone(),
            date: version.date.clone(),
            subject: version.subject.clone(),
            changed,
            changed_layers,
            whole_file: self.whole_file.bytes,
            subset: self.subset.bytes,
            layers: self.layers.bytes,
        });
    }
}

impl Policy {
    fn add(&mut self, keys: usize, bytes: u64) {
        self.edits += 1;
        self.keys += keys;
        self.bytes += bytes;
    }
}

#[cfg(test)]
mod tests {
    use super::super::footprint::Layer;
    use super::*;

    /// A version whose layers are named, with a content and bytes each.
    fn version(name: &str, layers: &[(&str, &str, u64)]) -> Version {
        let layers: Vec<Layer> = layers
            .iter()
            .map(|(name, content, bytes)| Layer {
                name: (*name).to_owned(),
                key: key("layer", &[Input::new(*name, *content)]),
                bytes: *bytes,
            })
            .collect();
        let all: Vec<Input> = layers
            .iter()
            .map(|layer| Input::new("layer", layer.key.as_str()))
            .collect();
        Version {
            name: name.to_owned(),
            date: String::new(),
            subject: String::new(),
            file: Some(file_key(name)),
            footprint: Ok(Footprint {
                subset: key("subset", &all),
                layers,
                unknown: BTreeSet::new(),
            }),
        }
    }

    #[test]
    fn each_policy_ships_what_it_must() {
        let one = [("torch", "2.8.0", 900), ("packages", "a", 100)];
        let other = [("torch", "2.8.0", 900), ("packages", "b", 110)];
        let played = replay([version("1", &one), version("2", &one), version("3", &other)]);
        assert_eq!((played.versions, played.edits), (3, 2));
        assert_eq!((played.whole_file.edits, played.whole_file.bytes), (2, 2010));
        assert_eq!((played.subset.edits, played.subset.bytes), (1, 1010));
        assert_eq!(
            (played.layers.edits, played.layers.keys, played.layers.bytes),
            (1, 1, 110)
        );
        assert_eq!(played.by_layer["torch"].changes, 0);
        assert_eq!(played.by_layer["torch"].versions, 3);
        assert_eq!(played.by_layer["packages"].bytes, 110);
        assert_eq!(played.points.len(), 2);
        assert_eq!((played.points[0].whole_file, played.points[0].layers), (1000, 0));
    }

    #[test]
    fn a_version_without_a_plan_is_stepped_over() {
        let broken = Version {
            footprint: Err("no".into()),
            ..version("2", &[])
        };
        let one = [("torch", "2.8.0", 900)];
        let played = replay([version("1", &one), broken, version("3", &one)]);
        assert_eq!((played.versions, played.edits, played.layers.keys), (2, 1, 0));
        assert_eq!(played.unplanned[0].version, "2");
    }

    #[test]
    fn the_same_file_twice_costs_nothing() {
        let one = version("1", &[("torch", "2.8.0", 900)]);
        let played = replay([one.clone(), one]);
        assert_eq!(
            (played.edits, played.whole_file.edits, played.whole_file.bytes),
            (1, 0, 0)
        );
    }

    #[test]
    fn a_new_layer_is_a_changed_one() {
        let played = replay([
            version("1", &[]),
            version("2", &[("torch", "2.8.0", 900)]),
            version("3", &[]),
        ]);
        assert_eq!(played.layers.bytes, 900);
        assert_eq!(played.by_layer["torch"].changes, 1);
        assert_eq!(played.subset.edits, 2);
    }
}
