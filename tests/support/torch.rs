//! Kernels for torch: the real one, with everything that it brings, from an index of its own.

use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};

use super::engine::Lab;
use super::project::Project;
use super::store::free_port;

/// The workspace of `tests/torch`, locked, and the index that the lock names; it ends when the value goes out of scope.
#[derive(Debug)]
pub(crate) struct Torch {
    /// The workspace.
    pub(crate) project: Project,
    index: Child,
}

impl Torch {
    /// Copies the workspace and locks it.
    ///
    /// # Errors
    ///
    /// When the lab has no torch (`lab torch` fetches it).
    pub(crate) fn start(lab: &Lab) -> Result<Self> {
        let files = lab.folder().join("torch/wheels");
        ensure!(files.is_dir(), "there is no torch: run tests/lab/lab torch");
        let project = Project::of("tests/torch", lab)?;
        let registry = &lab.registry;
        project.edit("wheelbase.toml", "127.0.0.1:5000/", &format!("{registry}/"))?;
        project.edit("wheelbase.toml", "\"127.0.0.1:5000\"", &format!("\"{registry}\""))?;
        let port = free_port()?;
        let index = Command::new("python3")
            .args(["-E", "-S"])
            .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/lab/index.py"))
            .args(["--port", &port.to_string()])
            .arg("--files")
            .arg(&files)
            .arg("--static")
            .arg(lab.folder().join("torch/static"))
            .arg("--log")
            .arg(project.path().join("access.log"))
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        let torch = Self { project, index };
        Self::wait(port)?;
        torch.lock(lab, port)?;
        Ok(torch)
    }

    fn wait(port: u16) -> Result<()> {
        for _ in 0..100 {
            if TcpStream::connect(("127.0.0.1", port)).is_ok() {
                return Ok(());
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        bail!("the index did not come up")
    }

    fn lock(&self, lab: &Lab, port: u16) -> Result<()> {
        let uv = std::env::var_os("UV").unwrap_or_else(|| lab.folder().join("bin/uv").into_os_string());
        let output = Command::new(uv)
            .args([
                "lock",
                "--quiet",
                "--no-cache",
                "--no-python-downloads",
                "--python",
            ])
            .arg(lab.folder().join("contexts/python/python/bin/python3.11"))
            .args(["--default-index", &format!("http://127.0.0.1:{port}/simple/")])
            .env_remove("UV_DEFAULT_INDEX")
            .env_remove("UV_INDEX_URL")
            .current_dir(self.project.path())
            .output()
            .context("failed to run uv")?;
        ensure!(
            output.status.success(),
            "uv lock: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        Ok(())
    }
}

impl Drop for Torch {
    fn drop(&mut self) {
        self.index.kill().ok();
        self.index.wait().ok();
    }
}
