//! The decision: which stages there are, what each is made from, and why.
//!
//! [`plan`] turns a spec, a lock, a platform and the images that a registry has resolved into a [`Plan`]. It is a
//! pure function: no file, network, clock or chance takes part, and the same input gives the same bytes. It
//! knows nothing of BuildKit; `llb` translates a plan, and [`show`] puts it into words.
//!
//! ```text
//! devel tier -- system packages --.
//! python tier -- venv -- needs ---+-- compile --> wheel --.
//!                  |                                       |
//!                  +-- layer: torch     --.                |
//!                  +-- layer: bucket n  --+-- image: tier + system packages + venv + layers + wheels + copies
//! ```

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::diagnostic::Diagnostic;
use crate::lock::{Lock, Manifests, Project as PyProject};
use crate::platform::Platform;
use crate::rules::Rule;
use crate::spec::Spec;

mod architectures;
mod compact;
mod compiler_cache;
mod contents;
mod counts;
mod crates;
mod date;
pub mod device_code;
mod explain;
mod footprint;
pub mod forbid;
mod foreign;
mod ground;
mod image;
pub mod imports;
mod key;
mod layers;
pub mod links;
mod model;
mod packages;
mod planner;
mod references;
mod replay;
pub mod requires;
mod retention;
pub mod show;
mod source;
mod spdx;
mod stand_in;
pub mod steps;
#[cfg(test)]
pub(crate) mod testing;
mod toolkit;
mod unkeyed;
mod wheel;
mod wheel_store;
mod work;

pub use compact::{CompactPlan, CompactStage, LABEL, ReadError, compact};
pub use compiler_cache::STORE_SECRET;
pub use contents::{Code, Contents, ListError};
pub use counts::{COUNTS, Counted, Counts, read_report, report};
pub use crates::{Crates, manifest_paths};
pub use date::{rfc3339, seconds};
pub use explain::{Cause, Change, ChangeKind, Explanation, Root as RootCause, explain};
pub use footprint::{Footprint, Layer};
pub use foreign::{foreign, foreign_stage};
pub use image::{HISTORY_COMMENT, tier_config};
pub use key::{Input, Key, digest, hex};
pub use model::{
    CacheTool, Compile, CompilerCache, CopyTree, Download, Forbidden, ImagePlan, ImageSource, Install,
    KeptBuild, NamedContext, Needed, Pace, Package, Plan, Prepare, Project, PythonSource, ReadyWheel, Root,
    Source, Stage, StageId, Supply, System, Work,
};
// What keeps objects outside the builder, and whose GPUs are compiled for, is said alike in a spec and in a plan.
pub use crate::spec::{Store, StoreKind, Vendor};
pub use references::{builder_references, foreseen, references};
pub use replay::{LayerHistory, Point, Policy, Replay, Unplanned, Version, file_key, replay};
pub use retention::{
    Reason, Retention, StoreTag, StoredManifest, StoredWheel, Sweep, Verdict, stored_bytes, sweep,
};
pub use source::own_patterns;
pub use spdx::spdx;
pub use stand_in::{StandIn, StandIns};
pub use unkeyed::unkeyed;
pub use wheel_store::{
    ContextRead, PARTS, STORED, StoreEntry, WHEEL_NAME, WHEEL_PLATFORM, WHEEL_PUSHED, compile_of,
    context_reads, store_entries, take_stored,
};

/// Everything that a plan depends on.
#[derive(Debug)]
pub struct Request<'a> {
    /// What the user wrote.
    pub spec: &'a Spec,
    /// What the resolver decided; `None` when there is no lockfile, which is an error only if it is needed.
    pub lock: Option<&'a Lock>,
    /// The pyproject.toml files of the folders that [`project_paths`] names, by folder relative to the build context.
    pub projects: &'a BTreeMap<String, PyProject>,
    /// The manifests of crates that [`manifest_paths`] asks for.
    pub manifests: &'a Manifests,
    /// What is built for.
    pub platform: Platform,
    /// The machine that builds, where it cannot run what it builds.
    pub builder: Option<Builder<'a>>,
    /// What a registry says of the images that [`references`] of an unresolved plan names; may be empty.
    pub resolved: &'a BTreeMap<String, Resolved>,
    /// What the client puts in place of what the spec names.
    pub stand_ins: &'a StandIns,
    /// The images of the spec to plan.
    pub images: &'a BTreeSet<String>,
}

/// A machine that builds images of a platform that it cannot run.
#[derive(Debug, Clone, Copy)]
pub struct Builder<'a> {
    /// What it runs.
    pub platform: &'a Platform,
    /// What a registry says of the images that it runs steps in: those of [`builder_references`]; may be empty.
    pub resolved: &'a BTreeMap<String, Resolved>,
}

/// What a registry says of an image reference.
#[derive(Debug, Clone)]
pub struct Resolved {
    /// Digest of the manifest or index; `None` for an image that only the daemon's own store has.
    pub digest: Option<String>,
    /// The image config for the platform.
    pub config: Value,
}

/// Plans the images of a request. All errors are reported, each at its place in the spec.
pub fn plan(request: &Request<'_>) -> Result<Plan, Vec<Diagnostic>> {
    planner::Planner::new(request).plan()
}

/// What builds but is probably not meant of a spec with this lock: a package by name brings nothing else where the
/// lock does not say what packages need.
pub fn warnings(spec: &Spec, lock: &Lock) -> Vec<Diagnostic> {
    if lock.has_dependencies() {
        return Vec::new();
    }
    let file = spec.python.lock.get_ref();
    let images = spec.images.values().filter(|image| image.everything.is_none());
    let images = images.filter_map(|image| {
        let first = image.packages.first()?;
        Some((
            first,
            "write packages = [\"*\"] for all of the file, or name everything that the image needs",
        ))
    });
    let wheels = spec.wheels.values().filter_map(|wheel| {
        let first = wheel
            .needs
            .iter()
            .find(|need| !spec.wheels.contains_key(&need.get_ref().name))?;
        Some((first, "name everything that the build imports"))
    });
    images
        .chain(wheels)
        .map(|(first, help)| {
            Rule::LockWithoutDependencies
                .warning(format!("{file} does not say what its packages need"))
                .at(spec.locate(first), "installed without its dependencies")
                .help(help)
        })
        .collect()
}

/// Folders, relative to the build context, whose pyproject.toml planning may ask for.
pub fn project_paths(spec: &Spec, lock: &Lock) -> BTreeSet<String> {
    use crate::lock::Source;
    lock.packages()
        .iter()
        .filter_map(|package| match package.source() {
            Source::Directory { path } | Source::Editable { path } => Some(path),
            _ => None,
        })
        .map(|path| beside(spec.python.lock.get_ref(), path))
        .collect()
}

/// A path relative to a file's folder, relative to what the file's own path is relative to.
pub(crate) fn beside(file: &str, path: &str) -> String {
    let folder = file.rsplit_once('/').map_or("", |(folder, _)| folder);
    let mut parts: Vec<&str> = Vec::new();
    for part in folder.split('/').chain(path.split('/')) {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|last| *last != "..") => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    if parts.is_empty() {
        ".".to_owned()
    } else {
        parts.join("/")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_beside_a_file() {
        assert_eq!(beside("uv.lock", "."), ".");
        assert_eq!(beside("uv.lock", "train"), "train");
        assert_eq!(beside("python/uv.lock", "../lib/a"), "lib/a");
        assert_eq!(beside("python/uv.lock", "."), "python");
        assert_eq!(beside("uv.lock", "../outside"), "../outside");
    }
}
