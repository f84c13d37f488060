//! Questions about sources: what an image's tag stands for, and what its config says.

use super::client::Client;
use super::error::Error;
use crate::llb::{OciLayoutSource, ResolveMode, wire_platform};
use crate::platform::Platform;
use crate::proto::{frontend, pb};

const IMAGE: &str = "docker-image://";
const LAYOUT: &str = "oci-layout://";

/// `RESOLVER_TYPE` of `ResolveImageConfigRequest` for what is in no registry.
const RESOLVER_OF_LAYOUTS: i32 = 1;

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
        self.config_of(reference, request).await
    }

    /// Asks for digest and config of an image of an OCI layout that the client offers. `reference` names it in progress
    /// lines, and ends in `@` and the digest.
    pub async fn resolve_layout(
        &self,
        layout: &OciLayoutSource,
        platform: &Platform,
        log_name: &str,
    ) -> Result<ResolvedImage, Error> {
        let platform = Some(wire_platform(platform));
        if self.caps().frontend.supports("source.metaresolver") {
            let attrs = [("oci.session", &layout.session), ("oci.store", &layout.store)];
            let source = pb::SourceOp {
                identifier: format!("{LAYOUT}{}", layout.reference),
                attrs: attrs.map(|(key, value)| (key.to_owned(), value.clone())).into(),
            };
            let request = frontend::ResolveSourceMetaRequest {
                source: Some(source),
                platform,
                log_name: log_name.to_owned(),
                image: Some(frontend::ResolveSourceImageRequest::default()),
                ..frontend::ResolveSourceMetaRequest::default()
            };
            return resolved(&layout.reference, self.ask(request).await?);
        }
        self.require("resolveimage")?;
        let request = frontend::ResolveImageConfigRequest {
            r#ref: layout.reference.clone(),
            platform,
            log_name: log_name.to_owned(),
            resolver_type: RESOLVER_OF_LAYOUTS,
            session_id: layout.session.clone(),
            store_id: layout.store.clone(),
            ..frontend::ResolveImageConfigRequest::default()
        };
        self.config_of(&layout.reference, request).await
    }

    async fn config_of(
        &self,
        reference: &str,
        request: frontend::ResolveImageConfigRequest,
    ) -> Result<ResolvedImage, Error> {
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
