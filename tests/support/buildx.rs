//! Calls of `docker buildx`, whose context, spec or bake file may come from anywhere.
//!
//! What every call of the lab has is said here. `build.rs` stands on it: a build of a folder, with its figures.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use anyhow::{Context as _, Result, bail};

use super::engine::{Engine, Lab};
use super::progress::Progress;
use super::tree::Tree;

/// A call that has not been made yet.
#[derive(Debug, Clone)]
pub(crate) struct Buildx<'a> {
    lab: &'a Lab,
    engine: Engine,
    folder: PathBuf,
    arguments: Vec<String>,
    context: String,
    input: Vec<u8>,
    direct: bool,
    provenance: String,
}

/// What came of it.
#[derive(Debug)]
pub(crate) struct Called {
    pub(crate) success: bool,
    pub(crate) progress: Progress,
    /// What was written beside the progress: the error, with lines of the spec.
    pub(crate) text: String,
    /// What was written to standard output: the answer to a `--call`.
    pub(crate) answer: String,
}

impl<'a> Buildx<'a> {
    /// A build in a folder of this context, on the lab's main engine.
    pub(crate) fn build(lab: &'a Lab, folder: impl AsRef<Path>, context: &str) -> Self {
        Self {
            lab,
            engine: lab.engine(),
            folder: folder.as_ref().to_owned(),
            arguments: Vec::new(),
            context: context.to_owned(),
            input: Vec::new(),
            direct: false,
            provenance: "false".to_owned(),
        }
    }

    pub(crate) fn on(mut self, engine: &Engine) -> Self {
        self.engine = engine.clone();
        self
    }

    pub(crate) fn arguments(mut self, arguments: &[impl AsRef<str>]) -> Self {
        self.arguments
            .extend(arguments.iter().map(|argument| argument.as_ref().to_owned()));
        self
    }

    /// What is given on standard input.
    pub(crate) fn input(mut self, input: impl Into<Vec<u8>>) -> Self {
        self.input = input.into();
        self
    }

    /// Calls the frontend through the gateway itself, as `buildctl build --frontend gateway.v0` does, without a Dockerfile
    /// frontend that reads the syntax line.
    pub(crate) fn direct(mut self, direct: bool) -> Self {
        self.direct = direct;
        self
    }

    /// How much the daemon attests of the build, as `--provenance` has it; nothing otherwise.
    pub(crate) fn provenance(mut self, provenance: &str) -> Self {
        provenance.clone_into(&mut self.provenance);
        self
    }

    /// The client's command, to be run in the call's folder.
    pub(crate) fn command(&self, progress: &str) -> Command {
        let mut command = self.engine.docker(&["buildx", "build", "--progress", progress]);
        command.arg(format!("--provenance={}", self.provenance));
        command.args(["--network", "host", "--allow", "network.host"]);
        if let Some(ca) = &self.lab.ca {
            command.arg("--secret").arg(format!("id=ca,src={ca}"));
        }
        if self.direct {
            command.args(["--build-arg", &format!("BUILDKIT_SYNTAX={}", self.lab.frontend)]);
        }
        command.args(&self.arguments).arg(&self.context);
        // The result without a tag or an output is of no use; the client warns of it otherwise.
        let is_used = |argument: &String| {
            ["--output", "--tag"]
                .iter()
                .any(|word| argument.starts_with(word))
        };
        if !self.arguments.iter().any(is_used) {
            command.arg("--output=type=cacheonly");
        }
        command
    }

    /// Makes the call; a build that fails is no error here.
    ///
    /// # Errors
    ///
    /// When the client cannot be run.
    pub(crate) fn run(&self) -> Result<Called> {
        call(self.command("rawjson"), &self.folder, &self.input)
    }

    /// Makes the call; a build that fails is an error.
    ///
    /// # Errors
    ///
    /// With the client's words and the log of the failed step.
    pub(crate) fn succeed(&self) -> Result<Called> {
        self.run()?.succeeded()
    }

    /// Makes the call and reads the finished filesystem.
    ///
    /// # Errors
    ///
    /// When it fails or leaves nothing readable.
    pub(crate) fn export(self) -> Result<Tree> {
        let folder = tempfile::tempdir()?;
        let archive = folder.path().join("image.tar");
        self.arguments(&[&format!("--output=type=tar,dest={}", archive.display())])
            .succeed()?;
        Tree::read(fs::File::open(&archive)?)
    }
}

impl Called {
    /// What a client has written, its progress as `rawjson`.
    pub(crate) fn of(output: &Output) -> Self {
        let (progress, text) = Progress::parse(&String::from_utf8_lossy(&output.stderr));
        Self {
            success: output.status.success(),
            progress,
            text,
            answer: String::from_utf8_lossy(&output.stdout).into_owned(),
        }
    }

    /// An error unless it succeeded.
    ///
    /// # Errors
    ///
    /// See above.
    pub(crate) fn succeeded(self) -> Result<Self> {
        if self.success {
            return Ok(self);
        }
        bail!("the build failed\n{}\n{}", self.text, self.progress.failures())
    }
}

/// Runs `docker buildx bake` with a bake file on an engine.
///
/// # Errors
///
/// When the client cannot be run.
pub(crate) fn bake(
    lab: &Lab,
    engine: &Engine,
    folder: &Path,
    file: &str,
    arguments: &[&str],
) -> Result<Called> {
    let mut command = engine.docker(&["buildx", "bake", "--file", "-", "--progress", "rawjson"]);
    command.args(["--allow", "network.host", "--allow", "fs=*", "--provenance=false"]);
    command.args(arguments);
    if let Some(ca) = &lab.ca {
        command.args(["--set", &format!("*.secrets=id=ca,src={ca}")]);
    }
    call(command, folder, file.as_bytes())
}

fn call(mut command: Command, folder: &Path, input: &[u8]) -> Result<Called> {
    command
        .current_dir(folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut process = command.spawn().context("failed to run docker buildx")?;
    let mut stdin = process.stdin.take().context("no input")?;
    let input = input.to_vec();
    // A client that has seen enough closes its end.
    let writer = std::thread::spawn(move || stdin.write_all(&input).ok());
    let output = process.wait_with_output()?;
    writer.join().ok();
    Ok(Called::of(&output))
}

/// A tar archive of a folder's files, as a client sends it.
///
/// # Errors
///
/// When they cannot be read.
pub(crate) fn archive(folder: &Path) -> Result<Vec<u8>> {
    let mut builder = tar::Builder::new(Vec::new());
    builder.follow_symlinks(false);
    builder.append_dir_all(".", folder)?;
    Ok(builder.into_inner()?)
}
