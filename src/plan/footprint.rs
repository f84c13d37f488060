//! What an image takes from a lock: its layers of packages with their keys and bytes, and nothing of how they are made.
//!
//! This is what versions of a lock are compared by. It comes from a whole plan, or from a subset alone where there is
//! no spec.

use std::collections::BTreeSet;

use super::explain::pair::base_name;
use super::key::{Input, Key, key};
use super::model::{Plan, Work};
use super::{StageId, layers};
use crate::lock::{Artifact, Locked, Subset};
use crate::spec::Layers;

/// The lock's part of an image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Footprint {
    /// Changes whenever a package that the image uses does, and then only.
    pub subset: Key,
    /// In the order of the image.
    pub layers: Vec<Layer>,
    /// Packages that no layer's bytes count: wheels that are built, and files whose size the index does not give.
    pub unknown: BTreeSet<String>,
}

/// A layer of packages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layer {
    /// The stage's name without the number that tells it from others, such as `layer packages 3/8`.
    pub name: String,
    /// Its key.
    pub key: Key,
    /// Bytes of its packages' wheels, as the lock gives them.
    pub bytes: u64,
}

impl Footprint {
    /// The layers of an image that come from the lock; `None` when the plan has no such image. As long as the spec
    /// stays the same, their keys change with the lock alone. The subset is all that they are made from, what wheels
    /// are compiled against included.
    pub fn of_plan(plan: &Plan, image: &str) -> Option<Self> {
        let image = plan.images.get(image)?;
        let mut layers = Vec::new();
        let mut unknown = BTreeSet::new();
        for &id in &image.root.trees {
            let stage = plan.stage(id);
            let bytes = match &stage.work {
                Work::Install(install) => {
                    let unsized_packages = install.packages.iter().filter(|package| package.size.is_none());
                    unknown.extend(unsized_packages.map(|package| package.name.clone()));
                    install.packages.iter().filter_map(|package| package.size).sum()
                }
                Work::InstallWheels { wheels, .. } => {
                    unknown.extend(built(plan, wheels.iter()));
                    0
                }
                _ => continue,
            };
            layers.push(Layer {
                name: base_name(&stage.name).to_owned(),
                key: stage.key.clone(),
                bytes,
            });
        }
        let inputs: Vec<Input> = layers
            .iter()
            .map(|layer| Input::new(&layer.name, layer.key.as_str()))
            .collect();
        Some(Self {
            subset: key("subset", &inputs),
            layers,
            unknown,
        })
    }

    /// The layers that a subset makes without a spec: those of its wheels as a plan would spread them, one for each
    /// package that has to be built, and one for all projects of the build context.
    pub fn of_subset(subset: &Subset, settings: &Layers) -> Self {
        let mut wheels = Vec::new();
        let mut built = Vec::new();
        let mut projects = Vec::new();
        let mut unknown = BTreeSet::new();
        for locked in &subset.packages {
            match &locked.artifact {
                Artifact::Wheel { size, .. } => {
                    if size.is_none() {
                        unknown.insert(locked.name.to_string());
                    }
                    wheels.push(Wheel(locked));
                }
                // Installed as it is, from an index that alone knows its size.
                Artifact::Pinned { .. } => {
                    unknown.insert(locked.name.to_string());
                    wheels.push(Wheel(locked));
                }
                Artifact::Sdist { .. } | Artifact::Git { .. } => {
                    unknown.insert(locked.name.to_string());
                    built.push(locked);
                }
                Artifact::Tree { .. } => projects.push(locked),
                Artifact::Nothing => {}
            }
        }
        let mut made = Vec::new();
        let mut buckets = Vec::new();
        for group in layers::group(wheels, settings) {
            let packages: Vec<&Locked> = group.packages.into_iter().map(|wheel| wheel.0).collect();
            let layer = layer(&group.name, &packages);
            if group.bucket {
                buckets.push(layer);
            } else {
                made.push(layer);
            }
        }
        made.extend(
            built
                .into_iter()
                .map(|locked| layer(locked.name.as_str(), &[locked])),
        );
        made.extend(buckets);
        if !projects.is_empty() {
            made.push(layer("projects", &projects));
        }
        let lines: Vec<Input> = subset
            .key_lines()
            .map(|line| Input::new("package", line))
            .collect();
        Self {
            subset: key("subset", &lines),
            layers: made,
            unknown,
        }
    }

    /// Bytes of all layers.
    pub fn bytes(&self) -> u64 {
        self.layers.iter().map(|layer| layer.bytes).sum()
    }
}

/// Names of wheels that are built from something which the lock or the spec names; a project's own files are no part
/// of the lock.
fn built<'a>(
    plan: &'a Plan,
    wheels: impl Iterator<Item = (&'a String, &'a StageId)>,
) -> impl Iterator<Item = String> {
    wheels
        .filter(|(_, id)| match &plan.stage(**id).work {
            Work::Project(project) => !matches!(project.source, super::Source::Context { .. }),
            _ => true,
        })
        .map(|(name, _)| name.clone())
}

fn layer(name: &str, packages: &[&Locked]) -> Layer {
    let lines: Vec<Input> = packages
        .iter()
        .map(|locked| Input::new("package", locked.key_line()))
        .collect();
    let sizes = packages.iter().filter_map(|locked| match &locked.artifact {
        Artifact::Wheel { size, .. } => *size,
        _ => None,
    });
    Layer {
        name: format!("layer {name}"),
        key: key("layer", &lines),
        bytes: sizes.sum(),
    }
}

struct Wheel<'a>(&'a Locked);

impl layers::Weighed for Wheel<'_> {
    fn name(&self) -> &str {
        self.0.name.as_str()
    }

    fn size(&self) -> Option<u64> {
        self.0.artifact.size()
    }

    fn pure(&self) -> bool {
        !matches!(self.0.artifact, Artifact::Wheel { pure: false, .. })
    }
}
