//! What is told of a run: to people as a table, to programs as JSON.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::super::holdings::Holdings;
use super::super::tally::table;
use super::{Span, UNITS};
use crate::plan::show::bytes;
use crate::plan::{Reason, StoreTag, Sweep, Verdict, rfc3339, stored_bytes};

/// What is told of a run.
pub(super) struct Report<'a> {
    pub(super) repository: String,
    pub(super) holdings: &'a Holdings,
    pub(super) sweep: &'a Sweep,
    /// Seconds since 1970.
    pub(super) now: i64,
    pub(super) keep_within: &'a Span,
    /// Whether nothing was deleted yet.
    pub(super) is_dry: bool,
}

impl Report<'_> {
    fn tags(&self) -> impl Iterator<Item = (&StoreTag, &Verdict)> {
        self.holdings.tags.iter().zip(&self.sweep.verdicts)
    }

    /// Tags of other people.
    fn foreign(&self) -> Vec<&str> {
        let foreign = self.tags().filter(|(_, verdict)| **verdict == Verdict::Foreign);
        foreign.map(|(tag, _)| &*tag.tag).collect()
    }

    fn why(&self, verdict: &Verdict) -> String {
        match verdict {
            Verdict::Foreign => "no wheel of ours".to_owned(),
            Verdict::Kept(Reason::Named) => "the spec has its key".to_owned(),
            Verdict::Kept(Reason::Last) => "pushed last for its platform".to_owned(),
            Verdict::Kept(Reason::Recent) => format!("pushed within {}", self.keep_within.text),
            Verdict::Kept(Reason::Undated) => "nothing says when it was pushed".to_owned(),
            Verdict::Kept(Reason::Shared(tag)) => format!("the same as {}", short(tag)),
            Verdict::Deleted if self.keep_within.seconds == 0 => "not needed".to_owned(),
            Verdict::Deleted => format!("not needed, older than {}", self.keep_within.text),
        }
    }

    /// Every wheel of ours, with what becomes of it and why, and the summary.
    pub(super) fn text(&self) -> String {
        let mut rows = vec![["tag", "wheel", "age", "size", ""].map(str::to_owned)];
        let mut reasons = vec![String::new()];
        for (tag, verdict) in self.tags() {
            let Some(wheel) = tag.wheel.as_ref().filter(|_| *verdict != Verdict::Foreign) else {
                continue;
            };
            let word = match (verdict, self.is_dry) {
                (Verdict::Deleted, true) => "would be deleted",
                (Verdict::Deleted, false) => "deleted",
                _ => "kept",
            };
            rows.push([
                short(&tag.tag),
                format!("{} {}", wheel.name, wheel.platform),
                wheel
                    .pushed
                    .map_or("?".to_owned(), |pushed| age(self.now - pushed)),
                bytes(stored_bytes(&self.holdings.manifests, &tag.digest)),
                word.to_owned(),
            ]);
            reasons.push(self.why(verdict));
        }
        let mut text = String::new();
        if rows.len() > 1 {
            // Writing to a string cannot fail.
            for (line, reason) in table(&rows).lines().zip(reasons) {
                let line = format!("{line}  {reason}");
                let _ = writeln!(text, "{}", line.trim_end());
            }
            text.push('\n');
        }
        text + &self.summary()
    }

    /// How many tags are deleted, and the bytes.
    pub(super) fn summary(&self) -> String {
        let deleted = self.tags_deleted();
        let foreign = self.foreign().len();
        let would = if self.is_dry { "would be " } else { "" };
        let mut text = format!(
            "{}: {deleted} of {} tags {would}deleted, {}\n",
            self.repository,
            self.holdings.tags.len() - foreign,
            bytes(self.sweep.freed)
        );
        if foreign > 0 {
            let are = if foreign == 1 { "tag is" } else { "tags are" };
            let _ = writeln!(text, "{foreign} more {are} not ours and left alone");
        }
        if deleted > 0 && !self.is_dry {
            text.push_str("the bytes are free when the registry has collected its own garbage\n");
        }
        text
    }

    /// How many tags name nothing that is needed.
    pub(super) fn tags_deleted(&self) -> usize {
        let deleted = self.tags().filter(|(_, verdict)| **verdict == Verdict::Deleted);
        deleted.count()
    }

    /// The same for programs, with what is whole here and short there.
    pub(super) fn json(&self) -> Value {
        let tags = self.tags().filter_map(|(tag, verdict)| {
            let wheel = tag.wheel.as_ref().filter(|_| *verdict != Verdict::Foreign)?;
            Some(json!({
                "tag": tag.tag,
                "digest": tag.digest,
                "wheel": wheel.name,
                "platform": wheel.platform,
                "pushed": wheel.pushed.map(rfc3339),
                "bytes": stored_bytes(&self.holdings.manifests, &tag.digest),
                "kept": *verdict != Verdict::Deleted,
                "why": self.why(verdict),
            }))
        });
        json!({
            "repository": self.repository,
            "dry-run": self.is_dry,
            "tags": tags.collect::<Value>(),
            "foreign": self.foreign(),
            "deleted": self.sweep.deleted,
            "freed": self.sweep.freed,
        })
    }
}

/// A tag with twelve digits of its key.
fn short(tag: &str) -> String {
    match tag.rsplit_once('-') {
        Some((name, key)) if key.len() == 64 && key.is_ascii() => format!("{name}-{}", &key[..12]),
        _ => tag.to_owned(),
    }
}

/// An age in its largest unit: `3d`.
fn age(seconds: i64) -> String {
    let seconds = u64::try_from(seconds).unwrap_or_default();
    let unit = UNITS.into_iter().filter(|(name, _)| *name != 'w');
    let (name, length) = unit
        .into_iter()
        .find(|(_, length)| seconds >= *length)
        .unwrap_or(('s', 1));
    format!("{}{name}", seconds / length)
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use super::*;
    use crate::plan::{Retention, StoredManifest, StoredWheel, sweep};

    #[test]
    fn ages_for_people() {
        for (seconds, text) in [
            (-5, "0s"),
            (0, "0s"),
            (59, "59s"),
            (3_599, "59m"),
            (86_399, "23h"),
            (2_592_000, "30d"),
        ] {
            assert_eq!(age(seconds), text);
        }
    }

    #[test]
    fn what_is_told() {
        let now = 1_800_000_000;
        let tag = |tag: &str, digest: &str, days: Option<i64>| StoreTag {
            tag: tag.to_owned(),
            digest: digest.to_owned(),
            wheel: days.map(|days| StoredWheel {
                name: "kernel".to_owned(),
                platform: "linux/amd64".to_owned(),
                pushed: Some(now - days * 86_400),
            }),
        };
        let image = |size| StoredManifest {
            bytes: 1_000,
            blobs: BTreeMap::from([(format!("layer{size}"), size)]),
            ..StoredManifest::default()
        };
        let (old, new) = (
            format!("kernel-{}", "a".repeat(64)),
            format!("kernel-{}", "b".repeat(64)),
        );
        let holdings = Holdings {
            tags: vec![
                tag("app", "app", None),
                tag("kernel.linux-amd64", "new", Some(40)),
                tag(&old, "old", Some(50)),
                tag(&new, "new", Some(40)),
            ],
            manifests: BTreeMap::from([
                ("old".to_owned(), image(20_000)),
                ("new".to_owned(), image(30_000)),
            ]),
        };
        let retention = Retention {
            named: BTreeSet::from([new]),
            now,
            within: 30 * 86_400,
        };
        let sweep = sweep(&holdings.tags, &holdings.manifests, &retention);
        let keep_within = Span::read("30d").unwrap();
        let report = |is_dry| Report {
            repository: "registry.example/wheels".to_owned(),
            holdings: &holdings,
            sweep: &sweep,
            now,
            keep_within: &keep_within,
            is_dry,
        };
        let (text, json) = (report(false).text(), report(false).json());
        assert_eq!(
            text,
            "tag                               wheel  age     size\n\
             kernel.linux-amd64   kernel linux/amd64  40d  31.0 kB     kept  pushed last for its platform\n\
             kernel-aaaaaaaaaaaa  kernel linux/amd64  50d  21.0 kB  deleted  not needed, older than 30d\n\
             kernel-bbbbbbbbbbbb  kernel linux/amd64  40d  31.0 kB     kept  the spec has its key\n\
             \n\
             registry.example/wheels: 1 of 3 tags deleted, 21.0 kB\n\
             1 more tag is not ours and left alone\n\
             the bytes are free when the registry has collected its own garbage\n"
        );
        assert_eq!(json["foreign"], json!(["app"]));
        assert_eq!(
            (&json["deleted"], &json["freed"]),
            (&json!(["old"]), &json!(21_000))
        );
        assert_eq!(json["tags"][1]["tag"], json!(old));
        assert_eq!(json["tags"][1]["kept"], json!(false));
        assert_eq!(json["tags"][1]["pushed"], json!(rfc3339(now - 50 * 86_400)));
        let summary = report(false).summary();
        assert!(
            summary.starts_with("registry.example/wheels: 1 of 3") && text.ends_with(&summary),
            "{summary}"
        );
        assert_eq!(report(false).tags_deleted(), 1);
        let (text, json) = (report(true).text(), report(true).json());
        assert!(
            text.contains("would be deleted  not needed") && text.contains("1 of 3 tags would be deleted"),
            "{text}"
        );
        assert!(!text.contains("garbage"), "{text}");
        assert_eq!(json["dry-run"], json!(true));
    }
}
