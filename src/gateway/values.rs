//! The forms in which values of options are written.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::options::Worker;
use crate::llb::Ulimit;
use crate::platform::Platform;

/// What Go's `strconv.ParseBool` takes.
pub(crate) fn go_bool(text: &str) -> Option<bool> {
    match text {
        "1" | "t" | "T" | "true" | "TRUE" | "True" => Some(true),
        "0" | "f" | "F" | "false" | "FALSE" | "False" => Some(false),
        _ => None,
    }
}

/// One line of CSV: a field in quotes may hold commas, and a doubled quote in it is one.
pub(crate) fn comma_separated(line: &str) -> Vec<String> {
    if line.is_empty() {
        return Vec::new();
    }
    let mut fields = vec![String::new()];
    let mut quoted = false;
    let mut characters = line.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '"' if quoted && characters.peek() == Some(&'"') => {
                characters.next();
                if let Some(field) = fields.last_mut() {
                    field.push('"');
                }
            }
            '"' => quoted = !quoted,
            ',' if !quoted => fields.push(String::new()),
            other => {
                if let Some(field) = fields.last_mut() {
                    field.push(other);
                }
            }
        }
    }
    fields
}

/// `name=soft[:hard]`; without a hard limit it is the soft one, and -1 is no limit.
pub(crate) fn ulimit(field: &str) -> Option<Ulimit> {
    let (name, limits) = field.split_once('=')?;
    let (soft, hard) = limits.split_once(':').unwrap_or((limits, limits));
    let (soft, hard): (i64, i64) = (soft.parse().ok()?, hard.parse().ok()?);
    let fits = hard == -1 || (soft != -1 && soft <= hard);
    (!name.is_empty() && fits).then(|| Ulimit {
        name: name.to_owned(),
        soft,
        hard,
    })
}

/// Whether a text lists numbers and rising ranges of them, as the kernel's cpusets do: `0-3,7`.
pub(crate) fn is_cpu_set(text: &str) -> bool {
    text.split(',').all(|part| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        is_number(first)
            && is_number(last)
            && matches!((first.parse::<u32>(), last.parse::<u32>()), (Ok(first), Ok(last)) if first <= last)
    })
}

/// An entry of `cache-imports`, as Go's JSON has it.
#[derive(Deserialize)]
pub(crate) struct WireCacheImport {
    #[serde(rename = "Type")]
    pub(crate) kind: String,
    #[serde(rename = "Attrs")]
    pub(crate) attrs: Option<BTreeMap<String, String>>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct WireWorker {
    id: String,
    labels: Option<BTreeMap<String, String>>,
    platforms: Option<Vec<WirePlatform>>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct WirePlatform {
    architecture: String,
    os: String,
    variant: String,
}

/// Workers from their JSON. A text that is not it means that nothing is known about them.
pub(crate) fn workers(json: &str) -> Vec<Worker> {
    let workers: Vec<WireWorker> = serde_json::from_str(json).unwrap_or_default();
    let platform = |wire: &WirePlatform| Platform::new(&wire.os, &wire.architecture, &wire.variant);
    workers
        .into_iter()
        .map(|worker| Worker {
            platforms: worker.platforms.iter().flatten().map(platform).collect(),
            id: worker.id,
            labels: worker.labels.unwrap_or_default(),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn booleans_are_gos() {
        assert_eq!(["1", "t", "True"].map(go_bool), [Some(true); 3]);
        assert_eq!(["0", "F", "false"].map(go_bool), [Some(false); 3]);
        assert_eq!(["", "yes", "tRUE"].map(go_bool), [None; 3]);
    }

    #[test]
    fn fields_may_be_quoted() {
        assert!(comma_separated("").is_empty());
        assert_eq!(comma_separated("a,b"), ["a", "b"]);
        assert_eq!(comma_separated(r#""a,b",c"#), ["a,b", "c"]);
        assert_eq!(comma_separated(r#""a""b""#), [r#"a"b"#]);
        assert_eq!(comma_separated("a,"), ["a", ""]);
    }

    #[test]
    fn sets_of_processors() {
        assert!(["0", "0-3", "0-3,7", "4-4"].into_iter().all(is_cpu_set));
        assert!(
            !["", "0-", "-1", "3-0", "0,,1", "a", "+1", "0 1"]
                .into_iter()
                .any(is_cpu_set)
        );
    }

    #[test]
    fn limits_are_ordered() {
        let read = |field| ulimit(field).map(|limit| (limit.soft, limit.hard));
        assert_eq!(read("nofile=1:2"), Some((1, 2)));
        assert_eq!(read("nofile=1"), Some((1, 1)));
        assert_eq!(read("nofile=1:-1"), Some((1, -1)));
        assert_eq!(read("nofile=-1"), Some((-1, -1)));
        for field in [
            "nofile",
            "=1",
            "nofile=2:1",
            "nofile=-1:5",
            "nofile=a",
            "nofile=1:2:3",
        ] {
            assert_eq!(read(field), None, "{field}");
        }
    }
}
