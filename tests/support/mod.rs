//! What tests on a real engine share.
//!
//! Everything here looks at a build from outside: BuildKit's raw progress, the metadata file, the registry, an
//! exported filesystem. Nothing is read from what the frontend says of itself.

#![allow(dead_code, reason = "each test binary uses a part of it")]

pub(crate) mod attest;
pub(crate) mod build;
pub(crate) mod buildx;
pub(crate) mod engine;
pub(crate) mod errors;
pub(crate) mod files;
pub(crate) mod git;
pub(crate) mod hundred;
pub(crate) mod listing;
pub(crate) mod own_registry;
pub(crate) mod plain;
pub(crate) mod platforms;
pub(crate) mod probe;
pub(crate) mod progress;
pub(crate) mod project;
pub(crate) mod registry;
pub(crate) mod rocm;
pub(crate) mod rust;
pub(crate) mod sccache;
pub(crate) mod slow;
pub(crate) mod store;
pub(crate) mod token_server;
pub(crate) mod torch;
pub(crate) mod tree;
pub(crate) mod wheel_store;

/// A word that no other test and no earlier run has used, for tags and for steps that must be cold.
pub(crate) fn unique() -> String {
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::time::{SystemTime, UNIX_EPOCH};
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let nanos = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |age| age.as_nanos());
    format!(
        "t{:x}{:x}{:x}",
        nanos,
        std::process::id(),
        COUNT.fetch_add(1, Ordering::Relaxed)
    )
}
