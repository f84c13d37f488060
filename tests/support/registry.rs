//! What a registry holds.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

use super::engine::Engine;

/// What a registry has under a reference, a manifest or an index, as it is.
///
/// # Errors
///
/// When the registry has nothing there.
pub(crate) fn raw(engine: &Engine, reference: &str) -> Result<Value> {
    let text = engine.output(&["buildx", "imagetools", "inspect", "--raw", reference])?;
    serde_json::from_str(&text).with_context(|| format!("the manifest of {reference}"))
}

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
        let mut manifest = raw(engine, reference)?;
        if let Some(manifests) = manifest["manifests"].as_array() {
            let digest = manifests
                .iter()
                .find(|entry| {
                    entry["platform"]["os"] == "linux" && entry["platform"]["architecture"] == "amd64"
                })
                .and_then(|entry| entry["digest"].as_str())
                .with_context(|| format!("{reference} has no image for linux/amd64"))?;
            let name = reference.rsplit_once(':').map_or(reference, |(name, _)| name);
            manifest = raw(engine, &format!("{name}@{digest}"))?;
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

/// A repository, asked as the distribution specification has it.
#[derive(Debug)]
pub(crate) struct Repository {
    agent: ureq::Agent,
    url: String,
}

/// Everything that a manifest of ours can be.
const MANIFESTS: &str = "application/vnd.oci.image.index.v1+json, application/vnd.oci.image.manifest.v1+json, \
                         application/vnd.docker.distribution.manifest.list.v2+json, \
                         application/vnd.docker.distribution.manifest.v2+json";

impl Repository {
    /// A repository of a registry on loopback.
    pub(crate) fn of(host: &str, name: &str) -> Self {
        let config = ureq::Agent::config_builder()
            .proxy(None)
            .http_status_as_error(false);
        Self {
            agent: config.build().new_agent(),
            url: format!("http://{host}/v2/{name}"),
        }
    }

    /// All tags.
    ///
    /// # Errors
    ///
    /// When the registry does not answer with a list.
    pub(crate) fn tags(&self) -> Result<BTreeSet<String>> {
        let mut response = self.agent.get(format!("{}/tags/list", self.url)).call()?;
        let list: Value = serde_json::from_slice(&response.body_mut().read_to_vec()?)?;
        let tags = list["tags"].as_array().context("no list of tags")?.iter();
        Ok(tags.filter_map(|tag| Some(tag.as_str()?.to_owned())).collect())
    }

    /// Media type and text of a manifest, by tag or digest; `None` when there is none.
    ///
    /// # Errors
    ///
    /// When the registry does not answer.
    pub(crate) fn manifest(&self, reference: &str) -> Result<Option<(String, String)>> {
        let url = format!("{}/manifests/{reference}", self.url);
        let mut response = self.agent.get(url).header("accept", MANIFESTS).call()?;
        if response.status().as_u16() == 404 {
            return Ok(None);
        }
        let kind = response.headers().get("content-type").context("no media type")?;
        let kind = kind.to_str()?.to_owned();
        Ok(Some((kind, response.body_mut().read_to_string()?)))
    }

    /// A blob of JSON.
    ///
    /// # Errors
    ///
    /// When the registry has no such blob, or it is no JSON.
    pub(crate) fn json(&self, digest: &str) -> Result<Value> {
        let mut response = self.agent.get(format!("{}/blobs/{digest}", self.url)).call()?;
        let text = response.body_mut().read_to_string()?;
        serde_json::from_str(&text).with_context(|| text.clone())
    }

    /// Puts a manifest under a tag.
    ///
    /// # Errors
    ///
    /// When the registry does not take it.
    pub(crate) fn put(&self, tag: &str, kind: &str, manifest: &str) -> Result<()> {
        let url = format!("{}/manifests/{tag}", self.url);
        let request = self.agent.put(url).header("content-type", kind);
        let status = request.send(manifest.as_bytes())?.status().as_u16();
        ensure!(status == 201, "status {status}");
        Ok(())
    }
}
