//! `[images.NAME]`: one image that is built.
//!
//! It says which packages and wheels are in it, and what a container of it is. How any of them is made stands elsewhere in the
//! file, so that images of one file can share it.

use std::collections::{BTreeMap, BTreeSet};

use toml::Spanned;

use super::{Requirement, Tier};

/// `[images.NAME]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Image {
    /// The name with its place.
    pub name: Spanned<String>,
    /// `tier`; `runtime` by default.
    pub tier: Spanned<Tier>,
    /// `*` in `packages`: everything that the lock installs.
    pub everything: Option<Spanned<()>>,
    /// `packages`: roots in the lock.
    pub packages: Vec<Spanned<Requirement>>,
    /// `extras`: extras of every root that has them.
    pub extras: Vec<Spanned<String>>,
    /// `groups`: dependency groups (PEP 735) of the roots.
    pub groups: Vec<Spanned<String>>,
    /// `wheels`: names of `[wheels]`, normalised.
    pub wheels: Vec<Spanned<String>>,
    /// `system`: operating system packages beside `system.runtime`.
    pub system: BTreeSet<String>,
    /// `copy`, in order.
    pub copy: Vec<Copy>,
    /// `env`.
    pub env: BTreeMap<String, String>,
    /// `user`: `name`, `uid` or `uid:gid`.
    pub user: Option<Spanned<String>>,
    /// `workdir`, absolute.
    pub workdir: Option<String>,
    /// `entrypoint`; `None` keeps the tier's.
    pub entrypoint: Option<Vec<String>>,
    /// `cmd`; `None` keeps the tier's.
    pub cmd: Option<Vec<String>>,
    /// `description`: a line for people. No part of the image.
    pub description: Option<String>,
    /// `labels`.
    pub labels: BTreeMap<String, String>,
    /// `ports`, such as `8000/tcp`.
    pub ports: BTreeSet<String>,
    /// `imports`: modules that must import in the image, in this order, in one process.
    pub imports: Vec<Spanned<String>>,
    /// `forbid`: what must not be in the finished image.
    pub forbid: Forbid,
}

/// `copy = [{ from, to }]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Copy {
    /// Path in the build context: a file, or a folder whose content is copied.
    pub from: Spanned<String>,
    /// Absolute path in the image.
    pub to: String,
}

/// `[images.NAME.forbid]`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Forbid {
    /// Absolute paths, or patterns with `*`, `?` and `**` over the whole path.
    pub paths: Vec<Spanned<String>>,
}
