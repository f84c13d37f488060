//! Asks for the digest and config of every image that a plan stands on.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use tokio::task::JoinSet;

use super::contexts::Named;
use super::failure::Failure;
use crate::diagnostic::{Diagnostic, Location};
use crate::gateway::{self, Client, Options, ResolvedImage};
use crate::llb::ResolveMode;
use crate::plan::Resolved;
use crate::platform::Platform;

/// Questions about images for one platform, each asked once and all of them at the same time.
pub(super) struct Questions {
    client: Client,
    pub(super) platform: Platform,
    /// What stands in for what the spec names.
    pub(super) named: Arc<Named>,
    mode: ResolveMode,
    asked: BTreeSet<String>,
    answers: JoinSet<(String, Result<ResolvedImage, gateway::Error>)>,
}

impl Questions {
    pub(super) fn new(
        client: &Client,
        options: &Options,
        platform: Platform,
        named: Named,
    ) -> Result<Self, Diagnostic> {
        Ok(Self {
            client: client.clone(),
            platform,
            named: Arc::new(named),
            mode: options.resolve_mode()?,
            asked: BTreeSet::new(),
            answers: JoinSet::new(),
        })
    }

    /// Asks without waiting for the answer.
    pub(super) fn ask(&mut self, reference: &str) {
        if !self.asked.insert(reference.to_owned()) {
            return;
        }
        let (client, platform, mode) = (self.client.clone(), self.platform.clone(), self.mode);
        let reference = reference.to_owned();
        self.answers.spawn(async move {
            let name = format!("[internal] load metadata for {reference}");
            let answer = client
                .resolve_image(&reference, Some(&platform), mode, &name)
                .await;
            (reference, answer)
        });
    }

    /// Asks what has not been asked, and waits for all answers. What does not exist is reported at its place in the
    /// spec, all of it at once.
    pub(super) async fn answers(
        mut self,
        references: &BTreeMap<String, Location>,
    ) -> Result<BTreeMap<String, Resolved>, Failure> {
        for reference in references.keys() {
            self.ask(reference);
        }
        let answers: BTreeMap<_, _> = self.answers.join_all().await.into_iter().collect();
        let mut resolved = BTreeMap::new();
        let mut errors = Vec::new();
        for (reference, answer) in answers {
            match answer {
                Ok(image) => {
                    let config = serde_json::from_slice(&image.config).unwrap_or_default();
                    let digest = image.digest;
                    resolved.insert(reference, Resolved { digest, config });
                }
                Err(error) => {
                    let mut finding =
                        Diagnostic::error(format!("{reference} cannot be resolved: {error}")).help(
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
}
