//! The plan as a finished image carries it: small, and enough to say later why another build differs.
//!
//! Chains of requirements are left out of what is written: they are needed for the newer of two plans only, and
//! that one is at hand in full.

use std::collections::BTreeMap;
use std::fmt;

use serde_json::{Map, Value, json};

use super::key::{Input, sha256};
use super::model::{ImagePlan, Plan, Stage};
use crate::platform::Platform;

/// Label and, after `frontend.`, result metadata key of the compact plan.
pub const LABEL: &str = "dev.wheelbase.plan";

/// Digits that a digest is cut to.
const CUT: usize = 16;

/// Format of the compact plan; readers refuse a greater one.
const VERSION: u64 = 1;

/// The plan of one image with all digests cut.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompactPlan {
    /// `name` of the spec.
    pub name: String,
    /// Name of the image.
    pub image: String,
    /// What it is built for, as [`Platform`] writes it.
    pub platform: String,
    /// The stages that the image stands on, dependencies first.
    pub stages: Vec<CompactStage>,
    /// What the image config says, by words such as `Entrypoint` or `Env CC`; values are digests cut to eight
    /// digits. `None` where the plan was written without it.
    pub config: Option<BTreeMap<String, String>>,
}

/// A stage of a [`CompactPlan`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompactStage {
    /// Unique within the plan.
    pub name: String,
    /// Twelve digits.
    pub key: String,
    /// In the order in which they are in the key. An input that is a digest is cut to sixteen digits.
    pub inputs: Vec<Input>,
}

/// Why a text is no compact plan that this release understands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReadError {
    /// Nothing in it is a plan.
    Missing,
    /// A later release wrote it; its format.
    Newer(u64),
    /// The place that is wrong, and what should be there.
    Wrong {
        /// Such as `stages[2].key`.
        place: String,
        /// Such as `a text`.
        expected: &'static str,
    },
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing => write!(
                f,
                "there is no plan in it: neither the label `{LABEL}` of an image, nor `frontend.{LABEL}` of a \
                 metadata file, nor a plan itself"
            ),
            Self::Newer(version) => write!(
                f,
                "the plan has format {version}, and this release reads formats up to {VERSION}: use a later release"
            ),
            Self::Wrong { place, expected } => write!(f, "the plan is damaged: `{place}` is not {expected}"),
        }
    }
}

impl std::error::Error for ReadError {}

/// The compact plan of one image as JSON; `None` when the plan has no such image.
pub fn compact(plan: &Plan, image: &str) -> Option<Value> {
    CompactPlan::of(plan, image).map(CompactPlan::into_json)
}

impl CompactPlan {
    /// Cuts the plan of one image down; `None` when the plan has no such image. Unlike what is read from a file, the
    /// inputs keep their chains of requirements.
    pub fn of(plan: &Plan, image: &str) -> Option<Self> {
        let image_plan = plan.images.get(image)?;
        let stages = used(plan, image_plan)
            .into_iter()
            .map(|stage| CompactStage {
                name: stage.name.clone(),
                key: stage.key.short().to_owned(),
                inputs: stage.inputs.iter().map(shortened).collect(),
            })
            .collect();
        Some(Self {
            name: plan.name.clone(),
            image: image.to_owned(),
            platform: plan.platform.to_string(),
            stages,
            config: Some(config(&image_plan.config)),
        })
    }

    /// What an image carries.
    pub fn into_json(self) -> Value {
        let stages: Vec<Value> = self
            .stages
            .into_iter()
            .map(|stage| {
                let pair = |input: Input| Value::Array(vec![input.name.into(), input.value.into()]);
                let inputs: Vec<Value> = stage.inputs.into_iter().map(pair).collect();
                json!({ "name": stage.name, "key": stage.key, "inputs": inputs })
            })
            .collect();
        let mut value = json!({
            "version": VERSION,
            "name": self.name,
            "image": self.image,
            "platform": self.platform,
            "stages": stages,
        });
        if let Some(config) = &self.config {
            value["config"] = json!(config);
        }
        value
    }

    /// Reads a compact plan. What it does not know it ignores, as long as the format is not a later one.
    pub fn read(value: &Value) -> Result<Self, ReadError> {
        match value.get("version").and_then(Value::as_u64) {
            Some(0) | None => return Err(wrong("version", "a format of this plan")),
            Some(version) if version > VERSION => return Err(ReadError::Newer(version)),
            Some(_) => {}
        }
        let stages = value
            .get("stages")
            .and_then(Value::as_array)
            .ok_or_else(|| wrong("stages", "a list"))?;
        let config = match value.get("config") {
            None => None,
            Some(Value::Object(entries)) => Some(
                entries
                    .iter()
                    .map(|(name, value)| match value.as_str() {
                        Some(digest) => Ok((name.clone(), digest.to_owned())),
                        None => Err(wrong(format!("config.{name}"), "a text")),
                    })
                    .collect::<Result<_, _>>()?,
            ),
            Some(_) => return Err(wrong("config", "a table")),
        };
        Ok(Self {
            name: text(value, "name", "")?,
            image: text(value, "image", "")?,
            platform: text(value, "platform", "")?,
            stages: stages
                .iter()
                .enumerate()
                .map(|(index, stage)| read_stage(stage, index))
                .collect::<Result<_, _>>()?,
            config,
        })
    }

    /// All plans in a document: a compact plan itself, or anything that holds some under [`LABEL`] or, as a metadata
    /// file does, under `frontend.` and [`LABEL`]. Image configs, what `docker inspect` prints and metadata of
    /// several images are such documents.
    pub fn find(document: &Value) -> Result<Vec<Self>, ReadError> {
        if document.get("stages").is_some() {
            return Ok(vec![Self::read(document)?]);
        }
        let mut plans = Vec::new();
        collect(document, &mut plans)?;
        if plans.is_empty() {
            Err(ReadError::Missing)
        } else {
            Ok(plans)
        }
    }

    /// Whether it is for this platform.
    pub fn is_for(&self, platform: &Platform) -> bool {
        self.platform == platform.to_string()
    }
}

fn collect(value: &Value, plans: &mut Vec<CompactPlan>) -> Result<(), ReadError> {
    match value {
        Value::Array(values) => values.iter().try_for_each(|value| collect(value, plans)),
        Value::Object(entries) => entries.iter().try_for_each(|(name, value)| {
            if !is_label(name) {
                return collect(value, plans);
            }
            let plan = match value {
                Value::String(text) => {
                    let parsed: Value =
                        serde_json::from_str(text).map_err(|_| wrong(name.clone(), "JSON in a text"))?;
                    CompactPlan::read(&parsed)?
                }
                other => CompactPlan::read(other)?,
            };
            if !plans.contains(&plan) {
                plans.push(plan);
            }
            Ok(())
        }),
        _ => Ok(()),
    }
}

/// `dev.wheelbase.plan`, `frontend.dev.wheelbase.plan`, or the latter with a platform, as builds for several
/// platforms name it.
fn is_label(name: &str) -> bool {
    let name = name.strip_prefix("frontend.").unwrap_or(name);
    name.strip_prefix(LABEL)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

fn read_stage(stage: &Value, index: usize) -> Result<CompactStage, ReadError> {
    let place = format!("stages[{index}].");
    let inputs = stage
        .get("inputs")
        .and_then(Value::as_array)
        .ok_or_else(|| wrong(format!("{place}inputs"), "a list"))?;
    let inputs = inputs
        .iter()
        .enumerate()
        .map(|(number, input)| {
            let part = |part: usize| input.get(part).and_then(Value::as_str);
            part(0)
                .zip(part(1))
                .map(|(name, value)| Input::new(name, value))
                .ok_or_else(|| wrong(format!("{place}inputs[{number}]"), "a name with a value"))
        })
        .collect::<Result<_, _>>()?;
    Ok(CompactStage {
        name: text(stage, "name", &place)?,
        key: text(stage, "key", &place)?,
        inputs,
    })
}

fn text(value: &Value, key: &str, place: &str) -> Result<String, ReadError> {
    let text = value.get(key).and_then(Value::as_str);
    text.map(str::to_owned)
        .ok_or_else(|| wrong(format!("{place}{key}"), "a text"))
}

fn wrong(place: impl Into<String>, expected: &'static str) -> ReadError {
    ReadError::Wrong {
        place: place.into(),
        expected,
    }
}

/// Puts each image's compact plan into its labels.
pub(super) fn label(plan: &mut Plan) {
    let names: Vec<String> = plan.images.keys().cloned().collect();
    for name in names {
        let Some(text) = compact(plan, &name).map(|value| value.to_string()) else {
            continue;
        };
        if let Some(image) = plan.images.get_mut(&name) {
            image.config["config"]["Labels"][LABEL] = Value::String(text);
        }
    }
}

/// The stages that an image stands on, in the plan's order.
pub(super) fn used<'a>(plan: &'a Plan, image: &ImagePlan) -> Vec<&'a Stage> {
    let mut wanted = vec![false; plan.stages.len()];
    let mut open: Vec<usize> = std::iter::once(image.root.base)
        .chain(image.root.trees.iter().copied())
        .map(|id| id.0)
        .collect();
    while let Some(index) = open.pop() {
        if !std::mem::replace(&mut wanted[index], true) {
            open.extend(
                plan.stages[index]
                    .work
                    .stands_on(plan.uv)
                    .into_iter()
                    .map(|id| id.0),
            );
        }
    }
    plan.stages
        .iter()
        .zip(wanted)
        .filter(|(_, wanted)| *wanted)
        .map(|(stage, _)| stage)
        .collect()
}

/// The members of an image config's `config`: each environment variable, and each other member as a whole. The label
/// of the plan itself is left out.
fn config(config: &Value) -> BTreeMap<String, String> {
    let mut entries = BTreeMap::new();
    let mut add = |name: String, value: &str| {
        let digest = sha256(value);
        entries.insert(name, digest[..8].to_owned());
    };
    for (name, value) in config["config"].as_object().into_iter().flatten() {
        match (name.as_str(), value) {
            ("Env", Value::Array(variables)) => {
                for variable in variables.iter().filter_map(Value::as_str) {
                    let (variable, value) = variable.split_once('=').unwrap_or((variable, ""));
                    add(format!("Env {variable}"), value);
                }
            }
            ("Labels", Value::Object(labels)) => {
                let others: Map<String, Value> = labels
                    .iter()
                    .filter(|(label, _)| *label != LABEL)
                    .map(|(label, value)| (label.clone(), value.clone()))
                    .collect();
                if !others.is_empty() {
                    add("Labels".to_owned(), &Value::Object(others).to_string());
                }
            }
            (name, value) => add(name.to_owned(), &value.to_string()),
        }
    }
    entries
}

fn shortened(input: &Input) -> Input {
    Input {
        name: input.name.clone(),
        value: shorten(&input.value),
        because: input.because.clone(),
    }
}

/// Digests are long and there are many of them; sixteen digits tell two apart. Several digests in a row, of which a
/// lock without files has one for each file that may be installed, become one.
fn shorten(value: &str) -> String {
    let mut words: Vec<String> = Vec::new();
    let mut digests: Vec<&str> = Vec::new();
    let add = |digests: &mut Vec<&str>, words: &mut Vec<String>| {
        match digests.as_slice() {
            [] => {}
            [only] => words.push(only[..CUT].to_owned()),
            several => words.push(sha256(&several.join(" "))[..CUT].to_owned()),
        }
        digests.clear();
    };
    for word in value.split(' ') {
        let digits = word.split_once(':').map_or(word, |(_, digits)| digits);
        if digits.len() >= 64 && digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            digests.push(digits);
        } else {
            add(&mut digests, &mut words);
            words.push(word.to_owned());
        }
    }
    add(&mut digests, &mut words);
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example() -> CompactPlan {
        CompactPlan {
            name: "mai-job".into(),
            image: "serve".into(),
            platform: "linux/amd64".into(),
            stages: vec![CompactStage {
                name: "layer torch".into(),
                key: "0123456789ab".into(),
                inputs: vec![Input::new("torch", "2.8.0 0123456789abcdef")],
            }],
            config: Some(BTreeMap::from([("User".to_owned(), "89abcdef".to_owned())])),
        }
    }

    #[test]
    fn what_is_written_is_read() {
        let plan = example();
        assert_eq!(CompactPlan::read(&plan.clone().into_json()), Ok(plan));
    }

    #[test]
    fn a_plan_is_found_wherever_images_and_clients_put_it() {
        let plan = example();
        let json = plan.clone().into_json();
        let text = json.to_string();
        for document in [
            json.clone(),
            json!({ "config": { "Labels": { LABEL: text } } }),
            json!([{ "Config": { "Labels": { LABEL: text } }, "ContainerConfig": { "Labels": { LABEL: text } } }]),
            json!({ "containerimage.digest": "sha256:00", "frontend.dev.wheelbase.plan": json }),
            json!({ "serve": { "frontend.dev.wheelbase.plan/linux/amd64": text } }),
        ] {
            assert_eq!(CompactPlan::find(&document), Ok(vec![plan.clone()]), "{document}");
        }
    }

    #[test]
    fn what_is_no_plan_is_said_to_be_none() {
        for document in [json!(null), json!([]), json!({ "config": {} }), json!("text")] {
            assert_eq!(CompactPlan::find(&document), Err(ReadError::Missing));
        }
    }

    #[test]
    fn a_greater_format_is_refused_and_damage_has_a_place() {
        let place = |edit: &dyn Fn(&mut Value)| {
            let mut value = example().into_json();
            edit(&mut value);
            CompactPlan::find(&value).unwrap_err().to_string()
        };
        assert!(place(&|value| value["version"] = json!(2)).contains("format 2"));
        for (edit, expected) in [
            (
                (&|value: &mut Value| value["version"] = json!("1")) as &dyn Fn(&mut Value),
                "`version`",
            ),
            (&|value| value["stages"] = json!(3), "`stages`"),
            (&|value| value["name"] = json!(null), "`name`"),
            (&|value| value["config"] = json!([]), "`config`"),
            (&|value| value["config"]["User"] = json!(1), "`config.User`"),
            (&|value| value["stages"][0]["key"] = json!(1), "`stages[0].key`"),
            (
                &|value| value["stages"][0]["inputs"] = json!({}),
                "`stages[0].inputs`",
            ),
            (
                &|value| value["stages"][0]["inputs"][0] = json!(["torch"]),
                "`stages[0].inputs[0]`",
            ),
        ] {
            let said = place(edit);
            assert!(said.contains(expected), "{said}");
        }
        let label = json!({ LABEL: "{" });
        assert!(
            CompactPlan::find(&label)
                .unwrap_err()
                .to_string()
                .contains("JSON in a text")
        );
    }

    #[test]
    fn a_config_is_cut_to_what_can_differ() {
        let plain = json!({ "config": { "Env": ["A=1", "B"], "User": "app" } });
        let labelled = json!({ "config": { "Env": ["B", "A=1"], "User": "app", "Labels": { LABEL: "x" } } });
        assert_eq!(config(&plain), config(&labelled));
        let keys: Vec<String> = config(&plain).into_keys().collect();
        assert_eq!(keys, ["Env A", "Env B", "User"]);
        assert!(config(&json!(null)).is_empty());
    }

    #[test]
    fn digests_are_cut() {
        let digest = "ab".repeat(32);
        assert_eq!(
            shorten(&format!("2.8.0 sha256:{digest}")),
            format!("2.8.0 {}", &digest[..16])
        );
        assert_eq!(shorten("8.0;9.0"), "8.0;9.0");
        let several = shorten(&format!("2.8.0 sha256:{digest} sha512:{digest}{digest}"));
        assert_eq!(several.len(), "2.8.0 ".len() + CUT);
        assert_ne!(several, shorten(&format!("2.8.0 sha256:{digest}")));
    }
}
