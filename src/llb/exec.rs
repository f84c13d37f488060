//! What a process is given and what it gives.

use std::collections::BTreeMap;

use super::graph::Output;
use super::mount::{ContentCache, Mount};
use super::path::clean;
use crate::platform::Platform;

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

/// What a process may use of the machine at most (BuildKit 0.31). It is said beside the process, in its
/// [`Metadata`](super::Metadata), and no part of its cache key.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Resources {
    /// Bytes of memory.
    pub memory: Option<i64>,
    /// Bytes of memory and swap together; -1 is no limit.
    pub memory_swap: Option<i64>,
    /// Weight among other processes.
    pub cpu_shares: Option<u64>,
    /// Length of a period of the scheduler, in microseconds.
    pub cpu_period: Option<u64>,
    /// Processor time in each period, in microseconds.
    pub cpu_quota: Option<i64>,
    /// Processors, such as `0-3,7`; all when empty.
    pub cpus: String,
    /// Memory nodes, likewise.
    pub memory_nodes: String,
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
    pub(crate) root: Output,
    pub(crate) mounts: BTreeMap<String, Output>,
}

impl Executed {
    /// The root file system as the process left it; a read-only root as it was.
    pub fn root(&self) -> Output {
        self.root
    }

    /// What the process left in a mount with [`Access::Output`](super::Access::Output), by its absolute destination.
    pub fn mount(&self, dest: &str) -> Option<Output> {
        self.mounts.get(&clean("/", dest)).copied()
    }
}
