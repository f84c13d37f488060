//! Compute capabilities: how they are written, and which toolkit's nvcc compiles for which.
//!
//! The ranges are those of `CMakeCUDAArchitecturesAll.cmake` and of NVIDIA's release notes: 11.x from 3.5;
//! 12.0 drops Kepler; 12.8 brings Blackwell (10.0, 10.1, 12.0), 12.9 adds 10.3 and 12.1; 13.0 drops everything
//! before Turing (7.5), adds 8.8 and renames 10.1 to 11.0.

use super::cuda::{self, Version};
use super::findings::Problem;

/// A compute capability as ten times its value: 9.0 is 90.
type Capability = u32;

/// First toolkit (major, minor) of a range, and what it compiles for.
type Row = ((u32, u32), &'static [Capability]);

const TABLE: &[Row] = &[
    ((11, 0), &[35, 37, 50, 52, 53, 60, 61, 62, 70, 72, 75, 80]),
    ((11, 1), &[35, 37, 50, 52, 53, 60, 61, 62, 70, 72, 75, 80, 86]),
    ((11, 4), &[35, 37, 50, 52, 53, 60, 61, 62, 70, 72, 75, 80, 86, 87]),
    (
        (11, 8),
        &[35, 37, 50, 52, 53, 60, 61, 62, 70, 72, 75, 80, 86, 87, 89, 90],
    ),
    ((12, 0), &[50, 52, 53, 60, 61, 62, 70, 72, 75, 80, 86, 87, 89, 90]),
    (
        (12, 8),
        &[
            50, 52, 53, 60, 61, 62, 70, 72, 75, 80, 86, 87, 89, 90, 100, 101, 120,
        ],
    ),
    (
        (12, 9),
        &[
            50, 52, 53, 60, 61, 62, 70, 72, 75, 80, 86, 87, 89, 90, 100, 101, 103, 120, 121,
        ],
    ),
    ((13, 0), &[75, 80, 86, 87, 88, 89, 90, 100, 103, 110, 120, 121]),
];

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
        let Some((row, known)) = row(toolkit) else {
            return Ok(());
        };
        let open_end = TABLE.last().is_some_and(|last| last.0 == row.0) && toolkit > cuda::newest();
        if !known.contains(&self.capability) {
            let highest = known.last().copied().unwrap_or_default();
            if open_end && self.capability > highest {
                return Ok(());
            }
            return Err(self.refused(toolkit, known));
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
        let first = TABLE
            .iter()
            .position(|(_, known)| known.contains(&self.capability));
        let last = TABLE
            .iter()
            .rposition(|(_, known)| known.contains(&self.capability));
        let help = match (self.capability, first, last) {
            (101, ..) if now >= (13, 0) => "CUDA 13.0 calls 10.1 by another name: write \"11.0\"".to_owned(),
            (110, ..) if ((12, 8)..(13, 0)).contains(&now) => {
                "before CUDA 13.0 its name is 10.1: write \"10.1\"".to_owned()
            }
            (_, Some(first), _) if TABLE[first].0 > now => {
                let (major, minor) = TABLE[first].0;
                let patch = cuda::newest_patch(major, minor)
                    .map_or(String::new(), |patch| format!(" (cuda = \"{patch}\")"));
                format!("the first toolkit that can is {major}.{minor}{patch}; or leave {name} out")
            }
            (_, _, Some(last)) if TABLE[last].0 < now => {
                let (major, minor) = TABLE.get(last + 1).map_or((0, 0), |row| row.0);
                let before = last_before(major, minor);
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

/// Each range of toolkits, from its first (major, minor) on, with the capabilities that it compiles for.
pub(super) fn ranges() -> impl Iterator<Item = ((u32, u32), Vec<String>)> {
    TABLE
        .iter()
        .map(|(first, known)| (*first, known.iter().map(|capability| show(*capability)).collect()))
}

/// From where to where a toolkit compiles: `5.0 to 12.0`.
pub(super) fn range(toolkit: Version) -> Option<String> {
    let (_, known) = row(toolkit)?;
    Some(format!("{} to {}", show(*known.first()?), show(*known.last()?)))
}

fn row(toolkit: Version) -> Option<(&'static Row, &'static [Capability])> {
    let row = TABLE
        .iter()
        .rev()
        .find(|(first, _)| *first <= (toolkit.0, toolkit.1))?;
    Some((row, row.1))
}

/// The newest published toolkit before `major.minor`.
fn last_before(major: u32, minor: u32) -> String {
    super::cuda_tags::RELEASES
        .iter()
        .rev()
        .find(|release| (release.version.0, release.version.1) < (major, minor))
        .map_or(format!("before {major}.{minor}"), |release| {
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
