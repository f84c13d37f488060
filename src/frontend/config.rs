//! The last touches of an image's config: what the client says beside the spec.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::diagnostic::Diagnostic;
use crate::gateway::Options;
use crate::plan::HISTORY_COMMENT;
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

/// Seconds since 1970, of a year up to 9999, as RFC 3339 writes them. The days are counted from 1 March of the year 0, so
/// that a leap day is the last of its year.
pub(super) fn rfc3339(seconds: i64) -> String {
    const DAY: i64 = 86_400;
    const DAYS_TO_1970: i64 = 719_468;
    const ERA: i64 = 146_097;
    let (days, second) = (seconds.div_euclid(DAY) + DAYS_TO_1970, seconds.rem_euclid(DAY));
    let (era, day) = (days.div_euclid(ERA), days.rem_euclid(ERA));
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let date = day - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = era * 400 + year + i64::from(month <= 2);
    let (hour, minute, second) = (second / 3_600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{date:02}T{hour:02}:{minute:02}:{second:02}Z")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finished(config: &Value, pairs: &[(&str, &str)]) -> Value {
        serde_json::from_slice(&finish(config.clone(), &Options::of(pairs)).unwrap()).unwrap()
    }

    #[test]
    fn dates_are_those_of_the_calendar() {
        for (seconds, date) in [
            (0, "1970-01-01T00:00:00Z"),
            (315_532_800, "1980-01-01T00:00:00Z"),
            (951_782_399, "2000-02-28T23:59:59Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (951_868_800, "2000-03-01T00:00:00Z"),
            (1_700_000_000, "2023-11-14T22:13:20Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
            (253_402_300_799, "9999-12-31T23:59:59Z"),
        ] {
            assert_eq!(rfc3339(seconds), date);
        }
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
