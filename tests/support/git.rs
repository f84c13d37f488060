//! Git repositories, and a server for them on loopback.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use anyhow::{Context as _, Result, bail};

/// A token that opens what is below `/private`.
pub(crate) const TOKEN: &str = "hunter2";

/// A server that ends when it goes out of scope.
#[derive(Debug)]
pub(crate) struct Server {
    folder: tempfile::TempDir,
    process: Child,
    port: u16,
}

impl Server {
    /// Serves a folder without repositories.
    ///
    /// # Errors
    ///
    /// When it does not start.
    pub(crate) fn start() -> Result<Self> {
        let folder = tempfile::tempdir()?;
        let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/support/git_server.py");
        let mut process = Command::new("python3")
            .arg(program)
            .arg(folder.path())
            .arg(TOKEN)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let output = process.stdout.take().context("no output")?;
        let mut line = String::new();
        BufReader::new(output).read_line(&mut line)?;
        let port = line.trim().parse().context("the server says no port")?;
        Ok(Self {
            folder,
            process,
            port,
        })
    }

    /// URL of a repository that anybody may read.
    pub(crate) fn url(&self, name: &str) -> String {
        format!("http://127.0.0.1:{}/{name}", self.port)
    }

    /// URL of the same repository for those who have the [`TOKEN`].
    pub(crate) fn private_url(&self, name: &str) -> String {
        format!("http://127.0.0.1:{}/private/{name}", self.port)
    }

    /// Makes a repository of a folder's files, or commits what has changed in them. Gives the commit.
    ///
    /// # Errors
    ///
    /// When git fails.
    pub(crate) fn commit(&self, name: &str, files: &Path) -> Result<String> {
        if !files.join(".git").exists() {
            git(files, &["init", "--quiet"])?;
        }
        git(files, &["add", "--all"])?;
        git(files, &["commit", "--quiet", "--message=x"])?;
        let bare = self.folder.path().join(name);
        if !bare.exists() {
            git(
                files,
                &["clone", "--quiet", "--bare", ".", &bare.to_string_lossy()],
            )?;
        }
        git(
            files,
            &["push", "--quiet", "--force", &bare.to_string_lossy(), "HEAD:main"],
        )?;
        Ok(git(files, &["rev-parse", "HEAD"])?.trim().to_owned())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.process.stdin.take());
        self.process.wait().ok();
    }
}

/// Runs git in a folder.
///
/// # Errors
///
/// When it fails, with what it said.
pub(crate) fn git(folder: &Path, arguments: &[&str]) -> Result<String> {
    let output = Command::new("git")
        .args([
            "-c",
            "user.name=a",
            "-c",
            "user.email=a@b.example",
            "-c",
            "protocol.file.allow=always",
        ])
        .args(arguments)
        .current_dir(folder)
        .output()?;
    if !output.status.success() {
        bail!("git {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
