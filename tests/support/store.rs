//! A store of compiled objects in the lab: it asks for a password, can move, and keeps its objects when it does.

use std::net::TcpListener;
use std::path::Path;
use std::process::Command;

use anyhow::{Result, bail};

use super::engine::Lab;
use super::unique;

/// A running store; it is gone when the value goes out of scope.
#[derive(Debug)]
pub(crate) struct Store {
    /// `webdav`, `s3` or `redis`, as in a spec, or a `gha` that is never started.
    kind: &'static str,
    name: String,
    /// Where it listens on loopback.
    pub(crate) port: u16,
    /// What it asks for.
    pub(crate) password: String,
}

impl Store {
    /// Starts an empty one.
    ///
    /// # Errors
    ///
    /// When it does not come up.
    pub(crate) fn start(kind: &'static str) -> Result<Self> {
        let store = Self::gone(kind)?;
        store.up()?;
        Ok(store)
    }

    /// One that nobody has started.
    ///
    /// # Errors
    ///
    /// When there is no port for it.
    pub(crate) fn gone(kind: &'static str) -> Result<Self> {
        Ok(Self {
            kind,
            name: unique(),
            port: free_port()?,
            password: unique(),
        })
    }

    /// Moves it to another port, with another password.
    ///
    /// # Errors
    ///
    /// When it does not come up again.
    pub(crate) fn move_away(&mut self) -> Result<()> {
        self.port = free_port()?;
        self.password = unique();
        self.up()
    }

    fn up(&self) -> Result<()> {
        let port = self.port.to_string();
        lab(&[
            "store",
            "up",
            self.kind,
            &self.name,
            &port,
            "builder",
            &self.password,
        ])
    }

    /// What a build is told of it.
    pub(crate) fn secret(&self) -> String {
        let (port, password) = (self.port, &self.password);
        match self.kind {
            "webdav" => format!(
                "SCCACHE_WEBDAV_ENDPOINT=http://127.0.0.1:{port}/\nSCCACHE_WEBDAV_USERNAME=builder\n\
                 SCCACHE_WEBDAV_PASSWORD={password}\n"
            ),
            "s3" => format!(
                "SCCACHE_BUCKET=objects\nSCCACHE_REGION=us-east-1\nSCCACHE_ENDPOINT=http://127.0.0.1:{port}\n\
                 AWS_ACCESS_KEY_ID=builder\nAWS_SECRET_ACCESS_KEY={password}\n"
            ),
            "gha" => {
                format!("ACTIONS_RESULTS_URL=http://127.0.0.1:{port}/\nACTIONS_RUNTIME_TOKEN={password}\n")
            }
            _ => format!(
                "# The lab's.\nSCCACHE_REDIS_ENDPOINT=tcp://127.0.0.1:{port}\n\nSCCACHE_REDIS_PASSWORD={password}\n"
            ),
        }
    }

    /// The log of requests that a webdav store has answered.
    ///
    /// # Errors
    ///
    /// When it cannot be read.
    pub(crate) fn answered(&self, lab: &Lab) -> Result<String> {
        let log = lab.folder().join("stores").join(&self.name).join("access.log");
        Ok(std::fs::read_to_string(log)?)
    }

    /// Lines of `[compiler-cache]` that require it.
    pub(crate) fn required(&self) -> String {
        format!("store = \"{}\"\nrequire = true", self.kind)
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        lab(&["store", "remove", &self.name]).ok();
    }
}

/// A port of loopback that nobody listens on.
///
/// # Errors
///
/// When there is none.
pub(crate) fn free_port() -> Result<u16> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
}

/// A command of the lab.
fn lab(arguments: &[&str]) -> Result<()> {
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/lab/lab");
    let output = Command::new(&program).args(arguments).output()?;
    if !output.status.success() {
        bail!(
            "lab {}: {}",
            arguments[0],
            String::from_utf8_lossy(&output.stderr)
        );
    }
    Ok(())
}
