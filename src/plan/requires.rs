//! Whether wheels that were built here get the versions that their metadata asks for.
//!
//! They are installed without their dependencies: the lock has decided, and a kernel must not bring another torch. Where the
//! two are of different minds, the wheel was most likely built for another torch than the image has.

use std::collections::BTreeMap;

use super::contents::Contents;
use super::model::{ImagePlan, Needed, Plan, Work};
use crate::diagnostic::Diagnostic;
use crate::lock::Asked;

/// Warns of wheels that ask for another version of a package than the image has from the lock.
pub fn check(plan: &Plan, image: &str, wheels: &[(&Needed, Contents)]) -> Vec<Diagnostic> {
    let installed = plan.images.get(image).map(|image| installed(plan, image));
    let installed = installed.unwrap_or_default();
    let mut warnings = Vec::new();
    for (needed, contents) in wheels {
        let asked = contents.requires.iter();
        for asked in asked.filter_map(|text| Asked::read(text, &needed.target)) {
            let Some(version) = installed
                .get(asked.name.as_str())
                .filter(|version| !asked.takes(version))
            else {
                continue;
            };
            let (wheel, name) = (&needed.wheel, &asked.name);
            warnings.push(
                Diagnostic::warning(format!(
                    "wheel `{wheel}` asks for {name}{}, and image `{image}` has {name} {version}",
                    asked.versions()
                ))
                .at(needed.location.clone(), "its metadata says so")
                .help(format!(
                    "the lock's {name} stays: lock another {name}, or take a release of `{wheel}` that is made for this one"
                )),
            );
        }
    }
    warnings
}

/// Versions of the lock's packages in an image, by normalised name.
fn installed<'p>(plan: &'p Plan, image: &ImagePlan) -> BTreeMap<&'p str, &'p str> {
    let layers = image
        .root
        .trees
        .iter()
        .filter_map(|id| match &plan.stage(*id).work {
            Work::Install(install) => Some(&install.packages),
            _ => None,
        });
    layers
        .flatten()
        .map(|package| (package.name.as_str(), package.version.as_str()))
        .collect()
}
