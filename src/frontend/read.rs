//! Reads what decides a build: the spec, the ignore file, the lock and the projects that the lock names.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::contexts::lock_paths;
use super::failure::Failure;
use super::goal::Goal;
use super::ignore;
use super::place::{Folder, Place, Places};
use crate::diagnostic::{Diagnostic, SourceFile};
use crate::gateway::{Client, Options, Warning};
use crate::llb::Given;
use crate::lock::{Lock, Manifests, Project};
use crate::plan;
use crate::proto::pb;
use crate::rules::Settings;
use crate::spec::{DEFAULT_LOCK, Spec, is_predefined};

/// Folders where nearly all workspaces have their members. What is there comes with the lock; the rest is asked for when
/// the lock has named it. Only the files' folders are looked into, so a large context costs nothing.
const USUAL_PROJECTS: [&str; 3] = [".", "*", "packages/*"];

/// The spec, which decides what else is read.
pub(super) struct Definition {
    pub(super) spec: Spec,
    /// The ignore file of the spec's own, which replaces the context's.
    own_ignore: Option<Arc<SourceFile>>,
    manifests: Manifests,
    /// How the spec was obtained, for source maps.
    origin: pb::Definition,
    settings: Settings,
    warnings: Vec<Diagnostic>,
    /// The vertex that warnings are attached to.
    vertex: String,
}

impl Definition {
    /// Reads the manifests of crates that wheels are compiled from. Each may name others.
    pub(super) async fn read_manifests(
        &mut self,
        client: &Client,
        options: &Options,
        places: &Places,
    ) -> Result<(), Failure> {
        loop {
            let missing = plan::manifest_paths(&self.spec, &self.manifests);
            if missing.is_empty() {
                return Ok(());
            }
            let paths: Vec<&str> = missing.iter().map(String::as_str).collect();
            let name = "[internal] load Cargo.toml files";
            let folder = Folder::open(client, options, &places.context, &paths, name).await?;
            for path in paths {
                let file = folder.text(client, path).await?;
                self.manifests.add(path, file.as_ref())?;
            }
        }
    }
}

/// The lock, and what is read with it.
pub(super) struct LockFolder {
    lock: Option<Arc<SourceFile>>,
    ignore: Option<Arc<SourceFile>>,
    /// Has the [`USUAL_PROJECTS`] too.
    folder: Folder,
}

/// Everything that was read.
pub(super) struct Read {
    pub(super) spec: Spec,
    pub(super) lock: Option<Lock>,
    pub(super) projects: BTreeMap<String, Project>,
    pub(super) manifests: Manifests,
    /// Patterns of the ignore file.
    pub(super) ignore: Vec<String>,
    /// The files of the build context, where they are not those of the client's folder.
    pub(super) context: Option<Given>,
    /// How the spec was obtained, for source maps.
    pub(super) origin: pb::Definition,
    /// What the file and the build say about rules.
    pub(super) settings: Settings,
    warnings: Vec<Diagnostic>,
    /// The vertex that warnings are attached to.
    vertex: String,
}

impl Read {
    /// What will build but is probably not meant: of all that the spec has, or of what a target is made of.
    pub(super) fn warnings(&self, target: Option<&Goal>) -> Vec<Diagnostic> {
        self.about(target, self.warnings.clone())
    }

    /// What rules leave of warnings, and of these what concerns a target.
    pub(super) fn about(&self, target: Option<&Goal>, warnings: Vec<Diagnostic>) -> Vec<Diagnostic> {
        let warnings = self.settings.keep(warnings);
        match target {
            Some(target) => self.spec.about(target.names(&self.spec), warnings),
            None => warnings,
        }
    }

    /// Shows warnings. A daemon that cannot show them is no reason to fail.
    pub(super) async fn tell(&self, client: &Client, warnings: &[Diagnostic]) {
        for warning in self.settings.keep(warnings.to_vec()) {
            client
                .warn(Warning::from_diagnostic(&warning, &self.vertex))
                .await
                .ok();
        }
    }
}

/// Reads the spec.
pub(super) async fn definition(
    client: &Client,
    options: &Options,
    places: &Places,
) -> Result<Definition, Failure> {
    let filename = &places.filename;
    let own_ignore = format!("{filename}.dockerignore");
    let paths = [filename, own_ignore.as_str()];
    let name = format!("[internal] load build definition from {filename}");
    let folder = Folder::open(client, options, &places.build_file, &paths, &name).await?;
    let (source, own_ignore) =
        tokio::try_join!(folder.text(client, filename), folder.text(client, &own_ignore))?;
    let Some(source) = source else {
        return Err(missing(filename, &places.build_file).into());
    };
    let (spec, mut warnings) = Spec::parse_with(&source, &arguments(options))?;
    let mut settings = Settings::of(&spec.file)?;
    warnings.extend(settings.warnings());
    warnings.extend(spec.lint());
    if let Some(value) = options.check() {
        settings = settings.replaced_by(value)?;
    }
    Ok(Definition {
        spec,
        settings,
        own_ignore,
        manifests: Manifests::default(),
        origin: folder.definition,
        warnings,
        vertex: folder.vertex,
    })
}

/// The build arguments that are the spec's.
fn arguments(options: &Options) -> BTreeMap<String, String> {
    let all = options.build_args().into_iter();
    all.filter(|(name, _)| !is_predefined(name))
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect()
}

/// What is said when the spec is not there.
fn missing(filename: &str, place: &Place) -> Diagnostic {
    match place {
        Place::Client(_) => Diagnostic::error(format!("{filename} does not exist")),
        Place::Given(opened) => Diagnostic::error(format!("{} has no {filename}", opened.called))
            .help("the option --file names the spec, seen from the root of the context"),
    }
}

/// Reads what is needed if the lock has its usual name, as nearly all have: before the spec has said so.
pub(super) async fn usual_lock(
    client: &Client,
    options: &Options,
    places: &Places,
) -> Result<LockFolder, Failure> {
    lock_folder(client, options, places, DEFAULT_LOCK).await
}

/// Reads the rest. The context's ignore file hides nothing here: what decides a build is asked for by name.
pub(super) async fn context(
    client: &Client,
    options: &Options,
    places: &Places,
    definition: Definition,
    usual: Result<LockFolder, Failure>,
) -> Result<Read, Failure> {
    let Definition {
        spec,
        own_ignore,
        manifests,
        origin,
        settings,
        mut warnings,
        vertex,
    } = definition;
    let path = spec.python.lock.get_ref();
    let read = if path == DEFAULT_LOCK {
        usual?
    } else {
        lock_folder(client, options, places, path).await?
    };
    // What is no folder of the client is taken as it is, as the Dockerfile frontend does.
    let ignore = match (&places.context, own_ignore.or(read.ignore)) {
        (Place::Client(_), Some(file)) => {
            let ignore = ignore::read(&file)?;
            warnings.extend(ignore.hidden(&spec));
            ignore.patterns
        }
        _ => Vec::new(),
    };

    let mut lock = None;
    if let Some(source) = read.lock {
        let (parsed, more) = Lock::parse(&source)?;
        warnings.extend(more);
        warnings.extend(plan::warnings(&spec, &parsed));
        lock = Some(parsed);
    }
    let projects = match &lock {
        Some(lock) => {
            let paths = plan::project_paths(&spec, lock);
            projects(client, options, places, &read.folder, paths).await?
        }
        None => BTreeMap::new(),
    };
    Ok(Read {
        spec,
        lock,
        projects,
        manifests,
        ignore,
        context: places.context.given().cloned(),
        origin,
        settings,
        warnings,
        vertex,
    })
}

async fn lock_folder(
    client: &Client,
    options: &Options,
    places: &Places,
    lock: &str,
) -> Result<LockFolder, Failure> {
    let name = format!("[internal] load {lock}");
    let projects = USUAL_PROJECTS.map(project_file);
    let [root, below, packages] = &projects;
    let paths = [lock, ".dockerignore", root, below, packages];
    let folder = Folder::open(client, options, &places.context, &paths, &name).await?;
    let (found, ignore) = tokio::try_join!(
        locked(client, options, places, &folder, lock),
        folder.text(client, ".dockerignore")
    )?;
    Ok(LockFolder {
        lock: found,
        ignore,
        folder,
    })
}

/// The lock: of the context, or of the place that the client names for it.
async fn locked(
    client: &Client,
    options: &Options,
    places: &Places,
    context: &Folder,
    lock: &str,
) -> Result<Option<Arc<SourceFile>>, Failure> {
    let Some(place) = &places.lock else {
        return context.text(client, lock).await;
    };
    let paths = lock_paths(lock);
    let folder = Folder::open(client, options, place, &paths, "[context lock] read").await?;
    for path in paths {
        if let Some(file) = folder.text(client, path).await? {
            // It is the file that the spec names, and paths in it count from there.
            return Ok(Some(SourceFile::new(lock, file.text.clone())));
        }
    }
    Err(
        Diagnostic::error(format!("the named context `lock` has no {}", paths[0]))
            .help("it is a folder with the lock at its root, or the address of the file")
            .into(),
    )
}

/// The projects in these folders: from what came with the lock where it is at a usual place.
async fn projects(
    client: &Client,
    options: &Options,
    places: &Places,
    usual: &Folder,
    paths: BTreeSet<String>,
) -> Result<BTreeMap<String, Project>, Failure> {
    let elsewhere: Vec<String> = paths
        .iter()
        .filter(|path| !is_usual(path))
        .map(|path| project_file(path))
        .collect();
    let elsewhere = if elsewhere.is_empty() {
        None
    } else {
        let files: Vec<&str> = elsewhere.iter().map(String::as_str).collect();
        let name = "[internal] load pyproject.toml files";
        Some(Folder::open(client, options, &places.context, &files, name).await?)
    };
    let mut projects = BTreeMap::new();
    for path in paths {
        let folder = elsewhere.as_ref().filter(|_| !is_usual(&path)).unwrap_or(usual);
        if let Some(source) = folder.text(client, &project_file(&path)).await? {
            projects.insert(path, Project::parse(&source)?);
        }
    }
    Ok(projects)
}

fn project_file(folder: &str) -> String {
    format!("{folder}/pyproject.toml")
}

/// Whether a folder is one of [`USUAL_PROJECTS`].
fn is_usual(path: &str) -> bool {
    let name = path.strip_prefix("packages/").unwrap_or(path);
    !name.contains('/') && name != ".."
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn usual_places_of_projects() {
        for usual in [".", "serve", "packages", "packages/core"] {
            assert!(is_usual(usual), "{usual}");
        }
        for other in ["..", "../other", "libs/core", "packages/core/sub"] {
            assert!(!is_usual(other), "{other}");
        }
    }

    #[test]
    fn the_spec_gets_the_arguments_that_are_its_own() {
        let given = [
            "build-arg:CUDA=12.8.1",
            "build-arg:HTTP_PROXY=http://proxy.example",
            "build-arg:SOURCE_DATE_EPOCH=1",
            "build-arg:BUILDKIT_SYNTAX=x",
            "label:a=b",
        ];
        let env = given
            .iter()
            .enumerate()
            .map(|(index, option)| (format!("BUILDKIT_FRONTEND_OPT_{index}"), (*option).to_owned()));
        let own = arguments(&Options::from_env(env));
        assert_eq!(own, BTreeMap::from([("CUDA".to_owned(), "12.8.1".to_owned())]));
    }
}
