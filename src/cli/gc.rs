//! `wheelbase wheels gc`: deletes the wheels of the store that nobody needs.
//!
//! What stays is decided by `plan`; this room asks the frontend for today's keys, the registry for what it holds, and tells
//! the registry what to delete.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::io::{IsTerminal as _, Write as _};
use std::process::ExitCode;

use anyhow::{Context as _, bail};
use clap::Args;
use serde_json::{Value, json};

use super::holdings::Holdings;
use super::registry::{Refusal, Registry};
use super::wheels::{Answer, Common, Format};
use crate::plan::show::bytes;
use crate::plan::{Reason, Retention, StoreTag, Sweep, Verdict, rfc3339, stored_bytes, sweep};

/// Deletes the wheels that nobody needs.
///
/// A wheel stays when the spec as it is now has its key, for the platforms that are asked for; when it was pushed last for its
/// platform; and when it was pushed less than `--keep-within` ago. Other wheels of ours are deleted, all others left alone:
/// images that are no wheels, and wheels under a tag that somebody gave them. To pin a wheel, give it a tag of your own.
///
/// Specs that share a repository know nothing of each other's keys: choose `--keep-within` longer than any of them goes without
/// a push, or give each a repository.
///
/// The registry is asked with the credentials of `docker login`, from this machine. Registries free the bytes later, by
/// their own garbage collection.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  wheelbase wheels gc --dry-run                 what would be deleted
  wheelbase wheels gc --keep-within 12w         keep what was pushed in the last twelve weeks
  wheelbase wheels gc --platform linux/amd64,linux/arm64")]
pub(super) struct Gc {
    #[command(flatten)]
    build: Common,
    /// Keeps what was pushed less than this ago: 90m, 12h, 30d, 8w. With 0s the age of a wheel counts for nothing.
    #[arg(long, value_name = "TIME", default_value = "30d", value_parser = Span::read)]
    keep_within: Span,
    /// Says what would be deleted, and deletes nothing.
    #[arg(long)]
    dry_run: bool,
    /// How it is shown.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

/// A length of time.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Span {
    /// As it was written.
    text: String,
    seconds: u64,
}

/// Units of time with their seconds, the longest first.
const UNITS: [(char, u64); 5] = [('w', 604_800), ('d', 86_400), ('h', 3_600), ('m', 60), ('s', 1)];

impl Span {
    /// One or several numbers with their units: `30d`, `1d12h`.
    fn read(text: &str) -> Result<Self, String> {
        let help = || {
            format!("`{text}` is no length of time: write 30d, 12h or 1d12h, with the units w, d, h, m and s")
        };
        let mut seconds: u64 = 0;
        let mut rest = text;
        while !rest.is_empty() {
            let end = rest
                .find(|letter: char| !letter.is_ascii_digit())
                .ok_or_else(help)?;
            let number: u64 = rest[..end].parse().map_err(|_| help())?;
            let unit = rest[end..].chars().next().unwrap_or_default();
            let (_, length) = UNITS
                .into_iter()
                .find(|(name, _)| *name == unit)
                .ok_or_else(help)?;
            let part = number.checked_mul(length).ok_or_else(help)?;
            seconds = seconds.checked_add(part).ok_or_else(help)?;
            rest = &rest[end + 1..];
        }
        if text.is_empty() {
            return Err(help());
        }
        Ok(Self {
            text: text.to_owned(),
            seconds,
        })
    }
}

impl Gc {
    /// `now` is the time in seconds since 1970.
    pub(super) fn run(&self, now: i64) -> anyhow::Result<ExitCode> {
        let answers = self.build.wheels()?;
        let (host, repository, named) = store(&answers)?;
        let registry = Registry::of(&host, &repository)?;
        let holdings = Holdings::read(&registry)?;
        let retention = Retention {
            named,
            now,
            within: self.keep_within.seconds,
        };
        let sweep = sweep(&holdings.tags, &holdings.manifests, &retention);
        if !self.dry_run {
            let mut err = std::io::stderr();
            if err.is_terminal() && !sweep.deleted.is_empty() {
                // Some registries take their time for each.
                let manifests = sweep.deleted.len();
                writeln!(err, "deleting {manifests} manifests of {}", registry.name()).ok();
            }
            delete(&registry, &sweep.deleted)?;
        }
        let report = Report {
            repository: registry.name(),
            holdings: &holdings,
            sweep: &sweep,
            now,
            gc: self,
        };
        let text = match self.format {
            Format::Text => report.text(),
            Format::Json => format!("{:#}\n", report.json()),
        };
        super::print(text.as_bytes())?;
        Ok(ExitCode::SUCCESS)
    }
}

/// Host and path of the store's repository, and the tags that the spec's wheels have there.
fn store(answers: &[Answer]) -> anyhow::Result<(String, String, BTreeSet<String>)> {
    let Some(first) = answers.first() else {
        bail!("the spec has no compiled wheel, so nothing says what is needed; nothing was deleted");
    };
    let (name, _) = first
        .reference
        .rsplit_once(':')
        .context("the frontend names no tag")?;
    let (host, repository) = name.split_once('/').context("the frontend names no registry")?;
    let tags = answers
        .iter()
        .filter_map(|answer| answer.reference.strip_prefix(name));
    let named = tags
        .filter_map(|tag| Some(tag.strip_prefix(':')?.to_owned()))
        .collect();
    Ok((host.to_owned(), repository.to_owned(), named))
}

/// Deletes manifests one after the other; the first refusal ends it.
fn delete(registry: &Registry, digests: &[String]) -> anyhow::Result<()> {
    for (deleted, digest) in digests.iter().enumerate() {
        let Err(refusal) = registry.delete(digest) else {
            continue;
        };
        let before = match deleted {
            0 => "nothing was deleted".to_owned(),
            _ => format!(
                "{deleted} of {} manifests were deleted before that",
                digests.len()
            ),
        };
        match refusal {
            Refusal::SwitchedOff(words) => bail!(
                "{} does not delete: {words}; {before}\nDeleting has to be switched on in the registry. For distribution's \
                 (`registry:2`, `registry:3`) that is `delete: {{ enabled: true }}` under `storage` in its configuration, or \
                 REGISTRY_STORAGE_DELETE_ENABLED=true in its environment.",
                registry.name()
            ),
            Refusal::Other(error) => return Err(error.context(before)),
        }
    }
    Ok(())
}

/// What is told of a run.
struct Report<'a> {
    repository: String,
    holdings: &'a Holdings,
    sweep: &'a Sweep,
    now: i64,
    gc: &'a Gc,
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
            Verdict::Kept(Reason::Recent) => format!("pushed within {}", self.gc.keep_within.text),
            Verdict::Kept(Reason::Undated) => "nothing says when it was pushed".to_owned(),
            Verdict::Kept(Reason::Shared(tag)) => format!("the same as {}", short(tag)),
            Verdict::Deleted if self.gc.keep_within.seconds == 0 => "not needed".to_owned(),
            Verdict::Deleted => format!("not needed, older than {}", self.gc.keep_within.text),
        }
    }

    fn text(&self) -> String {
        let mut rows = vec![["tag", "wheel", "age", "size", ""].map(str::to_owned)];
        let mut reasons = vec![String::new()];
        let mut deleted = 0;
        for (tag, verdict) in self.tags() {
            let Some(wheel) = tag.wheel.as_ref().filter(|_| *verdict != Verdict::Foreign) else {
                continue;
            };
            let word = match (verdict, self.gc.dry_run) {
                (Verdict::Deleted, true) => "would be deleted",
                (Verdict::Deleted, false) => "deleted",
                _ => "kept",
            };
            deleted += usize::from(*verdict == Verdict::Deleted);
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
        let (of, foreign) = (rows.len() - 1, self.foreign().len());
        let mut text = String::new();
        if of > 0 {
            // Writing to a string cannot fail.
            for (line, reason) in super::tally::table(&rows).lines().zip(reasons) {
                let line = format!("{line}  {reason}");
                let _ = writeln!(text, "{}", line.trim_end());
            }
            text.push('\n');
        }
        let would = if self.gc.dry_run { "would be " } else { "" };
        let _ = writeln!(
            text,
            "{}: {deleted} of {of} tags {would}deleted, {}",
            self.repository,
            bytes(self.sweep.freed)
        );
        if foreign > 0 {
            let are = if foreign == 1 { "tag is" } else { "tags are" };
            let _ = writeln!(text, "{foreign} more {are} not ours and left alone");
        }
        if deleted > 0 && !self.gc.dry_run {
            text.push_str("the bytes are free when the registry has collected its own garbage\n");
        }
        text
    }

    fn json(&self) -> Value {
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
            "dry-run": self.gc.dry_run,
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
    use std::collections::BTreeMap;

    use clap::Parser as _;

    use super::*;
    use crate::plan::{StoredManifest, StoredWheel};

    #[derive(Debug, clap::Parser)]
    struct Line {
        #[command(flatten)]
        gc: Gc,
    }

    fn gc(arguments: &[&str]) -> Gc {
        Line::parse_from(["gc"].iter().chain(arguments)).gc
    }

    #[test]
    fn spans_of_time() {
        for (text, seconds) in [
            ("30d", 2_592_000),
            ("0s", 0),
            ("12h", 43_200),
            ("1d12h", 129_600),
            ("2w", 1_209_600),
            ("90m", 5_400),
        ] {
            assert_eq!(Span::read(text).unwrap().seconds, seconds, "{text}");
        }
        for text in [
            "",
            "30",
            "d",
            "30 d",
            "-1d",
            "1y",
            "30d5",
            "1\u{b5}",
            "99999999999999999999d",
            "99999999999999999w",
        ] {
            let error = Span::read(text).unwrap_err();
            assert!(error.contains("write 30d, 12h or 1d12h"), "{text}: {error}");
        }
    }

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
    fn a_month_is_kept_unless_something_else_is_said() {
        let gc = gc(&[]);
        assert_eq!((gc.keep_within.seconds, gc.dry_run), (30 * 86_400, false));
    }

    #[test]
    fn the_store_is_that_of_the_answers() {
        let answer = |reference: &str| -> Answer {
            serde_json::from_value(json!({
                "wheel": "kernel", "platform": "linux/amd64", "reference": reference, "newest": "", "image": null,
                "notes": {}, "since": null,
            }))
            .unwrap()
        };
        let answers = [
            "localhost:5000/team/wheels:kernel-a",
            "localhost:5000/team/wheels:kernel-b",
        ]
        .map(answer);
        let (host, repository, named) = store(&answers).unwrap();
        assert_eq!((&*host, &*repository), ("localhost:5000", "team/wheels"));
        assert_eq!(
            named,
            BTreeSet::from(["kernel-a".to_owned(), "kernel-b".to_owned()])
        );
        // Without a wheel there would be nothing to keep.
        assert!(store(&[]).is_err());
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
        let told = |gc: &Gc| {
            let report = Report {
                repository: "registry.example/wheels".to_owned(),
                holdings: &holdings,
                sweep: &sweep,
                now,
                gc,
            };
            (report.text(), report.json())
        };
        let (text, json) = told(&gc(&[]));
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
        let (text, json) = told(&gc(&["--dry-run"]));
        assert!(
            text.contains("would be deleted  not needed") && text.contains("1 of 3 tags would be deleted"),
            "{text}"
        );
        assert!(!text.contains("garbage"), "{text}");
        assert_eq!(json["dry-run"], json!(true));
    }
}
