//! The examples as a user meets them on the command line, and the operations that they become.
//!
//! `golden` holds the digest of every operation of every example image. A change there rebuilds layers of every user
//! once: it is a key break, and stands in CHANGELOG.md.

#![allow(
    clippy::unwrap_used,
    clippy::format_collect,
    reason = "a test fails by panicking"
)]

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use prost::Message as _;
use sha2::{Digest as _, Sha256};
use wheelbase::proto::pb;

const EXAMPLES: [(&str, &[&str]); 4] = [
    ("quickstart", &["serve", "train"]),
    ("torch-flash-attn", &["serve", "train"]),
    ("explicit-tiers", &["tally"]),
    ("rocm", &["serve"]),
];

fn example(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("examples").join(name)
}

/// Runs the built binary in an example's folder.
fn wheelbase(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_wheelbase"))
        .args(arguments)
        .current_dir(folder)
        .output()
        .unwrap()
}

fn printed(folder: &Path, arguments: &[&str]) -> Vec<u8> {
    let output = wheelbase(folder, arguments);
    assert!(
        output.status.success(),
        "{arguments:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    output.stdout
}

fn text(folder: &Path, arguments: &[&str]) -> String {
    String::from_utf8(printed(folder, arguments)).unwrap()
}

#[test]
fn every_example_is_without_mistakes() {
    for (name, images) in EXAMPLES {
        let output = wheelbase(&example(name), &["check"]);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{name}: {said}");
        assert!(said.is_empty(), "{name} has warnings: {said}");
        let summary = String::from_utf8(output.stdout).unwrap();
        assert!(
            summary.contains(&format!("{} image", images.len())),
            "{name}: {summary}"
        );
    }
}

#[test]
fn plans() {
    for (name, _) in EXAMPLES {
        insta::assert_snapshot!(format!("plan_{name}"), text(&example(name), &["plan"]));
    }
}

#[test]
fn plans_for_programs_are_json() {
    let json = printed(&example("quickstart"), &["plan", "serve", "--format", "json"]);
    let plan: serde_json::Value = serde_json::from_slice(&json).unwrap();
    let names: Vec<&str> = plan["stages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|stage| stage["name"].as_str().unwrap())
        .collect();
    assert!(names.contains(&"wheel rowmax"), "{names:?}");
    assert!(!names.contains(&"wheel vecadd"), "serve has no vecadd: {names:?}");
    let layers = plan["images"]["serve"]["layers"].as_array().unwrap();
    assert!(
        layers
            .iter()
            .all(|layer| names.contains(&layer.as_str().unwrap()))
    );
    let compile =
        &plan["stages"].as_array().unwrap()[names.iter().position(|name| *name == "wheel rowmax").unwrap()];
    assert!(
        compile["inputs"]
            .as_array()
            .unwrap()
            .iter()
            .all(|input| input["name"] != "jobs"),
        "{compile}"
    );
}

#[test]
fn pictures() {
    let folder = example("quickstart");
    let mermaid = text(&folder, &["graph", "serve"]);
    assert!(mermaid.starts_with("flowchart LR\n"));
    insta::assert_snapshot!("mermaid_quickstart_serve", mermaid);
    let dot = text(&folder, &["graph", "serve", "--format", "dot"]);
    assert!(dot.starts_with("digraph wheelbase {") && dot.ends_with("}\n"));
    assert_eq!(mermaid.matches(" --> ").count(), dot.matches(" -> ").count());
}

/// Name and digest of every operation of an image.
fn operations(name: &str, image: &str) -> String {
    let bytes = printed(&example(name), &["plan", image, "--format", "llb"]);
    let definition = pb::Definition::decode(bytes.as_slice()).unwrap();
    let mut lines: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for op in &definition.def {
        let digest = Sha256::digest(op)
            .iter()
            .fold("sha256:".to_owned(), |mut text, byte| {
                let _ = write!(text, "{byte:02x}");
                text
            });
        let Some(metadata) = definition.metadata.get(&digest) else {
            continue;
        };
        let Some(name) = metadata.description.get("llb.customname") else {
            continue;
        };
        lines
            .entry(name.clone())
            .or_default()
            .push(digest[7..23].to_owned());
    }
    lines
        .into_iter()
        .map(|(name, digests)| format!("{} {name}\n", digests.join(" ")))
        .collect()
}

#[test]
fn golden() {
    for (name, images) in EXAMPLES {
        for image in images {
            insta::assert_snapshot!(format!("golden_{name}_{image}"), operations(name, image));
        }
    }
}

#[test]
fn every_operation_has_a_line_of_the_spec_and_a_name_that_fits() {
    for (name, images) in EXAMPLES {
        for image in images {
            let bytes = printed(&example(name), &["plan", image, "--format", "llb"]);
            let definition = pb::Definition::decode(bytes.as_slice()).unwrap();
            let locations = definition.source.unwrap().locations;
            // The last entry only names the result.
            for op in &definition.def[..definition.def.len() - 1] {
                let digest = Sha256::digest(op)
                    .iter()
                    .fold("sha256:".to_owned(), |mut text, byte| {
                        let _ = write!(text, "{byte:02x}");
                        text
                    });
                let name = &definition.metadata[&digest].description["llb.customname"];
                assert!(locations.contains_key(&digest), "{name} has no line");
                // With ` => ` before it and a time behind it, on 80 columns.
                assert!(name.chars().count() <= 70, "{name} is too long");
            }
        }
    }
}

#[test]
fn the_same_spec_gives_the_same_bytes() {
    let folder = example("quickstart");
    let arguments = ["plan", "train", "--format", "llb"];
    assert_eq!(printed(&folder, &arguments), printed(&folder, &arguments));
}

#[test]
fn the_order_of_tables_gives_the_same_operations() {
    let folder = example("quickstart");
    let spec = std::fs::read_to_string(folder.join("wheelbase.toml")).unwrap();
    // Tables as blocks of lines, turned round; what stands before the first table stays there.
    let mut blocks: Vec<Vec<&str>> = vec![Vec::new()];
    for line in spec.lines() {
        if line.starts_with('[') {
            blocks.push(Vec::new());
        }
        blocks.last_mut().unwrap().push(line);
    }
    blocks[1..].reverse();
    let turned = blocks.concat().join("\n") + "\n";
    assert_ne!(turned, spec);
    let copy = tempfile::tempdir().unwrap();
    for file in ["uv.lock", "train/pyproject.toml", "serve/pyproject.toml"] {
        std::fs::create_dir_all(copy.path().join(file).parent().unwrap()).unwrap();
        std::fs::copy(folder.join(file), copy.path().join(file)).unwrap();
    }
    std::fs::write(copy.path().join("wheelbase.toml"), turned).unwrap();
    let arguments = ["plan", "serve", "--format", "llb"];
    let decode = |bytes: Vec<u8>| pb::Definition::decode(bytes.as_slice()).unwrap();
    let (before, after) = (
        decode(printed(&folder, &arguments)),
        decode(printed(copy.path(), &arguments)),
    );
    assert_eq!(before.def, after.def);
    assert_eq!(before.metadata, after.metadata);
}

/// Keys of an image's stages by name, for a quickstart with edited files.
fn keys(image: &str, edits: &[(&str, &str, &str)]) -> BTreeMap<String, String> {
    keys_with(image, edits, &[])
}

/// The keys of a build with further arguments of the command line.
fn keys_with(image: &str, edits: &[(&str, &str, &str)], arguments: &[&str]) -> BTreeMap<String, String> {
    let folder = example("quickstart");
    let copy = tempfile::tempdir().unwrap();
    for file in [
        "wheelbase.toml",
        "uv.lock",
        "train/pyproject.toml",
        "serve/pyproject.toml",
    ] {
        let mut text = std::fs::read_to_string(folder.join(file)).unwrap();
        for (_, from, to) in edits.iter().filter(|(edited, ..)| *edited == file) {
            assert!(text.contains(from), "{file} has no {from}");
            text = text.replace(from, to);
        }
        std::fs::create_dir_all(copy.path().join(file).parent().unwrap()).unwrap();
        std::fs::write(copy.path().join(file), text).unwrap();
    }
    let command = [&["plan", image, "--format", "json"], arguments].concat();
    let json = printed(copy.path(), &command);
    let plan: serde_json::Value = serde_json::from_slice(&json).unwrap();
    let stages = plan["stages"].as_array().unwrap().iter();
    let text = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
    stages
        .map(|stage| (text(&stage["name"]), text(&stage["key"])))
        .collect()
}

fn changed(image: &str, edits: &[(&str, &str, &str)]) -> Vec<String> {
    let (before, after) = (keys(image, &[]), keys(image, edits));
    assert_eq!(
        before.keys().collect::<Vec<_>>(),
        after.keys().collect::<Vec<_>>()
    );
    before
        .into_iter()
        .filter(|(name, key)| after[name] != *key)
        .map(|(name, _)| name)
        .collect()
}

#[test]
fn what_must_not_rebuild_anything_is_in_no_key() {
    let nothing: [String; 0] = [];
    let spec = "wheelbase.toml";
    assert_eq!(
        changed("serve", &[("uv.lock", "2025.1.31", "2025.1.30")]),
        nothing,
        "a package it does not use"
    );
    assert_eq!(
        changed(
            "serve",
            &[(
                spec,
                "needs  = [\"setuptools\"]",
                "needs = [\"setuptools\"]\njobs = 2"
            )]
        ),
        nothing
    );
    let pace = "[build]\nslots = 2\n\n[images.train]";
    assert_eq!(
        changed("serve", &[(spec, "[images.train]", pace)]),
        nothing,
        "slots"
    );
    assert_eq!(
        changed(
            "serve",
            &[(
                spec,
                "needs  = [\"setuptools\"]",
                "needs = [\"setuptools\"]\njob-memory = \"2GB\""
            )]
        ),
        nothing
    );
    let cache = "[compiler-cache]\nscope = \"other\"\nmax-size = \"1G\"\n\n[images.train]";
    assert_eq!(
        changed("serve", &[(spec, "[images.train]", cache)]),
        nothing,
        "scope and size of the cache"
    );
    assert_eq!(
        changed(
            "serve",
            &[(
                "uv.lock",
                "http://127.0.0.1:5080/files",
                "http://127.0.0.1:6080/other"
            )]
        ),
        nothing
    );
    assert_eq!(
        changed(
            "serve",
            &[(
                "uv.lock",
                "name = \"serve\"\nversion = \"0.1.0\"",
                "name = \"serve\"\nversion = \"0.2.0\""
            )]
        ),
        nothing,
        "the project's own version is in the files that are built, not in the lock's subset"
    );
}

#[test]
fn a_store_is_in_keys_as_a_network_and_no_more() {
    let keys = |cache: &str| {
        let cache = format!("[compiler-cache]\ntool = \"sccache\"\n{cache}\n[images.train]");
        keys("serve", &[("wheelbase.toml", "[images.train]", &cache)])
    };
    let store = keys("store = \"webdav\"");
    assert_eq!(store, keys("store = \"s3\"\nrequire = true\nscope = \"other\""));
    let mount = keys("");
    let other: Vec<&String> = store
        .keys()
        .filter(|stage| store[*stage] != mount[*stage])
        .collect();
    assert_eq!(
        other,
        [
            "layer markupsafe",
            "layer rowmax",
            "libraries of wheel markupsafe",
            "libraries of wheel rowmax",
            "wheel markupsafe",
            "wheel rowmax"
        ]
    );
}

#[test]
fn what_matters_is_in_exactly_the_keys_that_it_matters_to() {
    let spec = "wheelbase.toml";
    let layer = changed(
        "serve",
        &[("uv.lock", "version = \"3.10\"", "version = \"3.11\"")],
    );
    assert_eq!(layer.len(), 1, "{layer:?}");
    assert!(layer[0].starts_with("layer packages"), "{layer:?}");
    let archs = changed("serve", &[(spec, "[\"8.0\", \"9.0\"]", "[\"9.0\"]")]);
    assert_eq!(
        archs,
        ["layer rowmax", "libraries of wheel rowmax", "wheel rowmax"]
    );
}

#[test]
fn an_argument_is_in_the_keys_of_what_it_stands_in_alone() {
    let edits = [
        (
            "wheelbase.toml",
            "[wheels.rowmax]\n",
            "[args.LEVEL]\ndefault = \"2\"\n[args.TITLE]\ndefault = \"quickstart serve\"\n[wheels.rowmax]\n\
             env = { LEVEL = \"${LEVEL}\" }\n",
        ),
        ("wheelbase.toml", "\"quickstart serve\" }", "\"${TITLE}\" }"),
    ];
    let changed = |argument: &str| -> Vec<String> {
        let before = keys_with("serve", &edits, &[]);
        let after = keys_with("serve", &edits, &["--build-arg", argument]);
        let differ = before.into_iter().filter(|(name, key)| after[name] != *key);
        differ.map(|(name, _)| name).collect()
    };
    assert_eq!(changed("LEVEL=2"), [""; 0]);
    assert_eq!(changed("TITLE=other"), [""; 0], "the config is no step");
    let level = changed("LEVEL=3");
    assert_eq!(level, changed_by_env(), "as if the value stood there");
    assert!(level.contains(&"wheel rowmax".to_owned()) && !level.contains(&"wheel markupsafe".to_owned()));
}

/// What another value in the environment of a wheel changes.
fn changed_by_env() -> Vec<String> {
    let env = |level: &str| format!("[wheels.rowmax]\nenv = {{ LEVEL = \"{level}\" }}\n");
    let of = |level: &str| keys("serve", &[("wheelbase.toml", "[wheels.rowmax]\n", &env(level))]);
    let after = of("3");
    let differ = of("2").into_iter().filter(|(name, key)| after[name] != *key);
    differ.map(|(name, _)| name).collect()
}

#[test]
fn mistakes_are_shown_with_their_place() {
    let folder = tempfile::tempdir().unwrap();
    let spec = "name = \"x\"\ndefualt = 1\n[gpu]\ntiers.base = \"a/b:1\"\n[python]\nversion = \"3.12\"\n\
                [images.a]\ntier = \"base\"\npackages = [\"torhc\"]\n";
    std::fs::write(folder.path().join("wheelbase.toml"), spec).unwrap();
    let output = wheelbase(folder.path(), &["check"]);
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("wheelbase.toml:2:1"), "{said}");
    assert!(said.contains("did you mean"), "{said}");

    std::fs::write(
        folder.path().join("wheelbase.toml"),
        spec.replace("defualt = 1\n", ""),
    )
    .unwrap();
    let output = wheelbase(folder.path(), &["check"]);
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("the lockfile `uv.lock` does not exist"), "{said}");

    std::fs::write(
        folder.path().join("uv.lock"),
        "version = 1\nrevision = 3\nrequires-python = \">=3.12\"\n\n[[package]]\nname = \"torch\"\nversion = \"2.8.0\"\n\
         source = { registry = \"https://index.example/simple\" }\nwheels = [{ url = \
         \"https://index.example/torch-2.8.0-cp312-cp312-manylinux_2_28_x86_64.whl\", hash = \
         \"sha256:0000000000000000000000000000000000000000000000000000000000000000\", size = 900000000 }]\n",
    )
    .unwrap();
    let output = wheelbase(folder.path(), &["check"]);
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(
        said.contains("`torhc` is not in uv.lock") && said.contains("did you mean `torch`?"),
        "{said}"
    );
}

#[test]
fn schema_and_completions() {
    let here = Path::new(".");
    let schema: serde_json::Value = serde_json::from_slice(&printed(here, &["schema"])).unwrap();
    assert!(schema["properties"]["images"].is_object());
    for shell in ["bash", "zsh", "fish"] {
        assert!(
            text(here, &["completions", shell]).contains("wheelbase"),
            "{shell}"
        );
    }
}

#[test]
fn build_prints_what_it_would_run() {
    let line = text(
        &example("quickstart"),
        &["build", "serve", "-t", "app:1", "--push", "--print"],
    );
    assert_eq!(
        line,
        "docker buildx build --file wheelbase.toml --target serve --tag app:1 --output \
         type=image,compression=zstd,compression-level=1,push=true .\n"
    );
}
