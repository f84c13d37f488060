//! Names of packages, extras and dependency groups.
//!
//! One package is written in many ways (`Flash_Attn`, `flash-attn`, `flash.attn`). Comparing anything but the
//! normalised form loses packages, so the type can only hold that form.

use std::borrow::Borrow;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

/// The name of a Python package, normalised as PEP 503 says: lower case, runs of `-`, `_` and `.` become one `-`. Clones share the text.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PackageName(Arc<str>);

impl PackageName {
    /// The normalised name.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// How the name starts in the file name of a wheel or a source distribution (PEP 427): `-` becomes `_`.
    pub fn as_dist_info_name(&self) -> String {
        self.0.replace('-', "_")
    }
}

impl fmt::Display for PackageName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl AsRef<str> for PackageName {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl Borrow<str> for &PackageName {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl Borrow<str> for PackageName {
    fn borrow(&self) -> &str {
        &self.0
    }
}

/// A text that is no name of a package, extra or group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParseNameError(String);

impl fmt::Display for ParseNameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "`{}` is not a name; it must be ASCII letters and digits, with `-`, `_` and `.` only between them",
            self.0
        )
    }
}

impl std::error::Error for ParseNameError {}

impl FromStr for PackageName {
    type Err = ParseNameError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        normalise(text)
            .map(|name| Self(name.into()))
            .ok_or_else(|| ParseNameError(text.to_owned()))
    }
}

/// The normalised form (PEP 503) of a package, extra (PEP 685) or group name (PEP 735); `None` when it is not one.
pub fn normalise(text: &str) -> Option<String> {
    let bytes = text.as_bytes();
    let (first, last) = (bytes.first()?, bytes.last()?);
    if !first.is_ascii_alphanumeric() || !last.is_ascii_alphanumeric() {
        return None;
    }
    let mut name = String::with_capacity(text.len());
    let mut separated = false;
    for &byte in bytes {
        match byte {
            b'-' | b'_' | b'.' => separated = true,
            _ if byte.is_ascii_alphanumeric() => {
                if separated {
                    name.push('-');
                    separated = false;
                }
                name.push(char::from(byte.to_ascii_lowercase()));
            }
            _ => return None,
        }
    }
    Some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn normalises_as_pep_503_says() {
        for text in ["flash-attn", "Flash_Attn", "flash.attn", "FLASH-_.attn"] {
            assert_eq!(text.parse::<PackageName>().unwrap().as_str(), "flash-attn");
        }
        assert_eq!(
            "flash-attn".parse::<PackageName>().unwrap().as_dist_info_name(),
            "flash_attn"
        );
    }

    #[test]
    fn refuses_what_is_no_name() {
        for text in ["", "-", "-a", "a-", "a b", "é", "a/b", "a@1"] {
            assert!(text.parse::<PackageName>().is_err(), "{text}");
        }
    }
}
