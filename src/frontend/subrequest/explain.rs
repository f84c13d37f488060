//! `--call wheelbase.explain`: what a build changes against an image that an earlier build made, and why.
//!
//! It goes as far as a build does before its first step: the same files are read, and the same registries are asked.
//! So what differs in the digest of a tier is told too, which the command line cannot know.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::super::contexts;
use super::super::failure::Failure;
use super::super::goal::Product;
use super::super::prepare::{self, Prepared};
use crate::diagnostic::Diagnostic;
use crate::gateway::{BuildResult, Client, Options};
use crate::llb::Reference;
use crate::plan::{self, CompactPlan, Explanation, ReadError};
use crate::platform::Platform;
use crate::spec::Spec;

/// Version of the answer's JSON.
pub(super) const VERSION: &str = "1.0.0";

/// Says for every platform what changes. That something does is no failure.
pub(super) async fn answer(client: &Client, options: &Options) -> Result<BuildResult, Failure> {
    let platforms = prepare::platforms(client, options)?;
    // What the command line lacks is said before anything is read.
    let references: Vec<Reference> = platforms
        .iter()
        .map(|platform| contexts::previous(options, platform))
        .collect::<Result<_, _>>()?;
    let Prepared {
        read,
        goal,
        questions,
    } = prepare::prepare(client, options, platforms).await?;
    let Some(image) = goal.image().map(str::to_owned) else {
        let error = match goal.product {
            Product::Wheel(wheel) => format!("`{wheel}` is a wheel and not an image"),
            _ => format!("`{goal}` is no image"),
        };
        return Err(Diagnostic::error(error)
            .help("name an image with --target: its wheels are compared with it")
            .into());
    };
    let images = BTreeSet::from([image.clone()]);

    let mut compared = Vec::new();
    for (questions, reference) in questions.into_iter().zip(&references) {
        let platform = questions.platform.clone();
        let answers = tokio::join!(
            previous(client, options, reference, &platform),
            prepare::planned(&read, &images, questions),
        );
        let (before, after) = both(answers)?;
        if options.target().is_none() {
            check_name(&before, &image, &read.spec)?;
        }
        let after = CompactPlan::of(&after, &image)
            .ok_or_else(|| Diagnostic::error(format!("there is no plan of the image `{image}`")))?;
        compared.push(Compared {
            explanation: plan::explain(&before.plan, &after),
            other: before.is_another(&after),
            previous: before.reference,
        });
    }
    let (json, text) = (json(&compared), text(&compared));
    Ok(BuildResult::answer(json.into_bytes(), text, VERSION, None))
}

/// What an earlier image says of itself.
struct Previous {
    /// Its reference with its digest, if the registry gave one.
    reference: String,
    plan: CompactPlan,
}

impl Previous {
    /// The name that it was built under, when it is not the one of today.
    fn is_another(&self, after: &CompactPlan) -> Option<String> {
        let CompactPlan { name, image, .. } = &self.plan;
        (*name != after.name || *image != after.image).then(|| format!("`{image}` of {name}"))
    }
}

/// The outcome for one platform.
struct Compared {
    explanation: Explanation,
    previous: String,
    other: Option<String>,
}

/// Reads the plan that an image carries.
async fn previous(
    client: &Client,
    options: &Options,
    reference: &Reference,
    platform: &Platform,
) -> Result<Previous, Failure> {
    let shown = reference.familiar();
    let name = format!("[context previous] load metadata for {reference}");
    let image = client
        .resolve_image(
            &reference.to_string(),
            Some(platform),
            options.resolve_mode()?,
            &name,
        )
        .await
        .map_err(|error| {
            Diagnostic::error(format!("the previous image {shown} cannot be resolved: {error}"))
                .help("see that the tag exists, and that the builder can reach and may read the registry")
        })?;
    let config: Value = serde_json::from_slice(&image.config).unwrap_or_default();
    let plan = carried(&shown, &config, platform)?;
    let resolved: Option<Reference> = image.reference.parse().ok();
    let reference = match (resolved, image.digest) {
        (Some(resolved), Some(digest)) => resolved.with_digest(digest).to_string(),
        _ => image.reference,
    };
    Ok(Previous { reference, plan })
}

/// The plan in an image's config.
fn carried(shown: &str, config: &Value, platform: &Platform) -> Result<CompactPlan, Diagnostic> {
    let plan = CompactPlan::find(config)
        .map(|plans| plans.into_iter().next())
        .map_err(|error| match error {
            ReadError::Missing => without_plan(shown),
            other => Diagnostic::error(format!("the previous image {shown} cannot be read: {other}")),
        })?
        .ok_or_else(|| without_plan(shown))?;
    if !plan.is_for(platform) {
        return Err(Diagnostic::error(format!(
            "the previous image {shown} is for {}, and this build is for {platform}",
            plan.platform
        ))
        .help(format!("say --platform {}", plan.platform)));
    }
    Ok(plan)
}

fn without_plan(shown: &str) -> Diagnostic {
    Diagnostic::error(format!(
        "the previous image {shown} carries no plan: it has no label `{}`",
        plan::LABEL
    ))
    .help(
        "name an image that Wheelbase has built; a plan that lies in a metadata file is read by `wheelbase explain \
         --previous FILE`",
    )
}

/// Somebody who names no target may have forgotten to: images of one spec have much in common, and comparing one
/// with another says nothing of use.
fn check_name(before: &Previous, image: &str, spec: &Spec) -> Result<(), Diagnostic> {
    let name = &before.plan.image;
    if name == image || before.plan.name != *spec.name.get_ref() || !spec.images.contains_key(name) {
        return Ok(());
    }
    Err(Diagnostic::error(format!(
        "the previous image {} is `{name}`, and this build makes `{image}`",
        before.reference
    ))
    .help(format!(
        "say --target {name}, or --target {image} to compare these two"
    )))
}

/// Both values, or all that is wrong with either.
fn both<A, B>(answers: (Result<A, Failure>, Result<B, Failure>)) -> Result<(A, B), Failure> {
    match answers {
        (Ok(one), Ok(other)) => Ok((one, other)),
        (Err(Failure::Findings(mut one)), Err(Failure::Findings(other))) => {
            one.extend(other);
            Err(one.into())
        }
        (Err(failure), _) | (_, Err(failure)) => Err(failure),
    }
}

fn text(compared: &[Compared]) -> String {
    let parts: Vec<String> = compared
        .iter()
        .map(|one| {
            let mut explanation = one.explanation.clone();
            if compared.len() > 1 {
                explanation.image = format!("{} for {}", explanation.image, explanation.platform);
            }
            let other = one.other.as_ref();
            let note = other.map(|other| format!("  compared with another image: {other}\n"));
            format!("{explanation}{}", note.unwrap_or_default())
        })
        .collect();
    parts.join("\n")
}

/// As `wheelbase explain --format json` prints it, with what each image was compared with.
fn json(compared: &[Compared]) -> String {
    let images: Vec<Value> = compared
        .iter()
        .map(|one| {
            let mut image = json!(one.explanation);
            image["previous"] = json!(one.previous);
            image
        })
        .collect();
    let value = json!({ "images": images, "added": [], "removed": [] });
    serde_json::to_string_pretty(&value).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::plan::{CompactStage, Input, LABEL};

    fn compact(image: &str, torch: &str) -> CompactPlan {
        CompactPlan {
            name: "job".into(),
            image: image.into(),
            platform: "linux/amd64".into(),
            stages: vec![CompactStage {
                name: "layer torch".into(),
                key: format!("key of {torch}"),
                inputs: vec![
                    Input::new("torch", format!("{torch} 0123456789abcdef")).because("serve > torch"),
                ],
            }],
            config: Some(BTreeMap::new()),
        }
    }

    fn compared(before: &CompactPlan, after: &CompactPlan) -> Compared {
        let previous = Previous {
            reference: "zot.example/app:1".into(),
            plan: before.clone(),
        };
        Compared {
            explanation: plan::explain(before, after),
            other: previous.is_another(after),
            previous: previous.reference,
        }
    }

    #[test]
    fn one_platform_reads_as_the_command_line_does() {
        let one = compared(&compact("serve", "2.8.0"), &compact("serve", "2.8.1"));
        assert_eq!(text(std::slice::from_ref(&one)), one.explanation.to_string());
        let json: Value = serde_json::from_str(&json(&[one])).unwrap();
        assert_eq!(
            json["images"][0]["changes"][0]["causes"][0]["because"],
            "serve > torch"
        );
        assert_eq!(json["images"][0]["previous"], "zot.example/app:1");
        assert_eq!(json["images"][0]["platform"], "linux/amd64");
    }

    #[test]
    fn several_platforms_and_another_image_are_told_apart() {
        let arm = CompactPlan {
            platform: "linux/arm64".into(),
            ..compact("serve", "2.8.1")
        };
        let all = [
            compared(&compact("serve", "2.8.0"), &compact("serve", "2.8.1")),
            compared(
                &CompactPlan {
                    image: "web".into(),
                    ..arm.clone()
                },
                &arm,
            ),
        ];
        insta::assert_snapshot!(text(&all), @r"
        image serve for linux/amd64: 1 of 1 stages change
          layer torch: torch 2.8.0 -> 2.8.1, needed by serve > torch

        image serve for linux/arm64: nothing changes
          compared with another image: `web` of job
        ");
    }

    #[test]
    fn an_image_that_does_not_serve_is_refused_in_words() {
        let amd64 = Platform::linux_amd64();
        let config = |plan: Value| json!({ "config": { "Labels": { LABEL: plan.to_string() } } });
        let good = compact("serve", "2.8.0");
        let read = carried("app:1", &config(good.clone().into_json()), &amd64).unwrap();
        assert_eq!(read.into_json(), good.clone().into_json());
        let mut newer = good.clone().into_json();
        newer["version"] = json!(99);
        let refused = [
            (json!({ "config": {} }), amd64.clone()),
            (json!(null), amd64.clone()),
            (config(newer), amd64.clone()),
            (config(json!({ "version": 1 })), amd64),
            (config(good.clone().into_json()), Platform::linux_arm64()),
        ];
        let said = refused.map(|(config, platform)| {
            let error = carried("app:1", &config, &platform).unwrap_err();
            format!("{}: {}", error.message, error.help.unwrap_or_default())
        });
        insta::assert_snapshot!(said.join("\n"), @r"
        the previous image app:1 carries no plan: it has no label `dev.wheelbase.plan`: name an image that Wheelbase has built; a plan that lies in a metadata file is read by `wheelbase explain --previous FILE`
        the previous image app:1 carries no plan: it has no label `dev.wheelbase.plan`: name an image that Wheelbase has built; a plan that lies in a metadata file is read by `wheelbase explain --previous FILE`
        the previous image app:1 cannot be read: the plan has format 99, and this release reads formats up to 1: use a later release: 
        the previous image app:1 cannot be read: the plan is damaged: `stages` is not a list: 
        the previous image app:1 is for linux/amd64, and this build is for linux/arm64: say --platform linux/amd64
        ");
    }

    #[test]
    fn a_forgotten_target_is_asked_for() {
        let text = "name = \"job\"\n[gpu]\ntiers.base = \"a:1\"\n[python]\nversion = \"3.12\"\n\
                    [images.serve]\ntier = \"base\"\n[images.train]\ntier = \"base\"\n";
        let (spec, _) = Spec::parse(&crate::diagnostic::SourceFile::new("wheelbase.toml", text)).unwrap();
        let check = |image: &str, plan: CompactPlan| {
            let previous = Previous {
                reference: "app:1".into(),
                plan,
            };
            check_name(&previous, image, &spec).map_err(|error| error.help.unwrap_or_default())
        };
        assert_eq!(check("serve", compact("serve", "1")), Ok(()));
        // It had that name once.
        assert_eq!(check("serve", compact("web", "1")), Ok(()));
        assert_eq!(
            check("serve", compact("train", "1")),
            Err("say --target train, or --target serve to compare these two".to_owned())
        );
    }
}
