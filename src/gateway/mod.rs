//! The conversation with BuildKit while a build is being defined.
//!
//! BuildKit starts the frontend's container and serves gRPC over the container's standard input and output; the
//! frontend is the client ([`Client`]). What the user asked for comes as environment variables ([`Options`]).
//! The conversation ends with one result ([`BuildResult`]) or one error ([`Status`](crate::proto::rpc::Status)),
//! and then the process has to be gone at once: see [`Returned::exit`].
//!
//! Nothing but HTTP/2 may be written to standard output, and nobody sees standard error: what the user shall know
//! goes through [`Client::warn`], names of vertices, or the error.
//!
//! This room knows the wire, diagnostics, platforms and the types of `llb`. What is being built, it does not know.

mod attestation;
mod caps;
mod client;
mod context;
mod details;
mod error;
mod git_url;
mod options;
mod resolve;
mod result;
mod settings;
mod transport;
mod values;

pub use attestation::{Attestation, ScannedStages, Scanner};
pub use caps::{CapSet, Caps, MissingCap};
pub use client::{CacheImport, Client, Returned, Solve, Warning};
pub use context::{ContextSource, NamedContext, context_name};
pub use details::{
    diagnostics_status, frontend_cap_detail, source_detail, subrequest_detail, unsupported_frontend_cap,
    unsupported_request, vertex_detail,
};
pub use error::Error;
pub use git_url::{parse_git_url, shown_url};
pub use options::{NoCache, Options, Worker};
pub use resolve::ResolvedImage;
pub use result::{BuildResult, PlatformImage, Reference, Refs};
pub use transport::{Stdio, stdio};
