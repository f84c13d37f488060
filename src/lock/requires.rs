//! What the metadata of a built wheel asks for (core metadata, `Requires-Dist`), beside what a lock has decided.

use std::str::FromStr;

use pep440_rs::{Version, VersionSpecifiers};

use super::Target;
use super::expression::Environment;
use super::marker;
use super::normalise;
use super::requirement::split;

/// A requirement on versions that holds on some target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked {
    /// Normalised name of the package.
    pub name: String,
    specifiers: VersionSpecifiers,
}

impl Asked {
    /// Reads a requirement (PEP 508). `None` when it asks for no version, does not hold on the target, or cannot be read: then
    /// nothing is known to be wrong. Extras are off.
    pub fn read(text: &str, target: &Target) -> Option<Self> {
        let parts = split(text)?;
        let name = normalise(parts.name)?;
        if !parts.marker.is_empty() {
            let environment = Environment::new(&target.platform, target.python);
            let expression = marker::parse(parts.marker).ok()?;
            if !expression.evaluate(&environment, &|_| false) {
                return None;
            }
        }
        let what = parts.what;
        let inner = what.strip_prefix('(').and_then(|inner| inner.strip_suffix(')'));
        let specifiers = VersionSpecifiers::from_str(inner.unwrap_or(what)).ok()?;
        (!specifiers.is_empty()).then_some(Self { name, specifiers })
    }

    /// Whether a version is one of those; what is no version counts as one.
    pub fn takes(&self, version: &str) -> bool {
        Version::from_str(version).map_or(true, |version| self.specifiers.contains(&version))
    }

    /// The versions, as in `==2.6.0`.
    pub fn versions(&self) -> String {
        self.specifiers.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lock::PythonVersion;
    use crate::platform::Platform;

    fn read(text: &str) -> Option<Asked> {
        let target = Target {
            platform: Platform::from_str("linux/amd64").unwrap(),
            python: PythonVersion::new(3, 12),
            glibc: (2, 35),
        };
        Asked::read(text, &target)
    }

    #[test]
    fn versions_are_compared() {
        let asked = read("Torch (==2.6.0)").unwrap();
        assert_eq!(
            (asked.name.as_str(), asked.versions().as_str()),
            ("torch", "==2.6.0")
        );
        assert!(asked.takes("2.6.0") && asked.takes("2.6.0+cu126") && !asked.takes("2.7.0+cu128"));
        let asked = read("numpy>=1.20,<3; python_version >= '3.9'").unwrap();
        assert!(asked.takes("2.4.6") && !asked.takes("3.0"));
    }

    #[test]
    fn what_asks_for_nothing_here_is_left_out() {
        for text in [
            "torch",
            "torch ; sys_platform == 'win32'",
            "torch==1; sys_platform == 'win32'",
            "pytest>=7; extra == 'test'",
            "torch @ https://files.example/torch.whl",
            "torch>=not.a.version!",
            "",
        ] {
            assert_eq!(read(text), None, "{text}");
        }
    }
}
