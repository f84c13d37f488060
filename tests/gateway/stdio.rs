//! A process that speaks over its own standard input and output, as a frontend's does.

use std::process::Stdio;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt as _, BufReader};
use wheelbase::gateway::{BuildResult, Client, PlatformImage, Solve};
use wheelbase::platform::Platform;

use super::daemon::{Call, Daemon};
use super::definition;

/// Set in the process that plays the frontend.
const PLAY_FRONTEND: &str = "WHEELBASE_TEST_PLAY_FRONTEND";

/// The client's side of `speaks_over_its_own_stdin_and_stdout`, in a process of its own.
#[test]
fn frontend_process() {
    if std::env::var_os(PLAY_FRONTEND).is_none() {
        return;
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    let returned = runtime.block_on(async {
        let client = Client::connect_stdio().await.expect("a connection");
        let result = client
            .solve(Solve::definition(definition()))
            .await
            .expect("a result");
        let reference = result.single().expect("one").expect("not empty");
        let data = client
            .read_file(reference, "f")
            .await
            .expect("read")
            .expect("there");
        let image = PlatformImage {
            platform: Platform::linux_amd64(),
            reference: Some(reference.clone()),
            config: data.len().to_string().into_bytes(),
            base: None,
            epoch: None,
        };
        client
            .return_result(BuildResult::image(image))
            .await
            .expect("returned")
    });
    returned.exit();
}

#[tokio::test]
async fn speaks_over_its_own_stdin_and_stdout() {
    let daemon = Daemon::modern()
        .with_reference("r")
        .with_file("r", "f", vec![1; 5 << 20]);
    let program = std::env::current_exe().expect("this test");
    let mut child = tokio::process::Command::new(program)
        .args(["stdio::frontend_process", "--exact", "--nocapture"])
        .env(PLAY_FRONTEND, "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("a process");
    let stdin = child.stdin.take().expect("its input");
    let mut stdout = BufReader::new(child.stdout.take().expect("its output"));
    // The test harness talks first; HTTP/2 begins at its preface.
    loop {
        let buffered = stdout.fill_buf().await.expect("its output");
        assert!(!buffered.is_empty(), "the process ended early");
        if buffered.starts_with(b"PRI * HTTP/2.0") {
            break;
        }
        let line = buffered
            .iter()
            .position(|byte| *byte == b'\n')
            .map_or(buffered.len(), |end| end + 1);
        stdout.consume(line);
    }
    let (near, mut far) = tokio::io::duplex(64 << 10);
    daemon.serve_on(near);
    let mut process = tokio::io::join(stdout, stdin);
    let wire = tokio::spawn(async move { tokio::io::copy_bidirectional(&mut process, &mut far).await });
    let ended = tokio::time::timeout(Duration::from_secs(30), child.wait()).await;
    assert!(
        ended
            .expect("the process ends although its input is open")
            .expect("a status")
            .success()
    );
    wire.abort();
    let Some(Call::Return(request)) = daemon.calls().pop() else {
        panic!("{:?}", daemon.calls())
    };
    let result = request.result.expect("a result");
    assert_eq!(
        result.metadata["containerimage.config"],
        (5 << 20).to_string().into_bytes()
    );
}
