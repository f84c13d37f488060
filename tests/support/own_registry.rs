//! A registry of a test's own: Debian's, as the lab has it, on another port of loopback and with other settings.

use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::engine::Lab;
use super::store::free_port;

/// A running registry; it is gone when the value goes out of scope.
#[derive(Debug)]
pub(crate) struct OwnRegistry {
    process: Child,
    folder: TempDir,
    /// Host and port.
    pub(crate) host: String,
}

impl OwnRegistry {
    /// Starts one without content. `auth` is that part of its configuration, null when everybody may do everything.
    ///
    /// # Errors
    ///
    /// When it does not come up.
    pub(crate) fn start(lab: &Lab, deletes: bool, auth: &Value) -> Result<Self> {
        let folder = tempfile::tempdir()?;
        let host = format!("127.0.0.1:{}", free_port()?);
        let config = json!({
            "version": "0.1",
            "log": { "level": "warn" },
            "storage": {
                "filesystem": { "rootdirectory": folder.path().join("data") },
                "delete": { "enabled": deletes },
            },
            "http": { "addr": host },
            "auth": auth,
        });
        let file = folder.path().join("config.yml");
        // JSON is YAML.
        std::fs::write(&file, config.to_string())?;
        let log = std::fs::File::create(folder.path().join("log"))?;
        let process = Command::new(lab.folder().join("trees/registry/usr/bin/docker-registry"))
            .arg("serve")
            .arg(&file)
            .env("OTEL_TRACES_EXPORTER", "none")
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .context("the lab has no registry")?;
        let mut registry = Self {
            process,
            folder,
            host,
        };
        let started = Instant::now();
        while TcpStream::connect(&registry.host).is_err() {
            if registry.process.try_wait()?.is_some() || started.elapsed() > Duration::from_secs(30) {
                let log = std::fs::read_to_string(registry.folder.path().join("log"))?;
                bail!("the registry did not come up: {log}");
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        Ok(registry)
    }

    /// One that asks for [`USER`] and [`PASSWORD`].
    ///
    /// # Errors
    ///
    /// When it does not come up.
    pub(crate) fn with_password(lab: &Lab, folder: &Path) -> Result<Self> {
        let users = folder.join("users");
        std::fs::write(&users, format!("{USER}:{HASH}\n"))?;
        Self::start(
            lab,
            true,
            &json!({ "htpasswd": { "realm": "lab", "path": users } }),
        )
    }
}

impl Drop for OwnRegistry {
    fn drop(&mut self) {
        self.process.kill().ok();
        self.process.wait().ok();
    }
}

/// Who may use a registry with a password.
pub(crate) const USER: &str = "builder";
/// With what.
pub(crate) const PASSWORD: &str = "registry-password";
/// The same for the registry, which takes bcrypt alone.
const HASH: &str = "$2y$05$abcdefghijklmnopqrstuux7DVfxfgfXTmp/9Tsk6HzX2QQGjxePG";

/// A folder for `DOCKER_CONFIG` with a file of its own, and the plugins of the one that is there.
///
/// # Errors
///
/// When it cannot be made.
pub(crate) fn docker_config(config: &Value) -> Result<TempDir> {
    let folder = tempfile::tempdir()?;
    std::fs::write(folder.path().join("config.json"), config.to_string())?;
    if let Some(there) = std::env::var_os("DOCKER_CONFIG") {
        std::os::unix::fs::symlink(
            Path::new(&there).join("cli-plugins"),
            folder.path().join("cli-plugins"),
        )?;
    }
    Ok(folder)
}
