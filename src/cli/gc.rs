//! `wheelbase wheels gc`: deletes the wheels of the store that nobody needs.
//!
//! What stays is decided by `plan`; this room asks the frontend for today's keys, the registry for what it holds, and tells
//! the registry what to delete.

use std::collections::BTreeSet;
use std::io::{IsTerminal as _, Write as _};
use std::process::ExitCode;

use anyhow::{Context as _, bail, ensure};
use clap::Args;

use super::holdings::Holdings;
use super::registry::{Refusal, Registry};
use super::wheels::{Answer, Common, Format};
use crate::plan::{Retention, Sweep, sweep};

mod question;
mod report;

use report::Report;

/// Deletes the wheels that nobody needs.
///
/// A wheel stays when the spec as it is now has its key, for the platforms that are asked for; when it was pushed last for its
/// platform; and when it was pushed less than `--keep-within` ago. Other wheels of ours are deleted, all others left alone:
/// images that are no wheels, and wheels under a tag that somebody gave them. To pin a wheel, give it a tag of your own.
///
/// Specs that share a repository know nothing of each other's keys: choose `--keep-within` longer than any of them goes without
/// a push, or give each a repository.
///
/// What would be deleted is shown first, and deleted when the question is answered with yes. Where nobody can be asked, since
/// standard input is no terminal, nothing is deleted and the command fails, unless `--force` is given.
///
/// The registry is asked with the credentials of `docker login`, from this machine. Registries free the bytes later, by
/// their own garbage collection.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  wheelbase wheels gc                           what would be deleted, and a question before it is
  wheelbase wheels gc --dry-run                 what would be deleted, and no more
  wheelbase wheels gc --force                   no question: for a job that runs at night
  wheelbase wheels gc --keep-within 12w         keep what was pushed in the last twelve weeks
  wheelbase wheels gc --platform linux/amd64,linux/arm64")]
pub(super) struct Gc {
    #[command(flatten)]
    build: Common,
    /// Keeps what was pushed less than this ago: 90m, 12h, 30d, 8w. With 0s the age of a wheel counts for nothing.
    #[arg(long, value_name = "TIME", default_value = "30d", value_parser = Span::read)]
    keep_within: Span,
    /// Says what would be deleted, asks nothing and deletes nothing.
    #[arg(long)]
    dry_run: bool,
    /// Deletes without a question. It has no short form: `-f` names the spec, as everywhere.
    #[arg(long)]
    force: bool,
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
        let retention = Retention {
            named,
            now,
            within: self.keep_within.seconds,
        };
        let (holdings, sweep) = look(&registry, &retention)?;
        let report = |is_dry| Report {
            repository: registry.name(),
            holdings: &holdings,
            sweep: &sweep,
            now,
            keep_within: &self.keep_within,
            is_dry,
        };
        let mut is_shown = false;
        if !self.dry_run && !sweep.deleted.is_empty() {
            if !self.force {
                if !is_wanted(&report(true))? {
                    return Ok(ExitCode::SUCCESS);
                }
                is_shown = true;
                // The answer was about what was shown, and may have taken as long as a lunch.
                let (_, again) = look(&registry, &retention)?;
                ensure!(
                    again.deleted == sweep.deleted,
                    "{} has changed since it was shown, and nothing was deleted; run the command again",
                    registry.name()
                );
            }
            let mut err = std::io::stderr();
            if err.is_terminal() {
                // Some registries take their time for each.
                let manifests = sweep.deleted.len();
                writeln!(err, "deleting {manifests} manifests of {}", registry.name()).ok();
            }
            delete(&registry, &sweep.deleted)?;
        }
        let report = report(self.dry_run);
        let text = match self.format {
            Format::Text if is_shown => report.summary(),
            Format::Text => report.text(),
            Format::Json => format!("{:#}\n", report.json()),
        };
        super::print(text.as_bytes())?;
        Ok(ExitCode::SUCCESS)
    }
}

/// What a repository has, and what is to become of it.
fn look(registry: &Registry, retention: &Retention) -> anyhow::Result<(Holdings, Sweep)> {
    let holdings = Holdings::read(registry)?;
    let sweep = sweep(&holdings.tags, &holdings.manifests, retention);
    Ok((holdings, sweep))
}

/// Shows what would be deleted and asks for it, on standard error: standard output is for what came of it. An error where
/// nobody can be asked, so that a job notices.
fn is_wanted(report: &Report<'_>) -> anyhow::Result<bool> {
    let input = std::io::stdin();
    if !input.is_terminal() {
        bail!(
            "{}: nothing was deleted, since {} of its tags would be and there is no terminal to ask on: --force deletes \
             without a question, --dry-run shows what",
            report.repository,
            report.tags_deleted()
        );
    }
    let mut output = std::io::stderr().lock();
    write!(
        output,
        "{}\nWARNING! What is deleted is gone for everybody who uses this store.\n",
        report.text()
    )?;
    let is_sure = question::is_sure(&mut input.lock(), &mut output)?;
    if !is_sure {
        writeln!(output, "nothing was deleted")?;
    }
    Ok(is_sure)
}

/// Host and path of the store's repository, and the tags that the spec's wheels have there.
fn store(answers: &[Answer]) -> anyhow::Result<(String, String, BTreeSet<String>)> {
    let Some(first) = answers.first() else {
        bail!(
            "the spec has no compiled wheel that can be in the store, so nothing says what is needed; nothing was deleted"
        );
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

#[cfg(test)]
mod tests {
    use clap::Parser as _;
    use serde_json::json;

    use super::*;

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
    fn a_month_is_kept_unless_something_else_is_said() {
        let gc = gc(&[]);
        assert_eq!((gc.keep_within.seconds, gc.dry_run), (30 * 86_400, false));
    }

    #[test]
    fn a_question_is_left_out_on_request_alone() {
        assert!(!gc(&[]).force);
        assert!(gc(&["--force"]).force);
        // Users of docker may take `-f` for it.
        let spec = gc(&["-f", "other.toml"]);
        assert!(!spec.force && spec.build.file.ends_with("other.toml"));
        assert!(Line::try_parse_from(["gc", "-f", "--keep-within", "0s"]).is_err());
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
}
