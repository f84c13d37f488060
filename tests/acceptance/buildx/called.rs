//! Rows of the table of options that are about contexts: calls whose context, spec or bake file may come from anywhere.

use anyhow::{Result, bail};

use super::table::{self, Cell};
use crate::Claim;
use crate::support::buildx::Buildx;
use crate::support::engine::{Engine, Lab};
use crate::support::listing;
use crate::support::project::Project;
use crate::support::unique;

/// An option, and what measures it.
#[derive(Clone, Copy)]
pub(super) struct Row {
    option: &'static str,
    measure: fn(&One<'_>) -> Result<Cell>,
}

impl Row {
    pub(super) const fn new(option: &'static str, measure: fn(&One<'_>) -> Result<Cell>) -> Self {
        Self { option, measure }
    }
}

/// One cell of the table.
pub(super) struct One<'a> {
    pub(super) lab: &'a Lab,
    pub(super) engine: Engine,
}

/// The claim that a row is as the document says.
pub(super) fn claim(row: &Row) -> Claim {
    let measure = row.measure;
    table::claim(row.option, move |lab, engine| {
        let engine = engine.clone();
        match measure(&One { lab, engine }) {
            Err(error) if is_refused(&error) => Ok(Cell::SaysNo),
            measured => measured,
        }
    })
}

/// Whether the Dockerfile frontend of an old engine has refused it, before ours was asked.
fn is_refused(error: &anyhow::Error) -> bool {
    const WORDS: [&str; 2] = [
        "subdir not supported yet",
        "failed to solve with frontend dockerfile.v0: unsupported frontend capability",
    ];
    let said = format!("{error:#}");
    WORDS.iter().any(|words| said.contains(words))
}

impl<'a> One<'a> {
    /// A build of a folder.
    pub(super) fn build(&self, project: &Project, context: &str) -> Buildx<'a> {
        Buildx::build(self.lab, project.path(), context)
            .on(&self.engine)
            .direct(self.engine.is_direct)
    }

    /// A build of what is in no folder.
    pub(super) fn remote(&self, context: &str) -> Buildx<'a> {
        Buildx::build(self.lab, std::env::temp_dir(), context)
            .on(&self.engine)
            .direct(self.engine.is_direct)
    }

    /// A tier with a mark in its environment and in its files, in the lab's registry.
    pub(super) fn marked(&self) -> Result<String> {
        let tier = format!("{}/nvidia/cuda:13.0.2-base-ubuntu22.04", self.lab.registry);
        self.push(&format!("FROM {tier}\nENV MARK=1 SALT={}\n", unique()))
    }

    /// An image with a source.
    pub(super) fn source_image(&self) -> Result<String> {
        let project = Project::empty()?;
        project.write("from-image.txt", "x")?;
        self.push_of(&project, "FROM scratch\nCOPY from-image.txt /\n")
    }

    fn push(&self, dockerfile: &str) -> Result<String> {
        self.push_of(&Project::empty()?, dockerfile)
    }

    fn push_of(&self, project: &Project, dockerfile: &str) -> Result<String> {
        project.write("Dockerfile", dockerfile)?;
        let tag = format!("{}/contexts/{}:1", self.lab.registry, unique());
        Buildx::build(self.lab, project.path(), ".")
            .arguments(&["--tag", &tag, "--push"])
            .succeed()?;
        Ok(tag)
    }

    /// A build of an image that is a tier and nothing else.
    pub(super) fn plain(&self, contexts: &[&str]) -> Result<Buildx<'a>> {
        let project = listing::project(self.lab, &[])?;
        let file = project.read("wheelbase.toml")?;
        let mut build = self.remote("-").input(file).arguments(&["--target", "plain"]);
        for context in contexts {
            build = build.arguments(&["--build-context", context]);
        }
        Ok(build)
    }

    /// The config of that image.
    pub(super) fn config(&self, contexts: &[&str]) -> Result<String> {
        let tag = unique();
        self.plain(contexts)?
            .arguments(&["--tag", &tag, "--load"])
            .succeed()?;
        let config = self.engine.image_config(&tag);
        self.engine.remove_image(&tag);
        Ok(config?.to_string())
    }

    /// An image of the registry as an OCI layout.
    pub(super) fn layout(&self, image: &str) -> Result<Project> {
        let project = Project::empty()?;
        project.write("Dockerfile", &format!("FROM {image}\n"))?;
        let out = project.path().join("layout.tar");
        let output = format!("--output=type=oci,dest={}", out.display());
        Buildx::build(self.lab, project.path(), ".")
            .on(&self.lab.engine_of("28.5"))
            .arguments(&[&output])
            .succeed()?;
        let layout = Project::empty()?;
        let status = std::process::Command::new("tar")
            .arg("-xf")
            .arg(&out)
            .arg("-C")
            .arg(layout.path())
            .status()?;
        if !status.success() {
            bail!("tar ended with {status}");
        }
        Ok(layout)
    }
}
