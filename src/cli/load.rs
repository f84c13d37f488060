//! Reads from disk what the frontend reads through the gateway.

use std::collections::{BTreeMap, BTreeSet};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context as _;
use prost::Message as _;

use crate::diagnostic::{Diagnostic, SourceFile};
use crate::llb::{Surroundings, emit};
use crate::lock::{Lock, Project};
use crate::plan::{self, Plan, Request};
use crate::platform::Platform;
use crate::spec::Spec;

/// A spec with everything that planning it needs.
#[derive(Debug)]
pub(super) struct Loaded {
    pub(super) warnings: Vec<Diagnostic>,
    spec: Spec,
    lock: Option<Lock>,
    projects: BTreeMap<String, Project>,
    platform: Platform,
    images: BTreeSet<String>,
}

impl Loaded {
    /// Reads the spec, its lock and the projects of the lock. The outer error is one of the file system, the
    /// inner one is the user's.
    pub(super) fn read(
        file: &Path,
        context: Option<&Path>,
        images: &[String],
        platform: &Platform,
    ) -> anyhow::Result<Result<Self, Vec<Diagnostic>>> {
        let text = std::fs::read_to_string(file)?;
        let source = SourceFile::new(file.display().to_string(), text);
        let (spec, mut warnings) = match Spec::parse(&source) {
            Ok(parsed) => parsed,
            Err(errors) => return Ok(Err(errors)),
        };
        let context: PathBuf = match context {
            Some(context) => context.to_owned(),
            None => file.parent().unwrap_or(Path::new("")).to_owned(),
        };

        let mut lock = None;
        if let Some(source) = read(&context, spec.python.lock.get_ref())? {
            match Lock::parse(&source) {
                Ok((parsed, more)) => {
                    warnings.extend(more);
                    warnings.extend(plan::warnings(&spec, &parsed));
                    lock = Some(parsed);
                }
                Err(errors) => return Ok(Err(errors)),
            }
        }
        let mut projects = BTreeMap::new();
        let paths = lock
            .as_ref()
            .map(|lock| plan::project_paths(&spec, lock))
            .unwrap_or_default();
        for path in paths {
            if let Some(source) = read(&context, &format!("{path}/pyproject.toml"))? {
                match Project::parse(&source) {
                    Ok(project) => {
                        projects.insert(path, project);
                    }
                    Err(errors) => return Ok(Err(errors)),
                }
            }
        }
        let images = match images {
            [] => spec.images.keys().cloned().collect(),
            images => images.iter().cloned().collect(),
        };
        Ok(Ok(Self {
            warnings,
            spec,
            lock,
            projects,
            platform: platform.clone(),
            images,
        }))
    }

    /// Plans the images that were asked for. Nothing is asked of a registry: tiers stay unresolved.
    pub(super) fn plan(&self) -> Result<Plan, Vec<Diagnostic>> {
        plan::plan(&Request {
            spec: &self.spec,
            lock: self.lock.as_ref(),
            projects: &self.projects,
            platform: self.platform.clone(),
            resolved: &BTreeMap::new(),
            images: &self.images,
        })
    }

    /// The LLB of the one image that was asked for, as `buildctl build` reads it.
    pub(super) fn definition(plan: &Plan) -> Result<Vec<u8>, Vec<Diagnostic>> {
        let names: Vec<&str> = plan.images.keys().map(String::as_str).collect();
        let [image] = names.as_slice() else {
            return Err(vec![
                Diagnostic::error("an LLB definition is of one image")
                    .help(format!("name one of: {}", names.join(", "))),
            ]);
        };
        let emitted = emit(plan, image, &Surroundings::default());
        Ok(emitted.graph.definition(emitted.image).encode_to_vec())
    }
}

/// A text file of the build context; `None` when it does not exist.
fn read(context: &Path, path: &str) -> anyhow::Result<Option<Arc<SourceFile>>> {
    match std::fs::read_to_string(context.join(path)) {
        Ok(text) => Ok(Some(SourceFile::new(path, text))),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error).with_context(|| format!("failed to read {path}")),
    }
}
