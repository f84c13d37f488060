//! What a process sees besides its root file system.

use super::graph::Output;

/// Something mounted into a process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mount {
    /// Where; a relative path counts from the working directory. No two mounts may share one.
    pub dest: String,
    /// What.
    pub kind: MountKind,
}

/// The kinds of mount.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MountKind {
    /// The file system of another vertex.
    Bind(Bind),
    /// A directory that stays on the builder between builds.
    Cache(Cache),
    /// Memory.
    Tmpfs {
        /// Bytes; `None` is no limit.
        size: Option<u64>,
    },
    /// A file whose content the client keeps to itself.
    Secret(Secret),
    /// The socket of an SSH agent of the client.
    Ssh(Ssh),
}

/// What becomes of a bind mount's changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Access {
    /// There are none.
    #[default]
    ReadOnly,
    /// They are an output of the process.
    Output,
    /// They are thrown away.
    Discard,
}

/// Whether the content of a mount may stand in for its definition in the cache key (BuildKit 0.13).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum ContentCache {
    /// As BuildKit decides: yes for mounts that make no output, except the root.
    #[default]
    Default,
    /// Yes.
    On,
    /// No. Right where the definition is exact already, because BuildKit then reads none of the bytes.
    Off,
}

/// The file system of another vertex.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Bind {
    /// The file system; empty when `None`.
    pub source: Option<Output>,
    /// A directory or file of it; all of it when empty.
    pub selector: String,
    /// What becomes of changes.
    pub access: Access,
    /// How it is keyed.
    pub content_cache: ContentCache,
}

/// Who may use a cache at the same time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Sharing {
    /// Everybody.
    #[default]
    Shared,
    /// One at a time; others get a directory of their own.
    Private,
    /// One at a time; others wait.
    Locked,
}

/// A directory that stays on the builder between builds.
///
/// BuildKit 0.13 and later leave id and sharing out of the cache key, unless the id is the destination or
/// `<namespace>/<destination>` and the sharing is [`Sharing::Shared`].
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Cache {
    /// What makes two caches one.
    pub id: String,
    /// Who may use it at the same time.
    pub sharing: Sharing,
    /// What it holds when it is made.
    pub base: Option<Output>,
    /// The directory of `base`; all of it when empty.
    pub selector: String,
}

/// A secret as a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Secret {
    /// The client's id of it.
    pub id: String,
    /// Owner of the file.
    pub uid: u32,
    /// Group of the file.
    pub gid: u32,
    /// Permission bits.
    pub mode: u32,
    /// Run without it when the client has none.
    pub optional: bool,
}

/// The socket of an SSH agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ssh {
    /// The client's id of it.
    pub id: String,
    /// Owner of the socket.
    pub uid: u32,
    /// Group of the socket.
    pub gid: u32,
    /// Permission bits.
    pub mode: u32,
    /// Run without it when the client has none.
    pub optional: bool,
}

impl Mount {
    /// A bind mount.
    pub fn bind(dest: impl Into<String>, bind: Bind) -> Self {
        Self {
            dest: dest.into(),
            kind: MountKind::Bind(bind),
        }
    }

    /// A file system that the process can only read; keyed by content.
    pub fn read_only(dest: impl Into<String>, source: Output) -> Self {
        Self::bind(
            dest,
            Bind {
                source: Some(source),
                ..Bind::default()
            },
        )
    }

    /// An empty directory whose content at the end is an output of the process.
    pub fn output(dest: impl Into<String>) -> Self {
        Self::bind(
            dest,
            Bind {
                access: Access::Output,
                ..Bind::default()
            },
        )
    }

    /// A directory that stays on the builder between builds.
    pub fn cache(dest: impl Into<String>, id: impl Into<String>, sharing: Sharing) -> Self {
        let cache = Cache {
            id: id.into(),
            sharing,
            ..Cache::default()
        };
        Self {
            dest: dest.into(),
            kind: MountKind::Cache(cache),
        }
    }

    /// Memory without a limit.
    pub fn tmpfs(dest: impl Into<String>) -> Self {
        Self {
            dest: dest.into(),
            kind: MountKind::Tmpfs { size: None },
        }
    }

    /// A secret that only root can read.
    pub fn secret(dest: impl Into<String>, id: impl Into<String>, optional: bool) -> Self {
        let secret = Secret {
            id: id.into(),
            uid: 0,
            gid: 0,
            mode: 0o400,
            optional,
        };
        Self {
            dest: dest.into(),
            kind: MountKind::Secret(secret),
        }
    }

    /// An SSH agent that only root can use.
    pub fn ssh(dest: impl Into<String>, id: impl Into<String>, optional: bool) -> Self {
        let ssh = Ssh {
            id: id.into(),
            uid: 0,
            gid: 0,
            mode: 0o600,
            optional,
        };
        Self {
            dest: dest.into(),
            kind: MountKind::Ssh(ssh),
        }
    }

    /// Mounts only a directory or file of the source. Without effect on mounts that have none.
    #[must_use]
    pub fn selector(mut self, path: impl Into<String>) -> Self {
        match &mut self.kind {
            MountKind::Bind(bind) => bind.selector = path.into(),
            MountKind::Cache(cache) => cache.selector = path.into(),
            MountKind::Tmpfs { .. } | MountKind::Secret(_) | MountKind::Ssh(_) => {}
        }
        self
    }

    /// Sets how a bind mount is keyed. Without effect on other mounts.
    #[must_use]
    pub fn content_cache(mut self, content_cache: ContentCache) -> Self {
        if let MountKind::Bind(bind) = &mut self.kind {
            bind.content_cache = content_cache;
        }
        self
    }

    /// Position among the kinds: BuildKit's own client puts file systems first, by destination, then secrets,
    /// then agents.
    pub(crate) fn rank(&self) -> u8 {
        match self.kind {
            MountKind::Bind(_) | MountKind::Cache(_) | MountKind::Tmpfs { .. } => 0,
            MountKind::Secret(_) => 1,
            MountKind::Ssh(_) => 2,
        }
    }
}
