//! The story of a build, told once: read, plan, emit, solve, check, return.
//!
//! BuildKit starts this program in the frontend image and talks to it over standard input and output. Everything
//! that goes wrong is an answer to the user, with the line of the spec where there is one; nothing is printed.

use std::collections::BTreeMap;

use serde_json::Value;
use tokio::task::JoinSet;

use crate::diagnostic::Diagnostic;
use crate::gateway::{self, BuildResult, Client, Options, PlatformImage, Reference, Returned, Solve};
use crate::llb::{Emitted, NoCache, Surroundings, emit};
use crate::plan::{self, Plan, forbid, links};

mod contexts;
mod failure;
mod ignore;
mod prepare;
mod read;
mod resolve;
mod subrequest;

use failure::Failure;
use prepare::Prepared;
use read::Read;
use resolve::Questions;

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
    let platforms = prepare::platforms(client, options)?;
    let Prepared {
        read,
        image,
        questions,
    } = prepare::prepare(client, options, platforms).await?;

    let mut images = Vec::new();
    let mut plans = Vec::new();
    for questions in questions {
        let platform = questions.platform.clone();
        let (built, compact) = build(client, options, &read, &image, questions).await?;
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

/// One image for one platform, with its compact plan.
async fn build(
    client: &Client,
    options: &Options,
    read: &Read,
    image: &str,
    questions: Questions,
) -> Result<(PlatformImage, Vec<u8>), Failure> {
    let platform = questions.platform.clone();
    let plan = prepare::planned(read, image, questions).await?;
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
            platform,
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
    let evaluate = emitted.lists.is_some() && client.caps().frontend.supports("gateway.solve.evaluate");
    let solve = Solve {
        cache_imports: options.cache_imports()?,
        evaluate,
        ..Solve::definition(emitted.graph.definition(emitted.image))
    };
    Ok(client.solve(solve).await?.single()?.cloned())
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
    let Some(lists) = &emitted.lists else {
        return Ok(());
    };
    let solve = Solve {
        cache_imports: options.cache_imports()?,
        ..Solve::definition(emitted.graph.definition(lists.folder))
    };
    let result = client.solve(solve).await?;
    let mut reads = JoinSet::new();
    let files = (0..lists.count).map(|index| (false, index, format!("/{index}")));
    let needed = (0..lists.needed).map(|index| (true, index, format!("/needed-{index}")));
    for (libraries, index, path) in files.chain(needed) {
        let (client, folder) = (client.clone(), result.single()?.cloned());
        reads.spawn(async move { ((libraries, index), read_list(&client, folder, &path).await) });
    }
    let lists: BTreeMap<_, _> = reads.join_all().await.into_iter().collect();
    let mut tree = forbid::Tree::default();
    let image_plan = &plan.images[image];
    let mut wheels = Vec::new();
    // Lists of files come first.
    for ((libraries, index), list) in lists {
        if libraries {
            wheels.push((&image_plan.needed[index], list?));
        } else {
            tree.lay(&list?)
                .map_err(|error| Diagnostic::error(error.to_string()))?;
        }
    }
    let mut errors = forbid::check(image, &tree, &image_plan.forbid);
    errors.extend(links::check(image, &tree, &wheels).map_err(|error| Diagnostic::error(error.to_string()))?);
    if errors.is_empty() {
        Ok(())
    } else {
        Err(errors.into())
    }
}

async fn read_list(client: &Client, folder: Option<Reference>, path: &str) -> Result<String, Failure> {
    let bytes = match folder {
        Some(folder) => client.read_file(&folder, path).await?,
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
