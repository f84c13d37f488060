//! Processes (`client/llb/exec.go` of BuildKit).

use std::collections::{BTreeMap, BTreeSet};

use super::caps::Cap;
use super::graph::{Graph, Output};
use super::metadata::Metadata;
use super::mount::{Access, Bind, ContentCache, Mount, MountKind, Wiring};
use super::path::clean;
use crate::platform::Platform;
use crate::proto::pb;

const ROOT: &str = "/";

/// The network of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Network {
    /// One of its own, with a way out.
    #[default]
    Sandbox,
    /// The builder's; the client must allow it (`network.host`).
    Host,
    /// Loopback alone.
    None,
}

/// The rights of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Security {
    /// Those of a container.
    #[default]
    Sandbox,
    /// All; the client must allow it (`security.insecure`).
    Insecure,
}

/// A line of `/etc/hosts`. The name is part of the cache key, the address is not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExtraHost {
    /// Host name.
    pub host: String,
    /// IP address.
    pub ip: String,
}

/// A resource limit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ulimit {
    /// Such as `nofile`.
    pub name: String,
    /// What the process starts with.
    pub soft: i64,
    /// What it may raise it to.
    pub hard: i64,
}

/// Proxy variables, in upper and lower case, that are not part of the cache key.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ProxyEnv {
    /// `HTTP_PROXY`.
    pub http: String,
    /// `HTTPS_PROXY`.
    pub https: String,
    /// `FTP_PROXY`.
    pub ftp: String,
    /// `NO_PROXY`.
    pub no: String,
    /// `ALL_PROXY`.
    pub all: String,
}

/// An environment variable whose value is a secret. Its value is never part of the cache key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SecretEnv {
    /// The client's id of the secret.
    pub id: String,
    /// The variable.
    pub name: String,
    /// Run without it when the client has none.
    pub optional: bool,
}

/// A process. Everything here but proxy variables, addresses of hosts, and ids of caches is part of its cache
/// key.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Exec {
    /// The program and its arguments.
    pub args: Vec<String>,
    /// The environment; sorted because its order is part of the key. BuildKit adds a `PATH` when there is none.
    pub env: BTreeMap<String, String>,
    /// Working directory; `/` when empty.
    pub cwd: String,
    /// `user[:group]`, names or numbers; root when empty.
    pub user: String,
    /// Host name.
    pub hostname: String,
    /// Further lines of `/etc/hosts`.
    pub extra_hosts: Vec<ExtraHost>,
    /// Resource limits.
    pub ulimits: Vec<Ulimit>,
    /// The cgroup above the process's own.
    pub cgroup_parent: String,
    /// Bytes of `/dev/shm`; BuildKit's default when `None`.
    pub shm_size: Option<u64>,
    /// Proxy variables.
    pub proxy: Option<ProxyEnv>,
    /// The network.
    pub network: Network,
    /// The rights.
    pub security: Security,
    /// Secrets in the environment.
    pub secret_env: Vec<SecretEnv>,
    /// Exit codes that are no failure; 0 alone when empty.
    pub valid_exit_codes: Vec<i32>,
    /// The root file system; empty when `None`.
    pub root: Option<Output>,
    /// Whether the process can only read the root. An empty root is never read-only.
    pub root_read_only: bool,
    /// How the root is keyed. BuildKit never does it by content unless told to.
    pub root_content_cache: ContentCache,
    /// What is mounted besides the root, in any order.
    pub mounts: Vec<Mount>,
    /// The graph's platform when `None`.
    pub platform: Option<Platform>,
}

impl Exec {
    /// A process on an empty root.
    pub fn new<S: Into<String>>(args: impl IntoIterator<Item = S>) -> Self {
        Self {
            args: args.into_iter().map(Into::into).collect(),
            ..Self::default()
        }
    }
}

/// The outputs of a process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Executed {
    root: Output,
    mounts: BTreeMap<String, Output>,
}

impl Executed {
    /// The root file system as the process left it; a read-only root as it was.
    pub fn root(&self) -> Output {
        self.root
    }

    /// What the process left in a mount with [`Access::Output`], by its absolute destination.
    pub fn mount(&self, dest: &str) -> Option<Output> {
        self.mounts.get(&clean(ROOT, dest)).copied()
    }
}

impl Graph {
    /// Adds a process.
    pub fn exec(&mut self, exec: Exec, metadata: Metadata) -> Executed {
        let mut caps = BTreeSet::from([Cap::ExecBase]);
        let cwd = clean(ROOT, &exec.cwd);
        let mut mounts = all_mounts(&exec, &cwd);
        // A parent must be mounted before what lies in it; the root comes first by its name.
        mounts.sort_by(|left, right| {
            let by_dest = if left.rank() == 0 {
                left.dest.cmp(&right.dest)
            } else {
                std::cmp::Ordering::Equal
            };
            left.rank().cmp(&right.rank()).then(by_dest)
        });

        let mut wiring = Wiring::default();
        let wired: Vec<pb::Mount> = mounts.iter().map(|mount| wiring.mount(mount)).collect();
        caps.append(&mut wiring.caps);
        let meta = meta(&exec, cwd, &mounts, &mut caps);
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

/// Root, `/dev/shm` and mounts, with absolute destinations.
fn all_mounts(exec: &Exec, cwd: &str) -> Vec<Mount> {
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
    let given = exec.mounts.iter().cloned().map(|mut mount| {
        mount.dest = clean(cwd, &mount.dest);
        mount
    });
    [Mount::bind(ROOT, root)]
        .into_iter()
        .chain(shm)
        .chain(given)
        .collect()
}

fn meta(exec: &Exec, cwd: String, mounts: &[Mount], caps: &mut BTreeSet<Cap>) -> pb::Meta {
    let mut env = exec.env.clone();
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
        args: exec.args.clone(),
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
