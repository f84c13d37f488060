//! `explain` and `replay` as a user meets them: on a git history that is made here, and on real ones.
//!
//! The real ones are `history/*.tar.xz` in the corpus.

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
#[path = "replay/evaluated.rs"]
mod evaluated;
#[path = "replay/explained.rs"]
mod explained;
#[path = "replay/history.rs"]
mod history;
#[path = "replay/naive.rs"]
mod naive;
#[path = "support/outside.rs"]
mod outside;

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

    let mut all = arguments.to_vec();
    all[4] = "*";
    let all: Value = serde_json::from_str(&run(nowhere.path(), &all)).unwrap();
    assert_eq!(all["images"]["*"]["subset"]["bytes"], TORCH + IDNA + RICH);

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
