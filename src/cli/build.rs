//! `wheelbase build`: `docker buildx build` with the flags that a GPU image wants.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

use anyhow::Context as _;
use clap::Args;

/// Builds an image with `docker buildx build`.
///
/// Layers are compressed with zstd level 1, which takes a quarter of gzip's time on a 7 GB image. What stands
/// after `--` is handed to buildx as it is.
#[derive(Debug, Args)]
pub(super) struct Build {
    /// The image to build; the spec's default when none is named.
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
        let arguments = self.arguments(!self.load || driver_is_docker());
        if self.print {
            let words: Vec<String> = arguments
                .iter()
                .map(|word| quote(&word.to_string_lossy()))
                .collect();
            super::print(format!("docker {}\n", words.join(" ")).as_bytes())?;
            return Ok(ExitCode::SUCCESS);
        }
        let status = Command::new("docker")
            .args(&arguments)
            .status()
            .context("failed to run `docker`; `wheelbase build` needs Docker with buildx")?;
        // Docker's own exit status, so that scripts see what they would see without us.
        Ok(status
            .code()
            .and_then(|code| u8::try_from(code).ok())
            .map_or(ExitCode::FAILURE, ExitCode::from))
    }

    /// `driver_is_docker`: the builder is Docker's own, whose image store is reached with `type=image`; from any other
    /// builder the image is carried over as an archive.
    fn arguments(&self, driver_is_docker: bool) -> Vec<OsString> {
        let mut arguments: Vec<OsString> = ["buildx", "build", "--file"].map(OsString::from).to_vec();
        arguments.push(self.file.clone().into());
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
        if let Some(platform) = &self.platform {
            flag("--platform", platform);
        }
        if self.push || self.load {
            let kind = if self.load && !driver_is_docker {
                "docker"
            } else {
                "image"
            };
            let mut output = format!("type={kind},compression={}", self.compression);
            if self.compression == "zstd" {
                output.push_str(",compression-level=1");
            }
            if self.push {
                output.push_str(",push=true");
            }
            flag("--output", &output);
        }
        arguments.extend(self.buildx.iter().cloned());
        arguments.push(match &self.context {
            Some(context) => context.clone().into(),
            None => match self.file.parent() {
                Some(parent) if !parent.as_os_str().is_empty() => parent.into(),
                _ => ".".into(),
            },
        });
        arguments
    }
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
    }

    #[test]
    fn words_survive_a_shell() {
        assert_eq!(quote("a/b:c=1"), "a/b:c=1");
        assert_eq!(quote("it's"), r"'it'\''s'");
        assert_eq!(quote(""), "''");
    }
}
