//! Asks for the digest and config of every image that a plan stands on.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use tokio::task::JoinSet;

use super::contexts::Named;
use super::failure::Failure;
use crate::diagnostic::Diagnostic;
use crate::gateway::{self, Client, Options, ResolvedImage};
use crate::llb::ResolveMode;
use crate::plan::{self, Plan, Resolved};
use crate::platform::Platform;

/// Questions about images, each asked once and all of them at the same time.
pub(super) struct Questions {
    client: Client,
    /// What is built for.
    pub(super) platform: Platform,
    /// What the builder runs, where it cannot run that.
    pub(super) builder: Option<Platform>,
    /// What stands in for what the spec names.
    pub(super) named: Arc<Named>,
    mode: ResolveMode,
    asked: BTreeSet<Question>,
    answers: JoinSet<(Question, Result<ResolvedImage, gateway::Error>)>,
}

/// A reference, and for whom.
type Question = (Option<Platform>, String);

/// What registries say of images.
#[derive(Debug, Default)]
pub(super) struct Answers {
    /// For the platform that is built for.
    pub(super) image: BTreeMap<String, Resolved>,
    /// For that of the builder, where it is another one.
    pub(super) builder: BTreeMap<String, Resolved>,
}

impl Questions {
    pub(super) fn new(
        client: &Client,
        options: &Options,
        platform: Platform,
        builder: Option<Platform>,
        named: Named,
    ) -> Result<Self, Diagnostic> {
        Ok(Self {
            client: client.clone(),
            platform,
            builder,
            named: Arc::new(named),
            mode: options.resolve_mode()?,
            asked: BTreeSet::new(),
            answers: JoinSet::new(),
        })
    }

    /// Asks without waiting for the answer.
    pub(super) fn ask(&mut self, reference: &str) {
        self.ask_for(None, reference);
    }

    /// Asks for the platform of the builder, `builder`, or for what is built for.
    fn ask_for(&mut self, builder: Option<&Platform>, reference: &str) {
        let question = (builder.cloned(), reference.to_owned());
        if !self.asked.insert(question.clone()) {
            return;
        }
        let (client, mode) = (self.client.clone(), self.mode);
        let platform = builder.unwrap_or(&self.platform).clone();
        self.answers.spawn(async move {
            let name = match &question.0 {
                Some(platform) => format!("[internal] load metadata for {} ({platform})", question.1),
                None => format!("[internal] load metadata for {}", question.1),
            };
            let answer = client
                .resolve_image(&question.1, Some(&platform), mode, &name)
                .await;
            (question, answer)
        });
    }

    /// Asks what has not been asked about the images of a plan, and waits for all answers. What does not exist is reported
    /// at its place in the spec, all of it at once.
    pub(super) async fn answers(mut self, plan: &Plan) -> Result<Answers, Failure> {
        let places = (plan::references(plan), plan::builder_references(plan));
        for reference in places.0.keys() {
            self.ask(reference);
        }
        let builder = self.builder.clone();
        for reference in places.1.keys() {
            self.ask_for(builder.as_ref(), reference);
        }
        let answers: BTreeMap<_, _> = self.answers.join_all().await.into_iter().collect();
        let mut all = Answers::default();
        let mut errors = Vec::new();
        for ((builder, reference), answer) in answers {
            let (places, resolved) = match builder {
                Some(_) => (&places.1, &mut all.builder),
                None => (&places.0, &mut all.image),
            };
            // What was foreseen and is not needed after all decides nothing.
            let Some(location) = places.get(&reference) else {
                continue;
            };
            match answer {
                Ok(image) => {
                    let config = serde_json::from_slice(&image.config).unwrap_or_default();
                    let digest = image.digest;
                    resolved.insert(reference, Resolved { digest, config });
                }
                Err(error) => errors.push(
                    Diagnostic::error(format!("{reference} cannot be resolved: {error}"))
                        .help("see that the tag exists, and that the builder can reach and may read the registry")
                        .at(location.clone(), "this image is needed"),
                ),
            }
        }
        if errors.is_empty() {
            Ok(all)
        } else {
            Err(errors.into())
        }
    }
}
