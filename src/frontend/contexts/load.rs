//! What is behind the names: images are named, and all else becomes a graph.

use std::collections::BTreeMap;

use base64::Engine as _;
use serde_json::Value;

use super::super::failure::Failure;
use super::super::ignore;
use super::super::place::{self, DOWNLOADED, Folder, Place};
use super::super::prepare;
use super::{CONTEXT, LOCK, Role, roles};
use crate::diagnostic::Diagnostic;
use crate::gateway::{Client, ContextSource, NamedContext, Options, shown_url};
use crate::llb::{
    Cap, Given, Graph, ImageSource, LocalSource, Metadata, OciLayoutSource, ParseReferenceError, Reference,
};
use crate::plan::{StandIn, StandIns};
use crate::platform::Platform;
use crate::spec::Spec;

/// Bit of Go's `os.FileMode`: a directory.
const DIRECTORY: u32 = 1 << 31;

/// The named contexts of a build for one platform.
#[derive(Debug, Clone, Default)]
pub(in super::super) struct Named {
    /// What they stand in for.
    pub(in super::super) stand_ins: StandIns,
    /// The graphs behind their names.
    pub(in super::super) given: BTreeMap<String, Given>,
}

/// Where files are that decide a build, when named contexts say so.
#[derive(Debug, Default)]
pub(in super::super) struct NamedFiles {
    pub(in super::super) context: Option<Place>,
    pub(in super::super) lock: Option<Place>,
}

/// The contexts that are files and nothing else. They are the same for all platforms.
pub(in super::super) async fn of_files(client: &Client, options: &Options) -> Result<NamedFiles, Failure> {
    let platforms = prepare::platforms(client, options)?;
    let platform = platforms.first().cloned().unwrap_or_else(Platform::linux_amd64);
    let mut places = Vec::new();
    for name in [CONTEXT, LOCK] {
        places.push(match options.named_context(name, &platform)? {
            Some(context) => {
                let loaded = given(client, options, &context, &platform).await?;
                Some(Place::open(client, loaded.given, &called(name)).await?)
            }
            None => None,
        });
    }
    let lock = places.pop().flatten();
    let context = places.pop().flatten();
    Ok(NamedFiles { context, lock })
}

/// The contexts that stand in for what a spec names.
pub(in super::super) async fn load(
    client: &Client,
    options: &Options,
    spec: &Spec,
    platform: &Platform,
) -> Result<Named, Failure> {
    let mut named = Named::default();
    if options.named_contexts()?.is_empty() {
        return Ok(named);
    }
    for (name, roles) in roles(spec) {
        let Some(context) = options.named_context(&name, platform)? else {
            continue;
        };
        for role in roles {
            match role {
                Role::Tier(tier) => {
                    let stand_in = image(client, options, &context, platform, &mut named).await?;
                    named.stand_ins.tiers.insert(tier, stand_in);
                }
                Role::Image(reference) => {
                    let stand_in = image(client, options, &context, platform, &mut named).await?;
                    named.stand_ins.images.insert(reference, stand_in);
                }
                Role::Source => {
                    let loaded = source(client, options, &context, platform).await?;
                    named.stand_ins.sources.insert(name.clone(), loaded.digest);
                    named.given.insert(name.clone(), loaded.given);
                }
                Role::Ready | Role::Lock | Role::Files | Role::Previous => {}
            }
        }
    }
    Ok(named)
}

/// What stands in for an image.
async fn image(
    client: &Client,
    options: &Options,
    context: &NamedContext,
    platform: &Platform,
    named: &mut Named,
) -> Result<StandIn, Failure> {
    if let ContextSource::Image(text) = &context.source {
        return Ok(StandIn::Image(reference(&context.name, text)?.to_string()));
    }
    let loaded = given(client, options, context, platform).await?;
    named.given.insert(context.name.clone(), loaded.given);
    Ok(StandIn::Context {
        name: context.name.clone(),
        digest: loaded.digest,
        config: loaded.config,
    })
}

/// What stands in for the source of a wheel. An archive of a source has one folder at its top, which is left out.
async fn source(
    client: &Client,
    options: &Options,
    context: &NamedContext,
    platform: &Platform,
) -> Result<Loaded, Failure> {
    let loaded = given(client, options, context, platform).await?;
    if !matches!(context.source, ContextSource::Http(_)) {
        return Ok(loaded);
    }
    let place = Place::open(client, loaded.given.clone(), &called(&context.name)).await?;
    let Place::Given(opened) = &place else {
        return Ok(loaded);
    };
    let entries = client.read_dir(&opened.reference, "/", "").await?;
    match entries.unwrap_or_default().as_slice() {
        [only] if only.mode & DIRECTORY != 0 => {
            let folder = place::below(client, opened, &only.path).await?;
            Ok(Loaded {
                given: folder.given().cloned().unwrap_or(loaded.given),
                ..loaded
            })
        }
        _ => Ok(loaded),
    }
}

/// A context as a graph.
struct Loaded {
    given: Given,
    digest: Option<String>,
    config: Option<Value>,
}

impl From<Given> for Loaded {
    fn from(given: Given) -> Self {
        Self {
            given,
            digest: None,
            config: None,
        }
    }
}

/// Loads a context as `frontend/dockerui/namedcontext.go` of BuildKit does, and looks at no more of it than that.
async fn given(
    client: &Client,
    options: &Options,
    context: &NamedContext,
    platform: &Platform,
) -> Result<Loaded, Failure> {
    let name = &context.name;
    let called = called(name);
    match &context.source {
        ContextSource::Scratch => Err(place::empty(&called).into()),
        ContextSource::Image(text) => {
            let reference = reference(name, text)?;
            let log = format!("[context {name}] load metadata for {reference}");
            let mode = options.resolve_mode()?;
            let resolved = client
                .resolve_image(&reference.to_string(), Some(platform), mode, &log)
                .await
                .map_err(|error| place::cannot_load(&called, &error))?;
            let pinned = match (&resolved.digest, resolved.reference.contains('@')) {
                (Some(digest), false) => format!("{}@{digest}", resolved.reference),
                _ => resolved.reference,
            };
            let mut image = ImageSource::new(pinned);
            image.resolve_mode = mode;
            let mut graph = Graph::new(platform.clone());
            let output = graph.image(image, Metadata::named(format!("[context {name}] {reference}")));
            Ok(Loaded {
                given: Given::of(&graph, output),
                digest: resolved.digest,
                config: serde_json::from_slice(&resolved.config).ok(),
            })
        }
        ContextSource::OciLayout { store, digest } => {
            place::demand(client, Cap::SourceOciLayout, &called, "an OCI layout")?;
            let layout = OciLayoutSource {
                reference: layout_name(name, digest),
                session: options.session().to_owned(),
                store: store.clone(),
                ..OciLayoutSource::default()
            };
            let log = format!("[context {name}] load metadata for {}", layout.reference);
            let resolved = client
                .resolve_layout(&layout, platform, &log)
                .await
                .map_err(|error| place::cannot_load(&called, &error))?;
            let mut graph = Graph::new(platform.clone());
            let metadata = Metadata::named(format!("[context {name}] OCI load from client"));
            let output = graph.oci_layout(layout, metadata);
            Ok(Loaded {
                given: Given::of(&graph, output),
                digest: resolved.digest.or_else(|| Some(digest.clone())),
                config: serde_json::from_slice(&resolved.config).ok(),
            })
        }
        ContextSource::Local(local) => folder(client, options, name, local).await.map(Loaded::from),
        ContextSource::Git(address) => {
            let log = format!("[context {name}] load git source {}", shown_url(address));
            Ok(place::repository(
                client,
                options,
                address,
                &format!("the option `context:{name}`"),
                log,
            )?
            .into())
        }
        ContextSource::Http(address) => {
            let log = format!("[context {name}] {}", shown_url(address));
            let file = Place::open(client, place::download(address, log, None), &called).await?;
            let Place::Given(opened) = file else {
                return Err(place::empty(&called).into());
            };
            match place::unpacked(client, &opened).await? {
                Some(given) => Ok(given.into()),
                // A lock may be a file by itself.
                None if name == LOCK => Ok(opened.given.into()),
                None => Err(Diagnostic::error(format!("{called} is no archive"))
                    .help("a file of a web server is a tar archive, as it is or compressed with gzip, bzip2 or xz")
                    .into()),
            }
        }
        ContextSource::Input(input) => {
            let definition = client.inputs().await?.remove(input).ok_or_else(|| {
                Diagnostic::error(format!(
                    "{called} is the input `{input}`, which the client does not give"
                ))
                .help("inputs are made by `docker buildx bake` of `target:NAME`")
            })?;
            let given = Given::new(definition)
                .map_err(|error| Diagnostic::error(format!("{called} is no graph: {error}")))?
                .ok_or_else(|| place::empty(&called))?;
            Ok(Loaded {
                config: input_config(options, input)?,
                ..given.into()
            })
        }
    }
}

/// A folder of the client, without what its own `.dockerignore` hides.
async fn folder(client: &Client, options: &Options, name: &str, local: &str) -> Result<Given, Failure> {
    let place = Place::Client(local.to_owned());
    let log = format!("[context {name}] load .dockerignore");
    let read = Folder::open(client, options, &place, &[".dockerignore"], &log)
        .await?
        .text(client, ".dockerignore")
        .await?;
    let mut source = LocalSource::new(local);
    options.session_of(local).clone_into(&mut source.session);
    if let Some(file) = read {
        source.exclude = ignore::read(&file)?.patterns;
    }
    let key = options.shared_key_of(name).unwrap_or_default();
    source.shared_key_hint = format!("context:{name}-{key}");
    let mut graph = Graph::new(Platform::linux_amd64());
    let metadata = Metadata::named(format!("[context {name}] load from client"));
    let output = graph.local(source, metadata);
    Ok(Given::of(&graph, output))
}

/// The image config of an input, which the client says beside it: values are base64 as Go's JSON has bytes.
fn input_config(options: &Options, input: &str) -> Result<Option<Value>, Diagnostic> {
    let key = format!("input-metadata:{input}");
    let Some(text) = options.not_empty(&key) else {
        return Ok(None);
    };
    let wrong = |reason: String| Diagnostic::error(format!("the option `{key}` is wrong: {reason}"));
    let metadata: BTreeMap<String, String> =
        serde_json::from_str(text).map_err(|error| wrong(error.to_string()))?;
    let Some(config) = metadata.get("containerimage.config") else {
        return Ok(None);
    };
    let config = base64::engine::general_purpose::STANDARD
        .decode(config)
        .map_err(|error| wrong(error.to_string()))?;
    let config = serde_json::from_slice(&config).map_err(|error| wrong(error.to_string()))?;
    Ok(Some(config))
}

/// What an image of a layout is called in progress lines.
fn layout_name(name: &str, digest: &str) -> String {
    match name.parse::<Reference>() {
        Ok(reference) => {
            let full = reference.to_string();
            format!("{}@{digest}", full.strip_suffix(":latest").unwrap_or(&full))
        }
        Err(_) => format!("{name}@{digest}"),
    }
}

fn reference(name: &str, text: &str) -> Result<Reference, Diagnostic> {
    text.parse().map_err(|error: ParseReferenceError| {
        Diagnostic::error(format!(
            "the option `context:{name}` names no image: {}",
            error.reason()
        ))
        .help(format!(
            "write it as in --build-context {name}=docker-image://registry.example/image:1"
        ))
    })
}

fn called(name: &str) -> String {
    format!("the named context `{name}`")
}

/// The file of a place that is the lock: by its name, or the only one there is where a web server gave it.
pub(in super::super) fn lock_paths(path: &str) -> [&str; 2] {
    let name = path.rsplit('/').next().unwrap_or(path);
    [name, DOWNLOADED]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_config_of_an_input_is_read() {
        let config = base64::engine::general_purpose::STANDARD.encode(r#"{"config":{"Env":["A=b"]}}"#);
        let metadata = format!(r#"{{"containerimage.config":"{config}"}}"#);
        let read = |text: &str| input_config(&Options::of(&[("input-metadata:t", text)]), "t");
        assert_eq!(
            read(&metadata).unwrap().unwrap()["config"]["Env"][0],
            serde_json::json!("A=b")
        );
        assert_eq!(read("{}"), Ok(None));
        for wrong in ["[", r#"{"containerimage.config":"%"}"#] {
            assert!(
                read(wrong)
                    .unwrap_err()
                    .message
                    .starts_with("the option `input-metadata:t` is wrong"),
                "{wrong}"
            );
        }
        assert_eq!(input_config(&Options::of(&[]), "t"), Ok(None));
    }

    #[test]
    fn layouts_are_named_after_what_they_replace() {
        assert_eq!(
            layout_name("devel", "sha256:1"),
            "docker.io/library/devel@sha256:1"
        );
        assert_eq!(
            layout_name("nvidia/cuda:13", "sha256:1"),
            "docker.io/nvidia/cuda:13@sha256:1"
        );
    }

    #[test]
    fn a_lock_is_found_by_its_name() {
        assert_eq!(lock_paths("python/uv.lock"), ["uv.lock", "context"]);
    }
}
