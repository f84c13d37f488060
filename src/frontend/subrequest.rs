//! Questions that are not builds (`docker buildx build --call`).

use serde_json::json;

use super::failure::Failure;
use crate::gateway::{SolveResult, Status};

const DESCRIBE: &str = "frontend.subrequests.describe";

/// Answers a question by name.
pub(super) fn answer(request: &str) -> Result<SolveResult, Failure> {
    match request {
        DESCRIBE => Ok(describe()),
        _ => Err(Failure::Unsupported(Status::unsupported_subrequest(request))),
    }
}

/// The list of questions, in the shape of BuildKit's `frontend/subrequests/describe.go`.
fn describe() -> SolveResult {
    let description = "List available subrequest types";
    let metadata = ["result.json", "result.txt"].map(|name| json!({ "name": name }));
    let list = json!([{
        "name": DESCRIBE,
        "version": "1.0.0",
        "type": "rpc",
        "description": description,
        "metadata": metadata,
    }]);
    let text = format!("NAME                 VERSION DESCRIPTION\nsubrequests.describe 1.0.0   {description}\n");
    SolveResult::metadata_only([
        ("result.json", list.to_string().into_bytes()),
        ("result.txt", text.into_bytes()),
        ("version", b"1.0.0".to_vec()),
    ])
}
