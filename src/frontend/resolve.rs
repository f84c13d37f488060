//! Asks for the digest and config of every image that a plan stands on.

use std::collections::{BTreeMap, BTreeSet};

use super::failure::Failure;
use super::{Diagnostic, ResolveMode, Resolved};
use crate::gateway::{Client, Options};
use crate::plan;
use crate::platform::Platform;
use crate::spec::Spec;

/// Where the client wants images to be looked for.
pub(super) fn mode(options: &Options) -> ResolveMode {
    match options.image_resolve_mode() {
        Some("pull") => ResolveMode::Pull,
        Some("local") => ResolveMode::Local,
        _ => ResolveMode::Default,
    }
}

/// Resolves all references at the same time. What does not exist is reported at its place in the spec, all of it at
/// once.
pub(super) async fn images(
    client: &Client,
    options: &Options,
    spec: &Spec,
    images: &BTreeSet<String>,
    platform: &Platform,
) -> Result<BTreeMap<String, Resolved>, Failure> {
    let references = plan::references(spec, images);
    let mode = mode(options).as_str();
    let questions = references.keys().map(|reference| async move {
        let name = format!("[internal] load metadata for {reference}");
        client.resolve_image(reference, platform, mode, &name).await
    });
    let answers = crate::gateway::join_all(questions).await;

    let mut resolved = BTreeMap::new();
    let mut errors = Vec::new();
    for ((reference, location), answer) in references.into_iter().zip(answers) {
        match answer {
            Ok(image) => {
                let config = serde_json::from_slice(&image.config).unwrap_or_default();
                resolved.insert(reference, Resolved { digest: image.digest, config });
            }
            Err(error) => errors.push(
                Diagnostic::error(format!("{reference} cannot be resolved: {}", error.message()))
                    .at(location, "this image is needed")
                    .help("see that the tag exists and that the builder can reach and may read the registry"),
            ),
        }
    }
    if errors.is_empty() { Ok(resolved) } else { Err(errors.into()) }
}
