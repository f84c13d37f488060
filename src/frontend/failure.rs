//! Everything that ends a build without an image, as the daemon wants to hear it.

use crate::diagnostic::Diagnostic;
use crate::gateway::{self, Client};
use crate::llb::{Cap, Emitted, Surroundings};
use crate::plan::{Plan, Source, Work, own_patterns};
use crate::proto::rpc;

/// Why there is no image.
#[derive(Debug)]
pub(super) enum Failure {
    /// The user's to mend: every finding, with its place.
    Findings(Vec<Diagnostic>),
    /// The daemon's words, passed on as they came.
    Daemon(gateway::Error),
    /// A question that this frontend does not know.
    Unsupported(rpc::Status),
}

impl Failure {
    /// The status that is returned.
    pub(super) fn into_status(self) -> rpc::Status {
        match self {
            Self::Findings(findings) => gateway::diagnostics_status(&findings),
            Self::Daemon(error) => error.into_status(),
            Self::Unsupported(status) => status,
        }
    }
}

impl From<Vec<Diagnostic>> for Failure {
    fn from(findings: Vec<Diagnostic>) -> Self {
        Self::Findings(findings)
    }
}

impl From<Diagnostic> for Failure {
    fn from(finding: Diagnostic) -> Self {
        Self::Findings(vec![finding])
    }
}

impl From<rpc::Status> for Failure {
    fn from(status: rpc::Status) -> Self {
        Self::Unsupported(status)
    }
}

impl From<gateway::Error> for Failure {
    fn from(error: gateway::Error) -> Self {
        Self::Daemon(error)
    }
}

/// Compares what the graph asks for with what the daemon has, before the daemon refuses it with less to say.
pub(super) fn check_capabilities(client: &Client, emitted: &Emitted) -> Result<(), Failure> {
    let mut missing = Vec::new();
    let outputs = std::iter::once(emitted.image).chain(emitted.reports.iter().map(|reports| reports.folder));
    for (id, vertices) in outputs.flat_map(|output| emitted.graph.caps(output)) {
        if let Err(lack) = client.caps().llb.require(&id) {
            let since = Cap::ALL.iter().find(|cap| cap.id() == id).map(|cap| cap.since());
            let mut error = Diagnostic::error(format!("{} needs {lack}", vertices.join(", ")));
            if let Some(since) = since {
                error = error.help(format!("BuildKit {since} and later can do it"));
            }
            if !missing.contains(&error) {
                missing.push(error);
            }
        }
    }
    refuse(missing)
}

/// A build that has errors goes no further.
pub(super) fn refuse(errors: Vec<Diagnostic>) -> Result<(), Failure> {
    if errors.is_empty() {
        Ok(())
    } else {
        Err(errors.into())
    }
}

/// A daemon that cannot filter copies would put files into a wheel's key and source that the spec leaves out. One of that age
/// takes `ssh://` for the name of a host (moby/buildkit#1901), and says so of a URL that nobody has written.
pub(super) fn check_sources(plan: &Plan, surroundings: &Surroundings) -> Result<(), Failure> {
    if surroundings.patterns {
        return Ok(());
    }
    let errors: Vec<Diagnostic> = plan
        .iter()
        .filter_map(|(_, stage)| {
            let source = stage
                .work
                .source()
                .filter(|_| !matches!(stage.work, Work::Project(_)));
            let (what, way_out) = match source {
                Some(Source::Git { url, .. }) if url.starts_with("ssh://") => (
                    "a repository over `ssh` for".to_owned(),
                    "read it over `https` with a token, or ".to_owned(),
                ),
                Some(Source::Context { include, exclude, .. }) => {
                    let word = match (include.is_empty(), own_patterns(exclude).is_empty()) {
                        (false, _) => "include",
                        (true, false) => "exclude",
                        (true, true) => return None,
                    };
                    (format!("`{word}` of"), format!("leave `{word}` out, or "))
                }
                Some(Source::Crates(crates)) if crates.is_part() => {
                    ("a part of a Cargo workspace for".to_owned(), String::new())
                }
                _ => return None,
            };
            let error = Diagnostic::error(format!("{what} `{}` needs BuildKit 0.9 or later", stage.name))
                .help(format!("{way_out}update Docker to 23.0 or later"));
            Some(match &stage.location {
                Some(location) => error.at(location.clone(), "declared here"),
                None => error,
            })
        })
        .collect();
    refuse(errors)
}
