//! The story of a build, told once: read, plan, emit, solve, check, return.
//!
//! BuildKit starts this program in the frontend image and talks to it over standard input and output. Everything
//! that goes wrong is an answer to the user, with the line of the spec where there is one; nothing is printed.

use serde_json::Value;

use crate::diagnostic::Diagnostic;
use crate::gateway::{self, BuildResult, Client, Options, PlatformImage, Reference, Returned, Solve};
use crate::llb::{Counting, Emitted, NoCache, Surroundings, emit};
use crate::plan::{self, Plan};

mod contexts;
mod failure;
mod ignore;
mod prepare;
mod read;
mod reports;
mod resolve;
mod subrequest;

use failure::Failure;
use prepare::Prepared;
use read::Read;
use resolve::Questions;

/// Answers the build that this process was started for, in milliseconds since 1970 at `began`.
///
/// # Errors
///
/// When the daemon does not take the answer.
pub async fn serve(client: &Client, options: &Options, began: u64) -> Result<Returned, gateway::Error> {
    match answer(client, options, began).await {
        Ok(result) => client.return_result(result).await,
        Err(failure) => client.return_error(failure.into_status()).await,
    }
}

async fn answer(client: &Client, options: &Options, began: u64) -> Result<BuildResult, Failure> {
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
    let mut notes = Vec::new();
    for questions in questions {
        let platform = questions.platform.clone();
        let (built, metadata) = build(client, options, &read, &image, questions, began).await?;
        images.push(built);
        notes.push((platform, metadata));
    }
    let several = options.multi_platform()?;
    let mut result = match images.pop() {
        Some(only) if images.is_empty() && !several => BuildResult::image(only),
        last => BuildResult::images(images.into_iter().chain(last).collect()),
    };
    for (platform, metadata) in notes {
        let suffix = if several {
            format!("/{platform}")
        } else {
            String::new()
        };
        for (key, value) in metadata {
            result
                .metadata
                .insert(format!("frontend.{key}{suffix}"), value.to_string().into_bytes());
        }
    }
    Ok(result)
}

/// One image for one platform, with what the metadata of the build says of it: the compact plan, and what the compiler
/// cache did.
async fn build(
    client: &Client,
    options: &Options,
    read: &Read,
    image: &str,
    questions: Questions,
    began: u64,
) -> Result<(PlatformImage, Vec<(&'static str, Value)>), Failure> {
    let platform = questions.platform.clone();
    let plan = prepare::planned(read, image, questions).await?;
    let surroundings = surroundings(client, options, read, &plan.images[image])?;
    failure::check_patterns(&plan, &surroundings)?;
    let mut emitted = emit(&plan, image, &surroundings);
    emitted.graph.set_origin(&read.spec.file, read.origin.clone());
    failure::check_capabilities(client, &emitted)?;

    // The check and the image need the same steps; waiting for one before asking for the other would only add up.
    let (reported, reference) = tokio::join!(
        reports::read(client, options, &plan, image, &emitted),
        solve_image(client, options, &emitted),
    );
    let counts = reported?;
    let reference = reference?;
    let config = config(&plan, image, options);
    let mut metadata = vec![(plan::LABEL, plan::compact(&plan, image).unwrap_or_default())];
    if !counts.is_empty() {
        let (report, warnings) = reports::judge(&plan, counts, began);
        read.tell(client, &warnings).await;
        metadata.push((plan::COUNTS, report));
    }
    Ok((
        PlatformImage {
            platform,
            reference,
            config,
        },
        metadata,
    ))
}

/// The finished filesystem. It is made at once where there are reports to wait for, and when the exporter asks for it
/// otherwise.
async fn solve_image(
    client: &Client,
    options: &Options,
    emitted: &Emitted,
) -> Result<Option<Reference>, Failure> {
    let evaluate = emitted.reports.is_some() && client.caps().frontend.supports("gateway.solve.evaluate");
    let solve = Solve {
        cache_imports: options.cache_imports()?,
        evaluate,
        ..Solve::definition(emitted.graph.definition(emitted.image))
    };
    Ok(client.solve(solve).await?.single()?.cloned())
}

/// What the daemon can do and what the client wants, as far as it shapes the graph.
fn surroundings(
    client: &Client,
    options: &Options,
    read: &Read,
    plan: &plan::ImagePlan,
) -> Result<Surroundings, Diagnostic> {
    let caps = &client.caps().llb;
    Ok(Surroundings {
        session: options.session_of("context").to_owned(),
        ignore: read.ignore.clone(),
        merge: caps.supports("mergeop") && caps.supports("diffop"),
        content_cache: caps.supports("exec.mount.cache.content"),
        patterns: caps.supports("file.copy.includeexcludepatterns"),
        online: options.network()?,
        resolve_mode: options.resolve_mode()?,
        // A cache from elsewhere may hold the finished image and no wheel (`mode=min`): asking for counts would compile
        // it again. Where lists are read, the steps that install are needed anyway.
        counts: if plan.lists.is_empty() && !options.cache_imports()?.is_empty() {
            Counting::Left
        } else {
            Counting::Asked
        },
        no_cache: match options.no_cache() {
            gateway::NoCache::Nothing => NoCache::None,
            gateway::NoCache::Everything => NoCache::All,
            gateway::NoCache::Stages(names) => NoCache::Only(names),
        },
        proxy: options.proxy(),
        extra_hosts: options.extra_hosts()?,
    })
}

/// The image config, with the client's labels laid over the spec's.
fn config(plan: &Plan, image: &str, options: &Options) -> Vec<u8> {
    let mut config = plan.images[image].config.clone();
    for (name, value) in options.labels() {
        config["config"]["Labels"][name] = Value::String(value.to_owned());
    }
    config.to_string().into_bytes()
}
