//! What the frontend says of a build in the metadata file of buildx.

use std::path::Path;

use serde_json::Value;

/// The reports under one of our keys, with their platforms; the platform is empty when there is but one. `None` when the file
/// cannot be read.
pub(super) fn reports(file: &Path, key: &str) -> Option<Vec<(String, Value)>> {
    let metadata: Value = serde_json::from_str(&std::fs::read_to_string(file).ok()?).ok()?;
    let prefix = format!("frontend.{key}");
    let mut reports = Vec::new();
    for (key, value) in metadata.as_object()? {
        let Some(platform) = key.strip_prefix(&prefix) else {
            continue;
        };
        // The client writes JSON as JSON, or as a string where it takes it for one.
        let report = match value.as_str() {
            Some(text) => serde_json::from_str(text).ok()?,
            None => value.clone(),
        };
        reports.push((platform.trim_start_matches('/').to_owned(), report));
    }
    Some(reports)
}
