//! What AMD publishes for a ROCm version: the names of its images.
//!
//! There is one kind of image, `rocm/dev-ubuntu-*`, with compiler and headers, alone or (`-complete`) with the math and
//! communication libraries, whose headers every extension of torch includes. None is for running alone. So tier devel is the
//! complete one, and tiers base and runtime are the system that it is made from (`FROM ubuntu:22.04` in ROCm/ROCm-docker,
//! `dev/Dockerfile-ubuntu-22.04-complete`): what runs there brings its libraries along, as torch for ROCm does, or
//! `gpu.tiers.runtime` names an image with them.

use std::fmt;

use super::cuda::is_number;
use super::findings::Problem;
use super::model::Tier;
use super::toolkits::Toolkit;

/// A version: major, minor, patch level. AMD leaves a patch level of 0 out of tags.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Version(pub(super) u32, pub(super) u32, pub(super) u32);

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.0, self.1)?;
        if self.2 > 0 {
            write!(f, ".{}", self.2)?;
        }
        Ok(())
    }
}

/// Systems with images, and from which version to before which one, where the versions since 6.0 differ: "Operating systems" of
/// ROCm's compatibility matrix (ROCm/ROCm, `docs/compatibility/compatibility-matrix-historical-6.0.csv`, January 2025).
pub(super) const SYSTEMS: &[(&str, Option<Toolkit>, Option<Toolkit>)] = &[
    ("ubuntu20.04", None, Some((6, 2))),
    ("ubuntu22.04", None, None),
    ("ubuntu24.04", Some((6, 2)), None),
];

impl Version {
    /// Reads `6.4` and `6.4.1`. A patch level of 0 is an error: no tag has it.
    pub(super) fn parse(text: &str) -> Result<Self, Problem> {
        let numbers: Option<Vec<u32>> = text
            .split('.')
            .map(|part| part.parse().ok().filter(|_| is_number(part)))
            .collect();
        match numbers.as_deref() {
            Some([major, minor, 0]) => Err(Problem::new(
                format!("ROCm `{text}` has a patch level of 0, which image tags leave out"),
                format!("write rocm = \"{major}.{minor}\""),
            )),
            Some([major, minor]) => Ok(Self(*major, *minor, 0)),
            Some([major, minor, patch]) => Ok(Self(*major, *minor, *patch)),
            _ => Err(Problem::new(
                format!("`{text}` is not a version of ROCm"),
                "write major and minor version, and the patch level when it is not 0: rocm = \"6.4\", rocm = \"6.4.1\"",
            )),
        }
    }
}

/// The systems that there are images of.
pub(super) fn systems() -> impl Iterator<Item = &'static str> {
    SYSTEMS.iter().map(|(name, ..)| *name)
}

/// Whether AMD names a system among those of a version; `None` for a system without any images.
pub(super) fn supports(version: Version, os: &str) -> Option<bool> {
    let (_, from, before) = SYSTEMS.iter().find(|(name, ..)| *name == os)?;
    let version = (version.0, version.1);
    Some(from.is_none_or(|from| from <= version) && before.is_none_or(|before| version < before))
}

/// The reference of a tier. `os` is one of [`systems`].
pub(super) fn reference(version: Version, os: &str, tier: Tier) -> String {
    let number = os.trim_start_matches("ubuntu");
    match tier {
        Tier::Base | Tier::Runtime => format!("ubuntu:{number}"),
        Tier::Devel => format!("rocm/dev-ubuntu-{number}:{version}-complete"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions() {
        assert_eq!(Version::parse("6.4").unwrap(), Version(6, 4, 0));
        assert_eq!(Version::parse("7.1.1").unwrap().to_string(), "7.1.1");
        assert!(
            Version::parse("6.4.0")
                .unwrap_err()
                .help
                .contains("rocm = \"6.4\"")
        );
        for text in ["", "6", "6.4.1.2", "6.x", "v6.4", "6.04", "+6.4", "6.4-complete"] {
            assert!(Version::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn tags_leave_a_patch_level_of_0_out() {
        let devel = |text| reference(Version::parse(text).unwrap(), "ubuntu22.04", Tier::Devel);
        assert_eq!(devel("6.4"), "rocm/dev-ubuntu-22.04:6.4-complete");
        assert_eq!(devel("6.4.1"), "rocm/dev-ubuntu-22.04:6.4.1-complete");
        let runtime = reference(Version(6, 4, 0), "ubuntu24.04", Tier::Runtime);
        assert_eq!(runtime, "ubuntu:24.04");
    }

    #[test]
    fn systems_come_and_go() {
        let supported = |version: (u32, u32), os| supports(Version(version.0, version.1, 0), os);
        assert_eq!(supported((6, 1), "ubuntu24.04"), Some(false));
        assert_eq!(supported((6, 2), "ubuntu24.04"), Some(true));
        assert_eq!(supported((6, 1), "ubuntu20.04"), Some(true));
        assert_eq!(supported((6, 2), "ubuntu20.04"), Some(false));
        assert_eq!(supported((10, 0), "ubuntu22.04"), Some(true));
        assert_eq!(supported((6, 4), "rockylinux9"), None);
        assert!(systems().all(|name| crate::spec::os::find(name).is_ok()));
    }
}
