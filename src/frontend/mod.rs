//! The story of a build, told once: read, plan, emit, solve, check, return.
//!
//! BuildKit starts this program in the frontend image and talks to it over standard input and output. Everything
//! that goes wrong is an answer to the user, with the line of the spec where there is one; nothing is printed.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::diagnostic::Diagnostic;
use crate::gateway::{Client, Options, Reference, SolveRequest, SolveResult};
use crate::llb::{Emitted, ExtraHost, Network, NoCache, ProxyEnv, ResolveMode, Surroundings, emit};
use crate::lock::Lock;
use crate::plan::{self, Plan, Request, Resolved, forbid};
use crate::platform::Platform;
use crate::spec::Spec;

mod failure;
mod ignore;
mod read;
mod resolve;
mod subrequest;

use failure::Failure;
use read::Read;

/// Answers the build that this process was started for. Returns when the answer has been delivered; the caller
/// must then end the process at once (see [`crate::gateway`]).
///
/// # Errors
///
/// When the daemon cannot be reached or does not take the answer.
pub async fn serve(client: &Client, options: &Options) -> Result<(), crate::gateway::Error> {
    match answer(client, options).await {
        Ok(result) => client.return_result(result).await,
        Err(failure) => client.return_error(failure.into_status()).await,
    }
}

async fn answer(client: &Client, options: &Options) -> Result<SolveResult, Failure> {
    if let Some(request) = options.request_id() {
        return subrequest::answer(request);
    }
    let read = read::read(client, options).await?;
    read.warn(client).await;
    let image = choose(&read.spec, options.target())?;
    let platforms = options.platforms()?;

    let mut result = SolveResult::default();
    for platform in &platforms {
        let built = build(client, options, &read, &image, platform).await?;
        result.add(platform, built.reference, built.metadata);
    }
    Ok(result.finish(options.multi_platform(platforms.len())))
}

/// One image for one platform.
struct Built {
    reference: Reference,
    metadata: BTreeMap<String, Vec<u8>>,
}

async fn build(
    client: &Client,
    options: &Options,
    read: &Read,
    image: &str,
    platform: &Platform,
) -> Result<Built, Failure> {
    let images = BTreeSet::from([image.to_owned()]);
    let resolved = resolve::images(client, options, &read.spec, &images, platform).await?;
    let plan = plan::plan(&Request {
        spec: &read.spec,
        lock: read.lock.as_ref(),
        projects: &read.projects,
        platform: platform.clone(),
        resolved: &resolved,
        images: &images,
    })?;

    let surroundings = surroundings(client, options, read);
    failure::check_patterns(&plan, &surroundings)?;
    let mut emitted = emit(&plan, image, &surroundings);
    emitted.graph.set_origin(&read.spec.file, read.origin.clone());
    failure::check_capabilities(client, &emitted)?;

    check_forbidden(client, options, &plan, image, &emitted).await?;
    let definition = emitted.graph.definition(emitted.image);
    let reference = client.solve(solve_request(options, definition)).await?;
    Ok(Built { reference, metadata: metadata(&plan, image, options) })
}

fn solve_request(options: &Options, definition: crate::proto::pb::Definition) -> SolveRequest {
    SolveRequest { definition: Some(definition), cache_imports: options.cache_imports(), ..SolveRequest::default() }
}

/// The image to build: the target, the spec's default, or the only one there is.
fn choose(spec: &Spec, target: Option<&str>) -> Result<String, Diagnostic> {
    let names: Vec<&str> = spec.images.keys().map(String::as_str).collect();
    let wanted = match (target, &spec.default, names.as_slice()) {
        (Some(target), _, _) => target,
        (None, Some(default), _) => default.get_ref(),
        (None, None, [only]) => only,
        (None, None, []) => return Err(Diagnostic::error(format!("{} has no images", spec.file.name))),
        (None, None, _) => {
            return Err(Diagnostic::error(format!("{} has {} images", spec.file.name, names.len())).help(format!(
                "name one with --target ({}), or write default = \"{}\" at the top of the file",
                names.join(", "),
                names[0]
            )));
        }
    };
    if spec.images.contains_key(wanted) {
        return Ok(wanted.to_owned());
    }
    let help = match crate::diagnostic::nearest(wanted, names.iter().copied()) {
        Some(near) => format!("did you mean --target {near}?"),
        None => format!("the images of {} are: {}", spec.file.name, names.join(", ")),
    };
    Err(Diagnostic::error(format!("there is no target `{wanted}`")).help(help))
}

/// What the daemon can do and what the client wants, as far as it shapes the graph.
fn surroundings(client: &Client, options: &Options, read: &Read) -> Surroundings {
    let caps = client.llb_caps();
    let proxy = options.proxy();
    Surroundings {
        session: options.session_of("context").to_owned(),
        ignore: read.ignore.clone(),
        merge: caps.supports("mergeop") && caps.supports("diffop"),
        content_cache: caps.supports("exec.mount.cache.content"),
        patterns: caps.supports("file.copy.includeexcludepatterns"),
        online: match options.force_network_mode() {
            Some("host") => Network::Host,
            Some("none") => Network::None,
            _ => Network::Sandbox,
        },
        resolve_mode: resolve::mode(options),
        no_cache: match options.no_cache() {
            None => NoCache::None,
            Some(names) if names.is_empty() => NoCache::All,
            Some(names) => NoCache::Only(names.into_iter().collect()),
        },
        proxy,
        extra_hosts: options
            .add_hosts()
            .into_iter()
            .map(|(host, ip)| ExtraHost { host, ip })
            .collect(),
    }
}

/// Reads the file lists that the steps left and compares them with what the spec forbids.
async fn check_forbidden(
    client: &Client,
    options: &Options,
    plan: &Plan,
    image: &str,
    emitted: &Emitted,
) -> Result<(), Failure> {
    let Some(lists) = emitted.lists else { return Ok(()) };
    let image_plan = &plan.images[image];
    let definition = emitted.graph.definition(lists);
    let reference = client.solve(solve_request(options, definition)).await?;
    let mut tree = forbid::Tree::default();
    for index in 0..image_plan.lists.len() {
        let path = format!("/{index}");
        let bytes = client.read_file(&reference, &path).await?;
        let list = String::from_utf8_lossy(&bytes);
        tree.lay(&list).map_err(|error| Diagnostic::error(error.to_string()))?;
    }
    let errors = forbid::check(image, &tree, &image_plan.forbid);
    if errors.is_empty() { Ok(()) } else { Err(errors.into()) }
}

/// What the exporter and the client are told: the image config and the compact plan.
fn metadata(plan: &Plan, image: &str, options: &Options) -> BTreeMap<String, Vec<u8>> {
    let mut config = plan.images[image].config.clone();
    for (name, value) in options.labels() {
        config["config"]["Labels"][name] = Value::String(value);
    }
    let mut metadata = BTreeMap::from([("containerimage.config".to_owned(), config.to_string().into_bytes())]);
    if let Some(compact) = plan::compact(plan, image) {
        metadata.insert(format!("frontend.{}", plan::LABEL), compact.to_string().into_bytes());
    }
    metadata
}
