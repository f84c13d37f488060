//! The end of a conversation: results, errors, and streams that break.

use std::sync::Arc;

use bollard_buildkit_proto::moby::buildkit::v1::frontend as wire;
use prost::Message as _;
use tokio::sync::Barrier;
use tonic::{Code, Status};
use wheelbase::gateway::{BuildResult, Client, Error, PlatformImage, Solve, unsupported_request};
use wheelbase::platform::Platform;
use wheelbase::proto::rpc;

use super::daemon::{Call, Daemon};
use super::{connect, convert, definition, solved};

#[tokio::test]
async fn the_daemons_error_goes_back_as_it_came() {
    let detail = |name: &str, json: &str| prost_types::Any {
        type_url: format!("github.com/moby/buildkit/{name}+json"),
        value: json.as_bytes().to_vec(),
    };
    let sent = rpc::Status {
        code: Code::Unknown.into(),
        message: "process \"/bin/sh -c false\" did not complete successfully: exit code: 1".into(),
        details: vec![
            detail("errdefs.Vertex", r#"{"digest":"sha256:1"}"#),
            detail("errdefs.Solve", r#"{"inputIDs":["a"],"mountIDs":["b"]}"#),
            detail("stack.Stack", r#"{"pid":1}"#),
        ],
    };
    let mut daemon = Daemon::modern();
    let details = sent.encode_to_vec();
    daemon.failure = Some(Status::with_details(Code::Unknown, &sent.message, details.into()));
    let error = connect(&daemon)
        .await
        .solve(Solve::definition(definition()))
        .await
        .unwrap_err();
    assert_eq!(error, Error::Daemon(sent.clone()));

    let other = Daemon::modern();
    let _ = connect(&other)
        .await
        .return_error(error.into_status())
        .await
        .unwrap();
    let Call::Return(request) = other.only_call() else {
        panic!("{:?}", other.calls())
    };
    assert_eq!(request.result, None);
    assert_eq!(convert::<rpc::Status>(&request.error.unwrap()), sent);
}

#[tokio::test]
async fn the_result_is_returned_once() {
    let daemon = Daemon::modern().with_reference("r");
    let (client, reference) = solved(&daemon).await;
    let image = |platform, reference| PlatformImage {
        platform,
        reference,
        config: b"{}".to_vec(),
        base: None,
        epoch: None,
    };
    let images = vec![
        image(Platform::linux_amd64(), Some(reference)),
        image(Platform::linux_arm64(), None),
    ];
    let _ = client.return_result(BuildResult::images(images)).await.unwrap();
    let Some(Call::Return(request)) = daemon.calls().pop() else {
        panic!("{:?}", daemon.calls())
    };
    assert_eq!(request.error, None);
    let result = request.result.unwrap();
    assert_eq!(result.metadata["containerimage.config/linux/arm64"], b"{}");
    let Some(wire::result::Result::Refs(map)) = result.result else {
        panic!("{result:?}")
    };
    assert_eq!(
        (
            map.refs["linux/amd64"].id.as_str(),
            map.refs["linux/arm64"].id.as_str()
        ),
        ("r", "")
    );

    let again = client.return_error(unsupported_request("x")).await.unwrap_err();
    assert_eq!(again.to_string(), "result already set");
}

#[tokio::test]
async fn an_error_is_never_returned_as_success() {
    let daemon = Daemon::modern();
    let client = connect(&daemon).await;
    let status = rpc::Status {
        code: 0,
        message: "what".into(),
        details: Vec::new(),
    };
    let _ = client.return_error(status).await.unwrap();
    let Some(Call::Return(request)) = daemon.calls().pop() else {
        panic!("{:?}", daemon.calls())
    };
    assert_eq!(request.error.unwrap().code, i32::from(Code::Unknown));
}

#[tokio::test]
async fn a_closed_connection_is_called_that() {
    let mut daemon = Daemon::modern().with_reference("r").with_file("r", "f", "x");
    // A read that nobody answers is in flight when the stream breaks.
    daemon.gate = Some(Arc::new(Barrier::new(2)));
    let (ours, mut near) = tokio::io::duplex(64 << 10);
    let mut far = daemon.serve();
    let wire = tokio::spawn(async move { tokio::io::copy_bidirectional(&mut near, &mut far).await });
    let client = Client::connect(ours).await.unwrap();
    let result = client.solve(Solve::definition(definition())).await.unwrap();
    let reference = result.single().unwrap().unwrap().clone();
    let reading = tokio::spawn({
        let client = client.clone();
        async move { client.read_file(&reference, "f").await }
    });
    while !daemon
        .calls()
        .iter()
        .any(|call| matches!(call, Call::ReadFile(_)))
    {
        tokio::task::yield_now().await;
    }
    wire.abort();
    let error = reading.await.unwrap().unwrap_err();
    assert!(matches!(error, Error::Closed(_)), "{error:?}");
    // The channel now tries to connect again.
    let error = client.inputs().await.unwrap_err();
    assert!(
        error.to_string().starts_with("BuildKit closed the connection"),
        "{error}"
    );
    assert_eq!(error.into_status().code, i32::from(Code::Unavailable));
}

#[tokio::test]
async fn nobody_at_the_other_end() {
    let (ours, far) = tokio::io::duplex(1024);
    drop(far);
    let error = Client::connect(ours).await.unwrap_err();
    assert!(matches!(error, Error::Closed(_)), "{error:?}");
}

#[tokio::test(start_paused = true)]
async fn a_silent_daemon_is_given_up() {
    let (ours, _silent) = tokio::io::duplex(64 << 10);
    let before = tokio::time::Instant::now();
    assert_eq!(Client::connect(ours).await.unwrap_err(), Error::Silent(15));
    assert_eq!(before.elapsed().as_secs(), 15);
}
