//! Graphs made up by proptest, each as the script that makes it: every operation, with every option at some time.

use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::*;
use wheelbase::diagnostic::{Location, SourceFile};
use wheelbase::llb::{
    Access, ContentCache, Differ, Exec, ExtraHost, GitSource, GitTime, HttpSource, ImageSource, LocalSource,
    Metadata, Mkdir, Mkfile, MountKind, Network, OciLayoutSource, Owner, ProgressGroup, ProxyEnv,
    ResolveMode, Rm, Secret, SecretEnv, Security, Sharing, Ssh, Symlink, Timestamp, Ulimit, User,
};
use wheelbase::platform::Platform;

use super::script::{Change, Kind, Script, Step};

/// Scripts of up to 12 steps.
pub(crate) fn scripts() -> impl Strategy<Value = Script> {
    vec((steps(), metadata()), 1..12)
}

fn text() -> impl Strategy<Value = String> {
    "[a-zé\" ]{1,6}"
}

fn maybe() -> impl Strategy<Value = Option<String>> {
    option::of(text())
}

fn texts() -> impl Strategy<Value = Vec<String>> {
    vec(text(), 0..3)
}

fn edge() -> impl Strategy<Value = usize> {
    0..64_usize
}

fn platform() -> impl Strategy<Value = Option<Platform>> {
    option::of(prop_oneof![
        Just(Platform::linux_arm64()),
        Just(Platform::new("linux", "arm", "v7"))
    ])
}

fn metadata() -> impl Strategy<Value = Metadata> {
    let file = SourceFile::new("wheelbase.toml", "name = \"x\"\n[images.a]\n");
    let locations = vec(0..20_usize, 0..3).prop_map(move |starts| {
        starts
            .into_iter()
            .map(|at| Location::new(&file, at..at + 2))
            .collect::<Vec<_>>()
    });
    (
        maybe(),
        maybe(),
        any::<bool>(),
        option::of(any::<bool>()),
        locations,
        btree_map(text(), text(), 0..3),
    )
        .prop_map(
            |(name, group, ignore_cache, export_cache, locations, description)| Metadata {
                name,
                group: group.map(|id| ProgressGroup {
                    name: id.clone().into(),
                    id: id.into(),
                    weak: ignore_cache,
                }),
                ignore_cache,
                export_cache,
                locations,
                description,
                // The other implementation of the wire is older than they are.
                resources: None,
            },
        )
}

fn steps() -> impl Strategy<Value = Step> {
    prop_oneof![
        2 => images(),
        1 => layouts(),
        1 => locals(),
        1 => gits(),
        1 => https(),
        4 => execs(),
        3 => (option::of(edge()), vec(changes(), 0..4)).prop_map(|(base, changes)| Step::File(base, changes)),
        2 => vec(edge(), 0..4).prop_map(Step::Merge),
        1 => (option::of(edge()), edge()).prop_map(|(lower, upper)| Step::Diff(lower, upper)),
    ]
}

fn images() -> impl Strategy<Value = Step> {
    let mode = prop_oneof![
        Just(ResolveMode::Default),
        Just(ResolveMode::Pull),
        Just(ResolveMode::Local)
    ];
    (
        "[a-z]{1,3}",
        platform(),
        mode,
        maybe(),
        option::of(any::<u32>()),
        maybe(),
    )
        .prop_map(
            |(reference, platform, resolve_mode, checksum, layer_limit, record_type)| {
                Step::Image(ImageSource {
                    reference,
                    platform,
                    resolve_mode,
                    checksum,
                    layer_limit,
                    record_type,
                })
            },
        )
}

fn layouts() -> impl Strategy<Value = Step> {
    (text(), text(), text(), platform(), option::of(any::<u32>())).prop_map(
        |(reference, session, store, platform, layer_limit)| {
            Step::OciLayout(OciLayoutSource {
                reference,
                session,
                store,
                platform,
                layer_limit,
            })
        },
    )
}

fn locals() -> impl Strategy<Value = Step> {
    let differ = option::of(prop_oneof![Just(Differ::None), Just(Differ::Metadata)]);
    (text(), "[a-z]{0,2}", texts(), texts(), texts(), differ).prop_map(
        |(name, session, include, exclude, follow_paths, differ)| {
            let (unique, shared_key_hint) = (name.clone(), name.clone());
            Step::Local(LocalSource {
                name,
                session,
                unique,
                include,
                exclude,
                follow_paths,
                shared_key_hint,
                differ,
            })
        },
    )
}

fn gits() -> impl Strategy<Value = Step> {
    let url = prop_oneof![
        Just("https://git.example/a.git"),
        Just("git@git.example:a"),
        Just("odd://a")
    ];
    let time = option::of(prop_oneof![Just(GitTime::Checkout), Just(GitTime::Commit)]);
    (
        url,
        "[a-z]{0,3}",
        "[a-z]{0,3}",
        maybe(),
        maybe(),
        time,
        any::<[bool; 3]>(),
    )
        .prop_map(
            |(
                url,
                reference,
                subdir,
                checksum,
                secret,
                time,
                [keep_git_dir, skip_submodules, fetch_by_commit],
            )| {
                Step::Git(GitSource {
                    subdir,
                    keep_git_dir,
                    checksum,
                    skip_submodules,
                    auth_token_secret: secret.clone(),
                    auth_header_secret: secret.clone(),
                    known_ssh_hosts: secret.clone(),
                    ssh_socket: secret,
                    time,
                    fetch_by_commit,
                    ..GitSource::new(url, reference)
                })
            },
        )
}

fn https() -> impl Strategy<Value = Step> {
    (
        text(),
        maybe(),
        maybe(),
        option::of(any::<u32>()),
        any::<(u32, u32)>(),
        maybe(),
    )
        .prop_map(|(url, checksum, filename, mode, (uid, gid), header)| {
            let (auth_header_secret, accept, user_agent) = (header.clone(), header.clone(), header);
            Step::Http(HttpSource {
                url,
                checksum,
                filename,
                mode,
                uid,
                gid,
                auth_header_secret,
                accept,
                user_agent,
                platform: None,
            })
        })
}

fn execs() -> impl Strategy<Value = Step> {
    let network = prop_oneof![Just(Network::Sandbox), Just(Network::Host), Just(Network::None)];
    let security = prop_oneof![Just(Security::Sandbox), Just(Security::Insecure)];
    let words = (vec(text(), 1..4), btree_map("[A-Z]{1,4}", text(), 0..4), texts());
    let rights = (network, security, any::<(bool, u32)>(), platform());
    let mounts = vec(("/[a-f]{1,3}", kinds()), 0..5);
    (words, rights, option::of(edge()), mounts).prop_map(|(words, rights, root, mounts)| {
        let (args, env, more) = words;
        let (network, security, (read_only, number), platform) = rights;
        let word = more.first().cloned().unwrap_or_default();
        let exec = Exec {
            args,
            env,
            cwd: word.clone(),
            user: word.clone(),
            hostname: word.clone(),
            extra_hosts: more
                .iter()
                .map(|host| ExtraHost {
                    host: host.clone(),
                    ip: "::1".into(),
                })
                .collect(),
            ulimits: more
                .iter()
                .map(|name| Ulimit {
                    name: name.clone(),
                    soft: 1,
                    hard: -1,
                })
                .collect(),
            cgroup_parent: word.clone(),
            shm_size: read_only.then_some(u64::from(number)),
            proxy: read_only.then(|| ProxyEnv {
                http: word.clone(),
                no: word.clone(),
                ..ProxyEnv::default()
            }),
            network,
            security,
            secret_env: more
                .iter()
                .map(|id| SecretEnv {
                    id: id.clone(),
                    name: id.clone(),
                    optional: read_only,
                })
                .collect(),
            valid_exit_codes: if read_only { vec![0, 3] } else { Vec::new() },
            root: None,
            root_read_only: false,
            root_content_cache: ContentCache::Default,
            mounts: Vec::new(),
            platform,
        };
        Step::Exec(Box::new(exec), root, mounts)
    })
}

fn kinds() -> impl Strategy<Value = Kind> {
    let access = prop_oneof![
        Just(Access::ReadOnly),
        Just(Access::Output),
        Just(Access::Discard)
    ];
    let content = prop_oneof![
        Just(ContentCache::Default),
        Just(ContentCache::On),
        Just(ContentCache::Off)
    ];
    let sharing = prop_oneof![
        Just(Sharing::Shared),
        Just(Sharing::Private),
        Just(Sharing::Locked)
    ];
    let file = || (text(), any::<(u32, u32, u32, bool)>());
    prop_oneof![
        (option::of(edge()), "[a-z]{0,3}", access, content)
            .prop_map(|(source, selector, access, content)| Kind::Bind(source, selector, access, content)),
        (option::of(edge()), text(), sharing).prop_map(|(base, id, sharing)| Kind::Cache(base, id, sharing)),
        option::of(any::<u64>()).prop_map(|size| Kind::Other(MountKind::Tmpfs { size })),
        file().prop_map(|(id, (uid, gid, mode, optional))| {
            Kind::Other(MountKind::Secret(Secret {
                id,
                uid,
                gid,
                mode,
                optional,
            }))
        }),
        file().prop_map(|(id, (uid, gid, mode, optional))| {
            Kind::Other(MountKind::Ssh(Ssh {
                id,
                uid,
                gid,
                mode,
                optional,
            }))
        }),
    ]
}

fn changes() -> impl Strategy<Value = Change> {
    let user = || {
        option::of(prop_oneof![
            any::<u32>().prop_map(User::Id),
            text().prop_map(User::Name)
        ])
    };
    let owner = option::of((user(), user()).prop_map(|(user, group)| Owner { user, group }));
    let time = option::of(any::<i64>().prop_map(Timestamp::from_seconds));
    let made = (text(), any::<u32>(), owner, time, any::<(bool, bool)>());
    prop_oneof![
        (
            edge(),
            text(),
            option::of(any::<u32>()),
            option::of(any::<i64>()),
            texts(),
            any::<[bool; 4]>()
        )
            .prop_map(|(from, path, mode, time, patterns, flags)| Change::Copy(
                from, path, mode, time, patterns, flags
            )),
        made.prop_flat_map(|(path, mode, owner, timestamp, (flag, other))| prop_oneof![
            Just(Change::Mkfile(Mkfile {
                path: path.clone(),
                mode,
                data: path.clone().into_bytes(),
                owner: owner.clone(),
                timestamp
            })),
            Just(Change::Mkdir(Mkdir {
                path: path.clone(),
                mode,
                parents: flag,
                owner: owner.clone(),
                timestamp
            })),
            Just(Change::Rm(Rm {
                path: path.clone(),
                allow_not_found: flag,
                wildcard: other
            })),
            Just(Change::Symlink(Symlink {
                target: path.clone(),
                path,
                owner,
                timestamp
            })),
        ]),
    ]
}
