//! `wheelbase explain`: what rebuilds, and which change of which input is the reason.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, bail};
use clap::{Args, ValueEnum};
use serde_json::{Value, json};

use super::load::Loaded;
use super::{Input, print, report};
use crate::diagnostic::Diagnostic;
use crate::plan::{CompactPlan, Explanation, explain};

/// Arguments of `explain`.
#[derive(Debug, Args)]
pub(super) struct Explain {
    #[command(flatten)]
    input: Input,
    #[command(flatten)]
    other: Other,
    /// How it is shown.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

/// What is compared with the files that are on disk.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
struct Other {
    /// A git revision: the spec, lock and pyproject.toml files as they were there.
    #[arg(long, value_name = "REV")]
    since: Option<String>,
    /// The plan of a built image, as JSON: a metadata file of `docker buildx build`, or what `docker inspect` prints.
    ///
    /// Of an image in a registry `docker buildx imagetools inspect --format '{{json .Image}}' REFERENCE` prints it. A
    /// builder compares with the image itself: `docker buildx build --call wheelbase.explain --build-context
    /// previous=docker-image://REFERENCE`.
    #[arg(long, value_name = "FILE")]
    previous: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Format {
    /// For people.
    Text,
    /// For programs.
    Json,
}

/// Two states of some images, compared.
#[derive(Debug, Default)]
struct Compared {
    explanations: Vec<Explanation>,
    /// Images that were not there before.
    added: BTreeSet<String>,
    /// Images that are not there any more.
    removed: BTreeSet<String>,
}

impl Explain {
    /// Compares and prints. That something changes is no failure.
    pub(super) fn run(&self) -> anyhow::Result<ExitCode> {
        let compared = match (&self.other.since, &self.other.previous) {
            (Some(revision), _) => self.since(revision)?,
            (None, Some(file)) => self.previous(file)?,
            (None, None) => bail!("give --since or --previous"),
        };
        match compared {
            Ok(compared) => {
                let text = match self.format {
                    Format::Text => compared.text(),
                    Format::Json => compared.json(),
                };
                print(text.as_bytes())?;
                Ok(ExitCode::SUCCESS)
            }
            Err(errors) => {
                report(&errors);
                Ok(ExitCode::FAILURE)
            }
        }
    }

    fn load(&self) -> super::load::Reading<Loaded> {
        let loaded = Loaded::read(&self.input)?;
        if let Ok(loaded) = &loaded {
            report(&loaded.settings.keep(loaded.warnings.clone()));
        }
        Ok(loaded)
    }

    fn since(&self, revision: &str) -> super::load::Reading<Compared> {
        let images = &self.input.images;
        let old = match Loaded::read_revision(&self.input, revision)? {
            Ok(old) => old,
            Err(errors) => return Ok(Err(errors)),
        };
        let new = match self.load()? {
            Ok(new) => new,
            Err(errors) => return Ok(Err(errors)),
        };
        let was_there: BTreeSet<String> = old.spec.images.keys().cloned().collect();
        let is_there: BTreeSet<String> = new.spec.images.keys().cloned().collect();
        let removed: BTreeSet<String> = if images.is_empty() {
            was_there.difference(&is_there).cloned().collect()
        } else {
            new.images
                .iter()
                .filter(|image| was_there.contains(*image) && !is_there.contains(*image))
                .cloned()
                .collect()
        };
        // A name that neither has is the planner's error.
        let wanted: BTreeSet<String> = new.images.difference(&removed).cloned().collect();
        let both: BTreeSet<String> = wanted.intersection(&was_there).cloned().collect();
        let after = match new.plan_images(&wanted) {
            Ok(plan) => plan,
            Err(errors) => return Ok(Err(errors)),
        };
        let before = match old.plan_images(&both) {
            Ok(plan) => plan,
            Err(errors) => return Ok(Err(errors)),
        };
        let explanations = both
            .iter()
            .filter_map(|image| {
                let (before, after) = (CompactPlan::of(&before, image)?, CompactPlan::of(&after, image)?);
                Some(explain(&before, &after))
            })
            .collect();
        Ok(Ok(Compared {
            explanations,
            added: wanted.difference(&was_there).cloned().collect(),
            removed,
        }))
    }

    fn previous(&self, file: &Path) -> super::load::Reading<Compared> {
        let shown = file.display();
        let text = std::fs::read_to_string(file).with_context(|| format!("failed to read {shown}"))?;
        let document: Value = serde_json::from_str(&text).with_context(|| format!("{shown} is not JSON"))?;
        let mut plans = CompactPlan::find(&document).with_context(|| format!("failed to read {shown}"))?;
        let platform = &self.input.platform;
        if let Some(other) = plans
            .first()
            .filter(|_| !plans.iter().any(|plan| plan.is_for(platform)))
        {
            bail!(
                "{shown} has a plan for {}, not for {platform}: say --platform {}",
                other.platform,
                other.platform
            );
        }
        plans.retain(|plan| plan.is_for(platform));

        let new = match self.load()? {
            Ok(new) => new,
            Err(errors) => return Ok(Err(errors)),
        };
        // Somebody who names one image and gives one plan means these two, though the image has another name now.
        if let ([plan], [image]) = (plans.as_mut_slice(), self.input.images.as_slice()) {
            plan.image.clone_from(image);
        }
        if !self.input.images.is_empty() {
            let have: Vec<&str> = plans.iter().map(|plan| plan.image.as_str()).collect();
            let missing = self
                .input
                .images
                .iter()
                .find(|image| !have.contains(&image.as_str()));
            if let Some(missing) = missing {
                bail!(
                    "{shown} has no plan of the image `{missing}`; it has: {}",
                    have.join(", ")
                );
            }
            plans.retain(|plan| new.images.contains(&plan.image));
        }
        let named = !self.input.images.is_empty();
        let (wanted, removed): (BTreeSet<String>, BTreeSet<String>) = plans
            .iter()
            .map(|plan| plan.image.clone())
            .partition(|image| named || new.spec.images.contains_key(image));
        let after = match new.plan_images(&wanted) {
            Ok(plan) => plan,
            Err(errors) => return Ok(Err(errors)),
        };
        let mut explanations = Vec::new();
        for image in &wanted {
            let of_image: Vec<&CompactPlan> = plans.iter().filter(|plan| plan.image == *image).collect();
            let [before] = of_image.as_slice() else {
                return Ok(Err(vec![
                    Diagnostic::error(format!(
                        "{shown} has {} plans of the image `{image}`",
                        of_image.len()
                    ))
                    .help("give a file with one of them"),
                ]));
            };
            if let Some(after) = CompactPlan::of(&after, image) {
                explanations.push(explain(before, &after));
            }
        }
        Ok(Ok(Compared {
            explanations,
            added: BTreeSet::new(),
            removed,
        }))
    }
}

impl Compared {
    fn text(&self) -> String {
        let mut parts: Vec<String> = self.explanations.iter().map(Explanation::to_string).collect();
        parts.extend(self.added.iter().map(|image| format!("image {image}: new\n")));
        parts.extend(self.removed.iter().map(|image| format!("image {image}: gone\n")));
        parts.join("\n")
    }

    fn json(&self) -> String {
        let value = json!({
            "images": self.explanations,
            "added": self.added,
            "removed": self.removed,
        });
        serde_json::to_string_pretty(&value).unwrap_or_default() + "\n"
    }
}
