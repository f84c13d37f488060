//! One binary, two lives: BuildKit's frontend when BuildKit starts it, a command line otherwise.

use std::convert::Infallible;
use std::io::Write as _;
use std::process::ExitCode;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use mimalloc::MiMalloc;
use wheelbase::gateway::{Client, Options};

/// A plan is hundreds of thousands of small texts. The system's allocator works them over again and again, and the
/// larger the lock the more of the time: see `benches/plan.rs`.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

fn main() -> ExitCode {
    let options = Options::from_process_env();
    if !options.is_frontend() {
        return wheelbase::cli::run(i64::try_from(now().as_secs()).unwrap_or(i64::MAX));
    }
    let Err(error) = serve(&options);
    // This reaches the daemon's log only; the user was told through the gateway if that was possible.
    let _ = writeln!(std::io::stderr(), "wheelbase: {error:#}");
    ExitCode::FAILURE
}

/// Serves the build and ends the process from within, with nothing dropped before: see `Returned::exit`.
fn serve(options: &Options) -> anyhow::Result<Infallible> {
    let began = u64::try_from(now().as_millis()).unwrap_or(u64::MAX);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let client = Client::connect_stdio().await?;
        wheelbase::frontend::serve(&client, options, began).await?.exit()
    })
}

/// The time since 1970. The library has no clock: what it makes of a spec and a lock must not depend on one.
fn now() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}
