//! `wheelbase bake`: the images of a spec as a file for `docker buildx bake`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, anyhow, bail};
use clap::Args;
use serde_json::{Map, Value, json};

use super::Input;
use super::build::{context_of, output};
use super::load::Loaded;
use super::variants::Variants;
use super::wheels::Common;
use crate::diagnostic::Diagnostic;
use crate::platform::Platform;
use crate::spec::{Combination, WHEEL_STORE};

mod names;
mod wheels;

/// The group with all images.
const DEFAULT: &str = "default";

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
    /// Name of each built image, with `{image}` in the place of its name in the spec; may be given several times. With a
    /// [matrix], `{variant}` stands for the values of a combination and `{NAME}` for that of one argument; a tag without
    /// either has `-{variant}` at its end.
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

/// A target for an image.
#[derive(Debug)]
struct Target {
    name: String,
    image: String,
    value: Value,
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
        let done = match Variants::read(&input)? {
            Ok(Some(variants)) => self.run_variants(&variants, &input)?,
            Ok(None) => self.run_alone(&input)?,
            Err(errors) => Err(errors),
        };
        match done {
            Ok(()) => Ok(ExitCode::SUCCESS),
            Err(errors) => {
                super::report(&errors);
                Ok(ExitCode::FAILURE)
            }
        }
    }

    /// The images of a spec without a matrix.
    fn run_alone(&self, input: &Input) -> anyhow::Result<Result<(), Vec<Diagnostic>>> {
        let loaded = match input.load()? {
            Ok(loaded) => loaded,
            Err(errors) => return Ok(Err(errors)),
        };
        super::report(&loaded.settings.keep(loaded.warnings.clone()));
        self.know_images(&loaded)?;
        let images: Vec<&str> = loaded.images.iter().map(String::as_str).collect();
        let mut groups = BTreeMap::new();
        let targets = self.image_targets(&images, &[Combination::default()])?;
        groups.insert(
            DEFAULT.to_owned(),
            targets.iter().map(|target| target.name.clone()).collect(),
        );
        self.print(targets, groups, &[Combination::default()])?;
        Ok(Ok(()))
    }

    /// The images of a spec in all combinations that are asked for.
    fn run_variants(
        &self,
        variants: &Variants,
        input: &Input,
    ) -> anyhow::Result<Result<(), Vec<Diagnostic>>> {
        let platforms = self.platforms()?;
        let combinations = variants.chosen(&input.arguments(), &platforms);
        let Some(first) = combinations.first() else {
            bail!(variants.refusal(&input.arguments(), &platforms));
        };
        if let Ok(loaded) = input.of(first, input.platform.clone()).load()? {
            self.know_images(&loaded)?;
        }
        let planned_for = if platforms.is_empty() {
            vec![input.platform.clone()]
        } else {
            platforms
        };
        let planned = variants.plan(&combinations, input, &planned_for, |loaded| {
            loaded.settings.keep(loaded.warnings.clone())
        })?;
        super::report(&planned.warnings);
        let Some(loaded) = planned.first.filter(|_| planned.errors.is_empty()) else {
            return Ok(Err(planned.errors));
        };
        let images: Vec<&str> = loaded.images.iter().map(String::as_str).collect();
        let targets = self.image_targets(&images, &combinations)?;
        let mut groups: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for Target { name, image, .. } in &targets {
            for group in [DEFAULT.to_owned(), names::name(image)] {
                groups.entry(group).or_default().push(name.clone());
            }
        }
        let own = |name: &str| name == DEFAULT || (self.wheel_store && name == WHEEL_STORE);
        if let Some(image) = images.iter().find(|image| own(&names::name(image))) {
            bail!("an image and a group both are called `{image}`; rename the image");
        }
        self.print(targets, groups, &combinations)?;
        Ok(Ok(()))
    }

    /// An error unless there are all images that are named.
    fn know_images(&self, loaded: &Loaded) -> anyhow::Result<()> {
        let known: Vec<&str> = loaded.spec.images.keys().map(String::as_str).collect();
        for image in &self.images {
            if !known.contains(&image.as_str()) {
                match crate::diagnostic::nearest(image, known.iter().copied()) {
                    Some(near) => bail!("no image is called `{image}`; did you mean `{near}`?"),
                    None => bail!("no image is called `{image}`; there are: {}", known.join(", ")),
                }
            }
        }
        Ok(())
    }

    /// The platforms that are given.
    fn platforms(&self) -> anyhow::Result<Vec<Platform>> {
        let given = self.build.platform.as_deref().unwrap_or_default();
        let words = given.split(',').map(str::trim).filter(|word| !word.is_empty());
        words
            .map(|word| word.parse().map_err(|error| anyhow!("{error}")))
            .collect()
    }

    /// Prints the file, with the compiled wheels where they are asked for.
    fn print(
        &self,
        targets: Vec<Target>,
        mut groups: BTreeMap<String, Vec<String>>,
        combinations: &[Combination<'_>],
    ) -> anyhow::Result<()> {
        let mut all: BTreeMap<String, Value> = targets
            .into_iter()
            .map(|target| (target.name, target.value))
            .collect();
        if self.wheel_store {
            let asked = self.ask_wheels(combinations)?;
            let wheels = self.wheel_targets(&asked)?;
            groups.insert(WHEEL_STORE.to_owned(), wheels.keys().cloned().collect());
            for (name, target) in wheels {
                if all.insert(name.clone(), target).is_some() {
                    bail!("an image and a wheel both are the target `{name}`; rename the image");
                }
            }
        }
        // `docker buildx bake default` would mean both; without a matrix that has always been so.
        if let Some(name) = groups
            .keys()
            .find(|name| *name != DEFAULT && all.contains_key(*name))
        {
            bail!("a group and a target both are called `{name}`; rename the image");
        }
        let groups: Map<String, Value> = groups
            .into_iter()
            .map(|(name, targets)| (name, json!({ "targets": targets })))
            .collect();
        let file = as_it_is(json!({ "group": groups, "target": all }));
        super::print(format!("{file:#}\n").as_bytes())
    }

    /// A target for each image in each combination.
    fn image_targets(
        &self,
        images: &[&str],
        combinations: &[Combination<'_>],
    ) -> anyhow::Result<Vec<Target>> {
        if let Some(tag) = self.tag.iter().find(|tag| !names::names_image(tag))
            && images.len() > 1
        {
            bail!(
                "all {} images would be named {tag}: write {{image}} in it",
                images.len()
            );
        }
        let mut targets: Vec<Target> = Vec::new();
        let mut known = BTreeSet::new();
        let mut named: BTreeMap<String, String> = BTreeMap::new();
        for image in images {
            for combination in combinations {
                let name = names::target(image, combination);
                if !known.insert(name.clone()) {
                    if combinations.len() == 1 {
                        bail!("two images both are the target `{name}`; rename one");
                    }
                    bail!(
                        "two variants both are the target `{name}`: names have letters, digits, `_` and `-`, and nothing else of \
                         their values differs"
                    );
                }
                let mut value = self.target(image, combination)?;
                let mut tags = Vec::new();
                for template in &self.tag {
                    let tag = names::tag(template, image, combination)?;
                    if let Some(other) = named.insert(tag.clone(), name.clone())
                        && other != name
                    {
                        bail!(
                            "`{other}` and `{name}` both would be named {tag}: write {{variant}} in the tag"
                        );
                    }
                    tags.push(tag);
                }
                if !tags.is_empty() {
                    value["tags"] = json!(tags);
                }
                if let Some(platform) = combination.platform() {
                    value["platforms"] = json!([platform]);
                } else if let Some(platforms) = &self.build.platform {
                    value["platforms"] = platforms.split(',').map(str::trim).collect();
                }
                value["output"] = json!([output("image", &self.compression, false)]);
                targets.push(Target {
                    name,
                    image: (*image).to_owned(),
                    value,
                });
            }
        }
        Ok(targets)
    }

    /// What every target has.
    fn target(&self, target: &str, combination: &Combination<'_>) -> anyhow::Result<Value> {
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
        let varied = combination
            .args()
            .map(|(name, value)| (name.to_owned(), value.to_owned()));
        let arguments: BTreeMap<String, String> = given.chain(varied).collect();
        if !arguments.is_empty() {
            value["args"] = json!(arguments);
        }
        Ok(value)
    }
}

/// A file whose strings bake takes as they are: `${` and `%{` begin templates of HCL, in JSON too.
fn as_it_is(value: Value) -> Value {
    match value {
        Value::String(text) => Value::String(text.replace("${", "$${").replace("%{", "%%{")),
        Value::Array(items) => items.into_iter().map(as_it_is).collect(),
        Value::Object(entries) => entries
            .into_iter()
            .map(|(name, value)| (name, as_it_is(value)))
            .collect(),
        other => other,
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnostic::SourceFile;
    use crate::spec::Matrix;

    pub(super) fn bake(arguments: &[&str]) -> Bake {
        #[derive(clap::Parser)]
        struct Line {
            #[command(flatten)]
            bake: Bake,
        }
        <Line as clap::Parser>::parse_from(["bake"].iter().chain(arguments)).bake
    }

    /// The matrix of these lines, over arguments that may be any text.
    pub(super) fn matrix(lines: &str) -> Matrix {
        let args = ["cuda", "python", "os"].map(|name| format!("[args.{name}]\ntype = \"string\"\n"));
        let text = format!("{}[matrix]\n{lines}\n", args.concat());
        let read = Matrix::read(&SourceFile::new("wheelbase.toml", text));
        read.unwrap().unwrap().0
    }

    fn targets(
        bake: &Bake,
        images: &[&str],
        combinations: &[Combination<'_>],
    ) -> anyhow::Result<Vec<(String, Value)>> {
        let targets = bake.image_targets(images, combinations)?;
        Ok(targets
            .into_iter()
            .map(|target| (target.name, target.value))
            .collect())
    }

    fn alone(bake: &Bake, images: &[&str]) -> anyhow::Result<Vec<(String, Value)>> {
        targets(bake, images, &[Combination::default()])
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
        let targets = alone(&bake, &["serve", "train.gpu"]).unwrap();
        let [(serve, _), (train, target)] = targets.as_slice() else {
            panic!("{targets:?}")
        };
        assert_eq!((serve.as_str(), train.as_str()), ("serve", "train-gpu"));
        assert_eq!(
            *target,
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
    fn each_combination_is_a_target() {
        let bake = bake(&[
            "--tag",
            "app:1.2",
            "--build-arg",
            "REVISION=${x}",
            "--build-arg",
            "cuda=12.8.1",
        ]);
        let matrix =
            matrix("cuda = [\"12.8.1\"]\npython = [\"3.11\", \"3.12\"]\nplatform = [\"linux/arm64\"]");
        let targets = targets(&bake, &["serve"], &matrix.combinations()).unwrap();
        let names: Vec<&str> = targets.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(
            names,
            [
                "serve-cuda-12-8-1-python-3-11-arm64",
                "serve-cuda-12-8-1-python-3-12-arm64"
            ]
        );
        assert_eq!(
            as_it_is(targets[1].1.clone()),
            json!({
                "context": ".",
                "dockerfile": "wheelbase.toml",
                "target": "serve",
                "args": { "REVISION": "$${x}", "cuda": "12.8.1", "python": "3.12" },
                "tags": ["app:1.2-cuda12.8.1-python3.12-arm64"],
                "platforms": ["linux/arm64"],
                "output": ["type=image,compression=zstd,compression-level=1"],
            })
        );
    }

    #[test]
    fn compression_can_be_chosen() {
        let targets = alone(&bake(&["--compression", "gzip"]), &["serve"]).unwrap();
        assert_eq!(targets[0].1["output"], json!(["type=image,compression=gzip"]));
        assert_eq!(targets[0].1["context"], ".");
    }

    #[test]
    fn what_would_be_overwritten_is_refused() {
        let refused = |tag: &str, images: &[&str], combinations: &[Combination<'_>]| {
            let error = targets(&bake(&["--tag", tag]), images, combinations).unwrap_err();
            error.to_string()
        };
        let none = [Combination::default()];
        let error = refused("app:1", &["a", "b"], &none);
        assert!(error.contains("write {image} in it"), "{error}");
        let error = refused("app:{image}", &["a.b", "a-b"], &none);
        assert!(error.contains("two images both are the target `a-b`"), "{error}");
        let matrix = matrix("cuda = [\"12.8.1\", \"12-8-1\"]\npython = [\"3.11\", \"3.12\"]");
        let all = matrix.combinations();
        let error = refused("app:{cuda}", &["a"], &all[..2]);
        assert_eq!(
            error,
            "`a-cuda-12-8-1-python-3-11` and `a-cuda-12-8-1-python-3-12` both would be named app:12.8.1: write {variant} in \
             the tag"
        );
        let error = refused("app:1", &["a"], &all);
        assert!(error.contains("two variants both are the target"), "{error}");
    }

    #[test]
    fn the_spec_is_seen_from_the_context() {
        let seen = |context: &str, file: &str| beside(Path::new(context), Path::new(file)).unwrap();
        assert_eq!(seen("a", "a/b/wheelbase.toml"), Path::new("b/wheelbase.toml"));
        assert_eq!(seen(".", "wheelbase.toml"), Path::new("wheelbase.toml"));
        assert!(seen("a", "b/wheelbase.toml").is_absolute());
    }
}
