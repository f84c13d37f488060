//! What NVIDIA publishes for a CUDA toolkit: the names of its images, and what its nvcc compiles for.
//!
//! Tags look regular and are not: patch levels are missing, systems come and go, and cuDNN is spelt in three
//! ways. A table of what was published turns `manifest unknown` after minutes into an error at the right line.

use std::fmt;

use super::cuda_tags::{RELEASES, Release};
use super::findings::Problem;
use super::keys::join_or;
use super::model::Tier;

/// A toolkit's version in three parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Version(pub(super) u32, pub(super) u32, pub(super) u32);

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.0, self.1, self.2)
    }
}

impl Release {
    pub(super) fn version(&self) -> Version {
        Version(self.version.0, self.version.1, self.version.2)
    }

    /// All systems, those with cuDNN first.
    pub(super) fn systems(&self) -> impl Iterator<Item = &'static str> {
        self.with_cudnn.iter().chain(self.without_cudnn).copied()
    }
}

impl Version {
    /// Reads `12.8.1`. A version in two parts is an error that offers the newest patch level.
    pub(super) fn parse(text: &str) -> Result<Self, Problem> {
        let numbers: Option<Vec<u32>> = text
            .split('.')
            .map(|part| part.parse().ok().filter(|_| is_number(part)))
            .collect();
        match numbers.as_deref() {
            Some([major, minor, patch]) => Ok(Self(*major, *minor, *patch)),
            Some([major, minor]) => {
                let help = match newest_patch(*major, *minor) {
                    Some(newest) => format!("write cuda = \"{newest}\", the newest of {text}"),
                    None => format!("write all three parts; {}", around(Self(*major, *minor, 0))),
                };
                Err(Problem::new(
                    format!("CUDA `{text}` lacks the patch level that image tags have"),
                    help,
                ))
            }
            _ => Err(Problem::new(
                format!("`{text}` is not a version of CUDA"),
                format!("write three numbers, such as cuda = \"{}\"", newest()),
            )),
        }
    }

    /// The row of the table; `None` for versions that are newer than it.
    pub(super) fn release(self) -> Result<Option<&'static Release>, Problem> {
        if let Some(release) = RELEASES.iter().find(|release| release.version() == self) {
            return Ok(Some(release));
        }
        if self > newest() || newest_patch(self.0, self.1).is_some_and(|patch| self > patch) {
            return Ok(None);
        }
        Err(Problem::new(
            format!("there are no nvidia/cuda images of CUDA {self}"),
            around(self),
        ))
    }
}

/// The oldest Linux driver that runs what a toolkit of this major version has compiled, when it has compiled for the GPU
/// itself (PTX needs the driver that the toolkit came with): "CUDA Toolkit and Minimum Required Driver Version for CUDA Minor
/// Version Compatibility" in the release notes of CUDA 13.1, December 2025.
pub(super) fn oldest_driver(major: u32) -> Option<&'static str> {
    match major {
        11 => Some("450.80.02"),
        12 => Some("525.60.13"),
        13 => Some("580.65.06"),
        _ => None,
    }
}

/// The Linux driver that a toolkit came with, which compiles its PTX: "CUDA Toolkit and Corresponding Driver Versions" in the
/// release notes of CUDA 13.1, December 2025. One line holds for the patch levels up to the next one.
const DRIVERS: &[(Version, &str)] = &[
    (Version(11, 8, 0), "520.61.05"),
    (Version(12, 0, 0), "525.60.13"),
    (Version(12, 0, 1), "525.85.12"),
    (Version(12, 1, 0), "530.30.02"),
    (Version(12, 2, 0), "535.54.03"),
    (Version(12, 2, 1), "535.86.09"),
    (Version(12, 2, 2), "535.104.05"),
    (Version(12, 3, 0), "545.23.06"),
    (Version(12, 3, 1), "545.23.08"),
    (Version(12, 4, 0), "550.54.14"),
    (Version(12, 4, 1), "550.54.15"),
    (Version(12, 5, 0), "555.42.02"),
    (Version(12, 5, 1), "555.42.06"),
    (Version(12, 6, 0), "560.28.03"),
    (Version(12, 6, 1), "560.35.03"),
    (Version(12, 6, 3), "560.35.05"),
    (Version(12, 8, 0), "570.26"),
    (Version(12, 8, 1), "570.124.06"),
    (Version(12, 9, 0), "575.51.03"),
    (Version(12, 9, 1), "575.57.08"),
    (Version(13, 0, 0), "580.65.06"),
    (Version(13, 0, 1), "580.82.07"),
    (Version(13, 0, 2), "580.95.05"),
    (Version(13, 1, 0), "590.44.01"),
];

/// The driver that a toolkit came with, where it is known.
pub(super) fn own_driver(version: Version) -> Option<&'static str> {
    let (known, driver) = DRIVERS.iter().rev().find(|(known, _)| *known <= version)?;
    ((known.0, known.1) == (version.0, version.1)).then_some(driver)
}

/// The newest toolkit of the table.
pub(super) fn newest() -> Version {
    RELEASES.last().map_or(Version(0, 0, 0), Release::version)
}

/// The newest patch level of `major.minor`.
pub(super) fn newest_patch(major: u32, minor: u32) -> Option<Version> {
    RELEASES
        .iter()
        .rev()
        .map(Release::version)
        .find(|version| (version.0, version.1) == (major, minor))
}

/// Which versions stand next to one that does not exist.
fn around(version: Version) -> String {
    let below = RELEASES
        .iter()
        .rev()
        .map(Release::version)
        .find(|known| *known < version);
    let above = RELEASES
        .iter()
        .map(Release::version)
        .find(|known| *known > version);
    let near: Vec<String> = below
        .into_iter()
        .chain(above)
        .map(|version| format!("\"{version}\""))
        .collect();
    format!("the nearest are {}", near.join(" and "))
}

/// Whether the images of a toolkit and system exist, with the wanted cuDNN.
pub(super) fn published(release: &Release, os: &str, cudnn: bool) -> Result<(), Problem> {
    let version = release.version();
    if !release.systems().any(|system| system == os) {
        let systems: Vec<&str> = release.systems().collect();
        let others: Vec<Version> = RELEASES
            .iter()
            .filter(|other| other.systems().any(|system| system == os))
            .map(Release::version)
            .collect();
        let history = match (others.first(), others.last()) {
            (_, Some(last)) if *last < version => format!("; the last with {os} is {last}"),
            (Some(first), _) if *first > version => format!("; the first with {os} is {first}"),
            _ => String::new(),
        };
        return Err(Problem::new(
            format!("there is no nvidia/cuda image of CUDA {version} on {os}"),
            format!("{version} has {}{history}", systems.join(", ")),
        ));
    }
    if cudnn && !release.with_cudnn.contains(&os) {
        let here = if release.with_cudnn.is_empty() {
            format!("no image of {version} carries it")
        } else {
            format!("{version} has it on {}", release.with_cudnn.join(", "))
        };
        let with = |release: &&Release| release.with_cudnn.contains(&os);
        let below = RELEASES
            .iter()
            .rev()
            .filter(with)
            .map(Release::version)
            .find(|other| *other < version);
        let above = RELEASES
            .iter()
            .filter(with)
            .map(Release::version)
            .find(|other| *other > version);
        let near: Vec<String> = below
            .into_iter()
            .chain(above)
            .map(|version| format!("\"{version}\""))
            .collect();
        let there = if near.is_empty() {
            String::new()
        } else {
            format!("; {os} has it with cuda = {}", join_or(&near))
        };
        return Err(Problem::new(
            format!("there is no nvidia/cuda image of CUDA {version} with cuDNN on {os}"),
            format!("{here}{there}"),
        ));
    }
    Ok(())
}

/// The major version of cuDNN that a toolkit's images carry.
pub(super) fn cudnn_major(release: &Release) -> Option<u64> {
    match release.cudnn {
        "" => None,
        "cudnn8" => Some(8),
        _ => Some(9),
    }
}

/// The newest toolkit whose images carry this major version of cuDNN.
pub(super) fn newest_with_cudnn(major: u64) -> Option<Version> {
    RELEASES
        .iter()
        .rev()
        .find(|release| cudnn_major(release) == Some(major))
        .map(Release::version)
}

/// The reference of a tier. Tier base never carries cuDNN; versions newer than the table spell it as the newest
/// row does.
pub(super) fn reference(
    version: Version,
    release: Option<&Release>,
    os: &str,
    tier: Tier,
    cudnn: bool,
) -> String {
    let word = release.map_or("cudnn", |release| release.cudnn);
    let cudnn = if cudnn && tier != Tier::Base {
        format!("{word}-")
    } else {
        String::new()
    };
    format!("nvidia/cuda:{version}-{cudnn}{}-{os}", tier.as_str())
}

/// Digits without leading zeros.
pub(super) fn is_number(part: &str) -> bool {
    part.chars().all(|c| c.is_ascii_digit()) && (part == "0" || !part.starts_with('0'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(text: &str) -> &'static Release {
        Version::parse(text).unwrap().release().unwrap().unwrap()
    }

    #[test]
    fn the_table_is_sorted_and_says_each_system_once() {
        assert!(RELEASES.windows(2).all(|pair| pair[0].version < pair[1].version));
        for release in RELEASES {
            let mut systems: Vec<&str> = release.systems().collect();
            systems.sort_unstable();
            assert!(
                systems.windows(2).all(|pair| pair[0] != pair[1]),
                "{:?}",
                release.version
            );
            assert_eq!(
                release.cudnn.is_empty(),
                release.with_cudnn.is_empty(),
                "{:?}",
                release.version
            );
        }
    }

    #[test]
    fn every_toolkit_of_the_table_has_an_oldest_driver() {
        assert!(
            RELEASES
                .iter()
                .all(|release| oldest_driver(release.version.0).is_some())
        );
        assert_eq!(oldest_driver(12), Some("525.60.13"));
        assert!(DRIVERS.windows(2).all(|pair| pair[0].0 < pair[1].0));
        assert_eq!(own_driver(Version(12, 6, 2)), Some("560.35.03"));
        assert_eq!(own_driver(Version(12, 3, 2)), Some("545.23.08"));
        assert_eq!(own_driver(Version(11, 7, 1)), None);
    }

    #[test]
    fn cudnn_is_spelt_in_three_ways() {
        for (text, word) in [
            ("12.2.2", "cudnn8-"),
            ("12.3.2", "cudnn9-"),
            ("12.4.1", "cudnn-"),
            ("13.0.2", "cudnn-"),
        ] {
            let version = Version::parse(text).unwrap();
            let reference = reference(version, Some(row(text)), "ubuntu22.04", Tier::Devel, true);
            assert_eq!(reference, format!("nvidia/cuda:{text}-{word}devel-ubuntu22.04"));
        }
        let base = reference(Version(12, 8, 1), Some(row("12.8.1")), "ubi9", Tier::Base, true);
        assert_eq!(base, "nvidia/cuda:12.8.1-base-ubi9");
    }

    #[test]
    fn knows_what_was_published() {
        assert!(published(row("12.8.1"), "ubuntu24.04", true).is_ok());
        assert!(published(row("12.5.1"), "ubuntu24.04", false).is_ok());
        assert!(
            published(row("12.5.1"), "ubuntu24.04", true)
                .unwrap_err()
                .help
                .contains("\"12.6.0\"")
        );
        assert!(
            published(row("13.0.2"), "ubuntu20.04", false)
                .unwrap_err()
                .help
                .contains("the last with ubuntu20.04 is 12.9.1")
        );
        assert!(
            published(row("12.4.1"), "ubuntu24.04", false)
                .unwrap_err()
                .help
                .contains("the first with ubuntu24.04 is 12.5.1")
        );
        assert!(
            published(row("13.1.0"), "ubuntu24.04", true)
                .unwrap_err()
                .help
                .contains("no image of 13.1.0 carries it")
        );
    }

    #[test]
    fn versions() {
        assert!(Version::parse("11.0").unwrap_err().help.contains("\"11.0.3\""));
        assert!(
            Version(12, 7, 0)
                .release()
                .unwrap_err()
                .help
                .contains("\"12.6.3\" and \"12.8.0\"")
        );
        assert!(Version(12, 2, 1).release().is_err());
        assert!(Version(12, 8, 2).release().unwrap().is_none());
        assert!(Version(14, 0, 0).release().unwrap().is_none());
        for text in ["", "12", "12.8.1.0", "12.8.x", "+12.8.1", "12.08.1", "v12.8.1"] {
            assert!(Version::parse(text).is_err(), "{text}");
        }
        assert_eq!(
            (newest_with_cudnn(8), newest_with_cudnn(7)),
            (Some(Version(12, 2, 2)), None)
        );
    }
}
