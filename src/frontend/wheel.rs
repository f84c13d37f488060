//! A target that is a compiled wheel: an image of its files, to be pushed to a wheel store or copied out.

use std::collections::BTreeMap;

use serde_json::json;

use super::failure::{self, Failure};
use super::prepare;
use super::read::Read;
use super::resolve::Questions;
use super::{Built, config, reports, solve_image, surroundings, wheel_store};
use crate::diagnostic::Diagnostic;
use crate::gateway::{Client, Options, PlatformImage};
use crate::llb::emit_wheel;
use crate::plan::{self, Plan, StageId};
use crate::spec::Spec;

/// One wheel for one platform, as the images that use it need it. One that the store has is given as it is.
pub(super) async fn build(
    client: &Client,
    options: &Options,
    read: &Read,
    name: &str,
    questions: Questions,
    began: u64,
) -> Result<Built, Failure> {
    let platform = questions.platform.clone();
    let images = read.spec.images.keys().cloned().collect();
    let surroundings = surroundings(client, options, read, &questions.named)?;
    let mut plan = prepare::planned(read, &images, questions).await?;
    let stage = stage(&read.spec, &plan, name)?;
    failure::check_patterns(&plan, &surroundings)?;
    let looked = wheel_store::look(client, options, read, &plan, &surroundings).await?;
    let this: Vec<_> = looked
        .into_iter()
        .filter(|one| one.entry.stage == stage)
        .collect();
    let annotations: BTreeMap<String, String> = this.iter().flat_map(|one| one.entry.notes.clone()).collect();
    let mut metadata = Vec::new();
    if !this.is_empty() {
        metadata.push((plan::STORED, wheel_store::report(&this)));
    }
    wheel_store::take(&mut plan, &this);
    failure::refuse(plan::foreign_stage(&plan, stage))?;
    let mut emitted = emit_wheel(&plan, stage, &surroundings);
    emitted.graph.set_origin(&read.spec.file, read.origin.clone());
    failure::check_capabilities(client, &emitted)?;
    let (counts, reference) = tokio::join!(
        reports::counts(client, options, &emitted),
        solve_image(client, options, &emitted),
    );
    let reference = reference?;
    let counts = counts?;
    metadata.extend(reports::tell(client, read, &plan, counts, began).await);
    let mut labels = annotations.clone();
    for one in &this {
        let parts = serde_json::to_string(&one.entry.parts).unwrap_or_default();
        labels.insert(plan::PARTS.to_owned(), parts);
    }
    let config = json!({
        "architecture": platform.architecture,
        "os": platform.os,
        "config": { "Labels": labels },
    });
    Ok(Built {
        image: PlatformImage {
            platform,
            reference,
            config: config::finish(config, options)?,
            base: None,
            epoch: options.source_date_epoch()?,
        },
        metadata,
        annotations,
        attestations: Vec::new(),
    })
}

/// The stage that compiles a wheel.
pub(super) fn stage(spec: &Spec, plan: &Plan, name: &str) -> Result<StageId, Diagnostic> {
    plan::compile_of(plan, name).ok_or_else(|| {
        let error = Diagnostic::error(format!("no image has the wheel `{name}`"))
            .help("name it in `wheels` of an image: what it is compiled against is decided there");
        match spec.wheels.get(name) {
            Some(wheel) => error.at(spec.locate(&wheel.name), "declared here"),
            None => error,
        }
    })
}
