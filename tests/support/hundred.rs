//! A project with a hundred packages that nobody has installed before, an index of its own, and a lock by the real uv.

use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};

use super::engine::Lab;
use super::project::{Project, python};

/// How many packages the project needs.
const COUNT: usize = 100;
/// A package of ordinary size.
const SMALL: &str = "package-042";

/// The project. Its index stops when it goes out of scope.
#[derive(Debug)]
pub(crate) struct Hundred {
    pub(crate) project: Project,
    index: Index,
    seed: String,
}

impl Hundred {
    /// Makes the wheels, serves them, and locks them.
    ///
    /// # Errors
    ///
    /// When uv or the index cannot be run.
    pub(crate) fn new(lab: &Lab) -> Result<Self> {
        let index = Index::start()?;
        let seed = super::unique();
        let files = index.files();
        python(
            "packages.py",
            &[&files, Path::new(&seed), Path::new(&COUNT.to_string())],
        )?;
        let project = Project::empty()?;
        project.write("wheelbase.toml", &spec(lab))?;
        let needs: Vec<String> = (0..COUNT)
            .map(|number| format!("    \"package-{number:03}\",\n"))
            .collect();
        project.write(
            "pyproject.toml",
            &format!(
                "[project]\nname = \"hundred\"\nversion = \"0.1.0\"\nrequires-python = \">=3.11\"\n\
                 dependencies = [\n{}]\n\n[tool.uv]\npackage = false\n\n\
                 [[tool.uv.index]]\nurl = \"{}/simple\"\ndefault = true\n",
                needs.concat(),
                index.url
            ),
        )?;
        let hundred = Self { project, index, seed };
        hundred.lock(&[])?;
        Ok(hundred)
    }

    /// Publishes another version of a small package and locks it; what was bumped.
    ///
    /// # Errors
    ///
    /// When uv cannot lock it.
    pub(crate) fn bump(&self) -> Result<String> {
        let files = self.index.files();
        let (seed, name) = (Path::new(&self.seed), Path::new(SMALL));
        python("packages.py", &[&files, seed, name, Path::new("1.0.1")])?;
        self.lock(&["--upgrade-package", SMALL])?;
        let lock = self.project.read("uv.lock")?;
        let count = lock.matches("\nversion = \"1.0.1\"\n").count();
        if count != 1 {
            bail!("uv.lock has {count} packages at 1.0.1");
        }
        Ok(format!("{SMALL} 1.0.0 to 1.0.1"))
    }

    fn lock(&self, arguments: &[&str]) -> Result<()> {
        let cache = tempfile::tempdir()?;
        let uv = std::env::var_os("UV").unwrap_or_else(|| "uv".into());
        let output = Command::new(uv)
            .arg("lock")
            .args(arguments)
            .current_dir(self.project.path())
            .env("UV_CACHE_DIR", cache.path())
            .env("UV_PYTHON_DOWNLOADS", "never")
            .output()
            .context("failed to run uv")?;
        if !output.status.success() {
            bail!("uv lock: {}", String::from_utf8_lossy(&output.stderr));
        }
        Ok(())
    }
}

fn spec(lab: &Lab) -> String {
    let Lab {
        registry, frontend, ..
    } = lab;
    format!(
        r#"# syntax={frontend}
name = "hundred"

[gpu]
cuda   = "13.0.2"
os     = "ubuntu22.04"
mirror = "{registry}"

[python]
version  = "3.11"
provider = {{ image = "{registry}/wheelbase-lab/python:3.11" }}

[uv]
image = "{registry}/astral-sh/uv:0.13.9"

[images.app]
tier     = "base"
packages = ["hundred"]
"#
    )
}

/// The lab's index once more, with a folder and a port of its own.
#[derive(Debug)]
struct Index {
    folder: tempfile::TempDir,
    url: String,
    server: Child,
}

impl Index {
    fn start() -> Result<Self> {
        let folder = tempfile::tempdir()?;
        // A port that is free now. Somebody may take it before the server does, which then ends.
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/lab/index.py");
        let at = |name: &str| folder.path().join(name);
        let mut server = Command::new("python3")
            .arg(program)
            .args(["--port", &port.to_string()])
            .arg("--files")
            .arg(at("files"))
            .arg("--static")
            .arg(at("static"))
            .arg("--log")
            .arg(at("log"))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn()
            .context("failed to run the index")?;
        for _ in 0..300 {
            if TcpStream::connect(("127.0.0.1", port)).is_ok() {
                return Ok(Self {
                    url: format!("http://127.0.0.1:{port}"),
                    folder,
                    server,
                });
            }
            if server.try_wait()?.is_some() {
                break;
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        server.kill().ok();
        server.wait().ok();
        bail!("the index does not answer on port {port}")
    }

    fn files(&self) -> PathBuf {
        self.folder.path().join("files")
    }
}

impl Drop for Index {
    fn drop(&mut self) {
        self.server.kill().ok();
        self.server.wait().ok();
    }
}
