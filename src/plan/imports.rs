//! Whether what an image is for can be imported in it.
//!
//! A wheel whose libraries are all there may still not load: it was compiled against another torch, or a symbol is not
//! where it was. An import on the image's own tier tells, before anybody pulls the image. It is a step beside the image
//! (`steps/imports.py`): nothing of it is shipped, and it runs again only when a layer below it does.

use std::collections::{BTreeMap, BTreeSet};

use super::key::{Input, sha256};
use super::model::{Root, StageId, Work};
use super::planner::{Planner, config_env};
use super::steps;
use crate::diagnostic::{Diagnostic, Location};
use crate::spec::{Image, Spanned};

/// What is imported in an image.
#[derive(Debug, Clone)]
pub struct Imports {
    /// The [`Work::Import`].
    pub stage: StageId,
    /// Modules that are imported in one process, in their order; a process for each group.
    pub groups: Vec<Group>,
}

/// Modules that are imported in one process.
#[derive(Debug, Clone)]
pub struct Group {
    /// The wheel that wants them; `None` for the image.
    pub wheel: Option<String>,
    /// In the order in which they are imported, with their places.
    pub modules: Vec<(String, Location)>,
}

/// What a step left of its imports, and that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReportError;

impl std::fmt::Display for ReportError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a step's report of imports has a line that is neither null nor [module, text]")
    }
}

impl std::error::Error for ReportError {}

impl Planner<'_> {
    /// The imports of an image that is made of `base` and, so far, of `trees`; `None` when nothing is to be imported.
    pub(super) fn imports(
        &mut self,
        image: &Image,
        wheels: &BTreeSet<String>,
        base: StageId,
        trees: &[StageId],
        config: &serde_json::Value,
    ) -> Option<Imports> {
        let located = |modules: &[Spanned<String>]| -> Vec<(String, Location)> {
            let located = modules.iter();
            located
                .map(|module| (module.get_ref().clone(), self.spec.locate(module)))
                .collect()
        };
        let of_wheels = wheels
            .iter()
            .filter_map(|name| Some((name, self.spec.wheels.get(name)?)))
            .map(|(name, wheel)| Group {
                wheel: Some(name.clone()),
                modules: located(&wheel.imports),
            });
        let of_image = Group {
            wheel: None,
            modules: located(&image.imports),
        };
        let groups: Vec<Group> = of_wheels
            .chain([of_image])
            .filter(|group| !group.modules.is_empty())
            .collect();
        let first = groups.first()?.modules.first()?.1.clone();

        let root = Root {
            base,
            trees: trees.to_vec(),
        };
        let modules: Vec<Vec<String>> = groups
            .iter()
            .map(|group| group.modules.iter().map(|(name, _)| name.clone()).collect())
            .collect();
        let env: BTreeMap<String, String> = config_env(config);
        let mut inputs = self.root_inputs(&root);
        inputs.extend(modules.iter().map(|group| Input::new("modules", group.join(" "))));
        inputs.extend(
            env.iter()
                .map(|(name, value)| Input::new(format!("env {name}"), value)),
        );
        inputs.push(Input::new("step", sha256(&steps::imports())));
        let work = Work::Import { root, modules, env };
        let name = format!("imports of {}", image.name.get_ref());
        let stage = self.stage("import", &name, work, inputs, Some(first));
        Some(Imports { stage, groups })
    }
}

/// Reports the modules that cannot be imported, each at its place. A report has a line for each group: null, or a JSON
/// array of the module and of what Python says.
///
/// # Errors
///
/// When the report is none of these imports.
pub fn check(image: &str, imports: &Imports, report: &str) -> Result<Vec<Diagnostic>, ReportError> {
    let lines: Vec<Option<(String, String)>> = report
        .lines()
        .map(|line| serde_json::from_str(line).map_err(|_| ReportError))
        .collect::<Result<_, _>>()?;
    if lines.len() != imports.groups.len() {
        return Err(ReportError);
    }
    let failed = imports
        .groups
        .iter()
        .zip(lines)
        .filter_map(|(group, line)| Some((group, line?)));
    failed
        .map(|(group, (module, says))| {
            let known = group.modules.iter().find(|(name, _)| *name == module);
            let (_, location) = known.ok_or(ReportError)?;
            let head = match &group.wheel {
                Some(wheel) => format!("wheel `{wheel}` cannot be imported in image `{image}`: {module}"),
                None => format!("`{module}` cannot be imported in image `{image}`"),
            };
            Ok(Diagnostic::error(head)
                .at(location.clone(), says)
                .help(format!(
                    "the log of [imports of {image}] has the traceback; it is imported without a GPU, after the modules \
                     before it: remove it from `imports` when it cannot be"
                )))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnostic::SourceFile;

    fn imports() -> Imports {
        let file = SourceFile::new(
            "wheelbase.toml",
            "[wheels.fast]\nimports = [\"torch\", \"fast_cuda\"]\n[images.serve]\nimports = [\"serve\"]\n",
        );
        let at = |name: &str| {
            let start = file.text.find(&format!("\"{name}\"")).unwrap();
            (
                name.to_owned(),
                Location::new(&file, start..start + name.len() + 2),
            )
        };
        Imports {
            stage: StageId(0),
            groups: vec![
                Group {
                    wheel: Some("fast".to_owned()),
                    modules: vec![at("torch"), at("fast_cuda")],
                },
                Group {
                    wheel: None,
                    modules: vec![at("serve")],
                },
            ],
        }
    }

    #[test]
    fn what_fails_is_shown_at_its_place() {
        let report = "[\"fast_cuda\", \"ImportError: libc10.so: undefined symbol: _ZN3c10\"]\n[\"serve\", \"it is killed by SIGSEGV\"]\n";
        let errors = check("serve", &imports(), report).unwrap();
        let shown: Vec<String> = errors.iter().map(|error| error.render(false)).collect();
        insta::assert_snapshot!(shown.join("\n"));
    }

    #[test]
    fn what_is_imported_is_no_error() {
        assert_eq!(check("serve", &imports(), "null\nnull\n"), Ok(Vec::new()));
        for broken in [
            "null\n",
            "null\nnull\nnull\n",
            "null\n[\"other\", \"x\"]\n",
            "null\n[1]\n",
        ] {
            assert_eq!(check("serve", &imports(), broken), Err(ReportError), "{broken}");
        }
    }
}
