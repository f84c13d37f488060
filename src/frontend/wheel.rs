//! A target that is compiled wheels: an image of their files, to be pushed to a wheel store or copied out.

use std::collections::BTreeMap;

use super::failure::{self, Failure};
use super::goal::{Goal, Product};
use super::prepare;
use super::read::Read;
use super::resolve::Questions;
use super::{Built, config, reports, solve_image, surroundings, wheel_store};
use crate::gateway::{Client, Options, PlatformImage};
use crate::plan;

/// Wheels for one platform, as the images that use them need them. One that the store has is given as it is. What a wheel was
/// made from is said of a single one: many have no one key.
pub(super) async fn build(
    client: &Client,
    options: &Options,
    read: &Read,
    goal: &Goal,
    questions: Questions,
    began: u64,
) -> Result<Built, Failure> {
    let platform = questions.platform.clone();
    let surroundings = surroundings(client, options, read, &questions.named)?;
    let mut plan = prepare::planned(read, &goal.images(&read.spec), questions).await?;
    let stages = goal.stages(&read.spec, &plan)?;
    failure::check_sources(&plan, &surroundings)?;
    let looked = wheel_store::look(client, options, read, &plan, &surroundings).await?;
    let these: Vec<_> = looked
        .into_iter()
        .filter(|one| stages.contains(&one.entry.stage))
        .collect();
    let mut metadata = Vec::new();
    if !these.is_empty() {
        metadata.push((plan::STORED, wheel_store::report(&these)));
    }
    wheel_store::take(&mut plan, &these);
    failure::refuse(
        stages
            .iter()
            .flat_map(|stage| plan::foreign_stage(&plan, *stage))
            .collect(),
    )?;
    let mut emitted = goal.emit(&plan, &stages, &surroundings);
    emitted.graph.set_origin(&read.spec.file, read.origin.clone());
    failure::check_capabilities(client, &emitted)?;
    let (counts, reference) = tokio::join!(
        reports::counts(client, options, &emitted),
        solve_image(client, options, &emitted),
    );
    let reference = reference?;
    let counts = counts?;
    metadata.extend(reports::tell(client, read, &plan, counts, began).await);
    let single = these
        .iter()
        .filter(|_| matches!(goal.product, Product::Wheel(_)) && !goal.only_cache);
    let mut annotations = BTreeMap::new();
    let mut labels = BTreeMap::new();
    for one in single {
        annotations.extend(one.entry.notes.clone());
        labels.extend(one.entry.notes.clone());
        let parts = serde_json::to_string(&one.entry.parts).unwrap_or_default();
        labels.insert(plan::PARTS.to_owned(), parts);
    }
    let config = config::finish(config::bare(&platform, &labels), options)?;
    Ok(Built {
        image: PlatformImage {
            platform,
            reference,
            config,
            base: None,
            epoch: options.source_date_epoch()?,
        },
        metadata,
        annotations,
        attestations: Vec::new(),
    })
}
