//! Which wheels a target can install, and which of them is the best (PEP 425, 600, 656).
//!
//! The order is that of uv and pip: the interpreter's own ABI before the stable ABI before none, and within each the
//! newest manylinux that the glibc meets first. Since each part of a tag has a rank by itself, no table of the
//! several hundred compatible tags is needed.

use std::borrow::Cow;

use super::wheel::WheelName;
use super::{File, PythonVersion, Target};

/// The tags of `CPython` on a Linux with glibc.
#[derive(Debug, Clone)]
pub(super) struct Tags {
    python: PythonVersion,
    /// The major version as in a tag, and the ABI tag of this very Python.
    major: String,
    abi: String,
    machine: String,
    glibc: (u32, u32),
    /// The oldest glibc 2.N for which the architecture has manylinux tags; `None` when it has none at all.
    oldest: Option<u32>,
}

/// How well a wheel fits; less is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Rank {
    /// Python and ABI.
    interface: u64,
    platform: u64,
}

/// Why a target cannot install a wheel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unfit {
    /// What is in the way.
    pub message: String,
    /// Tags that would fit.
    pub help: String,
}

/// Whether a target can install a wheel, as far as the tags in its file name (PEP 425, PEP 427) tell.
pub fn check_wheel(filename: &str, target: &Target) -> Result<(), Unfit> {
    let tags = Tags::new(target);
    let rank = WheelName::parse(filename).map_or(Err(Misfit::Name), |name| tags.rank(name));
    rank.map(drop).map_err(|misfit| Unfit {
        message: tags.explain_one(filename, misfit),
        help: format!("these tags fit: {}", tags.best().join(", ")),
    })
}

/// The part of a wheel's tags that is in the way. Ordered: a later one is nearer to a fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Misfit {
    /// Not a wheel's file name.
    Name,
    Python,
    Abi,
    Platform,
    /// The right platform, but for a newer glibc 2.N.
    Glibc(u32),
}

impl Tags {
    pub(super) fn new(target: &Target) -> Self {
        let machine = match target.platform.machine() {
            "386" => "i686",
            "arm" => "armv7l",
            other => other,
        };
        // Where PEP 600 and its predecessors begin: manylinux1 is glibc 2.5, manylinux2014 is 2.17, and newer
        // architectures begin with the glibc that first had them.
        let oldest = match machine {
            "x86_64" | "i686" => Some(5),
            "aarch64" | "armv7l" | "ppc64" | "ppc64le" | "s390x" => Some(17),
            "riscv64" => Some(31),
            "loongarch64" => Some(36),
            _ => None,
        };
        let PythonVersion { major, minor, .. } = target.python;
        Self {
            python: target.python,
            major: major.to_string(),
            abi: format!("cp{major}{minor}"),
            machine: machine.to_owned(),
            glibc: target.glibc,
            oldest,
        }
    }

    /// The best tags, for a message.
    pub(super) fn best(&self) -> Vec<String> {
        let PythonVersion { major, minor, .. } = self.python;
        let (x, y) = self.glibc;
        let machine = &self.machine;
        let platform = match self.oldest {
            Some(_) => format!("manylinux_{x}_{y}_{machine}"),
            None => format!("linux_{machine}"),
        };
        vec![
            format!("cp{major}{minor}-cp{major}{minor}-{platform} or older"),
            format!("cp{major}{minor}-abi3-{platform}"),
            format!("py{major}-none-{platform}"),
            format!("py{major}-none-any"),
        ]
    }

    /// How well a wheel fits, or what is in the way.
    pub(super) fn rank(&self, name: WheelName<'_>) -> Result<Rank, Misfit> {
        let mut best = None;
        let mut misfit = Misfit::Name;
        for python in name.pythons() {
            let Some(language) = self.language(python) else {
                misfit = misfit.max(Misfit::Python);
                continue;
            };
            for abi in name.abis() {
                for platform in name.platforms() {
                    match self.rank_one(language, abi, platform) {
                        Ok(rank) => best = Some(best.map_or(rank, |best: Rank| best.min(rank))),
                        Err(other) => misfit = misfit.max(other),
                    }
                }
            }
        }
        best.ok_or(misfit)
    }

    /// The best of some wheels and whether it is pure, or the nearest misfit. Of equals the first wins, as in uv.
    pub(super) fn choose<'a>(&self, wheels: &'a [File]) -> Result<(&'a File, bool), Misfit> {
        let named: Vec<(&File, Cow<'_, str>)> = wheels.iter().map(|file| (file, file.filename())).collect();
        let mut best = None;
        let mut misfit = Misfit::Name;
        for (file, name) in &named {
            let Some(name) = WheelName::parse(name) else {
                continue;
            };
            match self.rank(name) {
                Ok(rank) => {
                    let better = best.is_none_or(|(current, _, chosen): (Rank, _, WheelName<'_>)| {
                        rank < current || (rank == current && name.build > chosen.build)
                    });
                    if better {
                        best = Some((rank, *file, name));
                    }
                }
                Err(other) => misfit = misfit.max(other),
            }
        }
        best.map(|(_, file, name)| (file, name.is_pure())).ok_or(misfit)
    }

    /// In words, what keeps the target from installing wheels with a misfit.
    pub(super) fn explain(&self, misfit: Misfit) -> String {
        let PythonVersion { major, minor, .. } = self.python;
        match misfit {
            Misfit::Name => "it has neither a wheel nor a source distribution".to_owned(),
            Misfit::Python => {
                format!("no wheel is for CPython {major}.{minor}, and there is no source distribution")
            }
            Misfit::Abi => {
                format!("no wheel has an ABI of CPython {major}.{minor}, and there is no source distribution")
            }
            Misfit::Platform => {
                format!(
                    "no wheel is for Linux with glibc on {}, and there is no source distribution",
                    self.machine
                )
            }
            Misfit::Glibc(needed) => format!(
                "its wheels need glibc 2.{needed} or newer where the image has {}.{}, and there is no source \
                 distribution",
                self.glibc.0, self.glibc.1
            ),
        }
    }

    /// As [`Self::explain`], of one wheel by its name.
    fn explain_one(&self, filename: &str, misfit: Misfit) -> String {
        let PythonVersion { major, minor, .. } = self.python;
        match misfit {
            Misfit::Name => format!("`{filename}` is not the file name of a wheel"),
            Misfit::Python => format!("`{filename}` is not for CPython {major}.{minor}"),
            Misfit::Abi => format!("`{filename}` has an ABI other than that of CPython {major}.{minor}"),
            Misfit::Platform => {
                format!("`{filename}` is not for Linux with glibc on {}", self.machine)
            }
            Misfit::Glibc(needed) => format!(
                "`{filename}` needs glibc 2.{needed} or newer, and the image has {}.{}",
                self.glibc.0, self.glibc.1
            ),
        }
    }

    fn language(&self, python: &str) -> Option<Language> {
        let (is_cpython, version) = match (python.strip_prefix("cp"), python.strip_prefix("py")) {
            (Some(version), _) => (true, version),
            (None, Some(version)) => (false, version),
            (None, None) => return None,
        };
        let minor = version.strip_prefix(self.major.as_str())?;
        if minor.is_empty() {
            return (!is_cpython).then_some(Language::Any);
        }
        if !minor.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        let back = u64::from(self.python.minor.checked_sub(minor.parse().ok()?)?);
        if is_cpython {
            Some(Language::CPython { back })
        } else {
            Some(Language::Python { back })
        }
    }

    /// Ranks as in the module's story; gaps do not matter, only the order.
    fn rank_one(&self, language: Language, abi: &str, platform: &str) -> Result<Rank, Misfit> {
        let minor = u64::from(self.python.minor);
        let any = platform == "any";
        let interface = match (language, abi) {
            (Language::CPython { back: 0 }, "abi3") if !any => 1,
            (Language::CPython { back: 0 }, "none") if !any => 2,
            // The stable ABI begins with 3.2 (PEP 384).
            (Language::CPython { back }, "abi3") if !any && back + 2 <= minor => 2 + back,
            (Language::Python { back: 0 }, "none") if !any => 3 + minor,
            (Language::Any, "none") if !any => 4 + minor,
            (Language::Python { back }, "none") if !any => 4 + minor + back,
            (Language::CPython { back: 0 }, "none") => 5 + 2 * minor,
            (Language::Python { back: 0 }, "none") => 6 + 2 * minor,
            (Language::Any, "none") => 7 + 2 * minor,
            (Language::Python { back }, "none") => 7 + 2 * minor + back,
            (Language::CPython { back: 0 }, own) if !any && own == self.abi => 0,
            // The tags of a foreign ABI are no fit whatever the platform; `abi3` of a pure wheel is not one either.
            _ => return Err(Misfit::Abi),
        };
        if any {
            return Ok(Rank {
                interface,
                platform: 0,
            });
        }
        Ok(Rank {
            interface,
            platform: self.platform(platform)?,
        })
    }

    /// Newer glibc first, and after each the older alias of the same (PEP 600); plain `linux` last.
    fn platform(&self, platform: &str) -> Result<u64, Misfit> {
        let (minor, alias) = if let Some(rest) = self.machine_of(platform, "manylinux_2_") {
            (rest.parse().map_err(|_| Misfit::Platform)?, 0)
        } else if self.machine_of(platform, "manylinux2014") == Some("") {
            (17, 1)
        } else if self.machine_of(platform, "manylinux2010") == Some("") {
            (12, 1)
        } else if self.machine_of(platform, "manylinux1") == Some("") {
            (5, 1)
        } else if self.machine_of(platform, "linux") == Some("") {
            return Ok(u64::MAX);
        } else {
            return Err(Misfit::Platform);
        };
        let oldest = self.oldest.ok_or(Misfit::Platform)?;
        if self.glibc.0 != 2 || minor < oldest {
            return Err(Misfit::Platform);
        }
        match self.glibc.1.checked_sub(minor) {
            Some(back) => Ok(u64::from(back) * 2 + alias),
            None => Err(Misfit::Glibc(minor)),
        }
    }

    /// What stands between a prefix and this target's machine.
    fn machine_of<'a>(&self, platform: &'a str, prefix: &str) -> Option<&'a str> {
        let rest = platform
            .strip_prefix(prefix)?
            .strip_suffix(self.machine.as_str())?;
        rest.strip_suffix('_')
    }
}

/// A Python tag that the target can run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Language {
    /// `cp312`, so many minor versions back.
    CPython { back: u64 },
    /// `py312`.
    Python { back: u64 },
    /// `py3`.
    Any,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::platform::Platform;

    fn tags(platform: Platform, minor: u32) -> Tags {
        Tags::new(&Target {
            platform,
            python: PythonVersion::new(3, minor),
            glibc: (2, 35),
        })
    }

    fn rank(tags: &Tags, tag: &str) -> Result<Rank, Misfit> {
        tags.rank(WheelName::parse(&format!("a-1-{tag}.whl")).unwrap())
    }

    fn file(filename: &str) -> File {
        File {
            name: Some(filename.to_owned()),
            url: None,
            path: None,
            hash: None,
            size: None,
        }
    }

    /// The order that uv and `packaging.tags` give.
    #[test]
    fn ranks_in_the_order_of_pep_425() {
        let tags = tags(Platform::linux_amd64(), 12);
        let order = [
            "cp312-cp312-manylinux_2_35_x86_64",
            "cp312-cp312-manylinux_2_17_x86_64",
            "cp312-cp312-manylinux2014_x86_64",
            "cp312-cp312-manylinux_2_12_x86_64",
            "cp312-cp312-manylinux2010_x86_64",
            "cp312-cp312-manylinux_2_5_x86_64",
            "cp312-cp312-manylinux1_x86_64",
            "cp312-cp312-linux_x86_64",
            "cp312-abi3-manylinux_2_28_x86_64",
            "cp312-none-manylinux_2_28_x86_64",
            "cp311-abi3-manylinux_2_28_x86_64",
            "cp37-abi3-manylinux_2_28_x86_64",
            "cp32-abi3-linux_x86_64",
            "py312-none-linux_x86_64",
            "py3-none-manylinux_2_28_x86_64",
            "py311-none-linux_x86_64",
            "py30-none-linux_x86_64",
            "cp312-none-any",
            "py312-none-any",
            "py3-none-any",
            "py311-none-any",
            "py30-none-any",
        ];
        let ranks: Vec<Rank> = order.iter().map(|tag| rank(&tags, tag).unwrap()).collect();
        assert!(ranks.windows(2).all(|pair| pair[0] < pair[1]), "{ranks:?}");
    }

    #[test]
    fn refuses_what_cannot_run() {
        let tags = tags(Platform::linux_amd64(), 12);
        for (tag, misfit) in [
            ("cp311-cp311-manylinux_2_17_x86_64", Misfit::Abi),
            ("cp313-cp313-manylinux_2_17_x86_64", Misfit::Python),
            ("cp313-abi3-manylinux_2_17_x86_64", Misfit::Python),
            ("cp312-cp312t-manylinux_2_17_x86_64", Misfit::Abi),
            ("cp31-abi3-manylinux_2_17_x86_64", Misfit::Abi),
            ("cp312-cp312-musllinux_1_2_x86_64", Misfit::Platform),
            ("cp312-cp312-manylinux_2_17_aarch64", Misfit::Platform),
            ("cp312-cp312-manylinux_2_4_x86_64", Misfit::Platform),
            ("cp312-cp312-manylinux_2_39_x86_64", Misfit::Glibc(39)),
            ("cp312-cp312-macosx_11_0_arm64", Misfit::Platform),
            ("cp312-cp312-win_amd64", Misfit::Platform),
            ("pp310-pypy310_pp73-manylinux_2_17_x86_64", Misfit::Python),
            ("py2-none-any", Misfit::Python),
            ("cp311-none-any", Misfit::Abi),
        ] {
            assert_eq!(rank(&tags, tag), Err(misfit), "{tag}");
        }
    }

    #[test]
    fn architectures_begin_where_their_manylinux_does() {
        let arm = tags(Platform::linux_arm64(), 11);
        assert!(rank(&arm, "cp311-cp311-manylinux2014_aarch64").is_ok());
        assert_eq!(
            rank(&arm, "cp311-cp311-manylinux_2_12_aarch64"),
            Err(Misfit::Platform)
        );
        assert!(rank(&arm, "cp311-cp311-linux_aarch64").is_ok());
        let odd = tags(Platform::new("linux", "mips64le", ""), 11);
        assert_eq!(
            rank(&odd, "cp311-cp311-manylinux_2_17_mips64le"),
            Err(Misfit::Platform)
        );
        assert!(rank(&odd, "cp311-cp311-linux_mips64le").is_ok());
    }

    #[test]
    fn compressed_sets_count_by_their_best() {
        let tags = tags(Platform::linux_amd64(), 12);
        assert_eq!(
            rank(
                &tags,
                "cp310.cp312-abi3.cp312-manylinux_2_17_x86_64.manylinux2014_x86_64"
            ),
            rank(&tags, "cp312-cp312-manylinux_2_17_x86_64")
        );
        assert_eq!(rank(&tags, "py2.py3-none-any"), rank(&tags, "py3-none-any"));
    }

    #[test]
    fn of_equal_tags_the_greater_build_wins_and_then_the_first() {
        let tags = tags(Platform::linux_amd64(), 12);
        let names = [
            "a-1-py3-none-any.whl",
            "a-1-9-py3-none-any.whl",
            "a-1-10-py3-none-any.whl",
            "a-1-10-py2.py3-none-any.whl",
        ];
        let files: Vec<File> = names.iter().map(|name| file(name)).collect();
        assert_eq!(
            tags.choose(&files).unwrap().0.filename(),
            "a-1-10-py3-none-any.whl"
        );
        let files = [
            file("junk"),
            file("a-1-cp312-cp312-manylinux_2_39_x86_64.whl"),
            file("a-1-cp39-cp39-linux_x86_64.whl"),
        ];
        assert_eq!(tags.choose(&files).unwrap_err(), Misfit::Glibc(39));
        assert!(tags.explain(Misfit::Glibc(39)).contains("2.39"));
        assert_eq!(tags.choose(&[]).unwrap_err(), Misfit::Name);
    }
}
