//! The generated half of `src/proto`: it is fresh, and it says on the wire what an independent
//! implementation of BuildKit's messages says.

#![allow(
    clippy::expect_used,
    clippy::panic,
    reason = "a test that cannot go on has failed"
)]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

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
