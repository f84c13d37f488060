//! Questions about images and other sources.

use bollard_buildkit_proto as theirs;
use theirs::moby::buildkit::v1::frontend as wire;
use wheelbase::gateway::Error;
use wheelbase::llb::ResolveMode;
use wheelbase::platform::Platform;
use wheelbase::proto::pb;

use super::connect;
use super::daemon::{Call, Daemon};

#[tokio::test]
async fn images_are_resolved_in_the_way_the_daemon_knows() {
    let mut daemon = Daemon::modern();
    daemon.source_meta = wire::ResolveSourceMetaResponse {
        source: Some(theirs::pb::SourceOp {
            identifier: "docker-image://mirror.example/a:1".into(),
            ..theirs::pb::SourceOp::default()
        }),
        image: Some(wire::ResolveSourceImageResponse {
            digest: "sha256:1".into(),
            config: b"{}".to_vec(),
            ..wire::ResolveSourceImageResponse::default()
        }),
        ..wire::ResolveSourceMetaResponse::default()
    };
    let client = connect(&daemon).await;
    let (asked, arm64) = ("docker.io/library/a:1", Platform::linux_arm64());
    let image = client
        .resolve_image(asked, Some(&arm64), ResolveMode::Pull, "load a")
        .await
        .unwrap();
    assert_eq!(image.reference, "mirror.example/a:1");
    assert_eq!(
        (image.digest.as_deref(), image.config.as_slice()),
        (Some("sha256:1"), b"{}".as_slice())
    );
    let Call::ResolveSourceMeta(request) = daemon.only_call() else {
        panic!("{:?}", daemon.calls())
    };
    assert_eq!(
        request.source.unwrap().identifier,
        "docker-image://docker.io/library/a:1"
    );
    assert_eq!(request.platform.unwrap().architecture, "arm64");
    assert_eq!(
        (request.log_name.as_str(), request.resolve_mode.as_str()),
        ("load a", "pull")
    );
    assert!(!request.image.unwrap().no_config);

    let mut old = Daemon::able(&["resolveimage", "resolveimage.resolvemode"]);
    old.image_config.config = b"{}".to_vec();
    let client = connect(&old).await;
    let image = client
        .resolve_image(asked, Some(&arm64), ResolveMode::Local, "load a")
        .await
        .unwrap();
    assert_eq!((image.reference.as_str(), image.digest), (asked, None));
    let Call::ResolveImageConfig(request) = old.only_call() else {
        panic!("{:?}", old.calls())
    };
    assert_eq!(
        (request.r#ref.as_str(), request.resolve_mode.as_str()),
        (asked, "local")
    );
    assert_eq!(request.platform.unwrap().architecture, "arm64");
    assert_eq!(request.log_name, "load a");

    let older = Daemon::able(&["resolveimage"]);
    let pull = connect(&older)
        .await
        .resolve_image(asked, None, ResolveMode::Pull, "")
        .await;
    assert!(matches!(pull, Err(Error::MissingCap(_))), "{pull:?}");
}

#[tokio::test]
async fn a_policy_may_make_an_image_something_else() {
    let mut daemon = Daemon::modern();
    let source = theirs::pb::SourceOp {
        identifier: "git://git.example/a".into(),
        ..Default::default()
    };
    daemon.source_meta.source = Some(source);
    daemon.source_meta.git = Some(wire::ResolveSourceGitResponse {
        checksum: "abc".into(),
        ..wire::ResolveSourceGitResponse::default()
    });
    let client = connect(&daemon).await;
    let error = client
        .resolve_image("a", None, ResolveMode::Default, "")
        .await
        .unwrap_err();
    let expected = Error::NotAnImage {
        reference: "a".into(),
        identifier: "git://git.example/a".into(),
    };
    assert_eq!(error, expected);
    let source = pb::SourceOp {
        identifier: "git://git.example/a#main".into(),
        ..pb::SourceOp::default()
    };
    let meta = client.resolve_source(source, "resolve a").await.unwrap();
    assert_eq!(meta.git.unwrap().checksum, "abc");
    let Some(Call::ResolveSourceMeta(request)) = daemon.calls().pop() else {
        panic!("{:?}", daemon.calls())
    };
    assert_eq!(request.source.unwrap().identifier, "git://git.example/a#main");
    assert_eq!(request.log_name, "resolve a");
}
