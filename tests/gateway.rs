//! The gateway client against an independent implementation of BuildKit's side.

#![allow(
    clippy::expect_used,
    clippy::panic,
    reason = "a test that cannot go on has failed"
)]

#[path = "gateway/calls.rs"]
mod calls;
#[path = "gateway/contexts.rs"]
mod contexts;
#[path = "support/daemon.rs"]
mod daemon;
#[path = "gateway/ending.rs"]
mod ending;
#[path = "gateway/files.rs"]
mod files;
#[path = "gateway/images.rs"]
mod images;
#[path = "gateway/stdio.rs"]
mod stdio;

use std::collections::BTreeMap;

use bollard_buildkit_proto as theirs;
use daemon::{Call, Daemon, enabled};
use prost::Message;
use theirs::moby::buildkit::v1::frontend as wire;
use wheelbase::gateway::{BuildResult, CacheImport, Client, Error, Reference, Refs, Solve, Warning};
use wheelbase::llb::{File, Graph, ImageSource, Metadata, Mkfile, ResolveMode};
use wheelbase::platform::Platform;
use wheelbase::proto::pb;

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
        attestations: BTreeMap::new(),
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
