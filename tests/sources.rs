//! Sources of wheels in plans and graphs: what is shared, what is part of a key, what is refused.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeMap;
use std::process::{Command, Output};

use prost::Message as _;
use serde_json::Value;
use wheelbase::proto::pb;

const LOCK: &str = r#"version = 1
revision = 3
requires-python = ">=3.11"

[[package]]
name = "setuptools"
version = "80.9.0"
source = { registry = "https://index.example/simple" }
wheels = [
    { url = "https://files.index.example/setuptools-80.9.0-py3-none-any.whl", hash = "sha256:062d34222ad13e0cc312a4c02d73f059e86a4acbfbdea8f8f76b28c99f306922", size = 1201486 },
]
"#;

const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";
const DIGEST: &str = "00000000000000000000000000000000000000000000000000000000000000ff";

/// A spec with one image that holds some wheels, which these tables declare.
fn spec(wheels: &[(&str, &str)]) -> String {
    let names: Vec<String> = wheels.iter().map(|(name, _)| format!("\"{name}\"")).collect();
    let tables: Vec<String> = wheels
        .iter()
        .map(|(name, lines)| format!("[wheels.{name}]\n{lines}\n"))
        .collect();
    format!(
        "name = \"x\"\n[gpu]\ntiers.base = \"registry.example/base:1\"\ntiers.devel = \"registry.example/devel:1\"\nmirror = \"zot.example:5000\"\n\
         [python]\nversion = \"3.11\"\nprovider = {{ image = \"registry.example/python:3.11\" }}\n\
         [images.app]\ntier = \"base\"\nwheels = [{}]\n{}",
        names.join(", "),
        tables.concat()
    )
}

fn wheelbase(spec: &str, arguments: &[&str]) -> Output {
    wheelbase_with(&BTreeMap::new(), spec, arguments)
}

/// Runs in a folder that has these files beside the spec and the lock.
fn wheelbase_with(files: &BTreeMap<&str, String>, spec: &str, arguments: &[&str]) -> Output {
    let folder = tempfile::tempdir().unwrap();
    for (file, text) in files {
        let path = folder.path().join(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    std::fs::write(folder.path().join("wheelbase.toml"), spec).unwrap();
    std::fs::write(folder.path().join("uv.lock"), LOCK).unwrap();
    Command::new(env!("CARGO_BIN_EXE_wheelbase"))
        .args(arguments)
        .current_dir(folder.path())
        .output()
        .unwrap()
}

fn planned(spec: &str, arguments: &[&str]) -> Vec<u8> {
    planned_with(&BTreeMap::new(), spec, arguments)
}

fn planned_with(files: &BTreeMap<&str, String>, spec: &str, arguments: &[&str]) -> Vec<u8> {
    let output = wheelbase_with(files, spec, arguments);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    output.stdout
}

/// Keys of stages by name.
fn keys(spec: &str) -> BTreeMap<String, String> {
    let plan: Value = serde_json::from_slice(&planned(spec, &["plan", "app", "--format", "json"])).unwrap();
    let text = |stage: &Value, key: &str| stage[key].as_str().unwrap().to_owned();
    let stages = plan["stages"].as_array().unwrap().iter();
    stages
        .map(|stage| (text(stage, "name"), text(stage, "key")))
        .collect()
}

fn operations(spec: &str) -> Vec<pb::op::Op> {
    let bytes = planned(spec, &["plan", "app", "--format", "llb"]);
    let definition = pb::Definition::decode(bytes.as_slice()).unwrap();
    let decoded = definition
        .def
        .iter()
        .map(|op| pb::Op::decode(op.as_slice()).unwrap());
    decoded.filter_map(|op| op.op).collect()
}

/// Identifier and attributes of sources.
fn sources(spec: &str) -> BTreeMap<String, BTreeMap<String, String>> {
    let mut found = BTreeMap::new();
    for operation in operations(spec) {
        if let pb::op::Op::Source(source) = operation {
            let earlier = found.insert(source.identifier.clone(), source.attrs.into_iter().collect());
            assert!(earlier.is_none(), "{} twice", source.identifier);
        }
    }
    found
}

/// How many processes have this among their arguments.
fn processes(spec: &str, argument: &str) -> usize {
    let is_process = |operation: &pb::op::Op| match operation {
        pb::op::Op::Exec(exec) => exec
            .meta
            .iter()
            .any(|meta| meta.args.iter().any(|word| word == argument)),
        _ => false,
    };
    operations(spec)
        .iter()
        .filter(|operation| is_process(operation))
        .count()
}

#[test]
fn wheels_from_folders_of_one_source_share_it() {
    let git = |folder: &str, more: &str| {
        format!(
            "arch = \"any\"\nsource = {{ git = \"https://git.example/x\", rev = \"{COMMIT}\", subdir = \"{folder}\" }}\n{more}"
        )
    };
    let plain = spec(&[("a", &git("a", "")), ("b", &git("b", ""))]);
    // `sources` fails when there are two operations for one identifier.
    let found = sources(&plain);
    let repositories = found.keys().filter(|identifier| identifier.starts_with("git://"));
    assert_eq!(
        repositories.collect::<Vec<_>>(),
        [&format!("git://git.example/x#{COMMIT}")]
    );
    assert_eq!(processes(&plain, "/wheelbase/source"), 0);

    let patches = "patches = [\"fix.patch\"]";
    let both = spec(&[("a", &git("a", patches)), ("b", &git("b", patches))]);
    assert_eq!(
        sources(&both)
            .keys()
            .filter(|identifier| identifier.starts_with("git://"))
            .count(),
        1
    );
    assert_eq!(processes(&both, "fix.patch"), 1);
    assert_eq!(
        keys(&both)
            .keys()
            .filter(|name| name.starts_with("source "))
            .count(),
        1
    );
    let differently = spec(&[
        ("a", &git("a", patches)),
        ("b", &git("b", "patches = [\"fix.patch\", \"b.patch\"]")),
    ]);
    assert_eq!(processes(&differently, "fix.patch"), 2);

    for name in ["x.tar.gz", "x.tar.zst", "x.zip"] {
        let archive = |folder: &str| {
            format!(
                "arch = \"any\"\nsource = {{ url = \"https://files.example/{name}\", sha256 = \"{DIGEST}\", subdir = \"{folder}\" }}"
            )
        };
        let archives = spec(&[("a", &archive("a")), ("b", &archive("b"))]);
        let url = format!("https://files.example/{name}");
        assert_eq!(
            sources(&archives)[&url]["http.checksum"],
            format!("sha256:{DIGEST}")
        );
        assert_eq!(processes(&archives, "/wheelbase/source"), 1, "{name}");
    }
}

#[test]
fn one_build_gives_several_wheels() {
    let both = spec(&[
        (
            "a",
            "arch = \"any\"\nsource = { path = \"a\" }\nprovides = [\"b\", \"setuptools\"]",
        ),
        ("c", "arch = \"any\"\nsource = { path = \"c\" }\nneeds = [\"b\"]"),
    ]);
    let stages = keys(&both);
    let names: Vec<&str> = stages.keys().map(String::as_str).collect();
    // One compile for both who ask; what the lock has of the same name is not installed beside it.
    assert_eq!(
        names
            .iter()
            .filter(|name| name.starts_with("wheel "))
            .collect::<Vec<_>>(),
        [&"wheel a", &"wheel c"]
    );
    let layers: Vec<&&str> = names.iter().filter(|name| name.starts_with("layer ")).collect();
    assert_eq!(layers, [&"layer a b setuptools", &"layer c"]);
    let fewer = keys(&both.replace("\"b\", \"setuptools\"", "\"b\""));
    assert_eq!(fewer["wheel a"], stages["wheel a"]);
    assert_ne!(fewer["layer a b"], stages["layer a b setuptools"]);
}

#[test]
fn what_opens_a_repository_is_in_no_key() {
    let git = |url: &str, more: &str| {
        spec(&[(
            "a",
            &format!("arch = \"any\"\nsource = {{ git = \"{url}\", rev = \"{COMMIT}\"{more} }}"),
        )])
    };
    let identifier = format!("git://git.example/x#{COMMIT}");
    let https = git("https://git.example/x", "");
    assert_eq!(
        sources(&https)[&identifier]["git.authtokensecret"],
        "GIT_AUTH_TOKEN"
    );
    let token = git("https://git.example/x", ", token = \"FORGE\"");
    assert_eq!(sources(&token)[&identifier]["git.authtokensecret"], "FORGE");
    let line = "git.example ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAAAAAAAAAAAAAAAAAAAAAAA";
    let ssh = git("ssh://git@git.example/x", &format!(", known-hosts = \"{line}\""));
    let attributes = &sources(&ssh)[&identifier];
    assert_eq!(attributes["git.mountsshsock"], "default");
    assert_eq!(attributes["git.knownsshhosts"], format!("{line}\n"));
    assert_eq!(keys(&https), keys(&token));
    assert_eq!(keys(&https), keys(&ssh));
}

#[test]
fn what_is_done_to_a_source_is_in_its_key() {
    let wheel = |lines: &str| {
        let spec = spec(&[("a", &format!("arch = \"any\"\n{lines}"))]);
        keys(&spec)["wheel a"].clone()
    };
    let variants = [
        "source = { path = \"a\" }",
        "source = { path = \"a\", exclude = [\"tests\"] }",
        "source = { path = \"a\", exclude = [\"!tests\"] }",
        "source = { path = \"a\", include = [\"tests\"] }",
        "source = { path = \"a\" }\npatches = [\"x.patch\"]",
        "source = { path = \"a\" }\npatches = [\"x.patch\", \"y.patch\"]",
        "source = { path = \"a\" }\npatches = [\"y.patch\", \"x.patch\"]",
        "source = { path = \"a\" }\nisolation = true",
        "source = { image = \"a\", path = \"/a\" }",
        "source = { image = \"a\", path = \"/b\" }",
        "source = { image = \"b\", path = \"/a\" }",
    ];
    let keys: BTreeMap<String, &str> = variants.iter().map(|lines| (wheel(lines), *lines)).collect();
    assert_eq!(keys.len(), variants.len(), "{keys:#?}");
}

#[test]
fn a_folder_of_an_image_comes_through_the_mirror() {
    let spec = spec(&[(
        "a",
        "arch = \"any\"\nsource = { image = \"kernels:1\", path = \"/src\" }",
    )]);
    let found = sources(&spec);
    assert!(
        found.contains_key("docker-image://zot.example:5000/library/kernels:1"),
        "{found:#?}"
    );
}

#[test]
fn a_ready_wheel_needs_no_compiler() {
    let source = format!(
        "source = {{ wheel = \"https://files.example/a-1.0-py3-none-any.whl\", sha256 = \"{DIGEST}\" }}"
    );
    let ready = spec(&[("a", &source)]).replace("tiers.devel = \"registry.example/devel:1\"\n", "");
    let names: Vec<String> = keys(&ready).into_keys().collect();
    assert!(
        names.contains(&"wheel a".to_owned()) && names.contains(&"layer a".to_owned()),
        "{names:?}"
    );
    assert!(!names.iter().any(|name| name.contains("devel")), "{names:?}");
    // In the context it counts by content, so the graph takes it from there and nowhere else.
    let local = spec(&[("a", "source = { wheel = \"wheels/a-1.0-py3-none-any.whl\" }")]);
    let attributes = &sources(&local)["local://context"];
    assert_eq!(
        attributes["local.followpaths"],
        "[\"wheels/a-1.0-py3-none-any.whl\"]"
    );
}

#[test]
fn a_ready_wheel_that_does_not_fit_is_refused() {
    let refused = |tags: &str| {
        let file = format!("a-1.0-{tags}.whl");
        let output = wheelbase(
            &spec(&[("a", &format!("source = {{ wheel = \"{file}\" }}"))]),
            &["plan", "app"],
        );
        assert!(!output.status.success(), "{tags}");
        String::from_utf8(output.stderr).unwrap()
    };
    for (tags, expected) in [
        ("cp312-cp312-linux_x86_64", "is not for CPython 3.11"),
        (
            "cp311-cp310-linux_x86_64",
            "has an ABI other than that of CPython 3.11",
        ),
        ("cp311-cp311-win_amd64", "is not for Linux with glibc on x86_64"),
        ("cp311-cp311-manylinux_2_99_x86_64", "needs glibc 2.99 or newer"),
    ] {
        let said = refused(tags);
        assert!(
            said.contains(expected) && said.contains("wheelbase.toml:"),
            "{said}"
        );
    }
    insta::assert_snapshot!(refused("cp312-cp312-linux_x86_64"));
}

#[test]
fn a_crate_is_keyed_by_what_it_needs_of_its_workspace() {
    let package = |name: &str, more: &str| format!("[package]\nname = \"{name}\"\n{more}");
    let root = "[workspace]\nmembers = [\"crates/a\", \"crates/b\", \"crates/other\"]\n";
    let files = BTreeMap::from([
        ("Cargo.toml", root.to_owned()),
        (
            "crates/a/Cargo.toml",
            package("a", "[dev-dependencies]\nb = { path = \"../b\" }\n"),
        ),
        ("crates/b/Cargo.toml", package("b", "")),
        ("crates/other/Cargo.toml", package("other", "")),
    ]);
    let spec = spec(&[(
        "a",
        "arch = \"any\"\ncommand = \"maturin build\"\nsource = { path = \"crates/a\" }",
    )]);
    let definition = |file: &str, text: &str| {
        let mut files = files.clone();
        files.insert(file, text.to_owned());
        planned_with(&files, &spec, &["plan", "app", "--format", "llb"])
    };
    let as_it_is = definition("Cargo.toml", root);
    assert_eq!(
        as_it_is,
        definition(
            "crates/other/Cargo.toml",
            &package("other", "[dependencies]\nb = \"1\"\n")
        )
    );
    assert_eq!(
        as_it_is,
        definition("Cargo.toml", &root.replace(", \"crates/other\"", "")),
        "members"
    );
    assert_ne!(
        as_it_is,
        definition("Cargo.toml", &format!("{root}[profile.release]\nlto = true\n"))
    );
    let needs_other = package(
        "b",
        "[target.'cfg(windows)'.dependencies]\nother = { path = \"../other\" }\n",
    );
    assert_ne!(as_it_is, definition("crates/b/Cargo.toml", &needs_other));

    let broken = BTreeMap::from([("crates/a/Cargo.toml", "[package".to_owned())]);
    let output = wheelbase_with(&broken, &spec, &["check"]);
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(
        !output.status.success() && said.contains("crates/a/Cargo.toml:1:"),
        "{said}"
    );
}
