//! `explain`: against git revisions, and against what built images carry.

use std::path::Path;

use serde_json::{Value, json};

use super::history::{FIRST, Repository, Versions};
use super::{failure, run, wheelbase};

#[test]
fn a_bump_is_explained_against_a_revision() {
    let repository = Repository::new();
    let folder = repository.path();
    assert_eq!(
        run(folder, &["explain", "--since", "HEAD"]),
        "image serve: nothing changes\n\nimage train: nothing changes\n"
    );
    let bumped = Versions {
        torch: "2.8.1",
        train: "0.2.0",
        ..FIRST
    };
    repository.write("uv.lock", &bumped.lock());
    insta::assert_snapshot!(run(folder, &["explain", "--since", "main"]), @r"
    image serve: nothing changes

    image train: 3 of 12 stages change
      layer torch: torch 2.8.0 -> 2.8.1, needed by train > torch
      wheel kernel: because of layer torch
      layer kernel: because of layer torch, through wheel kernel
    ");
    repository.commit("bump");
    insta::assert_snapshot!(run(folder, &["explain", "train", "--since", "HEAD"]), @"image train: nothing changes");
    let json: Value = serde_json::from_str(&run(
        folder,
        &["explain", "--since", "HEAD~1", "--format", "json"],
    ))
    .unwrap();
    assert_eq!(
        json["images"][1]["changes"][1],
        json!({
            "stage": "wheel kernel",
            "kind": "changed",
            "causes": [],
            "because_of": [{ "stage": "layer torch", "through": [] }],
        })
    );
    assert_eq!(
        json["images"][1]["changes"][0]["causes"][0]["because"],
        "train > torch"
    );
}

#[test]
fn the_spec_and_the_projects_are_those_of_the_revision_too() {
    let repository = Repository::new();
    let folder = repository.path();
    repository.edit(
        "wheelbase.toml",
        "registry.example/devel:1",
        "registry.example/devel:2",
    );
    repository.edit("wheelbase.toml", "[images.serve]", "[images.web]");
    repository.edit(
        "wheelbase.toml",
        "wheels = [\"kernel\"]",
        "wheels = [\"kernel\"]\nworkdir = \"/srv\"",
    );
    repository.edit(
        "pyproject.toml",
        "requires = [\"uv_build\"]\nbuild-backend = \"uv_build\"",
        "requires = [\"idna\"]\nbuild-backend = \"idna\"",
    );
    insta::assert_snapshot!(run(folder, &["explain", "--since", "HEAD"]), @r"
    image train: 6 of 12 stages change
      tier devel: registry.example/devel:1 -> registry.example/devel:2
      system devel: because of tier devel
      wheel kernel: because of tier devel, through system devel
      layer kernel: because of tier devel, through system devel, wheel kernel
      project train: it stands on layer packages 2/8 now
      layer train: because of project train
      image config: WorkingDir

    image web: new

    image serve: gone
    ");
    insta::assert_snapshot!(run(folder, &["explain", "serve", "--since", "HEAD"]), @"image serve: gone");
}

#[test]
fn from_another_folder() {
    let repository = Repository::new();
    let bumped = Versions {
        idna: "3.11",
        ..FIRST
    };
    repository.write("uv.lock", &bumped.lock());
    let spec = repository.path().join("wheelbase.toml");
    let elsewhere = tempfile::tempdir().unwrap();
    let said = run(
        elsewhere.path(),
        &[
            "explain",
            "serve",
            "--since",
            "HEAD",
            "--file",
            spec.to_str().unwrap(),
        ],
    );
    assert!(said.contains("idna 3.10 -> 3.11"), "{said}");

    // A spec in a folder of its own, with the repository as its context.
    repository.write("build/wheelbase.toml", &std::fs::read_to_string(&spec).unwrap());
    repository.commit("move");
    repository.write("uv.lock", &FIRST.lock());
    let said = run(
        &repository.path().join("build"),
        &["explain", "serve", "--since", "HEAD", "--context", ".."],
    );
    assert!(said.contains("idna 3.11 -> 3.10"), "{said}");
}

#[test]
fn what_git_cannot_give_is_said() {
    let repository = Repository::new();
    let folder = repository.path();
    for revision in ["nope", "--help", ""] {
        let since = format!("--since={revision}");
        let said = failure(folder, &["explain", &since]);
        assert!(
            said.contains(&format!("git knows no revision `{revision}`")),
            "{said}"
        );
    }
    let said = failure(folder, &["explain", "srve", "--since", "HEAD"]);
    assert!(said.contains("did you mean `serve`?"), "{said}");

    repository.git(&["rm", "--quiet", "--cached", "wheelbase.toml"]);
    repository.git(&["commit", "--quiet", "--message", "gone"]);
    let said = failure(folder, &["explain", "--since", "HEAD"]);
    assert!(said.contains("HEAD has no wheelbase.toml"), "{said}");

    repository.commit_lock("broken", "version = \n");
    repository.write("uv.lock", &FIRST.lock());
    let said = failure(folder, &["explain", "--since", "HEAD"]);
    assert!(said.contains("HEAD:uv.lock:1:"), "{said}");

    let outside = tempfile::tempdir().unwrap();
    for file in ["wheelbase.toml", "uv.lock"] {
        std::fs::copy(folder.join(file), outside.path().join(file)).unwrap();
    }
    for arguments in [&["explain", "--since", "HEAD"][..], &["replay"]] {
        let said = failure(outside.path(), arguments);
        assert!(said.contains("is in no git repository"), "{said}");
    }
    let context = folder.to_str().unwrap();
    let other = Repository::new();
    let said = failure(
        other.path(),
        &["explain", "--since", "HEAD", "--context", context],
    );
    assert!(
        said.contains("is in the repository") && said.contains("and the spec in"),
        "{said}"
    );
}

/// The config of an image as a build makes it.
fn config(folder: &Path, image: &str) -> Value {
    let plan = run(folder, &["plan", image, "--format", "json"]);
    let plan: Value = serde_json::from_str(&plan).unwrap();
    plan["images"][image]["config"].clone()
}

#[test]
fn a_bump_is_explained_against_a_built_image() {
    let repository = Repository::new();
    let folder = repository.path();
    let config = config(folder, "train");
    let label = config["config"]["Labels"]["dev.wheelbase.plan"].clone();
    let compact: Value = serde_json::from_str(label.as_str().unwrap()).unwrap();
    assert!(!label.as_str().unwrap().contains("train > torch"), "{label}");
    let bumped = Versions {
        torch: "2.8.1",
        ..FIRST
    };
    repository.write("uv.lock", &bumped.lock());
    let expected = run(folder, &["explain", "train", "--since", "HEAD"]);
    assert!(expected.contains("torch 2.8.0 -> 2.8.1, needed by train > torch"));
    for document in [
        compact.clone(),
        config.clone(),
        json!([{ "Id": "sha256:00", "Config": config["config"] }]),
        json!({ "frontend.dev.wheelbase.plan": compact }),
        json!({ "frontend.dev.wheelbase.plan/linux/amd64": label }),
    ] {
        repository.write("previous.json", &document.to_string());
        assert_eq!(
            run(folder, &["explain", "--previous", "previous.json"]),
            expected,
            "{document}"
        );
        assert_eq!(
            run(folder, &["explain", "train", "--previous", "previous.json"]),
            expected
        );
    }

    // A build has asked a registry for digests; here they are not known. All keys differ then.
    repository.write("previous.json", &resolved(&compact).to_string());
    let said = run(folder, &["explain", "--previous", "previous.json"]);
    insta::assert_snapshot!(said, @r"
    image train: 3 of 12 stages change
      layer torch: torch 2.8.0 -> 2.8.1, needed by train > torch
      wheel kernel: because of layer torch
      layer kernel: because of layer torch, through wheel kernel
      taken as unchanged, since one of the plans knows no digest: tier base, uv, tier devel
    ");
}

/// A compact plan as it would be if a registry had given a digest for every image.
fn resolved(compact: &Value) -> Value {
    let mut plan = compact.clone();
    let mut keys: Vec<(String, String)> = Vec::new();
    for (number, stage) in plan["stages"].as_array_mut().unwrap().iter_mut().enumerate() {
        let mut differs = false;
        for input in stage["inputs"].as_array_mut().unwrap() {
            let value = input[1].as_str().unwrap();
            if value.starts_with("unresolved ") {
                input[1] = json!(format!("{number:016x}"));
                differs = true;
            } else if let Some((_, new)) = keys.iter().find(|(old, _)| value.starts_with(old)) {
                input[1] = json!(format!("{new}0000"));
                differs = true;
            }
        }
        if differs {
            let new = format!("f{number:011x}");
            keys.push((stage["key"].as_str().unwrap().to_owned(), new.clone()));
            stage["key"] = json!(new);
        }
    }
    assert!(keys.len() > 8, "{keys:?}");
    plan
}

#[test]
fn a_previous_plan_that_does_not_serve_is_refused() {
    let repository = Repository::new();
    let folder = repository.path();
    let config = config(folder, "train");
    let label = config["config"]["Labels"]["dev.wheelbase.plan"].clone();
    let compact: Value = serde_json::from_str(label.as_str().unwrap()).unwrap();
    let with = |key: &str, value: Value| {
        let mut plan = compact.clone();
        plan[key] = value;
        plan
    };
    for (document, expected) in [
        ("{".to_owned(), "is not JSON"),
        (json!({ "config": {} }).to_string(), "there is no plan in it"),
        (with("version", json!(99)).to_string(), "format 99"),
        (
            with("platform", json!("linux/arm64")).to_string(),
            "say --platform linux/arm64",
        ),
        (
            with("stages", json!([{}])).to_string(),
            "`stages[0].inputs` is not a list",
        ),
        (
            json!({ "a": { "dev.wheelbase.plan": compact },
                    "b": { "dev.wheelbase.plan": with("config", json!({})) } })
            .to_string(),
            "2 plans of the image `train`",
        ),
    ] {
        repository.write("previous.json", &document);
        let said = failure(folder, &["explain", "--previous", "previous.json"]);
        assert!(said.contains(expected), "{said}");
    }
    let said = failure(folder, &["explain", "--previous", "missing.json"]);
    assert!(said.contains("failed to read missing.json"), "{said}");
    repository.write("previous.json", &with("image", json!("old")).to_string());
    assert_eq!(
        run(folder, &["explain", "--previous", "previous.json"]),
        "image old: gone\n"
    );
    // An image that has another name now is compared by naming it.
    assert_eq!(
        run(folder, &["explain", "train", "--previous", "previous.json"]),
        "image train: nothing changes\n"
    );
    let said = failure(
        folder,
        &["explain", "train", "serve", "--previous", "previous.json"],
    );
    assert!(said.contains("has no plan of the image `train`"), "{said}");
}

#[test]
fn one_of_the_two_is_asked_for() {
    let repository = Repository::new();
    for arguments in [
        &["explain"][..],
        &["explain", "--since", "HEAD", "--previous", "x"],
        &["replay", "--extra", "train"],
    ] {
        let output = wheelbase(repository.path(), arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
    }
}

#[test]
fn a_list_of_requirements_is_explained_too() {
    let repository = Repository::new();
    let folder = repository.path();
    let hashes = |first: &str| {
        ["ab", "cd"]
            .map(|byte| format!(" --hash=sha256:{first}{}", byte.repeat(31)))
            .concat()
    };
    repository.edit(
        "wheelbase.toml",
        "version = \"3.12\"",
        "version = \"3.12\"\nlock = \"requirements.txt\"",
    );
    repository.edit("wheelbase.toml", "packages = [\"serve\"]", "packages = [\"*\"]");
    repository.write("requirements.txt", &format!("idna==3.10{}\n", hashes("01")));
    repository.commit("requirements");
    repository.write("requirements.txt", &format!("idna==3.11{}\n", hashes("02")));
    let explain = ["explain", "serve", "--since", "HEAD"];
    insta::assert_snapshot!(run(folder, &explain), @r"
    image serve: 1 of 5 stages change
      layer packages 2/8: idna 3.10 -> 3.11
    ");
    repository.write("requirements.txt", &format!("idna==3.10{}\n", hashes("02")));
    insta::assert_snapshot!(run(folder, &explain), @r"
    image serve: 1 of 5 stages change
      layer packages 2/8: idna 3.10: other files of the same version
    ");
}
