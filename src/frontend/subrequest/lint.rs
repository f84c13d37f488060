//! `--call check` and `--check`: what is probably not meant, in the shape of BuildKit's `frontend/subrequests/lint`.
//!
//! It goes as far as a plan without registries: files are read, every rule is looked at, and what would end a build before
//! its first step ends the check. As with a Dockerfile, no target means all of them.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::super::failure::Failure;
use super::super::goal::Goal;
use super::super::{prepare, wheel_store};
use super::places::Sources;
use crate::diagnostic::{Diagnostic, Location, SourceFile};
use crate::gateway::{self, BuildResult, Client, Options};
use crate::rules::rule_of;

/// Version of the answer's JSON, BuildKit's.
pub(super) const VERSION: &str = "1.0.0";

/// Looks at every rule. What a file has wrong is part of the answer; what has no place in a file ends the call.
pub(super) async fn answer(client: &Client, options: &Options) -> Result<BuildResult, Failure> {
    let results = look(client, options).await?;
    let status = i32::from(!results.warnings.is_empty() || !results.errors.is_empty());
    Ok(BuildResult::answer(
        results.json().to_string().into_bytes(),
        results.text(),
        VERSION,
        Some(status),
    ))
}

/// What has been found.
#[derive(Debug)]
struct Results {
    file: Arc<SourceFile>,
    warnings: Vec<Diagnostic>,
    errors: Vec<Diagnostic>,
}

impl Results {
    /// Errors alone; `Err` when none of them is in a file.
    fn of_errors(errors: Vec<Diagnostic>) -> Result<Self, Failure> {
        let place = errors.iter().find_map(|error| error.labels.first());
        match place.map(|label| Arc::clone(&label.location.file)) {
            Some(file) => Ok(Self {
                file,
                warnings: Vec::new(),
                errors,
            }),
            None => Err(errors.into()),
        }
    }
}

async fn look(client: &Client, options: &Options) -> Result<Results, Failure> {
    let platforms = prepare::platforms(client, options)?;
    let (read, questions) = match prepare::prepare_all(client, options, platforms).await {
        Ok(prepared) => prepared,
        Err(Failure::Findings(errors)) => return Results::of_errors(errors),
        Err(failure) => return Err(failure),
    };
    let goal = match options.target() {
        Some(target) => Some(Goal::choose(&read.spec, Some(target))?),
        None => None,
    };
    let mut warnings = read.warnings(goal.as_ref());
    warnings.extend(wheel_store::unkeyed(&read, goal.as_ref(), &questions));
    let images: BTreeSet<String> = match &goal {
        Some(goal) => goal.images(&read.spec),
        None => read.spec.images.keys().cloned().collect(),
    };
    let mut errors: Vec<Diagnostic> = Vec::new();
    for questions in &questions {
        for error in prepare::unresolved(&read, &images, questions)
            .err()
            .unwrap_or_default()
        {
            if !errors.contains(&error) {
                errors.push(error);
            }
        }
    }
    errors.extend(read.settings.verdict(&warnings));
    Ok(Results {
        file: Arc::clone(&read.spec.file),
        warnings,
        errors,
    })
}

impl Results {
    fn json(&self) -> Value {
        let mut sources = Sources::new(&self.file);
        let warnings: Vec<Value> = self
            .warnings
            .iter()
            .map(|warning| {
                let mut value = Map::new();
                let rule = rule_of(warning);
                value.insert(
                    "ruleName".to_owned(),
                    json!(rule.map_or("Warning", |rule| rule.name())),
                );
                if let Some(rule) = rule {
                    value.insert("description".to_owned(), json!(rule.entry().description));
                    value.insert("url".to_owned(), json!(rule.url()));
                }
                value.insert("detail".to_owned(), json!(detail(warning)));
                let place = place(warning).map(|location| sources.place(location));
                value.insert("location".to_owned(), place.unwrap_or_else(Sources::nowhere));
                Value::Object(value)
            })
            .collect();
        let mut value = json!({ "warnings": warnings });
        if !self.errors.is_empty() {
            let placed = self.errors.iter().find_map(place);
            // Clients look the file up by index, so an error without a place stands in the first file, on no line.
            value["buildError"] = json!({
                "message": gateway::diagnostics_status(&self.errors).message,
                "location": placed.map_or_else(|| json!({}), |location| sources.place(location)),
            });
        }
        value["sources"] = sources.infos();
        value
    }

    fn text(&self) -> String {
        let all = self.warnings.iter().chain(&self.errors);
        let drawn: Vec<String> = all.map(|finding| finding.render(false) + "\n").collect();
        if drawn.is_empty() {
            "Check complete, no warnings found.\n".to_owned()
        } else {
            drawn.join("\n")
        }
    }
}

fn place(finding: &Diagnostic) -> Option<&Location> {
    finding.labels.first().map(|label| &label.location)
}

/// The message, and what to do about it.
fn detail(warning: &Diagnostic) -> String {
    let label = warning.labels.first().map(|label| label.text.as_str());
    let mut text = warning.message.clone();
    if let Some(label) = label.filter(|label| !label.is_empty()) {
        text = format!("{text}: {label}");
    }
    match &warning.help {
        Some(help) => format!("{text}\nhelp: {help}"),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::Rule;

    fn file() -> Arc<SourceFile> {
        SourceFile::new("wheelbase.toml", "name = \"a\"\n[images.serve]\n")
    }

    #[test]
    fn warnings_have_the_fields_that_clients_read() {
        let file = file();
        let warning = Rule::RootUser
            .warning("image `serve` names no user")
            .at(Location::new(&file, 19..24), "it runs as root")
            .help("add user");
        let results = Results {
            file,
            warnings: vec![warning, Diagnostic::warning("odd")],
            errors: Vec::new(),
        };
        let json = results.json();
        assert_eq!(
            json["warnings"][0],
            json!({
                "ruleName": "RootUser",
                "description": Rule::RootUser.entry().description,
                "url": "docs/reference/rules.md#rootuser",
                "detail": "image `serve` names no user: it runs as root\nhelp: add user",
                "location": { "ranges": [
                    { "start": { "line": 2, "character": 8 }, "end": { "line": 2, "character": 13 } }
                ] },
            })
        );
        assert_eq!(json["warnings"][1]["location"], json!({ "sourceIndex": -1 }));
        assert_eq!(json.get("buildError"), None);
        assert_eq!(json["sources"][0]["filename"], "wheelbase.toml");
        assert!(
            results.text().starts_with("warning[RootUser]: image `serve`"),
            "{}",
            results.text()
        );
    }

    #[test]
    fn errors_of_a_file_are_part_of_the_answer() {
        let file = file();
        let error = Diagnostic::error("no").at(Location::new(&file, 0..4), "");
        let results = Results::of_errors(vec![Diagnostic::error("lost"), error]).unwrap();
        let json = results.json();
        assert_eq!(json["buildError"]["location"]["ranges"][0]["start"]["line"], 1);
        let message = json["buildError"]["message"].as_str().unwrap();
        assert!(
            message.starts_with("2 errors\nlost\nwheelbase.toml:1:1: no\n"),
            "{message}"
        );
        assert!(Results::of_errors(vec![Diagnostic::error("lost")]).is_err());
        let unplaced = Results {
            file,
            warnings: Vec::new(),
            errors: vec![Diagnostic::error("lost")],
        };
        assert_eq!(
            unplaced.json()["buildError"],
            json!({ "message": "lost", "location": {} })
        );
    }
}
