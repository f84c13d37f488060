//! A typed, deterministic builder of LLB graphs.
//!
//! BuildKit takes a graph as encoded operations that refer to each other by the digest of their bytes. Writing
//! those by hand is where frontends go wrong: an index that defaults to 0 instead of -1, a map in random order,
//! a missing terminal operation. Here a [`Graph`] is filled with operations that say what they mean, and
//! [`Graph::definition`] gives the bytes. Equal operations are one vertex; equal graphs are equal bytes, whatever
//! the order in which they were put together.
//!
//! This room knows the wire, platforms and places in files. It knows no TOML, no lockfile and no gRPC.

mod caps;
mod definition;
mod emit;
mod exec;
mod exec_op;
mod file;
mod file_op;
mod git;
mod given;
mod graft;
mod graph;
mod http;
mod image;
mod local;
mod merge;
mod metadata;
mod mount;
mod mount_op;
mod path;
mod reference;
mod source_map;
#[cfg(test)]
mod testing;

pub use caps::Cap;
pub use emit::{
    Counting, Emitted, NoCache, Reports, SCANNED, Sandbox, Scan, Surroundings, emit, emit_file, emit_reads,
    emit_wheel, emit_wheels,
};
pub use exec::{Exec, Executed, ExtraHost, Network, ProxyEnv, Resources, SecretEnv, Security, Ulimit};
pub use file::{Action, Copy, File, Mkdir, Mkfile, Owner, Rm, Symlink, Timestamp, User};
pub use git::{GitSource, GitTime};
pub use given::Given;
pub use graft::GraftError;
pub(crate) use graph::wire_platform;
pub use graph::{Graph, Output, Vertex};
pub use http::HttpSource;
pub use image::{ImageSource, OciLayoutSource, ResolveMode};
pub use local::{Differ, LocalSource};
pub use metadata::{Metadata, NAME_KEY, ProgressGroup};
pub use mount::{Access, Bind, Cache, ContentCache, Mount, MountKind, Secret, Sharing, Ssh};
pub(crate) use reference::is_tag;
pub use reference::{ParseReferenceError, Reference};
pub use source_map::{source_info, source_range};
