//! Questions that are not builds (`docker buildx build --call`).

use serde_json::json;

use super::failure::Failure;
use crate::gateway::{self, BuildResult};

/// What a client may demand of this frontend; the frontend image's label `moby.buildkit.frontend.caps` says the same.
pub(super) const CAPS: [&str; 1] = ["moby.buildkit.frontend.subrequests"];

const DESCRIBE: &str = "frontend.subrequests.describe";

/// Answers a question by name.
pub(super) fn answer(request: &str) -> Result<BuildResult, Failure> {
    match request {
        DESCRIBE => Ok(describe()),
        _ => Err(gateway::unsupported_request(request).into()),
    }
}

/// The list of questions, in the shape of BuildKit's `frontend/subrequests/describe.go`.
fn describe() -> BuildResult {
    let description = "List available subrequest types";
    let metadata = ["result.json", "result.txt"].map(|name| json!({ "name": name }));
    let list = json!([{
        "name": DESCRIBE,
        "version": "1.0.0",
        "type": "rpc",
        "description": description,
        "metadata": metadata,
    }]);
    let text =
        format!("NAME                 VERSION DESCRIPTION\nsubrequests.describe 1.0.0   {description}\n");
    BuildResult::answer(list.to_string().into_bytes(), text, "1.0.0", None)
}
