//! `[python]`: the interpreter, and how packages reach it.
//!
//! Every step of a package runs the interpreter, wherever it comes from; so its [`Provider`] is decided once, for all tiers.

use std::collections::BTreeMap;

use toml::Spanned;

use super::Download;

/// `[python]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Python {
    /// `version`: major and minor, such as `(3, 12)`.
    pub version: Spanned<(u32, u32)>,
    /// `lock`: path of the lockfile relative to the build context, `uv.lock` by default.
    pub lock: Spanned<String>,
    /// `provider`, with `auto` already decided where the OS is known.
    pub provider: Provider,
    /// `fetch`.
    pub fetch: Fetch,
}

/// Where the interpreter comes from. It stands at the same path in every tier.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Provider {
    /// The operating system's own: `/usr/bin/python3.X`, installed by its package manager when missing.
    System,
    /// A relocatable build (python-build-standalone's `install_only` shape: one top folder with `bin/python3.X`),
    /// unpacked to `/opt/python`. One archive for each architecture that was given.
    Archive {
        /// By Go architecture name (`amd64`); a single archive of the spec counts for `amd64`.
        archives: BTreeMap<String, Download>,
    },
    /// A folder of an image, copied to `/opt/python`.
    Image {
        /// Fully qualified reference, mirror applied.
        reference: Spanned<String>,
        /// Absolute path of the folder that holds `bin/python3.X`.
        path: String,
    },
}

impl Provider {
    /// The image that the interpreter comes from, if it comes from one.
    pub fn image(&self) -> Option<&Spanned<String>> {
        match self {
            Self::Image { reference, .. } => Some(reference),
            _ => None,
        }
    }
}

/// How wheels reach the install steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fetch {
    /// By file where the lock gives a URL and a hash, from the index otherwise.
    Auto,
    /// Each wheel is a checksummed http source of BuildKit; installs have no network.
    File,
    /// uv fetches from the index inside the step, through its cache mount.
    Index,
}
