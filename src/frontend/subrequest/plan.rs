//! `--call wheelbase.plan`: what a build would do, with the digests that registries give; and `--call wheelbase.schema`.
//!
//! The command line's `wheelbase plan` says the same without digests: it asks no registry.

use serde_json::{Value, json};

use super::super::failure::Failure;
use super::super::goal::Goal;
use super::super::prepare;
use crate::gateway::{BuildResult, Client, Options};
use crate::plan::show;
use crate::spec::schema;

/// Version of the plan's JSON.
pub(super) const VERSION: &str = "1.0.0";

/// Version of the answer that is a schema; the schema itself is that of the release.
pub(super) const SCHEMA_VERSION: &str = "1.0.0";

/// Plans the target for each platform, or all images where no target is named.
pub(super) async fn answer(client: &Client, options: &Options) -> Result<BuildResult, Failure> {
    let platforms = prepare::platforms(client, options)?;
    let (read, questions) = prepare::prepare_all(client, options, platforms).await?;
    let images = match options.target() {
        Some(target) => Goal::choose(&read.spec, Some(target))?.images(&read.spec),
        None => read.spec.images.keys().cloned().collect(),
    };
    let (mut plans, mut texts) = (Vec::new(), Vec::new());
    for questions in questions {
        let plan = prepare::planned(&read, &images, questions).await?;
        plans.push(show::value(&plan));
        texts.push(show::text(&plan));
    }
    let json: Value = json!({ "plans": plans });
    Ok(BuildResult::answer(
        json.to_string().into_bytes(),
        texts.join("\n"),
        VERSION,
        None,
    ))
}

/// The JSON Schema of a spec: no file is read.
pub(super) fn schema() -> BuildResult {
    let schema = schema::json();
    BuildResult::answer(schema.clone().into_bytes(), schema, SCHEMA_VERSION, None)
}
