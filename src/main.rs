//! One binary, two lives: BuildKit's frontend when BuildKit starts it, a command line otherwise.

use std::io::Write as _;
use std::process::ExitCode;

use wheelbase::gateway::{self, Client, Options};

fn main() -> ExitCode {
    if gateway::is_frontend(std::env::vars()) { frontend() } else { wheelbase::cli::run() }
}

/// Serves the build and ends the process at once: BuildKit takes a connection that closes before the process has
/// ended for a crash.
fn frontend() -> ExitCode {
    let code = match serve() {
        Ok(()) => 0,
        Err(error) => {
            // This reaches the daemon's log only; the user was told through the gateway if that was possible.
            let _ = writeln!(std::io::stderr(), "wheelbase: {error:#}");
            1
        }
    };
    gateway::exit(code)
}

fn serve() -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let options = Options::from_env(std::env::vars());
    runtime.block_on(async {
        let client = Client::stdio().await?;
        wheelbase::frontend::serve(&client, &options).await?;
        anyhow::Ok(())
    })
}
