//! Images: of a registry, and of an OCI layout that the client keeps.

use std::collections::{BTreeMap, BTreeSet};

use super::caps::Cap;
use super::graph::{Graph, Output};
use super::metadata::Metadata;
use super::reference::Reference;
use crate::platform::Platform;
use crate::proto::pb;

/// Where BuildKit looks for an image, `image-resolve-mode` of `docker buildx build`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum ResolveMode {
    /// What the daemon does anyway.
    #[default]
    Default,
    /// Ask the registry, also when the image is there.
    Pull,
    /// Prefer an image that the daemon has.
    Local,
}

impl ResolveMode {
    /// BuildKit's word for it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::Pull => "pull",
            Self::Local => "local",
        }
    }
}

/// An image of a registry.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ImageSource {
    /// The reference; it is normalised when it is one, and left to the daemon to refuse when it is not.
    pub reference: String,
    /// The graph's platform when `None`.
    pub platform: Option<Platform>,
    /// Where to look.
    pub resolve_mode: ResolveMode,
    /// A digest that the image must have although the reference does not name it.
    pub checksum: Option<String>,
    /// Only this many of its layers, from the bottom.
    pub layer_limit: Option<u32>,
    /// What the daemon's usage records call it, such as `internal`.
    pub record_type: Option<String>,
}

impl ImageSource {
    /// An image by reference.
    pub fn new(reference: impl Into<String>) -> Self {
        Self {
            reference: reference.into(),
            ..Self::default()
        }
    }
}

/// An image of an OCI layout that the client offers under a store id.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct OciLayoutSource {
    /// Name and digest, `name@sha256:...`.
    pub reference: String,
    /// The client's session.
    pub session: String,
    /// The client's id of the layout.
    pub store: String,
    /// The graph's platform when `None`.
    pub platform: Option<Platform>,
    /// Only this many of its layers, from the bottom.
    pub layer_limit: Option<u32>,
}

impl Graph {
    /// Adds an image.
    pub fn image(&mut self, source: ImageSource, metadata: Metadata) -> Output {
        let mut caps = BTreeSet::from([Cap::SourceImage]);
        let mut attrs = BTreeMap::new();
        if source.resolve_mode != ResolveMode::Default {
            attrs.insert(
                "image.resolvemode".to_owned(),
                source.resolve_mode.as_str().to_owned(),
            );
            if source.resolve_mode == ResolveMode::Pull {
                // A daemon that ignores the other mode does no harm.
                caps.insert(Cap::SourceImageResolveMode);
            }
        }
        if let Some(record_type) = source.record_type {
            attrs.insert("image.recordtype".to_owned(), record_type);
        }
        if let Some(limit) = source.layer_limit {
            attrs.insert("image.layerlimit".to_owned(), limit.to_string());
            caps.insert(Cap::SourceImageLayerLimit);
        }
        if let Some(checksum) = source.checksum {
            attrs.insert("image.checksum".to_owned(), checksum);
            caps.insert(Cap::SourceImageChecksum);
        }
        let reference = match source.reference.parse::<Reference>() {
            Ok(reference) => reference.to_string(),
            Err(_) => source.reference,
        };
        let op = pb::SourceOp {
            identifier: format!("docker-image://{reference}"),
            attrs,
        };
        let platform = source.platform.unwrap_or_else(|| self.platform().clone());
        self.add(
            pb::op::Op::Source(op),
            Vec::new(),
            Some(&platform),
            caps,
            metadata,
        )
    }

    /// Adds an image of an OCI layout.
    pub fn oci_layout(&mut self, source: OciLayoutSource, metadata: Metadata) -> Output {
        let mut attrs = BTreeMap::new();
        for (key, value) in [("oci.session", source.session), ("oci.store", source.store)] {
            if !value.is_empty() {
                attrs.insert(key.to_owned(), value);
            }
        }
        if let Some(limit) = source.layer_limit {
            attrs.insert("oci.layerlimit".to_owned(), limit.to_string());
        }
        let op = pb::SourceOp {
            identifier: format!("oci-layout://{}", source.reference),
            attrs,
        };
        let platform = source.platform.unwrap_or_else(|| self.platform().clone());
        let caps = BTreeSet::from([Cap::SourceOciLayout]);
        self.add(
            pb::op::Op::Source(op),
            Vec::new(),
            Some(&platform),
            caps,
            metadata,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{attrs, caps, source};
    use super::*;

    fn graph() -> Graph {
        Graph::new(Platform::linux_amd64())
    }

    #[test]
    fn a_plain_image_has_no_attributes() {
        let mut graph = graph();
        let output = graph.image(ImageSource::new("alpine:3.20"), Metadata::default());
        let source = source(&graph, output);
        assert_eq!(source.identifier, "docker-image://docker.io/library/alpine:3.20");
        assert!(source.attrs.is_empty());
        assert_eq!(caps(&graph, output), ["source.image"]);
        let op = graph.vertex(output).op();
        assert_eq!(
            op.platform
                .as_ref()
                .map(|platform| platform.architecture.as_str()),
            Some("amd64")
        );
        assert_eq!(op.constraints, Some(pb::WorkerConstraints::default()));
    }

    #[test]
    fn options_are_attributes_with_their_capabilities() {
        let mut graph = graph();
        let image = ImageSource {
            platform: Some(Platform::linux_arm64()),
            resolve_mode: ResolveMode::Pull,
            checksum: Some("sha256:1".into()),
            layer_limit: Some(3),
            record_type: Some("internal".into()),
            ..ImageSource::new("alpine")
        };
        let output = graph.image(image, Metadata::default());
        let expected = [
            ("image.checksum", "sha256:1"),
            ("image.layerlimit", "3"),
            ("image.recordtype", "internal"),
            ("image.resolvemode", "pull"),
        ];
        assert_eq!(attrs(&graph, output), expected);
        let expected = [
            "source.image",
            "source.image.checksum",
            "source.image.layerlimit",
            "source.image.resolvemode",
        ];
        assert_eq!(caps(&graph, output), expected);
        let platform = graph.vertex(output).op().platform.clone().unwrap();
        assert_eq!(
            (platform.os.as_str(), platform.architecture.as_str()),
            ("linux", "arm64")
        );
    }

    #[test]
    fn a_local_preference_is_no_demand() {
        let mut graph = graph();
        let image = ImageSource {
            resolve_mode: ResolveMode::Local,
            ..ImageSource::new("alpine")
        };
        let output = graph.image(image, Metadata::default());
        assert_eq!(attrs(&graph, output), [("image.resolvemode", "local")]);
        assert_eq!(caps(&graph, output), ["source.image"]);
    }

    #[test]
    fn what_is_no_reference_stays_for_the_daemon_to_refuse() {
        let mut graph = graph();
        let output = graph.image(ImageSource::new("Not A Reference"), Metadata::default());
        assert_eq!(
            source(&graph, output).identifier,
            "docker-image://Not A Reference"
        );
    }

    #[test]
    fn layouts_carry_session_and_store() {
        let mut graph = graph();
        let layout = OciLayoutSource {
            reference: "base@sha256:1".into(),
            session: "s".into(),
            store: "base".into(),
            layer_limit: Some(2),
            platform: None,
        };
        let output = graph.oci_layout(layout, Metadata::default());
        assert_eq!(source(&graph, output).identifier, "oci-layout://base@sha256:1");
        assert_eq!(
            attrs(&graph, output),
            [
                ("oci.layerlimit", "2"),
                ("oci.session", "s"),
                ("oci.store", "base")
            ]
        );
        assert_eq!(caps(&graph, output), ["source.ocilayout"]);
        assert!(graph.vertex(output).op().platform.is_some());
    }
}
