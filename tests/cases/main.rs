//! Failures that people who lock and build GPU Python images have had, each as a small lock and what is right.
//!
//! The built binary is asked, as a user asks it. Every lock here is written for its test.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::format_collect,
    reason = "a test fails by panicking"
)]

mod folder;
mod inputs;
mod kernels;

use std::collections::BTreeSet;

use prost::Message as _;
use serde_json::Value;
use wheelbase::proto::pb;

use folder::Folder;
use inputs::{PURE, hash, image, lock, member, package, sized, spec};

/// Images got git, ssh and known hosts because of one package that another member needs.
#[test]
fn a_commit_over_ssh_is_fetched_for_the_image_that_needs_it_alone() {
    let packages = member("serve", "serve", &["idna"])
        + &member("train", "train", &["private"])
        + &package("idna", "3.10", PURE, "")
        + "[[package]]\nname = \"private\"\nversion = \"1.0\"\nsource = { git = \
           \"ssh://git@git.example/private?rev=main#0123456789abcdef0123456789abcdef01234567\" }\n\n";
    let images = "[images.serve]\npackages = [\"serve\"]\n[images.train]\npackages = [\"train\"]\n";
    let folder = Folder::new(&spec(images), &lock(&packages));
    folder.project("serve", "serve").project("train", "train");
    // It has to be built, and what to write for that is said.
    let said = folder.refused(&["check"]);
    let wheel = "[wheels.private]\nsource = { git = \"ssh://git@git.example/private\", \
                 rev = \"0123456789abcdef0123456789abcdef01234567\" }\n";
    assert!(wheel.lines().all(|line| said.contains(line)), "{said}");
    folder.write("wheelbase.toml", &spec(&format!("{wheel}{images}")));
    let commits = |image: &str| -> Vec<pb::SourceOp> {
        let sources = folder.sources(image).into_iter();
        sources
            .filter(|source| source.identifier.starts_with("git://"))
            .collect()
    };
    assert!(commits("serve").is_empty());
    let commits = commits("train");
    assert_eq!(commits.len(), 1);
    assert!(
        commits[0]
            .identifier
            .ends_with("#0123456789abcdef0123456789abcdef01234567")
    );
    assert_eq!(commits[0].attrs["git.mountsshsock"], "default");
}

/// Installing for one member failed unless the folders of all members were there.
#[test]
fn other_members_of_a_workspace_need_not_be_there() {
    let packages = member("api", "api", &["idna"])
        + &member("worker", "libs/worker", &["idna"])
        + &package("idna", "3.10", PURE, "");
    let folder = Folder::new(&image("api"), &lock(&packages));
    folder.project("api", "api");
    let alone = folder.keys("api");
    folder.project("libs/worker", "worker");
    assert_eq!(folder.keys("api"), alone);
}

/// What changes in a lock without changing a byte that is installed reinstalled everything.
#[test]
fn an_edit_that_changes_no_installed_byte_changes_no_key() {
    let packages = member("app", ".", &["idna", "numpy"])
        + &package("idna", "3.10", PURE, "")
        + &package("numpy", "2.0.0", PURE, "");
    let before = lock(&packages);
    let keys = |lock: &str| {
        let folder = Folder::new(&image("app"), lock);
        folder.project(".", "app");
        folder.layers("app")
    };
    let expected = keys(&before);
    let edits = [
        ("version = \"0.1.0\"", "version = \"0.1.1\""),
        ("revision = 3", "revision = 2"),
        (
            "size = 100000",
            "size = 100001, upload-time = \"2026-01-01T00:00:00Z\"",
        ),
        ("files.index.example", "mirror.index.example"),
        (
            "https://index.example/simple",
            "https://mirror.index.example/simple",
        ),
        (
            "\n\n[[package]]",
            "\n\n[options]\nexclude-newer = \"2026-01-01T00:00:00Z\"\n\n[[package]]",
        ),
    ];
    for (from, to) in edits {
        let after = if from.starts_with('\n') {
            before.replacen(from, to, 1)
        } else {
            before.replace(from, to)
        };
        assert_ne!(before, after);
        assert_eq!(keys(&after), expected, "{to}");
    }
    assert_ne!(
        keys(&before.replace(&hash("idna-3.10-py3-none-any.whl"), &hash("other"))),
        expected
    );
}

/// One lock for a repository of many projects: each edit rebuilt all images.
#[test]
fn a_bump_for_one_member_rebuilds_nothing_of_another() {
    let with = |version: &str| {
        let packages = member("api", "api", &["idna"])
            + &member("worker", "worker", &["idna", "celery"])
            + &package("celery", version, PURE, "")
            + &package("idna", "3.10", PURE, "");
        let images = "[images.api]\npackages = [\"api\"]\n[images.worker]\npackages = [\"worker\"]\n";
        let folder = Folder::new(&spec(images), &lock(&packages));
        folder.project("api", "api").project("worker", "worker");
        (folder.keys("api"), folder.layers("worker"))
    };
    let ((api, worker), (bumped_api, bumped_worker)) = (with("5.5.0"), with("5.5.1"));
    assert_eq!(api, bumped_api);
    assert_ne!(worker, bumped_worker);
}

/// torch for CPUs and torch for CUDA, as extras that exclude each other.
fn variants() -> String {
    let torch = |index: &str, version: &str, fork: &str, tags: &str| {
        let file = format!("torch-{version}-{tags}.whl");
        format!(
            "[[package]]\nname = \"torch\"\nversion = \"{version}\"\nsource = {{ registry = \"https://index.example/{index}\" }}\n\
             resolution-markers = [\"{fork}\"]\nwheels = [{{ url = \"https://index.example/{index}/{file}\", \
             hash = \"sha256:{}\" }}]\n\n",
            hash(&file)
        )
    };
    let edge = |index: &str, version: &str, marker: &str| {
        format!(
            "{{ name = \"torch\", version = \"{version}\", source = {{ registry = \"https://index.example/{index}\" }}, \
             marker = \"{marker}\" }}"
        )
    };
    let (on_cpu, on_cuda) = ("extra == 'extra-3-app-cpu'", "extra == 'extra-3-app-cu128'");
    let packages = format!(
        "[[package]]\nname = \"app\"\nversion = \"0.1.0\"\nsource = {{ editable = \".\" }}\n\n\
         [package.optional-dependencies]\ncpu = [{}]\ncu128 = [{}]\n\n\
         [package.metadata]\nprovides-extras = [\"cpu\", \"cu128\"]\n\n{}{}",
        edge("cpu", "2.8.0+cpu", on_cpu),
        edge("cu128", "2.8.0+cu128", on_cuda),
        torch("cpu", "2.8.0+cpu", on_cpu, PURE),
        torch(
            "cu128",
            "2.8.0+cu128",
            on_cuda,
            "cp310-cp310-manylinux_2_28_x86_64"
        ),
    );
    format!(
        "version = 1\nrevision = 3\nrequires-python = \">=3.10\"\nconflicts = [[\n    \
         {{ package = \"app\", extra = \"cpu\" }},\n    {{ package = \"app\", extra = \"cu128\" }},\n]]\n\n{packages}"
    )
}

fn with_extras(extras: &str) -> Folder {
    let spec = spec(&format!(
        "[images.app]\npackages = [\"app\"]\nextras = {extras}\n"
    ));
    let folder = Folder::new(&spec, &variants());
    folder.project(".", "app");
    folder
}

#[test]
fn two_extras_that_exclude_each_other_are_refused_by_name() {
    let said = with_extras("[\"cpu\", \"cu128\"]").refused(&["check"]);
    assert!(said.contains("cpu") && said.contains("cu128"), "{said}");
    assert!(
        said.contains("extras = [\"cpu\", \"cu128\"]") && said.contains('^'),
        "{said}"
    );
}

#[test]
fn an_extra_takes_its_own_variant_of_a_package() {
    for (extra, version) in [("cpu", "2.8.0+cpu"), ("cu128", "2.8.0+cu128")] {
        let folder = with_extras(&format!("[\"{extra}\"]"));
        let plan = String::from_utf8(folder.succeed(&["plan", "app"])).unwrap();
        let taken: BTreeSet<&str> = plan
            .split_whitespace()
            .filter(|word| word.starts_with("2.8.0+"))
            .collect();
        assert_eq!(taken, [version].into(), "{plan}");
    }
}

/// An index for one platform has no wheel for another; the build found out after the compiles.
#[test]
fn a_platform_without_a_wheel_is_refused_before_anything_is_built() {
    let folder = with_extras("[\"cu128\"]");
    let said = folder.refused(&["plan", "app", "--platform", "linux/arm64"]);
    assert!(
        said.contains("`torch==2.8.0+cu128`") && said.contains("manylinux_2_28_x86_64"),
        "{said}"
    );
    assert!(
        said.contains("extras = [\"cu128\"]") || said.contains("packages = [\"app\"]"),
        "{said}"
    );
    with_extras("[\"cpu\"]").succeed(&["plan", "app", "--platform", "linux/arm64"]);
}

#[test]
fn what_has_a_wheel_for_one_platform_is_built_from_source_for_the_other() {
    let source = "sdist = { url = \"https://files.index.example/fast-1.0.tar.gz\", \
                  hash = \"sha256:0000000000000000000000000000000000000000000000000000000000000000\", size = 1 }";
    let packages =
        member("app", ".", &["fast"]) + &package("fast", "1.0", "cp310-cp310-manylinux_2_17_x86_64", source);
    let folder = Folder::new(&image("app"), &lock(&packages));
    folder.project(".", "app");
    let fetched = |platform: &str| -> Vec<String> {
        let bytes = folder.succeed(&["plan", "app", "--platform", platform, "--format", "llb"]);
        let definition = pb::Definition::decode(bytes.as_slice()).unwrap();
        let ops = definition
            .def
            .iter()
            .map(|op| pb::Op::decode(op.as_slice()).unwrap().op);
        ops.filter_map(|op| match op {
            Some(pb::op::Op::Source(source)) if source.identifier.contains("fast-1.0") => {
                Some(source.identifier)
            }
            _ => None,
        })
        .collect()
    };
    let (amd64, arm64) = (fetched("linux/amd64"), fetched("linux/arm64"));
    assert!(amd64.len() == 1 && amd64[0].ends_with("x86_64.whl"), "{amd64:?}");
    assert!(arm64.len() == 1 && arm64[0].ends_with(".tar.gz"), "{arm64:?}");
}

/// One layer of 9 GB, which registries refuse.
#[test]
fn many_packages_of_some_size_share_no_layer_that_is_too_large() {
    let names: Vec<String> = (0..60).map(|number| format!("p{number}")).collect();
    let needs: Vec<&str> = names.iter().map(String::as_str).collect();
    let packages: String = names
        .iter()
        .map(|name| sized(name, "1.0", PURE, 40_000_000, ""))
        .collect();
    let spec = image("app") + "[layers]\nthreshold = \"50MB\"\nmax-size = \"200MB\"\n";
    let folder = Folder::new(&spec, &lock(&(member("app", ".", &needs) + &packages)));
    folder.project(".", "app");
    let plan: Value = serde_json::from_slice(&folder.succeed(&["plan", "app", "--format", "json"])).unwrap();
    let layers: Vec<usize> = plan["stages"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|stage| stage["name"].as_str().unwrap().starts_with("layer packages"))
        .map(|stage| {
            let inputs = stage["inputs"].as_array().unwrap().iter();
            inputs
                .filter(|input| names.iter().any(|name| input["name"] == name.as_str()))
                .count()
        })
        .collect();
    assert_eq!(layers.iter().sum::<usize>(), 60, "{plan:#}");
    assert!(layers.iter().all(|count| *count <= 5), "{layers:?}");
}

/// An image with more than 127 layers is built and pushed, and then cannot be started.
#[test]
fn five_hundred_packages_are_few_layers() {
    let names: Vec<String> = (0..555).map(|number| format!("p{number}")).collect();
    let needs: Vec<&str> = names.iter().map(String::as_str).collect();
    for size in [1_000, 60_000_000, 900_000_000] {
        let packages: String = names
            .iter()
            .map(|name| sized(name, "1.0", PURE, size, ""))
            .collect();
        let folder = Folder::new(&image("app"), &lock(&(member("app", ".", &needs) + &packages)));
        folder.project(".", "app");
        let layers = folder.layers("app");
        let count = layers.keys().filter(|name| name.starts_with("layer ")).count();
        // Those of packages, and that of the project.
        assert!(count <= 41, "{count} layers at {size} bytes each");
    }
}

/// A compiler of several gigabytes was pulled for images in which nothing is compiled.
#[test]
fn no_compiler_is_pulled_when_nothing_is_compiled() {
    let packages = member("app", ".", &["idna"]) + &package("idna", "3.10", PURE, "");
    let folder = Folder::new(&image("app"), &lock(&packages));
    folder.project(".", "app");
    let images = |folder: &Folder| -> String {
        let sources = folder
            .sources("app")
            .into_iter()
            .map(|source| source.identifier + "\n");
        sources
            .filter(|name| name.starts_with("docker-image://"))
            .collect()
    };
    let pulled = images(&folder);
    assert!(
        pulled.contains("-runtime-") && !pulled.contains("-devel-"),
        "{pulled}"
    );
}

/// A user name and a password of an index, in a lock that everybody reads.
#[test]
fn a_password_in_a_lock_is_refused_and_not_repeated() {
    let packages = member("app", ".", &["idna"]) + &package("idna", "3.10", PURE, "");
    let packages = packages.replace(
        "https://files.index.example",
        "https://reader:hunter2@files.index.example",
    );
    let folder = Folder::new(&image("app"), &lock(&packages));
    folder.project(".", "app");
    let said = folder.refused(&["check"]);
    assert!(!said.contains("hunter2"), "{said}");
    assert!(said.contains("uv.lock:"), "{said}");
}
