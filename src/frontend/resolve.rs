//! Asks for the digest and config of every image that a plan stands on.

use std::collections::BTreeMap;

use tokio::task::JoinSet;

use super::failure::Failure;
use crate::diagnostic::{Diagnostic, Location};
use crate::gateway::{Client, Options};
use crate::plan::Resolved;
use crate::platform::Platform;

/// Resolves all references at the same time. What does not exist is reported at its place in the spec, all of it at
/// once.
pub(super) async fn images(
    client: &Client,
    options: &Options,
    references: &BTreeMap<String, Location>,
    platform: &Platform,
) -> Result<BTreeMap<String, Resolved>, Failure> {
    let mode = options.resolve_mode()?;
    let mut questions = JoinSet::new();
    for reference in references.keys().cloned() {
        let (client, platform) = (client.clone(), platform.clone());
        questions.spawn(async move {
            let name = format!("[internal] load metadata for {reference}");
            let answer = client
                .resolve_image(&reference, Some(&platform), mode, &name)
                .await;
            (reference, answer)
        });
    }
    let answers: BTreeMap<_, _> = questions.join_all().await.into_iter().collect();

    let mut resolved = BTreeMap::new();
    let mut errors = Vec::new();
    for (reference, answer) in answers {
        match answer {
            Ok(image) => {
                let config = serde_json::from_slice(&image.config).unwrap_or_default();
                resolved.insert(
                    reference,
                    Resolved {
                        digest: image.digest,
                        config,
                    },
                );
            }
            Err(error) => {
                let mut finding = Diagnostic::error(format!("{reference} cannot be resolved: {error}")).help(
                    "see that the tag exists, and that the builder can reach and may read the registry",
                );
                if let Some(location) = references.get(&reference) {
                    finding = finding.at(location.clone(), "this image is needed");
                }
                errors.push(finding);
            }
        }
    }
    if errors.is_empty() {
        Ok(resolved)
    } else {
        Err(errors.into())
    }
}
