//! The story of a build, told once: read, plan, emit, solve, check, return.
//!
//! BuildKit starts this program in the frontend image and talks to it over standard input and output. Everything
//! that goes wrong is an answer to the user, with the line of the spec where there is one; nothing is printed.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::diagnostic::Diagnostic;
use crate::gateway::{self, BuildResult, Client, Options, PlatformImage, Reference, Returned, Solve};
use crate::llb::{Counting, Emitted, NoCache, Surroundings, emit};
use crate::plan;

mod config;
mod contexts;
mod failure;
mod ignore;
mod prepare;
mod read;
mod reports;
mod resolve;
mod sandbox;
mod subrequest;
mod wheel;
mod wheel_store;

use failure::Failure;
use prepare::{Goal, Prepared};
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
    let remarks = sandbox::check(options, &client.caps().llb)?;
    let platforms = prepare::platforms(client, options)?;
    let Prepared {
        read,
        goal,
        questions,
    } = prepare::prepare(client, options, platforms).await?;
    read.tell(client, &remarks).await;

    let mut images = Vec::new();
    let mut notes = Vec::new();
    for questions in questions {
        let platform = questions.platform.clone();
        let built = match &goal {
            Goal::Image(image) => build(client, options, &read, image, questions, began).await?,
            Goal::Wheel(name) => wheel::build(client, options, &read, name, questions, began).await?,
        };
        images.push(built.image);
        notes.push((platform, built.metadata, built.annotations));
    }
    let several = options.multi_platform()?;
    let mut result = match images.pop() {
        Some(only) if images.is_empty() && !several => BuildResult::image(only),
        last => BuildResult::images(images.into_iter().chain(last).collect()),
    };
    for (platform, metadata, annotations) in notes {
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
        for (key, value) in annotations {
            result.annotate(&platform, &key, value);
        }
    }
    Ok(result)
}

/// What is built for one platform.
struct Built {
    image: PlatformImage,
    /// What the metadata of the build says of it.
    metadata: Vec<(&'static str, Value)>,
    /// Annotations of its manifest.
    annotations: BTreeMap<String, String>,
}

/// One image for one platform. The metadata of the build has the compact plan, what the compiler cache did, and which wheels
/// the store had.
async fn build(
    client: &Client,
    options: &Options,
    read: &Read,
    image: &str,
    questions: Questions,
    began: u64,
) -> Result<Built, Failure> {
    let platform = questions.platform.clone();
    let images = BTreeSet::from([image.to_owned()]);
    let mut plan = prepare::planned(read, &images, questions).await?;
    let mut surroundings = surroundings(client, options, read)?;
    // A cache from elsewhere may hold the finished image and no wheel (`mode=min`): asking for counts would compile
    // it again. Where lists are read, the steps that install are needed anyway.
    if plan.images[image].lists.is_empty() && !options.cache_imports()?.is_empty() {
        surroundings.counts = Counting::Left;
    }
    failure::check_patterns(&plan, &surroundings)?;
    let mut metadata = vec![(plan::LABEL, plan::compact(&plan, image).unwrap_or_default())];
    let looked = wheel_store::look(client, options, read, &plan, &surroundings).await?;
    if !looked.is_empty() {
        metadata.push((plan::STORED, wheel_store::report(&looked)));
    }
    wheel_store::take(&mut plan, &looked);
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
    let config = config::finish(plan.images[image].config.clone(), options)?;
    let base = plan::tier_config(&plan, image).map(|config| config.to_string().into_bytes());
    metadata.extend(reports::tell(client, read, &plan, counts, began).await);
    Ok(Built {
        image: PlatformImage {
            platform,
            reference,
            config,
            base,
            epoch: options.source_date_epoch()?,
        },
        metadata,
        annotations: BTreeMap::new(),
    })
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
        counts: Counting::Asked,
        no_cache: match options.no_cache() {
            gateway::NoCache::Nothing => NoCache::None,
            gateway::NoCache::Everything => NoCache::All,
            gateway::NoCache::Stages(names) => NoCache::Only(names),
        },
        proxy: options.proxy(),
        extra_hosts: options.extra_hosts()?,
        sandbox: sandbox::sandbox(options, caps)?,
    })
}
