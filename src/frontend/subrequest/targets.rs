//! `--call targets`: what `--target` takes, in the shape of BuildKit's `frontend/subrequests/targets`.

use serde_json::{Map, Value, json};

use super::super::failure::Failure;
use super::super::place::Places;
use super::super::{prepare, read};
use super::places::{Sources, columns};
use crate::diagnostic::Location;
use crate::gateway::{BuildResult, Client, Options};
use crate::spec::{Spec, Tier};

/// Version of the answer's JSON, BuildKit's.
pub(super) const VERSION: &str = "1.0.0";

/// Lists the targets. The lock has no say in it, and is not read.
pub(super) async fn answer(client: &Client, options: &Options) -> Result<BuildResult, Failure> {
    let places = Places::find(client, options).await?;
    let read = read::definition(client, options, &places).await?;
    let list = List::of(&read.spec);
    Ok(BuildResult::answer(
        list.json().to_string().into_bytes(),
        list.text(),
        VERSION,
        None,
    ))
}

/// One target.
struct Target {
    name: String,
    default: bool,
    description: String,
    base: Option<String>,
    location: Location,
}

struct List<'a> {
    spec: &'a Spec,
    targets: Vec<Target>,
}

impl<'a> List<'a> {
    /// Images first, then the wheels that are compiled; both in the order of the file.
    fn of(spec: &'a Spec) -> Self {
        let default = prepare::choose(spec, None).ok();
        let base = |tier: Tier| Some(spec.gpu.tiers.get(&tier)?.get_ref().clone());
        let mut images: Vec<_> = spec.images.values().collect();
        images.sort_by_key(|image| image.name.span().start);
        let images = images.into_iter().map(|image| {
            let tier = *image.tier.get_ref();
            let name = image.name.get_ref().clone();
            Target {
                default: default.as_ref().is_some_and(|goal| goal.name() == name),
                description: image
                    .description
                    .clone()
                    .unwrap_or_else(|| format!("image on tier {}", tier.as_str())),
                base: base(tier),
                location: spec.locate(&image.name),
                name,
            }
        });
        let mut wheels: Vec<_> = spec
            .wheels
            .iter()
            .filter(|(_, wheel)| wheel.is_compiled())
            .collect();
        wheels.sort_by_key(|(_, wheel)| wheel.name.span().start);
        let wheels = wheels.into_iter().map(|(name, wheel)| Target {
            name: name.clone(),
            default: false,
            description: wheel
                .description
                .clone()
                .unwrap_or_else(|| "compiled wheel".to_owned()),
            base: base(Tier::Devel),
            location: spec.locate(&wheel.name),
        });
        Self {
            spec,
            targets: images.chain(wheels).collect(),
        }
    }

    fn json(&self) -> Value {
        let mut sources = Sources::new(&self.spec.file);
        let targets: Vec<Value> = self
            .targets
            .iter()
            .map(|target| {
                let mut value = Map::new();
                value.insert("name".to_owned(), json!(target.name));
                if target.default {
                    value.insert("default".to_owned(), json!(true));
                }
                value.insert("description".to_owned(), json!(target.description));
                if let Some(base) = &target.base {
                    value.insert("base".to_owned(), json!(base));
                }
                value.insert("location".to_owned(), sources.place(&target.location));
                Value::Object(value)
            })
            .collect();
        json!({ "targets": targets, "sources": sources.texts() })
    }

    fn text(&self) -> String {
        let mut rows = vec![vec!["TARGET".to_owned(), "DESCRIPTION".to_owned()]];
        rows.extend(self.targets.iter().map(|target| {
            let mark = if target.default { " (default)" } else { "" };
            vec![format!("{}{mark}", target.name), target.description.clone()]
        }));
        columns(&rows, 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnostic::SourceFile;

    #[test]
    fn images_come_first_and_the_default_is_marked() {
        let text = "name = \"a\"\ndefault = \"serve\"\n[gpu]\ncuda = \"12.8.1\"\nos = \"ubuntu22.04\"\narchs = [\"9.0\"]\n[python]\n\
                    version = \"3.10\"\n[wheels.zed]\nsource = { lock = true }\n[wheels.Add]\nsource = { lock = true }\n\
                    description = \"sums\"\n[wheels.ready]\nsource = { wheel = \"w/ready-1-py3-none-any.whl\" }\n[images.train]\n\
                    wheels = [\"zed\", \"add\"]\ntier = \"devel\"\n[images.serve]\npackages = [\"s\"]\ndescription = \"the service\"\n";
        let (spec, _) = Spec::parse(&SourceFile::new("wheelbase.toml", text)).unwrap();
        let list = List::of(&spec);
        insta::assert_snapshot!(list.text(), @r"
        TARGET          DESCRIPTION
        train           image on tier devel
        serve (default) the service
        zed             compiled wheel
        add             sums
        ");
        let json = list.json();
        assert_eq!(json["targets"][1]["default"], true);
        assert_eq!(json["targets"][0].get("default"), None);
        assert_eq!(
            json["targets"][1]["base"],
            "docker.io/nvidia/cuda:12.8.1-runtime-ubuntu22.04"
        );
        assert_eq!(json["targets"][3]["name"], "add");
        assert_eq!(json["targets"][3]["location"]["ranges"][0]["start"]["line"], 11);
        assert_eq!(json["sources"].as_array().map(Vec::len), Some(1));
    }
}
