//! The lab: which engines there are and how they are reached.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Output};
use std::rc::Rc;
use std::sync::{Mutex, MutexGuard, PoisonError};

use anyhow::{Context as _, Result, bail};

/// What `tests/lab/lab env` says.
#[derive(Debug, Clone)]
pub(crate) struct Lab {
    /// Host and port of the registry.
    pub(crate) registry: String,
    /// URL of the package index.
    pub(crate) index: String,
    /// The frontend image that builds are run with.
    pub(crate) frontend: String,
    /// A certificate bundle for steps that go online.
    pub(crate) ca: Option<String>,
    folder: String,
    docker_host: Option<String>,
    _turn: Rc<MutexGuard<'static, ()>>,
}

/// Tests of one process have the lab one after another, each as a whole: what a build executes would depend on its
/// neighbours. A daemon before BuildKit 0.32 executes cached steps again while another build still holds, unreleased, a
/// step that both share and that was executed and not loaded (`processExecReq` in its `solver/edge.go`;
/// moby/buildkit#6954), and an image that is removed beside a build has the daemon collect layers meanwhile.
static TURN: Mutex<()> = Mutex::new(());

static SAID: std::sync::Once = std::sync::Once::new();

/// The lab, or `None` where there is none and none is demanded. Waits until no other test has it; a test asks once.
///
/// # Panics
///
/// When `CI=true` and there is no lab: a test that cannot run there has failed.
pub(crate) fn lab() -> Option<Lab> {
    let var = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let Some((registry, index)) = var("WHEELBASE_REGISTRY").zip(var("WHEELBASE_INDEX")) else {
        assert!(
            var("CI").as_deref() != Some("true"),
            "no lab: run tests/run, or eval \"$(tests/lab/lab env)\""
        );
        // Past the capture of test output, and once.
        SAID.call_once(|| {
            writeln!(
                std::io::stderr(),
                "skipped: all that needs an engine; tests/run starts a lab with one"
            )
            .ok();
        });
        return None;
    };
    Some(Lab {
        frontend: var("WHEELBASE_FRONTEND").unwrap_or_else(|| format!("{registry}/wheelbase:1")),
        registry,
        index,
        ca: var("WHEELBASE_CA"),
        folder: var("WHEELBASE_LAB").unwrap_or_default(),
        docker_host: var("DOCKER_HOST"),
        _turn: Rc::new(TURN.lock().unwrap_or_else(PoisonError::into_inner)),
    })
}

impl Lab {
    /// Its folder.
    pub(crate) fn folder(&self) -> &Path {
        Path::new(&self.folder)
    }

    /// The engine that tests use when it does not matter which.
    pub(crate) fn engine(&self) -> Engine {
        Engine {
            name: "main".to_owned(),
            is_direct: false,
            host: self.docker_host.clone(),
        }
    }

    /// An engine of the lab by version.
    ///
    /// # Panics
    ///
    /// When it is not up: nothing that needs it could be told from a build that failed.
    pub(crate) fn engine_of(&self, version: &str) -> Engine {
        let socket = format!("{}/engines/{version}/docker.sock", self.folder);
        assert!(
            Path::new(&socket).exists(),
            "engine {version} is not up: tests/lab/lab up {version}"
        );
        Engine {
            name: version.to_owned(),
            is_direct: false,
            host: Some(format!("unix://{socket}")),
        }
    }
}

/// A Docker engine.
#[derive(Debug, Clone)]
pub(crate) struct Engine {
    /// Its version, or `main`.
    pub(crate) name: String,
    /// Whether builds tell the daemon to run the frontend, as `buildctl` does: no Dockerfile frontend reads the syntax line
    /// before.
    pub(crate) is_direct: bool,
    host: Option<String>,
}

impl Engine {
    /// The same engine, with builds as `buildctl` has them.
    pub(crate) fn direct(mut self) -> Self {
        self.is_direct = true;
        self
    }

    /// A command of the Docker client, aimed at this engine.
    pub(crate) fn docker(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new("docker");
        command
            .args(arguments)
            .env_remove("DOCKER_CONTEXT")
            .env_remove("BUILDX_BUILDER");
        if let Some(host) = &self.host {
            command.env("DOCKER_HOST", host);
        }
        command
    }

    /// Runs a command and returns its standard output.
    ///
    /// # Errors
    ///
    /// When it fails, with what it said.
    pub(crate) fn output(&self, arguments: &[&str]) -> Result<String> {
        let output = self.docker(arguments).output().context("failed to run docker")?;
        text(&output).with_context(|| format!("engine {}: docker {}", self.name, arguments.join(" ")))
    }

    /// Runs a container of an image to its end and returns what it wrote.
    ///
    /// # Errors
    ///
    /// When it does not end well.
    pub(crate) fn run(&self, image: &str, options: &[&str], command: &[&str]) -> Result<String> {
        let mut arguments = vec!["run", "--rm", "--network", "none"];
        arguments.extend(options);
        arguments.push(image);
        arguments.extend(command);
        self.output(&arguments)
    }

    /// Whether an image is in the engine's own store.
    pub(crate) fn has_image(&self, image: &str) -> bool {
        self.docker(&["image", "inspect", image])
            .output()
            .is_ok_and(|output| output.status.success())
    }

    /// The config of an image in the engine's own store.
    ///
    /// # Errors
    ///
    /// When there is no such image.
    pub(crate) fn image_config(&self, image: &str) -> Result<serde_json::Value> {
        let text = self.output(&["image", "inspect", "--format", "{{json .Config}}", image])?;
        Ok(serde_json::from_str(&text)?)
    }

    /// Removes an image; that there is none is no error.
    pub(crate) fn remove_image(&self, image: &str) {
        self.docker(&["image", "rm", "--force", image]).output().ok();
    }
}

fn text(output: &Output) -> Result<String> {
    if !output.status.success() {
        bail!(
            "{}: {}",
            output.status,
            String::from_utf8_lossy(&output.stderr).trim()
        );
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
