//! The row of the table of options that is about keys of an agent: a private repository over ssh.

use std::io::Read as _;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};

use super::table::{self, Cell, Row, works};
use crate::Claim;
use crate::support::build::Build;
use crate::support::engine::{Engine, Lab};
use crate::support::listing;
use crate::support::project::Project;

const ROWS: &[Row] = &[Row {
    option: "`--ssh`",
    measure: ssh,
}];

pub(crate) fn claims() -> Vec<Claim> {
    table::claims(ROWS)
}

/// An agent with one key, which ends with the value.
struct Agent {
    process: Child,
    socket: PathBuf,
}

impl Agent {
    fn start(folder: &Path) -> Result<Self> {
        let socket = folder.join("agent");
        let process = Command::new("ssh-agent")
            .args(["-D", "-a"])
            .arg(&socket)
            .stdout(Stdio::null())
            .spawn()
            .context("failed to run ssh-agent")?;
        let agent = Self { process, socket };
        let began = Instant::now();
        while !agent.socket.exists() {
            ensure!(
                began.elapsed() < Duration::from_secs(10),
                "ssh-agent does not listen"
            );
            std::thread::sleep(Duration::from_millis(20));
        }
        let key = folder.join("key");
        run(Command::new("ssh-keygen")
            .args(["-q", "-t", "ed25519", "-N", "", "-f"])
            .arg(&key))?;
        run(Command::new("ssh-add")
            .arg("-q")
            .arg(&key)
            .env("SSH_AUTH_SOCK", &agent.socket))?;
        Ok(agent)
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        self.process.kill().ok();
        self.process.wait().ok();
    }
}

fn run(command: &mut Command) -> Result<()> {
    let output = command.output()?;
    if !output.status.success() {
        bail!("{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    }
    Ok(())
}

/// A host that says nothing, and notes whether anybody comes as an ssh client does.
struct Host {
    port: u16,
    visits: std::sync::mpsc::Receiver<String>,
}

impl Host {
    fn start() -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let port = listener.local_addr()?.port();
        let (sender, visits) = std::sync::mpsc::channel();
        // It ends with the test's process.
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let Ok(mut stream) = stream else { return };
                stream.set_read_timeout(Some(Duration::from_secs(10))).ok();
                let mut start = [0; 8];
                stream.read_exact(&mut start).ok();
                if sender.send(String::from_utf8_lossy(&start).into_owned()).is_err() {
                    return;
                }
            }
        });
        Ok(Self { port, visits })
    }

    fn visitors(&self) -> Vec<String> {
        self.visits.try_iter().collect()
    }
}

/// Without `--ssh` the build ends at the line of the source, and nobody is asked. With an agent the engine goes to the host,
/// which it does only once it has the agent.
fn ssh(lab: &Lab, engine: &Engine) -> Result<Cell> {
    let host = Host::start()?;
    let project = Project::empty()?;
    let source = format!(
        "{{ git = \"ssh://git@127.0.0.1:{}/kernels\", rev = \"0123456789012345678901234567890123456789\" }}",
        host.port
    );
    project.write("wheelbase.toml", &listing::spec(lab, &source))?;
    let build = |arguments: &[&str]| {
        Build::of(lab, &project)
            .on(engine)
            .target(listing::WHEEL)
            .arguments(arguments)
            .run()
    };
    let without = build(&[])?;
    if without.text.contains("needs BuildKit 0.9 or later") {
        return Ok(Cell::SaysNo);
    }
    let visitors = host.visitors();
    ensure!(
        !without.success && visitors.is_empty(),
        "without an agent it went to the host: {visitors:?} {}",
        without.text
    );
    ensure!(
        without.text.contains("ssh"),
        "it failed otherwise: {}",
        without.text
    );
    let agent = Agent::start(project.path())?;
    let with = build(&["--ssh", &format!("default={}", agent.socket.display())])?;
    let visitors = host.visitors();
    ensure!(!with.success, "the host gave a repository");
    works(
        visitors.iter().any(|start| start == "SSH-2.0-"),
        &format!("nobody came: {visitors:?} {}", with.text),
    )
}
