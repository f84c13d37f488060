//! From the arena to the bytes that a daemon takes (`State.Marshal` of BuildKit's `client/llb/state.go`).

use std::collections::BTreeMap;

use prost::Message as _;

use super::caps::Cap;
use super::exec::Resources;
use super::graph::{Graph, Output, Vertex, digest_of};
use super::source_map::SourceMap;
use crate::proto::pb;

impl Graph {
    /// The graph that `output` needs, and nothing else: dependencies first, a bare edge to `output` last, with
    /// metadata and source map of exactly these vertices.
    pub fn definition(&self, output: Output) -> pb::Definition {
        let vertices = self.closure(output);
        let terminal = pb::Op {
            inputs: vec![self.input(output)],
            ..pb::Op::default()
        }
        .encode_to_vec();

        // A map is made of what is sorted in one go.
        let by_digest = self.closure_by_digest(output);
        let mut metadata: BTreeMap<String, pb::OpMetadata> = by_digest
            .iter()
            .map(|vertex| (vertex.digest().to_owned(), wire_metadata(vertex)))
            .collect();
        let caps = vertices
            .iter()
            .flat_map(|vertex| metadata_caps(vertex))
            .chain(SHARED)
            .map(|cap| (cap.id().to_owned(), true))
            .collect();
        metadata.insert(
            digest_of(&terminal),
            pb::OpMetadata {
                caps,
                ..pb::OpMetadata::default()
            },
        );

        let source = Some(SourceMap::of(&vertices, &by_digest, &self.origins));
        let mut def: Vec<Vec<u8>> = vertices.iter().map(|vertex| vertex.bytes().to_vec()).collect();
        def.push(terminal);
        pb::Definition {
            def,
            metadata,
            source,
        }
    }

    /// Every capability that the daemon must have for [`Graph::definition`] of this output, by id, with the
    /// names of the vertices that need it. Those that every graph needs come without names.
    pub fn caps(&self, output: Output) -> BTreeMap<String, Vec<String>> {
        let vertices = self.closure(output);
        let mut caps = BTreeMap::from(SHARED.map(|cap| (cap.id().to_owned(), Vec::new())));
        for vertex in &vertices {
            let of_metadata = metadata_caps(vertex).map(|cap| -> &str { cap.id() });
            for cap in vertex.caps().chain(of_metadata) {
                caps.entry(cap.to_owned()).or_default().push(vertex.name());
            }
        }
        caps
    }
}

/// What every graph needs. The terminal operation asks for it on behalf of all.
const SHARED: [Cap; 2] = [Cap::Constraints, Cap::Platform];

/// What is said about a vertex needs these, for which the terminal operation asks too.
fn metadata_caps(vertex: &Vertex) -> impl Iterator<Item = Cap> {
    let metadata = vertex.metadata();
    let uses = [
        (Cap::MetaIgnoreCache, metadata.ignore_cache),
        (
            Cap::MetaDescription,
            metadata.name.is_some() || !metadata.description.is_empty(),
        ),
        (Cap::MetaExportCache, metadata.export_cache.is_some()),
    ];
    uses.into_iter().filter(|(_, used)| *used).map(|(cap, _)| cap)
}

fn wire_metadata(vertex: &Vertex) -> pb::OpMetadata {
    let metadata = vertex.metadata();
    pb::OpMetadata {
        ignore_cache: metadata.ignore_cache,
        description: metadata.wire_description(),
        export_cache: metadata.export_cache.map(|value| pb::ExportCache { value }),
        caps: vertex.caps().map(|cap| (cap.to_owned(), true)).collect(),
        progress_group: metadata.group.as_ref().map(|group| pb::ProgressGroup {
            id: group.id.to_string(),
            name: group.name.to_string(),
            weak: group.weak,
        }),
        linux_resources: metadata.resources.as_deref().map(wire_resources),
    }
}

fn wire_resources(resources: &Resources) -> pb::LinuxResources {
    pb::LinuxResources {
        memory: resources.memory.unwrap_or_default(),
        memory_swap: resources.memory_swap.unwrap_or_default(),
        cpu_shares: resources.cpu_shares.unwrap_or_default(),
        cpu_period: resources.cpu_period.unwrap_or_default(),
        cpu_quota: resources.cpu_quota.unwrap_or_default(),
        cpuset_cpus: resources.cpus.clone(),
        cpuset_mems: resources.memory_nodes.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Exec, File, ImageSource, Metadata, Mkfile, ProgressGroup};
    use super::*;
    use crate::platform::Platform;

    fn decode(bytes: &[u8]) -> pb::Op {
        pb::Op::decode(bytes).unwrap()
    }

    /// base -> exec -> file, and a stranger that nothing needs.
    fn chain() -> (Graph, Output, Output) {
        let mut graph = Graph::new(Platform::linux_amd64());
        let base = graph.image(ImageSource::new("base"), Metadata::default());
        graph.image(ImageSource::new("stranger"), Metadata::named("nobody asks"));
        let exec = Exec {
            root: Some(base),
            ..Exec::new(["true"])
        };
        let ran = graph.exec(exec, Metadata::named("run").ignore_cache(true)).root();
        let made = graph.file(
            File::on(ran).mkfile(Mkfile::new("/f", "x")),
            Metadata::default().export_cache(false),
        );
        (graph, ran, made)
    }

    #[test]
    fn dependencies_stand_first_and_a_bare_edge_last() {
        let (graph, _, made) = chain();
        let definition = graph.definition(made);
        assert_eq!(definition.def.len(), 4);
        for (index, bytes) in definition.def.iter().enumerate() {
            let before: Vec<String> = definition.def[..index]
                .iter()
                .map(|bytes| digest_of(bytes))
                .collect();
            for input in decode(bytes).inputs {
                assert!(before.contains(&input.digest), "op {index} refers forward");
            }
        }
        let terminal = decode(&definition.def[3]);
        assert_eq!(
            (terminal.op, terminal.platform, terminal.constraints),
            (None, None, None)
        );
        assert_eq!(
            terminal.inputs,
            [pb::Input {
                digest: graph.digest(made).to_owned(),
                index: 0
            }]
        );
    }

    #[test]
    fn holds_only_what_the_output_needs() {
        let (graph, ran, made) = chain();
        let definition = graph.definition(ran);
        assert_eq!(definition.def.len(), 3);
        assert_eq!(definition.metadata.len(), 3);
        assert!(!definition.metadata.contains_key(graph.digest(made)));
    }

    #[test]
    fn terminal_asks_for_what_the_metadata_uses() {
        let (graph, ran, made) = chain();
        let terminal_caps = |output| {
            let definition = graph.definition(output);
            let digest = digest_of(definition.def.last().unwrap());
            definition.metadata[&digest]
                .caps
                .keys()
                .cloned()
                .collect::<Vec<String>>()
        };
        assert_eq!(
            terminal_caps(ran),
            ["constraints", "meta.description", "meta.ignorecache", "platform"]
        );
        assert!(terminal_caps(made).contains(&"meta.exportcache".to_owned()));
    }

    #[test]
    fn caps_name_the_vertices_that_need_them() {
        let (graph, _, made) = chain();
        let caps = graph.caps(made);
        assert_eq!(caps["exec.meta.base"], ["run"]);
        assert_eq!(caps["file.base"], ["mkfile /f"]);
        assert_eq!(
            caps["source.image"],
            ["docker-image://docker.io/library/base:latest"]
        );
        assert_eq!(caps["meta.ignorecache"], ["run"]);
        assert!(caps["platform"].is_empty());
        let definition = graph.definition(made);
        let sent = definition
            .metadata
            .values()
            .flat_map(|metadata| metadata.caps.keys());
        assert!(sent.into_iter().all(|cap| caps.contains_key(cap)));
    }

    #[test]
    fn metadata_goes_over_the_wire() {
        let mut graph = Graph::new(Platform::linux_amd64());
        let group = ProgressGroup {
            id: "g".into(),
            name: "group".into(),
            weak: true,
        };
        let metadata = Metadata::named("base")
            .group(group)
            .ignore_cache(true)
            .export_cache(true)
            .describe("k", "v");
        let base = graph.image(ImageSource::new("base"), metadata);
        let definition = graph.definition(base);
        let sent = &definition.metadata[graph.digest(base)];
        assert!(sent.ignore_cache);
        assert_eq!(sent.description["llb.customname"], "base");
        assert_eq!(sent.description["k"], "v");
        assert_eq!(sent.export_cache, Some(pb::ExportCache { value: true }));
        let group = sent.progress_group.as_ref().unwrap();
        assert_eq!(
            (group.id.as_str(), group.name.as_str(), group.weak),
            ("g", "group", true)
        );
        assert_eq!(sent.caps, BTreeMap::from([("source.image".to_owned(), true)]));
    }

    #[test]
    fn the_text_of_the_metadata_is_no_part_of_a_digest() {
        let mut graph = Graph::new(Platform::linux_amd64());
        let first = graph.image(ImageSource::new("base"), Metadata::named("one"));
        let mut other = Graph::new(Platform::linux_amd64());
        let second = other.image(
            ImageSource::new("base"),
            Metadata::named("two").ignore_cache(true),
        );
        assert_eq!(graph.digest(first), other.digest(second));
    }
}
