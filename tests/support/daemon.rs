//! The other end of the conversation: BuildKit's side of the gateway, in this process.
//!
//! Messages and server come from an independent implementation of BuildKit's protocol, so that what our client
//! writes is read by somebody else's code. File systems live in memory.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use bollard_buildkit_proto::fsutil::types::Stat;
use bollard_buildkit_proto::moby::buildkit::v1::apicaps::ApiCap;
use bollard_buildkit_proto::moby::buildkit::v1::frontend as wire;
use bollard_buildkit_proto::moby::buildkit::v1::frontend::llb_bridge_server::{LlbBridge, LlbBridgeServer};
use tokio::io::{AsyncRead, AsyncWrite, DuplexStream};
use tokio::sync::Barrier;
use tonic::transport::Server;
use tonic::transport::server::Connected;
use tonic::{Request, Response, Status};

const MESSAGE_LIMIT: usize = 16 << 20;

/// A request as it came.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Call {
    Ping,
    Solve(wire::SolveRequest),
    ResolveImageConfig(wire::ResolveImageConfigRequest),
    ResolveSourceMeta(wire::ResolveSourceMetaRequest),
    ReadFile(wire::ReadFileRequest),
    ReadDir(wire::ReadDirRequest),
    StatFile(wire::StatFileRequest),
    Evaluate(wire::EvaluateRequest),
    Inputs,
    Warn(wire::WarnRequest),
    Return(wire::ReturnRequest),
}

/// What the daemon answers, and what it was asked.
#[derive(Clone, Default)]
pub(crate) struct Daemon {
    pub(crate) pong: wire::PongResponse,
    /// The answer to every solve.
    pub(crate) solved: wire::SolveResponse,
    pub(crate) image_config: wire::ResolveImageConfigResponse,
    /// The answer about every source that `sources` does not name.
    pub(crate) source_meta: wire::ResolveSourceMetaResponse,
    /// Answers by identifier.
    pub(crate) sources: BTreeMap<String, wire::ResolveSourceMetaResponse>,
    pub(crate) inputs: wire::InputsResponse,
    /// Files by reference and path.
    pub(crate) files: BTreeMap<(String, String), Vec<u8>>,
    /// References that cannot be made, and why.
    pub(crate) broken: BTreeMap<String, Status>,
    /// How every request but `Ping` fails.
    pub(crate) failure: Option<Status>,
    /// Reads are answered once this many of them are there.
    pub(crate) gate: Option<Arc<Barrier>>,
    pub(crate) calls: Arc<Mutex<Vec<Call>>>,
}

impl Daemon {
    /// A daemon that can do these things in the gateway.
    pub(crate) fn able(ids: &[&str]) -> Self {
        let mut daemon = Self::default();
        daemon.pong.frontend_api_caps = ids.iter().map(|id| enabled(id)).collect();
        daemon
    }

    /// A daemon that can do all that our client uses.
    pub(crate) fn modern() -> Self {
        Self::able(&[
            "solve.base",
            "resolveimage",
            "resolveimage.resolvemode",
            "source.metaresolver",
            "readfile",
            "readdir",
            "statfile",
            "gateway.evaluate",
            "gateway.solve.evaluate",
            "return",
            "returnmap",
            "proto.refarray",
            "importcaches",
            "frontend.inputs",
            "gateway.warnings",
        ])
    }

    /// Answers every solve with this file system.
    #[must_use]
    pub(crate) fn with_reference(mut self, id: &str) -> Self {
        let reference = wire::Ref {
            id: id.to_owned(),
            def: None,
        };
        self.solved.result = Some(wire::Result {
            result: Some(wire::result::Result::Ref(reference)),
            ..wire::Result::default()
        });
        self
    }

    /// Puts a file into a file system.
    #[must_use]
    pub(crate) fn with_file(mut self, reference: &str, path: &str, data: impl Into<Vec<u8>>) -> Self {
        self.files
            .insert((reference.to_owned(), path.to_owned()), data.into());
        self
    }

    /// Serves one connection, in the background.
    pub(crate) fn serve_on<S>(&self, stream: S)
    where
        S: AsyncRead + AsyncWrite + Connected + Unpin + Send + 'static,
    {
        let service = LlbBridgeServer::new(self.clone())
            .max_decoding_message_size(MESSAGE_LIMIT)
            .max_encoding_message_size(MESSAGE_LIMIT);
        let incoming = tokio_stream::once(Ok::<_, std::io::Error>(stream));
        tokio::spawn(
            Server::builder()
                .add_service(service)
                .serve_with_incoming(incoming),
        );
    }

    /// Serves one connection, in the background; the other end is for a client.
    pub(crate) fn serve(&self) -> DuplexStream {
        let (ours, theirs) = tokio::io::duplex(64 << 10);
        self.serve_on(theirs);
        ours
    }

    /// What was asked so far, without `Ping`.
    pub(crate) fn calls(&self) -> Vec<Call> {
        let calls = self.calls.lock().expect("calls");
        calls
            .iter()
            .filter(|call| **call != Call::Ping)
            .cloned()
            .collect()
    }

    /// The only thing that was asked so far.
    pub(crate) fn only_call(&self) -> Call {
        let mut calls = self.calls();
        assert_eq!(calls.len(), 1, "{calls:?}");
        calls.remove(0)
    }

    fn note(&self, call: Call) -> Result<(), Status> {
        self.calls.lock().expect("calls").push(call);
        self.failure.clone().map_or(Ok(()), Err)
    }

    /// Fails when the file system cannot be made.
    fn made(&self, reference: &str) -> Result<(), Status> {
        self.broken.get(reference).cloned().map_or(Ok(()), Err)
    }

    fn file(&self, reference: &str, path: &str) -> Result<&Vec<u8>, Status> {
        self.made(reference)?;
        let key = (reference.to_owned(), path.to_owned());
        // The words, and the lack of a code, are the daemon's own.
        self.files
            .get(&key)
            .ok_or_else(|| Status::unknown(format!("open /{path}: no such file or directory")))
    }
}

/// A capability that is there and switched on.
pub(crate) fn enabled(id: &str) -> ApiCap {
    ApiCap {
        id: id.to_owned(),
        enabled: true,
        ..ApiCap::default()
    }
}

fn size(data: &[u8]) -> i64 {
    i64::try_from(data.len()).expect("a size")
}

#[tonic::async_trait]
impl LlbBridge for Daemon {
    type ExecProcessStream = tokio_stream::Empty<Result<wire::ExecMessage, Status>>;

    async fn ping(&self, _: Request<wire::PingRequest>) -> Result<Response<wire::PongResponse>, Status> {
        self.calls.lock().expect("calls").push(Call::Ping);
        Ok(Response::new(self.pong.clone()))
    }

    async fn solve(
        &self,
        request: Request<wire::SolveRequest>,
    ) -> Result<Response<wire::SolveResponse>, Status> {
        self.note(Call::Solve(request.into_inner()))?;
        Ok(Response::new(self.solved.clone()))
    }

    async fn resolve_image_config(
        &self,
        request: Request<wire::ResolveImageConfigRequest>,
    ) -> Result<Response<wire::ResolveImageConfigResponse>, Status> {
        self.note(Call::ResolveImageConfig(request.into_inner()))?;
        Ok(Response::new(self.image_config.clone()))
    }

    async fn resolve_source_meta(
        &self,
        request: Request<wire::ResolveSourceMetaRequest>,
    ) -> Result<Response<wire::ResolveSourceMetaResponse>, Status> {
        let request = request.into_inner();
        let named = request
            .source
            .as_ref()
            .and_then(|source| self.sources.get(&source.identifier));
        let answer = named.unwrap_or(&self.source_meta).clone();
        self.note(Call::ResolveSourceMeta(request))?;
        Ok(Response::new(answer))
    }

    async fn read_file(
        &self,
        request: Request<wire::ReadFileRequest>,
    ) -> Result<Response<wire::ReadFileResponse>, Status> {
        let request = request.into_inner();
        self.note(Call::ReadFile(request.clone()))?;
        if let Some(gate) = &self.gate {
            gate.wait().await;
        }
        let data = self.file(&request.r#ref, &request.file_path)?;
        let data = match request.range {
            None => data.clone(),
            Some(range) => {
                let offset = usize::try_from(range.offset).expect("an offset");
                let length = usize::try_from(range.length).expect("a length");
                data.iter().skip(offset).take(length).copied().collect()
            }
        };
        Ok(Response::new(wire::ReadFileResponse { data }))
    }

    async fn read_dir(
        &self,
        request: Request<wire::ReadDirRequest>,
    ) -> Result<Response<wire::ReadDirResponse>, Status> {
        let request = request.into_inner();
        self.note(Call::ReadDir(request.clone()))?;
        self.made(&request.r#ref)?;
        let prefix = format!("{}/", request.dir_path);
        let entries: Vec<Stat> = self
            .files
            .iter()
            .filter(|((reference, _), _)| *reference == request.r#ref)
            .filter_map(|((_, path), data)| {
                let path = path.strip_prefix(&prefix)?.to_owned();
                Some(Stat {
                    path,
                    size: size(data),
                    mode: 0o644,
                    ..Stat::default()
                })
            })
            .collect();
        if entries.is_empty() {
            return Err(Status::unknown(format!(
                "lstat /{}: no such file or directory",
                request.dir_path
            )));
        }
        Ok(Response::new(wire::ReadDirResponse { entries }))
    }

    async fn stat_file(
        &self,
        request: Request<wire::StatFileRequest>,
    ) -> Result<Response<wire::StatFileResponse>, Status> {
        let request = request.into_inner();
        self.note(Call::StatFile(request.clone()))?;
        let stat = if request.path == "." {
            self.made(&request.r#ref)?;
            Stat {
                path: ".".to_owned(),
                mode: 1 << 31 | 0o755,
                ..Stat::default()
            }
        } else {
            let data = self.file(&request.r#ref, &request.path)?;
            Stat {
                path: request.path.clone(),
                size: size(data),
                mode: 0o644,
                ..Stat::default()
            }
        };
        Ok(Response::new(wire::StatFileResponse { stat: Some(stat) }))
    }

    async fn evaluate(
        &self,
        request: Request<wire::EvaluateRequest>,
    ) -> Result<Response<wire::EvaluateResponse>, Status> {
        let request = request.into_inner();
        self.note(Call::Evaluate(request.clone()))?;
        self.made(&request.r#ref)?;
        Ok(Response::new(wire::EvaluateResponse {}))
    }

    async fn inputs(
        &self,
        _: Request<wire::InputsRequest>,
    ) -> Result<Response<wire::InputsResponse>, Status> {
        self.note(Call::Inputs)?;
        Ok(Response::new(self.inputs.clone()))
    }

    async fn warn(
        &self,
        request: Request<wire::WarnRequest>,
    ) -> Result<Response<wire::WarnResponse>, Status> {
        self.note(Call::Warn(request.into_inner()))?;
        Ok(Response::new(wire::WarnResponse {}))
    }

    /// Refuses what BuildKit refuses (`llbBridgeForwarder.Return` in its `frontend/gateway/gateway.go`).
    async fn r#return(
        &self,
        request: Request<wire::ReturnRequest>,
    ) -> Result<Response<wire::ReturnResponse>, Status> {
        let request = request.into_inner();
        if self.calls().iter().any(|call| matches!(call, Call::Return(_))) {
            return Err(Status::unknown("result already set"));
        }
        if request.result.is_some() == request.error.is_some() {
            return Err(Status::unknown("must be either result or err"));
        }
        self.note(Call::Return(request))?;
        Ok(Response::new(wire::ReturnResponse {}))
    }

    async fn new_container(
        &self,
        _: Request<wire::NewContainerRequest>,
    ) -> Result<Response<wire::NewContainerResponse>, Status> {
        Err(Status::unimplemented("containers"))
    }

    async fn release_container(
        &self,
        _: Request<wire::ReleaseContainerRequest>,
    ) -> Result<Response<wire::ReleaseContainerResponse>, Status> {
        Err(Status::unimplemented("containers"))
    }

    async fn exec_process(
        &self,
        _: Request<tonic::Streaming<wire::ExecMessage>>,
    ) -> Result<Response<Self::ExecProcessStream>, Status> {
        Err(Status::unimplemented("containers"))
    }

    async fn read_file_container(
        &self,
        _: Request<wire::ReadFileRequest>,
    ) -> Result<Response<wire::ReadFileResponse>, Status> {
        Err(Status::unimplemented("containers"))
    }

    async fn read_dir_container(
        &self,
        _: Request<wire::ReadDirRequest>,
    ) -> Result<Response<wire::ReadDirResponse>, Status> {
        Err(Status::unimplemented("containers"))
    }

    async fn stat_file_container(
        &self,
        _: Request<wire::StatFileRequest>,
    ) -> Result<Response<wire::StatFileResponse>, Status> {
        Err(Status::unimplemented("containers"))
    }
}
