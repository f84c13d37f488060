//! What a build needs to know of a member's `pyproject.toml`.
//!
//! The lock pins what is installed, but not what builds a project: its backend and the packages of
//! `[build-system] requires` stand only here (PEP 517, 518 and 621).

use super::PackageName;

/// The parts of one `pyproject.toml` that matter to a build.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Project {
    /// `[project] name`; `None` for a workspace root that is no project itself.
    pub name: Option<PackageName>,
    /// `[project] version`, as written.
    pub version: Option<String>,
    /// Whether `version` is in `[project] dynamic`: it comes from a tag, file or module at build time.
    pub dynamic_version: bool,
    /// `[build-system] build-backend`. `None` means setuptools' legacy backend (PEP 517).
    pub backend: Option<String>,
    /// `[build-system] requires`: the package, and the whole requirement as written (PEP 508).
    /// Without the table it is `setuptools` (PEP 518).
    pub build_requires: Vec<(PackageName, String)>,
    /// Whether it is installed itself: `[tool.uv] package`, else whether there is a `[build-system]`.
    pub package: bool,
}
