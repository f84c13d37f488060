//! The table of keys as JSON Schema, for editors: `#:schema wheelbase.schema.json` on a line of a spec gives
//! completion and checks in Taplo and what builds on it.
//!
//! Draft 7, since that is what TOML language servers read. The schema accepts at least what the decoder accepts: it
//! knows shapes and words, and leaves facts (which images exist, which GPU a toolkit knows) to `check`.

use serde_json::{Map, Value, json};

use super::keys::{Form, Key, Kind, below, find};

/// The schema, as text that ends with a line end. The same release gives the same bytes.
pub fn json() -> String {
    let mut root = object(&below("").collect::<Vec<_>>(), None);
    root.insert("$schema".into(), json!("http://json-schema.org/draft-07/schema#"));
    root.insert("title".into(), json!("wheelbase.toml"));
    root.insert(
        "description".into(),
        json!("What Wheelbase builds: GPU Python images from one file."),
    );
    format!("{:#}\n", Value::Object(root))
}

/// A table with these keys; `form` says which of them it must have, where its own table does not.
fn object(keys: &[&Key], form: Option<&Form>) -> Map<String, Value> {
    let properties: Map<String, Value> = keys
        .iter()
        .map(|key| (key.name().to_owned(), Value::Object(property(key))))
        .collect();
    let required: Vec<&str> = match form {
        Some(form) => form.needs.to_vec(),
        None => keys
            .iter()
            .filter(|key| key.required)
            .map(|key| key.name())
            .collect(),
    };
    let mut object = Map::new();
    object.insert("type".into(), json!("object"));
    object.insert("additionalProperties".into(), json!(false));
    object.insert("properties".into(), Value::Object(properties));
    if !required.is_empty() {
        object.insert("required".into(), json!(required));
    }
    if form.is_some_and(|form| form.needs.is_empty()) {
        object.insert("minProperties".into(), json!(1));
    }
    object
}

/// A key with what an editor shows about it.
fn property(key: &Key) -> Map<String, Value> {
    let mut schema = kind(key, &key.kind);
    schema.insert("description".into(), json!(key.doc));
    if let Some(default) = value(&format!("{} = {}", key.name(), key.default), key.name()) {
        schema.insert("default".into(), default);
    }
    if let Some(example) = value(key.example, key.name()) {
        schema.insert("examples".into(), json!([example]));
    }
    schema
}

/// A text with a reference to an argument in it: what stands there in the end only a build knows.
const REFERENCE: &str = "\\$\\{[A-Za-z_][A-Za-z0-9_]*\\}";

/// What may be written for a key: a value of its kind, or a reference to one.
fn kind(key: &Key, written: &Kind) -> Map<String, Value> {
    let several: Vec<&Kind> = match written {
        Kind::Any(several) => several.iter().collect(),
        Kind::Shaped(_) | Kind::Word(_) | Kind::Boolean | Kind::Integer { .. } => vec![written],
        _ => return value_of(key, written),
    };
    let is_text = several.iter().any(|kind| matches!(kind, Kind::Text));
    let mut forms: Vec<Value> = several
        .into_iter()
        .map(|one| Value::Object(value_of(key, one)))
        .collect();
    if !key.literal && !is_text {
        forms.push(json!({ "type": "string", "pattern": REFERENCE }));
    }
    match forms.pop() {
        Some(only) if forms.is_empty() => object_of(only),
        last => {
            forms.extend(last);
            object_of(json!({ "anyOf": forms }))
        }
    }
}

fn value_of(key: &Key, written: &Kind) -> Map<String, Value> {
    let schema = match written {
        Kind::Text => json!({ "type": "string" }),
        Kind::Shaped(pattern) => json!({ "type": "string", "pattern": pattern }),
        Kind::Word(words) => json!({ "type": "string", "enum": words }),
        Kind::Boolean => json!({ "type": "boolean" }),
        Kind::Integer {
            least,
            most: u64::MAX,
        } => json!({ "type": "integer", "minimum": least }),
        Kind::Integer { least, most } => json!({ "type": "integer", "minimum": least, "maximum": most }),
        Kind::Array(item) => {
            json!({ "type": "array", "items": Value::Object(kind(key, item)) })
        }
        Kind::Map(item) => {
            json!({ "type": "object", "additionalProperties": Value::Object(kind(key, item)) })
        }
        Kind::Table => return object(&below(key.path).collect::<Vec<_>>(), None),
        Kind::Forms(forms) => {
            let form = |form: &Form| {
                let keys: Vec<&Key> = form.keys().filter_map(|name| find(key.path, name)).collect();
                Value::Object(object(&keys, Some(form)))
            };
            match forms {
                [only] => return object_of(form(only)),
                forms => json!({ "oneOf": forms.iter().map(form).collect::<Vec<_>>() }),
            }
        }
        Kind::Named => {
            let path = format!("{}.*", key.path);
            let table = object(&below(&path).collect::<Vec<_>>(), None);
            json!({ "type": "object", "additionalProperties": Value::Object(table) })
        }
        Kind::Open(item) => {
            let mut table = object(&below(key.path).collect::<Vec<_>>(), None);
            table.insert("additionalProperties".into(), Value::Object(kind(key, item)));
            return table;
        }
        Kind::Tables => {
            let table = object(&below(key.path).collect::<Vec<_>>(), None);
            json!({ "type": "array", "items": Value::Object(table) })
        }
        Kind::Any(_) => return kind(key, written),
    };
    object_of(schema)
}

fn object_of(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        _ => Map::new(),
    }
}

/// What a line of TOML gives a key, as JSON; nothing when the text is no TOML (a default in words) or another key's.
fn value(text: &str, name: &str) -> Option<Value> {
    let table: toml::Table = toml::from_str(text).ok()?;
    serde_json::to_value(table.get(name)?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::docs::tests::fresh;

    #[test]
    fn the_committed_schema_is_fresh() {
        fresh("docs/reference/wheelbase.schema.json", &json());
    }

    /// Whether a schema of this file accepts a value: the words that this file uses, and no others.
    fn accepts(schema: &Value, value: &Value) -> bool {
        let all = |key: &str, check: &dyn Fn(&Value) -> bool| schema.get(key).is_none_or(check);
        let entries = || value.as_object().into_iter().flatten();
        let known = |name: &str| schema["properties"].get(name).is_some();
        let one = |schemas: &Value| {
            schemas
                .as_array()
                .unwrap()
                .iter()
                .filter(|one| accepts(one, value))
                .count()
        };
        all("type", &|kind| match kind.as_str().unwrap() {
            "string" => value.is_string(),
            "boolean" => value.is_boolean(),
            "integer" => value.is_u64() || value.is_i64(),
            "array" => value.is_array(),
            "object" => value.is_object(),
            other => panic!("{other}"),
        }) && all("enum", &|words| words.as_array().unwrap().contains(value))
            && all("pattern", &|pattern| {
                pattern != REFERENCE || value.as_str().unwrap().contains("${")
            })
            && all("minimum", &|least| value.as_u64() >= least.as_u64())
            && all("maximum", &|most| value.as_u64() <= most.as_u64())
            && all("minProperties", &|least| {
                entries().count() as u64 >= least.as_u64().unwrap()
            })
            && all("required", &|names| {
                names
                    .as_array()
                    .unwrap()
                    .iter()
                    .all(|name| value.get(name.as_str().unwrap()).is_some())
            })
            && all("properties", &|properties| {
                entries()
                    .all(|(name, value)| properties.get(name).is_none_or(|schema| accepts(schema, value)))
            })
            && all("additionalProperties", &|rest| {
                entries()
                    .filter(|(name, _)| !known(name))
                    .all(|(_, value)| match rest {
                        Value::Bool(allowed) => *allowed,
                        schema => accepts(schema, value),
                    })
            })
            && all("items", &|schema| {
                value
                    .as_array()
                    .into_iter()
                    .flatten()
                    .all(|item| accepts(schema, item))
            })
            && all("oneOf", &|schemas| one(schemas) == 1)
            && all("anyOf", &|schemas| one(schemas) >= 1)
    }

    fn read(text: &str) -> Value {
        serde_json::to_value(toml::from_str::<toml::Table>(text).unwrap()).unwrap()
    }

    #[test]
    fn accepts_what_the_decoder_accepts() {
        let schema: Value = serde_json::from_str(&json()).unwrap();
        let full = include_str!("tests/full.toml");
        assert!(accepts(&schema, &read(full)));
        for (from, to) in [
            ("name = \"mai-job\"", "nmae = \"mai-job\""),
            ("cudnn = true", "cudnn = 9"),
            (
                "source = { lock = true }",
                "source = { lock = true, path = \"x\" }",
            ),
            ("tier = \"devel\"", "tier = \"develop\""),
            ("jobs = 8", "jobs = 0"),
            ("jobs = \"auto\"", "jobs = \"all\""),
            (
                "copy = [{ from = \"src\", to = \"/app/src\" }]",
                "copy = [{ from = \"src\" }]",
            ),
            ("env = { HF_HUB_OFFLINE = \"1\" }", "env = { HF_HUB_OFFLINE = 1 }"),
            ("buckets = 4", "buckets = 0"),
            ("VENDOR = [\"Example\", \"Other\"]", "VENDOR = \"Example\""),
            (
                "exclude = [{ VENDOR = \"Other\", ",
                "exclude = [{ VENDOR = [\"Other\"], ",
            ),
        ] {
            assert_eq!(full.matches(from).count(), 1, "{from}");
            assert!(!accepts(&schema, &read(&full.replace(from, to))), "{to}");
        }
        for (from, to) in [
            ("tier = \"devel\"", "tier = \"${TIER}\""),
            ("jobs = 8", "jobs = \"${JOBS}\""),
            ("cudnn = true", "cudnn = \"${CUDNN}\""),
        ] {
            assert!(accepts(&schema, &read(&full.replace(from, to))), "{to}");
        }
    }
}
