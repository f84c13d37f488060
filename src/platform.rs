//! The one word for "what the image will run on" that every room shares.

use std::fmt;
use std::str::FromStr;

/// An OCI platform, normalised as containerd does it (`platforms.Normalize`): `x86_64` is `amd64`,
/// `aarch64` is `arm64`, and `arm64/v8` is `arm64`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Platform {
    /// Operating system, `linux` for every image that Wheelbase builds.
    pub os: String,
    /// Go's name of the architecture: `amd64`, `arm64`.
    pub architecture: String,
    /// Variant of the architecture (`v7` of `arm/v7`); empty when there is none.
    pub variant: String,
}

impl Platform {
    /// `linux/amd64`.
    pub fn linux_amd64() -> Self {
        Self {
            os: "linux".into(),
            architecture: "amd64".into(),
            variant: String::new(),
        }
    }

    /// `linux/arm64`.
    pub fn linux_arm64() -> Self {
        Self {
            os: "linux".into(),
            architecture: "arm64".into(),
            variant: String::new(),
        }
    }

    /// Builds a platform from its parts and normalises it.
    pub fn new(os: &str, architecture: &str, variant: &str) -> Self {
        let os = os.to_ascii_lowercase();
        let (architecture, variant) = match (architecture.to_ascii_lowercase().as_str(), variant) {
            ("x86_64" | "x86-64" | "amd64", "" | "v1") => ("amd64".to_owned(), String::new()),
            ("aarch64" | "arm64", "" | "8" | "v8") => ("arm64".to_owned(), String::new()),
            (architecture, variant) => (architecture.to_owned(), variant.to_owned()),
        };
        Self {
            os,
            architecture,
            variant,
        }
    }

    /// The machine's name as Python and wheel tags spell it (`sysconfig.get_platform()`): `x86_64`, `aarch64`.
    pub fn machine(&self) -> &str {
        match self.architecture.as_str() {
            "amd64" => "x86_64",
            "arm64" => "aarch64",
            other => other,
        }
    }
}

/// The form `docker buildx --platform` takes and `refs.platforms` uses: `linux/arm64`, `linux/arm/v7`.
impl fmt::Display for Platform {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.os, self.architecture)?;
        if !self.variant.is_empty() {
            write!(f, "/{}", self.variant)?;
        }
        Ok(())
    }
}

/// A platform string that is not `os/architecture[/variant]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParsePlatformError(String);

impl fmt::Display for ParsePlatformError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "`{}` is not a platform; write os/architecture, such as linux/amd64",
            self.0
        )
    }
}

impl std::error::Error for ParsePlatformError {}

impl FromStr for Platform {
    type Err = ParsePlatformError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let parts: Vec<&str> = text.split('/').collect();
        match parts.as_slice() {
            [os, architecture] if !os.is_empty() && !architecture.is_empty() => {
                Ok(Self::new(os, architecture, ""))
            }
            [os, architecture, variant] if parts.iter().all(|part| !part.is_empty()) => {
                Ok(Self::new(os, architecture, variant))
            }
            _ => Err(ParsePlatformError(text.to_owned())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn normalises_like_containerd() {
        assert_eq!("linux/x86_64".parse(), Ok(Platform::linux_amd64()));
        assert_eq!("linux/arm64/v8".parse(), Ok(Platform::linux_arm64()));
        assert_eq!("linux/aarch64".parse(), Ok(Platform::linux_arm64()));
        assert_eq!(
            "linux/arm/v7".parse::<Platform>().unwrap().to_string(),
            "linux/arm/v7"
        );
    }

    #[test]
    fn refuses_what_is_no_platform() {
        for text in ["", "linux", "linux/", "/amd64", "linux/amd64/", "a/b/c/d"] {
            assert!(text.parse::<Platform>().is_err(), "{text}");
        }
    }
}
