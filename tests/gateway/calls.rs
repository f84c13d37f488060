//! Questions to the whole frontend: a build is made, its image is published, and the next build is asked about it.

use bollard_buildkit_proto as theirs;
use serde_json::{Value, json};
use theirs::moby::buildkit::v1::frontend as wire;
use wheelbase::gateway::Options;
use wheelbase::llb::Cap;

use super::connect;
use super::daemon::{Call, Daemon, enabled};

pub(super) const SPEC: &str = r#"name = "job"

[gpu]
tiers.base = "registry.example/base:1"

[python]
version = "3.12"

[uv]
image = "registry.example/uv:1"

[images.serve]
tier = "base"
packages = ["idna"]
forbid = { paths = [] }
"#;

const PREVIOUS: (&str, &str) = ("context:previous", "docker-image://registry.example/app:1");

pub(super) fn lock(version: &str, hash: &str) -> String {
    format!(
        "version = 1\nrevision = 3\nrequires-python = \">=3.12\"\n\n[[package]]\nname = \"idna\"\n\
         version = \"{version}\"\nsource = {{ registry = \"https://index.example/simple\" }}\nwheels = [\n    \
         {{ url = \"https://index.example/idna-{version}-py3-none-any.whl\", hash = \"sha256:{}\", size = 1 }},\n]\n",
        hash.repeat(32)
    )
}

/// What a registry says of an image: two digits that its digest is made of, and its config.
pub(super) fn image(digits: &str, config: &Value) -> wire::ResolveSourceMetaResponse {
    wire::ResolveSourceMetaResponse {
        image: Some(wire::ResolveSourceImageResponse {
            digest: format!("sha256:{}", digits.repeat(32)),
            config: config.to_string().into_bytes(),
            ..wire::ResolveSourceImageResponse::default()
        }),
        ..wire::ResolveSourceMetaResponse::default()
    }
}

/// A daemon that finds the project's files in the client's folders, and the tier under this digest.
pub(super) fn daemon(lock: &str, tier: &str) -> Daemon {
    let plain =
        json!({ "architecture": "amd64", "os": "linux", "config": { "Env": ["PATH=/usr/bin:/bin"] } });
    let mut daemon = Daemon::modern()
        .with_reference("r")
        .with_file("r", "wheelbase.toml", SPEC)
        .with_file("r", "uv.lock", lock);
    daemon.pong.llb_caps = Cap::ALL.iter().map(|cap| enabled(cap.id())).collect();
    daemon.source_meta = image("00", &plain);
    let base = "docker-image://registry.example/base:1".to_owned();
    daemon.sources.insert(base, image(tier, &plain));
    daemon
}

/// Publishes an image.
fn with_previous(daemon: Daemon, config: &Value) -> Daemon {
    with_image(daemon, "app:1", config)
}

fn with_image(mut daemon: Daemon, name: &str, config: &Value) -> Daemon {
    let reference = format!("docker-image://registry.example/{name}");
    daemon.sources.insert(reference, image("99", config));
    daemon
}

/// Runs the frontend to its end; what it returned.
pub(super) async fn returned(daemon: &Daemon, options: &[(&str, &str)]) -> wire::ReturnRequest {
    let env = options
        .iter()
        .enumerate()
        .map(|(index, (key, value))| (format!("BUILDKIT_FRONTEND_OPT_{index}"), format!("{key}={value}")));
    let client = connect(daemon).await;
    let options = Options::from_env(env);
    let _ = wheelbase::frontend::serve(&client, &options, 0)
        .await
        .expect("an answer");
    match daemon.calls().pop() {
        Some(Call::Return(request)) => request,
        other => panic!("{other:?}"),
    }
}

/// The config of the image that a build makes.
async fn built(daemon: &Daemon) -> Value {
    let answer = returned(daemon, &[("target", "serve")]).await;
    let result = answer.result.unwrap_or_else(|| panic!("{:?}", answer.error));
    serde_json::from_slice(&result.metadata["containerimage.config"]).expect("a config")
}

async fn explained(daemon: &Daemon, options: &[(&str, &str)]) -> Result<(String, Value), String> {
    let question = [("requestid", "frontend.wheelbase.explain")];
    let answer = returned(daemon, &[&question, options].concat()).await;
    if let Some(error) = answer.error {
        return Err(error.message);
    }
    let metadata = answer.result.expect("a result").metadata;
    assert_eq!(metadata["version"], b"1.0.0");
    let text = String::from_utf8(metadata["result.txt"].clone()).expect("a text");
    let json = serde_json::from_slice(&metadata["result.json"]).expect("JSON");
    Ok((text, json))
}

#[tokio::test]
async fn a_build_is_explained_against_the_image_of_another() {
    let first = lock("3.10", "01");
    let config = built(&daemon(&first, "aa")).await;

    let same = with_previous(daemon(&first, "aa"), &config);
    let (text, _) = explained(&same, &[PREVIOUS]).await.unwrap();
    assert_eq!(text, "image serve: nothing changes\n");
    // Nothing is asked but what decides a build.
    for call in same.calls() {
        match call {
            Call::Solve(request) => assert!(!request.evaluate, "{request:?}"),
            Call::ReadFile(_)
            | Call::Evaluate(_)
            | Call::Inputs
            | Call::ResolveSourceMeta(_)
            | Call::Return(_) => {}
            other => panic!("{other:?}"),
        }
    }

    let bumped = with_previous(daemon(&lock("3.11", "02"), "aa"), &config);
    let (text, json) = explained(&bumped, &[PREVIOUS, ("target", "serve")])
        .await
        .unwrap();
    insta::assert_snapshot!(text, @r"
    image serve: 1 of 5 stages change
      layer packages 2/4: idna 3.10 -> 3.11
    ");
    let image = &json["images"][0];
    assert_eq!(image["changes"][0]["causes"][0]["input"], "idna");
    assert_eq!(
        image["previous"],
        format!("registry.example/app:1@sha256:{}", "99".repeat(32))
    );

    // A tag that stands for another image now, which the command line cannot see.
    let moved = with_previous(daemon(&first, "bb"), &config);
    let (text, _) = explained(&moved, &[PREVIOUS]).await.unwrap();
    insta::assert_snapshot!(text, @r"
    image serve: 4 of 5 stages change
      tier base: aaaaaaaaaaaaaaaa -> bbbbbbbbbbbbbbbb
      system base: because of tier base
      venv: because of tier base, through system base
      layer packages 2/4: because of tier base, through system base
    ");
}

#[tokio::test]
async fn each_platform_is_compared_with_its_own_image() {
    let platforms = ("platform", "linux/amd64,linux/arm64");
    let answer = returned(&daemon(&lock("3.10", "01"), "aa"), &[platforms]).await;
    let metadata = answer.result.expect("a result").metadata;
    let config = |platform: &str| -> Value {
        serde_json::from_slice(&metadata[&format!("containerimage.config/{platform}")]).expect("a config")
    };
    let bumped = || {
        let bumped = daemon(&lock("3.11", "02"), "aa");
        let bumped = with_image(bumped, "app:amd64", &config("linux/amd64"));
        with_image(bumped, "app:arm64", &config("linux/arm64"))
    };
    let amd64 = ("context:previous", "docker-image://registry.example/app:amd64");
    let arm64 = (
        "context:previous::linux/arm64",
        "docker-image://registry.example/app:arm64",
    );
    let (text, json) = explained(&bumped(), &[platforms, amd64, arm64]).await.unwrap();
    insta::assert_snapshot!(text, @r"
    image serve for linux/amd64: 1 of 5 stages change
      layer packages 2/4: idna 3.10 -> 3.11

    image serve for linux/arm64: 1 of 5 stages change
      layer packages 2/4: idna 3.10 -> 3.11
    ");
    assert_eq!(json["images"][1]["platform"], "linux/arm64");

    let said = explained(&bumped(), &[platforms, amd64]).await.unwrap_err();
    assert!(
        said.contains("app:amd64 is for linux/amd64, and this build is for linux/arm64"),
        "{said}"
    );
}

#[tokio::test]
async fn what_cannot_be_compared_with_is_said() {
    let project = daemon(&lock("3.10", "01"), "aa");
    let said = explained(&project, &[]).await.unwrap_err();
    assert!(
        said.contains("there is no earlier image to compare with"),
        "{said}"
    );
    assert!(
        said.contains("--build-context previous=docker-image://"),
        "{said}"
    );
    assert_eq!(project.calls().len(), 1, "nothing is read for it");

    let folder = daemon(&lock("3.10", "01"), "aa");
    let said = explained(&folder, &[("context:previous", "local:previous")]).await;
    assert!(
        said.as_ref().is_err_and(|said| said.contains("is a folder")),
        "{said:?}"
    );

    // What is wrong with the lock and with the image is said at once.
    let other = lock("3.10", "01").replace("idna", "attrs");
    let wrong = with_previous(daemon(&other, "aa"), &json!({ "config": {} }));
    let said = explained(&wrong, &[PREVIOUS]).await.unwrap_err();
    for words in [
        "registry.example/app:1 carries no plan: it has no label `dev.wheelbase.plan`",
        "`idna` is not in uv.lock",
    ] {
        assert!(said.contains(words), "{said}");
    }
}

#[tokio::test]
async fn a_build_takes_no_context_that_nothing_uses() {
    let project = daemon(&lock("3.10", "01"), "aa");
    let stray = (
        "context:registry.example/base:2",
        "docker-image://other.example/base:1",
    );
    let answer = returned(&project, &[stray]).await;
    let said = answer.error.expect("an error").message;
    assert!(
        said.contains("nothing uses the named context `registry.example/base:2`")
            && said.contains("did you mean `registry.example/base:1`?"),
        "{said}"
    );

    // A bake file has it in every run.
    let project = daemon(&lock("3.10", "01"), "aa");
    let answer = returned(&project, &[PREVIOUS]).await;
    assert_eq!(answer.error, None);
    let asked = project.calls().into_iter().filter(
        |call| matches!(call, Call::ResolveSourceMeta(request) if format!("{request:?}").contains("app:1")),
    );
    assert_eq!(asked.count(), 0);
}

#[tokio::test]
async fn a_question_that_nobody_knows_is_refused_by_its_name() {
    let project = daemon("", "aa");
    let answer = returned(&project, &[("requestid", "frontend.wheelbase.explian")]).await;
    let error = answer.error.expect("an error");
    assert_eq!(error.message, "unsupported request frontend.wheelbase.explian");
}
