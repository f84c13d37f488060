//! `--call targets`: what `--target` takes, in the shape of BuildKit's `frontend/subrequests/targets`.

use serde_json::{Map, Value, json};

use super::super::failure::Failure;
use super::super::goal::Goal;
use super::super::place::Places;
use super::super::read;
use super::places::{Sources, columns};
use crate::diagnostic::Location;
use crate::gateway::{BuildResult, Client, Options};
use crate::spec::Spec;

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
    location: Option<Location>,
}

struct List<'a> {
    spec: &'a Spec,
    targets: Vec<Target>,
}

impl<'a> List<'a> {
    fn of(spec: &'a Spec) -> Self {
        let default = Goal::choose(spec, None).ok();
        let targets = Goal::all(spec).into_iter().map(|goal| Target {
            name: goal.to_string(),
            default: default.as_ref() == Some(&goal),
            description: goal.description(spec),
            base: goal.base(spec),
            location: goal.location(spec),
        });
        Self {
            spec,
            targets: targets.collect(),
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
                if let Some(location) = &target.location {
                    value.insert("location".to_owned(), sources.place(location));
                }
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
        TARGET            DESCRIPTION
        train             image on tier devel
        serve (default)   the service
        zed               compiled wheel
        add               sums
        wheel-store       all compiled wheels in one folder
        cache-train       train for caches, with nothing left of it
        cache-serve       serve for caches, with nothing left of it
        cache-zed         zed for caches, with nothing left of it
        cache-add         add for caches, with nothing left of it
        cache-wheel-store wheel-store for caches, with nothing left of it
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
        assert_eq!(json["targets"][4].get("location"), None);
        assert_eq!(json["targets"][6]["location"], json["targets"][1]["location"]);
        assert_eq!(json["sources"].as_array().map(Vec::len), Some(1));
    }
}
