//! Reads what decides a build: the spec, the ignore file, the lock and the projects that the lock names.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::failure::Failure;
use super::ignore;
use crate::diagnostic::{Diagnostic, SourceFile};
use crate::gateway::{Client, Options, Reference, Solve, Warning};
use crate::llb::{Differ, Graph, LocalSource, Metadata};
use crate::lock::{Lock, Manifests, Project};
use crate::plan;
use crate::platform::Platform;
use crate::proto::pb;
use crate::spec::{DEFAULT_LOCK, Spec, is_predefined};

/// The spec's name when the client gives none, as `buildctl` does.
const DEFAULT_FILENAME: &str = "wheelbase.toml";

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
    warnings: Vec<Diagnostic>,
    /// The vertex that warnings are attached to.
    vertex: String,
}

impl Definition {
    /// Reads the manifests of crates that wheels are compiled from. Each may name others.
    pub(super) async fn read_manifests(&mut self, client: &Client, options: &Options) -> Result<(), Failure> {
        loop {
            let missing = plan::manifest_paths(&self.spec, &self.manifests);
            if missing.is_empty() {
                return Ok(());
            }
            let paths: Vec<&str> = missing.iter().map(String::as_str).collect();
            let name = "[internal] load Cargo.toml files";
            let folder = Folder::open(client, options, "context", &paths, name).await?;
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
    /// How the spec was obtained, for source maps.
    pub(super) origin: pb::Definition,
    warnings: Vec<Diagnostic>,
    /// The vertex that warnings are attached to.
    vertex: String,
}

impl Read {
    /// Tells the user what will build but is probably not meant.
    pub(super) async fn warn(&self, client: &Client) {
        self.tell(client, &self.warnings).await;
    }

    /// Shows warnings. A daemon that cannot show them is no reason to fail.
    pub(super) async fn tell(&self, client: &Client, warnings: &[Diagnostic]) {
        for warning in warnings {
            client
                .warn(Warning::from_diagnostic(warning, &self.vertex))
                .await
                .ok();
        }
    }
}

/// Reads the spec.
pub(super) async fn definition(client: &Client, options: &Options) -> Result<Definition, Failure> {
    if let Some(url) = options.context() {
        return Err(Diagnostic::error("the build context is not a local folder")
            .help(format!(
                "clone or unpack it first and build from there; the context was {}",
                without_query(url)
            ))
            .into());
    }
    let filename = options.filename().unwrap_or(DEFAULT_FILENAME);
    let own_ignore = format!("{filename}.dockerignore");
    let paths = [filename, &own_ignore];
    let name = format!("[internal] load build definition from {filename}");
    let local = options.build_file_local().unwrap_or("dockerfile");
    let folder = Folder::open(client, options, local, &paths, &name).await?;
    let (source, own_ignore) =
        tokio::try_join!(folder.text(client, filename), folder.text(client, &own_ignore))?;
    let Some(source) = source else {
        return Err(Diagnostic::error(format!("{filename} does not exist")).into());
    };
    let (spec, warnings) = Spec::parse_with(&source, &arguments(options))?;
    Ok(Definition {
        spec,
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

/// Reads what is needed if the lock has its usual name, as nearly all have: before the spec has said so.
pub(super) async fn usual_lock(client: &Client, options: &Options) -> Result<LockFolder, Failure> {
    lock_folder(client, options, DEFAULT_LOCK).await
}

/// Reads the rest. The context's ignore file hides nothing here: what decides a build is asked for by name.
pub(super) async fn context(
    client: &Client,
    options: &Options,
    definition: Definition,
    usual: Result<LockFolder, Failure>,
) -> Result<Read, Failure> {
    let Definition {
        spec,
        own_ignore,
        manifests,
        origin,
        mut warnings,
        vertex,
    } = definition;
    let path = spec.python.lock.get_ref();
    let read = if path == DEFAULT_LOCK {
        usual?
    } else {
        lock_folder(client, options, path).await?
    };
    let ignore = own_ignore
        .or(read.ignore)
        .map(|file| ignore::patterns(&file.text))
        .unwrap_or_default();

    let mut lock = None;
    if let Some(source) = read.lock {
        let (parsed, more) = Lock::parse(&source)?;
        warnings.extend(more);
        warnings.extend(plan::warnings(&spec, &parsed));
        lock = Some(parsed);
    }
    let projects = match &lock {
        Some(lock) => projects(client, options, &read.folder, plan::project_paths(&spec, lock)).await?,
        None => BTreeMap::new(),
    };
    Ok(Read {
        spec,
        lock,
        projects,
        manifests,
        ignore,
        origin,
        warnings,
        vertex,
    })
}

async fn lock_folder(client: &Client, options: &Options, lock: &str) -> Result<LockFolder, Failure> {
    let name = format!("[internal] load {lock}");
    let projects = USUAL_PROJECTS.map(project_file);
    let [root, below, packages] = &projects;
    let paths = [lock, ".dockerignore", root, below, packages];
    let folder = Folder::open(client, options, "context", &paths, &name).await?;
    let (lock, ignore) = tokio::try_join!(folder.text(client, lock), folder.text(client, ".dockerignore"))?;
    Ok(LockFolder { lock, ignore, folder })
}

/// The projects in these folders: from what came with the lock where it is at a usual place.
async fn projects(
    client: &Client,
    options: &Options,
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
        Some(Folder::open(client, options, "context", &files, name).await?)
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

/// A few files of a folder of the client.
struct Folder {
    reference: Option<Reference>,
    definition: pb::Definition,
    vertex: String,
}

impl Folder {
    async fn open(
        client: &Client,
        options: &Options,
        local: &str,
        paths: &[&str],
        name: &str,
    ) -> Result<Self, Failure> {
        let mut graph = Graph::new(Platform::linux_amd64());
        let mut source = LocalSource::new(local);
        source.session = options.session_of(local).to_owned();
        source.follow_paths = paths.iter().map(|path| (*path).to_owned()).collect();
        // Another set of paths is another transfer.
        source.shared_key_hint = format!("wheelbase-{local}-{}", paths.join(","));
        // An edit that keeps a file's size and time must not be missed in what decides the build.
        source.differ = Some(Differ::None);
        let output = graph.local(source, Metadata::named(name));
        let definition = graph.definition(output);
        let result = client.solve(Solve::definition(definition.clone())).await?;
        let reference = result.single()?.cloned();
        Ok(Self {
            reference,
            definition,
            vertex: graph.digest(output).to_owned(),
        })
    }

    async fn text(&self, client: &Client, path: &str) -> Result<Option<Arc<SourceFile>>, Failure> {
        let Some(reference) = &self.reference else {
            return Ok(None);
        };
        let Some(bytes) = client.read_file(reference, path).await? else {
            return Ok(None);
        };
        match String::from_utf8(bytes) {
            Ok(text) => Ok(Some(SourceFile::new(path, text))),
            Err(error) => {
                let at = error.utf8_error().valid_up_to();
                Err(Diagnostic::error(format!("{path} is not UTF-8 text: byte {at} is no character")).into())
            }
        }
    }
}

/// A URL without what may be a secret.
fn without_query(url: &str) -> String {
    let url = url.split(['?', '#']).next().unwrap_or(url);
    match url.split_once("://") {
        Some((scheme, rest)) => {
            let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
            let host = host.rsplit('@').next().unwrap_or(host);
            format!("{scheme}://{host}/{path}")
        }
        None => url.to_owned(),
    }
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

    #[test]
    fn a_url_is_shown_without_secrets() {
        assert_eq!(
            without_query("https://user:token@git.example/a.git?x=secret#main"),
            "https://git.example/a.git"
        );
        assert_eq!(without_query("git@git.example:a.git"), "git@git.example:a.git");
    }
}
