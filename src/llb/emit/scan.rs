//! What is said of a finished filesystem: a scanner's findings, and a document that is known already.

use std::collections::BTreeMap;

use super::super::{Exec, File, Graph, ImageSource, Metadata, Mkfile, Mount, Network, Output, Timestamp};
use super::{EPOCH, Emitted};
use crate::diagnostic::Location;
use crate::platform::Platform;

/// The name of the statement about the image itself, and of the folder that the scanner finds it in.
pub const SCANNED: &str = "sbom";

/// Where a scanner finds things and leaves things (`docs/attestations/sbom-protocol.md` of BuildKit).
const SOURCES: &str = "/run/src";
const FINDINGS: &str = "/run/out";

/// A scanner, once its image has been resolved.
#[derive(Debug, Clone)]
pub struct Scan {
    /// The image, by digest.
    pub image: String,
    /// What it runs on: the builder's platform.
    pub platform: Platform,
    /// Its program and arguments.
    pub args: Vec<String>,
    /// Its own environment, and what it is told.
    pub env: BTreeMap<String, String>,
    /// Its working directory.
    pub cwd: String,
    /// Its network.
    pub network: Network,
}

impl Emitted {
    /// Has a scanner look at the finished filesystem; the result is the folder with its findings. `beside` are other
    /// filesystems by name, which it keeps apart; `place` is the line of the image.
    pub fn scan(
        &mut self,
        scan: &Scan,
        beside: &BTreeMap<String, Output>,
        name: &str,
        place: &Location,
    ) -> Output {
        let mut source = ImageSource::new(&scan.image);
        source.platform = Some(scan.platform.clone());
        let root = self.graph.image(
            source,
            Metadata::named(format!("[scanner] {}", scan.image)).locations(Some(place.clone())),
        );
        let mut exec = Exec::new(scan.args.clone());
        exec.env.clone_from(&scan.env);
        let core = format!("{SOURCES}/core/{SCANNED}");
        exec.env
            .insert("BUILDKIT_SCAN_DESTINATION".to_owned(), format!("{FINDINGS}/"));
        exec.env.insert("BUILDKIT_SCAN_SOURCE".to_owned(), core.clone());
        if !beside.is_empty() {
            let folder = format!("{SOURCES}/extras/");
            exec.env.insert("BUILDKIT_SCAN_SOURCE_EXTRAS".to_owned(), folder);
        }
        exec.cwd.clone_from(&scan.cwd);
        exec.network = scan.network;
        exec.platform = Some(scan.platform.clone());
        exec.root = Some(root);
        exec.mounts.push(Mount::tmpfs("/tmp"));
        exec.mounts.push(Mount::read_only(core, self.image));
        for (name, output) in beside {
            let dest = format!("{SOURCES}/extras/{SCANNED}-{name}");
            exec.mounts.push(Mount::read_only(dest, *output));
        }
        exec.mounts.push(Mount::output(FINDINGS));
        let metadata = Metadata::named(format!("[{name}] generate sbom using {}", scan.image))
            .locations(Some(place.clone()));
        let executed = self.graph.exec(exec, metadata);
        executed.mount(FINDINGS).unwrap_or_else(|| executed.root())
    }
}

/// A filesystem with one file, for a statement.
pub fn emit_file(
    platform: &Platform,
    path: &str,
    text: String,
    name: &str,
    place: &Location,
) -> (Graph, Output) {
    let mut graph = Graph::new(platform.clone());
    let mut file = Mkfile::new(path, text);
    file.mode = 0o644;
    file.timestamp = Some(Timestamp::from_seconds(EPOCH));
    let metadata = Metadata::named(name).locations(Some(place.clone()));
    let output = graph.file(File::scratch().mkfile(file), metadata);
    (graph, output)
}
