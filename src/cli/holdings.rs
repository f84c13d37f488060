//! What the repository of a wheel store holds: its tags, all manifests below them, and what these say of their wheels.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use serde::Deserialize;
use serde_json::Value;

use super::registry::{Manifest, Registry, is_digest};
use crate::plan::{StoreTag, StoredManifest, StoredWheel, WHEEL_NAME, WHEEL_PLATFORM, WHEEL_PUSHED, seconds};

/// Requests that are under way at the same time.
const AT_ONCE: usize = 8;

/// The time of an image in its annotations (image specification, `annotations.md`).
const CREATED: &str = "org.opencontainers.image.created";

/// The annotation of what stands in a list beside an image and says something of it (BuildKit's `attestation-storage.md`).
const ATTACHED: &str = "vnd.docker.reference.type";

/// Media types of the config of an image.
const CONFIGS: [&str; 2] = [
    "application/vnd.oci.image.config.v1+json",
    "application/vnd.docker.container.image.v1+json",
];

/// A repository as it was found.
#[derive(Debug, Default)]
pub(super) struct Holdings {
    /// Sorted by tag.
    pub(super) tags: Vec<StoreTag>,
    /// By digest.
    pub(super) manifests: BTreeMap<String, StoredManifest>,
}

/// The part of a manifest, of an image or a list, that is looked at.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Document {
    manifests: Option<Vec<Descriptor>>,
    config: Option<Descriptor>,
    layers: Option<Vec<Descriptor>>,
    annotations: Option<BTreeMap<String, String>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Descriptor {
    media_type: String,
    digest: String,
    size: u64,
    annotations: Option<BTreeMap<String, String>>,
}

impl Holdings {
    /// Reads all of a repository. A manifest that is not there, though something names it, is left out.
    pub(super) fn read(registry: &Registry) -> anyhow::Result<Self> {
        let tags = registry.tags()?;
        let found = each(&tags, |tag| registry.manifest(tag))?;
        let mut documents = BTreeMap::new();
        let mut manifests = BTreeMap::new();
        let mut named = Vec::new();
        for (tag, manifest) in tags.into_iter().zip(found) {
            // Somebody else may delete at the same time.
            if let Some(manifest) = manifest {
                named.push((tag, manifest.digest.clone()));
                add(&mut manifests, &mut documents, manifest);
            }
        }
        let mut asked = BTreeSet::new();
        loop {
            let listed = manifests.values().flat_map(|manifest| &manifest.members);
            let missing: Vec<String> = listed
                .filter(|digest| !manifests.contains_key(*digest) && !asked.contains(*digest))
                .cloned()
                .collect::<BTreeSet<_>>()
                .into_iter()
                .collect();
            if missing.is_empty() {
                break;
            }
            for manifest in each(&missing, |digest| registry.manifest(digest))?
                .into_iter()
                .flatten()
            {
                add(&mut manifests, &mut documents, manifest);
            }
            asked.extend(missing);
        }
        let wheels = wheels(registry, &documents)?;
        let tags = named
            .into_iter()
            .map(|(tag, digest)| StoreTag {
                wheel: wheel_of(&digest, &documents, &wheels),
                tag,
                digest,
            })
            .collect();
        Ok(Self { tags, manifests })
    }
}

fn add(
    manifests: &mut BTreeMap<String, StoredManifest>,
    documents: &mut BTreeMap<String, Document>,
    Manifest { digest, bytes }: Manifest,
) {
    // What is no manifest that we know is somebody else's, and names nothing.
    let document: Document = serde_json::from_slice(&bytes).unwrap_or_default();
    let parts = document.config.iter().chain(document.layers.iter().flatten());
    let stored = StoredManifest {
        bytes: bytes.len() as u64,
        blobs: parts.map(|part| (part.digest.clone(), part.size)).collect(),
        members: document
            .manifests
            .iter()
            .flatten()
            .map(|member| member.digest.clone())
            .filter(|digest| is_digest(digest))
            .collect(),
    };
    manifests.insert(digest.clone(), stored);
    documents.insert(digest, document);
}

/// The wheels among the images, by digest. What an image says of itself stands in its annotations; old engines write none,
/// and then it stands in the labels of its config.
fn wheels(
    registry: &Registry,
    documents: &BTreeMap<String, Document>,
) -> anyhow::Result<BTreeMap<String, StoredWheel>> {
    let attached: BTreeSet<&str> = documents
        .values()
        .flat_map(|document| document.manifests.iter().flatten())
        .filter(|member| is_attached(member))
        .map(|member| &*member.digest)
        .collect();
    let images: Vec<(&String, &Document)> = documents
        .iter()
        .filter(|(digest, document)| document.config.is_some() && !attached.contains(digest.as_str()))
        .collect();
    let wheels = each(&images, |(_, document)| {
        let annotations = document.annotations.clone().unwrap_or_default();
        let wheel = wheel(&annotations, &Value::Null);
        if wheel.as_ref().is_some_and(|wheel| wheel.pushed.is_some()) {
            return Ok(wheel);
        }
        let config = match &document.config {
            Some(config) if CONFIGS.contains(&&*config.media_type) && is_digest(&config.digest) => {
                registry.blob(&config.digest)?
            }
            _ => None,
        };
        let config = config.and_then(|config| serde_json::from_slice(&config).ok());
        Ok(self::wheel(&annotations, &config.unwrap_or_default()))
    })?;
    let digests = images.iter().map(|(digest, _)| (*digest).clone());
    Ok(digests
        .zip(wheels)
        .filter_map(|(digest, wheel)| Some((digest, wheel?)))
        .collect())
}

/// What an image says of itself, by its annotations and its config.
fn wheel(annotations: &BTreeMap<String, String>, config: &Value) -> Option<StoredWheel> {
    let note = |name: &str| {
        let label = || Some(config["config"]["Labels"][name].as_str()?.to_owned());
        annotations.get(name).cloned().or_else(label)
    };
    let time = [WHEEL_PUSHED, CREATED]
        .into_iter()
        .find_map(|name| seconds(annotations.get(name)?));
    Some(StoredWheel {
        name: note(WHEEL_NAME)?,
        platform: note(WHEEL_PLATFORM)?,
        pushed: time.or_else(|| seconds(config["created"].as_str()?)),
    })
}

/// The wheel that a manifest is, or a list of nothing but one wheel for several platforms.
fn wheel_of(
    digest: &str,
    documents: &BTreeMap<String, Document>,
    wheels: &BTreeMap<String, StoredWheel>,
) -> Option<StoredWheel> {
    let Some(members) = &documents.get(digest)?.manifests else {
        return wheels.get(digest).cloned();
    };
    let images = members.iter().filter(|member| !is_attached(member));
    let all: Vec<&StoredWheel> = images
        .map(|member| wheels.get(&member.digest))
        .collect::<Option<_>>()?;
    let first = all.first()?;
    if all.iter().any(|wheel| wheel.name != first.name) {
        return None;
    }
    let platforms: BTreeSet<&str> = all.iter().map(|wheel| &*wheel.platform).collect();
    let pushed: Option<Vec<i64>> = all.iter().map(|wheel| wheel.pushed).collect();
    Some(StoredWheel {
        name: first.name.clone(),
        platform: platforms.into_iter().collect::<Vec<_>>().join(","),
        // As old as its newest part, and of no age when one has none.
        pushed: pushed.and_then(|times| times.into_iter().max()),
    })
}

fn is_attached(member: &Descriptor) -> bool {
    let annotations = member.annotations.as_ref();
    annotations.is_some_and(|annotations| annotations.contains_key(ATTACHED))
}

/// Does the same with each item, some at a time, and gives what came of them in their order. The first error ends it.
fn each<T: Sync, R: Send>(
    items: &[T],
    work: impl Fn(&T) -> anyhow::Result<R> + Sync,
) -> anyhow::Result<Vec<R>> {
    let (next, has_failed) = (AtomicUsize::new(0), AtomicBool::new(false));
    let worker = || {
        let mut done = Vec::new();
        while !has_failed.load(Ordering::Relaxed) {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = items.get(index) else {
                break;
            };
            let result = work(item);
            has_failed.fetch_or(result.is_err(), Ordering::Relaxed);
            done.push((index, result));
        }
        done
    };
    let mut results = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..AT_ONCE.min(items.len()))
            .map(|_| scope.spawn(worker))
            .collect();
        let done = workers.into_iter().map(std::thread::ScopedJoinHandle::join);
        done.flat_map(|done| done.unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .collect::<Vec<_>>()
    });
    results.sort_by_key(|(index, _)| *index);
    results.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn annotations(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect()
    }

    fn pushed(annotations: &BTreeMap<String, String>, config: &Value) -> Option<i64> {
        wheel(annotations, config)?.pushed
    }

    #[test]
    fn what_an_image_says_of_itself() {
        let ours = annotations(&[(WHEEL_NAME, "kernel"), (WHEEL_PLATFORM, "linux/amd64")]);
        let labels = json!({ "created": "2026-11-30T20:25:32.377130948Z", "config": { "Labels": ours } });
        let created = seconds("2026-11-30T20:25:32Z");
        // Annotations alone, labels alone, and both.
        assert_eq!(wheel(&ours, &Value::Null).unwrap().pushed, None);
        let by_labels = wheel(&BTreeMap::new(), &labels).unwrap();
        assert_eq!((&*by_labels.name, by_labels.pushed), ("kernel", created));
        assert_eq!(
            pushed(&ours, &json!({ "created": "2026-11-30T20:25:32Z" })),
            created
        );
        // What is said of the push counts before what is said of the image.
        let mut dated = ours.clone();
        dated.insert(CREATED.to_owned(), "2026-12-01T00:00:00Z".to_owned());
        assert_eq!(pushed(&dated, &labels), seconds("2026-12-01T00:00:00Z"));
        dated.insert(WHEEL_PUSHED.to_owned(), "2026-12-02T00:00:00Z".to_owned());
        assert_eq!(pushed(&dated, &labels), seconds("2026-12-02T00:00:00Z"));
        // Another image.
        assert_eq!(
            wheel(&BTreeMap::new(), &json!({ "created": "2026-11-30T20:25:32Z" })),
            None
        );
        assert_eq!(wheel(&annotations(&[(WHEEL_NAME, "kernel")]), &Value::Null), None);
    }

    #[test]
    fn a_list_is_a_wheel_when_all_of_it_is() {
        let member = |digest: &str, attached: bool| Descriptor {
            digest: digest.to_owned(),
            annotations: attached.then(|| annotations(&[(ATTACHED, "attestation-manifest")])),
            ..Descriptor::default()
        };
        let list = |members: Vec<Descriptor>| Document {
            manifests: Some(members),
            ..Document::default()
        };
        let documents = BTreeMap::from([
            (
                "one".to_owned(),
                list(vec![member("amd", false), member("note", true)]),
            ),
            (
                "both".to_owned(),
                list(vec![member("amd", false), member("arm", false)]),
            ),
            (
                "mixed".to_owned(),
                list(vec![member("amd", false), member("app", false)]),
            ),
            (
                "names".to_owned(),
                list(vec![member("amd", false), member("other", false)]),
            ),
            ("empty".to_owned(), list(vec![member("note", true)])),
            ("amd".to_owned(), Document::default()),
        ]);
        let wheel = |name: &str, platform: &str, pushed| StoredWheel {
            name: name.to_owned(),
            platform: platform.to_owned(),
            pushed: Some(pushed),
        };
        let wheels = BTreeMap::from([
            ("amd".to_owned(), wheel("kernel", "linux/amd64", 5)),
            ("arm".to_owned(), wheel("kernel", "linux/arm64", 7)),
            ("other".to_owned(), wheel("other", "linux/amd64", 5)),
        ]);
        let of = |digest: &str| wheel_of(digest, &documents, &wheels);
        assert_eq!(of("amd"), Some(wheel("kernel", "linux/amd64", 5)));
        assert_eq!(of("one"), Some(wheel("kernel", "linux/amd64", 5)));
        assert_eq!(of("both"), Some(wheel("kernel", "linux/amd64,linux/arm64", 7)));
        for digest in ["mixed", "names", "empty", "unread"] {
            assert_eq!(of(digest), None, "{digest}");
        }
    }

    #[test]
    fn everything_is_done_once_and_in_order() {
        let items: Vec<usize> = (0..100).collect();
        let doubled = each(&items, |item| Ok(item * 2)).unwrap();
        assert_eq!(doubled, items.iter().map(|item| item * 2).collect::<Vec<_>>());
        assert!(each(&[] as &[usize], |item| Ok(*item)).unwrap().is_empty());
        let failed = each(&items, |item| {
            anyhow::ensure!(*item != 3, "three");
            Ok(())
        });
        assert_eq!(failed.unwrap_err().to_string(), "three");
    }
}
