//! Mounts on the wire, and the inputs and outputs that they make.

use std::collections::{BTreeMap, BTreeSet};

use super::caps::Cap;
use super::graph::Output;
use super::mount::{Access, Bind, Cache, ContentCache, Mount, MountKind, Sharing};
use crate::proto::pb;

/// Says that a mount starts empty, or makes no output.
const NONE: i64 = -1;

/// Numbers the inputs and outputs of mounts while they are written.
#[derive(Debug, Default)]
pub(crate) struct Wiring {
    /// The inputs of the operation.
    pub(crate) inputs: Vec<Output>,
    /// Number of each input: a step that installs has thousands.
    numbers: BTreeMap<Output, i64>,
    /// Destination and number of each output.
    pub(crate) outputs: Vec<(String, u32)>,
    /// What the mounts need.
    pub(crate) caps: BTreeSet<Cap>,
}

impl Wiring {
    fn input(&mut self, source: Option<Output>) -> i64 {
        let Some(source) = source else {
            return NONE;
        };
        *self.numbers.entry(source).or_insert_with(|| {
            self.inputs.push(source);
            i64::try_from(self.inputs.len() - 1).unwrap_or(i64::MAX)
        })
    }

    /// The wire form of one mount.
    pub(crate) fn mount(&mut self, mount: &Mount) -> pb::Mount {
        let dest = mount.dest.clone();
        match &mount.kind {
            MountKind::Bind(bind) => self.bind(dest, bind),
            MountKind::Cache(cache) => self.cache(dest, cache),
            MountKind::Tmpfs { size } => {
                self.caps.insert(Cap::MountTmpfs);
                if size.is_some() {
                    self.caps.insert(Cap::MountTmpfsSize);
                }
                let size = size.map_or(0, |size| i64::try_from(size).unwrap_or(i64::MAX));
                pb::Mount {
                    input: NONE,
                    dest,
                    output: NONE,
                    mount_type: pb::MountType::Tmpfs.into(),
                    tmpfs_opt: Some(pb::TmpfsOpt { size }),
                    ..pb::Mount::default()
                }
            }
            // The output of secrets and agents is ignored; 0 is what Go's client writes.
            MountKind::Secret(secret) => {
                self.caps.insert(Cap::MountSecret);
                pb::Mount {
                    input: NONE,
                    dest,
                    mount_type: pb::MountType::Secret.into(),
                    secret_opt: Some(pb::SecretOpt {
                        id: secret.id.clone(),
                        uid: secret.uid,
                        gid: secret.gid,
                        mode: secret.mode,
                        optional: secret.optional,
                    }),
                    ..pb::Mount::default()
                }
            }
            MountKind::Ssh(ssh) => {
                self.caps.insert(Cap::MountSsh);
                pb::Mount {
                    input: NONE,
                    dest,
                    mount_type: pb::MountType::Ssh.into(),
                    ssh_opt: Some(pb::SshOpt {
                        id: ssh.id.clone(),
                        uid: ssh.uid,
                        gid: ssh.gid,
                        mode: ssh.mode,
                        optional: ssh.optional,
                    }),
                    ..pb::Mount::default()
                }
            }
        }
    }

    fn bind(&mut self, dest: String, bind: &Bind) -> pb::Mount {
        let uses = [
            (Cap::MountBind, bind.source.is_some()),
            (Cap::MountSelector, !bind.selector.is_empty()),
            (
                Cap::MountBindDiscard,
                bind.source.is_some() && bind.access == Access::Discard,
            ),
            (
                Cap::MountContentCache,
                bind.content_cache != ContentCache::Default,
            ),
        ];
        self.caps
            .extend(uses.into_iter().filter(|(_, used)| *used).map(|(cap, _)| cap));
        let output = match bind.access {
            Access::ReadOnly | Access::Discard => NONE,
            Access::Output => {
                let index = u32::try_from(self.outputs.len()).unwrap_or(u32::MAX);
                self.outputs.push((dest.clone(), index));
                i64::from(index)
            }
        };
        let content_cache = match bind.content_cache {
            ContentCache::Default => pb::MountContentCache::Default,
            ContentCache::On => pb::MountContentCache::On,
            ContentCache::Off => pb::MountContentCache::Off,
        };
        pb::Mount {
            input: self.input(bind.source),
            selector: bind.selector.clone(),
            dest,
            output,
            readonly: bind.access == Access::ReadOnly,
            content_cache: content_cache.into(),
            ..pb::Mount::default()
        }
    }

    fn cache(&mut self, dest: String, cache: &Cache) -> pb::Mount {
        self.caps.extend([Cap::MountCache, Cap::MountCacheSharing]);
        if !cache.selector.is_empty() {
            self.caps.insert(Cap::MountSelector);
        }
        let sharing = match cache.sharing {
            Sharing::Shared => pb::CacheSharingOpt::Shared,
            Sharing::Private => pb::CacheSharingOpt::Private,
            Sharing::Locked => pb::CacheSharingOpt::Locked,
        };
        pb::Mount {
            input: self.input(cache.base),
            selector: cache.selector.clone(),
            dest,
            output: NONE,
            mount_type: pb::MountType::Cache.into(),
            cache_opt: Some(pb::CacheOpt {
                id: cache.id.clone(),
                sharing: sharing.into(),
            }),
            ..pb::Mount::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::super::testing::{caps, exec};
    use super::super::{Exec, Graph, ImageSource, Metadata, Secret, Sharing, Ssh};
    use super::*;
    use crate::platform::Platform;

    /// A graph with two images.
    fn images() -> (Graph, Output, Output) {
        let mut graph = Graph::new(Platform::linux_amd64());
        let base = graph.image(ImageSource::new("base"), Metadata::default());
        let other = graph.image(ImageSource::new("other"), Metadata::default());
        (graph, base, other)
    }

    fn with_path(args: &[&str]) -> Exec {
        Exec {
            env: BTreeMap::from([("PATH".to_owned(), "/bin".to_owned())]),
            ..Exec::new(args.iter().copied())
        }
    }

    #[test]
    fn mounts_are_ordered_and_numbered() {
        let (mut graph, base, other) = images();
        let process = Exec {
            root: Some(base),
            cwd: "/src".into(),
            shm_size: Some(1 << 20),
            mounts: vec![
                Mount::ssh("/run/agent", "default", true),
                Mount::output("/wheels"),
                Mount::secret("/a-secret", "netrc", true),
                Mount::read_only("/w/0", other)
                    .selector("a.whl")
                    .content_cache(ContentCache::Off),
                Mount::cache("build", "ccache-4", Sharing::Locked),
                Mount::output("/log/"),
                Mount::bind(
                    "/scratch",
                    Bind {
                        source: Some(other),
                        access: Access::Discard,
                        ..Bind::default()
                    },
                ),
            ],
            ..with_path(&["x"])
        };
        let ran = graph.exec(process, Metadata::default());
        let op = exec(&graph, ran.root());
        let found: Vec<(&str, i64, i64, bool)> = op
            .mounts
            .iter()
            .map(|mount| (mount.dest.as_str(), mount.input, mount.output, mount.readonly))
            .collect();
        let expected = [
            ("/", 0, 0, false),
            ("/dev/shm", -1, -1, false),
            ("/log", -1, 1, false),
            ("/scratch", 1, -1, false),
            ("/src/build", -1, -1, false),
            ("/w/0", 1, -1, true),
            ("/wheels", -1, 2, false),
            ("/a-secret", -1, 0, false),
            ("/run/agent", -1, 0, false),
        ];
        assert_eq!(found, expected);
        assert_eq!(
            graph.vertex(ran.root()).inputs(),
            [base, other],
            "one input, however often it is mounted"
        );
        let outputs = [
            ran.root(),
            ran.mount("/log").unwrap(),
            ran.mount("/wheels/").unwrap(),
        ];
        assert_eq!(outputs.map(Output::index), [0, 1, 2]);
        assert!(
            outputs
                .iter()
                .all(|output| graph.digest(*output) == graph.digest(ran.root()))
        );
        assert_eq!(
            (ran.mount("/scratch"), ran.mount("/w/0"), ran.mount("/none")),
            (None, None, None)
        );
        assert_eq!(
            op.meta.as_ref().unwrap().env,
            ["PATH=/bin", "SSH_AUTH_SOCK=/run/agent"]
        );
        let expected = [
            "exec.meta.base",
            "exec.mount.bind",
            "exec.mount.bind.readwrite-nooutput",
            "exec.mount.cache",
            "exec.mount.cache.content",
            "exec.mount.cache.sharing",
            "exec.mount.secret",
            "exec.mount.selector",
            "exec.mount.ssh",
            "exec.mount.tmpfs",
            "exec.mount.tmpfs.size",
        ];
        assert_eq!(caps(&graph, ran.root()), expected);
    }

    #[test]
    fn the_order_in_which_mounts_are_given_does_not_matter() {
        let digest = |reversed: bool| {
            let (mut graph, base, other) = images();
            let mut mounts = vec![
                Mount::read_only("/b", other),
                Mount::tmpfs("/a"),
                Mount::cache("/c", "c", Sharing::Shared),
            ];
            if reversed {
                mounts.reverse();
            }
            let ran = graph.exec(
                Exec {
                    root: Some(base),
                    mounts,
                    ..Exec::new(["x"])
                },
                Metadata::default(),
            );
            graph.digest(ran.root()).to_owned()
        };
        assert_eq!(digest(false), digest(true));
    }

    #[test]
    fn options_of_mounts_are_on_the_wire() {
        let (mut graph, base, other) = images();
        let secret = Secret {
            id: "s".into(),
            uid: 1,
            gid: 2,
            mode: 0o440,
            optional: false,
        };
        let ssh = Ssh {
            id: "a".into(),
            uid: 3,
            gid: 4,
            mode: 0o660,
            optional: true,
        };
        let cache = Cache {
            id: "c".into(),
            sharing: Sharing::Private,
            base: Some(other),
            selector: "seed".into(),
        };
        let process = Exec {
            root: Some(base),
            root_content_cache: ContentCache::On,
            mounts: vec![
                Mount {
                    dest: "/s".into(),
                    kind: MountKind::Secret(secret),
                },
                Mount {
                    dest: "/a".into(),
                    kind: MountKind::Ssh(ssh),
                },
                Mount {
                    dest: "/c".into(),
                    kind: MountKind::Cache(cache),
                },
                Mount::tmpfs("/t"),
                Mount {
                    dest: "/t2".into(),
                    kind: MountKind::Tmpfs { size: Some(9) },
                },
                Mount::read_only("/r", other).selector("dir"),
            ],
            ..Exec::new(["x"])
        };
        let ran = graph.exec(process, Metadata::default());
        let op = exec(&graph, ran.root());
        let at = |dest: &str| op.mounts.iter().find(|mount| mount.dest == dest).unwrap();
        assert_eq!(at("/").content_cache(), pb::MountContentCache::On);
        let secret = at("/s").secret_opt.as_ref().unwrap();
        assert_eq!(
            (secret.uid, secret.gid, secret.mode, secret.optional),
            (1, 2, 0o440, false)
        );
        assert_eq!(
            (at("/s").mount_type(), secret.id.as_str()),
            (pb::MountType::Secret, "s")
        );
        let agent = at("/a").ssh_opt.as_ref().unwrap();
        assert_eq!(
            (agent.uid, agent.gid, agent.mode, agent.optional),
            (3, 4, 0o660, true)
        );
        assert_eq!(
            (at("/a").mount_type(), agent.id.as_str()),
            (pb::MountType::Ssh, "a")
        );
        let cache = at("/c");
        let options = cache.cache_opt.as_ref().unwrap();
        assert_eq!(
            (cache.mount_type(), cache.input, cache.selector.as_str()),
            (pb::MountType::Cache, 1, "seed")
        );
        assert_eq!(
            (options.id.as_str(), options.sharing()),
            ("c", pb::CacheSharingOpt::Private)
        );
        assert_eq!(
            (at("/t").mount_type(), at("/t").tmpfs_opt),
            (pb::MountType::Tmpfs, Some(pb::TmpfsOpt { size: 0 }))
        );
        assert_eq!(at("/t2").tmpfs_opt, Some(pb::TmpfsOpt { size: 9 }));
        assert_eq!(
            (at("/r").mount_type(), at("/r").selector.as_str()),
            (pb::MountType::Bind, "dir")
        );
    }
}
