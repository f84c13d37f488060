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
        let arguments = self.arguments();
        if self.print {
            let words: Vec<String> =
                arguments.iter().map(|word| quote(&word.to_string_lossy())).collect();
            super::print(format!("docker {}\n", words.join(" ")).as_bytes())?;
            return Ok(ExitCode::SUCCESS);
        }
        let status = Command::new("docker")
            .args(&arguments)
            .status()
            .context("failed to run `docker`; `wheelbase build` needs Docker with buildx")?;
        // Docker's own exit status, so that scripts see what they would see without us.
        Ok(status.code().and_then(|code| u8::try_from(code).ok()).map_or(ExitCode::FAILURE, ExitCode::from))
    }

    fn arguments(&self) -> Vec<OsString> {
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
            // The docker driver's own store is reached through `type=image`; other drivers refuse its name.
            let mut output = format!("type=image,compression={}", self.compression);
            if self.compression == "zstd" {
                output.push_str(",compression-level=1");
            }
            output.push_str(if self.push { ",push=true" } else { ",unpack=true" });
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

    #[test]
    fn words_survive_a_shell() {
        assert_eq!(quote("a/b:c=1"), "a/b:c=1");
        assert_eq!(quote("it's"), r"'it'\''s'");
        assert_eq!(quote(""), "''");
    }
}
