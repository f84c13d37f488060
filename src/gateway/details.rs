//! Errors that BuildKit's clients can draw: a status with typed details.
//!
//! BuildKit carries details as containerd's typeurl does: the type's name stands in the URL, and the value is
//! the JSON that Go makes of the type, not protobuf (`solver/errdefs` of BuildKit). `docker buildx` and `buildctl`
//! print a snippet for every `errdefs.Source`.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use prost_types::Any;
use serde::Serialize;
use tonic::Code;

use crate::diagnostic::Diagnostic;
use crate::llb::{source_info, source_range};
use crate::proto::{pb, rpc};

const TYPES: &str = "github.com/moby/buildkit/";

#[derive(Serialize)]
struct Source<'a> {
    info: Info<'a>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    ranges: Vec<Range>,
}

#[derive(Serialize)]
struct Info<'a> {
    #[serde(skip_serializing_if = "str::is_empty")]
    filename: &'a str,
    #[serde(skip_serializing_if = "String::is_empty")]
    data: String,
    #[serde(skip_serializing_if = "str::is_empty")]
    language: &'a str,
}

#[derive(Serialize)]
struct Range {
    start: Position,
    end: Position,
}

/// Go leaves out numbers that are 0.
#[derive(Serialize, Default)]
struct Position {
    #[serde(skip_serializing_if = "is_zero")]
    line: i32,
    #[serde(skip_serializing_if = "is_zero")]
    character: i32,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "the signature that serde asks for"
)]
fn is_zero(number: &i32) -> bool {
    *number == 0
}

impl From<Option<pb::Position>> for Position {
    fn from(position: Option<pb::Position>) -> Self {
        position.map_or_else(Self::default, |position| Self {
            line: position.line,
            character: position.character,
        })
    }
}

fn detail(name: &str, value: &impl Serialize) -> Any {
    // These types hold texts and numbers alone, which JSON can always write.
    let value = serde_json::to_vec(value).unwrap_or_default();
    Any {
        type_url: format!("{TYPES}{name}+json"),
        value,
    }
}

/// Lines of a file, printed under the error. Printing needs the file's text and lines that are in it.
pub fn source_detail(info: &pb::SourceInfo, ranges: &[pb::Range]) -> Any {
    let info = Info {
        filename: &info.filename,
        data: STANDARD.encode(&info.data),
        language: &info.language,
    };
    let ranges = ranges
        .iter()
        .map(|range| Range {
            start: range.start.into(),
            end: range.end.into(),
        })
        .collect();
    detail("errdefs.Source", &Source { info, ranges })
}

/// The vertex that failed.
pub fn vertex_detail(digest: &str) -> Any {
    detail("errdefs.Vertex", &serde_json::json!({ "digest": digest }))
}

/// A subrequest that is not answered.
pub fn subrequest_detail(name: &str) -> Any {
    detail("errdefs.Subrequest", &serde_json::json!({ "name": name }))
}

/// A capability that the client asks of the frontend and that it lacks.
pub fn frontend_cap_detail(name: &str) -> Any {
    detail("errdefs.FrontendCap", &serde_json::json!({ "name": name }))
}

/// The answer to a `requestid` that is not known. `docker buildx` recognises the type, and old ones the text.
pub fn unsupported_request(id: &str) -> rpc::Status {
    rpc::Status {
        code: Code::Unimplemented.into(),
        message: format!("unsupported request {id}"),
        details: vec![subrequest_detail(id)],
    }
}

/// The answer to a capability in `frontend.caps` that is not known.
pub fn unsupported_frontend_cap(name: &str) -> rpc::Status {
    rpc::Status {
        code: Code::Unimplemented.into(),
        message: format!("unsupported frontend capability {name}"),
        details: vec![frontend_cap_detail(name)],
    }
}

/// All errors among `findings`, in one status: their text as the message, their places as snippets. Should there
/// be warnings alone, it is them.
pub fn diagnostics_status(findings: &[Diagnostic]) -> rpc::Status {
    let errors: Vec<&Diagnostic> = findings.iter().filter(|finding| finding.is_error()).collect();
    let (told, kind) = if errors.is_empty() {
        (findings.iter().collect(), "warnings")
    } else {
        (errors, "errors")
    };
    let texts: Vec<String> = told.iter().map(|finding| text(finding)).collect();
    let message = match texts.as_slice() {
        [only] => only.clone(),
        many => format!("{} {kind}\n{}", many.len(), many.join("\n")),
    };
    let labels = told.iter().flat_map(|finding| &finding.labels);
    let details = labels
        .map(|label| {
            source_detail(
                &source_info(&label.location.file, None),
                &[source_range(&label.location)],
            )
        })
        .collect();
    rpc::Status {
        code: Code::InvalidArgument.into(),
        message,
        details,
    }
}

/// `file:line:column: message`, which tools find, then the drawing with carets: clients show the lines of a source
/// detail, and neither the column nor the label.
fn text(finding: &Diagnostic) -> String {
    let drawn = finding.render(false);
    match drawn.split_once('\n') {
        Some((_, drawing)) => format!("{}\n{}", finding.one_line(), drawing.trim_end()),
        None => finding.one_line(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnostic::{Location, SourceFile};

    fn json(any: &Any) -> serde_json::Value {
        serde_json::from_slice(&any.value).unwrap()
    }

    #[test]
    fn a_source_is_gos_json() {
        let file = SourceFile::new("wheelbase.toml", "name = 1\n");
        let detail = source_detail(
            &source_info(&file, None),
            &[source_range(&Location::new(&file, 0..8))],
        );
        assert_eq!(detail.type_url, "github.com/moby/buildkit/errdefs.Source+json");
        let expected = concat!(
            r#"{"info":{"filename":"wheelbase.toml","data":"bmFtZSA9IDEK","language":"TOML"},"#,
            r#""ranges":[{"start":{"line":1},"end":{"line":1,"character":8}}]}"#
        );
        assert_eq!(String::from_utf8(detail.value).unwrap(), expected);
    }

    #[test]
    fn small_details_name_their_type() {
        for (detail, url, key, value) in [
            (
                vertex_detail("sha256:1"),
                "errdefs.Vertex+json",
                "digest",
                "sha256:1",
            ),
            (
                subrequest_detail("frontend.x"),
                "errdefs.Subrequest+json",
                "name",
                "frontend.x",
            ),
            (
                frontend_cap_detail("moby.x"),
                "errdefs.FrontendCap+json",
                "name",
                "moby.x",
            ),
        ] {
            assert_eq!(detail.type_url, format!("github.com/moby/buildkit/{url}"));
            assert_eq!(json(&detail), serde_json::json!({ key: value }));
        }
    }

    #[test]
    fn refusals_are_recognised_by_clients() {
        let status = unsupported_request("frontend.x");
        assert_eq!(
            (status.code, status.message.as_str()),
            (12, "unsupported request frontend.x")
        );
        assert_eq!(status.details, [subrequest_detail("frontend.x")]);
        let status = unsupported_frontend_cap("moby.x");
        assert_eq!(
            (status.code, status.details),
            (12, vec![frontend_cap_detail("moby.x")])
        );
    }

    #[test]
    fn every_error_is_told_with_its_place() {
        let file = SourceFile::new("wheelbase.toml", "a = 1\nb = 2\n");
        let first = Diagnostic::error("no a")
            .at(Location::new(&file, 0..1), "")
            .help("write c");
        let second = Diagnostic::error("no b")
            .at(Location::new(&file, 6..7), "")
            .at(Location::new(&file, 0..1), "");
        let warning = Diagnostic::warning("hm");

        let status = diagnostics_status(&[first.clone(), warning.clone()]);
        let drawn = "wheelbase.toml:1:1: no a\n --> wheelbase.toml:1:1\n  |\n1 | a = 1\n  | ^\n  |\n  = help: write c";
        assert_eq!(status.message, drawn);
        assert_eq!(status.details.len(), 1);
        let status = diagnostics_status(&[first, second, warning.clone()]);
        let expected = format!("2 errors\n{drawn}\nwheelbase.toml:2:1: no b\n");
        assert!(status.message.starts_with(&expected), "{}", status.message);
        assert_eq!(status.details.len(), 3);
        assert_eq!(json(&status.details[1])["ranges"][0]["start"]["line"], 2);
        assert_eq!(diagnostics_status(&[warning]).message, "hm");
    }
}
