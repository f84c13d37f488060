//! Questions that are not builds (`docker buildx build --call`).

use serde_json::{Value, json};

use super::failure::Failure;
use crate::gateway::{self, BuildResult, Client, Options};

mod explain;
mod wheels;

/// What a client may demand of this frontend; the frontend image's label `moby.buildkit.frontend.caps` says the same.
pub(super) const CAPS: [&str; 4] = [
    "moby.buildkit.frontend.inputs",
    "moby.buildkit.frontend.contexts",
    "moby.buildkit.frontend.gitquerystring",
    "moby.buildkit.frontend.subrequests",
];

const DESCRIBE: &str = "frontend.subrequests.describe";
const EXPLAIN: &str = "frontend.wheelbase.explain";
const WHEELS: &str = "frontend.wheelbase.wheels";

/// A question that is answered.
struct Request {
    /// What the client asks for; `--call` takes it without `frontend.`.
    name: &'static str,
    /// Version of the answer's format.
    version: &'static str,
    description: &'static str,
    /// Options that the answer depends on, with what they are.
    options: &'static [(&'static str, &'static str)],
}

const REQUESTS: [Request; 3] = [
    Request {
        name: DESCRIBE,
        version: "1.0.0",
        description: "List available subrequest types",
        options: &[],
    },
    Request {
        name: EXPLAIN,
        version: explain::VERSION,
        description: "Say what changes against a previous image, and why",
        options: &[
            (
                "context:previous",
                "docker-image:// and the reference of that image",
            ),
            ("target", "the image that is built now"),
            ("platform", "what it is built for"),
        ],
    },
    Request {
        name: WHEELS,
        version: wheels::VERSION,
        description: "Say which compiled wheels the wheel store has, and under which keys",
        options: &[("platform", "what they are compiled for")],
    },
];

/// Answers a question by name.
pub(super) async fn answer(
    client: &Client,
    options: &Options,
    request: &str,
) -> Result<BuildResult, Failure> {
    match request {
        DESCRIBE => Ok(describe()),
        EXPLAIN => explain::answer(client, options).await,
        WHEELS => wheels::answer(client, options).await,
        _ => Err(gateway::unsupported_request(request).into()),
    }
}

/// The list of questions, in the shape of BuildKit's `frontend/subrequests/describe.go`.
fn describe() -> BuildResult {
    let metadata = ["result.json", "result.txt"].map(|name| json!({ "name": name }));
    let list = REQUESTS.iter().map(|request| {
        let mut value = json!({
            "name": request.name,
            "version": request.version,
            "type": "rpc",
            "description": request.description,
            "metadata": metadata,
        });
        if !request.options.is_empty() {
            let options = request.options.iter();
            value["opts"] = options
                .map(|(name, description)| json!({ "name": name, "description": description }))
                .collect();
        }
        value
    });
    let list: Value = list.collect();
    BuildResult::answer(list.to_string().into_bytes(), table(), "1.0.0", None)
}

/// The same for people: what is to be written after `--call`.
fn table() -> String {
    let mut rows = vec![("NAME", "VERSION", "DESCRIPTION")];
    rows.extend(REQUESTS.iter().map(|request| {
        let name = request.name.strip_prefix("frontend.").unwrap_or(request.name);
        (name, request.version, request.description)
    }));
    let width = rows.iter().map(|(name, ..)| name.len()).max().unwrap_or(0);
    let lines = rows
        .iter()
        .map(|(name, version, description)| format!("{name:width$} {version:7} {description}\n"));
    lines.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_read_as_buildkit_reads_it() {
        let answer = describe();
        let list: Value = serde_json::from_slice(&answer.metadata["result.json"]).unwrap();
        let names: Vec<&Value> = list.as_array().unwrap().iter().map(|one| &one["name"]).collect();
        assert_eq!(names, [DESCRIBE, EXPLAIN, WHEELS]);
        assert_eq!(list[1]["opts"][0]["name"], "context:previous");
        let text = String::from_utf8(answer.metadata["result.txt"].clone()).unwrap();
        insta::assert_snapshot!(text, @r"
        NAME                 VERSION DESCRIPTION
        subrequests.describe 1.0.0   List available subrequest types
        wheelbase.explain    1.0.0   Say what changes against a previous image, and why
        wheelbase.wheels     1.0.0   Say which compiled wheels the wheel store has, and under which keys
        ");
    }

    #[test]
    fn the_frontend_image_declares_what_a_client_may_demand() {
        let dockerfile = include_str!("../../../Dockerfile.frontend");
        let declared = format!("moby.buildkit.frontend.caps=\"{}\"", CAPS.join(","));
        assert!(dockerfile.contains(&declared), "{declared}");
    }
}
