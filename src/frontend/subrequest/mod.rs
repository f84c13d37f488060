//! Questions that are not builds (`docker buildx build --call`).

use serde_json::{Value, json};

use super::failure::Failure;
use crate::gateway::{self, BuildResult, Client, Options};

mod explain;
mod lint;
mod outline;
mod places;
mod plan;
mod targets;
mod wheels;

/// What a client may demand of this frontend; the frontend image's label `moby.buildkit.frontend.caps` says the same.
pub(super) const CAPS: [&str; 4] = [
    "moby.buildkit.frontend.inputs",
    "moby.buildkit.frontend.contexts",
    "moby.buildkit.frontend.gitquerystring",
    "moby.buildkit.frontend.subrequests",
];

const DESCRIBE: &str = "frontend.subrequests.describe";
const OUTLINE: &str = "frontend.outline";
const TARGETS: &str = "frontend.targets";
const LINT: &str = "frontend.lint";
const PLAN: &str = "frontend.wheelbase.plan";
const SCHEMA: &str = "frontend.wheelbase.schema";
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
    /// Whether the answer has a status, which becomes the client's exit code.
    status: bool,
}

const REQUESTS: [Request; 8] = [
    Request {
        name: DESCRIBE,
        version: "1.0.0",
        description: "List available subrequest types",
        options: &[],
        status: false,
    },
    Request {
        name: OUTLINE,
        version: outline::VERSION,
        description: "List all parameters current build takes",
        options: &[("target", "the image or wheel that is built")],
        status: false,
    },
    Request {
        name: TARGETS,
        version: targets::VERSION,
        description: "List all targets current build supports",
        options: &[],
        status: false,
    },
    Request {
        name: LINT,
        version: lint::VERSION,
        description: "Check the spec and its lock without building",
        options: &[
            ("target", "what is looked at; everything when it is not given"),
            (
                "build-arg:BUILDKIT_DOCKERFILE_CHECK",
                "takes the place of the spec's `check` directive",
            ),
        ],
        status: true,
    },
    Request {
        name: PLAN,
        version: plan::VERSION,
        description: "Say what would be built, and from what",
        options: &[
            ("target", "what is planned; all images when it is not given"),
            ("platform", "what it is built for"),
        ],
        status: false,
    },
    Request {
        name: SCHEMA,
        version: plan::SCHEMA_VERSION,
        description: "Print the JSON Schema of a spec",
        options: &[],
        status: false,
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
        status: false,
    },
    Request {
        name: WHEELS,
        version: wheels::VERSION,
        description: "Say which compiled wheels the wheel store has, and under which keys",
        options: &[("platform", "what they are compiled for")],
        status: false,
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
        OUTLINE => outline::answer(client, options).await,
        TARGETS => targets::answer(client, options).await,
        LINT => lint::answer(client, options).await,
        PLAN => plan::answer(client, options).await,
        SCHEMA => Ok(plan::schema()),
        EXPLAIN => explain::answer(client, options).await,
        WHEELS => wheels::answer(client, options).await,
        _ => Err(gateway::unsupported_request(request).into()),
    }
}

/// The list of questions, in the shape of BuildKit's `frontend/subrequests/describe.go`.
fn describe() -> BuildResult {
    let list = REQUESTS.iter().map(|request| {
        let status = request.status.then_some("result.statuscode");
        let metadata: Value = ["result.json", "result.txt"]
            .into_iter()
            .chain(status)
            .map(|name| json!({ "name": name }))
            .collect();
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
        assert_eq!(
            names,
            [DESCRIBE, OUTLINE, TARGETS, LINT, PLAN, SCHEMA, EXPLAIN, WHEELS]
        );
        assert_eq!(list[6]["opts"][0]["name"], "context:previous");
        assert_eq!(list[3]["metadata"][2]["name"], "result.statuscode");
        let text = String::from_utf8(answer.metadata["result.txt"].clone()).unwrap();
        insta::assert_snapshot!(text, @r"
        NAME                 VERSION DESCRIPTION
        subrequests.describe 1.0.0   List available subrequest types
        outline              1.0.0   List all parameters current build takes
        targets              1.0.0   List all targets current build supports
        lint                 1.0.0   Check the spec and its lock without building
        wheelbase.plan       1.0.0   Say what would be built, and from what
        wheelbase.schema     1.0.0   Print the JSON Schema of a spec
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
