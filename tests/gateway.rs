//! The gateway client against an independent implementation of BuildKit's side.

#![allow(
    clippy::expect_used,
    clippy::panic,
    reason = "a test that cannot go on has failed"
)]

#[path = "support/daemon.rs"]
mod daemon;

use std::collections::BTreeMap;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use bollard_buildkit_proto as theirs;
use daemon::{Call, Daemon, enabled};
use prost::Message;
use theirs::moby::buildkit::v1::frontend as wire;
use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::sync::Barrier;
use tonic::{Code, Status};
use wheelbase::gateway::{
    BuildResult, CacheImport, Client, Error, PlatformImage, Reference, Refs, Solve, Warning,
    unsupported_request,
};
use wheelbase::llb::{File, Graph, ImageSource, Metadata, Mkfile, ResolveMode};
use wheelbase::platform::Platform;
use wheelbase::proto::{pb, rpc};

async fn connect(daemon: &Daemon) -> Client {
    Client::connect(daemon.serve()).await.expect("a connection")
}

/// The message of the one crate in the type of the other.
fn convert<To: Message + Default>(from: &impl Message) -> To {
    To::decode(from.encode_to_vec().as_slice()).expect("the same message")
}

fn definition() -> pb::Definition {
    let mut graph = Graph::new(Platform::linux_amd64());
    let base = graph.image(ImageSource::new("base"), Metadata::named("base"));
    let made = graph.file(File::on(base).mkfile(Mkfile::new("/f", "x")), Metadata::default());
    graph.definition(made)
}

/// A connected client and the file system that its solves give.
async fn solved(daemon: &Daemon) -> (Client, Reference) {
    let client = connect(daemon).await;
    let result = client
        .solve(Solve::definition(definition()))
        .await
        .expect("a result");
    let reference = result.single().expect("one").expect("not empty").clone();
    (client, reference)
}

#[tokio::test]
async fn ping_tells_capabilities_and_workers() {
    let mut daemon = Daemon::able(&["return"]);
    daemon.pong.llb_caps = vec![enabled("mergeop")];
    daemon.pong.workers = vec![theirs::moby::buildkit::v1::types::WorkerRecord {
        id: "w".into(),
        platforms: vec![theirs::pb::Platform {
            os: "linux".into(),
            architecture: "arm64".into(),
            variant: "v8".into(),
            ..theirs::pb::Platform::default()
        }],
        ..theirs::moby::buildkit::v1::types::WorkerRecord::default()
    }];
    let client = connect(&daemon).await;
    assert!(client.caps().frontend.supports("return") && !client.caps().frontend.supports("readfile"));
    assert!(client.caps().llb.supports("mergeop") && !client.caps().llb.supports("diffop"));
    assert_eq!(client.workers()[0].platforms, [Platform::linux_arm64()]);
}

#[tokio::test]
async fn solve_hands_over_the_graph() {
    let mut daemon = Daemon::modern().with_reference("r1");
    if let Some(result) = &mut daemon.solved.result {
        result.metadata.insert("k".into(), b"v".to_vec());
    }
    let client = connect(&daemon).await;
    let attrs = BTreeMap::from([("ref".to_owned(), "zot.example/cache".to_owned())]);
    let solve = Solve {
        cache_imports: vec![CacheImport {
            kind: "registry".into(),
            attrs,
        }],
        evaluate: true,
        ..Solve::definition(definition())
    };
    let result = client.solve(solve).await.unwrap();
    assert_eq!(result.single().unwrap().map(Reference::id), Some("r1"));
    assert_eq!(result.metadata["k"], b"v");
    let Call::Solve(request) = daemon.only_call() else {
        panic!("{:?}", daemon.calls())
    };
    assert_eq!(
        convert::<pb::Definition>(&request.definition.unwrap()),
        definition()
    );
    assert!(request.allow_result_return && request.allow_result_array_ref && request.evaluate);
    assert_eq!(request.cache_imports[0].r#type, "registry");
    assert_eq!(request.cache_imports[0].attrs["ref"], "zot.example/cache");
    assert!(request.frontend_opt.is_empty());
}

#[tokio::test]
async fn another_frontend_gets_options_inputs_and_caches() {
    let daemon = Daemon::modern();
    let client = connect(&daemon).await;
    let solve = Solve {
        frontend: "dockerfile.v0".into(),
        frontend_options: BTreeMap::from([("target".to_owned(), "t".to_owned())]),
        frontend_inputs: BTreeMap::from([("context".to_owned(), definition())]),
        cache_imports: vec![CacheImport {
            kind: "gha".into(),
            attrs: BTreeMap::new(),
        }],
        ..Solve::default()
    };
    let result = client.solve(solve).await.unwrap();
    assert_eq!(result.refs, Refs::Single(None));
    let Call::Solve(request) = daemon.only_call() else {
        panic!("{:?}", daemon.calls())
    };
    assert_eq!(request.frontend, "dockerfile.v0");
    assert_eq!(request.frontend_opt["target"], "t");
    assert_eq!(
        request.frontend_opt["cache-imports"],
        r#"[{"Attrs":{},"Type":"gha"}]"#
    );
    assert_eq!(
        convert::<pb::Definition>(&request.frontend_inputs["context"]),
        definition()
    );
}

#[tokio::test]
async fn evaluation_works_on_daemons_that_cannot_do_it_at_once() {
    for (caps, expected) in [
        (
            vec!["solve.base", "gateway.evaluate"],
            Call::Evaluate(wire::EvaluateRequest { r#ref: "r".into() }),
        ),
        (
            vec!["solve.base", "statfile"],
            Call::StatFile(wire::StatFileRequest {
                r#ref: "r".into(),
                path: ".".into(),
                mount_index: 0,
            }),
        ),
    ] {
        let daemon = Daemon::able(&caps).with_reference("r");
        let solve = Solve {
            evaluate: true,
            ..Solve::definition(definition())
        };
        connect(&daemon).await.solve(solve).await.unwrap();
        let calls = daemon.calls();
        assert!(matches!(&calls[0], Call::Solve(request) if !request.evaluate));
        assert_eq!(calls[1..], [expected]);
    }
}

#[tokio::test]
async fn what_the_daemon_lacks_is_not_asked() {
    let daemon = Daemon::able(&["solve.base"]).with_reference("r");
    let (client, reference) = solved(&daemon).await;
    let missing = |error: Error| match error {
        Error::MissingCap(missing) => missing.id,
        other => panic!("{other:?}"),
    };
    assert_eq!(
        missing(client.read_file(&reference, "f").await.unwrap_err()),
        "readfile"
    );
    assert_eq!(
        missing(client.read_dir(&reference, "d", "").await.unwrap_err()),
        "readdir"
    );
    assert_eq!(
        missing(client.stat_file(&reference, "f").await.unwrap_err()),
        "statfile"
    );
    assert_eq!(
        missing(client.evaluate(&reference).await.unwrap_err()),
        "statfile"
    );
    let image = client.resolve_image("a", None, ResolveMode::Default, "").await;
    assert_eq!(missing(image.unwrap_err()), "resolveimage");
    let source = client
        .resolve_source(wheelbase::proto::pb::SourceOp::default(), "")
        .await;
    assert_eq!(missing(source.unwrap_err()), "source.metaresolver");
    let result = BuildResult {
        refs: Refs::Single(None),
        metadata: BTreeMap::new(),
    };
    assert_eq!(missing(client.return_result(result).await.unwrap_err()), "return");
    let imports = vec![CacheImport {
        kind: "gha".into(),
        attrs: BTreeMap::new(),
    }];
    let solve = Solve {
        cache_imports: imports,
        ..Solve::default()
    };
    assert_eq!(missing(client.solve(solve).await.unwrap_err()), "importcaches");
    let frontend_inputs = BTreeMap::from([("a".to_owned(), definition())]);
    let solve = Solve {
        frontend_inputs,
        ..Solve::default()
    };
    assert_eq!(missing(client.solve(solve).await.unwrap_err()), "frontend.inputs");
    assert!(client.inputs().await.unwrap().is_empty());
    client.warn(Warning::default()).await.unwrap();
    assert_eq!(
        daemon.calls().len(),
        1,
        "only the first solve is for the daemon: {:?}",
        daemon.calls()
    );
}

#[tokio::test]
async fn files_of_any_size_are_read_in_pieces() {
    const MIB: usize = 1 << 20;
    let bytes = |length: usize| {
        (0..length)
            .map(|at| u8::try_from(at * 31 % 251).unwrap())
            .collect::<Vec<u8>>()
    };
    for (length, requests) in [(0, 1), (5, 1), (2 * MIB, 2), (8 * MIB + 1, 5)] {
        let daemon = Daemon::modern()
            .with_reference("r")
            .with_file("r", "uv.lock", bytes(length));
        let (client, reference) = solved(&daemon).await;
        let data = client.read_file(&reference, "uv.lock").await.unwrap().unwrap();
        assert!(data == bytes(length), "{length} bytes");
        let reads = daemon.calls().into_iter().filter_map(|call| match call {
            Call::ReadFile(request) => request.range,
            _ => None,
        });
        let lengths: Vec<i64> = reads.map(|range| range.length).collect();
        assert_eq!(lengths.len(), requests, "{length} bytes");
        assert!(lengths.iter().all(|length| *length <= 2 << 20));
    }
}

#[tokio::test]
async fn a_range_is_a_range() {
    let daemon = Daemon::modern()
        .with_reference("r")
        .with_file("r", "f", "0123456789");
    let (client, reference) = solved(&daemon).await;
    assert_eq!(
        client.read_range(&reference, "f", 2, 3).await.unwrap().unwrap(),
        b"234"
    );
    assert_eq!(
        client.read_range(&reference, "f", 8, 99).await.unwrap().unwrap(),
        b"89"
    );
}

#[tokio::test]
async fn what_is_not_there_is_none() {
    let daemon = Daemon::modern().with_reference("r").with_file("r", "dir/f", "x");
    let (client, reference) = solved(&daemon).await;
    assert_eq!(client.read_file(&reference, "uv.lock").await, Ok(None));
    assert_eq!(client.stat_file(&reference, "uv.lock").await, Ok(None));
    assert_eq!(client.read_dir(&reference, "other", "").await, Ok(None));
    let stat = client.stat_file(&reference, "dir/f").await.unwrap().unwrap();
    assert_eq!((stat.path.as_str(), stat.size, stat.mode), ("dir/f", 1, 0o644));
    let entries = client.read_dir(&reference, "dir", "f*").await.unwrap().unwrap();
    assert_eq!(
        entries
            .iter()
            .map(|entry| entry.path.as_str())
            .collect::<Vec<&str>>(),
        ["f"]
    );
    let asked = daemon.calls().into_iter().find_map(|call| match call {
        Call::ReadDir(request) if request.dir_path == "dir" => Some(request.include_pattern),
        _ => None,
    });
    assert_eq!(asked.as_deref(), Some("f*"));
}

#[tokio::test]
async fn a_failed_step_is_no_missing_file_whatever_it_says() {
    for caps in [
        vec!["solve.base", "readfile", "gateway.evaluate"],
        vec!["solve.base", "readfile", "statfile"],
    ] {
        let mut daemon = Daemon::able(&caps).with_reference("r");
        let message = "process \"/x\" did not start: no such file or directory";
        daemon.broken.insert("r".into(), Status::unknown(message));
        let (client, reference) = solved(&daemon).await;
        let error = client.read_file(&reference, "uv.lock").await.unwrap_err();
        assert_eq!(error.to_string(), message);
    }
}

#[tokio::test]
async fn requests_run_at_the_same_time() {
    const READS: usize = 32;
    let mut daemon = Daemon::modern().with_reference("r");
    // Nothing is answered before all have been asked.
    daemon.gate = Some(Arc::new(Barrier::new(READS)));
    for read in 0..READS {
        daemon = daemon.with_file("r", &format!("f{read}"), format!("{read}"));
    }
    let (client, reference) = solved(&daemon).await;
    let reads: Vec<_> = (0..READS)
        .map(|read| {
            let (client, reference) = (client.clone(), reference.clone());
            tokio::spawn(async move { client.read_file(&reference, &format!("f{read}")).await })
        })
        .collect();
    let all = async {
        for (read, task) in reads.into_iter().enumerate() {
            let data = task.await.unwrap().unwrap().unwrap();
            assert_eq!(data, read.to_string().into_bytes());
        }
    };
    tokio::time::timeout(Duration::from_secs(20), all)
        .await
        .expect("no request waits for another");
}

#[tokio::test]
async fn messages_may_be_big_both_ways() {
    let mut daemon = Daemon::modern();
    let big = pb::Definition {
        def: vec![vec![7; 9 << 20]],
        ..pb::Definition::default()
    };
    daemon.inputs.definitions.insert("context".into(), convert(&big));
    let client = connect(&daemon).await;
    let inputs = client.inputs().await.unwrap();
    assert!(inputs["context"] == big);
    client.solve(Solve::definition(big.clone())).await.unwrap();
    let sent = daemon.calls().into_iter().find_map(|call| match call {
        Call::Solve(request) => request.definition,
        _ => None,
    });
    assert!(convert::<pb::Definition>(&sent.unwrap()) == big);
}

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

#[tokio::test]
async fn inputs_and_remarks() {
    let mut daemon = Daemon::modern();
    daemon
        .inputs
        .definitions
        .insert("base".into(), convert(&definition()));
    let client = connect(&daemon).await;
    let inputs = client.inputs().await.unwrap();
    assert_eq!(inputs["base"], definition());
    let warning = Warning {
        vertex: "sha256:1".into(),
        short: "Rule: odd (line 2)".into(),
        detail: vec!["more".into()],
        url: "https://docs.example/rule".into(),
        info: Some(pb::SourceInfo {
            filename: "wheelbase.toml".into(),
            ..pb::SourceInfo::default()
        }),
        ranges: vec![pb::Range::default()],
    };
    client.warn(warning).await.unwrap();
    let Some(Call::Warn(request)) = daemon.calls().pop() else {
        panic!("{:?}", daemon.calls())
    };
    assert_eq!((request.digest.as_str(), request.level), ("sha256:1", 1));
    assert_eq!(request.short, b"Rule: odd (line 2)");
    assert_eq!(
        (request.detail.as_slice(), request.ranges.len()),
        ([b"more".to_vec()].as_slice(), 1)
    );
    assert_eq!(request.url, "https://docs.example/rule");
    assert_eq!(request.info.unwrap().filename, "wheelbase.toml");
}

#[tokio::test]
async fn the_result_is_returned_once() {
    let daemon = Daemon::modern().with_reference("r");
    let (client, reference) = solved(&daemon).await;
    let image = |platform, reference| PlatformImage {
        platform,
        reference,
        config: b"{}".to_vec(),
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
        .args(["frontend_process", "--exact", "--nocapture"])
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
