//! Compute capabilities: how they are written, and which toolkit's nvcc compiles for which.
//!
//! The ranges are those of `CMakeCUDAArchitecturesAll.cmake` and of NVIDIA's release notes: 11.x from 3.5;
//! 12.0 drops Kepler; 12.8 brings Blackwell (10.0, 10.1, 12.0), 12.9 adds 10.3 and 12.1; 13.0 drops everything
//! before Turing (7.5), adds 8.8 and renames 10.1 to 11.0. Months are those of NVIDIA's archive of toolkits. As of
//! December 2025 (CUDA 13.1).

use super::cuda::{self, Version};
use super::findings::Problem;
use super::toolkits::{Row, Table, Toolkit};

/// A compute capability as ten times its value: 9.0 is 90.
type Capability = u32;

const TABLE: Table<Capability> = Table {
    releases: &[
        ((11, 0), "2020-07"),
        ((11, 1), "2020-09"),
        ((11, 4), "2021-06"),
        ((11, 8), "2022-10"),
        ((12, 0), "2022-12"),
        ((12, 8), "2025-01"),
        ((12, 9), "2025-05"),
        ((13, 0), "2025-08"),
    ],
    targets: &[
        Row::between((11, 0), (12, 0), 35),
        Row::between((11, 0), (12, 0), 37),
        Row::between((11, 0), (13, 0), 50),
        Row::between((11, 0), (13, 0), 52),
        Row::between((11, 0), (13, 0), 53),
        Row::between((11, 0), (13, 0), 60),
        Row::between((11, 0), (13, 0), 61),
        Row::between((11, 0), (13, 0), 62),
        Row::between((11, 0), (13, 0), 70),
        Row::between((11, 0), (13, 0), 72),
        Row::since((11, 0), 75),
        Row::since((11, 0), 80),
        Row::since((11, 1), 86),
        Row::since((11, 4), 87),
        Row::since((13, 0), 88),
        Row::since((11, 8), 89),
        Row::since((11, 8), 90),
        Row::since((12, 8), 100),
        Row::between((12, 8), (13, 0), 101),
        Row::since((12, 9), 103),
        Row::since((13, 0), 110),
        Row::since((12, 8), 120),
        Row::since((12, 9), 121),
    ],
};

/// One item of `gpu.archs`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Arch {
    capability: Capability,
    /// `a`, `f` or nothing.
    suffix: Option<char>,
    ptx: bool,
}

impl Arch {
    /// Reads `8.0`, `9.0a`, `12.0f`, `12.0+PTX`.
    pub(super) fn parse(text: &str) -> Result<Self, Problem> {
        let (rest, ptx) = text
            .strip_suffix("+PTX")
            .map_or((text, false), |rest| (rest, true));
        let suffix = rest.chars().last().filter(|c| matches!(c, 'a' | 'f'));
        let number = rest.trim_end_matches(['a', 'f']);
        let digits = |text: &str| !text.is_empty() && text.chars().all(|c| c.is_ascii_digit());
        let parsed = number
            .split_once('.')
            .filter(|(major, minor)| {
                digits(major)
                    && digits(minor)
                    && minor.len() == 1
                    && major.len() <= 2
                    && !major.starts_with('0')
            })
            .filter(|_| rest.len() - number.len() <= 1)
            .and_then(|(major, minor)| Some((major.parse::<u32>().ok()?, minor.parse::<u32>().ok()?)));
        match parsed {
            Some((major, minor)) => Ok(Self {
                capability: major * 10 + minor,
                suffix,
                ptx,
            }),
            None => Err(Problem::new(
                format!("`{text}` is not a compute capability"),
                format!(
                    "write \"{}\"; `a` or `f` may follow for its own features, and `+PTX` for later GPUs",
                    guess(text)
                ),
            )),
        }
    }

    /// Checks that the toolkit's nvcc compiles for it.
    pub(super) fn check(self, toolkit: Version) -> Result<(), Problem> {
        let now = (toolkit.0, toolkit.1);
        if !TABLE.reaches(now) {
            return Ok(());
        }
        let known: Vec<Capability> = TABLE.emits(now).copied().collect();
        let open_end = TABLE.is_last(now) && toolkit > cuda::newest();
        if !known.contains(&self.capability) {
            let highest = known.last().copied().unwrap_or_default();
            if open_end && self.capability > highest {
                return Ok(());
            }
            return Err(self.refused(toolkit, &known));
        }
        let specific = match self.suffix {
            Some('a') => (90, (12, 0)),
            Some(_) => (100, (12, 9)),
            None => return Ok(()),
        };
        let name = show(self.capability);
        if self.capability < specific.0 {
            return Err(Problem::new(
                format!(
                    "compute capability {name} has no `{}` form",
                    self.suffix.unwrap_or_default()
                ),
                format!("write \"{name}\""),
            ));
        }
        if (toolkit.0, toolkit.1) < specific.1 {
            let (major, minor) = specific.1;
            return Err(Problem::new(
                format!(
                    "nvcc of CUDA {toolkit} does not know `{}` forms",
                    self.suffix.unwrap_or_default()
                ),
                format!("they come with CUDA {major}.{minor}; write \"{name}\" here"),
            ));
        }
        Ok(())
    }

    /// Whether a list of what a compiler emits has it. PTX is code that every compiler emits.
    pub(super) fn is_among(self, emitted: &[Self]) -> bool {
        emitted
            .iter()
            .any(|known| known.capability == self.capability && known.suffix == self.suffix)
    }

    /// `a` code runs on its own GPU only, so PTX of it helps no later one.
    pub(super) fn is_pointless_ptx(self) -> bool {
        self.ptx && self.suffix == Some('a')
    }

    fn refused(self, toolkit: Version, known: &[Capability]) -> Problem {
        let name = show(self.capability);
        let (lowest, highest) = (
            known.first().copied().unwrap_or_default(),
            known.last().copied().unwrap_or_default(),
        );
        let message = format!(
            "nvcc of CUDA {toolkit} cannot compile for {name}: it goes from {} to {}",
            show(lowest),
            show(highest)
        );
        let now = (toolkit.0, toolkit.1);
        let row = TABLE.targets.iter().find(|row| row.target == self.capability);
        let (first, dropped) = (row.map(|row| row.first), row.and_then(|row| row.dropped));
        let help = match (self.capability, first, dropped) {
            (101, ..) if now >= (13, 0) => "CUDA 13.0 calls 10.1 by another name: write \"11.0\"".to_owned(),
            (110, ..) if ((12, 8)..(13, 0)).contains(&now) => {
                "before CUDA 13.0 its name is 10.1: write \"10.1\"".to_owned()
            }
            (_, Some(first), _) if first > now => {
                let (major, minor) = first;
                let patch = cuda::newest_patch(major, minor)
                    .map_or(String::new(), |patch| format!(" (cuda = \"{patch}\")"));
                format!("the first toolkit that can is {major}.{minor}{patch}; or leave {name} out")
            }
            (_, _, Some(dropped)) => {
                let before = last_before(dropped);
                format!("the last toolkit that can is {before}; or leave {name} out")
            }
            _ => {
                let all: Vec<String> = known.iter().map(|capability| show(*capability)).collect();
                format!("it knows {}", all.join(", "))
            }
        };
        Problem::new(message, help)
    }
}

/// Each range of toolkits: its first one, the month of its release, and the capabilities that it compiles for.
pub(super) fn ranges() -> impl Iterator<Item = (Toolkit, &'static str, Vec<String>)> {
    TABLE.releases.iter().map(|(first, month)| {
        let known = TABLE.emits(*first).map(|capability| show(*capability));
        (*first, *month, known.collect())
    })
}

/// From where to where a toolkit compiles: `5.0 to 12.0`.
pub(super) fn range(toolkit: Version) -> Option<String> {
    let known: Vec<&Capability> = TABLE.emits((toolkit.0, toolkit.1)).collect();
    Some(format!("{} to {}", show(**known.first()?), show(**known.last()?)))
}

/// The newest published toolkit before `major.minor`.
fn last_before(toolkit: Toolkit) -> String {
    super::cuda_tags::RELEASES
        .iter()
        .rev()
        .find(|release| (release.version.0, release.version.1) < toolkit)
        .map_or(format!("before {}.{}", toolkit.0, toolkit.1), |release| {
            release.version().to_string()
        })
}

fn show(capability: Capability) -> String {
    format!("{}.{}", capability / 10, capability % 10)
}

/// What `sm_90`, `90a` or `Hopper` was probably meant to be.
fn guess(text: &str) -> String {
    let named = match text.to_ascii_lowercase().as_str() {
        "volta" => Some("7.0"),
        "turing" => Some("7.5"),
        "ampere" => Some("8.0"),
        "ada" => Some("8.9"),
        "hopper" => Some("9.0"),
        "blackwell" => Some("10.0"),
        _ => None,
    };
    if let Some(named) = named {
        return named.to_owned();
    }
    let digits: String = text.chars().filter(char::is_ascii_digit).collect();
    match digits.parse::<u32>() {
        Ok(number) if (30..=199).contains(&number) => show(number),
        _ => "9.0".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, toolkit: Version) -> Result<(), Problem> {
        Arch::parse(text)?.check(toolkit)
    }

    #[test]
    fn grammar() {
        for text in ["8.0", "9.0a", "12.0+PTX", "12.0f", "10.3a+PTX"] {
            assert!(Arch::parse(text).is_ok(), "{text}");
        }
        for text in [
            "", "9", "90", "sm_90", "9.0b", "9.0af", "9.0aa", "9.0+ptx", "9.00", "Hopper", ".0", "9.",
            "+9.0", "09.0", "a",
        ] {
            assert!(Arch::parse(text).is_err(), "{text}");
        }
        assert!(Arch::parse("sm_89").unwrap_err().help.contains("\"8.9\""));
        assert!(Arch::parse("Hopper").unwrap_err().help.contains("\"9.0\""));
    }

    #[test]
    fn the_table_agrees_with_itself() {
        assert_eq!(super::super::toolkits::contradiction(&TABLE), None);
        assert!(TABLE.targets.is_sorted_by_key(|row| row.target));
    }

    #[test]
    fn both_ends() {
        let help = |text: &str, toolkit| check(text, toolkit).unwrap_err().help;
        assert!(help("10.3", Version(12, 8, 1)).contains("12.9 (cuda = \"12.9.1\")"));
        assert!(help("7.0", Version(13, 0, 2)).contains("the last toolkit that can is 12.9.1"));
        assert!(help("3.5", Version(12, 4, 1)).contains("the last toolkit that can is 11.8.0"));
        assert!(help("8.9", Version(11, 3, 1)).contains("11.8"));
        assert!(help("11.0", Version(12, 9, 1)).contains("\"10.1\""));
        assert!(help("10.1", Version(13, 0, 2)).contains("\"11.0\""));
        assert!(help("9.9", Version(12, 8, 1)).contains("it knows"));
        assert!(check("7.5", Version(13, 0, 2)).is_ok());
        assert!(check("12.0+PTX", Version(12, 8, 1)).is_ok());
    }

    #[test]
    fn forms() {
        assert!(check("9.0a", Version(12, 0, 1)).is_ok());
        assert!(check("9.0a", Version(11, 8, 0)).is_err());
        assert!(check("8.0a", Version(12, 8, 1)).is_err());
        assert!(
            check("12.0f", Version(12, 8, 1))
                .unwrap_err()
                .help
                .contains("12.9")
        );
        assert!(check("12.0f", Version(12, 9, 1)).is_ok());
        assert!(check("9.0f", Version(13, 0, 2)).is_err());
    }

    #[test]
    fn toolkits_after_the_table_may_know_more_but_not_less() {
        assert!(check("13.0", Version(14, 0, 0)).is_ok());
        assert!(check("13.0", cuda::newest()).is_err());
        assert!(check("7.0", Version(14, 0, 0)).is_err());
    }
}
