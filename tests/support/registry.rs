//! What a registry holds.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result};
use serde_json::Value;

use super::engine::Engine;

/// A published image.
#[derive(Debug, Clone)]
pub(crate) struct Manifest {
    /// Digest and compressed size in bytes of each layer, lowest first.
    pub(crate) layers: Vec<(String, u64)>,
    /// Size of the config in bytes.
    pub(crate) config: u64,
}

impl Manifest {
    /// The manifest of an image for linux/amd64.
    ///
    /// # Errors
    ///
    /// When the registry has no such image.
    pub(crate) fn of(engine: &Engine, reference: &str) -> Result<Self> {
        let raw = |reference: &str| -> Result<Value> {
            let text = engine.output(&["buildx", "imagetools", "inspect", "--raw", reference])?;
            serde_json::from_str(&text).with_context(|| format!("the manifest of {reference}"))
        };
        let mut manifest = raw(reference)?;
        if let Some(manifests) = manifest["manifests"].as_array() {
            let digest = manifests
                .iter()
                .find(|entry| {
                    entry["platform"]["os"] == "linux" && entry["platform"]["architecture"] == "amd64"
                })
                .and_then(|entry| entry["digest"].as_str())
                .with_context(|| format!("{reference} has no image for linux/amd64"))?;
            let name = reference.rsplit_once(':').map_or(reference, |(name, _)| name);
            manifest = raw(&format!("{name}@{digest}"))?;
        }
        let layers = manifest["layers"]
            .as_array()
            .with_context(|| format!("{reference} has no layers"))?
            .iter()
            .map(|layer| {
                let digest = layer["digest"].as_str().unwrap_or_default().to_owned();
                (digest, layer["size"].as_u64().unwrap_or(0))
            })
            .collect();
        Ok(Self {
            layers,
            config: manifest["config"]["size"].as_u64().unwrap_or(0),
        })
    }

    /// Layers that another image does not have: how many, and their bytes.
    pub(crate) fn new_since(&self, other: &Self) -> (usize, u64) {
        let known: BTreeMap<&str, u64> = other
            .layers
            .iter()
            .map(|(digest, size)| (digest.as_str(), *size))
            .collect();
        let new: Vec<u64> = self
            .layers
            .iter()
            .filter(|(digest, _)| !known.contains_key(digest.as_str()))
            .map(|(_, size)| *size)
            .collect();
        (new.len(), new.iter().sum())
    }

    /// Compressed bytes of all layers.
    pub(crate) fn size(&self) -> u64 {
        self.layers.iter().map(|(_, size)| size).sum()
    }
}
