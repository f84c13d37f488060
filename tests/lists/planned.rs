//! A spec whose lock is a list, planned by the built binary as a user has it.
//!
//! Lists cannot be asked for everything that a graph can, and requirements do not say where their files are: what that
//! comes to for the person who writes the spec is seen here.

use std::collections::BTreeSet;
use std::process::{Command, Output};

use prost::Message as _;
use wheelbase::proto::pb;

const HASHES: [&str; 2] = [
    "1111111111111111111111111111111111111111111111111111111111111111",
    "2222222222222222222222222222222222222222222222222222222222222222",
];

fn spec(lock: &str, packages: &str, more: &str) -> String {
    format!(
        "name = \"x\"\n[gpu]\ncuda = \"12.8.1\"\nos = \"ubuntu22.04\"\n[python]\nversion = \"3.10\"\nlock = \"{lock}\"\n\
         {more}\n[images.a]\npackages = {packages}\n"
    )
}

/// Runs the built binary on a spec and a lock.
fn wheelbase(spec: &str, lock: (&str, &str), arguments: &[&str]) -> Output {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("wheelbase.toml"), spec).unwrap();
    std::fs::write(folder.path().join(lock.0), lock.1).unwrap();
    Command::new(env!("CARGO_BIN_EXE_wheelbase"))
        .args(arguments)
        .current_dir(folder.path())
        .output()
        .unwrap()
}

fn pylock() -> String {
    let entry = |name: &str, marker: &str, hash: &str| {
        format!(
            "[[packages]]\nname = \"{name}\"\nversion = \"1.0\"\n{marker}\n\
             wheels = [{{ url = \"https://files.index.example/{name}-1.0-py3-none-any.whl\", \
             hashes = {{ sha256 = \"{hash}\" }} }}]\n"
        )
    };
    let (one, two) = (HASHES[0], HASHES[1]);
    format!(
        "lock-version = \"1.0\"\ncreated-by = \"hand\"\nextras = [\"gpu\"]\n{}{}",
        entry("red", "", one),
        entry("green", "marker = \"'gpu' in extras\"", two)
    )
}

/// The step that installs from an index.
fn index_step(output: &Output) -> pb::ExecOp {
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    let definition = pb::Definition::decode(output.stdout.as_slice()).unwrap();
    let steps = definition
        .def
        .iter()
        .filter_map(|op| match pb::Op::decode(op.as_slice()).unwrap().op? {
            pb::op::Op::Exec(exec) => Some(exec),
            _ => None,
        });
    let mut steps = steps.filter(|exec| {
        let arguments = &exec.meta.as_ref().unwrap().args;
        arguments.iter().any(|argument| argument.contains("--hash="))
    });
    steps.next().unwrap()
}

#[test]
fn a_pylock_is_planned_like_any_lock() {
    let spec = spec("pylock.toml", "[\"*\"]", "");
    let lock = pylock();
    let lock = ("pylock.toml", lock.as_str());
    let plan = |spec: &str| {
        let output = wheelbase(spec, lock, &["plan"]);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success() && said.is_empty(), "{said}");
        String::from_utf8(output.stdout).unwrap()
    };
    let (few, more) = (plan(&spec), plan(&format!("{spec}extras = [\"gpu\"]\n")));
    assert!(few.contains("red 1.0") && !few.contains("green 1.0"), "{few}");
    assert!(more.contains("red 1.0") && more.contains("green 1.0"), "{more}");
    let wrong = wheelbase(&format!("{spec}extras = [\"gpus\"]\n"), lock, &["plan"]);
    let said = String::from_utf8(wrong.stderr).unwrap();
    assert!(
        said.contains("did you mean `gpu`?") && said.contains("extras = [\"gpus\"]"),
        "{said}"
    );
}

#[test]
fn names_of_a_file_without_dependencies_are_warned_of() {
    let output = wheelbase(
        &spec("pylock.toml", "[\"red\"]", ""),
        ("pylock.toml", &pylock()),
        &["check"],
    );
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{said}");
    assert!(
        said.contains("does not say what its packages need") && said.contains("packages = [\"*\"]"),
        "{said}"
    );
}

#[test]
fn hashed_requirements_are_installed_from_their_indexes_by_all_their_hashes() {
    let [one, two] = HASHES;
    let lines = format!("red==1.0 --hash=sha256:{two} --hash=sha256:{one}\ngreen==1.0 --hash=sha256:{one}\n");
    let spec = spec("requirements.txt", "[\"*\"]", "");
    let plain = wheelbase(
        &spec,
        ("requirements.txt", &lines),
        &["plan", "a", "--format", "llb"],
    );
    let meta = index_step(&plain).meta.unwrap();
    let start = meta.args.iter().position(String::is_empty).unwrap();
    assert!(
        !meta
            .env
            .iter()
            .any(|entry| entry.starts_with("UV_INDEX_STRATEGY="))
    );
    let wanted = [
        format!("green==1.0 --hash=sha256:{one}"),
        format!("red==1.0 --hash=sha256:{one} --hash=sha256:{two}"),
    ];
    let found: BTreeSet<&String> = meta.args[start + 1..].iter().collect();
    // The two may be in different buckets.
    assert!(found.iter().all(|line| wanted.contains(line)), "{found:?}");

    let several =
        format!("-i https://index.example/simple\n--extra-index-url https://index.example/cu\n{lines}");
    let several = wheelbase(
        &spec,
        ("requirements.txt", &several),
        &["plan", "a", "--format", "llb"],
    );
    let meta = index_step(&several).meta.unwrap();
    let start = meta
        .args
        .iter()
        .position(|argument| argument == "https://index.example/simple")
        .unwrap();
    assert_eq!(meta.args[start + 1], "--extra-index-url https://index.example/cu");
    assert!(
        meta.env
            .contains(&"UV_INDEX_STRATEGY=unsafe-best-match".to_owned())
    );

    let files = spec.replace("[images", "fetch = \"file\"\n[images");
    let output = wheelbase(&files, ("requirements.txt", &lines), &["check"]);
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("gives hashes of `red`, and no URL"), "{said}");
}

#[test]
fn a_hash_more_is_another_key() {
    let [one, two] = HASHES;
    let keys = |lines: &str| {
        let spec = spec("requirements.txt", "[\"*\"]", "");
        let output = wheelbase(&spec, ("requirements.txt", lines), &["plan", "--format", "json"]);
        let plan: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        let stages = plan["stages"].as_array().unwrap().clone();
        let layers = stages
            .into_iter()
            .filter(|stage| stage["name"].as_str().unwrap().starts_with("layer "));
        layers
            .map(|stage| stage["key"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    let before = keys(&format!("red==1.0 --hash=sha256:{one} --hash=sha256:{two}\n"));
    assert_eq!(before.len(), 1);
    assert_eq!(
        before,
        keys(&format!(
            "# said\nred==1.0 --hash=sha256:{two} \\\n  --hash=sha256:{one}\n"
        ))
    );
    assert_ne!(before, keys(&format!("red==1.0 --hash=sha256:{one}\n")));
}

#[test]
fn a_lock_that_is_wrong_is_shown_with_its_line() {
    let output = wheelbase(
        &spec("requirements.txt", "[\"*\"]", ""),
        ("requirements.txt", "red>=1.0\n"),
        &["check"],
    );
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(
        said.contains("requirements.txt:1:4") && said.contains("^^^^^"),
        "{said}"
    );
    let output = wheelbase(
        &spec("poetry.lock", "[\"*\"]", ""),
        ("poetry.lock", ""),
        &["check"],
    );
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(
        !output.status.success() && said.contains("poetry export"),
        "{said}"
    );
}
