//! The last touches of an image's config: what the client says beside the spec.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::diagnostic::Diagnostic;
use crate::gateway::Options;
use crate::plan::{HISTORY_COMMENT, rfc3339};
use crate::platform::Platform;

/// Lays the client's labels over those of the config, and puts its time on what is the image's own: the image, and the
/// lines of its history that the tier has not brought (`commitToHistory` of BuildKit's `dockerfile2llb`).
pub(super) fn finish(mut config: Value, options: &Options) -> Result<Vec<u8>, Diagnostic> {
    for (name, value) in options.labels() {
        config["config"]["Labels"][name] = json!(value);
    }
    if let Some(seconds) = options.source_date_epoch()? {
        let time = json!(rfc3339(seconds));
        let lines = config.get_mut("history").and_then(Value::as_array_mut);
        for line in lines.into_iter().flatten() {
            if line["comment"] == HISTORY_COMMENT && line["created"].is_null() {
                line["created"] = time.clone();
            }
        }
        config["created"] = time;
    }
    Ok(config.to_string().into_bytes())
}

/// The config of an image without a process: files alone.
pub(super) fn bare(platform: &Platform, labels: &BTreeMap<String, String>) -> Value {
    json!({
        "architecture": platform.architecture,
        "os": platform.os,
        "config": { "Labels": labels },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finished(config: &Value, pairs: &[(&str, &str)]) -> Value {
        serde_json::from_slice(&finish(config.clone(), &Options::of(pairs)).unwrap()).unwrap()
    }

    #[test]
    fn labels_of_the_client_win() {
        let config = json!({ "config": { "Labels": { "a": "spec", "b": "spec" } } });
        let labels = finished(&config, &[("label:b", "client"), ("label:c", "=")]);
        assert_eq!(
            labels["config"]["Labels"],
            json!({ "a": "spec", "b": "client", "c": "=" })
        );
        let bare = finished(&json!({ "os": "linux" }), &[("label:a", "1")]);
        assert_eq!(bare["config"]["Labels"]["a"], "1");
    }

    #[test]
    fn the_time_is_put_on_what_is_new() {
        let config = json!({ "history": [
            { "created_by": "tier", "created": "2020-01-01T00:00:00Z" },
            { "created_by": "tier without a time" },
            { "created_by": "built before", "comment": HISTORY_COMMENT, "created": "2021-01-01T00:00:00Z" },
            { "created_by": "layer", "comment": HISTORY_COMMENT },
        ]});
        let dated = finished(&config, &[("build-arg:SOURCE_DATE_EPOCH", "1700000000")]);
        let times: Vec<&Value> = dated["history"]
            .as_array()
            .unwrap()
            .iter()
            .map(|line| &line["created"])
            .collect();
        let time = "2023-11-14T22:13:20Z";
        assert_eq!(
            times,
            [
                &json!("2020-01-01T00:00:00Z"),
                &Value::Null,
                &json!("2021-01-01T00:00:00Z"),
                &json!(time)
            ]
        );
        assert_eq!(dated["created"], time);
        assert_eq!(finished(&config, &[]), config);
    }
}
