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
    /// What stands in for a tier: what was given for it by name, or for its image.
    pub(super) fn tier(&self, tier: Tier, reference: &str) -> Option<&StandIn> {
        self.tiers.get(&tier).or_else(|| self.images.get(reference))
    }
}
