//! Results: what solves give, and what the build returns in the end.

use std::collections::BTreeMap;

use serde_json::json;

use super::attestation::Attestation;
use super::caps::CapSet;
use super::error::Error;
use crate::platform::Platform;
use crate::proto::{frontend, pb};

/// Key of an image config in the metadata (`exporter/containerimage/exptypes` of BuildKit).
const CONFIG: &str = "containerimage.config";
/// Key of the config of the image that another stands on. With a time for the exporter (`rewrite-timestamp`) its layers and
/// its history stay as they are.
const BASE_CONFIG: &str = "containerimage.base.config";
/// Key of the time of an image (`exporter/exptypes` of BuildKit).
const EPOCH: &str = "source.date.epoch";
/// Key of the list of platforms.
const PLATFORMS: &str = "refs.platforms";

/// A file system on the daemon, made or yet to be made. It is good for this build alone.
#[derive(Debug, Clone, PartialEq)]
pub struct Reference {
    pub(crate) id: String,
    pub(crate) definition: Option<pb::Definition>,
}

impl Reference {
    /// The daemon's name for it.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The graph that makes it, when the daemon says (capability `reference.output`).
    pub fn definition(&self) -> Option<&pb::Definition> {
        self.definition.as_ref()
    }

    pub(crate) fn into_wire(self) -> frontend::Ref {
        frontend::Ref {
            id: self.id,
            def: None,
        }
    }

    /// An empty id is an empty file system.
    fn new(id: String, definition: Option<pb::Definition>) -> Option<Self> {
        (!id.is_empty()).then_some(Self { id, definition })
    }
}

/// The file systems of a result; `None` is an empty one.
#[derive(Debug, Clone, PartialEq)]
pub enum Refs {
    /// One, for one platform.
    Single(Option<Reference>),
    /// One per platform, by its text (`linux/amd64`).
    Platforms(BTreeMap<String, Option<Reference>>),
}

/// A result.
#[derive(Debug, Clone, PartialEq)]
pub struct BuildResult {
    /// File systems.
    pub refs: Refs,
    /// What exporters and clients read.
    pub metadata: BTreeMap<String, Vec<u8>>,
    /// What is attested of images, by platform; only of results by platform.
    pub attestations: BTreeMap<String, Vec<Attestation>>,
}

/// The image of one platform.
#[derive(Debug, Clone, PartialEq)]
pub struct PlatformImage {
    /// What it runs on.
    pub platform: Platform,
    /// Its file system.
    pub reference: Option<Reference>,
    /// Its config, as JSON. Old daemons crash on an image without one.
    pub config: Vec<u8>,
    /// The config of the image that it stands on, if there is one.
    pub base: Option<Vec<u8>>,
    /// The time of what is made, in seconds since 1970, if the client has given one.
    pub epoch: Option<i64>,
}

impl BuildResult {
    /// The image of the only platform, when no result by platform was asked for.
    pub fn image(image: PlatformImage) -> Self {
        let mut metadata = BTreeMap::from([(PLATFORMS.to_owned(), platforms_json([&image.platform]))]);
        describe(&mut metadata, "", image.config, image.base, image.epoch);
        Self {
            refs: Refs::Single(image.reference),
            metadata,
            attestations: BTreeMap::new(),
        }
    }

    /// Images by platform.
    pub fn images(images: Vec<PlatformImage>) -> Self {
        let platforms = platforms_json(images.iter().map(|image| &image.platform));
        let mut metadata = BTreeMap::from([(PLATFORMS.to_owned(), platforms)]);
        let mut refs = BTreeMap::new();
        for image in images {
            let id = image.platform.to_string();
            describe(
                &mut metadata,
                &format!("/{id}"),
                image.config,
                image.base,
                image.epoch,
            );
            refs.insert(id, image.reference);
        }
        Self {
            refs: Refs::Platforms(refs),
            metadata,
            attestations: BTreeMap::new(),
        }
    }

    /// Puts an annotation on the manifest of a platform's image (`AnnotationKey` of `exporter/containerimage/exptypes`).
    /// Daemons before BuildKit 0.11 leave it out.
    pub fn annotate(&mut self, platform: &Platform, name: &str, value: String) {
        let key = match &self.refs {
            Refs::Single(_) => format!("annotation-manifest.{name}"),
            Refs::Platforms(_) => format!("annotation-manifest[{platform}].{name}"),
        };
        self.metadata.insert(key, value.into_bytes());
    }

    /// The answer to a subrequest: `version` is that of the answer's format, `text` what a client shows that does
    /// not know the format. A status other than 0 becomes the client's exit code.
    pub fn answer(json: Vec<u8>, text: String, version: &str, status: Option<i32>) -> Self {
        let mut metadata = BTreeMap::from([
            ("result.json".to_owned(), json),
            ("result.txt".to_owned(), text.into_bytes()),
            ("version".to_owned(), version.as_bytes().to_vec()),
        ]);
        if let Some(status) = status {
            metadata.insert("result.statuscode".to_owned(), status.to_string().into_bytes());
        }
        Self {
            refs: Refs::Single(None),
            metadata,
            attestations: BTreeMap::new(),
        }
    }

    /// The file system of a result for one platform.
    pub fn single(&self) -> Result<Option<&Reference>, Error> {
        match &self.refs {
            Refs::Single(reference) => Ok(reference.as_ref()),
            Refs::Platforms(refs) if refs.len() == 1 => Ok(refs.values().next().and_then(Option::as_ref)),
            Refs::Platforms(refs) => Err(Error::Protocol(format!(
                "{} results where one was asked for",
                refs.len()
            ))),
        }
    }

    /// All file systems that are not empty.
    pub fn references(&self) -> impl Iterator<Item = &Reference> {
        let (single, many) = match &self.refs {
            Refs::Single(reference) => (reference.as_ref(), None),
            Refs::Platforms(refs) => (None, Some(refs.values().flatten())),
        };
        single.into_iter().chain(many.into_iter().flatten())
    }

    pub(crate) fn from_response(response: frontend::SolveResponse) -> Self {
        use frontend::result::Result as Wire;
        let Some(result) = response.result else {
            let refs = Refs::Single(Reference::new(response.r#ref, None));
            return Self {
                refs,
                metadata: BTreeMap::new(),
                attestations: BTreeMap::new(),
            };
        };
        let of = |reference: frontend::Ref| Reference::new(reference.id, reference.def);
        let refs = match result.result {
            None => Refs::Single(None),
            Some(Wire::RefDeprecated(id)) => Refs::Single(Reference::new(id, None)),
            Some(Wire::RefsDeprecated(map)) => Refs::Platforms(
                map.refs
                    .into_iter()
                    .map(|(key, id)| (key, Reference::new(id, None)))
                    .collect(),
            ),
            Some(Wire::Ref(reference)) => Refs::Single(of(reference)),
            Some(Wire::Refs(map)) => Refs::Platforms(
                map.refs
                    .into_iter()
                    .map(|(key, reference)| (key, of(reference)))
                    .collect(),
            ),
        };
        Self {
            refs,
            metadata: result.metadata,
            attestations: BTreeMap::new(),
        }
    }

    pub(crate) fn into_wire(self, caps: &CapSet) -> Result<frontend::Result, Error> {
        use frontend::result::Result as Wire;
        let id = |reference: Option<Reference>| reference.map_or_else(String::new, |reference| reference.id);
        // Only the id is looked at.
        let wire_ref = |reference| frontend::Ref {
            id: id(reference),
            def: None,
        };
        let modern = caps.supports("proto.refarray");
        let result = match self.refs {
            Refs::Single(reference) if modern => Wire::Ref(wire_ref(reference)),
            Refs::Single(reference) => Wire::RefDeprecated(id(reference)),
            Refs::Platforms(refs) => {
                if refs.len() > 1 {
                    caps.require("returnmap")?;
                }
                if modern {
                    let refs = refs
                        .into_iter()
                        .map(|(key, reference)| (key, wire_ref(reference)))
                        .collect();
                    Wire::Refs(frontend::RefMap { refs })
                } else {
                    let refs = refs
                        .into_iter()
                        .map(|(key, reference)| (key, id(reference)))
                        .collect();
                    Wire::RefsDeprecated(frontend::RefMapDeprecated { refs })
                }
            }
        };
        if !self.attestations.is_empty() {
            caps.require("reference.attestations")?;
        }
        let attestations = self.attestations.into_iter();
        let attestations = attestations.map(|(platform, list)| {
            let attestation = list.into_iter().map(Attestation::into_wire).collect();
            (platform, frontend::Attestations { attestation })
        });
        Ok(frontend::Result {
            metadata: self.metadata,
            attestations: attestations.collect(),
            result: Some(result),
        })
    }
}

/// What is said of one image; `suffix` tells it from those of other platforms.
fn describe(
    metadata: &mut BTreeMap<String, Vec<u8>>,
    suffix: &str,
    config: Vec<u8>,
    base: Option<Vec<u8>>,
    epoch: Option<i64>,
) {
    let epoch = epoch.map(|seconds| seconds.to_string().into_bytes());
    let entries = [(CONFIG, Some(config)), (BASE_CONFIG, base), (EPOCH, epoch)];
    let there = entries.into_iter().filter_map(|(key, value)| Some((key, value?)));
    metadata.extend(there.map(|(key, value)| (format!("{key}{suffix}"), value)));
}

/// `refs.platforms`: which key of the result belongs to which platform.
fn platforms_json<'a>(platforms: impl IntoIterator<Item = &'a Platform>) -> Vec<u8> {
    let platforms: Vec<serde_json::Value> = platforms
        .into_iter()
        .map(|platform| {
            let mut parts = json!({ "architecture": platform.architecture, "os": platform.os });
            if !platform.variant.is_empty() {
                parts["variant"] = json!(platform.variant);
            }
            json!({ "ID": platform.to_string(), "Platform": parts })
        })
        .collect();
    json!({ "Platforms": platforms }).to_string().into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proto::apicaps::ApiCap;
    use crate::proto::frontend::PongResponse;

    fn caps(ids: &[&str]) -> CapSet {
        let cap = |id: &&str| ApiCap {
            id: (*id).to_owned(),
            enabled: true,
            ..ApiCap::default()
        };
        let pong = PongResponse {
            frontend_api_caps: ids.iter().map(cap).collect(),
            ..PongResponse::default()
        };
        super::super::Caps::from_pong(&pong).frontend
    }

    fn image(platform: Platform, id: &str) -> PlatformImage {
        let reference = Reference::new(id.into(), None);
        PlatformImage {
            platform,
            reference,
            config: format!("{{\"id\":\"{id}\"}}").into_bytes(),
            base: None,
            epoch: None,
        }
    }

    fn text(result: &BuildResult, key: &str) -> String {
        String::from_utf8(result.metadata[key].clone()).unwrap()
    }

    #[test]
    fn one_image_has_plain_keys() {
        let result = BuildResult::image(image(Platform::new("linux", "arm", "v7"), "a"));
        assert_eq!(text(&result, "containerimage.config"), r#"{"id":"a"}"#);
        let expected = concat!(
            r#"{"Platforms":[{"ID":"linux/arm/v7","#,
            r#""Platform":{"architecture":"arm","os":"linux","variant":"v7"}}]}"#
        );
        assert_eq!(text(&result, "refs.platforms"), expected);
        let wire = result.into_wire(&caps(&["proto.refarray"])).unwrap();
        let reference = frontend::Ref {
            id: "a".into(),
            def: None,
        };
        assert_eq!(wire.result, Some(frontend::result::Result::Ref(reference)));
    }

    #[test]
    fn what_an_image_stands_on_and_its_time_are_told() {
        let dated = PlatformImage {
            base: Some(b"{}".to_vec()),
            epoch: Some(1_700_000_000),
            ..image(Platform::linux_amd64(), "a")
        };
        let single = BuildResult::image(dated.clone());
        assert_eq!(text(&single, "source.date.epoch"), "1700000000");
        assert_eq!(text(&single, "containerimage.base.config"), "{}");
        let several = BuildResult::images(vec![dated]);
        assert_eq!(text(&several, "source.date.epoch/linux/amd64"), "1700000000");
        assert_eq!(text(&several, "containerimage.base.config/linux/amd64"), "{}");
        let plain = BuildResult::image(image(Platform::linux_amd64(), "a"));
        assert!(!plain.metadata.contains_key("source.date.epoch"));
    }

    #[test]
    fn several_images_have_keys_by_platform() {
        let images = vec![
            image(Platform::linux_arm64(), "b"),
            image(Platform::linux_amd64(), ""),
        ];
        let result = BuildResult::images(images);
        assert_eq!(
            text(&result, "containerimage.config/linux/arm64"),
            r#"{"id":"b"}"#
        );
        assert!(text(&result, "refs.platforms").contains(r#""ID":"linux/amd64""#));
        assert_eq!(result.references().count(), 1);
        assert!(result.single().is_err());
        let wire = result.into_wire(&caps(&["proto.refarray", "returnmap"])).unwrap();
        let Some(frontend::result::Result::Refs(map)) = wire.result else {
            panic!("{wire:?}")
        };
        assert_eq!(map.refs["linux/arm64"].id, "b");
        assert_eq!(map.refs["linux/amd64"].id, "");
    }

    #[test]
    fn old_daemons_get_the_old_forms() {
        let single = BuildResult::image(image(Platform::linux_amd64(), "a"))
            .into_wire(&caps(&["return"]))
            .unwrap();
        assert_eq!(
            single.result,
            Some(frontend::result::Result::RefDeprecated("a".into()))
        );
        let images = vec![
            image(Platform::linux_arm64(), "b"),
            image(Platform::linux_amd64(), "a"),
        ];
        let many = BuildResult::images(images.clone())
            .into_wire(&caps(&["returnmap"]))
            .unwrap();
        let Some(frontend::result::Result::RefsDeprecated(map)) = many.result else {
            panic!("{many:?}")
        };
        assert_eq!(map.refs["linux/amd64"], "a");
        assert!(matches!(
            BuildResult::images(images).into_wire(&caps(&["return"])),
            Err(Error::MissingCap(_))
        ));
    }

    #[test]
    fn every_form_of_an_answer_is_read() {
        use frontend::result::Result as Wire;
        let read = |result: Option<Wire>| {
            let result = frontend::Result {
                metadata: BTreeMap::new(),
                attestations: BTreeMap::new(),
                result,
            };
            BuildResult::from_response(frontend::SolveResponse {
                r#ref: "old".into(),
                result: Some(result),
            })
        };
        let ids = |result: &BuildResult| {
            result
                .references()
                .map(|one| one.id().to_owned())
                .collect::<Vec<String>>()
        };
        let plain = frontend::SolveResponse {
            r#ref: "old".into(),
            result: None,
        };
        assert_eq!(ids(&BuildResult::from_response(plain)), ["old"]);
        assert!(ids(&read(None)).is_empty());
        assert_eq!(ids(&read(Some(Wire::RefDeprecated("a".into())))), ["a"]);
        let refs = BTreeMap::from([("linux/amd64".to_owned(), "b".to_owned())]);
        let result = read(Some(Wire::RefsDeprecated(frontend::RefMapDeprecated { refs })));
        assert_eq!(result.single().unwrap().map(Reference::id), Some("b"));
        let def = Some(pb::Definition {
            def: vec![vec![1]],
            ..pb::Definition::default()
        });
        let reference = frontend::Ref {
            id: "c".into(),
            def: def.clone(),
        };
        let result = read(Some(Wire::Ref(reference.clone())));
        assert_eq!(
            result.single().unwrap().and_then(Reference::definition),
            def.as_ref()
        );
        let refs = BTreeMap::from([
            ("x".to_owned(), reference),
            ("y".to_owned(), frontend::Ref::default()),
        ]);
        assert_eq!(ids(&read(Some(Wire::Refs(frontend::RefMap { refs })))), ["c"]);
    }

    #[test]
    fn answers_to_subrequests_have_no_file_system() {
        let result = BuildResult::answer(b"{}".to_vec(), "text".into(), "1.0.0", Some(1));
        assert_eq!(result.references().count(), 0);
        assert_eq!(text(&result, "result.json"), "{}");
        assert_eq!(text(&result, "result.txt"), "text");
        assert_eq!(text(&result, "version"), "1.0.0");
        assert_eq!(text(&result, "result.statuscode"), "1");
        let without = BuildResult::answer(Vec::new(), String::new(), "1", None);
        assert!(!without.metadata.contains_key("result.statuscode"));
    }
}
