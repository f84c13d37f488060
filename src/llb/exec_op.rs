//! Processes on the wire (`client/llb/exec.go` of BuildKit).

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use super::caps::Cap;
use super::exec::{Exec, Executed, Network, Security};
use super::graph::{Graph, Output};
use super::metadata::Metadata;
use super::mount::{Access, Bind, Mount, MountKind};
use super::mount_op::Wiring;
use super::path::clean;
use crate::proto::pb;

const ROOT: &str = "/";

impl Graph {
    /// Adds a process.
    pub fn exec(&mut self, mut exec: Exec, metadata: Metadata) -> Executed {
        let mut caps = BTreeSet::from([Cap::ExecBase]);
        if metadata.resources.is_some() {
            caps.insert(Cap::ExecResources);
        }
        let cwd = clean(ROOT, &exec.cwd);
        let mut mounts = all_mounts(&mut exec, &cwd);
        // A parent must be mounted before what lies in it; the root comes first by its name.
        mounts.sort_by(|left, right| {
            let by_dest = if left.rank() == 0 {
                left.dest.cmp(&right.dest)
            } else {
                Ordering::Equal
            };
            left.rank().cmp(&right.rank()).then(by_dest)
        });

        let mut wiring = Wiring::default();
        let wired: Vec<pb::Mount> = mounts.iter().map(|mount| wiring.mount(mount)).collect();
        caps.append(&mut wiring.caps);
        let meta = meta(&mut exec, cwd, &mounts, &mut caps);
        let secretenv = secret_env(&exec, &mut caps);
        let network = match exec.network {
            Network::Sandbox => pb::NetMode::Unset,
            Network::Host => pb::NetMode::Host,
            Network::None => pb::NetMode::None,
        };
        if network != pb::NetMode::Unset {
            caps.insert(Cap::ExecNetwork);
        }
        let security = match exec.security {
            Security::Sandbox => pb::SecurityMode::Sandbox,
            Security::Insecure => pb::SecurityMode::Insecure,
        };
        if security != pb::SecurityMode::Sandbox {
            caps.insert(Cap::ExecSecurity);
        }
        let op = pb::ExecOp {
            meta: Some(meta),
            mounts: wired,
            network: network.into(),
            security: security.into(),
            secretenv,
        };
        let platform = exec.platform.unwrap_or_else(|| self.platform().clone());
        let Wiring { inputs, outputs, .. } = wiring;
        let vertex = self
            .add(pb::op::Op::Exec(op), inputs, Some(&platform), caps, metadata)
            .vertex;
        let mut mounts: BTreeMap<String, Output> = outputs
            .into_iter()
            .map(|(dest, index)| (dest, Output { vertex, index }))
            .collect();
        // Only a read-only root makes no output, and that one has a source.
        let root = mounts
            .remove(ROOT)
            .or(exec.root)
            .unwrap_or(Output { vertex, index: 0 });
        Executed { root, mounts }
    }
}

/// Takes the mounts of a process: root, `/dev/shm` and others, with absolute destinations.
fn all_mounts(exec: &mut Exec, cwd: &str) -> Vec<Mount> {
    let read_only = exec.root_read_only && exec.root.is_some();
    let root = Bind {
        source: exec.root,
        selector: String::new(),
        access: if read_only {
            Access::ReadOnly
        } else {
            Access::Output
        },
        content_cache: exec.root_content_cache,
    };
    let shm = exec.shm_size.map(|size| Mount {
        dest: "/dev/shm".into(),
        kind: MountKind::Tmpfs { size: Some(size) },
    });
    let given = std::mem::take(&mut exec.mounts).into_iter().map(|mut mount| {
        mount.dest = clean(cwd, &mount.dest);
        mount
    });
    [Mount::bind(ROOT, root)]
        .into_iter()
        .chain(shm)
        .chain(given)
        .collect()
}

fn meta(exec: &mut Exec, cwd: String, mounts: &[Mount], caps: &mut BTreeSet<Cap>) -> pb::Meta {
    let mut env = std::mem::take(&mut exec.env);
    let agent = mounts
        .iter()
        .find(|mount| matches!(mount.kind, MountKind::Ssh(_)));
    if let Some(agent) = agent {
        env.entry("SSH_AUTH_SOCK".to_owned())
            .or_insert_with(|| agent.dest.clone());
    }
    let uses = [
        (Cap::ExecDefaultPath, !env.contains_key("PATH")),
        (Cap::ExecProxy, exec.proxy.is_some()),
        (Cap::ExecUlimit, !exec.ulimits.is_empty()),
        (Cap::ExecCgroupParent, !exec.cgroup_parent.is_empty()),
        (Cap::ExecValidExitCodes, !exec.valid_exit_codes.is_empty()),
    ];
    caps.extend(uses.into_iter().filter(|(_, used)| *used).map(|(cap, _)| cap));
    pb::Meta {
        args: std::mem::take(&mut exec.args),
        env: env
            .into_iter()
            .map(|(name, value)| format!("{name}={value}"))
            .collect(),
        cwd,
        user: exec.user.clone(),
        proxy_env: exec.proxy.as_ref().map(|proxy| pb::ProxyEnv {
            http_proxy: proxy.http.clone(),
            https_proxy: proxy.https.clone(),
            ftp_proxy: proxy.ftp.clone(),
            no_proxy: proxy.no.clone(),
            all_proxy: proxy.all.clone(),
        }),
        extra_hosts: exec
            .extra_hosts
            .iter()
            .map(|line| pb::HostIp {
                host: line.host.clone(),
                ip: line.ip.clone(),
            })
            .collect(),
        hostname: exec.hostname.clone(),
        ulimit: exec
            .ulimits
            .iter()
            .map(|limit| pb::Ulimit {
                name: limit.name.clone(),
                soft: limit.soft,
                hard: limit.hard,
            })
            .collect(),
        cgroup_parent: exec.cgroup_parent.clone(),
        // Go's client always asks for it: without, the directories made for mounts stay in the layer.
        remove_mount_stubs_recursive: true,
        valid_exit_codes: exec.valid_exit_codes.clone(),
    }
}

fn secret_env(exec: &Exec, caps: &mut BTreeSet<Cap>) -> Vec<pb::SecretEnv> {
    if !exec.secret_env.is_empty() {
        caps.insert(Cap::ExecSecretEnv);
    }
    let mut secrets: Vec<pb::SecretEnv> = exec
        .secret_env
        .iter()
        .map(|secret| pb::SecretEnv {
            id: secret.id.clone(),
            name: secret.name.clone(),
            optional: secret.optional,
        })
        .collect();
    // Like the environment itself: their order must not make another key.
    secrets.sort_by(|left, right| left.name.cmp(&right.name));
    secrets
}

#[cfg(test)]
mod tests {
    use super::super::testing::{caps, exec};
    use super::super::{ExtraHost, ImageSource, ProxyEnv, SecretEnv, Ulimit};
    use super::*;
    use crate::platform::Platform;

    /// A graph with two images.
    fn images() -> (Graph, Output, Output) {
        let mut graph = Graph::new(Platform::linux_amd64());
        let base = graph.image(ImageSource::new("base"), Metadata::default());
        let other = graph.image(ImageSource::new("other"), Metadata::default());
        (graph, base, other)
    }

    #[test]
    fn a_bare_process() {
        let (mut graph, base, _) = images();
        let ran = graph.exec(
            Exec {
                root: Some(base),
                ..Exec::new(["true"])
            },
            Metadata::default(),
        );
        let op = exec(&graph, ran.root());
        let expected = pb::Meta {
            args: vec!["true".into()],
            cwd: "/".into(),
            remove_mount_stubs_recursive: true,
            ..pb::Meta::default()
        };
        assert_eq!(op.meta, Some(expected));
        let root = pb::Mount {
            dest: "/".into(),
            ..pb::Mount::default()
        };
        assert_eq!(op.mounts, [root], "input 0 and output 0");
        assert_eq!((op.network, op.security, op.secretenv.len()), (0, 0, 0));
        let vertex = graph.vertex(ran.root());
        assert_eq!(vertex.inputs(), [base]);
        assert_eq!(
            vertex.op().platform.as_ref().map(|platform| platform.os.as_str()),
            Some("linux")
        );
        assert_eq!(
            caps(&graph, ran.root()),
            ["exec.meta.base", "exec.meta.setsdefaultpath", "exec.mount.bind"]
        );
    }

    #[test]
    fn everything_about_the_process_is_on_the_wire() {
        let (mut graph, base, _) = images();
        let process = Exec {
            env: BTreeMap::from(
                [("PATH", "/bin"), ("B", "2"), ("A", "1=x")].map(|(k, v)| (k.into(), v.into())),
            ),
            cwd: "work/".into(),
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
                http: "a".into(),
                https: "b".into(),
                ftp: "c".into(),
                no: "d".into(),
                all: "e".into(),
            }),
            network: Network::None,
            security: Security::Insecure,
            valid_exit_codes: vec![0, 3],
            root: Some(base),
            platform: Some(Platform::linux_arm64()),
            ..Exec::new(["sh", "-c", "x"])
        };
        let ran = graph.exec(process, Metadata::default());
        let op = exec(&graph, ran.root());
        let meta = op.meta.as_ref().unwrap();
        assert_eq!(meta.args, ["sh", "-c", "x"]);
        assert_eq!(meta.env, ["A=1=x", "B=2", "PATH=/bin"]);
        assert_eq!(
            (meta.cwd.as_str(), meta.user.as_str(), meta.hostname.as_str()),
            ("/work", "app", "h")
        );
        assert_eq!(
            meta.extra_hosts,
            [pb::HostIp {
                host: "index.example".into(),
                ip: "10.0.0.1".into()
            }]
        );
        assert_eq!(
            meta.ulimit,
            [pb::Ulimit {
                name: "nofile".into(),
                soft: 1,
                hard: 2
            }]
        );
        assert_eq!(
            (meta.cgroup_parent.as_str(), meta.valid_exit_codes.as_slice()),
            ("cg", [0, 3].as_slice())
        );
        let proxy = meta.proxy_env.as_ref().unwrap();
        assert_eq!(
            [&proxy.http_proxy, &proxy.https_proxy, &proxy.ftp_proxy],
            ["a", "b", "c"]
        );
        assert_eq!([&proxy.no_proxy, &proxy.all_proxy], ["d", "e"]);
        assert_eq!(
            (op.network(), op.security()),
            (pb::NetMode::None, pb::SecurityMode::Insecure)
        );
        let platform = graph.vertex(ran.root()).op().platform.clone().unwrap();
        assert_eq!(platform.architecture, "arm64");
        let expected = [
            "exec.meta.base",
            "exec.meta.cgroup.parent",
            "exec.meta.network",
            "exec.meta.proxyenv",
            "exec.meta.security",
            "exec.meta.ulimit",
            "exec.mount.bind",
            "exec.validexitcode",
        ];
        assert_eq!(caps(&graph, ran.root()), expected);
    }

    #[test]
    fn secret_variables_are_sorted_like_others() {
        let (mut graph, base, _) = images();
        let process = Exec {
            root: Some(base),
            secret_env: vec![
                SecretEnv {
                    id: "s2".into(),
                    name: "TOKEN".into(),
                    optional: true,
                },
                SecretEnv {
                    id: "s1".into(),
                    name: "KEY".into(),
                    optional: false,
                },
            ],
            ..Exec::new(["x"])
        };
        let ran = graph.exec(process, Metadata::default());
        let op = exec(&graph, ran.root());
        let secrets: Vec<(&str, &str, bool)> = op
            .secretenv
            .iter()
            .map(|one| (one.id.as_str(), one.name.as_str(), one.optional))
            .collect();
        assert_eq!(secrets, [("s1", "KEY", false), ("s2", "TOKEN", true)]);
        assert!(caps(&graph, ran.root()).contains(&"exec.secretenv"));
    }

    #[test]
    fn a_root_that_is_only_read_is_what_it_was() {
        let (mut graph, base, _) = images();
        let process = Exec {
            root: Some(base),
            root_read_only: true,
            mounts: vec![Mount::output("/out")],
            ..Exec::new(["x"])
        };
        let ran = graph.exec(process, Metadata::default());
        assert_eq!(ran.root(), base);
        let out = ran.mount("/out").unwrap();
        assert_eq!(out.index(), 0);
        let root = &exec(&graph, out).mounts[0];
        assert_eq!((root.readonly, root.output), (true, -1));
    }

    #[test]
    fn an_empty_root_is_written_to() {
        let mut graph = Graph::new(Platform::linux_amd64());
        let process = Exec {
            root_read_only: true,
            ..Exec::new(["/x"])
        };
        let ran = graph.exec(process, Metadata::default());
        let root = &exec(&graph, ran.root()).mounts[0];
        assert_eq!((root.input, root.output, root.readonly), (-1, 0, false));
        assert!(graph.vertex(ran.root()).inputs().is_empty());
        assert!(!caps(&graph, ran.root()).contains(&"exec.mount.bind"));
    }

    #[test]
    fn a_given_agent_socket_stays() {
        let (mut graph, base, _) = images();
        let process = Exec {
            root: Some(base),
            env: BTreeMap::from([("SSH_AUTH_SOCK".to_owned(), "/mine".to_owned())]),
            mounts: vec![Mount::ssh("/agent", "default", false)],
            ..Exec::new(["x"])
        };
        let ran = graph.exec(process, Metadata::default());
        assert_eq!(
            exec(&graph, ran.root()).meta.as_ref().unwrap().env,
            ["SSH_AUTH_SOCK=/mine"]
        );
    }
}
