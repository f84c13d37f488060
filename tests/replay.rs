//! `explain` and `replay` as a user meets them: on a git history that is made here, and on real ones.
//!
//! `WHEELBASE_CORPUS` names a folder with `history/*.tar.xz`. Where it is absent the tests that need it say so and
//! pass, except under `CI`.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::format_push_string,
    clippy::format_collect,
    reason = "a test fails by panicking, and says what it compared"
)]

use std::path::Path;
use std::process::{Command, Output};

use serde_json::{Value, json};

#[path = "replay/corpus.rs"]
mod corpus;
#[path = "replay/history.rs"]
mod history;
#[path = "replay/naive.rs"]
mod naive;

use history::{FIRST, IDNA, RICH, Repository, TORCH, Versions};

/// Runs the built binary in a folder; git looks for no repository around the folder for temporary files.
fn wheelbase(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_wheelbase"))
        .args(arguments)
        .current_dir(folder)
        .env("GIT_CEILING_DIRECTORIES", std::env::temp_dir())
        .output()
        .unwrap()
}

fn run(folder: &Path, arguments: &[&str]) -> String {
    let output = wheelbase(folder, arguments);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {said}");
    String::from_utf8(output.stdout).unwrap()
}

/// What is said of a failure.
fn failure(folder: &Path, arguments: &[&str]) -> String {
    let output = wheelbase(folder, arguments);
    assert_eq!(output.status.code(), Some(1), "{arguments:?}");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "", "{arguments:?}");
    String::from_utf8(output.stderr).unwrap()
}

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
      project train: it stands on layer packages 7/8 now
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

/// A history in which every kind of edit happens once.
fn edited() -> (Repository, Versions) {
    let repository = Repository::new();
    let mut versions = FIRST;
    versions.torch = "2.8.1";
    repository.commit_lock("torch, for train alone", &versions.lock());
    versions.comment = "# written anew\n";
    repository.commit_lock("a comment", &versions.lock());
    versions.idna = "3.11";
    repository.commit_lock("idna, for both", &versions.lock());
    versions.train = "0.2.0";
    repository.commit_lock("train's own version", &versions.lock());
    repository.write("README.md", "no edit of the lock");
    repository.commit("a readme");
    repository.commit_lock("<broken> & committed", "<<<<<<< ours\n");
    versions.rich = "14.1.0";
    repository.commit_lock("repaired, with rich for serve", &versions.lock());
    repository.git(&["switch", "--quiet", "--create", "branch"]);
    versions.rich = "15.0.0";
    repository.commit_lock("on a branch", &versions.lock());
    versions.rich = "15.1.0";
    repository.commit_lock("on a branch again", &versions.lock());
    repository.git(&["switch", "--quiet", "main"]);
    repository.git(&["merge", "--quiet", "--no-ff", "--message", "merge", "branch"]);
    (repository, versions)
}

#[test]
fn a_history_is_replayed() {
    let (repository, _) = edited();
    let folder = repository.path();
    let played: Value = serde_json::from_str(&run(folder, &["replay", "--format", "json"])).unwrap();
    assert_eq!(
        (&played["lock"], &played["versions"]),
        (&json!("uv.lock"), &json!(8))
    );
    let (train, serve) = (&played["images"]["train"], &played["images"]["serve"]);
    for image in [train, serve] {
        assert_eq!((&image["versions"], &image["edits"]), (&json!(7), &json!(6)));
        assert_eq!(image["whole_file"]["edits"], 6);
        let unplanned = image["unplanned"].as_array().unwrap();
        assert_eq!(unplanned.len(), 1);
        assert!(
            unplanned[0]["why"].as_str().unwrap().contains(":uv.lock:1:"),
            "{unplanned:?}"
        );
    }
    let changed = |image: &Value| -> Vec<bool> {
        let points = image["points"].as_array().unwrap().iter();
        points.map(|point| point["changed"].as_bool().unwrap()).collect()
    };
    assert_eq!(changed(train), [true, false, true, false, false, false]);
    assert_eq!(changed(serve), [false, false, true, false, true, true]);

    assert_eq!(train["whole_file"]["bytes"], 6 * (TORCH + IDNA));
    assert_eq!(train["subset"]["bytes"], 2 * (TORCH + IDNA));
    assert_eq!(train["layers"]["bytes"], TORCH + IDNA);
    assert_eq!(
        train["points"][0]["changed_layers"],
        json!(["layer torch", "layer kernel"])
    );
    assert_eq!(train["by_layer"]["layer torch"]["changes"], 1);
    assert_eq!(train["by_layer"]["layer torch"]["versions"], 7);
    assert_eq!(train["unknown"], json!(["kernel"]));
    assert_eq!(serve["layers"]["bytes"], IDNA + 2 * RICH);
    assert_eq!(serve["unknown"], json!([]));

    // The newest versions alone.
    let last: Value =
        serde_json::from_str(&run(folder, &["replay", "serve", "-n", "2", "--format", "json"])).unwrap();
    assert_eq!(last["versions"], 2);
    assert_eq!(last["images"]["serve"]["edits"], 1);
    assert!(last["images"].get("train").is_none());
    let said = failure(folder, &["replay", "srve"]);
    assert!(said.contains("did you mean `serve`?"), "{said}");
}

#[test]
fn a_history_is_replayed_without_a_spec() {
    let (repository, _) = edited();
    let folder = repository.path();
    std::fs::remove_file(folder.join("wheelbase.toml")).unwrap();
    let arguments = [
        "replay",
        "--package",
        "train",
        "--package",
        "torch",
        "--format",
        "json",
    ];
    let by_git: Value = serde_json::from_str(&run(folder, &arguments)).unwrap();
    let (train, torch) = (&by_git["images"]["train"], &by_git["images"]["torch"]);
    assert_eq!(
        (&train["subset"]["edits"], &torch["subset"]["edits"]),
        (&json!(2), &json!(1))
    );
    assert_eq!(torch["whole_file"]["bytes"], 6 * TORCH);

    let locks = tempfile::tempdir().unwrap();
    for (number, torch) in ["2.8.0", "2.8.0", "2.9.0"].into_iter().enumerate() {
        let lock = Versions { torch, ..FIRST }.lock();
        std::fs::write(locks.path().join(format!("{number:03}.lock")), lock).unwrap();
    }
    std::fs::write(locks.path().join("000.json"), "{}").unwrap();
    let nowhere = tempfile::tempdir().unwrap();
    let arguments = [
        "replay",
        "--locks",
        locks.path().to_str().unwrap(),
        "--package",
        "train",
        "--format",
        "json",
    ];
    let by_folder: Value = serde_json::from_str(&run(nowhere.path(), &arguments)).unwrap();
    let train = &by_folder["images"]["train"];
    assert_eq!(
        (&train["edits"], &train["whole_file"]["edits"]),
        (&json!(2), &json!(1))
    );
    assert_eq!(train["points"][1]["version"], "002");

    // What a lock cannot answer is said for each version, and is no failure.
    let mut more = arguments.to_vec();
    more.extend(["--extra", "gpu"]);
    let asked: Value = serde_json::from_str(&run(nowhere.path(), &more)).unwrap();
    let unplanned = asked["images"]["train"]["unplanned"].as_array().unwrap();
    assert_eq!(unplanned.len(), 3);
    assert!(unplanned[0]["why"].as_str().unwrap().contains("gpu"));

    let mut wrong = arguments.to_vec();
    wrong[4] = "train[gpu";
    assert!(failure(nowhere.path(), &wrong).contains("no closing bracket"));
    let empty = failure(
        nowhere.path(),
        &[
            "replay",
            "--locks",
            nowhere.path().to_str().unwrap(),
            "--package",
            "a",
        ],
    );
    assert!(empty.contains("has no file `*.lock`"), "{empty}");
    let never = failure(folder, &["replay", "--package", "a", "--lock", "other.lock"]);
    assert!(never.contains("git has no history of other.lock"), "{never}");
}

#[test]
fn a_folder_of_locks_is_replayed_with_a_spec() {
    let (repository, versions) = edited();
    let locks = repository.path().join("locks");
    std::fs::create_dir(&locks).unwrap();
    std::fs::write(locks.join("1.lock"), FIRST.lock()).unwrap();
    std::fs::write(locks.join("2.lock"), versions.lock()).unwrap();
    let text = run(repository.path(), &["replay", "--locks", "locks"]);
    insta::assert_snapshot!(text);
}

#[test]
fn a_history_is_drawn() {
    let (repository, _) = edited();
    let folder = repository.path();
    run(folder, &["replay", "--html", "page.html"]);
    let page = std::fs::read_to_string(folder.join("page.html")).unwrap();
    assert_eq!(page.matches("<svg").count(), 2);
    assert_eq!(page.matches("<polyline").count(), 6);
    assert!(page.contains("prefers-color-scheme: dark"));
    // One file, that asks nobody for anything and runs nothing.
    for outside in ["http:", "https:", "src=", "href=", "url(", "@import", "<script"] {
        assert!(!page.contains(outside), "{outside}");
    }
    assert!(page.contains("a comment") && page.contains("idna, for both"));
    balanced(&page);
    assert!(failure(folder, &["replay", "--html", "no/page.html"]).contains("failed to write no/page.html"));
}

/// Every element is closed in the order in which it was opened.
fn balanced(page: &str) {
    let mut open: Vec<&str> = Vec::new();
    for tag in page
        .split('<')
        .skip(1)
        .map(|rest| rest.split('>').next().unwrap())
    {
        let name = tag
            .trim_start_matches('/')
            .split([' ', '/', '\n'])
            .next()
            .unwrap();
        if tag.starts_with('/') {
            assert_eq!(open.pop(), Some(name), "</{name}>");
        } else if !tag.ends_with('/') && !["!doctype", "meta"].contains(&name) {
            open.push(name);
        }
    }
    assert_eq!(open, Vec::<&str>::new());
}

#[test]
fn a_shallow_clone_is_told() {
    let (repository, _) = edited();
    let clone = tempfile::tempdir().unwrap();
    let (from, to) = (
        format!("file://{}", repository.path().display()),
        clone.path().join("clone"),
    );
    repository.git(&["clone", "--quiet", "--depth", "2", &from, to.to_str().unwrap()]);
    let output = wheelbase(&to, &["replay", "serve"]);
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(
        output.status.success() && said.contains("shallow clone"),
        "{said}"
    );
}
