//! `wheelbase wheels`: what the wheel store has, why a wheel is not in it, and filling it. Emptying it is in `gc`.
//!
//! The keys of wheels depend on what only the builder knows, so the frontend is asked through `docker buildx build --call
//! wheelbase.wheels`, and wheels are pushed by builds of their own.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context as _, bail};
use clap::{Args, Subcommand, ValueEnum};
use serde::Deserialize;

use super::build::context_of;
use super::gc::Gc;
use super::metadata::reports;
use crate::plan::{STORED, WHEEL_PUSHED, rfc3339};

/// Shows, fills and cleans the wheel store.
///
/// The store is the repository of `[wheel-store]`. A wheel's key, its tag there, is made of all that its files depend on:
/// digests of tiers, the packages that it is compiled against, and the bytes of its source. These commands need Docker with
/// buildx, as `build` does; what stands after `--` is handed to buildx.
#[derive(Debug, Args)]
pub(super) struct Wheels {
    #[command(subcommand)]
    command: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Lists the compiled wheels, and which of them the store has.
    List {
        #[command(flatten)]
        build: Common,
        /// How it is shown.
        #[arg(long, value_enum, default_value_t = Format::Text)]
        format: Format,
    },
    /// Says what a wheel is made from, and what differs from the one that was pushed last.
    Why {
        /// The wheel.
        wheel: String,
        #[command(flatten)]
        build: Common,
    },
    /// Compiles the wheels that the store lacks, and pushes them.
    Push {
        /// Wheels to push; all that are missing when none is named.
        wheels: Vec<String>,
        #[command(flatten)]
        build: Common,
    },
    Gc(Gc),
}

/// How a wheel's image is pushed. A wheel is compressed already, and old engines know neither zstd nor what to make of it.
pub(super) const OUTPUT: &str = "type=image,compression=uncompressed,force-compression=true,push=true";

/// What every command hands to buildx.
#[derive(Debug, Clone, Args)]
pub(super) struct Common {
    /// The spec.
    #[arg(short, long, default_value = "wheelbase.toml")]
    pub(super) file: PathBuf,
    /// The build context; the spec's folder by default.
    #[arg(long)]
    pub(super) context: Option<PathBuf>,
    /// What is built for, as buildx takes it.
    #[arg(long)]
    pub(super) platform: Option<String>,
    /// The value of an argument of [args], as buildx takes it; may be given several times.
    #[arg(long, value_name = "NAME=VALUE")]
    pub(super) build_arg: Vec<String>,
    /// Further arguments for `docker buildx build`.
    #[arg(last = true)]
    pub(super) buildx: Vec<OsString>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
pub(super) enum Format {
    /// For people.
    Text,
    /// For programs: references, digests, notes.
    Json,
}

/// A wheel of the frontend's answer.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Answer {
    pub(super) wheel: String,
    pub(super) platform: String,
    /// Its image by tag.
    pub(super) reference: String,
    /// The image of the one that was pushed last for the platform.
    pub(super) newest: String,
    /// Its image by digest, when the store has it.
    image: Option<String>,
    notes: BTreeMap<String, String>,
    /// For one that is missing: what differs from the one that was pushed last.
    since: Option<Vec<String>>,
}

impl Wheels {
    /// `now` is the time in seconds since 1970.
    pub(super) fn run(&self, now: i64) -> anyhow::Result<ExitCode> {
        match &self.command {
            Action::List { build, format } => {
                let answer = build.ask()?;
                let text = match format {
                    Format::Json => answer,
                    Format::Text => list(&read(&answer)?),
                };
                super::print(text.as_bytes())?;
            }
            Action::Why { wheel, build } => {
                let answers = build.wheels()?;
                let known = check(&answers, std::slice::from_ref(wheel))?;
                super::print(known.into_iter().map(why).collect::<String>().as_bytes())?;
            }
            Action::Push { wheels, build } => {
                let answers = build.wheels()?;
                let known = check(&answers, wheels)?;
                for answer in known {
                    let Answer { wheel, platform, .. } = answer;
                    let said = if let Some(image) = &answer.image {
                        format!("{wheel} for {platform}: there already, {image}\n")
                    } else {
                        build.push(answer, now)?;
                        format!("{wheel} for {platform}: pushed {}\n", answer.reference)
                    };
                    super::print(said.as_bytes())?;
                }
            }
            Action::Gc(gc) => return gc.run(now),
        }
        Ok(ExitCode::SUCCESS)
    }
}

impl Common {
    /// The compiled wheels, as the frontend knows them.
    pub(super) fn wheels(&self) -> anyhow::Result<Vec<Answer>> {
        read(&self.ask()?)
    }

    /// The frontend's answer, as JSON.
    fn ask(&self) -> anyhow::Result<String> {
        let output = self
            .command(
                self.platform.as_deref(),
                &["--call", "wheelbase.wheels,format=json"],
            )
            .stderr(std::process::Stdio::inherit())
            .output()
            .context("failed to run `docker`; `wheelbase wheels` needs Docker with buildx")?;
        if !output.status.success() {
            bail!(
                "the frontend gave no answer: docker buildx ended with {}",
                output.status
            );
        }
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// Builds a wheel's image for its own platform and pushes it under its key, and as the newest one.
    fn push(&self, answer: &Answer, now: i64) -> anyhow::Result<()> {
        let folder = std::env::temp_dir();
        let metadata = folder.join(format!("wheelbase-wheel-{}.json", std::process::id()));
        let status = self
            .pushing(answer, now)
            .arg("--metadata-file")
            .arg(&metadata)
            .status()
            .context("failed to run `docker`")?;
        let built = built(&metadata, &answer.wheel);
        std::fs::remove_file(&metadata).ok();
        if !status.success() {
            bail!(
                "`{}` was not pushed: docker buildx ended with {status}",
                answer.wheel
            );
        }
        match built {
            Some(reference) if reference == answer.reference => Ok(()),
            _ => bail!(
                "the sources of `{}` changed while it was built: {} does not hold what its key says, and has to be removed \
                 from the registry",
                answer.wheel,
                answer.reference
            ),
        }
    }

    /// The build that pushes a wheel: for the platform that its key is of, and no other. The image says when that was.
    fn pushing(&self, answer: &Answer, now: i64) -> Command {
        let output = format!("{OUTPUT},annotation.{WHEEL_PUSHED}={}", rfc3339(now));
        self.command(
            Some(&answer.platform),
            &[
                "--target",
                &answer.wheel,
                "--tag",
                &answer.reference,
                "--tag",
                &answer.newest,
                "--output",
                &output,
            ],
        )
    }

    fn command(&self, platform: Option<&str>, arguments: &[&str]) -> Command {
        let mut command = Command::new("docker");
        command.args(["buildx", "build", "--file"]).arg(&self.file);
        if let Some(platform) = platform {
            command.args(["--platform", platform]);
        }
        for argument in &self.build_arg {
            command.args(["--build-arg", argument]);
        }
        command
            .args(arguments)
            .args(&self.buildx)
            .arg(context_of(self.context.as_deref(), &self.file));
        command
    }
}

/// The reference that a build says a wheel has.
fn built(metadata: &Path, wheel: &str) -> Option<String> {
    let (_, report) = reports(metadata, STORED)?.into_iter().next()?;
    Some(report[wheel]["reference"].as_str()?.to_owned())
}

fn read(answer: &str) -> anyhow::Result<Vec<Answer>> {
    serde_json::from_str(answer)
        .context("the answer of the frontend cannot be read: is it the same release as this program?")
}

/// The wheels of these names, all when there are none.
fn check<'a>(answers: &'a [Answer], names: &[String]) -> anyhow::Result<Vec<&'a Answer>> {
    let known: Vec<&str> = answers.iter().map(|answer| answer.wheel.as_str()).collect();
    for name in names {
        if !known.contains(&name.as_str()) {
            match crate::diagnostic::nearest(name, known.iter().copied()) {
                Some(near) => bail!("no image has a compiled wheel `{name}`; did you mean `{near}`?"),
                None => bail!(
                    "no image has a compiled wheel `{name}`; there are: {}",
                    known.join(", ")
                ),
            }
        }
    }
    let chosen = |answer: &&Answer| names.is_empty() || names.contains(&answer.wheel);
    Ok(answers.iter().filter(chosen).collect())
}

fn list(answers: &[Answer]) -> String {
    if answers.is_empty() {
        return "no compiled wheel can be in the store\n".to_owned();
    }
    let mut rows = vec![["wheel", "platform", "", "reference"].map(str::to_owned)];
    rows.extend(answers.iter().map(|answer| {
        let word = if answer.image.is_some() {
            "stored"
        } else {
            "missing"
        };
        [
            answer.wheel.clone(),
            answer.platform.clone(),
            word.to_owned(),
            answer.reference.clone(),
        ]
    }));
    super::tally::table(&rows)
}

fn why(answer: &Answer) -> String {
    let mut text = format!("{} for {}\n", answer.wheel, answer.platform);
    // Writing to a string cannot fail.
    for (name, value) in &answer.notes {
        let _ = writeln!(text, "  {name}: {value}");
    }
    match (&answer.image, &answer.since) {
        (Some(image), _) => {
            let _ = writeln!(text, "it is in the store: {image}");
        }
        (None, None) => {
            let _ = writeln!(
                text,
                "it is not in the store, and none of this name was pushed before"
            );
        }
        (None, Some(changed)) => {
            let _ = writeln!(
                text,
                "it is not in the store; since the last one was pushed these changed:"
            );
            for name in changed {
                let _ = writeln!(text, "  {name}");
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_wheel_is_pushed_for_its_own_platform() {
        let common = Common {
            file: "wheelbase.toml".into(),
            context: None,
            platform: Some("linux/amd64,linux/arm64".to_owned()),
            build_arg: Vec::new(),
            buildx: vec!["--builder".into(), "b".into()],
        };
        let answer = |platform: &str, key: &str| Answer {
            wheel: "kernel".to_owned(),
            platform: platform.to_owned(),
            reference: format!("zot.example/wheels:kernel-{key}"),
            newest: format!("zot.example/wheels:kernel.{key}"),
            image: None,
            notes: BTreeMap::new(),
            since: None,
        };
        let words = |answer: &Answer| -> String {
            let command = common.pushing(answer, 1_700_000_000);
            let words: Vec<_> = command.get_args().map(|word| word.to_string_lossy()).collect();
            words.join(" ")
        };
        assert_eq!(
            words(&answer("linux/arm64", "b")),
            format!(
                "buildx build --file wheelbase.toml --platform linux/arm64 --target kernel \
                 --tag zot.example/wheels:kernel-b --tag zot.example/wheels:kernel.b \
                 --output {OUTPUT},annotation.dev.wheelbase.wheel.pushed=2023-11-14T22:13:20Z --builder b ."
            )
        );
        assert!(words(&answer("linux/amd64", "a")).contains("--platform linux/amd64 --target kernel"));
    }
}
