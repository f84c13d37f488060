//! Wheels that a wheel store is not for: on something whose digest nobody knows, no key says what they are.

use std::collections::BTreeSet;

use super::model::{ImageSource, Plan, StageId, Work};
use super::wheel_store::{compiles, is_known};
use crate::diagnostic::Diagnostic;
use crate::rules::Rule;
use crate::spec::Spec;

/// Warns of wheels that are not among the [`super::store_entries`] of a plan. A spec without a wheel store misses none of
/// them. An image that no registry has been asked about is no reason for a warning: its digest will be known.
pub fn unkeyed(spec: &Spec, plan: &Plan) -> Vec<Diagnostic> {
    if spec.wheel_store.is_none() {
        return Vec::new();
    }
    let mut found = Vec::new();
    for (stage, wheel) in compiles(plan) {
        let unknown: Vec<Unknown<'_>> = plan
            .closure(stage)
            .into_iter()
            .filter_map(|id| Unknown::of(plan, id))
            .collect();
        if unknown.is_empty() {
            continue;
        }
        let warning = warning(wheel, &unknown);
        let warning = match &plan.stage(stage).location {
            Some(location) => warning.at(location.clone(), label(&unknown)),
            None => warning,
        };
        // Images may need the wheel in different resolutions of the lock.
        if !found.contains(&warning) {
            found.push(warning);
        }
    }
    found
}

/// A filesystem that no digest is known of.
struct Unknown<'a> {
    /// What it is for, such as `tier devel`.
    role: &'a str,
    /// The named context that it is.
    context: &'a str,
}

impl<'a> Unknown<'a> {
    fn of(plan: &'a Plan, id: StageId) -> Option<Self> {
        let stage = plan.stage(id);
        match &stage.work {
            Work::Image(ImageSource {
                context: Some(context),
                ..
            }) if !is_known(&stage.work) => Some(Self {
                role: &stage.name,
                context,
            }),
            _ => None,
        }
    }
}

fn warning(wheel: &str, unknown: &[Unknown<'_>]) -> Diagnostic {
    let roles: Vec<&str> = unknown.iter().map(|one| one.role).collect();
    let have = if roles.len() == 1 { "has" } else { "have" };
    let contexts: BTreeSet<&str> = unknown.iter().map(|one| one.context).collect();
    let instead: Vec<String> = contexts
        .into_iter()
        .map(|context| format!("{context}=docker-image://registry.example/image:1"))
        .collect();
    Rule::UnkeyedWheel
        .warning(format!(
            "wheel `{wheel}` is neither looked for in the wheel store nor offered to it: {} {have} no digest",
            roles.join(" and ")
        ))
        .help(format!(
            "an image of a registry has a digest: push it to one, and write {} for the context, or the image's reference in the \
             spec",
            instead.join(" and ")
        ))
}

fn label(unknown: &[Unknown<'_>]) -> String {
    let contexts: Vec<String> = unknown
        .iter()
        .map(|one| format!("the context `{}` for {}", one.context, one.role))
        .collect();
    format!(
        "its key would not say what it was built on: {}",
        contexts.join(" and ")
    )
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::diagnostic::SourceFile;
    use crate::plan::{StandIn, StandIns, store_entries, testing};
    use crate::spec::Tier;

    const SPEC: &str = "name = \"app\"\n[gpu]\narchs = [\"9.0\"]\ntiers.base = \"registry.example/base:1\"\n\
                        tiers.devel = \"registry.example/devel:1\"\n[python]\nversion = \"3.11\"\n\
                        provider = { image = \"registry.example/python:3.11\" }\n\
                        [uv]\nimage = \"registry.example/uv:1\"\n\
                        [wheel-store]\nrepo = \"registry.example/wheels\"\n\
                        [wheels.kernel]\nsource = { path = \"kernel\" }\n\
                        [wheels.given]\nsource = { wheel = \"given-1-py3-none-any.whl\" }\n\
                        [images.app]\ntier = \"base\"\nwheels = [\"kernel\", \"given\"]\n\
                        [images.other]\ntier = \"base\"\nwheels = [\"kernel\"]\n";

    fn context(name: &str, digest: Option<&str>) -> StandIn {
        StandIn::Context {
            name: name.to_owned(),
            digest: digest.map(str::to_owned),
            config: None,
        }
    }

    fn tiers(stand_ins: &[(Tier, StandIn)]) -> StandIns {
        StandIns {
            tiers: stand_ins.iter().cloned().collect(),
            ..StandIns::default()
        }
    }

    fn shown(spec: &str, stand_ins: &StandIns) -> String {
        let plan = testing::planned(spec, None, stand_ins);
        let (spec, _) = Spec::parse(&SourceFile::new("wheelbase.toml", spec)).unwrap();
        let warnings = unkeyed(&spec, &plan);
        // What is warned of is what the store is not asked for, and nothing else.
        if spec.wheel_store.is_some() {
            let stored = store_entries(&plan, &BTreeMap::new()).len();
            assert_eq!(warnings.len() + stored, 1);
        }
        warnings.iter().map(|warning| warning.render(false)).collect()
    }

    #[test]
    fn a_tier_without_a_digest_is_named() {
        let devel = tiers(&[(Tier::Devel, context("devel", None))]);
        insta::assert_snapshot!(shown(SPEC, &devel));
        assert!(devel.is_any_unknown());
    }

    #[test]
    fn all_that_the_wheel_stands_on_is_named() {
        let images = BTreeMap::from([(
            "registry.example/python:3.11".to_owned(),
            context("registry.example/python:3.11", None),
        )]);
        let stand_ins = StandIns {
            images,
            ..tiers(&[(Tier::Devel, context("devel", None))])
        };
        insta::assert_snapshot!(shown(SPEC, &stand_ins));
    }

    #[test]
    fn what_has_a_digest_or_will_have_one_is_fine() {
        // Nobody has been asked about these tiers yet.
        assert_eq!(shown(SPEC, &StandIns::default()), "");
        let other = StandIn::Image("registry.example/other:1".to_owned());
        let pinned = context("devel", Some("sha256:1"));
        for stand_in in [other, pinned] {
            let stand_ins = tiers(&[(Tier::Devel, stand_in)]);
            assert_eq!(shown(SPEC, &stand_ins), "");
            assert!(!stand_ins.is_any_unknown());
        }
    }

    #[test]
    fn without_a_store_nothing_is_missed() {
        let spec = SPEC.replace("[wheel-store]\nrepo = \"registry.example/wheels\"\n", "");
        let devel = tiers(&[(Tier::Devel, context("devel", None))]);
        assert_eq!(shown(&spec, &devel), "");
    }
}
