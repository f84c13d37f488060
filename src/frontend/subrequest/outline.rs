//! `--call outline`: what a build of a target can be given, in the shape of BuildKit's `frontend/subrequests/outline`.
//!
//! The answer is read off the graph that would be built, so that it cannot say anything else than a build asks for.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::super::failure::Failure;
use super::super::goal::Goal;
use super::super::{prepare, surroundings};
use super::places::{Sources, columns};
use crate::diagnostic::Location;
use crate::gateway::{BuildResult, Client, Options};
use crate::llb::Graph;
use crate::plan::{self, Plan};
use crate::proto::pb;
use crate::spec::{Arg, Spec};

/// Version of the answer's JSON, BuildKit's.
pub(super) const VERSION: &str = "1.0.0";

/// Secrets that BuildKit's git source looks for by itself, whatever the repository is.
const GIT_SECRETS: [&str; 2] = ["git.authtokensecret", "git.authheadersecret"];

/// Describes the target: the first platform's graph, since all platforms take the same.
pub(super) async fn answer(client: &Client, options: &Options) -> Result<BuildResult, Failure> {
    let platforms = prepare::platforms(client, options)?;
    let platforms = platforms.into_iter().take(1).collect();
    let (read, questions) = prepare::prepare_all(client, options, platforms).await?;
    let goal = Goal::choose(&read.spec, options.target())?;
    let mut outline = Outline::new(&read.spec, &goal);
    for questions in &questions {
        let surroundings = surroundings(client, options, &read, &questions.named)?;
        let plan = prepare::unresolved(&read, &goal.images(&read.spec), questions)?;
        let stages = goal.stages(&read.spec, &plan)?;
        let emitted = goal.emit(&plan, &stages, &surroundings);
        outline.read(&emitted.graph);
        outline.require_store(&read.spec, &plan);
    }
    let json = outline.json(&read.spec).to_string();
    Ok(BuildResult::answer(
        json.into_bytes(),
        outline.text(&read.spec),
        VERSION,
        None,
    ))
}

/// Something that a build may be given, by its id.
#[derive(Debug, Default)]
struct Given {
    required: bool,
    location: Option<Location>,
}

#[derive(Debug)]
struct Outline {
    name: String,
    description: Option<String>,
    secrets: BTreeMap<String, Given>,
    ssh: BTreeMap<String, Given>,
    cache: BTreeMap<String, Given>,
}

impl Outline {
    fn new(spec: &Spec, goal: &Goal) -> Self {
        Self {
            name: goal.to_string(),
            description: goal.described(spec).map(str::to_owned),
            secrets: BTreeMap::new(),
            ssh: BTreeMap::new(),
            cache: BTreeMap::new(),
        }
    }

    /// Reads what the operations ask for. The place is that of the first one that asks.
    fn read(&mut self, graph: &Graph) {
        for vertex in graph.vertices() {
            let location = vertex.metadata().locations.first();
            match vertex.op().op {
                Some(pb::op::Op::Exec(exec)) => {
                    for mount in &exec.mounts {
                        if let Some(secret) = &mount.secret_opt {
                            note(&mut self.secrets, &secret.id, !secret.optional, location);
                        }
                        if let Some(ssh) = &mount.ssh_opt {
                            note(&mut self.ssh, &ssh.id, !ssh.optional, location);
                        }
                        if let Some(cache) = &mount.cache_opt {
                            note(&mut self.cache, &cache.id, false, location);
                        }
                    }
                    for secret in &exec.secretenv {
                        note(&mut self.secrets, &secret.id, !secret.optional, location);
                    }
                }
                Some(pb::op::Op::Source(source)) => {
                    let agent = source.attrs.get("git.mountsshsock");
                    if let Some(id) = agent {
                        note(&mut self.ssh, id, true, location);
                    }
                    // A repository over ssh takes no token.
                    let git = GIT_SECRETS.iter().filter(|_| agent.is_none());
                    for attr in git.chain(&["http.authheadersecret"]) {
                        if let Some(id) = source.attrs.get(*attr) {
                            note(&mut self.secrets, id, false, location);
                        }
                    }
                }
                _ => {}
            }
        }
    }

    /// A step takes the address of a compiler cache's store as it is given, and ends without one where the spec says so.
    fn require_store(&mut self, spec: &Spec, plan: &Plan) {
        let required = spec.compiler_cache.store.is_some_and(|store| store.require);
        if required && let Some(given) = self.secrets.get_mut(plan::STORE_SECRET) {
            let compiles = plan
                .iter()
                .any(|(_, stage)| matches!(stage.work, plan::Work::Compile(_)));
            given.required |= compiles;
        }
    }

    fn json(&self, spec: &Spec) -> Value {
        let mut sources = Sources::new(&spec.file);
        let mut value = Map::new();
        value.insert("name".to_owned(), json!(self.name));
        if let Some(description) = &self.description {
            value.insert("description".to_owned(), json!(description));
        }
        if !spec.args.is_empty() {
            let list = arguments(spec).into_iter().map(|arg| {
                let mut one = Map::new();
                one.insert("name".to_owned(), json!(arg.name.get_ref()));
                if let Some(description) = &arg.description {
                    one.insert("description".to_owned(), json!(description));
                }
                if let Some(given) = &arg.value {
                    one.insert("value".to_owned(), json!(given));
                }
                one.insert("location".to_owned(), sources.place(&spec.locate(&arg.name)));
                Value::Object(one)
            });
            value.insert("args".to_owned(), list.collect());
        }
        for (key, id, all) in [
            ("secrets", "name", &self.secrets),
            ("ssh", "name", &self.ssh),
            ("cache", "ID", &self.cache),
        ] {
            if !all.is_empty() {
                let list: Vec<Value> = in_order(all)
                    .into_iter()
                    .map(|(name, given)| {
                        let mut one = Map::new();
                        one.insert(id.to_owned(), json!(name));
                        if given.required {
                            one.insert("required".to_owned(), json!(true));
                        }
                        if let Some(location) = &given.location {
                            one.insert("location".to_owned(), sources.place(location));
                        }
                        Value::Object(one)
                    })
                    .collect();
                value.insert(key.to_owned(), json!(list));
            }
        }
        value.insert("sources".to_owned(), sources.texts());
        Value::Object(value)
    }

    fn text(&self, spec: &Spec) -> String {
        let row = |cells: [&str; 2]| cells.map(str::to_owned).to_vec();
        let mut head = vec![row(["TARGET:", &self.name])];
        if let Some(description) = &self.description {
            head.push(row(["DESCRIPTION:", description]));
        }
        let mut parts = vec![columns(&head, 1)];
        if !spec.args.is_empty() {
            let mut rows = vec![["BUILD ARG", "VALUE", "DESCRIPTION"].map(str::to_owned).to_vec()];
            rows.extend(arguments(spec).into_iter().map(|arg| {
                let (value, description) = (arg.value.clone(), arg.description.clone());
                vec![
                    arg.name.get_ref().clone(),
                    value.unwrap_or_default(),
                    description.unwrap_or_default(),
                ]
            }));
            parts.push(columns(&rows, 3));
        }
        for (title, all) in [("SECRET", &self.secrets), ("SSH", &self.ssh)] {
            if !all.is_empty() {
                let mut rows = vec![row([title, "REQUIRED"])];
                rows.extend(
                    in_order(all)
                        .into_iter()
                        .map(|(name, given)| row([name, if given.required { "true" } else { "" }])),
                );
                parts.push(columns(&rows, 3));
            }
        }
        if !self.cache.is_empty() {
            let mut rows = vec![vec!["CACHE MOUNT".to_owned()]];
            rows.extend(
                in_order(&self.cache)
                    .into_iter()
                    .map(|(id, _)| vec![id.to_owned()]),
            );
            parts.push(columns(&rows, 3));
        }
        parts.join("\n")
    }
}

/// The arguments of a spec in the order of the file.
fn arguments(spec: &Spec) -> Vec<&Arg> {
    let mut list: Vec<&Arg> = spec.args.values().collect();
    list.sort_by_key(|arg| arg.name.span().start);
    list
}

/// In the order of the file; what has no place comes first.
fn in_order(all: &BTreeMap<String, Given>) -> Vec<(&str, &Given)> {
    let mut list: Vec<(&str, &Given)> = all.iter().map(|(id, given)| (id.as_str(), given)).collect();
    list.sort_by_key(|(_, given)| given.location.as_ref().map(|location| location.range.start));
    list
}

fn note(all: &mut BTreeMap<String, Given>, id: &str, required: bool, location: Option<&Location>) {
    let given = all.entry(id.to_owned()).or_default();
    given.required |= required;
    if given.location.is_none() {
        given.location = location.cloned();
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::diagnostic::SourceFile;
    use crate::llb::Surroundings;

    const SPEC: &str = "name = \"a\"\n[gpu]\ncuda = \"12.8.1\"\nos = \"ubuntu22.04\"\narchs = [\"9.0\"]\n[python]\nversion = \"3.10\"\n\
        [compiler-cache]\ntool = \"sccache\"\nstore = \"redis\"\nrequire = true\n\
        [wheels.one]\nsource = { git = \"ssh://git@git.example/one\", rev = \"0123456789012345678901234567890123456789\" }\n\
        [wheels.two]\nsource = { git = \"https://git.example/two\", rev = \"4123456789012345678901234567890123456789\", token = \"TWO\" }\n\
        [images.serve]\nwheels = [\"one\", \"two\"]\ndescription = \"the service\"\nsystem = [\"libgomp1\"]\n";

    fn outline(target: &str) -> (Spec, Outline) {
        let (spec, _) = Spec::parse(&SourceFile::new("wheelbase.toml", SPEC)).unwrap();
        let goal = Goal::choose(&spec, Some(target)).unwrap();
        let plan = plan::testing::planned(SPEC, None, &plan::StandIns::default());
        let surroundings = Surroundings::default();
        let stages = goal.stages(&spec, &plan).unwrap();
        let emitted = goal.emit(&plan, &stages, &surroundings);
        let mut outline = Outline::new(&spec, &goal);
        outline.read(&emitted.graph);
        outline.require_store(&spec, &plan);
        (spec, outline)
    }

    #[test]
    fn an_image_asks_for_all_that_its_steps_ask_for() {
        let (spec, outline) = outline("serve");
        let ids: BTreeSet<&str> = outline.secrets.keys().map(String::as_str).collect();
        assert!(
            ids.is_superset(&BTreeSet::from(["GIT_AUTH_HEADER", "TWO", "ca", "sccache"])),
            "{ids:?}"
        );
        assert!(!ids.contains("GIT_AUTH_TOKEN"), "{ids:?}");
        assert!(outline.secrets["sccache"].required && !outline.secrets["ca"].required);
        assert!(outline.ssh["default"].required);
        let json = outline.json(&spec);
        assert_eq!(
            (&json["name"], &json["description"]),
            (&json!("serve"), &json!("the service"))
        );
        let ssh = &json["ssh"][0];
        assert_eq!(
            (&ssh["name"], &ssh["required"]),
            (&json!("default"), &json!(true))
        );
        assert_eq!(ssh["location"]["ranges"][0]["start"]["line"], 12);
        assert!(
            json["cache"]
                .as_array()
                .unwrap()
                .iter()
                .any(|cache| cache["ID"] == "wheelbase-slots-1")
        );
        let text = outline.text(&spec);
        assert!(
            text.starts_with("TARGET:      serve\nDESCRIPTION: the service\n\nSECRET"),
            "{text}"
        );
        assert!(text.contains("\nSSH       REQUIRED\ndefault   true\n"), "{text}");
    }

    #[test]
    fn a_wheel_asks_for_its_own() {
        let (_, outline) = outline("two");
        assert!(outline.ssh.is_empty());
        assert!(outline.secrets.contains_key("TWO"));
    }

    #[test]
    fn all_wheels_and_a_target_for_caches_ask_for_what_they_are_made_of() {
        for target in ["wheel-store", "cache-wheel-store", "cache-serve"] {
            let (spec, outline) = outline(target);
            assert!(outline.ssh["default"].required, "{target}");
            assert!(outline.secrets.contains_key("TWO"), "{target}");
            assert_eq!(outline.json(&spec)["name"], target);
        }
    }

    #[test]
    fn arguments_are_listed_in_the_order_of_the_file() {
        let text = "name = \"a\"\n[gpu]\ncuda = \"12.8.1\"\nos = \"ubuntu22.04\"\n[python]\nversion = \"3.10\"\n\
            [args.WORKERS]\ndefault = 2\ndescription = \"of the server\"\n[args.LOG]\ntype = \"string\"\n\
            [images.serve]\nenv = { WORKERS = \"${WORKERS}\" }\n";
        let given = BTreeMap::from([("WORKERS".to_owned(), "4".to_owned())]);
        let (spec, _) = Spec::parse_with(&SourceFile::new("wheelbase.toml", text), &given).unwrap();
        let outline = Outline::new(&spec, &Goal::choose(&spec, None).unwrap());
        let json = outline.json(&spec);
        let names: Vec<&Value> = json["args"]
            .as_array()
            .unwrap()
            .iter()
            .map(|arg| &arg["name"])
            .collect();
        assert_eq!(names, ["WORKERS", "LOG"]);
        assert_eq!(
            (&json["args"][0]["value"], &json["args"][0]["description"]),
            (&json!("4"), &json!("of the server"))
        );
        assert_eq!(json["args"][0]["location"]["ranges"][0]["start"]["line"], 7);
        assert!(json["args"][1].get("value").is_none());
        assert!(
            outline
                .text(&spec)
                .contains("BUILD ARG   VALUE   DESCRIPTION\nWORKERS     4       of the server"),
            "{}",
            outline.text(&spec)
        );
    }
}
