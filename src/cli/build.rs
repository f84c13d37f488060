//! `wheelbase build`: `docker buildx build` with the flags that a GPU image wants.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::Context as _;
use clap::Args;

use super::metadata::reports;
use super::tally::table;
use crate::plan::{COUNTS, Counted, read_report};

/// Builds an image with `docker buildx build`.
///
/// Layers are compressed with zstd level 1, which takes a quarter of gzip's time on a 7 GB image; an `--output` after `--`
/// says its own compression. What stands after `--` is handed to buildx as it is. At the end standard error has a table of what the compiler cache did for each
/// wheel.
#[derive(Debug, Args)]
pub(super) struct Build {
    /// The image to build, or another target: a compiled wheel, `wheel-store` for all of them, or `cache-` and one of these
    /// names to fill caches and leave nothing. The spec's default image when none is named.
    image: Option<String>,
    /// The spec.
    #[arg(short, long, default_value = "wheelbase.toml")]
    file: PathBuf,
    /// The build context; the spec's folder by default.
    #[arg(long)]
    context: Option<PathBuf>,
    /// Name of the built image; may be given several times.
    #[arg(short, long)]
    tag: Vec<String>,
    /// Leaves the image in the local image store.
    #[arg(long)]
    load: bool,
    /// Pushes the image to its registry.
    #[arg(long)]
    push: bool,
    /// What is built for, as buildx takes it.
    #[arg(long)]
    platform: Option<String>,
    /// The value of an argument of [args], as buildx takes it; may be given several times.
    #[arg(long = "build-arg", value_name = "NAME=VALUE")]
    args: Vec<String>,
    /// Compression of new layers.
    #[arg(long, default_value = "zstd", value_parser = ["zstd", "gzip", "estargz", "uncompressed"])]
    compression: String,
    /// Prints the command and does not run it.
    #[arg(long)]
    print: bool,
    /// Further arguments for `docker buildx build`.
    #[arg(last = true)]
    buildx: Vec<OsString>,
}

impl Build {
    pub(super) fn run(&self) -> anyhow::Result<ExitCode> {
        let mut arguments = self.arguments(!self.push && driver_is_docker());
        if self.print {
            let words: Vec<String> = arguments
                .iter()
                .map(|word| quote(&word.to_string_lossy()))
                .collect();
            super::print(format!("docker {}\n", words.join(" ")).as_bytes())?;
            return Ok(ExitCode::SUCCESS);
        }
        // The metadata file has the counts. The user's own is read where there is one.
        let named = self.metadata_file();
        let ours = named.is_none();
        let metadata = named.unwrap_or_else(|| {
            std::env::temp_dir().join(format!("wheelbase-metadata-{}.json", std::process::id()))
        });
        if ours {
            let context = arguments.pop();
            arguments.extend(["--metadata-file".into(), metadata.clone().into()]);
            arguments.extend(context);
        }
        let status = Command::new("docker")
            .args(&arguments)
            .status()
            .context("failed to run `docker`; `wheelbase build` needs Docker with buildx")?;
        if status.success()
            && let Some(text) = counts(&metadata)
        {
            // Standard output may be the image's archive.
            write!(std::io::stderr(), "\n{text}").ok();
        }
        if ours {
            std::fs::remove_file(&metadata).ok();
        }
        // Docker's own exit status, so that scripts see what they would see without us.
        Ok(status
            .code()
            .and_then(|code| u8::try_from(code).ok())
            .map_or(ExitCode::FAILURE, ExitCode::from))
    }

    /// The metadata file that is asked for after `--`.
    fn metadata_file(&self) -> Option<PathBuf> {
        let mut words = self.buildx.iter();
        while let Some(word) = words.next() {
            if word == "--metadata-file" {
                return words.next().map(PathBuf::from);
            }
            if let Some(file) = word
                .to_str()
                .and_then(|word| word.strip_prefix("--metadata-file="))
            {
                return Some(file.into());
            }
        }
        None
    }

    /// Whether an output is asked for after `--`.
    fn has_output(&self) -> bool {
        let names = [
            "--output", "-o", "--load", "--push", "--call", "--check", "--print",
        ];
        self.buildx.iter().any(|word| {
            let word = word.to_string_lossy();
            names.iter().any(|name| {
                word.strip_prefix(name)
                    .is_some_and(|rest| rest.is_empty() || rest.starts_with('='))
            })
        })
    }

    /// `driver_is_docker`: the builder is Docker's own, whose image store is reached with `type=image`; from any other
    /// builder the image is carried over as an archive.
    fn arguments(&self, driver_is_docker: bool) -> Vec<OsString> {
        let mut arguments: Vec<OsString> = ["buildx", "build", "--file"].map(OsString::from).to_vec();
        arguments.push(self.file.clone().into());
        let has_output = self.has_output();
        let mut flag = |name: &str, value: &str| {
            arguments.push(name.into());
            arguments.push(value.into());
        };
        if let Some(image) = &self.image {
            flag("--target", image);
        }
        for tag in &self.tag {
            flag("--tag", tag);
        }
        for argument in &self.args {
            flag("--build-arg", argument);
        }
        if let Some(platform) = &self.platform {
            flag("--platform", platform);
        }
        let kind = match (self.push, self.load) {
            (true, _) => Some("image"),
            (false, true) if driver_is_docker => Some("image"),
            (false, true) => Some("docker"),
            // Docker's own builder keeps the image, and other ones keep nothing.
            (false, false) if driver_is_docker && !has_output => Some("image"),
            (false, false) => None,
        };
        if let Some(kind) = kind {
            flag("--output", &output(kind, &self.compression, self.push));
        }
        arguments.extend(self.buildx.iter().cloned());
        arguments.push(context_of(self.context.as_deref(), &self.file));
        arguments
    }
}

/// An output of buildx with compressed layers.
pub(super) fn output(kind: &str, compression: &str, push: bool) -> String {
    let level = if compression == "zstd" {
        ",compression-level=1"
    } else {
        ""
    };
    let push = if push { ",push=true" } else { "" };
    format!("type={kind},compression={compression}{level}{push}")
}

/// The build context: the spec's folder when none is given.
pub(super) fn context_of(given: Option<&Path>, file: &Path) -> OsString {
    match (given, file.parent()) {
        (Some(context), _) => context.into(),
        (None, Some(parent)) if !parent.as_os_str().is_empty() => parent.into(),
        (None, _) => ".".into(),
    }
}

/// What a metadata file says of compiler caches; `None` when nothing was compiled, now or earlier.
fn counts(metadata: &Path) -> Option<String> {
    let mut text = String::new();
    for (platform, report) in reports(metadata, COUNTS)? {
        text.push_str(&counts_table(&platform, &read_report(&report)?));
    }
    (!text.is_empty()).then_some(text)
}

/// A line for each wheel of a platform. The platform is empty when there is but one. Writing to a string cannot fail, so
/// results of `writeln!` are dropped.
fn counts_table(platform: &str, wheels: &BTreeMap<String, Counted>) -> String {
    let head = ["wheel", "cache", "hits", "of", "uncacheable", "seconds", ""];
    let mut rows = vec![head.map(str::to_owned)];
    for (name, Counted { compiled, counts }) in wheels {
        let uncacheable: u64 = counts.uncacheable.values().sum();
        let name = if platform.is_empty() {
            name.clone()
        } else {
            format!("{name} ({platform})")
        };
        rows.push([
            name,
            match counts.store.as_str() {
                "mount" => counts.tool.clone(),
                store => format!("{} ({store})", counts.tool),
            },
            counts.hits.to_string(),
            counts.cacheable().to_string(),
            uncacheable.to_string(),
            counts.seconds.to_string(),
            if *compiled {
                "compiled now"
            } else {
                "compiled by an earlier build"
            }
            .to_owned(),
        ]);
    }
    let mut text = String::new();
    for line in table(&rows).lines() {
        let _ = writeln!(text, "{}", line.trim_end());
    }
    for (name, counted) in wheels {
        for (reason, number) in &counted.counts.uncacheable {
            let _ = writeln!(text, "{name}: {number} calls uncacheable: {reason}");
        }
    }
    text
}

/// Whether the current builder is Docker's own.
fn driver_is_docker() -> bool {
    Command::new("docker")
        .args(["buildx", "inspect"])
        .output()
        .is_ok_and(|output| {
            String::from_utf8_lossy(&output.stdout)
                .lines()
                .filter_map(|line| line.strip_prefix("Driver:"))
                .any(|driver| driver.trim() == "docker")
        })
}

/// A word as a POSIX shell reads it back.
fn quote(word: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_./:=,@+%".contains(&byte);
    if !word.is_empty() && word.bytes().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(arguments: &[&str], driver_is_docker: bool) -> String {
        #[derive(clap::Parser)]
        struct Line {
            #[command(flatten)]
            build: Build,
        }
        let line = <Line as clap::Parser>::parse_from(["build"].iter().chain(arguments));
        let words = line.build.arguments(driver_is_docker);
        words
            .iter()
            .map(|word| word.to_string_lossy().into_owned())
            .collect::<Vec<_>>()
            .join(" ")
    }

    #[test]
    fn flags_for_buildx() {
        assert_eq!(
            words(
                &["serve", "-f", "a/wheelbase.toml", "-t", "app:1", "--load"],
                true
            ),
            "buildx build --file a/wheelbase.toml --target serve --tag app:1 \
             --output type=image,compression=zstd,compression-level=1 a"
        );
        assert_eq!(
            words(
                &["--push", "--compression", "gzip", "--", "--progress", "plain"],
                false
            ),
            "buildx build --file wheelbase.toml --output type=image,compression=gzip,push=true --progress plain ."
        );
        assert!(words(&["--load"], false).contains("type=docker"));
        // Docker's own builder keeps the image anyway; another one is told nothing.
        assert!(words(&[], true).contains("--output type=image,compression=zstd,compression-level=1"));
        assert!(!words(&[], false).contains("--output"));
        for own in ["--output=type=tar", "-o", "--call"] {
            assert!(!words(&["--", own], true).contains("compression"), "{own}");
        }
    }

    #[test]
    fn counts_are_a_table() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("metadata.json");
        let counts = serde_json::json!({
            "tool": "ccache", "store": "mount", "unreached": false, "hits": 3, "misses": 1, "errors": 0, "uncacheable": { "unsupported compiler option": 2 },
            "known": true, "ended": 1_800_000_000_000_u64, "seconds": 12,
        });
        let report = serde_json::json!({
            "version": 1, "wheels": { "vecadd": { "compiled": true, "counts": counts } },
        });
        // As the client writes it: here as a string, there as JSON.
        for value in [report.to_string().into(), report] {
            let metadata = serde_json::json!({ "frontend.dev.wheelbase.compiler-cache": value });
            std::fs::write(&file, metadata.to_string()).unwrap();
            let said = super::counts(&file).unwrap();
            let words: Vec<Vec<&str>> = said
                .lines()
                .map(|line| line.split_whitespace().collect())
                .collect();
            assert_eq!(
                words[1],
                ["vecadd", "ccache", "3", "4", "2", "12", "compiled", "now"]
            );
            assert_eq!(
                said.lines().last(),
                Some("vecadd: 2 calls uncacheable: unsupported compiler option")
            );
        }
        std::fs::write(&file, "{}").unwrap();
        assert_eq!(super::counts(&file), None);
    }

    #[test]
    fn the_users_metadata_file_is_read() {
        let build = |arguments: &[&str]| Build {
            image: None,
            file: "wheelbase.toml".into(),
            context: None,
            tag: Vec::new(),
            load: false,
            push: false,
            args: Vec::new(),
            platform: None,
            compression: "zstd".into(),
            print: false,
            buildx: arguments.iter().map(OsString::from).collect(),
        };
        let file = Some(PathBuf::from("a.json"));
        assert_eq!(build(&["--metadata-file", "a.json"]).metadata_file(), file);
        assert_eq!(build(&["--metadata-file=a.json", "--pull"]).metadata_file(), file);
        assert_eq!(build(&["--pull"]).metadata_file(), None);
    }

    #[test]
    fn words_survive_a_shell() {
        assert_eq!(quote("a/b:c=1"), "a/b:c=1");
        assert_eq!(quote("it's"), r"'it'\''s'");
        assert_eq!(quote(""), "''");
    }
}
