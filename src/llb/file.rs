//! What can be done to files without a process.

use super::graph::Output;

/// A modification time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp {
    pub(crate) nanoseconds: i64,
}

impl Timestamp {
    /// Whole seconds since 1970, the unit of `SOURCE_DATE_EPOCH`.
    pub const fn from_seconds(seconds: i64) -> Self {
        Self {
            nanoseconds: seconds.saturating_mul(1_000_000_000),
        }
    }
}

/// A user or a group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum User {
    /// By number.
    Id(u32),
    /// By name, looked up in `/etc/passwd` or `/etc/group` of the base, which makes that file a part of the
    /// cache key. BuildKit fails when there is no base.
    Name(String),
}

/// An owner; what is `None` becomes root.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Owner {
    /// The user.
    pub user: Option<User>,
    /// The group.
    pub group: Option<User>,
}

impl Owner {
    /// User and group by number.
    pub fn ids(uid: u32, gid: u32) -> Self {
        Self {
            user: Some(User::Id(uid)),
            group: Some(User::Id(gid)),
        }
    }
}

/// Copies from another file system.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is one flag of BuildKit's FileActionCopy"
)]
pub struct Copy {
    /// The file system; keyed by the content of what is copied.
    pub from: Output,
    /// Path in `from`.
    pub src: String,
    /// Path in the result; a slash at the end says that it is a directory.
    pub dest: String,
    /// Owner of the copies; the one they have when `None`.
    pub owner: Option<Owner>,
    /// Permission bits of the copies; those they have when `None`.
    pub mode: Option<u32>,
    /// Follow symbolic links in `src`.
    pub follow_symlinks: bool,
    /// Copy what is in a directory, not the directory.
    pub contents_only: bool,
    /// Unpack an archive.
    pub unpack: bool,
    /// Make the directories above `dest`.
    pub create_dest_path: bool,
    /// `src` is a pattern of Go's `filepath.Match`.
    pub wildcard: bool,
    /// A pattern may match nothing.
    pub allow_empty_wildcard: bool,
    /// Modification time of the copies; the one they have when `None`.
    pub timestamp: Option<Timestamp>,
    /// Only what matches one of these.
    pub include: Vec<String>,
    /// Not what matches one of these.
    pub exclude: Vec<String>,
    /// Paths that must be among what `include` finds.
    pub required: Vec<String>,
    /// Replace what is of another kind, such as a directory by a file, instead of failing.
    pub always_replace: bool,
}

impl Copy {
    /// A copy that keeps owner, mode and time, and makes the directories above `dest`.
    pub fn new(from: Output, src: impl Into<String>, dest: impl Into<String>) -> Self {
        Self {
            from,
            src: src.into(),
            dest: dest.into(),
            owner: None,
            mode: None,
            follow_symlinks: false,
            contents_only: false,
            unpack: false,
            create_dest_path: true,
            wildcard: false,
            allow_empty_wildcard: false,
            timestamp: None,
            include: Vec::new(),
            exclude: Vec::new(),
            required: Vec::new(),
            always_replace: false,
        }
    }
}

/// Makes a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mkfile {
    /// Where. The directory must be there.
    pub path: String,
    /// Permission bits.
    pub mode: u32,
    /// Its bytes.
    pub data: Vec<u8>,
    /// Its owner; root when `None`.
    pub owner: Option<Owner>,
    /// Its modification time. `None` is the time of the build, which makes another layer every time.
    pub timestamp: Option<Timestamp>,
}

impl Mkfile {
    /// A file of root that everybody can read.
    pub fn new(path: impl Into<String>, data: impl Into<Vec<u8>>) -> Self {
        Self {
            path: path.into(),
            mode: 0o644,
            data: data.into(),
            owner: None,
            timestamp: None,
        }
    }
}

/// Makes a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mkdir {
    /// Where.
    pub path: String,
    /// Permission bits.
    pub mode: u32,
    /// Make the directories above it too; then it is no failure when it is there.
    pub parents: bool,
    /// Its owner; root when `None`.
    pub owner: Option<Owner>,
    /// As [`Mkfile::timestamp`].
    pub timestamp: Option<Timestamp>,
}

impl Mkdir {
    /// A directory of root that everybody can enter, with those above it.
    pub fn new(path: impl Into<String>) -> Self {
        Self {
            path: path.into(),
            mode: 0o755,
            parents: true,
            owner: None,
            timestamp: None,
        }
    }
}

/// Removes a file or directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rm {
    /// What.
    pub path: String,
    /// It is no failure when it is not there.
    pub allow_not_found: bool,
    /// `path` is a pattern of Go's `filepath.Match`.
    pub wildcard: bool,
}

impl Rm {
    /// Removes what must be there.
    pub fn new(path: impl Into<String>) -> Self {
        Self {
            path: path.into(),
            allow_not_found: false,
            wildcard: false,
        }
    }
}

/// Makes a symbolic link (BuildKit 0.19).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Symlink {
    /// What the link says, as it stands.
    pub target: String,
    /// Where the link is.
    pub path: String,
    /// Its owner; root when `None`.
    pub owner: Option<Owner>,
    /// As [`Mkfile::timestamp`].
    pub timestamp: Option<Timestamp>,
}

impl Symlink {
    /// A link of root.
    pub fn new(target: impl Into<String>, path: impl Into<String>) -> Self {
        Self {
            target: target.into(),
            path: path.into(),
            owner: None,
            timestamp: None,
        }
    }
}

/// One step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// Copies.
    Copy(Copy),
    /// Makes a file.
    Mkfile(Mkfile),
    /// Makes a directory.
    Mkdir(Mkdir),
    /// Removes.
    Rm(Rm),
    /// Makes a link.
    Symlink(Symlink),
}

/// Steps, each on the result of the one before.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct File {
    /// What the first step starts from; empty when `None`.
    pub base: Option<Output>,
    /// The steps.
    pub actions: Vec<Action>,
}

impl File {
    /// Steps on an empty file system.
    pub fn scratch() -> Self {
        Self::default()
    }

    /// Steps on another file system.
    pub fn on(base: Output) -> Self {
        Self {
            base: Some(base),
            actions: Vec::new(),
        }
    }

    /// Adds a step.
    #[must_use]
    pub fn action(mut self, action: Action) -> Self {
        self.actions.push(action);
        self
    }

    /// Adds a copy.
    #[must_use]
    pub fn copy(self, copy: Copy) -> Self {
        self.action(Action::Copy(copy))
    }

    /// Adds a file.
    #[must_use]
    pub fn mkfile(self, mkfile: Mkfile) -> Self {
        self.action(Action::Mkfile(mkfile))
    }

    /// Adds a directory.
    #[must_use]
    pub fn mkdir(self, mkdir: Mkdir) -> Self {
        self.action(Action::Mkdir(mkdir))
    }

    /// Adds a removal.
    #[must_use]
    pub fn rm(self, rm: Rm) -> Self {
        self.action(Action::Rm(rm))
    }

    /// Adds a link.
    #[must_use]
    pub fn symlink(self, symlink: Symlink) -> Self {
        self.action(Action::Symlink(symlink))
    }
}
