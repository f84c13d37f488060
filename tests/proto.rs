//! The generated half of `src/proto`: it is fresh, and it says on the wire what an independent
//! implementation of BuildKit's messages says.

#![allow(
    clippy::expect_used,
    clippy::panic,
    reason = "a test that cannot go on has failed"
)]

#[path = "proto/golden.rs"]
mod golden;
#[path = "support/graphs.rs"]
mod graphs;
#[path = "proto/messages.rs"]
mod messages;
#[path = "support/script.rs"]
mod script;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;
use std::fs;
use std::path::{Path, PathBuf};

use bollard_buildkit_proto as theirs;
use proptest::prelude::*;
use prost::Message;
use wheelbase::proto::pb;

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
    for line in lines(message).into_iter().filter(|line| line != NEWER) {
        let at = shown.iter().position(|known| *known == line);
        assert!(at.is_some(), "{line:?} is not in {read:#?}");
        shown.remove(at.unwrap_or_default());
    }
}

/// A field of BuildKit 0.31, which the other implementation does not know yet.
const NEWER: &str = "linux_resources: None,";

fn lines(message: &impl Debug) -> Vec<String> {
    format!("{message:#?}")
        .lines()
        .map(|line| line.trim().to_owned())
        .collect()
}

proptest! {
    /// Every operation that the graph builder can make is read by somebody else's code as we meant it.
    #[test]
    fn graphs_are_read_by_others(script in graphs::scripts()) {
        let (graph, output) = script::build(&script);
        if let Some(output) = output {
            let definition = graph.definition(output);
            same::<pb::Definition, theirs::pb::Definition>(&definition);
            for bytes in &definition.def {
                let op = pb::Op::decode(bytes.as_slice()).expect("an operation");
                // The same bytes in another order: the kind of operation stands last, see `llb`.
                prop_assert_eq!(op.encoded_len(), bytes.len());
                same::<pb::Op, theirs::pb::Op>(&op);
            }
        }
    }

    /// What BuildKit demands of a definition: operations once each and after what they need, a bare edge at the
    /// end, metadata and places of these operations alone, and inputs and outputs that exist.
    #[test]
    fn definitions_are_well_formed(script in graphs::scripts()) {
        let (graph, output) = script::build(&script);
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
        let (graph, output) = script::build(&script);
        if let Some(output) = output {
            let definition = graph.definition(output);
            let (again, same_output) = script::build(&script);
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
    let digest = sha2::Sha256::digest(bytes);
    digest
        .iter()
        .fold("sha256:".to_owned(), |hex, byte| format!("{hex}{byte:02x}"))
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
