//! One `docker buildx build` of a folder, with our frontend or with any other, and what it cost.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Context as _, Result, bail};
use serde_json::Value;

use super::buildx::{Buildx, Called};
use super::engine::{Engine, Lab};
use super::progress::Progress;
use super::registry::Manifest;
use super::tree::Tree;

/// A build that has not run yet.
#[derive(Debug)]
pub(crate) struct Build<'a> {
    lab: &'a Lab,
    engine: Engine,
    context: PathBuf,
    file: String,
    provenance: String,
    arguments: Vec<String>,
    env: Vec<(String, String)>,
}

/// What came of a build.
#[derive(Debug)]
pub(crate) struct Built {
    pub(crate) success: bool,
    /// The client's exit code.
    pub(crate) code: Option<i32>,
    pub(crate) progress: Progress,
    /// What the client wrote beside its progress: the error, with lines of the spec.
    pub(crate) text: String,
    /// What the client wrote to standard output: the answer to a `--call`.
    pub(crate) answer: String,
    /// The metadata file; null when the build failed.
    pub(crate) metadata: Value,
    pub(crate) seconds: f64,
}

impl<'a> Build<'a> {
    /// A build of `wheelbase.toml` in a folder, on the lab's main engine.
    pub(crate) fn of(lab: &'a Lab, context: impl AsRef<Path>) -> Self {
        Self {
            lab,
            engine: lab.engine(),
            context: context.as_ref().to_owned(),
            file: "wheelbase.toml".to_owned(),
            provenance: "false".to_owned(),
            arguments: Vec::new(),
            env: Vec::new(),
        }
    }

    pub(crate) fn on(mut self, engine: &Engine) -> Self {
        self.engine = engine.clone();
        self
    }

    pub(crate) fn file(mut self, file: &str) -> Self {
        file.clone_into(&mut self.file);
        self
    }

    pub(crate) fn target(self, target: &str) -> Self {
        self.arguments(&["--target", target])
    }

    /// Names the image, and leaves it in the engine's own store if nothing else is said.
    pub(crate) fn tag(self, tag: &str) -> Self {
        self.arguments(&["--tag", tag])
    }

    /// Pushes the image under a name, with layers of gzip, and gives what the registry has. A layer that the engine has in
    /// another compression, for a build before, would be pushed as it is, and the same layer of a next build perhaps not.
    pub(crate) fn push_gzip(self, reference: &str) -> Result<(Built, Manifest)> {
        let engine = self.engine.clone();
        let built = self
            .tag(reference)
            .arguments(&["--output=type=image,push=true,compression=gzip,force-compression=true"])
            .succeed();
        let manifest = Manifest::of(&engine, reference);
        engine.remove_image(reference);
        Ok((built?, manifest?))
    }

    /// How much the daemon attests of the build, as `--provenance` has it; nothing otherwise.
    pub(crate) fn provenance(mut self, provenance: &str) -> Self {
        provenance.clone_into(&mut self.provenance);
        self
    }

    pub(crate) fn arguments(mut self, arguments: &[&str]) -> Self {
        self.arguments
            .extend(arguments.iter().map(|argument| (*argument).to_owned()));
        self
    }

    pub(crate) fn env(mut self, name: &str, value: &str) -> Self {
        self.env.push((name.to_owned(), value.to_owned()));
        self
    }

    /// The client's command, without a metadata file.
    pub(crate) fn command(&self, progress: &str) -> Command {
        let file = self.context.join(&self.file);
        let mut command = Buildx::build(self.lab, ".", &self.context.to_string_lossy())
            .on(&self.engine)
            .direct(self.engine.is_direct && !self.file.contains("Dockerfile"))
            .provenance(&self.provenance)
            .arguments(&["--file", &file.to_string_lossy()])
            .arguments(&self.arguments)
            .command(progress);
        command.envs(self.env.iter().map(|(name, value)| (name, value)));
        command
    }

    /// Runs it; a build that fails is no error here.
    ///
    /// # Errors
    ///
    /// When the client cannot be run.
    pub(crate) fn run(&self) -> Result<Built> {
        let folder = tempfile::tempdir()?;
        let metadata = folder.path().join("metadata.json");
        let mut command = self.command("rawjson");
        command.arg("--metadata-file").arg(&metadata);
        let began = SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs_f64();
        let started = Instant::now();
        let output = command.output().context("failed to run docker buildx")?;
        let seconds = started.elapsed().as_secs_f64();
        let mut called = Called::of(&output);
        called.progress.began(began);
        let metadata = std::fs::read_to_string(&metadata)
            .ok()
            .and_then(|text| serde_json::from_str(&text).ok())
            .unwrap_or(Value::Null);
        Ok(Built {
            success: called.success,
            code: output.status.code(),
            progress: called.progress,
            text: called.text,
            answer: called.answer,
            metadata,
            seconds,
        })
    }

    /// Runs it; a build that fails is an error.
    ///
    /// # Errors
    ///
    /// With the client's words and the log of the failed step.
    pub(crate) fn succeed(&self) -> Result<Built> {
        let built = self.run()?;
        if !built.success {
            bail!(
                "engine {}: the build failed\n{}\n{}",
                self.engine.name,
                built.text,
                built.progress.failures()
            );
        }
        Ok(built)
    }

    /// Runs it; a build that succeeds is an error, and so is one that leaves an image.
    ///
    /// # Errors
    ///
    /// See above.
    pub(crate) fn fail(self) -> Result<Built> {
        let tag = super::unique();
        let engine = self.engine.clone();
        let built = self.tag(&tag).run()?;
        let left = engine.has_image(&tag);
        engine.remove_image(&tag);
        if built.success {
            bail!("the build succeeded");
        }
        if left {
            bail!("the build failed and left an image");
        }
        Ok(built)
    }

    /// Runs it and reads the finished filesystem.
    ///
    /// # Errors
    ///
    /// When it fails or leaves nothing readable.
    pub(crate) fn export(self) -> Result<(Built, Tree)> {
        let folder = tempfile::tempdir()?;
        let archive = folder.path().join("image.tar");
        let built = self
            .arguments(&[&format!("--output=type=tar,dest={}", archive.display())])
            .succeed()?;
        let tree = Tree::read(std::fs::File::open(&archive)?)?;
        Ok((built, tree))
    }
}

impl Built {
    /// Names of the steps that were carried out.
    pub(crate) fn executed(&self) -> Vec<&str> {
        self.progress.executed()
    }
}
