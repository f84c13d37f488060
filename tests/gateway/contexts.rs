//! Contexts of a build: which files and images are asked for, and what of them is in the graph.

use base64::Engine as _;
use bollard_buildkit_proto as theirs;
use prost::Message as _;
use serde_json::{Value, json};
use theirs::moby::buildkit::v1::frontend as wire;

use super::calls::{SPEC, daemon, image, lock, returned};
use super::daemon::{Call, Daemon};
use super::{convert, definition};

fn project() -> Daemon {
    daemon(&lock("3.10", "01"), "aa")
}

/// Identifiers of the sources of every graph that was solved.
fn sources(daemon: &Daemon) -> Vec<String> {
    let mut found = Vec::new();
    for call in daemon.calls() {
        let Call::Solve(wire::SolveRequest {
            definition: Some(definition),
            ..
        }) = call
        else {
            continue;
        };
        for bytes in definition.def {
            let op = theirs::pb::Op::decode(bytes.as_slice()).expect("an operation");
            if let Some(theirs::pb::op::Op::Source(source)) = op.op {
                found.push(source.identifier);
            }
        }
    }
    found
}

/// References that a registry was asked about.
fn asked(daemon: &Daemon) -> Vec<String> {
    let asked = daemon.calls().into_iter().filter_map(|call| match call {
        Call::ResolveSourceMeta(request) => Some(request.source?.identifier),
        _ => None,
    });
    asked.collect()
}

async fn config(daemon: &Daemon, options: &[(&str, &str)]) -> Value {
    let answer = returned(daemon, options).await;
    let result = answer.result.unwrap_or_else(|| panic!("{:?}", answer.error));
    serde_json::from_slice(&result.metadata["containerimage.config"]).expect("a config")
}

async fn refused(daemon: &Daemon, options: &[(&str, &str)]) -> String {
    returned(daemon, options).await.error.expect("an error").message
}

#[tokio::test]
async fn another_image_stands_in_for_a_tier() {
    for name in ["context:base", "context:registry.example/base:1"] {
        let mut daemon = project();
        let other = json!({ "architecture": "amd64", "os": "linux", "config": { "Env": ["MARK=1"] } });
        let reference = "docker-image://other.example/base:2".to_owned();
        daemon.sources.insert(reference.clone(), image("cc", &other));
        let config = config(&daemon, &[(name, &reference)]).await;
        assert!(config["config"]["Env"].to_string().contains("MARK=1"), "{config}");
        let pinned = format!("{reference}@sha256:{}", "cc".repeat(32));
        assert!(sources(&daemon).contains(&pinned), "{:?}", sources(&daemon));
        assert!(asked(&daemon).contains(&reference));
        assert!(!asked(&daemon).contains(&"docker-image://registry.example/base:1".to_owned()));
    }
}

#[tokio::test]
async fn an_input_stands_in_for_a_tier_with_its_config() {
    let mut daemon = project();
    let input: theirs::pb::Definition = convert(&definition());
    daemon.inputs.definitions.insert("t".into(), input);
    let said = json!({ "config": { "Env": ["MARK=1"] } }).to_string();
    let said = base64::engine::general_purpose::STANDARD.encode(said);
    let metadata = json!({ "containerimage.config": said }).to_string();
    let options = [("context:base", "input:t"), ("input-metadata:t", &metadata)];
    let config = config(&daemon, &options).await;
    assert!(config["config"]["Env"].to_string().contains("MARK=1"), "{config}");
    // Its own tier is in the graph, and nothing is asked about the spec's.
    assert!(sources(&daemon).contains(&"docker-image://docker.io/library/base:latest".to_owned()));
    assert!(!asked(&daemon).contains(&"docker-image://registry.example/base:1".to_owned()));
    let said = refused(&project(), &[("context:base", "input:t")]).await;
    assert!(
        said.contains("the named context `base` is the input `t`, which the client does not give"),
        "{said}"
    );
}

#[tokio::test]
async fn a_repository_has_the_spec_and_the_lock() {
    let daemon = project();
    let options = [
        ("context", "https://u:secret@git.example/a.git#main:sub"),
        ("filename", "wheelbase.toml"),
    ];
    config(&daemon, &options).await;
    let sources = sources(&daemon);
    assert!(
        sources.contains(&"git://git.example/a.git#main:sub".to_owned()),
        "{sources:?}"
    );
    assert!(
        !sources.iter().any(|source| source.starts_with("local://")),
        "{sources:?}"
    );
    // The spec of the client, and all else from there.
    let daemon = project();
    let options = [
        ("context", "https://git.example/a.git"),
        ("dockerfilekey", "dockerfile"),
    ];
    config(&daemon, &options).await;
    let locals: Vec<String> = self::sources(&daemon)
        .into_iter()
        .filter(|source| source.starts_with("local://"))
        .collect();
    assert_eq!(locals, ["local://dockerfile"]);
}

#[tokio::test]
async fn a_file_of_a_web_server_is_an_archive_or_the_spec() {
    let url = ("context", "https://files.example/ctx");
    let archive = project().with_file("r", "context", &b"\x1f\x8b\x08rest"[..]);
    config(&archive, &[url]).await;
    let spec = SPEC.replace("packages = [\"idna\"]", "packages = []");
    let alone = Daemon {
        files: [(("r".to_owned(), "context".to_owned()), spec.into_bytes())].into(),
        ..project()
    };
    config(&alone, &[url, ("filename", "ignored.toml")]).await;
    assert!(sources(&alone).contains(&"https://files.example/ctx".to_owned()));
}

#[tokio::test]
async fn the_lock_may_be_elsewhere() {
    let daemon = project();
    config(&daemon, &[("context:lock", "local:lock")]).await;
    assert!(
        sources(&daemon).contains(&"local://lock".to_owned()),
        "{:?}",
        sources(&daemon)
    );
    let mut without = project();
    without.files.retain(|(_, path), _| path != "uv.lock");
    let said = refused(&without, &[("context:lock", "local:lock")]).await;
    assert!(said.contains("the named context `lock` has no uv.lock"), "{said}");
}

#[tokio::test]
async fn what_is_wrong_with_a_context_is_said_by_its_name() {
    for (option, words) in [
        (
            ("context", "ftp://u:secret@files.example/a"),
            "the option `context` is wrong: `ftp://files.example/a` is neither",
        ),
        (
            ("context", "https://u:secret@git.example/a.git?x=1"),
            "the option `context` is wrong: its query has the key `x`",
        ),
        (
            ("context:base", "docker-image://scratch"),
            "the named context `base` is an empty filesystem",
        ),
        (
            ("context:base", "docker-image://Wrong@x"),
            "the option `context:base` names no image",
        ),
        (
            ("context:base", "nothing"),
            "the option `context:base` is wrong: `nothing` is of no known kind",
        ),
        (("context:bsae", "local:a"), "did you mean `base`?"),
        (
            ("context:base", "https://git.example/a.git?x=1"),
            "the option `context:base` is wrong: its query has",
        ),
    ] {
        let said = refused(&project(), &[option]).await;
        assert!(said.contains(words), "{option:?}: {said}");
        assert!(!said.contains("secret"), "{said}");
    }
}

#[tokio::test]
async fn a_pattern_that_is_none_has_a_line() {
    let daemon = project().with_file("r", ".dockerignore", "docs\n[a\n");
    let said = refused(&daemon, &[]).await;
    assert!(
        said.contains(".dockerignore has a pattern that is none"),
        "{said}"
    );
}

#[tokio::test]
async fn inputs_are_the_context_and_the_spec() {
    let mut daemon = project();
    for name in ["context", "dockerfile"] {
        let input: theirs::pb::Definition = convert(&definition());
        daemon.inputs.definitions.insert(name.into(), input);
    }
    config(&daemon, &[]).await;
    let found = sources(&daemon);
    assert!(
        !found.iter().any(|source| source.starts_with("local://")),
        "{found:?}"
    );
    // A spec of the client's folder is what the client says.
    let mut daemon = project();
    daemon
        .inputs
        .definitions
        .insert("dockerfile".into(), convert(&definition()));
    config(&daemon, &[("dockerfilekey", "specs")]).await;
    assert!(
        sources(&daemon).contains(&"local://specs".to_owned()),
        "{:?}",
        sources(&daemon)
    );
}

#[tokio::test]
async fn a_folder_of_a_remote_context_is_the_context() {
    let daemon = project();
    let options = [
        ("context", "https://git.example/a.git"),
        ("contextsubdir", "services/app"),
    ];
    config(&daemon, &options).await;
    let copies = daemon.calls().into_iter().filter_map(|call| match call {
        Call::Solve(request) => request.definition,
        _ => None,
    });
    let is_taken = copies.flat_map(|definition| definition.def).any(|bytes| {
        let op = theirs::pb::Op::decode(bytes.as_slice()).expect("an operation");
        matches!(op.op, Some(theirs::pb::op::Op::File(_))) && format!("{op:?}").contains("/services/app")
    });
    assert!(is_taken, "the folder is not taken");
}
