//! Reads from disk, or from a git revision, what the frontend reads through the gateway.

use std::collections::{BTreeMap, BTreeSet};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context as _, anyhow};
use prost::Message as _;

use super::Input;
use super::git::Repository;
use crate::diagnostic::{Diagnostic, SourceFile};
use crate::llb::{Surroundings, emit};
use crate::lock::{Lock, Manifests, Project};
use crate::plan::{self, Plan, Request, StandIns};
use crate::platform::Platform;
use crate::rules::Settings;
use crate::spec::Spec;

/// Where the files of a folder come from.
#[derive(Debug, Clone)]
pub(super) enum Files {
    /// From disk, as they are now.
    Disk(PathBuf),
    /// From a commit.
    Commit {
        /// Seen from the folder.
        repository: Repository,
        /// Its id.
        id: String,
        /// What the user calls it.
        name: String,
    },
}

impl Files {
    /// A text file; `None` when it does not exist.
    pub(super) fn read(&self, path: &str) -> anyhow::Result<Option<Arc<SourceFile>>> {
        match self {
            Self::Disk(folder) => match std::fs::read_to_string(folder.join(path)) {
                Ok(text) => Ok(Some(SourceFile::new(path, text))),
                Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
                Err(error) => Err(error).with_context(|| format!("failed to read {path}")),
            },
            Self::Commit { repository, id, name } => {
                let text = repository
                    .read(id, path)
                    .with_context(|| format!("failed to read {path} of {name}"))?;
                Ok(text.map(|text| SourceFile::new(format!("{name}:{path}"), text)))
            }
        }
    }
}

/// A spec with everything that planning it needs.
#[derive(Debug)]
pub(super) struct Loaded {
    pub(super) warnings: Vec<Diagnostic>,
    pub(super) spec: Spec,
    /// What the spec says about rules.
    pub(super) settings: Settings,
    lock: Option<Lock>,
    projects: BTreeMap<String, Project>,
    manifests: Manifests,
    platform: Platform,
    /// The images that were asked for.
    pub(super) images: BTreeSet<String>,
}

/// What is read, or the user's mistakes in it. The outer error is one of the file system or of git.
pub(super) type Reading<T> = anyhow::Result<Result<T, Vec<Diagnostic>>>;

impl Loaded {
    /// Reads the spec, its lock and the projects of the lock from disk.
    pub(super) fn read(input: &Input) -> Reading<Self> {
        let source = spec(&input.file)?;
        let files = Files::Disk(context_of(&input.file, input.context.as_deref()));
        Self::of(&source, &files, input, &input.images)
    }

    /// Reads the same as they were in a revision of the repository that holds the spec, for all images of that time.
    pub(super) fn read_revision(input: &Input, revision: &str) -> Reading<Self> {
        let file = input.file.as_path();
        let folder = file.parent().unwrap_or(Path::new(""));
        let repository = Repository::of(folder)?;
        let id = repository.commit(revision)?;
        let at = |repository: Repository| Files::Commit {
            repository,
            id: id.clone(),
            name: revision.to_owned(),
        };
        let name = file
            .file_name()
            .and_then(|name| name.to_str())
            .ok_or_else(|| anyhow!("{} is the name of no file", file.display()))?;
        let source = at(repository.clone())
            .read(name)?
            .ok_or_else(|| anyhow!("{} has no {}", revision, file.display()))?;
        let files = at(repository.from(&context_of(file, input.context.as_deref()))?);
        Self::of(&source, &files, input, &[])
    }

    fn of(source: &Arc<SourceFile>, files: &Files, input: &Input, images: &[String]) -> Reading<Self> {
        let (spec, warnings) = match Spec::parse_with(source, &input.arguments()) {
            Ok(parsed) => parsed,
            Err(errors) => return Ok(Err(errors)),
        };
        let settings = match Settings::of(&spec.file) {
            Ok(settings) => settings,
            Err(errors) => return Ok(Err(errors)),
        };
        let mut manifests = Manifests::default();
        loop {
            let missing = plan::manifest_paths(&spec, &manifests);
            if missing.is_empty() {
                break;
            }
            for path in missing {
                if let Err(errors) = manifests.add(&path, files.read(&path)?.as_ref()) {
                    return Ok(Err(errors));
                }
            }
        }
        let images = match images {
            [] => spec.images.keys().cloned().collect(),
            images => images.iter().cloned().collect(),
        };
        let mut loaded = Self {
            warnings,
            spec,
            settings,
            lock: None,
            projects: BTreeMap::new(),
            manifests,
            platform: input.platform.clone(),
            images,
        };
        let path = loaded.spec.python.lock.get_ref().clone();
        let lock = files.read(&path)?;
        Ok(loaded.set_lock(lock.as_ref(), files)?.map(|()| loaded))
    }

    /// Puts another lock, and the projects that it names, in the place of those there are.
    pub(super) fn set_lock(&mut self, lock: Option<&Arc<SourceFile>>, files: &Files) -> Reading<()> {
        self.lock = None;
        self.projects.clear();
        let Some(lock) = lock else {
            return Ok(Ok(()));
        };
        let lock = match Lock::parse(lock) {
            Ok((lock, warnings)) => {
                self.warnings.extend(warnings);
                self.warnings.extend(plan::warnings(&self.spec, &lock));
                lock
            }
            Err(errors) => return Ok(Err(errors)),
        };
        for path in plan::project_paths(&self.spec, &lock) {
            if let Some(source) = files.read(&format!("{path}/pyproject.toml"))? {
                match Project::parse(&source) {
                    Ok(project) => {
                        self.projects.insert(path, project);
                    }
                    Err(errors) => return Ok(Err(errors)),
                }
            }
        }
        self.lock = Some(lock);
        Ok(Ok(()))
    }

    /// All that rules have to say of the images that were asked for, as `docker buildx build --check` says it.
    pub(super) fn lint(&self) -> Vec<Diagnostic> {
        let mut all = self.settings.warnings();
        all.extend(self.spec.lint());
        all.extend(self.warnings.clone());
        let all = self.settings.keep(all);
        if self.images.len() == self.spec.images.len() {
            return all;
        }
        self.spec.about(self.images.iter().map(String::as_str), all)
    }

    /// Plans the images that were asked for. Nothing is asked of a registry: tiers stay unresolved.
    pub(super) fn plan(&self) -> Result<Plan, Vec<Diagnostic>> {
        self.plan_images(&self.images)
    }

    /// Plans some images.
    pub(super) fn plan_images(&self, images: &BTreeSet<String>) -> Result<Plan, Vec<Diagnostic>> {
        plan::plan(&Request {
            spec: &self.spec,
            lock: self.lock.as_ref(),
            projects: &self.projects,
            manifests: &self.manifests,
            stand_ins: &StandIns::default(),
            platform: self.platform.clone(),
            builder: None,
            resolved: &BTreeMap::new(),
            images,
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

/// The spec from disk.
pub(super) fn spec(file: &Path) -> anyhow::Result<Arc<SourceFile>> {
    let text = std::fs::read_to_string(file).with_context(|| format!("failed to read {}", file.display()))?;
    Ok(SourceFile::new(file.display().to_string(), text))
}

/// The build context: the spec's folder where none is given.
pub(super) fn context_of(file: &Path, context: Option<&Path>) -> PathBuf {
    match context {
        Some(context) => context.to_owned(),
        None => file.parent().unwrap_or(Path::new("")).to_owned(),
    }
}
