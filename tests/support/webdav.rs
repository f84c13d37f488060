//! A server of the lab that speaks `WebDAV`: it asks for a password, can move, and keeps its files when it does.

use std::net::TcpListener;
use std::path::Path;
use std::process::Command;

use anyhow::{Result, bail};

use super::unique;

/// A running server; it is gone when the value goes out of scope.
#[derive(Debug)]
pub(crate) struct WebDav {
    name: String,
    /// Where it listens on loopback.
    pub(crate) port: u16,
    /// What it asks for.
    pub(crate) password: String,
}

impl WebDav {
    /// Starts one with an empty folder.
    ///
    /// # Errors
    ///
    /// When it does not come up.
    pub(crate) fn start() -> Result<Self> {
        let server = Self {
            name: unique(),
            port: free_port()?,
            password: unique(),
        };
        server.up()?;
        Ok(server)
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
        lab(&[
            "webdav",
            "up",
            &self.name,
            &self.port.to_string(),
            "builder",
            &self.password,
        ])
    }

    /// What a build is told of it.
    pub(crate) fn secret(&self) -> String {
        format!(
            "SCCACHE_WEBDAV_ENDPOINT=http://127.0.0.1:{}/\nSCCACHE_WEBDAV_USERNAME=builder\nSCCACHE_WEBDAV_PASSWORD={}\n",
            self.port, self.password
        )
    }
}

impl Drop for WebDav {
    fn drop(&mut self) {
        lab(&["webdav", "remove", &self.name]).ok();
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
///
/// # Errors
///
/// With its words, when it fails.
pub(crate) fn lab(arguments: &[&str]) -> Result<()> {
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
