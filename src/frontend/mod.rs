//! The story of a build, told once: read, plan, emit, solve, check, return.
//!
//! BuildKit starts this program in the frontend image and talks to it over standard input and output. Everything
//! that goes wrong is an answer to the user, with the line of the spec where there is one; nothing is printed.

use std::collections::BTreeMap;

use futures_util::future::try_join_all;
use serde_json::Value;

use crate::diagnostic::Diagnostic;
use crate::gateway::{
    self, Attestation, BuildResult, Client, Options, PlatformImage, Reference, Returned, Solve,
};
use crate::llb::{Counting, Emitted, NoCache, Surroundings};
use crate::plan;

mod attest;
mod config;
mod contexts;
mod failure;
mod goal;
mod ignore;
mod place;
mod prepare;
mod read;
mod reports;
mod resolve;
mod sandbox;
mod subrequest;
mod wheel;
mod wheel_store;

use attest::Sbom;
use contexts::Named;
use failure::Failure;
use goal::{Goal, Product};
use prepare::Prepared;
use read::Read;
use resolve::Questions;

/// Answers the build that this process was started for, in milliseconds since 1970 at `began`.
///
/// # Errors
///
/// When the daemon does not take the answer.
pub async fn serve(client: &Client, options: &Options, began: u64) -> Result<Returned, gateway::Error> {
    match Box::pin(answer(client, options, began)).await {
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
    let remarks = sandbox::check(options, &client.caps().llb)?;
    let platforms = prepare::platforms(client, options)?;
    let several = options.multi_platform()?;
    let (prepared, sbom) = tokio::try_join!(
        prepare::prepare(client, options, platforms),
        attest::scanner(client, options)
    )?;
    let Prepared {
        read,
        goal,
        questions,
    } = prepared;
    let mut warnings = read.warnings(Some(&goal));
    warnings.extend(wheel_store::unkeyed(&read, Some(&goal), &questions));
    warnings.extend(remarks);
    read.tell(client, &warnings).await;
    if let Some(error) = read.settings.verdict(&warnings) {
        return Err(error.into());
    }

    // Platforms are built next to each other, as stages are.
    let built = questions.into_iter().map(async |questions| {
        let platform = questions.platform.clone();
        let built = build(client, options, &read, &goal, questions, sbom.as_ref(), began).await?;
        Ok::<_, Failure>((platform, built))
    });
    let mut images = Vec::new();
    let mut notes = Vec::new();
    let mut attestations = BTreeMap::new();
    for (platform, built) in try_join_all(built).await? {
        images.push(built.image);
        if !built.attestations.is_empty() {
            attestations.insert(platform.to_string(), built.attestations);
        }
        notes.push((platform, built.metadata, built.annotations));
    }
    let mut result = match images.pop() {
        // Attestations are given by platform, and so are images with some.
        Some(only) if images.is_empty() && !several && attestations.is_empty() => BuildResult::image(only),
        last => BuildResult::images(images.into_iter().chain(last).collect()),
    };
    result.attestations = attestations;
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
    /// What is attested of it.
    attestations: Vec<Attestation>,
}

/// The target for one platform. The metadata of the build has the compact plan of an image, what the compiler cache did, and
/// which wheels the store had.
async fn build(
    client: &Client,
    options: &Options,
    read: &Read,
    goal: &Goal,
    questions: Questions,
    sbom: Option<&Sbom>,
    began: u64,
) -> Result<Built, Failure> {
    let Product::Image(image) = &goal.product else {
        return wheel::build(client, options, read, goal, questions, began).await;
    };
    let platform = questions.platform.clone();
    let surroundings = surroundings(client, options, read, &questions.named)?;
    let mut plan = prepare::planned(read, &goal.images(&read.spec), questions).await?;
    failure::check_sources(&plan, &surroundings)?;
    let mut metadata = vec![(plan::LABEL, plan::compact(&plan, image).unwrap_or_default())];
    let looked = wheel_store::look(client, options, read, &plan, &surroundings).await?;
    if !looked.is_empty() {
        metadata.push((plan::STORED, wheel_store::report(&looked)));
    }
    wheel_store::take(&mut plan, &looked);
    failure::refuse(plan::foreign(&plan, image))?;
    let mut emitted = goal.emit(&plan, &[], &surroundings);
    emitted.graph.set_origin(&read.spec.file, read.origin.clone());
    failure::check_capabilities(client, &emitted)?;

    // The check and the image need the same steps; waiting for one before asking for the other would only add up.
    let (reported, reference) = tokio::join!(
        reports::read(client, options, &plan, image, &emitted),
        solve_image(client, options, &emitted),
    );
    let reported = reported?;
    let reference = reference?;
    read.tell(client, &reported.warnings).await;
    metadata.extend(reports::tell(client, read, &plan, reported.counts, began).await);
    // What is empty stands on nothing and holds nothing that could be attested.
    let (config, base) = if goal.only_cache {
        (config::bare(&platform, &BTreeMap::new()), None)
    } else {
        (plan.images[image].config.clone(), plan::tier_config(&plan, image))
    };
    let attestations = match sbom.filter(|_| !goal.only_cache) {
        Some(sbom) => sbom.attest(client, options, &plan, image, &mut emitted).await?,
        None => Vec::new(),
    };
    Ok(Built {
        image: PlatformImage {
            platform,
            reference,
            config: config::finish(config, options)?,
            base: base.map(|config| config.to_string().into_bytes()),
            epoch: options.source_date_epoch()?,
        },
        metadata,
        annotations: BTreeMap::new(),
        attestations,
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
fn surroundings(
    client: &Client,
    options: &Options,
    read: &Read,
    named: &Named,
) -> Result<Surroundings, Diagnostic> {
    let caps = &client.caps().llb;
    Ok(Surroundings {
        session: options.session_of("context").to_owned(),
        ignore: read.ignore.clone(),
        context: read.context.clone(),
        contexts: named.given.clone(),
        merge: caps.supports("mergeop") && caps.supports("diffop"),
        content_cache: caps.supports("exec.mount.cache.content"),
        patterns: caps.supports("file.copy.includeexcludepatterns"),
        online: options.network()?,
        resolve_mode: options.resolve_mode()?,
        // A cache from elsewhere holds what images are made of. Counts are not, so asking for them would compile again what
        // that cache has.
        counts: if options.cache_imports()?.is_empty() {
            Counting::Asked
        } else {
            Counting::Left
        },
        no_cache: match options.no_cache() {
            gateway::NoCache::Nothing => NoCache::None,
            gateway::NoCache::Everything => NoCache::All,
            gateway::NoCache::Stages(stages) => NoCache::Only(stages),
        },
        proxy: options.proxy(),
        extra_hosts: options.extra_hosts()?,
        sandbox: sandbox::sandbox(options, caps)?,
    })
}
