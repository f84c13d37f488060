//! Questions about sources: what an image's tag stands for, and what its config says.

use super::client::Client;
use super::error::Error;
use crate::llb::{ResolveMode, wire_platform};
use crate::platform::Platform;
use crate::proto::{frontend, pb};

const IMAGE: &str = "docker-image://";

/// What is known about an image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResolvedImage {
    /// The reference to use from now on; a policy of the daemon may have put another in its place.
    pub reference: String,
    /// Digest of the manifest, or of the index when there are several platforms. `None` for an image that only the
    /// daemon has.
    pub digest: Option<String>,
    /// The config, as JSON.
    pub config: Vec<u8>,
}

impl Client {
    /// Asks for digest and config of an image. `reference` is in full form (see
    /// [`Reference`](crate::llb::Reference)); `log_name` is the progress line, by custom
    /// `[internal] load metadata for REFERENCE`.
    pub async fn resolve_image(
        &self,
        reference: &str,
        platform: Option<&Platform>,
        mode: ResolveMode,
        log_name: &str,
    ) -> Result<ResolvedImage, Error> {
        let platform = platform.map(wire_platform);
        if self.caps().frontend.supports("source.metaresolver") {
            let source = pb::SourceOp {
                identifier: format!("{IMAGE}{reference}"),
                ..pb::SourceOp::default()
            };
            let request = frontend::ResolveSourceMetaRequest {
                source: Some(source),
                platform,
                log_name: log_name.to_owned(),
                resolve_mode: mode.as_str().to_owned(),
                image: Some(frontend::ResolveSourceImageRequest::default()),
                ..frontend::ResolveSourceMetaRequest::default()
            };
            return resolved(reference, self.ask(request).await?);
        }
        self.require("resolveimage")?;
        if mode == ResolveMode::Pull {
            self.require("resolveimage.resolvemode")?;
        }
        let request = frontend::ResolveImageConfigRequest {
            r#ref: reference.to_owned(),
            platform,
            resolve_mode: mode.as_str().to_owned(),
            log_name: log_name.to_owned(),
            ..frontend::ResolveImageConfigRequest::default()
        };
        let answer = self
            .bridge
            .clone()
            .resolve_image_config(request)
            .await?
            .into_inner();
        let reference = if answer.r#ref.is_empty() {
            reference.to_owned()
        } else {
            answer.r#ref
        };
        Ok(ResolvedImage {
            reference,
            digest: not_empty(answer.digest),
            config: answer.config,
        })
    }

    /// Asks about any source, such as the commit of a branch. Daemons before BuildKit 0.13 cannot tell.
    pub async fn resolve_source(
        &self,
        source: pb::SourceOp,
        log_name: &str,
    ) -> Result<frontend::ResolveSourceMetaResponse, Error> {
        self.require("source.metaresolver")?;
        let request = frontend::ResolveSourceMetaRequest {
            source: Some(source),
            log_name: log_name.to_owned(),
            ..frontend::ResolveSourceMetaRequest::default()
        };
        self.ask(request).await
    }

    async fn ask(
        &self,
        request: frontend::ResolveSourceMetaRequest,
    ) -> Result<frontend::ResolveSourceMetaResponse, Error> {
        Ok(self
            .bridge
            .clone()
            .resolve_source_meta(request)
            .await?
            .into_inner())
    }
}

fn resolved(asked: &str, answer: frontend::ResolveSourceMetaResponse) -> Result<ResolvedImage, Error> {
    let identifier = answer.source.map(|source| source.identifier).unwrap_or_default();
    let Some(image) = answer.image else {
        return Err(Error::NotAnImage {
            reference: asked.to_owned(),
            identifier,
        });
    };
    let reference = identifier.strip_prefix(IMAGE).unwrap_or(asked).to_owned();
    Ok(ResolvedImage {
        reference,
        digest: not_empty(image.digest),
        config: image.config,
    })
}

fn not_empty(text: String) -> Option<String> {
    Some(text).filter(|text| !text.is_empty())
}
