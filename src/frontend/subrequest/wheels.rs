//! `--call wheelbase.wheels`: the compiled wheels of a spec, and which of them the wheel store has.
//!
//! The keys depend on digests of tiers and on the bytes of sources, which the builder knows and the command line does not.
//! `wheelbase wheels` asks this question.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::super::failure::Failure;
use super::super::wheel_store::{self, Looked};
use super::super::{prepare, surroundings};
use crate::diagnostic::Diagnostic;
use crate::gateway::{BuildResult, Client, Options};
use crate::plan;
use crate::platform::Platform;

/// Version of the answer's JSON.
pub(super) const VERSION: &str = "1.0.0";

/// Lists the compiled wheels of all images. That one is missing is no failure.
pub(super) async fn answer(client: &Client, options: &Options) -> Result<BuildResult, Failure> {
    let platforms = prepare::platforms(client, options)?;
    let (read, questions) = prepare::prepare_all(client, options, platforms).await?;
    let Some(store) = &read.spec.wheel_store else {
        return Err(Diagnostic::error("the spec has no wheel store")
            .help("name one: [wheel-store] with repo = \"registry.example/wheels\"")
            .into());
    };
    read.tell(client, &wheel_store::unkeyed(&read, None, &questions))
        .await;
    let images = read.spec.images.keys().cloned().collect();
    let mut all = Vec::new();
    for questions in questions {
        let platform = questions.platform.clone();
        let surroundings = surroundings(client, options, &read, &questions.named)?;
        let plan = prepare::planned(&read, &images, questions).await?;
        let looked = wheel_store::ask(client, options, store, &plan, &surroundings)
            .await?
            .map_err(|error| wheel_store::cannot_ask(&read, store, &error))?;
        for one in looked {
            let since = match one.image {
                Some(_) => None,
                None => newest(client, options, &platform, &one).await,
            };
            all.push(Answer {
                platform: platform.clone(),
                looked: one,
                since,
            });
        }
    }
    let json: Value = all.iter().map(Answer::json).collect();
    Ok(BuildResult::answer(
        json.to_string().into_bytes(),
        text(&all),
        VERSION,
        None,
    ))
}

/// The outcome for one wheel.
struct Answer {
    platform: Platform,
    looked: Looked,
    /// For a wheel that is missing: what differs from the one that was pushed last. `None` when none was.
    since: Option<Vec<String>>,
}

impl Answer {
    fn json(&self) -> Value {
        json!({
            "wheel": self.looked.entry.wheel,
            "platform": self.platform.to_string(),
            "reference": self.looked.reference,
            "newest": self.looked.newest,
            "image": self.looked.image,
            "notes": self.looked.entry.notes,
            "since": self.since,
        })
    }
}

fn text(all: &[Answer]) -> String {
    if all.is_empty() {
        return "no compiled wheel can be in the store\n".to_owned();
    }
    let lines = all.iter().map(|answer| {
        let word = if answer.looked.image.is_some() {
            "stored "
        } else {
            "missing"
        };
        let since = match &answer.since {
            Some(changed) if !changed.is_empty() => format!("; since the last push: {}", changed.join(", ")),
            _ => String::new(),
        };
        format!("{word} {}{since}\n", answer.looked.reference)
    });
    lines.collect()
}

/// What differs from the wheel that was pushed last, by the label that it carries. That there is none, or that it cannot be
/// read, is no failure: it is told for a person's sake.
async fn newest(
    client: &Client,
    options: &Options,
    platform: &Platform,
    one: &Looked,
) -> Option<Vec<String>> {
    let name = format!("[wheel store] look for the last {}", one.entry.wheel);
    let mode = options.resolve_mode().ok()?;
    let image = client
        .resolve_image(&one.newest, Some(platform), mode, &name)
        .await
        .ok()?;
    let config: Value = serde_json::from_slice(&image.config).ok()?;
    let label = config["config"]["Labels"][plan::PARTS].as_str()?;
    let before: BTreeMap<String, String> = serde_json::from_str(label).ok()?;
    let names: BTreeSet<&String> = before.keys().chain(one.entry.parts.keys()).collect();
    let changed = names
        .into_iter()
        .filter(|name| before.get(*name) != one.entry.parts.get(*name));
    Some(changed.cloned().collect())
}
