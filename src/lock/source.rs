//! Where a package comes from, and what of it is installed.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

use super::document::Table;
use super::reader::Reader;
use super::url;

/// The origin of a locked package (uv's `source = { ... }`).
///
/// URLs carry no user information, apart from the login name of an ssh URL.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Source {
    /// A package index (PEP 503 or 691), or a flat folder of wheels.
    Registry {
        /// URL of the index, or the folder's path relative to the lock.
        url: String,
    },
    /// Files that the lock gives by URL or path, without the index that they are of (`pylock.toml` without `index`).
    Files,
    /// Whichever of some indexes has the pinned files (`requirements.txt` with hashes).
    Indexes(Indexes),
    /// A git repository at one commit.
    Git {
        /// URL of the repository, without query and fragment.
        url: String,
        /// The commit, 40 lower-case hex digits.
        rev: String,
        /// What the project asked for: a tag, branch or revision; `None` for the default branch.
        reference: Option<String>,
        /// Folder of the project inside the repository.
        subdirectory: Option<String>,
        /// A single archive inside the repository that is the package.
        path: Option<String>,
        /// Whether git LFS objects belong to it.
        lfs: bool,
    },
    /// A wheel or source archive at a URL.
    Url {
        /// The URL.
        url: String,
        /// Folder of the project inside the archive.
        subdirectory: Option<String>,
    },
    /// A wheel or source archive in the file system.
    Path {
        /// Relative to the lock.
        path: String,
    },
    /// A project folder that is installed as a copy.
    Directory {
        /// Relative to the lock.
        path: String,
    },
    /// A project folder that is installed as an editable.
    Editable {
        /// Relative to the lock.
        path: String,
    },
    /// A project that is not installed itself, only its dependencies are (`[tool.uv] package = false`).
    Virtual {
        /// Relative to the lock.
        path: String,
    },
}

/// Where an installer looks for packages. The same words as pip's: all are looked at, and hashes decide.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Indexes {
    /// URL of the index; `None` for the installer's own default.
    pub main: Option<String>,
    /// URLs of further indexes.
    pub others: Vec<String>,
    /// URLs of pages that link to files (`--find-links`).
    pub pages: Vec<String>,
}

impl Indexes {
    /// One index and no other.
    pub fn one(url: impl Into<String>) -> Self {
        Self {
            main: Some(url.into()),
            ..Self::default()
        }
    }

    /// Whether there is more than one place to look.
    pub fn is_several(&self) -> bool {
        !self.others.is_empty() || !self.pages.is_empty()
    }
}

impl Source {
    /// The indexes that an installer can ask for it; `None` when it is of none, or the lock does not say which.
    pub fn indexes(&self) -> Option<Indexes> {
        match self {
            Self::Registry { url } => Some(Indexes::one(url)),
            Self::Indexes(indexes) => Some(indexes.clone()),
            _ => None,
        }
    }

    /// Whether it is a project folder whose files, not version, decide what is installed.
    pub fn is_project(&self) -> bool {
        matches!(
            self,
            Self::Directory { .. } | Self::Editable { .. } | Self::Virtual { .. }
        )
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Registry { url } => write!(f, "registry {url}"),
            Self::Files => f.write_str("files"),
            Self::Indexes(indexes) => match &indexes.main {
                Some(url) => write!(f, "index {url}"),
                None => f.write_str("the default index"),
            },
            Self::Git { url, rev, .. } => write!(f, "git {url} at {rev}"),
            Self::Url { url, .. } => write!(f, "url {url}"),
            Self::Path { path } => write!(f, "path {path}"),
            Self::Directory { path } => write!(f, "directory {path}"),
            Self::Editable { path } => write!(f, "editable {path}"),
            Self::Virtual { path } => write!(f, "virtual {path}"),
        }
    }
}

/// What the install step takes for one package.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Artifact {
    /// A wheel that the target can install.
    Wheel {
        /// PEP 427 file name, percent-decoded.
        filename: String,
        /// Absolute URL as the lock gives it (percent-encoded); `None` when it is a file beside the lock.
        url: Option<String>,
        /// Path relative to the lock, for path sources and flat folders.
        path: Option<String>,
        /// Lower-case hex of the SHA-256. `None` when the index gave none (or only another algorithm): such a
        /// file cannot be fetched by checksum, only by way of the index.
        sha256: Option<String>,
        /// Bytes, where the lock knows them.
        size: Option<u64>,
        /// Whether its platform tag is `any` and its ABI tag is `none`.
        pure: bool,
    },
    /// Whichever file of an index has one of some hashes: the lock knows neither name nor URL of any.
    Pinned {
        /// `algorithm:hex` in lower case, sorted.
        hashes: Vec<String>,
    },
    /// A source distribution: no wheel of the lock fits the target.
    Sdist {
        /// File name, percent-decoded.
        filename: String,
        /// Absolute URL as the lock gives it.
        url: Option<String>,
        /// Path relative to the lock.
        path: Option<String>,
        /// As in a wheel.
        sha256: Option<String>,
        /// Bytes, where the lock knows them.
        size: Option<u64>,
        /// Folder of the project inside the archive.
        subdirectory: Option<String>,
    },
    /// A checkout that has to be built.
    Git {
        /// URL of the repository.
        url: String,
        /// 40 lower-case hex digits.
        rev: String,
        /// Folder of the project inside the repository.
        subdirectory: Option<String>,
        /// Always true: uv checks submodules out.
        submodules: bool,
        /// Whether git LFS objects belong to it.
        lfs: bool,
    },
    /// A project folder of the build context.
    Tree {
        /// Relative to the lock; `.` for its own folder.
        path: String,
        /// Whether the lock says that it is installed as an editable.
        editable: bool,
    },
    /// Nothing: a virtual project brings only its dependencies.
    Nothing,
}

impl Artifact {
    /// Bytes that are downloaded, where the lock knows them.
    pub fn size(&self) -> Option<u64> {
        match self {
            Self::Wheel { size, .. } | Self::Sdist { size, .. } => *size,
            Self::Pinned { .. } | Self::Git { .. } | Self::Tree { .. } | Self::Nothing => None,
        }
    }
}

/// A wheel or source distribution as the lock lists it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct File {
    /// The name, where neither URL nor path ends in it. A lock has tens of thousands of files, few of which are looked
    /// at, so what can be made from the other fields is not kept.
    pub(super) name: Option<String>,
    /// Absolute URL.
    pub url: Option<String>,
    /// Path relative to the lock.
    pub path: Option<String>,
    /// The hash as the lock writes it: `sha256:<hex>`; rarely another algorithm, or none.
    pub hash: Option<String>,
    /// Bytes.
    pub size: Option<u64>,
}

impl File {
    /// File name, percent-decoded. It is not empty.
    pub fn filename(&self) -> Cow<'_, str> {
        match (&self.name, &self.url, &self.path) {
            (Some(name), _, _) => Cow::Borrowed(name),
            (None, Some(url), _) => url::filename(url),
            (None, None, path) => {
                let path = path.as_deref().unwrap_or_default();
                Cow::Borrowed(path.rsplit('/').next().unwrap_or(path))
            }
        }
    }

    /// Lower-case hex of the SHA-256, when that is the hash the lock has.
    pub fn sha256(&self) -> Option<&str> {
        self.hash.as_deref()?.strip_prefix("sha256:")
    }
}

/// Reads the table of a source; `None` with a fault noted when it is not one.
pub(super) fn read_source(reader: &mut Reader, span: &Range<usize>, table: &Table<'_>) -> Option<Source> {
    if table.get("registry").is_some() {
        return Some(Source::Registry {
            url: reader.url(table, "registry")?.to_owned(),
        });
    }
    if table.get("git").is_some() {
        let text = reader.url(table, "git")?;
        let source = read_git(text);
        if source.is_none() {
            reader.fault(
                span,
                "a git source must end in `#` and the 40 hex digits of a commit",
            );
        }
        return source;
    }
    if table.get("url").is_some() {
        return Some(Source::Url {
            url: reader.url(table, "url")?.to_owned(),
            subdirectory: reader.optional(table, "subdirectory").map(str::to_owned),
        });
    }
    for key in ["path", "directory", "editable", "virtual"] {
        if table.get(key).is_none() {
            continue;
        }
        let path = reader.optional(table, key)?;
        let path = if path.is_empty() {
            ".".to_owned()
        } else {
            path.to_owned()
        };
        return Some(match key {
            "path" => Source::Path { path },
            "directory" => Source::Directory { path },
            "editable" => Source::Editable { path },
            _ => Source::Virtual { path },
        });
    }
    reader.fault(
        span,
        "this source is none of `registry`, `git`, `url`, `path`, `directory`, `editable` and `virtual`",
    );
    None
}

/// Whether a text is a full commit in lower-case hex.
pub(super) fn is_commit(text: &str) -> bool {
    is_hex(text, 40)
}

/// Whether a text is so many hex digits.
pub(super) fn is_hex(text: &str, digits: usize) -> bool {
    text.len() == digits && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Takes uv's git URL apart: `https://host/repo?subdirectory=x&rev=main#<commit>`.
fn read_git(text: &str) -> Option<Source> {
    let (base, fragment) = text.split_once('#')?;
    let rev = fragment.to_ascii_lowercase();
    if !is_commit(&rev) {
        return None;
    }
    let (repository, query) = base.split_once('?').unwrap_or((base, ""));
    let (mut reference, mut subdirectory, mut path, mut lfs) = (None, None, None, false);
    for (key, value) in url::query(query) {
        match key {
            "tag" | "branch" | "rev" => reference = Some(value),
            "subdirectory" => subdirectory = Some(value),
            "path" => path = Some(value),
            "lfs" => lfs = value.eq_ignore_ascii_case("true"),
            _ => {}
        }
    }
    Some(Source::Git {
        url: repository.to_owned(),
        rev,
        reference,
        subdirectory,
        path,
        lfs,
    })
}
