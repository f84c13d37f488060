//! Targets of AMD's GPUs: how they are written, and which ROCm's compiler compiles for which.
//!
//! A target is a processor with, where it has them, settings of two features (clang's "target ID", LLVM's *User Guide for
//! AMDGPU Backend*): `gfx90a`, `gfx90a:xnack+`, `gfx942:sramecc+:xnack-`. Which processors a version compiles for is that
//! of its LLVM: ROCm 6.0 and 6.1 are LLVM 17, 6.2 and 6.3 LLVM 18 (ROCm's compatibility matrix), 6.4 LLVM 19, 7.0 and 7.1
//! LLVM 20 (packages of `EasyBuild` and Gentoo), and 7.2 is taken to be LLVM 22. AMD's branches are ahead of a release of
//! LLVM: gfx950 came with 7.0. As of July 2026; ROCm 7.14 and 10.0, whose numbers follow on 7.2, are not in the table.

use std::collections::BTreeSet;

use super::findings::Problem;
use super::rocm::Version;
use super::toolkits::{Row, Table, Toolkit};
use crate::diagnostic::nearest;

/// What the compiler knows of a GPU.
#[derive(Debug, PartialEq)]
struct Processor {
    name: &'static str,
    /// The features that it has settings of: error correction of its memory, and the replay of page faults.
    features: &'static [&'static str],
}

const NONE: &[&str] = &[];
const XNACK: &[&str] = &["xnack"];
const SRAMECC_XNACK: &[&str] = &["sramecc", "xnack"];

const fn processor(name: &'static str, features: &'static [&'static str]) -> Processor {
    Processor { name, features }
}

const TABLE: Table<Processor> = Table {
    releases: &[
        ((6, 0), "2023-12"),
        ((6, 2), "2024-08"),
        ((6, 4), "2025-04"),
        ((7, 0), "2025-09"),
        ((7, 2), "2026-01"),
    ],
    targets: &[
        Row::since((6, 0), processor("gfx801", XNACK)),
        Row::since((6, 0), processor("gfx802", NONE)),
        Row::since((6, 0), processor("gfx803", NONE)),
        Row::since((6, 0), processor("gfx805", NONE)),
        Row::since((6, 0), processor("gfx810", XNACK)),
        Row::since((6, 0), processor("gfx900", XNACK)),
        Row::since((6, 0), processor("gfx902", XNACK)),
        Row::since((6, 0), processor("gfx904", XNACK)),
        Row::since((6, 0), processor("gfx906", SRAMECC_XNACK)),
        Row::since((6, 0), processor("gfx908", SRAMECC_XNACK)),
        Row::since((6, 0), processor("gfx909", XNACK)),
        Row::since((6, 0), processor("gfx90a", SRAMECC_XNACK)),
        Row::since((6, 0), processor("gfx90c", XNACK)),
        Row::between((6, 0), (7, 2), processor("gfx940", SRAMECC_XNACK)),
        Row::between((6, 0), (7, 2), processor("gfx941", SRAMECC_XNACK)),
        Row::since((6, 0), processor("gfx942", SRAMECC_XNACK)),
        Row::since((7, 0), processor("gfx950", SRAMECC_XNACK)),
        Row::since((6, 0), processor("gfx1010", XNACK)),
        Row::since((6, 0), processor("gfx1011", XNACK)),
        Row::since((6, 0), processor("gfx1012", XNACK)),
        Row::since((6, 0), processor("gfx1013", XNACK)),
        Row::since((6, 0), processor("gfx1030", NONE)),
        Row::since((6, 0), processor("gfx1031", NONE)),
        Row::since((6, 0), processor("gfx1032", NONE)),
        Row::since((6, 0), processor("gfx1033", NONE)),
        Row::since((6, 0), processor("gfx1034", NONE)),
        Row::since((6, 0), processor("gfx1035", NONE)),
        Row::since((6, 0), processor("gfx1036", NONE)),
        Row::since((6, 0), processor("gfx1100", NONE)),
        Row::since((6, 0), processor("gfx1101", NONE)),
        Row::since((6, 0), processor("gfx1102", NONE)),
        Row::since((6, 0), processor("gfx1103", NONE)),
        Row::since((6, 0), processor("gfx1150", NONE)),
        Row::since((6, 0), processor("gfx1151", NONE)),
        Row::since((6, 4), processor("gfx1152", NONE)),
        Row::since((7, 0), processor("gfx1153", NONE)),
        Row::since((6, 2), processor("gfx1200", NONE)),
        Row::since((6, 2), processor("gfx1201", NONE)),
        Row::since((7, 2), processor("gfx1250", NONE)),
        Row::since((7, 2), processor("gfx1251", NONE)),
        Row::since((6, 4), processor("gfx9-generic", XNACK)),
        Row::since((7, 0), processor("gfx9-4-generic", SRAMECC_XNACK)),
        Row::since((6, 4), processor("gfx10-1-generic", XNACK)),
        Row::since((6, 4), processor("gfx10-3-generic", NONE)),
        Row::since((6, 4), processor("gfx11-generic", NONE)),
        Row::since((6, 4), processor("gfx12-generic", NONE)),
    ],
};

/// The newest version that is known to compile for what the table says.
const NEWEST: Toolkit = (7, 2);

/// One item of `gpu.archs`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Target {
    processor: String,
    /// Names of features in the order of the text, with their settings.
    features: Vec<(String, bool)>,
}

impl Target {
    /// Whether a text is meant to be a target, right or wrong.
    pub(super) fn is_meant(text: &str) -> bool {
        text.to_ascii_lowercase().starts_with("gfx")
    }

    /// Reads `gfx942`, `gfx90a:xnack+`, `gfx942:sramecc+:xnack-`.
    pub(super) fn parse(text: &str) -> Result<Self, Problem> {
        let mut parts = text.split(':');
        let processor = parts.next().unwrap_or_default();
        let digits = processor.strip_prefix("gfx").unwrap_or_default();
        let plain = (3..=4).contains(&digits.len())
            && digits.starts_with(|c: char| c.is_ascii_digit())
            && digits
                .chars()
                .all(|c| c.is_ascii_digit() || matches!(c, 'a'..='f'));
        let generic = digits.strip_suffix("-generic").is_some_and(|digits| {
            let all = digits.chars().all(|c| c.is_ascii_digit() || c == '-');
            all && digits.starts_with(|c: char| c.is_ascii_digit()) && !digits.ends_with('-')
        });
        if !plain && !generic {
            return Err(Problem::new(
                format!("`{text}` is not a target of AMD's GPUs"),
                format!(
                    "write \"{}\"; `:xnack+`, `:xnack-` and the like may follow",
                    guess(text)
                ),
            ));
        }
        let mut features: Vec<(String, bool)> = Vec::new();
        for part in parts {
            let setting = match part.chars().last() {
                Some('+') => Some(true),
                Some('-') => Some(false),
                _ => None,
            };
            let name = part.trim_end_matches(['+', '-']);
            let (Some(on), true) = (setting, name.len() + 1 == part.len()) else {
                return Err(Problem::new(
                    format!("`{part}` of `{text}` is no setting of a feature"),
                    format!("write for example \"{processor}:xnack+\" or \"{processor}:xnack-\""),
                ));
            };
            if features.iter().any(|(known, _)| known == name) {
                return Err(Problem::new(
                    format!("`{text}` sets `{name}` twice"),
                    "write each feature once".to_owned(),
                ));
            }
            features.push((name.to_owned(), on));
        }
        let target = Self {
            processor: processor.to_owned(),
            features,
        };
        target.check_features(text)?;
        Ok(target)
    }

    fn check_features(&self, text: &str) -> Result<(), Problem> {
        for (name, _) in &self.features {
            if !matches!(name.as_str(), "sramecc" | "xnack") {
                return Err(Problem::new(
                    format!("`{name}` of `{text}` is not a feature of a target"),
                    "the features are `sramecc` and `xnack`",
                ));
            }
            let known = row(&self.processor).map(|row| row.target.features);
            if known.is_some_and(|known| !known.contains(&name.as_str())) {
                return Err(Problem::new(
                    format!("{} has no feature `{name}`", self.processor),
                    format!("write \"{}\"", self.processor),
                ));
            }
        }
        Ok(())
    }

    /// Checks that ROCm's compiler compiles for it. Of versions outside of the table nothing is known.
    pub(super) fn check(&self, version: Version) -> Result<(), Problem> {
        if !knows(version) {
            return Ok(());
        }
        let (now, name) = ((version.0, version.1), self.processor.as_str());
        let known: Vec<&str> = TABLE.emits(now).map(|processor| processor.name).collect();
        if known.contains(&name) {
            return Ok(());
        }
        let row = row(name);
        let help = match (row.map(|row| row.first), row.and_then(|row| row.dropped)) {
            (Some((major, minor)), _) if (major, minor) > now => format!(
                "the first version that can is {major}.{minor} (rocm = \"{major}.{minor}\"); or leave {name} out"
            ),
            (_, Some((major, minor))) => {
                format!("ROCm {major}.{minor} has dropped it: take an earlier version, or leave {name} out")
            }
            _ => {
                let start = match nearest(name, known.iter().copied()) {
                    Some(near) => format!("did you mean \"{near}\"? It knows"),
                    None => "it knows".to_owned(),
                };
                format!(
                    "{start} {}; for a compiler that knows more, write what it knows in `compiler-archs`",
                    known.join(", ")
                )
            }
        };
        let message = format!("the compiler of ROCm {version} cannot compile for {name}");
        Err(Problem::new(message, help))
    }

    /// Whether a list of what a compiler emits has its processor.
    pub(super) fn is_among(&self, emitted: &[Self]) -> bool {
        emitted.iter().any(|known| known.processor == self.processor)
    }

    /// Whether both cannot be compiled for at once: the same processor, with a feature that is set in one of them only
    /// (clang: "invalid offload arch combinations").
    pub(super) fn excludes(&self, other: &Self) -> bool {
        let names = |target: &Self| -> BTreeSet<String> {
            target.features.iter().map(|(name, _)| name.clone()).collect()
        };
        self.processor == other.processor && names(self) != names(other)
    }
}

impl std::fmt::Display for Target {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.processor)?;
        for (name, on) in &self.features {
            write!(f, ":{name}{}", if *on { '+' } else { '-' })?;
        }
        Ok(())
    }
}

/// Each range of versions: its first one, the month of its release, and the processors that it compiles for.
pub(super) fn ranges() -> impl Iterator<Item = (Toolkit, &'static str, Vec<&'static str>)> {
    TABLE.releases.iter().map(|(first, month)| {
        let known = TABLE.emits(*first).map(|processor| processor.name);
        (*first, *month, known.collect())
    })
}

/// Whether the table says what a version compiles for.
pub(super) fn knows(version: Version) -> bool {
    let version = (version.0, version.1);
    TABLE.reaches(version) && version <= NEWEST
}

/// From which version to which one the table goes: `6.0 to 7.2`.
pub(super) fn known() -> String {
    let first = TABLE.releases.first().map_or((0, 0), |(first, _)| *first);
    format!("{}.{} to {}.{}", first.0, first.1, NEWEST.0, NEWEST.1)
}

/// The newest version of the table.
pub(super) fn newest() -> Version {
    Version(NEWEST.0, NEWEST.1, 0)
}

fn row(processor: &str) -> Option<&'static Row<Processor>> {
    TABLE.targets.iter().find(|row| row.target.name == processor)
}

/// What `MI300X`, `gfx90A` or `90a` was probably meant to be.
fn guess(text: &str) -> String {
    let lower = text.to_ascii_lowercase();
    let lower = lower.split([':', ' ']).next().unwrap_or_default();
    let named = match lower {
        "mi100" => Some("gfx908"),
        "mi210" | "mi250" | "mi250x" => Some("gfx90a"),
        "mi300" | "mi300a" | "mi300x" | "mi325x" => Some("gfx942"),
        "mi350x" | "mi355x" => Some("gfx950"),
        _ => None,
    };
    if let Some(named) = named {
        return named.to_owned();
    }
    let bare = lower.trim_start_matches("gfx").replace(['_', '-', '.'], "");
    let all = TABLE.targets.iter().map(|row| row.target.name);
    all.filter(|known| known.strip_prefix("gfx") == Some(bare.as_str()))
        .chain(nearest(lower, ["gfx90a", "gfx942", "gfx1100"]))
        .next()
        .unwrap_or("gfx942")
        .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grammar() {
        for text in [
            "gfx90a",
            "gfx942",
            "gfx1100",
            "gfx90a:xnack+",
            "gfx942:sramecc+:xnack-",
            "gfx942:xnack-:sramecc+",
            "gfx11-generic",
            "gfx10-3-generic",
            "gfx1310",
        ] {
            assert_eq!(Target::parse(text).unwrap().to_string(), text);
        }
        for text in [
            "",
            "gfx",
            "90a",
            "gfx90A",
            "GFX90a",
            "9.0",
            "gfx90a:",
            "gfx90a:xnack",
            "gfx90a:xnack++",
            "gfx90a:+",
            "gfx90a:dpp+",
            "gfx90a:xnack+:xnack-",
            "gfx1100:xnack+",
            "gfx-generic",
            "gfx90a,gfx942",
            "MI300X",
        ] {
            assert!(Target::parse(text).is_err(), "{text}");
        }
        let help = |text: &str| Target::parse(text).unwrap_err().help;
        assert!(help("MI300X").contains("\"gfx942\""));
        assert!(help("90a").contains("\"gfx90a\""));
        assert!(help("gfx90A").contains("\"gfx90a\""));
        assert!(help("gfx1100:xnack+").contains("\"gfx1100\""));
    }

    #[test]
    fn both_ends() {
        let check = |text: &str, version: (u32, u32)| {
            Target::parse(text)
                .unwrap()
                .check(Version(version.0, version.1, 0))
                .map_err(|problem| problem.help)
        };
        assert!(check("gfx90a:xnack-", (6, 0)).is_ok());
        assert!(check("gfx950", (6, 4)).unwrap_err().contains("rocm = \"7.0\""));
        assert!(check("gfx950", (7, 1)).is_ok());
        assert!(
            check("gfx940", (7, 2))
                .unwrap_err()
                .contains("ROCm 7.2 has dropped it")
        );
        assert!(check("gfx1000", (6, 4)).unwrap_err().contains("knows gfx801"));
        for unknown in [(5, 7), (7, 14), (10, 0)] {
            assert!(check("gfx1310", unknown).is_ok() && !knows(Version(unknown.0, unknown.1, 0)));
        }
        assert_eq!(known(), "6.0 to 7.2");
    }

    #[test]
    fn a_feature_is_set_for_all_or_none_of_a_processor() {
        let excludes = |a: &str, b: &str| Target::parse(a).unwrap().excludes(&Target::parse(b).unwrap());
        assert!(excludes("gfx90a", "gfx90a:xnack+"));
        assert!(!excludes("gfx90a:xnack-", "gfx90a:xnack+"));
        assert!(!excludes("gfx90a:xnack-:sramecc+", "gfx90a:sramecc+:xnack+"));
        assert!(!excludes("gfx90a", "gfx942:xnack+"));
    }

    #[test]
    fn the_table_agrees_with_itself() {
        assert_eq!(crate::spec::toolkits::contradiction(&TABLE), None);
        for row in TABLE.targets {
            assert!(Target::parse(row.target.name).is_ok(), "{}", row.target.name);
            let features = row.target.features;
            assert!(features.is_sorted() && features.iter().all(|name| matches!(*name, "sramecc" | "xnack")));
        }
        assert!(TABLE.releases.last().is_some_and(|(last, _)| *last <= NEWEST));
    }
}
