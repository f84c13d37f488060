//! `[matrix]` on the command line: what `wheelbase bake` prints of it, and how mistakes of one combination are told.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::{Value, json};

/// A spec whose toolkit, Python and labels are arguments. `name` is a lock with a wheel for Python 3.11 alone.
const SPEC: &str = r#"# syntax=registry.example/wheelbase:1
name = "kernels"
[args.cuda]
type = "string"
[args.python]
default = "3.11"
[args.revision]
default = "none"
[matrix]
cuda = ["12.8.1", "13.0.2"]
python = ["3.11", "3.12"]
exclude = [{ cuda = "13.0.2", python = "3.11" }]
[gpu]
cuda = "${cuda}"
os = "ubuntu22.04"
[python]
version = "${python}"
provider = { image = "registry.example/python:${python}" }
[images.serve]
tier = "base"
packages = ["pure"]
user = "app"
labels = { revision = "${revision}" }
[images.tool]
tier = "base"
packages = ["pure"]
user = "app"
"#;

const HASH: &str = "1111111111111111111111111111111111111111111111111111111111111111";

/// A lock of packages whose wheels have these tags.
fn lock(packages: &[(&str, &str)]) -> String {
    let packages = packages.iter().map(|(name, tags)| {
        format!(
            "\n[[package]]\nname = \"{name}\"\nversion = \"1.0\"\nsource = {{ registry = \"https://index.example/simple\" }}\n\
             wheels = [{{ url = \"https://files.index.example/{name}-1.0-{tags}.whl\", hash = \"sha256:{HASH}\", size = 1000 }}]\n"
        )
    });
    let head = "version = 1\nrevision = 3\nrequires-python = \">=3.11\"\n".to_owned();
    std::iter::once(head).chain(packages).collect()
}

fn wheelbase(spec: &str, arguments: &[&str]) -> Output {
    let folder = tempfile::tempdir().unwrap();
    let lock = lock(&[
        ("pure", "py3-none-any"),
        ("old", "cp311-cp311-manylinux_2_28_x86_64"),
    ]);
    std::fs::write(folder.path().join("wheelbase.toml"), spec).unwrap();
    std::fs::write(folder.path().join("uv.lock"), lock).unwrap();
    run(folder.path(), arguments)
}

fn run(folder: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_wheelbase"))
        .args(arguments)
        .current_dir(folder)
        .output()
        .unwrap()
}

/// The file that bake prints, which prints nothing else.
fn baked(spec: &str, arguments: &[&str]) -> Value {
    let output = wheelbase(spec, &[&["bake"], arguments].concat());
    assert!(output.status.success(), "{}", said(&output));
    assert_eq!(said(&output), "");
    serde_json::from_slice(&output.stdout).unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// What is said of a spec that is refused.
fn refused(spec: &str, arguments: &[&str]) -> String {
    let output = wheelbase(spec, arguments);
    assert!(!output.status.success());
    assert!(output.stdout.is_empty(), "nothing is printed beside an error");
    said(&output)
}

fn names(file: &Value) -> BTreeSet<&str> {
    file["target"]
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect()
}

fn replaced(from: &str, to: &str) -> String {
    assert_eq!(SPEC.matches(from).count(), 1, "{from}");
    SPEC.replace(from, to)
}

#[test]
fn every_combination_of_every_image_is_a_target() {
    let file = baked(SPEC, &["--tag", "zot.example/{image}:1.2"]);
    let serve = [
        "serve-cuda-12-8-1-python-3-11",
        "serve-cuda-12-8-1-python-3-12",
        "serve-cuda-13-0-2-python-3-12",
    ];
    let tool = serve.map(|name| name.replace("serve", "tool"));
    let all: BTreeSet<&str> = serve.into_iter().chain(tool.iter().map(String::as_str)).collect();
    assert_eq!(names(&file), all);
    assert_eq!(file["group"]["serve"]["targets"], json!(serve));
    assert_eq!(file["group"]["tool"]["targets"], json!(tool));
    assert_eq!(file["group"]["default"]["targets"].as_array().unwrap().len(), 6);
    assert_eq!(
        file["target"]["serve-cuda-13-0-2-python-3-12"],
        json!({
            "context": ".",
            "dockerfile": "wheelbase.toml",
            "target": "serve",
            "args": { "cuda": "13.0.2", "python": "3.12" },
            "tags": ["zot.example/serve:1.2-cuda13.0.2-python3.12"],
            "output": ["type=image,compression=zstd,compression-level=1"],
        })
    );
    let targets = file["target"].as_object().unwrap().values();
    let tags: BTreeSet<String> = targets.map(|target| target["tags"].to_string()).collect();
    assert_eq!(tags.len(), 6, "no tag is another one's");
    for name in names(&file) {
        assert!(
            name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-'),
            "{name}"
        );
    }
}

#[test]
fn the_same_spec_is_the_same_file() {
    let print = || wheelbase(SPEC, &["bake", "--tag", "a/{image}"]).stdout;
    assert_eq!(print(), print());
}

#[test]
fn what_a_build_gives_leaves_what_goes_with_it() {
    let file = baked(
        SPEC,
        &[
            "serve",
            "--build-arg",
            "cuda=12.8.1",
            "--build-arg",
            "revision=abc",
        ],
    );
    assert_eq!(
        names(&file),
        BTreeSet::from(["serve-cuda-12-8-1-python-3-11", "serve-cuda-12-8-1-python-3-12"])
    );
    assert_eq!(
        file["target"]["serve-cuda-12-8-1-python-3-11"]["args"],
        json!({ "cuda": "12.8.1", "python": "3.11", "revision": "abc" })
    );
    let said = refused(SPEC, &["bake", "--build-arg", "cuda=12.8.0"]);
    assert_eq!(
        said,
        "error: `cuda` of [matrix] is never \"12.8.0\"; did you mean \"12.8.1\"?\n"
    );
    let arguments = ["bake", "--build-arg", "cuda=13.0.2", "--build-arg", "python=3.11"];
    let said = refused(SPEC, &arguments);
    assert!(
        said.contains("leaves out what is asked for: cuda = \"13.0.2\", python = \"3.11\""),
        "{said}"
    );
    let said = refused(SPEC, &["bake", "sevre"]);
    assert!(said.contains("did you mean `serve`?"), "{said}");
}

#[test]
fn platforms_are_an_axis_or_a_list() {
    let given = ["--platform", "linux/amd64,linux/arm64"];
    let file = baked(SPEC, &[&["serve"], given.as_slice()].concat());
    assert_eq!(names(&file).len(), 3);
    let target = &file["target"]["serve-cuda-12-8-1-python-3-11"];
    assert_eq!(target["platforms"], json!(["linux/amd64", "linux/arm64"]));

    let axis = replaced(
        "python = [\"3.11\", \"3.12\"]\nexclude = [{ cuda = \"13.0.2\", python = \"3.11\" }]",
        "platform = [\"linux/amd64\", \"linux/arm64\"]",
    );
    let file = baked(&axis, &["serve", "--tag", "zot.example:5000/serve"]);
    assert_eq!(names(&file).len(), 4);
    let target = &file["target"]["serve-cuda-12-8-1-arm64"];
    assert_eq!(target["platforms"], json!(["linux/arm64"]));
    assert_eq!(target["args"], json!({ "cuda": "12.8.1" }));
    assert_eq!(target["tags"], json!(["zot.example:5000/serve:cuda12.8.1-arm64"]));
    let file = baked(&axis, &["serve", "--platform", "linux/arm64"]);
    assert_eq!(
        names(&file),
        BTreeSet::from(["serve-cuda-12-8-1-arm64", "serve-cuda-13-0-2-arm64"])
    );
    let said = refused(&axis, &["bake", "--platform", "linux/arm/v7"]);
    assert!(
        said.contains("`platform` of [matrix] is never \"linux/arm/v7\""),
        "{said}"
    );
}

#[test]
fn a_mistake_of_one_combination_names_it_and_its_line() {
    // The lock has this package for Python 3.11 alone; nothing is wrong with the others.
    let spec = replaced(
        "[images.tool]\ntier = \"base\"\npackages = [\"pure\"]",
        "[images.tool]\ntier = \"base\"\npackages = [\"old\"]",
    );
    let said = refused(&spec, &["bake"]);
    assert_eq!(said.matches("error").count(), 1, "{said}");
    assert!(said.contains("(with python = \"3.12\")"), "{said}");
    assert!(
        said.contains("python = [\"3.11\", \"3.12\"]") && said.contains("with this value"),
        "{said}"
    );
    assert_eq!(refused(&spec, &["check"]), said);
    // An image that has nothing of it can be baked all the same.
    assert_eq!(names(&baked(&spec, &["serve"])).len(), 3);
    assert_eq!(names(&baked(&spec, &["--build-arg", "python=3.11"])).len(), 2);

    // What the spec alone has wrong in one combination.
    let spec = replaced("\"12.8.1\", \"13.0.2\"", "\"12.8.1\", \"13.0.2\", \"12.8\"");
    let said = refused(&spec, &["bake"]);
    assert_eq!(said.matches("error").count(), 1, "{said}");
    assert!(
        said.contains("(with cuda = \"12.8\")") && said.contains("wheelbase.toml:14:8"),
        "{said}"
    );

    // What is wrong in all of them is told once, and of none.
    let spec = replaced(
        "tier = \"base\"\npackages = [\"pure\"]\nuser = \"app\"\nlabels",
        "tier = \"bsae\"\npackages = [\"pure\"]\nuser = \"app\"\nlabels",
    );
    let said = refused(&spec, &["bake"]);
    assert_eq!(said.matches("error").count(), 1, "{said}");
    assert!(!said.contains("(with"), "{said}");
}

#[test]
fn mistakes_of_the_matrix_stand_beside_all_others() {
    let spec = replaced(
        "cuda = [\"12.8.1\", \"13.0.2\"]",
        "cuda = [\"12.8.1\", \"13.0.2\"]\npyhton = [\"3.11\"]",
    );
    let spec = spec.replace(
        "python = [\"3.11\", \"3.12\"]",
        "python = [\"3.11\", \"3.12\", \"3.11\"]",
    );
    let spec = spec.replace("tier = \"base\"", "tier = \"bsae\"");
    for command in ["bake", "check"] {
        let said = refused(&spec, &[command, "--build-arg", "cuda=12.8.1"]);
        for part in [
            "did you mean `python`?",
            "is in `matrix.python` twice",
            "did you mean \"base\"?",
        ] {
            assert!(said.contains(part), "{part}: {said}");
        }
        // `cuda` has no value, and that is no mistake here.
        let said = refused(&spec, &[command]);
        assert!(
            said.contains("is in `matrix.python` twice") && !said.contains("has no value"),
            "{said}"
        );
    }
}

#[test]
fn check_looks_at_every_combination() {
    let output = wheelbase(SPEC, &["check"]);
    assert!(output.status.success(), "{}", said(&output));
    assert_eq!(
        String::from_utf8(output.stdout).unwrap(),
        "wheelbase.toml: 3 variants, no errors\n",
        "without the matrix `cuda` has no value"
    );
    let spec = replaced(
        "[args.cuda]\ntype = \"string\"",
        "[args.cuda]\ndefault = \"12.8.1\"",
    );
    let output = wheelbase(&spec, &["check"]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(
        text.starts_with("wheelbase.toml: 2 images, ") && text.ends_with(" stages, 3 variants, no errors\n"),
        "{text}"
    );
    // A warning of one combination is told with it, and a plan knows nothing of it.
    let spec = spec.replace("\"13.0.2\"", "\"12.8.0\"");
    let output = wheelbase(&spec, &["check"]);
    assert!(output.status.success());
    let warned = said(&output);
    assert!(
        warned.contains("EndOfLifeToolkit") && warned.contains("(with cuda = \"12.8.0\""),
        "{warned}"
    );
    let output = wheelbase(&spec, &["plan"]);
    assert_eq!((output.status.success(), said(&output)), (true, String::new()));
}

#[test]
fn a_tag_may_be_made_of_values() {
    let file = baked(
        SPEC,
        &[
            "serve",
            "--tag",
            "zot.example/serve:1.2-cu{cuda}-py{python}",
            "--tag",
            "zot.example/{variant}/serve",
        ],
    );
    assert_eq!(
        file["target"]["serve-cuda-12-8-1-python-3-11"]["tags"],
        json!([
            "zot.example/serve:1.2-cu12.8.1-py3.11",
            "zot.example/cuda12.8.1-python3.11/serve"
        ])
    );
    let said = refused(SPEC, &["bake", "serve", "--tag", "serve:{python}"]);
    assert!(said.contains("both would be named serve:3.12"), "{said}");
    let said = refused(SPEC, &["bake", "--tag", "serve:1"]);
    assert!(said.contains("write {image} in it"), "{said}");
}

#[test]
fn without_a_matrix_nothing_is_planned_and_targets_are_called_as_images_are() {
    let start = SPEC.find("[matrix]").unwrap();
    let spec = SPEC.replace(&SPEC[start..SPEC.find("[gpu]").unwrap()], "");
    let file = baked(&spec, &["--build-arg", "cuda=12.8.1", "--tag", "a/{image}:1"]);
    assert_eq!(names(&file), BTreeSet::from(["serve", "tool"]));
    assert_eq!(
        file["group"],
        json!({ "default": { "targets": ["serve", "tool"] } })
    );
    assert_eq!(file["target"]["tool"]["tags"], json!(["a/tool:1"]));
}
