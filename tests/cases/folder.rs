//! A build context on disk, and what the built binary says of it.
//!
//! A case asks nothing but what a user could ask: `check`, and `plan` in words, as JSON or as LLB.

use std::collections::BTreeMap;
use std::process::{Command, Output};

use prost::Message as _;
use serde_json::Value;
use wheelbase::proto::pb;

/// A build context.
pub(crate) struct Folder(tempfile::TempDir);

impl Folder {
    /// A context with a spec and a `uv.lock`.
    pub(crate) fn new(spec: &str, lock: &str) -> Self {
        let folder = Self(tempfile::tempdir().unwrap());
        folder.write("wheelbase.toml", spec);
        folder.write("uv.lock", lock);
        folder
    }

    /// Writes a file; with the name of a folder before it, that of a project in it.
    pub(crate) fn write(&self, path: &str, text: &str) -> &Self {
        let path = self.0.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
        self
    }

    /// Edits the spec, which has to have what is replaced.
    pub(crate) fn spec(&self, from: &str, to: &str) -> &Self {
        let text = std::fs::read_to_string(self.0.path().join("wheelbase.toml")).unwrap();
        assert!(text.contains(from), "{from}");
        self.write("wheelbase.toml", &text.replace(from, to))
    }

    /// Writes a project that builds with `uv_build`.
    pub(crate) fn project(&self, folder: &str, name: &str) -> &Self {
        self.write(
            &format!("{folder}/pyproject.toml"),
            &format!(
                "[project]\nname = \"{name}\"\nversion = \"0.1.0\"\n[build-system]\nrequires = [\"uv_build\"]\n\
                 build-backend = \"uv_build\"\n"
            ),
        )
    }

    fn run(&self, arguments: &[&str]) -> Output {
        Command::new(env!("CARGO_BIN_EXE_wheelbase"))
            .args(arguments)
            .current_dir(self.0.path())
            .output()
            .unwrap()
    }

    /// What is written to standard output by a command that has to succeed.
    pub(crate) fn succeed(&self, arguments: &[&str]) -> Vec<u8> {
        let output = self.run(arguments);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{said}");
        output.stdout
    }

    /// What is written to standard error by a command that has to fail.
    pub(crate) fn refused(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        assert!(
            !output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stdout)
        );
        String::from_utf8(output.stderr).unwrap()
    }

    /// Keys of the stages of an image by name.
    pub(crate) fn keys(&self, image: &str) -> BTreeMap<String, String> {
        let plan = self.succeed(&["plan", image, "--format", "json"]);
        let plan: Value = serde_json::from_slice(&plan).unwrap();
        let stages = plan["stages"].as_array().unwrap().iter();
        let text = |stage: &Value, key: &str| stage[key].as_str().unwrap().to_owned();
        stages
            .map(|stage| (text(stage, "name"), text(stage, "key")))
            .collect()
    }

    /// Layers of packages and wheels, without what they are made on.
    pub(crate) fn layers(&self, image: &str) -> BTreeMap<String, String> {
        let mut keys = self.keys(image);
        keys.retain(|name, _| name.starts_with("layer ") || name.starts_with("wheel "));
        assert!(!keys.is_empty());
        keys
    }

    /// The operations of an image.
    pub(crate) fn operations(&self, image: &str) -> Vec<pb::op::Op> {
        let bytes = self.succeed(&["plan", image, "--format", "llb"]);
        let definition = pb::Definition::decode(bytes.as_slice()).unwrap();
        let decoded = definition
            .def
            .iter()
            .map(|bytes| pb::Op::decode(bytes.as_slice()).unwrap());
        decoded.filter_map(|op| op.op).collect()
    }

    /// What an image is made from: images, files, commits.
    pub(crate) fn sources(&self, image: &str) -> Vec<pb::SourceOp> {
        let operations = self.operations(image).into_iter();
        let sources = operations.filter_map(|op| match op {
            pb::op::Op::Source(source) => Some(source),
            _ => None,
        });
        sources.collect()
    }
}
