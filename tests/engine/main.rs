//! The main job on a real engine: specs go in through `docker buildx build`, images come out and are run.
//!
//! Without the lab's environment these tests say that they are skipped, except with `CI=true`, where they fail.
//! `tests/run` starts the lab.

use std::sync::OnceLock;

use anyhow::{Result, anyhow};

use support::build::{Build, Built};
use support::engine::Lab;
use support::project::Project;
use support::tree::Tree;
use support::unique;

#[path = "../support/mod.rs"]
mod support;

mod attest;
mod backends;
mod caches;
mod calls;
mod copies;
mod device_code;
mod flags;
mod imports;
mod kept;
mod mistakes;
mod platforms;
mod progress;
mod quickstart;
mod roads;
mod rocm;
mod rust;
mod sccache;
mod slots;
mod sources;
mod targets;
mod wheel_gc;
mod wheel_store;

/// The image `serve` of the untouched quickstart, built and exported once for all tests.
fn serve(lab: &Lab) -> Result<&'static Tree> {
    static TREE: OnceLock<Result<Tree, String>> = OnceLock::new();
    let build = || {
        let project = Project::quickstart(lab)?;
        Ok(Build::of(lab, &project).target("serve").export()?.1)
    };
    let tree = TREE.get_or_init(|| build().map_err(|error: anyhow::Error| format!("{error:#}")));
    tree.as_ref().map_err(|error| anyhow!("{error}"))
}

/// A tag that is removed from the engine when it goes out of scope.
struct Tag<'a>(&'a Lab, String);

impl<'a> Tag<'a> {
    fn new(lab: &'a Lab) -> Self {
        Self(lab, unique())
    }
}

impl Drop for Tag<'_> {
    fn drop(&mut self) {
        self.0.engine().remove_image(&self.1);
    }
}

fn image(lab: &Lab, project: &Project, target: &str, tag: &Tag<'_>) -> Result<Built> {
    Build::of(lab, project)
        .target(target)
        .tag(&tag.1)
        .arguments(&["--load"])
        .succeed()
}
