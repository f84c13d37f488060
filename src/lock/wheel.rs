//! File names of wheels (PEP 427).
//!
//! The lock does not list tags: they stand in the file names alone. A name is taken apart only when its package is
//! reached, since a lock has ten wheels for each that is installed.

/// The parts of a wheel's file name that decide whether and how well it fits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct WheelName<'a> {
    pub(super) version: &'a str,
    pub(super) build: Option<Build<'a>>,
    /// Compressed sets: alternatives are joined by `.`.
    python: &'a str,
    abi: &'a str,
    platform: &'a str,
}

/// A build number: the leading digits, then the rest. Of two wheels with equal tags the greater one wins, and none at
/// all is less than any.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Build<'a>(u64, &'a str);

impl<'a> WheelName<'a> {
    /// Takes a file name apart; `None` when it is not a wheel's.
    pub(super) fn parse(filename: &'a str) -> Option<Self> {
        let stem = filename.strip_suffix(".whl")?;
        let mut parts = stem.split('-');
        let (name, version, third, fourth, fifth) = (
            parts.next()?,
            parts.next()?,
            parts.next()?,
            parts.next()?,
            parts.next()?,
        );
        let (build, python, abi, platform) = match parts.next() {
            Some(sixth) => (Some(Build::parse(third)?), fourth, fifth, sixth),
            None => (None, third, fourth, fifth),
        };
        let complete = [name, version, python, abi, platform]
            .iter()
            .all(|part| !part.is_empty());
        (complete && parts.next().is_none()).then_some(Self {
            version,
            build,
            python,
            abi,
            platform,
        })
    }

    /// Alternatives of the Python tag.
    pub(super) fn pythons(self) -> impl Iterator<Item = &'a str> {
        self.python.split('.')
    }

    /// Alternatives of the ABI tag.
    pub(super) fn abis(self) -> impl Iterator<Item = &'a str> {
        self.abi.split('.')
    }

    /// Alternatives of the platform tag.
    pub(super) fn platforms(self) -> impl Iterator<Item = &'a str> {
        self.platform.split('.')
    }

    /// `python-abi-platform`, compressed as in the name.
    pub(super) fn tags(self) -> String {
        format!("{}-{}-{}", self.python, self.abi, self.platform)
    }

    /// Whether it holds no compiled code, by its tags.
    pub(super) fn is_pure(self) -> bool {
        self.abis().any(|abi| abi == "none") && self.platforms().any(|platform| platform == "any")
    }
}

impl<'a> Build<'a> {
    fn parse(text: &'a str) -> Option<Self> {
        let digits = text
            .find(|character: char| !character.is_ascii_digit())
            .unwrap_or(text.len());
        let (number, rest) = text.split_at(digits);
        Some(Self(number.parse().ok()?, rest))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn takes_names_apart() {
        let name = WheelName::parse("torch-2.8.0+cu128-cp312-cp312-manylinux_2_28_x86_64.whl").unwrap();
        assert_eq!((name.version, name.build), ("2.8.0+cu128", None));
        assert_eq!(name.tags(), "cp312-cp312-manylinux_2_28_x86_64");
        assert!(!name.is_pure());
        let name = WheelName::parse("six-1.16.0-1b-py2.py3-none-any.whl").unwrap();
        assert_eq!(name.build, Some(Build(1, "b")));
        assert_eq!(name.pythons().collect::<Vec<_>>(), ["py2", "py3"]);
        assert!(name.is_pure());
    }

    #[test]
    fn refuses_other_names() {
        for name in [
            "",
            ".whl",
            "a.whl",
            "a-1.whl",
            "a-1-py3-none.whl",
            "a-1-py3-none-any.zip",
            "a-1-x-py3-none-any.whl",
            "a-1-1-py3-none-any-more.whl",
            "a-1-py3--any.whl",
            "a-99999999999999999999999-1-py3-none-any.whl-",
        ] {
            assert_eq!(WheelName::parse(name), None, "{name}");
        }
    }

    #[test]
    fn build_numbers_are_numbers() {
        assert!(Build::parse("10") > Build::parse("9"));
        assert!(Build::parse("1b") > Build::parse("1a"));
        assert!(Build::parse("0") > None);
        assert_eq!(Build::parse("b1"), None);
        assert_eq!(Build::parse("99999999999999999999999"), None);
    }
}
