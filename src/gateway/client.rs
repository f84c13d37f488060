//! The requests.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite};
use tonic::transport::Channel;

use super::caps::Caps;
use super::error::Error;
use super::options::Worker;
use super::result::{BuildResult, Reference};
use super::transport;
use crate::diagnostic::Diagnostic;
use crate::llb::{source_info, source_range};
use crate::platform::Platform;
use crate::proto::frontend::llb_bridge_client::LlbBridgeClient;
use crate::proto::{frontend, fsutil, pb, rpc, types};
use crate::rules::{self, Rule};

/// Bytes of one message, both ways: what BuildKit 0.14 and later take and send.
const MESSAGE_LIMIT: usize = 16 << 20;

/// Bytes of a file per request. Daemons before BuildKit 0.14, and some engines after it, have 4 MiB limits on the
/// way.
const CHUNK: usize = 2 << 20;

/// Seconds that the daemon has for its first answer, as in BuildKit's own Go client.
const PING_SECONDS: u64 = 15;

/// A connection to BuildKit. Clones share it, and requests may run at the same time.
#[derive(Debug, Clone)]
pub struct Client {
    pub(crate) bridge: LlbBridgeClient<Channel>,
    caps: Arc<Caps>,
    workers: Arc<Vec<Worker>>,
}

/// A place that known results are taken from, `--cache-from`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CacheImport {
    /// `registry`, `local`, `gha`, `s3`, ...
    pub kind: String,
    /// What that kind needs, such as `ref`.
    pub attrs: BTreeMap<String, String>,
}

/// What is to be solved: a definition, or another frontend's answer.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Solve {
    /// Our own graph.
    pub definition: Option<pb::Definition>,
    /// Another frontend, `dockerfile.v0` or `gateway.v0`, when there is no definition.
    pub frontend: String,
    /// Its options.
    pub frontend_options: BTreeMap<String, String>,
    /// Its inputs.
    pub frontend_inputs: BTreeMap<String, pb::Definition>,
    /// Where known results are taken from. They count for this solve alone.
    pub cache_imports: Vec<CacheImport>,
    /// Execute at once. Otherwise nothing runs before somebody looks at the result.
    pub evaluate: bool,
}

impl Solve {
    /// A graph, executed when somebody looks.
    pub fn definition(definition: pb::Definition) -> Self {
        Self {
            definition: Some(definition),
            ..Self::default()
        }
    }
}

/// A remark that BuildKit shows after the build.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Warning {
    /// Digest of the vertex that it is about.
    pub vertex: String,
    /// One line.
    pub short: String,
    /// More lines, shown on request.
    pub detail: Vec<String>,
    /// A page about it.
    pub url: String,
    /// The file that it is about.
    pub info: Option<pb::SourceInfo>,
    /// Its lines.
    pub ranges: Vec<pb::Range>,
}

impl Warning {
    /// A finding as a remark on a vertex, such as the one that loads the file with the mistake.
    pub fn from_diagnostic(finding: &Diagnostic, vertex: impl Into<String>) -> Self {
        let place = finding.labels.first().map(|label| &label.location);
        let rule = rules::rule_of(finding);
        let name = rule.map_or_else(String::new, |rule| format!("{}: ", rule.name()));
        let short = match place {
            Some(location) => {
                let (line, _) = location.file.position(location.range.start);
                format!("{name}{} (line {line})", finding.message)
            }
            None => format!("{name}{}", finding.message),
        };
        let texts = finding
            .labels
            .iter()
            .map(|label| label.text.clone())
            .chain(finding.help.clone())
            .chain(rule.map(|rule| rule.entry().description.to_owned()));
        Self {
            vertex: vertex.into(),
            short,
            detail: texts.filter(|text| !text.is_empty()).collect(),
            url: rule.map_or_else(String::new, Rule::url),
            info: place.map(|location| source_info(&location.file, None)),
            ranges: place.map(source_range).into_iter().collect(),
        }
    }
}

/// The daemon has the result or the error, and waits for the process to end.
#[derive(Debug)]
#[must_use = "the process has to end now"]
pub struct Returned(());

impl Returned {
    /// Ends the process, successfully also after an error: the daemon knows about it, and takes any other exit
    /// code for a failure of the frontend itself.
    ///
    /// It ends at once, without dropping the client. A dropped client says goodbye to the daemon, which then ends
    /// the connection about a second later and calls a frontend that is still there by then a failure; and a
    /// runtime that shuts down waits for a pending read of standard input, which never comes back.
    pub fn exit(self) -> ! {
        std::process::exit(0)
    }
}

impl Client {
    /// Connects over a stream, which is used for nothing else from then on, and asks what the daemon can do.
    pub async fn connect<S>(stream: S) -> Result<Self, Error>
    where
        S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
    {
        let deadline = Duration::from_secs(PING_SECONDS);
        let greeting = async {
            let channel = transport::channel(stream).await?;
            let mut bridge = LlbBridgeClient::new(channel)
                .max_decoding_message_size(MESSAGE_LIMIT)
                .max_encoding_message_size(MESSAGE_LIMIT);
            let pong = bridge.ping(frontend::PingRequest {}).await?.into_inner();
            Ok::<_, Error>((bridge, pong))
        };
        let (bridge, pong) = tokio::time::timeout(deadline, greeting)
            .await
            .map_err(|_| Error::Silent(PING_SECONDS))??;
        let caps = Arc::new(Caps::from_pong(&pong));
        let workers = Arc::new(pong.workers.into_iter().map(worker).collect());
        Ok(Self {
            bridge,
            caps,
            workers,
        })
    }

    /// Connects over standard input and output. Once per process.
    pub async fn connect_stdio() -> Result<Self, Error> {
        let stream = transport::stdio().map_err(|error| Error::Closed(error.to_string()))?;
        Self::connect(stream).await
    }

    /// What the daemon can do.
    pub fn caps(&self) -> &Caps {
        &self.caps
    }

    /// The daemon's workers, its own platform first.
    pub fn workers(&self) -> &[Worker] {
        &self.workers
    }

    /// What the builder itself runs: the first platform of its first worker.
    pub fn platform(&self) -> Option<&Platform> {
        self.workers().first()?.platforms.first()
    }

    pub(crate) fn require(&self, cap: &str) -> Result<(), Error> {
        Ok(self.caps.frontend.require(cap)?)
    }

    fn supports(&self, cap: &str) -> bool {
        self.caps.frontend.supports(cap)
    }

    /// Hands over a graph, or asks another frontend for one.
    ///
    /// With cache imports, a frontend that is asked gets them among its options too, as it would from a client.
    pub async fn solve(&self, solve: Solve) -> Result<BuildResult, Error> {
        self.require("solve.base")?;
        if !solve.cache_imports.is_empty() {
            self.require("importcaches")?;
        }
        if !solve.frontend_inputs.is_empty() {
            self.require("frontend.inputs")?;
        }
        let evaluate_at_once = solve.evaluate && self.supports("gateway.solve.evaluate");
        let mut frontend_options = solve.frontend_options;
        if !solve.frontend.is_empty() && !solve.cache_imports.is_empty() {
            let imports = solve
                .cache_imports
                .iter()
                .map(|import| serde_json::json!({ "Type": import.kind, "Attrs": import.attrs }));
            let imports = imports.collect::<serde_json::Value>().to_string();
            frontend_options
                .entry("cache-imports".to_owned())
                .or_insert(imports);
        }
        let cache_imports = solve
            .cache_imports
            .into_iter()
            .map(|import| frontend::CacheOptionsEntry {
                r#type: import.kind,
                attrs: import.attrs,
            })
            .collect();
        let request = frontend::SolveRequest {
            definition: solve.definition,
            frontend: solve.frontend,
            frontend_opt: frontend_options,
            allow_result_return: true,
            allow_result_array_ref: true,
            cache_imports,
            frontend_inputs: solve.frontend_inputs,
            evaluate: evaluate_at_once,
        };
        let response = self.bridge.clone().solve(request).await?.into_inner();
        let result = BuildResult::from_response(response);
        if solve.evaluate && !evaluate_at_once {
            for reference in result.references() {
                self.evaluate(reference).await?;
            }
        }
        Ok(result)
    }

    /// Executes what a reference needs.
    pub async fn evaluate(&self, reference: &Reference) -> Result<(), Error> {
        if self.supports("gateway.evaluate") {
            let request = frontend::EvaluateRequest {
                r#ref: reference.id.clone(),
            };
            self.bridge.clone().evaluate(request).await?;
        } else {
            // Looking at it has the same effect.
            self.stat(reference, ".").await?;
        }
        Ok(())
    }

    /// The whole of a file; `None` when it is not there.
    pub async fn read_file(&self, reference: &Reference, path: &str) -> Result<Option<Vec<u8>>, Error> {
        let mut data = Vec::new();
        loop {
            let Some(mut chunk) = self.read_range(reference, path, data.len(), CHUNK).await? else {
                return Ok(None);
            };
            let full = chunk.len() == CHUNK;
            data.append(&mut chunk);
            if !full {
                return Ok(Some(data));
            }
        }
    }

    /// Up to `length` bytes of a file from byte `offset` on, at most 2 MiB; fewer at its end. `None` when it is not
    /// there.
    pub async fn read_range(
        &self,
        reference: &Reference,
        path: &str,
        offset: usize,
        length: usize,
    ) -> Result<Option<Vec<u8>>, Error> {
        self.require("readfile")?;
        let wire = |number: usize| i64::try_from(number).unwrap_or(i64::MAX);
        let range = frontend::FileRange {
            offset: wire(offset),
            length: wire(length.min(CHUNK)),
        };
        let request = frontend::ReadFileRequest {
            r#ref: reference.id.clone(),
            file_path: path.to_owned(),
            range: Some(range),
        };
        let answer = self.bridge.clone().read_file(request).await;
        let answer = self.found(reference, answer).await?;
        Ok(answer.map(|answer| answer.data))
    }

    /// The entries of a directory whose names match the glob, all when it is empty. `None` when the directory is
    /// not there.
    pub async fn read_dir(
        &self,
        reference: &Reference,
        path: &str,
        include: &str,
    ) -> Result<Option<Vec<fsutil::Stat>>, Error> {
        self.require("readdir")?;
        let request = frontend::ReadDirRequest {
            r#ref: reference.id.clone(),
            dir_path: path.to_owned(),
            include_pattern: include.to_owned(),
        };
        let answer = self.bridge.clone().read_dir(request).await;
        let answer = self.found(reference, answer).await?;
        Ok(answer.map(|answer| answer.entries))
    }

    /// What there is at a path; `None` when nothing is.
    pub async fn stat_file(&self, reference: &Reference, path: &str) -> Result<Option<fsutil::Stat>, Error> {
        self.require("statfile")?;
        let request = frontend::StatFileRequest {
            r#ref: reference.id.clone(),
            path: path.to_owned(),
        };
        let answer = self.bridge.clone().stat_file(request).await;
        let answer = self.found(reference, answer).await?;
        Ok(answer.and_then(|answer| answer.stat))
    }

    async fn stat(&self, reference: &Reference, path: &str) -> Result<(), Error> {
        self.require("statfile")?;
        let request = frontend::StatFileRequest {
            r#ref: reference.id.clone(),
            path: path.to_owned(),
        };
        self.bridge.clone().stat_file(request).await?;
        Ok(())
    }

    /// Tells a missing file from a failure to make the file system at all, which can have the same words in it:
    /// only when the file system is there can a file be missing from it.
    async fn found<T>(
        &self,
        reference: &Reference,
        answer: Result<tonic::Response<T>, tonic::Status>,
    ) -> Result<Option<T>, Error> {
        let error = match answer {
            Ok(answer) => return Ok(Some(answer.into_inner())),
            Err(status) => Error::from(status),
        };
        if !error.is_missing_file() {
            return Err(error);
        }
        if self.supports("gateway.evaluate") || self.supports("statfile") {
            self.evaluate(reference).await?;
        }
        Ok(None)
    }

    /// Graphs that the client gave instead of directories, by name.
    pub async fn inputs(&self) -> Result<BTreeMap<String, pb::Definition>, Error> {
        if !self.supports("frontend.inputs") {
            return Ok(BTreeMap::new());
        }
        let response = self.bridge.clone().inputs(frontend::InputsRequest {}).await?;
        Ok(response.into_inner().definitions)
    }

    /// Shows a remark after the build. Daemons that cannot, do not.
    pub async fn warn(&self, warning: Warning) -> Result<(), Error> {
        if !self.supports("gateway.warnings") {
            return Ok(());
        }
        let request = frontend::WarnRequest {
            digest: warning.vertex,
            level: 1,
            short: warning.short.into_bytes(),
            detail: warning.detail.into_iter().map(String::into_bytes).collect(),
            url: warning.url,
            info: warning.info,
            ranges: warning.ranges,
        };
        self.bridge.clone().warn(request).await?;
        Ok(())
    }

    /// Ends the build with a result. The process has to exit now: see [`Returned::exit`].
    pub async fn return_result(&self, result: BuildResult) -> Result<Returned, Error> {
        let result = result.into_wire(&self.caps.frontend)?;
        self.finish(frontend::ReturnRequest {
            result: Some(result),
            error: None,
        })
        .await
    }

    /// Ends the build with an error. The process has to exit now: see [`Returned::exit`].
    pub async fn return_error(&self, status: rpc::Status) -> Result<Returned, Error> {
        // BuildKit takes code 0 beside an error for success.
        let unknown = i32::from(tonic::Code::Unknown);
        let code = if status.code == 0 { unknown } else { status.code };
        let error = rpc::Status { code, ..status };
        self.finish(frontend::ReturnRequest {
            result: None,
            error: Some(error),
        })
        .await
    }

    async fn finish(&self, request: frontend::ReturnRequest) -> Result<Returned, Error> {
        self.require("return")?;
        self.bridge.clone().r#return(request).await?;
        Ok(Returned(()))
    }
}

fn worker(record: types::WorkerRecord) -> Worker {
    let platforms = record.platforms.iter();
    Worker {
        id: record.id,
        labels: record.labels,
        platforms: platforms
            .map(|platform| Platform::new(&platform.os, &platform.architecture, &platform.variant))
            .collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnostic::{Location, SourceFile};

    #[test]
    fn a_finding_becomes_a_remark_with_its_lines() {
        let file = SourceFile::new("wheelbase.toml", "a = 1\nb = 2\n");
        let finding = Diagnostic::warning("odd b")
            .at(Location::new(&file, 6..7), "this one")
            .help("write c");
        let warning = Warning::from_diagnostic(&finding, "sha256:1");
        assert_eq!(warning.short, "odd b (line 2)");
        assert_eq!(warning.detail, ["this one", "write c"]);
        assert_eq!(warning.info.unwrap().filename, "wheelbase.toml");
        assert_eq!(warning.ranges.len(), 1);
        let ruled = Warning::from_diagnostic(&Rule::RootUser.warning("it runs as root"), "sha256:1");
        assert_eq!(ruled.short, "RootUser: it runs as root");
        assert_eq!(ruled.detail, [Rule::RootUser.entry().description]);
        assert_eq!(ruled.url, "docs/reference/rules.md#rootuser");
        let bare = Warning::from_diagnostic(&Diagnostic::warning("odd"), "sha256:1");
        assert_eq!((bare.short.as_str(), bare.info), ("odd", None));
    }
}
