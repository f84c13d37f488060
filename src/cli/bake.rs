//! `wheelbase bake`: the images of a spec as a file for `docker buildx bake`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, bail};
use clap::Args;
use serde_json::{Map, Value, json};

use super::Input;
use super::build::{context_of, output};
use super::wheels::{Answer, Common, OUTPUT};
use crate::platform::Platform;
use crate::spec::WHEEL_STORE;

/// What is replaced by the name of the image in a tag.
const IMAGE: &str = "{image}";

/// Prints a bake file: a target for each image, and the group `default` of all of them.
///
/// `wheelbase bake --tag registry.example/app:{image} | docker buildx bake -f - --push` builds and pushes them at the same
/// time, with zstd layers. With `--wheel-store` the file has a target for each compiled wheel too, and the group `wheel-store`,
/// which pushes them under their keys: that asks the builder what the keys are, so build it at once. The target `wheel-store`
/// of `docker buildx build` is another thing: it leaves all wheels in one folder.
#[derive(Debug, Args)]
pub(super) struct Bake {
    /// The images; all of them when none is named.
    images: Vec<String>,
    /// Name of each built image, with `{image}` in the place of its name in the spec; may be given several times.
    #[arg(short, long)]
    tag: Vec<String>,
    /// Compression of new layers.
    #[arg(long, default_value = "zstd", value_parser = ["zstd", "gzip", "estargz", "uncompressed"])]
    compression: String,
    /// Adds the compiled wheels as targets that fill the wheel store.
    #[arg(long)]
    wheel_store: bool,
    #[command(flatten)]
    build: Common,
}

impl Bake {
    pub(super) fn run(&self) -> anyhow::Result<ExitCode> {
        // The images do not depend on what is built for.
        let input = Input {
            images: self.images.clone(),
            file: self.build.file.clone(),
            context: self.build.context.clone(),
            platform: Platform::linux_amd64(),
            build_arg: self.build.build_arg.clone(),
        };
        let loaded = match input.load()? {
            Ok(loaded) => loaded,
            Err(errors) => {
                super::report(&errors);
                return Ok(ExitCode::FAILURE);
            }
        };
        super::report(&loaded.settings.keep(loaded.warnings.clone()));
        let known: Vec<&str> = loaded.spec.images.keys().map(String::as_str).collect();
        for image in &self.images {
            if !known.contains(&image.as_str()) {
                match crate::diagnostic::nearest(image, known.iter().copied()) {
                    Some(near) => bail!("no image is called `{image}`; did you mean `{near}`?"),
                    None => bail!("no image is called `{image}`; there are: {}", known.join(", ")),
                }
            }
        }
        let images: Vec<&str> = loaded.images.iter().map(String::as_str).collect();
        let mut targets = self.image_targets(&images)?;
        let mut groups = Map::new();
        groups.insert("default".to_owned(), group(targets.keys()));
        if self.wheel_store {
            let wheels = self.wheel_targets(&self.build.wheels()?)?;
            groups.insert(WHEEL_STORE.to_owned(), group(wheels.keys()));
            for (name, target) in wheels {
                if targets.insert(name.clone(), target).is_some() {
                    bail!("an image and a wheel both are the target `{name}`; rename the image");
                }
            }
        }
        let file = json!({ "group": groups, "target": targets });
        super::print(format!("{file:#}\n").as_bytes())?;
        Ok(ExitCode::SUCCESS)
    }

    /// A target for each image.
    fn image_targets(&self, images: &[&str]) -> anyhow::Result<BTreeMap<String, Value>> {
        if let Some(tag) = self.tag.iter().find(|tag| !tag.contains(IMAGE))
            && images.len() > 1
        {
            bail!(
                "all {} images would be named {tag}: write {IMAGE} in it",
                images.len()
            );
        }
        let mut targets = BTreeMap::new();
        for image in images {
            let mut target = self.target(image)?;
            if !self.tag.is_empty() {
                target["tags"] = self.tag.iter().map(|tag| tag.replace(IMAGE, image)).collect();
            }
            if let Some(platforms) = &self.build.platform {
                target["platforms"] = platforms.split(',').map(str::trim).collect();
            }
            target["output"] = json!([output("image", &self.compression, false)]);
            if targets.insert(name(image), target).is_some() {
                bail!("two images both are the target `{}`; rename one", name(image));
            }
        }
        Ok(targets)
    }

    /// A target for each compiled wheel, which has a key of its own for each platform.
    fn wheel_targets(&self, wheels: &[Answer]) -> anyhow::Result<BTreeMap<String, Value>> {
        let several = wheels.iter().any(|wheel| wheel.platform != wheels[0].platform);
        let mut targets = BTreeMap::new();
        for wheel in wheels {
            let mut target = self.target(&wheel.wheel)?;
            target["tags"] = json!([wheel.reference, wheel.newest]);
            target["platforms"] = json!([wheel.platform]);
            target["output"] = json!([OUTPUT]);
            let of_platform = if several {
                format!("-{}", wheel.platform.replace('/', "-"))
            } else {
                String::new()
            };
            let name = name(&format!("wheel-{}{of_platform}", wheel.wheel));
            // Images may need it in several resolutions of the lock; the target builds it in the first image's.
            targets.entry(name).or_insert(target);
        }
        Ok(targets)
    }

    /// What every target has.
    fn target(&self, target: &str) -> anyhow::Result<Value> {
        let Common { file, context, .. } = &self.build;
        let context = context_of(context.as_deref(), file);
        let file = beside(Path::new(&context), file)?;
        let mut value = json!({
            "context": text(Path::new(&context))?,
            "dockerfile": text(&file)?,
            "target": target,
        });
        let given = self
            .build
            .build_arg
            .iter()
            .filter_map(|given| match given.split_once('=') {
                Some((name, value)) => Some((name.to_owned(), value.to_owned())),
                // As buildx does: the variable of that name.
                None => Some((given.clone(), std::env::var(given).ok()?)),
            });
        let arguments: BTreeMap<String, String> = given.collect();
        if !arguments.is_empty() {
            value["args"] = json!(arguments);
        }
        Ok(value)
    }
}

/// The spec as bake looks for it: below the context, or by its full path.
fn beside(context: &Path, file: &Path) -> anyhow::Result<PathBuf> {
    let below = |context: &Path, file: &Path| file.strip_prefix(context).ok().map(Path::to_owned);
    if let Some(file) = below(context, file) {
        return Ok(file);
    }
    let absolute = |path: &Path| {
        std::path::absolute(path).with_context(|| format!("{} has no absolute path", path.display()))
    };
    let file = absolute(file)?;
    Ok(below(&absolute(context)?, &file).unwrap_or(file))
}

fn text(path: &Path) -> anyhow::Result<&str> {
    path.to_str()
        .with_context(|| format!("{} cannot stand in JSON: it is not UTF-8", path.display()))
}

/// A name as bake takes it: letters, digits, `_` and `-`.
fn name(text: &str) -> String {
    text.replace('.', "-")
}

fn group<'a>(targets: impl Iterator<Item = &'a String>) -> Value {
    json!({ "targets": targets.collect::<Vec<_>>() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bake(arguments: &[&str]) -> Bake {
        #[derive(clap::Parser)]
        struct Line {
            #[command(flatten)]
            bake: Bake,
        }
        <Line as clap::Parser>::parse_from(["bake"].iter().chain(arguments)).bake
    }

    #[test]
    fn each_image_is_a_target() {
        let bake = bake(&[
            "-f",
            "a/wheelbase.toml",
            "--tag",
            "app:{image}",
            "--platform",
            "linux/amd64,linux/arm64",
        ]);
        let targets = bake.image_targets(&["serve", "train.gpu"]).unwrap();
        assert_eq!(targets.keys().collect::<Vec<_>>(), ["serve", "train-gpu"]);
        assert_eq!(
            targets["train-gpu"],
            json!({
                "context": "a",
                "dockerfile": "wheelbase.toml",
                "target": "train.gpu",
                "tags": ["app:train.gpu"],
                "platforms": ["linux/amd64", "linux/arm64"],
                "output": ["type=image,compression=zstd,compression-level=1"],
            })
        );
    }

    #[test]
    fn compression_can_be_chosen() {
        let targets = bake(&["--compression", "gzip"])
            .image_targets(&["serve"])
            .unwrap();
        assert_eq!(targets["serve"]["output"], json!(["type=image,compression=gzip"]));
        assert_eq!(targets["serve"]["context"], ".");
    }

    #[test]
    fn what_would_be_overwritten_is_refused() {
        let error = bake(&["--tag", "app:1"]).image_targets(&["a", "b"]).unwrap_err();
        assert!(error.to_string().contains("write {image} in it"), "{error}");
        let error = bake(&[]).image_targets(&["a.b", "a-b"]).unwrap_err();
        assert!(error.to_string().contains("both are the target `a-b`"), "{error}");
    }

    #[test]
    fn each_wheel_is_a_target_for_its_own_platform() {
        let answer = |platform: &str| -> Answer {
            let key = platform.replace('/', "");
            serde_json::from_value(json!({
                "wheel": "kernel",
                "platform": platform,
                "reference": format!("zot.example/wheels:kernel-{key}"),
                "newest": format!("zot.example/wheels:kernel.{key}"),
                "image": null,
                "notes": {},
                "since": null,
            }))
            .unwrap()
        };
        let bake = bake(&[]);
        let one = bake.wheel_targets(&[answer("linux/amd64")]).unwrap();
        assert_eq!(one.keys().collect::<Vec<_>>(), ["wheel-kernel"]);
        let both = bake
            .wheel_targets(&[answer("linux/amd64"), answer("linux/arm64")])
            .unwrap();
        assert_eq!(
            both.keys().collect::<Vec<_>>(),
            ["wheel-kernel-linux-amd64", "wheel-kernel-linux-arm64"]
        );
        let arm = &both["wheel-kernel-linux-arm64"];
        assert_eq!(arm["platforms"], json!(["linux/arm64"]));
        assert_eq!(
            arm["tags"],
            json!([
                "zot.example/wheels:kernel-linuxarm64",
                "zot.example/wheels:kernel.linuxarm64"
            ])
        );
    }

    #[test]
    fn the_spec_is_seen_from_the_context() {
        let seen = |context: &str, file: &str| beside(Path::new(context), Path::new(file)).unwrap();
        assert_eq!(seen("a", "a/b/wheelbase.toml"), Path::new("b/wheelbase.toml"));
        assert_eq!(seen(".", "wheelbase.toml"), Path::new("wheelbase.toml"));
        assert!(seen("a", "b/wheelbase.toml").is_absolute());
    }
}
