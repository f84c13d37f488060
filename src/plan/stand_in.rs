//! What the client puts in place of what a spec names (`--build-context`), as far as it decides anything.
//!
//! What stands in is known by its name alone here: `llb` is given the graph behind it.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::spec::Tier;

/// What stands in, by what it stands in for.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct StandIns {
    /// For tiers.
    pub tiers: BTreeMap<Tier, StandIn>,
    /// For images, by the reference that the spec comes to: tiers, interpreters, tools, sources.
    pub images: BTreeMap<String, StandIn>,
    /// For the sources of wheels, by wheel: the digest, where there is one. The context has the wheel's name.
    pub sources: BTreeMap<String, Option<String>>,
}

/// What stands in for an image.
#[derive(Debug, Clone, PartialEq)]
pub enum StandIn {
    /// Another image of a registry, by its full reference.
    Image(String),
    /// A filesystem that no registry has.
    Context {
        /// The context's name.
        name: String,
        /// A digest of all of it, when there is one.
        digest: Option<String>,
        /// The image config that came with it.
        config: Option<Value>,
    },
}

impl StandIns {
    /// Whether something stands in for an image whose digest nobody knows.
    pub fn is_any_unknown(&self) -> bool {
        let mut all = self.tiers.values().chain(self.images.values());
        all.any(|stand_in| matches!(stand_in, StandIn::Context { digest: None, .. }))
    }

    /// What stands in for a tier: what was given for it by name, or for its image.
    pub(super) fn tier(&self, tier: Tier, reference: &str) -> Option<&StandIn> {
        self.tiers.get(&tier).or_else(|| self.images.get(reference))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::plan::{Plan, Source, Work, context_reads, references, store_entries, testing};

    const SPEC: &str = "name = \"app\"\n[gpu]\narchs = [\"9.0\"]\ntiers.base = \"registry.example/base:1\"\n\
                        tiers.devel = \"registry.example/devel:1\"\n[python]\nversion = \"3.11\"\n\
                        provider = { image = \"registry.example/python:3.11\" }\n\
                        [uv]\nimage = \"registry.example/uv:1\"\n\
                        [wheels.kernel]\nsource = { git = \"https://git.example/k\", rev = \"0123456789012345678901234567890123456789\", subdir = \"csrc\" }\n\
                        [images.app]\ntier = \"base\"\nwheels = [\"kernel\"]\n";

    fn planned(stand_ins: &StandIns) -> Plan {
        testing::planned(SPEC, None, stand_ins)
    }

    fn asked(plan: &Plan) -> Vec<String> {
        references(plan).into_keys().collect()
    }

    fn devel(digest: Option<&str>) -> StandIns {
        let context = StandIn::Context {
            name: "devel".to_owned(),
            digest: digest.map(str::to_owned),
            config: None,
        };
        StandIns {
            tiers: BTreeMap::from([(Tier::Devel, context)]),
            ..StandIns::default()
        }
    }

    fn key(plan: &Plan, name: &str) -> String {
        let stage = plan.iter().find(|(_, stage)| stage.name == name);
        stage.map(|(_, stage)| stage.key.to_string()).unwrap_or_default()
    }

    #[test]
    fn another_image_is_asked_for_in_the_place_of_a_tier() {
        let other = StandIn::Image("registry.example/other:1".to_owned());
        let by_tier = StandIns {
            tiers: BTreeMap::from([(Tier::Base, other.clone())]),
            ..StandIns::default()
        };
        let by_reference = StandIns {
            images: BTreeMap::from([("registry.example/base:1".to_owned(), other)]),
            ..StandIns::default()
        };
        for stand_ins in [by_tier, by_reference] {
            let asked = asked(&planned(&stand_ins));
            assert!(
                asked.contains(&"registry.example/other:1".to_owned()),
                "{asked:?}"
            );
            assert!(
                !asked.contains(&"registry.example/base:1".to_owned()),
                "{asked:?}"
            );
        }
    }

    #[test]
    fn a_tier_that_no_registry_has_counts_by_digest_or_by_name() {
        let plain = planned(&StandIns::default());
        let known = planned(&devel(Some("sha256:1")));
        let other = planned(&devel(Some("sha256:2")));
        let unknown = planned(&devel(None));
        let keys: BTreeSet<String> = [&plain, &known, &other, &unknown]
            .map(|plan| key(plan, "wheel kernel"))
            .into();
        assert_eq!(keys.len(), 4);
        // Nothing else stands on it.
        assert_eq!(key(&plain, "venv"), key(&unknown, "venv"));
        assert!(!asked(&unknown).contains(&"registry.example/devel:1".to_owned()));
        // A store has what can be told apart.
        let entries = |plan: &Plan| store_entries(plan, &BTreeMap::new()).len();
        assert_eq!([&plain, &known, &unknown].map(entries), [1, 1, 0]);
    }

    #[test]
    fn a_context_stands_in_for_the_source_of_a_wheel() {
        let source = |digest: Option<&str>| StandIns {
            sources: BTreeMap::from([("kernel".to_owned(), digest.map(str::to_owned))]),
            ..StandIns::default()
        };
        let plan = planned(&source(None));
        let compile = plan.iter().find_map(|(_, stage)| match &stage.work {
            Work::Compile(compile) => Some(compile),
            _ => None,
        });
        let Some(Source::Context {
            context: Some(context),
            path,
            ..
        }) = compile.map(|compile| &compile.source)
        else {
            panic!("{compile:?}");
        };
        assert_eq!((context.name.as_str(), path.as_str()), ("kernel", "csrc"));
        // What is in it counts in a store.
        let reads: Vec<Option<String>> = context_reads(&plan)
            .into_iter()
            .map(|read| read.context)
            .collect();
        assert_eq!(reads, [Some("kernel".to_owned())]);
        let pinned = planned(&source(Some("sha256:1")));
        assert_ne!(key(&plan, "wheel kernel"), key(&pinned, "wheel kernel"));
    }
}
