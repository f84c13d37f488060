//! Digests that BuildKit's own client library, `client/llb` in Go, gives for the same graphs.
//!
//! The daemon takes any encoding of an operation, so equality with Go is not needed. It is worth having all the
//! same: it proves every index, default and order in an operation at once, and it makes our vertices and those of
//! other frontends one vertex in a daemon that builds both.

use std::collections::BTreeMap;

use prost::Message as _;
use wheelbase::llb::{
    Access, Bind, ContentCache, Copy, Differ, Exec, ExtraHost, File, GitSource, Graph, HttpSource,
    ImageSource, LocalSource, Metadata, Mkdir, Mkfile, Mount, MountKind, Network, OciLayoutSource, Output,
    Owner, ProxyEnv, ResolveMode, Rm, SecretEnv, Security, Sharing, Timestamp, Ulimit, User,
};
use wheelbase::platform::Platform;
use wheelbase::proto::pb;

/// The start of each operation's digest in the order of the definition, from BuildKit 0.13. Its secrets and agents
/// name input 0, later ones none, which is why there are none here.
const GO: &[(&str, &[&str])] = &[
    ("image", &["cb6ec6a9fa3d49de", "3948ae1bd1b63bb5"]),
    ("image-options", &["f68e62a0b3cc8e2e", "ad054737e9a8860b"]),
    ("local", &["e3ecc19096744730", "bb06eae5c3b2c0c2"]),
    ("git", &["be323872092edaa3", "cdecc120334c9f97"]),
    ("git-ssh", &["c033f87d6df64fdc", "ccf3b770a0e4c2cf"]),
    ("http", &["14221189d06abbc4", "18f7d0941dfa5d8f"]),
    ("oci-layout", &["52e389bd732ba4ac", "a977aa88d1435c59"]),
    (
        "exec",
        &["cb6ec6a9fa3d49de", "772d4bc2f9fabcb2", "72bb248610ec0b38"],
    ),
    (
        "exec-full",
        &[
            "cb6ec6a9fa3d49de",
            "e3ecc19096744730",
            "53b3849c0c06480a",
            "61e72c9ef093d6f0",
        ],
    ),
    (
        "file",
        &[
            "cb6ec6a9fa3d49de",
            "e3ecc19096744730",
            "f687d957d990a8c4",
            "3396f388495c4570",
        ],
    ),
    ("file-scratch", &["f391e12c87101e9b", "61ecb33a069a7884"]),
    (
        "merge",
        &[
            "cb6ec6a9fa3d49de",
            "9582427949fffbde",
            "772d4bc2f9fabcb2",
            "b0d4ab3359724e70",
            "d5f30cac94820875",
        ],
    ),
    (
        "diff",
        &[
            "cb6ec6a9fa3d49de",
            "772d4bc2f9fabcb2",
            "355c6d8692754f00",
            "ef0949aa06239a41",
        ],
    ),
];

fn ones() -> String {
    format!("sha256:{:064}", 1)
}

fn base(graph: &mut Graph) -> Output {
    graph.image(ImageSource::new("base:1"), Metadata::default())
}

fn context(graph: &mut Graph) -> Output {
    let local = LocalSource {
        session: "s".into(),
        include: vec!["a".into(), "b".into()],
        exclude: vec!["c".into()],
        follow_paths: vec!["d".into()],
        shared_key_hint: "context".into(),
        differ: Some(Differ::None),
        ..LocalSource::new("context")
    };
    graph.local(local, Metadata::default())
}

fn run(graph: &mut Graph) -> Output {
    let root = Some(base(graph));
    graph
        .exec(
            Exec {
                root,
                ..Exec::new(["sh", "-c", "x"])
            },
            Metadata::default(),
        )
        .root()
}

fn full_exec(graph: &mut Graph) -> Output {
    let (base, context) = (base(graph), context(graph));
    let discard = Bind {
        source: Some(base),
        access: Access::Discard,
        ..Bind::default()
    };
    let exec = Exec {
        env: BTreeMap::from([("A", "1"), ("PATH", "/bin")].map(|(name, value)| (name.into(), value.into()))),
        cwd: "/src".into(),
        user: "app".into(),
        hostname: "h".into(),
        extra_hosts: vec![ExtraHost {
            host: "index.example".into(),
            ip: "10.0.0.1".into(),
        }],
        ulimits: vec![Ulimit {
            name: "nofile".into(),
            soft: 1,
            hard: 2,
        }],
        cgroup_parent: "cg".into(),
        proxy: Some(ProxyEnv {
            http: "p".into(),
            no: "n".into(),
            ..ProxyEnv::default()
        }),
        network: Network::None,
        security: Security::Insecure,
        secret_env: vec![SecretEnv {
            id: "token".into(),
            name: "TOKEN".into(),
            optional: false,
        }],
        root: Some(base),
        mounts: vec![
            Mount::output("/wheels"),
            Mount::read_only("/w/0", context).selector("a.whl"),
            Mount::cache("/cache", "ccache-4", Sharing::Locked),
            Mount {
                dest: "/tmp".into(),
                kind: MountKind::Tmpfs { size: Some(9) },
            },
            Mount::bind("/discard", discard),
            Mount::read_only("/off", context)
                .selector("b.whl")
                .content_cache(ContentCache::Off),
        ],
        ..Exec::new(["make"])
    };
    graph
        .exec(exec, Metadata::default())
        .mount("/wheels")
        .expect("an output")
}

fn files(graph: &mut Graph) -> Output {
    let (base, context) = (base(graph), context(graph));
    let named = Owner {
        user: Some(User::Name("app".into())),
        group: Some(User::Id(0)),
    };
    let file = File::on(base)
        .mkdir(Mkdir {
            owner: Some(Owner::ids(1, 2)),
            timestamp: Some(Timestamp::from_seconds(2)),
            ..Mkdir::new("/app")
        })
        .mkfile(Mkfile {
            mode: 0o600,
            owner: Some(named),
            ..Mkfile::new("/app/f", "x")
        })
        .rm(Rm {
            allow_not_found: true,
            wildcard: true,
            ..Rm::new("/tmp/*")
        })
        .copy(Copy {
            wildcard: true,
            include: vec!["*.py".into()],
            exclude: vec!["t".into()],
            contents_only: true,
            follow_symlinks: true,
            ..Copy::new(context, "src/../a", "/app/")
        })
        .copy(Copy::new(base, "/etc/os-release", "/etc/x"));
    graph.file(file, Metadata::default())
}

fn graph_of(name: &str, graph: &mut Graph) -> Output {
    let none = Metadata::default;
    match name {
        "image" => base(graph),
        "image-options" => {
            let image = ImageSource {
                resolve_mode: ResolveMode::Pull,
                layer_limit: Some(3),
                platform: Some(Platform::linux_arm64()),
                ..ImageSource::new("zot.example:5000/a/b")
            };
            graph.image(image, none())
        }
        "local" => context(graph),
        "git" => {
            let git = GitSource::new("https://git.example/a/b.git", "main");
            graph.git(
                GitSource {
                    subdir: "sub".into(),
                    keep_git_dir: true,
                    ..git
                },
                none(),
            )
        }
        "git-ssh" => {
            let git = GitSource {
                known_ssh_hosts: Some("git.example ssh-ed25519 AAAA".into()),
                ssh_socket: Some("agent".into()),
                ..GitSource::new("git@git.example:a/b.git", "v1")
            };
            graph.git(git, none())
        }
        "http" => {
            let http = HttpSource {
                checksum: Some(ones()),
                filename: Some("a.whl".into()),
                mode: Some(0o644),
                uid: 1,
                gid: 2,
                ..HttpSource::new("https://index.example/a.whl")
            };
            graph.http(http, none())
        }
        "oci-layout" => {
            let layout = OciLayoutSource {
                reference: format!("base@{}", ones()),
                session: "s".into(),
                store: "store".into(),
                ..OciLayoutSource::default()
            };
            graph.oci_layout(layout, none())
        }
        "exec" => run(graph),
        "exec-full" => full_exec(graph),
        "file" => files(graph),
        "file-scratch" => graph.file(File::scratch().mkfile(Mkfile::new("/f", "x")), none()),
        "merge" => {
            let base = base(graph);
            let other = graph.image(ImageSource::new("other:1"), none());
            let ran = run(graph);
            graph.merge(&[base, other, ran], none()).expect("a merge")
        }
        "diff" => {
            let (base, ran) = (base(graph), run(graph));
            graph.diff(Some(base), ran, none())
        }
        other => panic!("no graph {other}"),
    }
}

/// The digests of a definition written as BuildKit 0.13 writes it: fields by their numbers, where we put the kind of
/// operation last as later releases do.
fn digests_by_field_number(definition: &pb::Definition) -> Vec<String> {
    let mut renamed: BTreeMap<String, String> = BTreeMap::new();
    let operations = definition.def.iter().map(|bytes| {
        let mut op = pb::Op::decode(bytes.as_slice()).expect("an operation");
        for input in &mut op.inputs {
            input.digest.clone_from(&renamed[&input.digest]);
        }
        let digest = super::digest(&op.encode_to_vec());
        renamed.insert(super::digest(bytes), digest.clone());
        digest
    });
    operations.collect()
}

#[test]
fn digests_are_those_of_buildkits_own_client() {
    for (name, expected) in GO {
        let mut graph = Graph::new(Platform::linux_amd64());
        let output = graph_of(name, &mut graph);
        let definition = graph.definition(output);
        let digests = digests_by_field_number(&definition);
        let starts: Vec<&str> = digests
            .iter()
            .map(|digest| &digest["sha256:".len()..][..16])
            .collect();
        let operations = definition
            .def
            .iter()
            .map(|bytes| pb::Op::decode(bytes.as_slice()));
        assert_eq!(starts, *expected, "{name}: {:#?}", operations.collect::<Vec<_>>());
    }
}
