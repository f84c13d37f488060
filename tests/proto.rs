//! The generated half of `src/proto`: it is fresh, and it says on the wire what an independent
//! implementation of BuildKit's messages says.

#![allow(
    clippy::expect_used,
    clippy::panic,
    reason = "a test that cannot go on has failed"
)]

#[path = "support/graphs.rs"]
mod graphs;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;
use std::fs;
use std::path::{Path, PathBuf};

use bollard_buildkit_proto as theirs;
use proptest::prelude::*;
use prost::Message;
use theirs::moby::buildkit::v1 as theirs_v1;
use wheelbase::proto::{apicaps, frontend, fsutil, pb, rpc, types};

/// The file that imports all others.
const ROOT: &str = "buildkit/gateway.proto";

/// What the `.proto` files give, by file name.
fn generate() -> BTreeMap<String, String> {
    let protos = Path::new(env!("CARGO_MANIFEST_DIR")).join("proto");
    let descriptors = protox::compile([ROOT], [&protos]).expect("the proto files compile");
    let out = tempfile::tempdir().expect("a folder");
    let mut messages = prost_build::Config::new();
    // Go orders map keys when it wants equal bytes for equal messages; only ordered maps give us the same.
    messages.btree_map(["."]);
    tonic_prost_build::configure()
        .build_server(false)
        .build_transport(false)
        .out_dir(out.path())
        .compile_fds_with_config(descriptors, messages)
        .expect("code");
    read_folder(out.path())
}

fn read_folder(folder: &Path) -> BTreeMap<String, String> {
    fs::read_dir(folder)
        .expect("a folder")
        .map(|entry| {
            let entry = entry.expect("an entry");
            let name = entry.file_name().into_string().expect("an ASCII name");
            (name, fs::read_to_string(entry.path()).expect("text"))
        })
        .collect()
}

fn checked_in() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src/proto/generated")
}

#[test]
fn generated_code_is_fresh() {
    let fresh = generate();
    let folder = checked_in();
    if std::env::var_os("UPDATE_PROTO").is_some() {
        fs::create_dir_all(&folder).expect("a folder");
        for name in read_folder(&folder)
            .into_keys()
            .filter(|name| !fresh.contains_key(name))
        {
            fs::remove_file(folder.join(name)).expect("removed");
        }
        for (name, text) in &fresh {
            fs::write(folder.join(name), text).expect("written");
        }
    }
    let stale: Vec<String> = {
        let present = read_folder(&folder);
        let names = fresh.keys().chain(present.keys());
        names
            .filter(|name| fresh.get(*name) != present.get(*name))
            .cloned()
            .collect()
    };
    assert!(
        stale.is_empty(),
        "stale: {stale:?}; run UPDATE_PROTO=1 cargo test --test proto"
    );
}

/// Says the same in both implementations: the bytes survive both, and every field that ours shows has the same name
/// and value in theirs. Equal bytes alone would not notice two fields of one type with their numbers swapped.
fn same<Ours, Theirs>(message: &Ours)
where
    Ours: Message + Default + PartialEq + Debug,
    Theirs: Message + Default + Debug,
{
    let bytes = message.encode_to_vec();
    let read = Theirs::decode(bytes.as_slice()).expect("they read ours");
    let back = read.encode_to_vec();
    assert_eq!(bytes, back, "they write what they read: {message:?}");
    assert_eq!(&Ours::decode(back.as_slice()).expect("we read theirs"), message);
    let mut shown = lines(&read);
    for line in lines(message) {
        let at = shown.iter().position(|known| *known == line);
        assert!(at.is_some(), "{line:?} is not in {read:#?}");
        shown.remove(at.unwrap_or_default());
    }
}

fn lines(message: &impl Debug) -> Vec<String> {
    format!("{message:#?}")
        .lines()
        .map(|line| line.trim().to_owned())
        .collect()
}

fn text(text: &str) -> String {
    text.to_owned()
}

proptest! {
    /// Every operation that the graph builder can make is read by somebody else's code as we meant it.
    #[test]
    fn graphs_are_read_by_others(script in graphs::scripts()) {
        let (graph, output) = graphs::build(&script);
        if let Some(output) = output {
            let definition = graph.definition(output);
            same::<pb::Definition, theirs::pb::Definition>(&definition);
            for bytes in &definition.def {
                let op = pb::Op::decode(bytes.as_slice()).expect("an operation");
                prop_assert_eq!(&op.encode_to_vec(), bytes);
                same::<pb::Op, theirs::pb::Op>(&op);
            }
        }
    }

    /// What BuildKit demands of a definition: operations once each and after what they need, a bare edge at the
    /// end, metadata and places of these operations alone, and inputs and outputs that exist.
    #[test]
    fn definitions_are_well_formed(script in graphs::scripts()) {
        let (graph, output) = graphs::build(&script);
        if let Some(output) = output {
            let definition = graph.definition(output);
            let mut before: BTreeMap<String, i64> = BTreeMap::new();
            let (terminal, operations) = definition.def.split_last().expect("operations");
            for bytes in operations {
                let op = pb::Op::decode(bytes.as_slice()).expect("an operation");
                for input in &op.inputs {
                    prop_assert!(before.get(&input.digest).is_some_and(|outputs| input.index < *outputs));
                }
                prop_assert!(op.constraints.is_some());
                let outputs = check(&op)?;
                prop_assert!(before.insert(digest(bytes), outputs).is_none(), "an operation stands there twice");
            }
            let end = pb::Op::decode(terminal.as_slice()).expect("an operation");
            prop_assert_eq!((end.inputs.len(), end.op, end.platform), (1, None, None));
            prop_assert_eq!(end.inputs[0].digest.as_str(), graph.digest(output));
            let known: BTreeSet<String> = definition.def.iter().map(|bytes| digest(bytes)).collect();
            let described: BTreeSet<String> = definition.metadata.keys().cloned().collect();
            prop_assert_eq!(&described, &known);
            let source = definition.source.expect("a source map");
            for (digest, locations) in &source.locations {
                prop_assert!(known.contains(digest));
                for location in &locations.locations {
                    prop_assert!(usize::try_from(location.source_index).expect("an index") < source.infos.len());
                }
            }
            let listed = graph.caps(output);
            let sent = definition.metadata.values().flat_map(|metadata| metadata.caps.keys());
            let sent: BTreeSet<&String> = sent.collect();
            prop_assert_eq!(sent, listed.keys().collect::<BTreeSet<&String>>());
        }
    }

    /// Equal scripts are equal bytes, and a grafted definition is the definition.
    #[test]
    fn graphs_are_functions_of_their_script(script in graphs::scripts()) {
        let (graph, output) = graphs::build(&script);
        if let Some(output) = output {
            let definition = graph.definition(output);
            let (again, same_output) = graphs::build(&script);
            prop_assert_eq!(same_output.map(|output| again.definition(output)), Some(definition.clone()));
            let mut other = wheelbase::llb::Graph::new(wheelbase::platform::Platform::linux_arm64());
            let grafted = other.graft(&definition).expect("a definition").expect("an edge");
            let taken = other.definition(grafted);
            prop_assert_eq!(&taken.def, &definition.def);
            prop_assert_eq!(&taken.metadata, &definition.metadata);
            prop_assert_eq!(other.caps(grafted), graph.caps(output));
        }
    }
}

fn digest(bytes: &[u8]) -> String {
    use sha2::Digest as _;
    let hex: String = sha2::Sha256::digest(bytes)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    format!("sha256:{hex}")
}

/// Checks the numbers inside an operation and counts its outputs.
fn check(op: &pb::Op) -> Result<i64, TestCaseError> {
    let inputs = i64::try_from(op.inputs.len()).expect("a number");
    let outputs = match op.op.as_ref().expect("only the last has none") {
        pb::op::Op::Source(source) => {
            let by_platform = ["docker-image://", "oci-layout://"]
                .iter()
                .any(|start| source.identifier.starts_with(start));
            prop_assert_eq!(op.platform.is_some(), by_platform);
            1
        }
        pb::op::Op::Exec(exec) => {
            prop_assert!(op.platform.is_some());
            prop_assert_eq!(exec.mounts[0].dest.as_str(), "/");
            let file_systems = exec
                .mounts
                .iter()
                .filter(|mount| mount.secret_opt.is_none() && mount.ssh_opt.is_none());
            let numbers: Vec<i64> = file_systems
                .map(|mount| mount.output)
                .filter(|output| *output != -1)
                .collect();
            let count = i64::try_from(numbers.len()).expect("a number");
            prop_assert_eq!(numbers, (0..count).collect::<Vec<i64>>());
            for mount in &exec.mounts {
                prop_assert!((-1..inputs).contains(&mount.input));
                prop_assert!(
                    mount.mount_type() == pb::MountType::Bind
                        || mount.mount_type() == pb::MountType::Cache
                        || mount.input == -1
                );
            }
            count
        }
        pb::op::Op::File(file) => {
            prop_assert_eq!(&op.platform, &None);
            for (index, action) in (0..).zip(&file.actions) {
                let last = index + 1 == file.actions.len();
                prop_assert_eq!(action.output, if last { 0 } else { -1 });
                let results = inputs + i64::try_from(index).expect("a number");
                prop_assert!(
                    (-1..results).contains(&action.input) && (-1..results).contains(&action.secondary_input)
                );
            }
            1
        }
        pb::op::Op::Merge(merge) => {
            prop_assert_eq!(&op.platform, &None);
            prop_assert!(merge.inputs.len() >= 2 && merge.inputs.len() == op.inputs.len());
            1
        }
        pb::op::Op::Diff(diff) => {
            prop_assert_eq!(&op.platform, &None);
            prop_assert!(diff.lower.is_some() && diff.upper.is_some());
            1
        }
    };
    Ok(outputs)
}

#[test]
fn what_the_builder_leaves_out_is_the_same_too() {
    let mount = pb::Mount {
        result_id: text("r"),
        ..pb::Mount::default()
    };
    same::<pb::Mount, theirs::pb::Mount>(&mount);
    let copy = pb::FileActionCopy {
        mode_str: text("u+x"),
        attempt_unpack_docker_compatibility: true,
        allow_empty_wildcard: true,
        ..pb::FileActionCopy::default()
    };
    same::<pb::FileActionCopy, theirs::pb::FileActionCopy>(&copy);
    let platform = pb::Platform {
        os: text("a"),
        architecture: text("b"),
        variant: text("c"),
        os_version: text("d"),
        os_features: vec![text("e")],
    };
    same::<pb::Platform, theirs::pb::Platform>(&platform);
    let constraints = pb::WorkerConstraints {
        filter: vec![text("a==b")],
    };
    same::<pb::WorkerConstraints, theirs::pb::WorkerConstraints>(&constraints);
    let info = pb::SourceInfo {
        filename: text("f"),
        data: vec![1],
        definition: Some(pb::Definition {
            def: vec![vec![2]],
            ..pb::Definition::default()
        }),
        language: text("TOML"),
    };
    same::<pb::SourceInfo, theirs::pb::SourceInfo>(&info);
    let proxy = pb::ProxyEnv {
        http_proxy: text("a"),
        https_proxy: text("b"),
        ftp_proxy: text("c"),
        no_proxy: text("d"),
        all_proxy: text("e"),
    };
    same::<pb::ProxyEnv, theirs::pb::ProxyEnv>(&proxy);
}

#[test]
fn requests_are_the_same() {
    let definition = pb::Definition {
        def: vec![vec![1], vec![2]],
        ..pb::Definition::default()
    };
    let platform = || {
        Some(pb::Platform {
            os: text("linux"),
            ..pb::Platform::default()
        })
    };
    // One entry per map: the other implementation does not order its maps here.
    let map = |key: &str, value: &str| BTreeMap::from([(text(key), text(value))]);
    same::<frontend::SolveRequest, theirs_v1::frontend::SolveRequest>(&frontend::SolveRequest {
        definition: Some(definition.clone()),
        frontend: text("f"),
        frontend_opt: map("k", "v"),
        allow_result_return: true,
        allow_result_array_ref: false,
        cache_imports: vec![frontend::CacheOptionsEntry {
            r#type: text("t"),
            attrs: map("a", "b"),
        }],
        frontend_inputs: BTreeMap::from([(text("i"), definition)]),
        evaluate: true,
    });
    let request = frontend::SolveRequest {
        allow_result_array_ref: true,
        ..frontend::SolveRequest::default()
    };
    same::<frontend::SolveRequest, theirs_v1::frontend::SolveRequest>(&request);
    same::<_, theirs_v1::frontend::ResolveImageConfigRequest>(&frontend::ResolveImageConfigRequest {
        r#ref: text("a"),
        platform: platform(),
        resolve_mode: text("b"),
        log_name: text("c"),
        resolver_type: 1,
        session_id: text("d"),
        store_id: text("e"),
    });
    same::<_, theirs_v1::frontend::ResolveSourceMetaRequest>(&frontend::ResolveSourceMetaRequest {
        source: Some(pb::SourceOp {
            identifier: text("git://a"),
            attrs: map("k", "v"),
        }),
        platform: platform(),
        log_name: text("b"),
        resolve_mode: text("c"),
        git: Some(frontend::ResolveSourceGitRequest { return_object: true }),
        image: Some(frontend::ResolveSourceImageRequest { no_config: true }),
    });
    let range = Some(frontend::FileRange { offset: 1, length: 2 });
    same::<_, theirs_v1::frontend::ReadFileRequest>(&frontend::ReadFileRequest {
        r#ref: text("a"),
        file_path: text("b"),
        range,
    });
    same::<_, theirs_v1::frontend::ReadDirRequest>(&frontend::ReadDirRequest {
        r#ref: text("a"),
        dir_path: text("b"),
        include_pattern: text("c"),
    });
    let stat = frontend::StatFileRequest {
        r#ref: text("a"),
        path: text("b"),
    };
    same::<_, theirs_v1::frontend::StatFileRequest>(&stat);
    same::<_, theirs_v1::frontend::EvaluateRequest>(&frontend::EvaluateRequest { r#ref: text("a") });
    same::<_, theirs_v1::frontend::WarnRequest>(&frontend::WarnRequest {
        digest: text("a"),
        level: 1,
        short: vec![2],
        detail: vec![vec![3], vec![4]],
        url: text("b"),
        info: Some(pb::SourceInfo {
            filename: text("f"),
            ..pb::SourceInfo::default()
        }),
        ranges: vec![pb::Range {
            start: Some(pb::Position {
                line: 5,
                character: 6,
            }),
            end: Some(pb::Position {
                line: 7,
                character: 8,
            }),
        }],
    });
    let error = rpc::Status {
        code: 3,
        message: text("m"),
        details: vec![prost_types::Any {
            type_url: text("t"),
            value: vec![1],
        }],
    };
    let request = frontend::ReturnRequest {
        result: None,
        error: Some(error),
    };
    same::<_, theirs_v1::frontend::ReturnRequest>(&request);
}

#[test]
fn responses_are_the_same() {
    use frontend::result::Result as Refs;
    let reference = |id: &str| frontend::Ref {
        id: text(id),
        def: Some(pb::Definition {
            def: vec![vec![1]],
            ..pb::Definition::default()
        }),
    };
    let forms = [
        Refs::RefDeprecated(text("a")),
        Refs::RefsDeprecated(frontend::RefMapDeprecated {
            refs: BTreeMap::from([(text("k"), text("v"))]),
        }),
        Refs::Ref(reference("b")),
        Refs::Refs(frontend::RefMap {
            refs: BTreeMap::from([(text("k"), reference("c"))]),
        }),
    ];
    for form in forms {
        let result = frontend::Result {
            metadata: BTreeMap::from([(text("m"), vec![1, 2])]),
            result: Some(form),
        };
        let response = frontend::SolveResponse {
            r#ref: text("old"),
            result: Some(result),
        };
        same::<_, theirs_v1::frontend::SolveResponse>(&response);
    }
    same::<_, theirs_v1::frontend::PongResponse>(&frontend::PongResponse {
        frontend_api_caps: vec![apicaps::ApiCap {
            id: text("a"),
            enabled: true,
            deprecated: false,
            disabled_reason: text("b"),
            disabled_reason_msg: text("c"),
            disabled_alternative: text("d"),
        }],
        llb_caps: vec![apicaps::ApiCap {
            id: text("e"),
            deprecated: true,
            ..apicaps::ApiCap::default()
        }],
        workers: vec![types::WorkerRecord {
            id: text("w"),
            labels: BTreeMap::from([(text("k"), text("v"))]),
            platforms: vec![pb::Platform {
                os: text("linux"),
                ..pb::Platform::default()
            }],
        }],
    });
    same::<_, theirs_v1::frontend::ResolveImageConfigResponse>(&frontend::ResolveImageConfigResponse {
        digest: text("a"),
        config: vec![1],
        r#ref: text("b"),
    });
    same::<_, theirs_v1::frontend::ResolveSourceMetaResponse>(&frontend::ResolveSourceMetaResponse {
        source: Some(pb::SourceOp {
            identifier: text("git://a"),
            attrs: BTreeMap::new(),
        }),
        image: Some(frontend::ResolveSourceImageResponse {
            digest: text("d"),
            config: vec![1],
        }),
        git: Some(frontend::ResolveSourceGitResponse {
            checksum: text("a"),
            r#ref: text("b"),
            commit_checksum: text("c"),
            commit_object: vec![1],
            tag_object: vec![2],
        }),
        http: Some(frontend::ResolveSourceHttpResponse {
            checksum: text("e"),
            filename: text("f"),
            last_modified: Some(prost_types::Timestamp { seconds: 1, nanos: 2 }),
        }),
    });
    same::<_, theirs_v1::frontend::ReadFileResponse>(&frontend::ReadFileResponse { data: vec![1] });
    let stat = fsutil::Stat {
        path: text("p"),
        mode: 1 << 31 | 0o755,
        uid: 1,
        gid: 2,
        size: 3,
        mod_time: 4,
        linkname: text("l"),
        devmajor: 5,
        devminor: 6,
        xattrs: BTreeMap::from([(text("x"), vec![7])]),
    };
    same::<_, theirs_v1::frontend::StatFileResponse>(&frontend::StatFileResponse {
        stat: Some(stat.clone()),
    });
    same::<_, theirs_v1::frontend::ReadDirResponse>(&frontend::ReadDirResponse { entries: vec![stat] });
    let definition = pb::Definition {
        def: vec![vec![1]],
        ..pb::Definition::default()
    };
    let definitions = BTreeMap::from([(text("k"), definition)]);
    same::<_, theirs_v1::frontend::InputsResponse>(&frontend::InputsResponse { definitions });
}
