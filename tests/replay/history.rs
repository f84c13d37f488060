//! A git repository with a spec, and a lock that is edited.

use std::path::Path;
use std::process::Command;

use tempfile::TempDir;

const SPEC: &str = r#"name = "job"

[gpu]
tiers.base = "registry.example/base:1"
tiers.devel = "registry.example/devel:1"

[layers]
threshold = "20MB"
buckets = 8

[python]
version = "3.12"

[wheels.kernel]
source = { path = "kernel" }
needs = ["torch"]
arch = "any"

[images.train]
tier = "base"
packages = ["train"]
wheels = ["kernel"]

[images.serve]
tier = "base"
packages = ["serve"]
"#;

/// Bytes of the three wheels.
pub(crate) const TORCH: u64 = 900_000_000;
pub(crate) const IDNA: u64 = 70_000;
pub(crate) const RICH: u64 = 240_000;

/// Versions of the packages in a lock.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Versions {
    pub(crate) train: &'static str,
    pub(crate) torch: &'static str,
    pub(crate) idna: &'static str,
    pub(crate) rich: &'static str,
    pub(crate) comment: &'static str,
}

pub(crate) const FIRST: Versions = Versions {
    train: "0.1.0",
    torch: "2.8.0",
    idna: "3.10",
    rich: "14.0.0",
    comment: "",
};

impl Versions {
    pub(crate) fn lock(&self) -> String {
        let Self {
            train,
            torch,
            idna,
            rich,
            comment,
        } = self;
        let wheel = |name: &str, version: &str, tag: &str, size: u64| {
            let hash: String = format!("{name}{version}")
                .bytes()
                .cycle()
                .take(32)
                .map(|byte| format!("{byte:02x}"))
                .collect();
            format!(
                "\n[[package]]\nname = \"{name}\"\nversion = \"{version}\"\n\
                 source = {{ registry = \"https://index.example/simple\" }}\nwheels = [\n    \
                 {{ url = \"https://index.example/{name}-{version}-{tag}.whl\", hash = \"sha256:{hash}\", \
                 size = {size} }},\n]\n"
            )
        };
        let mut lock = format!(
            "version = 1\nrevision = 3\nrequires-python = \">=3.12\"\n{comment}\n[manifest]\nmembers = [\n    \
             \"serve\",\n    \"train\",\n]\n"
        );
        lock.push_str(&wheel("idna", idna, "py3-none-any", IDNA));
        lock.push_str(&wheel("rich", rich, "py3-none-any", RICH));
        lock.push_str(
            "\n[[package]]\nname = \"serve\"\nversion = \"0.1.0\"\nsource = { editable = \"serve\" }\n\
             dependencies = [\n    { name = \"idna\" },\n    { name = \"rich\" },\n]\n",
        );
        lock.push_str(&wheel("torch", torch, "cp312-cp312-manylinux_2_28_x86_64", TORCH));
        lock.push_str(&format!(
            "\n[[package]]\nname = \"train\"\nversion = \"{train}\"\nsource = {{ editable = \".\" }}\n\
             dependencies = [\n    {{ name = \"idna\" }},\n    {{ name = \"torch\" }},\n]\n"
        ));
        lock
    }
}

/// A repository in a folder that goes away with it.
pub(crate) struct Repository(TempDir);

impl Repository {
    /// With a spec, the projects and the first lock, committed.
    pub(crate) fn new() -> Self {
        let repository = Self(tempfile::tempdir().unwrap());
        repository.git(&["init", "--quiet", "--initial-branch=main"]);
        repository.write("wheelbase.toml", SPEC);
        for (folder, name) in [("", "train"), ("serve/", "serve")] {
            repository.write(
                &format!("{folder}pyproject.toml"),
                &format!(
                    "[project]\nname = \"{name}\"\nversion = \"0.1.0\"\n\n[build-system]\n\
                     requires = [\"uv_build\"]\nbuild-backend = \"uv_build\"\n"
                ),
            );
        }
        repository.commit_lock("first", &FIRST.lock());
        repository
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    pub(crate) fn write(&self, path: &str, text: &str) {
        let path = self.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    pub(crate) fn edit(&self, path: &str, from: &str, to: &str) {
        let text = std::fs::read_to_string(self.path().join(path)).unwrap();
        assert!(text.contains(from), "{path} has no {from}");
        self.write(path, &text.replace(from, to));
    }

    pub(crate) fn commit_lock(&self, subject: &str, lock: &str) {
        self.write("uv.lock", lock);
        self.commit(subject);
    }

    pub(crate) fn commit(&self, subject: &str) {
        self.git(&["add", "--all"]);
        self.git(&["commit", "--quiet", "--message", subject]);
    }

    /// Runs git as somebody who has no settings.
    pub(crate) fn git(&self, arguments: &[&str]) {
        let output = Command::new("git")
            .arg("-C")
            .arg(self.path())
            .args(arguments)
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_AUTHOR_NAME", "a")
            .env("GIT_AUTHOR_EMAIL", "a@example.invalid")
            .env("GIT_COMMITTER_NAME", "a")
            .env("GIT_COMMITTER_EMAIL", "a@example.invalid")
            .env("GIT_AUTHOR_DATE", "2026-03-02T12:00:00Z")
            .env("GIT_COMMITTER_DATE", "2026-03-02T12:00:00Z")
            .output()
            .unwrap();
        assert!(
            output.status.success(),
            "{arguments:?}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
}
