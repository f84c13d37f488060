//! Whether wheels that were built here get the versions that their metadata asks for.
//!
//! They are installed without their dependencies: the lock has decided, and a kernel must not bring another torch. Where the
//! two are of different minds, the wheel was most likely made for another torch than the image has: it would fail when it is
//! imported, or compute something else. Who knows better tells the resolver so, which writes it into the lock.

use std::collections::BTreeMap;

use super::contents::Contents;
use super::model::{ImagePlan, Needed, Plan, Work};
use crate::diagnostic::Diagnostic;
use crate::lock::Asked;

/// Errors for wheels that ask for another version of a package than the image has from the lock.
pub fn check(plan: &Plan, image: &str, wheels: &[(&Needed, Contents)]) -> Vec<Diagnostic> {
    let installed = plan.images.get(image).map(|image| installed(plan, image));
    let installed = installed.unwrap_or_default();
    let mut errors = Vec::new();
    for (needed, contents) in wheels {
        let asked = contents.requires.iter();
        for asked in asked.filter_map(|text| Asked::read(text, &needed.target)) {
            let (wheel, name) = (&needed.wheel, &asked.name);
            let version = installed
                .get(name.as_str())
                .filter(|version| !asked.takes(version));
            let Some(version) = version.filter(|_| !plan.overrides.decide(wheel, name)) else {
                continue;
            };
            errors.push(
                Diagnostic::error(format!(
                    "wheel `{wheel}` asks for {name}{}, and image `{image}` has {name} {version}",
                    asked.versions()
                ))
                .at(needed.location.clone(), "its metadata says so")
                .help(format!(
                    "take a release of `{wheel}` that is made for this {name}, or lock another {name}; if the metadata is \
                     wrong, write `override-dependencies = [\"{name}=={version}\"]` in [tool.uv] of the project and lock again, or \
                     correct it with `patches`"
                )),
            );
        }
    }
    errors
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{StandIns, testing};

    const SPEC: &str = "name = \"job\"\n[gpu]\narchs = [\"9.0\"]\n\
                        tiers = { base = \"registry.example/base:1\", devel = \"registry.example/devel:1\" }\n\
                        [python]\nversion = \"3.12\"\nprovider = { image = \"registry.example/python:1\" }\n\
                        [wheels.fast]\nsource = { path = \"fast\" }\n\
                        [images.serve]\ntier = \"base\"\nwheels = [\"fast\"]\npackages = [\"torch\"]\n";

    /// What is said of a wheel whose metadata has these requirements, with lines in the manifest of the lock.
    fn errors(manifest: &str, requires: &[&str]) -> Vec<String> {
        let lock = format!(
            "version = 1\nrequires-python = \">=3.12\"\n[manifest]\n{manifest}\n[[package]]\nname = \"torch\"\n\
             version = \"2.7.0+cu128\"\nsource = {{ registry = \"https://index.example/simple\" }}\n\
             wheels = [{{ url = \"https://files.index.example/torch-2.7.0%2Bcu128-py3-none-any.whl\", hash = \"sha256:01\" }}]\n"
        );
        let plan = testing::planned(SPEC, Some(&lock), &StandIns::default());
        let contents = Contents {
            requires: requires.iter().map(|text| (*text).to_owned()).collect(),
            ..Contents::default()
        };
        let errors = check(&plan, "serve", &[(&plan.images["serve"].needed[0], contents)]);
        errors.iter().map(|error| error.render(false)).collect()
    }

    #[test]
    fn another_version_than_the_locks_is_an_error() {
        let shown = errors("", &["torch==2.6.0", "numpy>=2", "torch>=2.7"]);
        insta::assert_snapshot!(shown.join("\n"));
    }

    #[test]
    fn the_locks_overrides_are_heeded() {
        for manifest in [
            "overrides = [{ name = \"torch\", specifier = \"==2.7.0\" }]",
            "excludes = [\"torch\"]",
            "[[manifest.dependency-metadata]]\nname = \"fast\"",
        ] {
            assert_eq!(errors(manifest, &["torch==2.6.0"]), [""; 0], "{manifest}");
        }
        let other = "[[manifest.dependency-metadata]]\nname = \"slow\"";
        assert_eq!(errors(other, &["torch==2.6.0"]).len(), 1);
    }
}
