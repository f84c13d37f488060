//! Which wheels of a store are still needed: a decision about tags, made from what the registry says of them.
//!
//! A registry deletes a manifest and with it all tags that name it, so what is kept is a set of manifests: those that a kept
//! tag names, and those that these list. A tag of ours has the form that [`StoreEntry`](super::StoreEntry) gives it *and* an
//! image that says it is that wheel. Whatever else is in the repository belongs to somebody.

use std::collections::{BTreeMap, BTreeSet};

use super::wheel_store::name_tag;

/// 2025-01-01: no wheel was pushed before. Images of builds that pin their dates (`SOURCE_DATE_EPOCH`) say 1970 or 1980.
const FIRST_WHEELS: i64 = 1_735_689_600;

/// Digits of a key.
const KEY: usize = 64;

/// A tag of a repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoreTag {
    /// The tag.
    pub tag: String,
    /// The digest of the manifest that it names.
    pub digest: String,
    /// The wheel that is there, when its image says that it is one of ours.
    pub wheel: Option<StoredWheel>,
}

/// What the image of a stored wheel says of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredWheel {
    /// Its name in `[wheels]`.
    pub name: String,
    /// What it was compiled for, as `linux/amd64`.
    pub platform: String,
    /// When it was pushed, in seconds since 1970.
    pub pushed: Option<i64>,
}

/// A manifest of a repository: an image, or a list of manifests.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StoredManifest {
    /// Bytes of the manifest itself.
    pub bytes: u64,
    /// Config and layers of an image, with their bytes, by digest.
    pub blobs: BTreeMap<String, u64>,
    /// Digests of the manifests that a list names.
    pub members: BTreeSet<String>,
}

/// What is kept.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Retention {
    /// Tags that the spec's wheels have today.
    pub named: BTreeSet<String>,
    /// The time, in seconds since 1970.
    pub now: i64,
    /// Seconds in which a pushed wheel is kept, whatever else is said of it. With 0 the age of a wheel counts for nothing.
    pub within: u64,
}

/// What becomes of a tag.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// It is none of ours and stays.
    Foreign,
    /// It stays.
    Kept(Reason),
    /// Its manifest is deleted.
    Deleted,
}

/// Why a wheel stays.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reason {
    /// It has the key of a wheel of the spec.
    Named,
    /// It was pushed last for its platform.
    Last,
    /// It was pushed a short time ago.
    Recent,
    /// Nothing says when it was pushed.
    Undated,
    /// Its manifest is that of this tag too, or in the list that this tag names.
    Shared(String),
}

/// What is to be done.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sweep {
    /// What becomes of each tag, in their order.
    pub verdicts: Vec<Verdict>,
    /// Digests of the manifests to delete: lists before what they name, since registries may refuse to delete what is named.
    pub deleted: Vec<String>,
    /// Bytes that only these manifests need.
    pub freed: u64,
}

/// Says which tags stay and which manifests go. A manifest that was not read counts as one without blobs and members.
pub fn sweep(
    tags: &[StoreTag],
    manifests: &BTreeMap<String, StoredManifest>,
    retention: &Retention,
) -> Sweep {
    let mut verdicts: Vec<Verdict> = tags.iter().map(|tag| retention.judge(tag)).collect();
    // Each manifest that stays, with the first tag that it stays for.
    let mut kept: BTreeMap<String, &str> = BTreeMap::new();
    for (tag, _) in tags
        .iter()
        .zip(&verdicts)
        .filter(|(_, verdict)| **verdict != Verdict::Deleted)
    {
        for digest in below(manifests, [&*tag.digest]) {
            kept.entry(digest).or_insert(&tag.tag);
        }
    }
    for (tag, verdict) in tags.iter().zip(&mut verdicts) {
        if let (Verdict::Deleted, Some(other)) = (&verdict, kept.get(&tag.digest)) {
            *verdict = Verdict::Kept(Reason::Shared((*other).to_owned()));
        }
    }
    let gone = tags
        .iter()
        .zip(&verdicts)
        .filter(|(_, verdict)| **verdict == Verdict::Deleted);
    let mut deleted = below(manifests, gone.map(|(tag, _)| &*tag.digest));
    deleted.retain(|digest| !kept.contains_key(digest));
    let needed = blobs(manifests, kept.keys());
    let freed = blobs(manifests, deleted.iter())
        .into_iter()
        .filter(|(digest, _)| !needed.contains_key(digest))
        .map(|(_, bytes)| bytes)
        .chain(
            deleted
                .iter()
                .filter_map(|digest| Some(manifests.get(digest)?.bytes)),
        )
        .sum();
    Sweep {
        verdicts,
        deleted,
        freed,
    }
}

/// Bytes of a manifest with all that it names, each blob once.
pub fn stored_bytes(manifests: &BTreeMap<String, StoredManifest>, digest: &str) -> u64 {
    let digests = below(manifests, [digest]);
    let own = digests
        .iter()
        .filter_map(|digest| Some(manifests.get(digest)?.bytes));
    own.chain(blobs(manifests, digests.iter()).into_values()).sum()
}

impl Retention {
    /// What a tag says for itself, whatever other tags name the same manifest.
    fn judge(&self, tag: &StoreTag) -> Verdict {
        let Some(wheel) = &tag.wheel else {
            return Verdict::Foreign;
        };
        match Form::of(&tag.tag, &wheel.name) {
            None => Verdict::Foreign,
            Some(Form::Last) => Verdict::Kept(Reason::Last),
            Some(Form::Key) if self.named.contains(&tag.tag) => Verdict::Kept(Reason::Named),
            Some(Form::Key) if self.within == 0 => Verdict::Deleted,
            Some(Form::Key) => match wheel.pushed.filter(|pushed| *pushed >= FIRST_WHEELS) {
                None => Verdict::Kept(Reason::Undated),
                // A clock that is ahead of this one makes a negative age.
                Some(pushed) => match u64::try_from(self.now.saturating_sub(pushed)) {
                    Ok(age) if age >= self.within => Verdict::Deleted,
                    _ => Verdict::Kept(Reason::Recent),
                },
            },
        }
    }
}

/// The tags that a wheel is pushed under.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    /// `NAME-KEY`.
    Key,
    /// `NAME.PLATFORM`.
    Last,
}

impl Form {
    /// `None` for a tag that somebody has given the wheel.
    fn of(tag: &str, wheel: &str) -> Option<Self> {
        let rest = tag.strip_prefix(&*name_tag(wheel))?;
        if rest.starts_with('.') {
            return Some(Self::Last);
        }
        let key = rest.strip_prefix('-')?;
        let is_key = key.len() == KEY && key.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        is_key.then_some(Self::Key)
    }
}

/// Manifests and all that they list, lists first.
fn below<'a>(
    manifests: &BTreeMap<String, StoredManifest>,
    digests: impl IntoIterator<Item = &'a str>,
) -> Vec<String> {
    fn visit(
        manifests: &BTreeMap<String, StoredManifest>,
        digest: &str,
        seen: &mut BTreeSet<String>,
        after: &mut Vec<String>,
    ) {
        if !seen.insert(digest.to_owned()) {
            return;
        }
        for member in manifests
            .get(digest)
            .into_iter()
            .flat_map(|manifest| &manifest.members)
        {
            visit(manifests, member, seen, after);
        }
        after.push(digest.to_owned());
    }
    let (mut seen, mut after) = (BTreeSet::new(), Vec::new());
    for digest in digests {
        visit(manifests, digest, &mut seen, &mut after);
    }
    after.reverse();
    after
}

fn blobs<'a>(
    manifests: &BTreeMap<String, StoredManifest>,
    digests: impl Iterator<Item = &'a String>,
) -> BTreeMap<String, u64> {
    digests
        .filter_map(|digest| manifests.get(digest))
        .flat_map(|manifest| manifest.blobs.clone())
        .collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const NOW: i64 = 1_800_000_000;
    const DAY: i64 = 86_400;

    fn key(digit: char) -> String {
        String::from(digit).repeat(KEY)
    }

    fn tag(tag: &str, digest: &str, pushed: Option<i64>) -> StoreTag {
        StoreTag {
            tag: tag.to_owned(),
            digest: digest.to_owned(),
            wheel: Some(StoredWheel {
                name: "kernel".to_owned(),
                platform: "linux/amd64".to_owned(),
                pushed,
            }),
        }
    }

    fn foreign(name: &str, digest: &str) -> StoreTag {
        StoreTag {
            wheel: None,
            ..tag(name, digest, None)
        }
    }

    fn retention(named: &[&str], within: u64) -> Retention {
        Retention {
            named: named.iter().map(|tag| (*tag).to_owned()).collect(),
            now: NOW,
            within,
        }
    }

    fn list(bytes: u64, members: &[&str]) -> StoredManifest {
        StoredManifest {
            bytes,
            members: members.iter().map(|digest| (*digest).to_owned()).collect(),
            ..StoredManifest::default()
        }
    }

    fn image(bytes: u64, blobs: &[(&str, u64)]) -> StoredManifest {
        StoredManifest {
            bytes,
            blobs: blobs
                .iter()
                .map(|(digest, size)| ((*digest).to_owned(), *size))
                .collect(),
            ..StoredManifest::default()
        }
    }

    #[test]
    fn what_a_tag_says_for_itself() {
        let ours = format!("kernel-{}", key('a'));
        let month = 30 * 86_400;
        let recent = Verdict::Kept(Reason::Recent);
        for (name, pushed, named, within, verdict) in [
            (&*ours, Some(NOW - 31 * DAY), false, month, Verdict::Deleted),
            (&*ours, Some(NOW - 30 * DAY), false, month, Verdict::Deleted),
            (&*ours, Some(NOW - 30 * DAY + 1), false, month, recent.clone()),
            (&*ours, Some(NOW + DAY), false, month, recent),
            (
                &*ours,
                Some(NOW - 99 * DAY),
                true,
                month,
                Verdict::Kept(Reason::Named),
            ),
            (&*ours, Some(NOW), true, 0, Verdict::Kept(Reason::Named)),
            (&*ours, Some(NOW), false, 0, Verdict::Deleted),
            (&*ours, Some(NOW + DAY), false, 0, Verdict::Deleted),
            (&*ours, None, false, month, Verdict::Kept(Reason::Undated)),
            (&*ours, Some(0), false, month, Verdict::Kept(Reason::Undated)),
            (
                &*ours,
                Some(315_532_800),
                false,
                month,
                Verdict::Kept(Reason::Undated),
            ),
            (&*ours, None, false, 0, Verdict::Deleted),
            (
                "kernel.linux-amd64",
                Some(NOW - 99 * DAY),
                false,
                0,
                Verdict::Kept(Reason::Last),
            ),
            // What people call a wheel is theirs.
            ("kernel-stable", Some(NOW - 99 * DAY), false, 0, Verdict::Foreign),
            ("stable", Some(NOW - 99 * DAY), false, 0, Verdict::Foreign),
            ("kernel", None, false, 0, Verdict::Foreign),
        ] {
            let named = if named { vec![name] } else { Vec::new() };
            let said = retention(&named, within).judge(&tag(name, "sha256:1", pushed));
            assert_eq!(said, verdict, "{name} {pushed:?} {within}");
        }
        // The form alone makes no wheel of an image.
        assert_eq!(
            retention(&[], 0).judge(&foreign(&ours, "sha256:1")),
            Verdict::Foreign
        );
        for wrong in [key('a').to_uppercase(), key('g'), key('a')[1..].to_owned()] {
            assert_eq!(Form::of(&format!("kernel-{wrong}"), "kernel"), None);
        }
        // A long name is cut in its tags.
        let long = "k".repeat(80);
        assert_eq!(
            Form::of(&format!("{}-{}", &long[..60], key('0')), &long),
            Some(Form::Key)
        );
    }

    #[test]
    fn what_a_kept_tag_names_is_kept() {
        let [old, new] = ['a', 'b'].map(|digit| format!("kernel-{}", key(digit)));
        // Pushed last, and the key that it was pushed under; a key that names the image within the list; a tag of somebody.
        let tags = [
            tag("kernel.linux-amd64", "list", None),
            tag(&new, "list", None),
            tag(&old, "image", None),
            foreign("release", "other"),
            tag(&format!("kernel-{}", key('c')), "other", None),
        ];
        let manifests = BTreeMap::from([
            ("list".to_owned(), list(10, &["image"])),
            ("image".to_owned(), image(5, &[("layer", 100)])),
        ]);
        let swept = sweep(&tags, &manifests, &retention(&[], 0));
        let shared = |tag: &str| Verdict::Kept(Reason::Shared(tag.to_owned()));
        assert_eq!(
            swept.verdicts,
            [
                Verdict::Kept(Reason::Last),
                shared("kernel.linux-amd64"),
                shared("kernel.linux-amd64"),
                Verdict::Foreign,
                shared("release"),
            ]
        );
        assert_eq!((swept.deleted.len(), swept.freed), (0, 0));
    }

    #[test]
    fn lists_go_before_what_they_name_and_shared_blobs_stay() {
        let keys = ['a', 'b', 'c'].map(|digit| format!("kernel-{}", key(digit)));
        let tags = [
            tag(&keys[0], "part", None),
            tag(&keys[1], "list", None),
            tag(&keys[2], "kept", None),
        ];
        let manifests = BTreeMap::from([
            ("list".to_owned(), list(10, &["common", "part", "unread"])),
            ("part".to_owned(), image(5, &[("layer", 100), ("config", 7)])),
            ("common".to_owned(), image(6, &[("base", 1_000)])),
            ("kept".to_owned(), list(11, &["common", "new"])),
            ("new".to_owned(), image(4, &[("layer", 100), ("another", 50)])),
        ]);
        let swept = sweep(&tags, &manifests, &retention(&[&keys[2]], 0));
        assert_eq!(swept.verdicts[..2], [Verdict::Deleted, Verdict::Deleted]);
        assert_eq!(swept.deleted[0], "list");
        assert_eq!(
            swept.deleted.iter().map(String::as_str).collect::<BTreeSet<_>>(),
            BTreeSet::from(["list", "part", "unread"])
        );
        // `layer` is that of a kept image too.
        assert_eq!(swept.freed, 10 + 5 + 7);
        assert_eq!(stored_bytes(&manifests, "list"), 10 + 5 + 6 + 100 + 7 + 1_000);
        assert_eq!(stored_bytes(&manifests, "unread"), 0);
    }

    proptest! {
        /// Whatever the lists: nothing that a tag that stays reaches is deleted, all else below a tag that goes is, and
        /// no manifest before a list that names it.
        #[test]
        fn what_stays_is_whole(
            named in proptest::collection::vec((0_usize..8, any::<bool>()), 1..8),
            members in proptest::collection::vec((0_usize..8, 0_usize..8), 0..12),
        ) {
            let mut manifests: BTreeMap<String, StoredManifest> =
                (0..8).map(|index| (index.to_string(), StoredManifest::default())).collect();
            // A list cannot name itself: its digest is made of theirs.
            for (above, under) in members.iter().filter(|(above, under)| above < under) {
                manifests.entry(above.to_string()).or_default().members.insert(under.to_string());
            }
            let tags: Vec<StoreTag> = named
                .iter()
                .enumerate()
                .map(|(index, (digest, _))| tag(&format!("kernel-{index:064x}"), &digest.to_string(), None))
                .collect();
            let kept: Vec<&str> = tags
                .iter()
                .zip(&named)
                .filter(|(_, (_, kept))| *kept)
                .map(|(tag, _)| &*tag.tag)
                .collect();
            let swept = sweep(&tags, &manifests, &retention(&kept, 0));
            let is_deleted = |digest: &str| swept.deleted.iter().any(|deleted| deleted == digest);
            for (tag, verdict) in tags.iter().zip(&swept.verdicts) {
                prop_assert_eq!(is_deleted(&tag.digest), *verdict == Verdict::Deleted);
                for digest in below(&manifests, [&*tag.digest]) {
                    prop_assert!(*verdict == Verdict::Deleted || !is_deleted(&digest));
                }
            }
            for (above, manifest) in manifests.iter().filter(|(digest, _)| is_deleted(digest)) {
                let place = |digest: &str| swept.deleted.iter().position(|deleted| deleted == digest);
                for under in &manifest.members {
                    prop_assert!(place(under).is_none_or(|at| Some(at) > place(above)));
                }
            }
        }
    }
}
