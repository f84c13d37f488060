//! `[gpu]`: tiers, and whose GPUs they are for.
//!
//! Vendors cut and name their images in ways of their own. [`Tier`] and [`Os`] are the measure for all of them, so that later
//! rooms ask for a tier, and not for the image of a vendor.

use std::collections::BTreeMap;

use toml::Spanned;

/// `[gpu]`, with every tier worked out to an image reference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gpu {
    /// The image reference of each tier: fully qualified (`docker.io/nvidia/cuda:12.8.1-devel-ubuntu22.04`),
    /// `mirror` already applied. Its span is that of what decided it: `tiers.devel`, or `cuda` or `rocm`.
    /// A tier that the spec gives no source for is absent.
    pub tiers: BTreeMap<Tier, Spanned<String>>,
    /// Whose toolkit it is: that of `cuda` or `rocm`, or else that of the `archs`; `None` when nothing says it.
    pub vendor: Option<Vendor>,
    /// `cuda` or `rocm`: the version of the [`vendor`](Self::vendor)'s toolkit.
    pub toolkit: Option<Spanned<String>>,
    /// `os`, such as `ubuntu22.04`, where the spec says it.
    pub os: Option<Spanned<Os>>,
    /// `archs` as written, checked against what the toolkit's compiler can emit: `9.0`, `12.0+PTX`, or `gfx90a`,
    /// `gfx942:xnack-`; all of one vendor. Empty when the spec has none.
    pub archs: Vec<Spanned<String>>,
    /// `mirror`: host of a pull-through registry; replaces the registry's host of every image reference.
    pub mirror: Option<Spanned<String>>,
}

/// The three kinds of base image that GPU vendors publish, smallest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Tier {
    /// Driver interface only: `nvidia/cuda:*-base-*`; for ROCm the operating system, `ubuntu:*`.
    Base,
    /// The toolkit's shared libraries: `nvidia/cuda:*-runtime-*`. AMD publishes none; for ROCm it is [`Tier::Base`]'s.
    Runtime,
    /// Compiler and headers: `nvidia/cuda:*-devel-*`, `rocm/dev-ubuntu-*:*-complete`.
    Devel,
}

impl Tier {
    /// All tiers, smallest first.
    pub const ALL: [Self; 3] = [Self::Base, Self::Runtime, Self::Devel];

    /// The word in a spec and in a tag.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Base => "base",
            Self::Runtime => "runtime",
            Self::Devel => "devel",
        }
    }
}

/// Whose GPUs are compiled for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Vendor {
    /// NVIDIA's, with CUDA.
    Nvidia,
    /// AMD's, with ROCm.
    Amd,
}

impl Vendor {
    /// The name of the vendor's toolkit.
    pub fn toolkit(self) -> &'static str {
        match self {
            Self::Nvidia => "CUDA",
            Self::Amd => "ROCm",
        }
    }
}

/// An operating system that vendors publish tiers for.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Os {
    /// As in the tag: `ubuntu22.04`, `rockylinux9`, `ubi9`.
    pub name: String,
    /// Which package manager it has.
    pub family: OsFamily,
    /// Its C library's version, major and minor (glibc): `(2, 35)`.
    pub glibc: (u32, u32),
    /// Minor versions of Python 3 that its own packages offer, first the default one: `[10]`.
    pub pythons: Vec<u32>,
}

/// Package manager family.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum OsFamily {
    /// `apt-get`.
    Debian,
    /// `dnf` or `microdnf`.
    RedHat,
}
