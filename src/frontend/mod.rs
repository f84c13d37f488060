//! The story of a build, told once: read, plan, emit, solve, check, return.
//!
//! BuildKit starts this program in the frontend image and talks to it over standard input and output. Everything
//! that goes wrong is an answer to the user, with the line of the spec where there is one; nothing is printed.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use tokio::task::JoinSet;

use crate::diagnostic::Diagnostic;
use crate::gateway::{self, BuildResult, Client, Options, PlatformImage, Reference, Returned, Solve};
use crate::llb::{Emitted, NoCache, Surroundings, emit};
use crate::plan::{self, Plan, Request, forbid};
use crate::platform::Platform;
use crate::spec::Spec;

mod contexts;
mod failure;
mod ignore;
mod read;
mod resolve;
mod subrequest;

use failure::Failure;
use read::Read;

/// Answers the build that this process was started for.
///
/// # Errors
///
/// When the daemon does not take the answer.
pub async fn serve(client: &Client, options: &Options) -> Result<Returned, gateway::Error> {
    match answer(client, options).await {
        Ok(result) => client.return_result(result).await,
        Err(failure) => client.return_error(failure.into_status()).await,
    }
}

async fn answer(client: &Client, options: &Options) -> Result<BuildResult, Failure> {
    if let Some(request) = options.request_id() {
        return subrequest::answer(client, options, request).await;
    }
    if let Some(cap) = options
        .frontend_caps()
        .into_iter()
        .find(|cap| !subrequest::CAPS.contains(cap))
    {
        return Err(gateway::unsupported_frontend_cap(cap).into());
    }
    contexts::check(options)?;
    let read = read::read(client, options).await?;
    read.warn(client).await;
    let image = choose(&read.spec, options.target())?;
    let platforms = platforms(client, options)?;

    let mut images = Vec::new();
    let mut plans = Vec::new();
    for platform in platforms {
        let (built, compact) = build(client, options, &read, &image, &platform).await?;
        images.push(built);
        plans.push((platform, compact));
    }
    let several = options.multi_platform()?;
    let mut result = match images.pop() {
        Some(only) if images.is_empty() && !several => BuildResult::image(only),
        last => BuildResult::images(images.into_iter().chain(last).collect()),
    };
    for (platform, compact) in plans {
        let suffix = if several {
            format!("/{platform}")
        } else {
            String::new()
        };
        result
            .metadata
            .insert(format!("frontend.{}{suffix}", plan::LABEL), compact);
    }
    Ok(result)
}

/// The platforms to build for. When none is asked for it is that of the daemon's first worker, as every frontend
/// takes it.
fn platforms(client: &Client, options: &Options) -> Result<Vec<Platform>, Diagnostic> {
    let mut platforms = options.platforms()?;
    if platforms.is_empty() {
        let first = client
            .workers()
            .first()
            .and_then(|worker| worker.platforms.first());
        platforms.push(first.cloned().unwrap_or_else(Platform::linux_amd64));
    }
    Ok(platforms)
}

/// The plan of one image for one platform, with what registries say of the images that it stands on.
async fn planned(
    client: &Client,
    options: &Options,
    read: &Read,
    image: &str,
    platform: &Platform,
) -> Result<Plan, Failure> {
    let images = BTreeSet::from([image.to_owned()]);
    let unresolved = BTreeMap::new();
    let mut request = Request {
        spec: &read.spec,
        lock: read.lock.as_ref(),
        projects: &read.projects,
        platform: platform.clone(),
        resolved: &unresolved,
        images: &images,
    };
    let references = plan::references(&plan::plan(&request)?);
    let resolved = resolve::images(client, options, &references, platform).await?;
    request.resolved = &resolved;
    Ok(plan::plan(&request)?)
}

/// One image for one platform, with its compact plan.
async fn build(
    client: &Client,
    options: &Options,
    read: &Read,
    image: &str,
    platform: &Platform,
) -> Result<(PlatformImage, Vec<u8>), Failure> {
    let plan = planned(client, options, read, image, platform).await?;
    let surroundings = surroundings(client, options, read)?;
    failure::check_patterns(&plan, &surroundings)?;
    let mut emitted = emit(&plan, image, &surroundings);
    emitted.graph.set_origin(&read.spec.file, read.origin.clone());
    failure::check_capabilities(client, &emitted)?;

    // The check and the image need the same steps; waiting for one before asking for the other would only add up.
    let (checked, reference) = tokio::join!(
        check_forbidden(client, options, &plan, image, &emitted),
        solve_image(client, options, &emitted),
    );
    checked?;
    let reference = reference?;
    let config = config(&plan, image, options);
    let compact = plan::compact(&plan, image)
        .unwrap_or_default()
        .to_string()
        .into_bytes();
    Ok((
        PlatformImage {
            platform: platform.clone(),
            reference,
            config,
        },
        compact,
    ))
}

/// The finished filesystem. It is made at once where there is a check to wait for, and when the exporter asks for it
/// otherwise.
async fn solve_image(
    client: &Client,
    options: &Options,
    emitted: &Emitted,
) -> Result<Option<Reference>, Failure> {
    let evaluate = !emitted.lists.is_empty() && client.caps().frontend.supports("gateway.solve.evaluate");
    let solve = Solve {
        cache_imports: options.cache_imports()?,
        evaluate,
        ..Solve::definition(emitted.graph.definition(emitted.image))
    };
    Ok(client.solve(solve).await?.single()?.cloned())
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
            return Err(
                Diagnostic::error(format!("{} has {} images", spec.file.name, names.len())).help(format!(
                    "name one with --target ({}), or write default = \"{}\" at the top of the file",
                    names.join(", "),
                    names[0]
                )),
            );
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
fn surroundings(client: &Client, options: &Options, read: &Read) -> Result<Surroundings, Diagnostic> {
    let caps = &client.caps().llb;
    Ok(Surroundings {
        session: options.session_of("context").to_owned(),
        ignore: read.ignore.clone(),
        merge: caps.supports("mergeop") && caps.supports("diffop"),
        content_cache: caps.supports("exec.mount.cache.content"),
        patterns: caps.supports("file.copy.includeexcludepatterns"),
        online: options.network()?,
        resolve_mode: options.resolve_mode()?,
        no_cache: match options.no_cache() {
            gateway::NoCache::Nothing => NoCache::None,
            gateway::NoCache::Everything => NoCache::All,
            gateway::NoCache::Stages(names) => NoCache::Only(names),
        },
        proxy: options.proxy(),
        extra_hosts: options.extra_hosts()?,
    })
}

/// Reads the file lists that the steps left and compares them with what the spec forbids.
async fn check_forbidden(
    client: &Client,
    options: &Options,
    plan: &Plan,
    image: &str,
    emitted: &Emitted,
) -> Result<(), Failure> {
    let cache_imports = options.cache_imports()?;
    let mut reads = JoinSet::new();
    for (index, output) in emitted.lists.iter().enumerate() {
        let definition = emitted.graph.definition(*output);
        let solve = Solve {
            cache_imports: cache_imports.clone(),
            ..Solve::definition(definition)
        };
        let client = client.clone();
        reads.spawn(async move { (index, read_list(&client, solve).await) });
    }
    let mut lists = BTreeMap::new();
    while let Some(read) = reads.join_next().await {
        let (index, list) = read.map_err(|error| Diagnostic::error(error.to_string()))?;
        // The first step that fails ends the build; the others need not be waited for.
        lists.insert(index, list?);
    }
    let mut tree = forbid::Tree::default();
    for list in lists.into_values() {
        tree.lay(&list)
            .map_err(|error| Diagnostic::error(error.to_string()))?;
    }
    let errors = forbid::check(image, &tree, &plan.images[image].forbid);
    if errors.is_empty() {
        Ok(())
    } else {
        Err(errors.into())
    }
}

async fn read_list(client: &Client, solve: Solve) -> Result<String, Failure> {
    let result = client.solve(solve).await?;
    let bytes = match result.single()? {
        Some(reference) => client.read_file(reference, "/files").await?,
        None => None,
    };
    let bytes = bytes.ok_or_else(|| Diagnostic::error("a step has left no list of its files"))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// The image config, with the client's labels laid over the spec's.
fn config(plan: &Plan, image: &str, options: &Options) -> Vec<u8> {
    let mut config = plan.images[image].config.clone();
    for (name, value) in options.labels() {
        config["config"]["Labels"][name] = Value::String(value.to_owned());
    }
    config.to_string().into_bytes()
}
