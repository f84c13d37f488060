//! References to images, normalised as Docker does it (`github.com/distribution/reference`), because BuildKit
//! takes only the full form: `alpine` is `docker.io/library/alpine:latest`.

use std::fmt;
use std::str::FromStr;

const DEFAULT_DOMAIN: &str = "docker.io";
const LEGACY_DEFAULT_DOMAIN: &str = "index.docker.io";
const OFFICIAL: &str = "library/";

/// A normalised reference.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Reference {
    /// Registry, with its port if it has one.
    pub domain: String,
    /// Repository inside the registry.
    pub path: String,
    /// Tag; `latest` is not filled in here but where the reference is written.
    pub tag: Option<String>,
    /// Digest, such as `sha256:...`.
    pub digest: Option<String>,
}

impl Reference {
    /// The same image under its digest; the tag stays for people to read.
    #[must_use]
    pub fn with_digest(mut self, digest: impl Into<String>) -> Self {
        self.digest = Some(digest.into());
        self
    }

    /// The short form that people write: without `docker.io/library/`.
    pub fn familiar(&self) -> String {
        let name = if self.domain == DEFAULT_DOMAIN {
            self.path
                .strip_prefix(OFFICIAL)
                .filter(|rest| !rest.contains('/'))
                .unwrap_or(&self.path)
                .to_owned()
        } else {
            format!("{}/{}", self.domain, self.path)
        };
        format!("{name}{}", self.suffix())
    }

    fn suffix(&self) -> String {
        let mut suffix = String::new();
        if let Some(tag) = &self.tag {
            suffix.push(':');
            suffix.push_str(tag);
        }
        if let Some(digest) = &self.digest {
            suffix.push('@');
            suffix.push_str(digest);
        }
        suffix
    }
}

/// The form BuildKit takes. A reference without tag and digest gets the tag `latest`.
impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}{}", self.domain, self.path, self.suffix())?;
        if self.tag.is_none() && self.digest.is_none() {
            f.write_str(":latest")?;
        }
        Ok(())
    }
}

/// A text that is no reference to an image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParseReferenceError {
    text: String,
    reason: &'static str,
}

impl ParseReferenceError {
    /// What is wrong, without the text, which may hold a password when it is a URL.
    pub fn reason(&self) -> &'static str {
        self.reason
    }
}

impl fmt::Display for ParseReferenceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` is not an image reference: {}", self.text, self.reason)
    }
}

impl std::error::Error for ParseReferenceError {}

impl FromStr for Reference {
    type Err = ParseReferenceError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let error = |reason| {
            Err(ParseReferenceError {
                text: text.to_owned(),
                reason,
            })
        };
        if text.is_empty() {
            return error("it is empty");
        }
        let (rest, digest) = match text.split_once('@') {
            Some((rest, digest)) => (rest, Some(digest)),
            None => (text, None),
        };
        if digest.is_some_and(|digest| !is_digest(digest)) {
            return error("after `@` stands a digest such as sha256:<64 hexadecimal digits>");
        }
        // A colon before the last slash belongs to a port.
        let name_start = rest.rfind('/').map_or(0, |slash| slash + 1);
        let (name, tag) = match rest[name_start..].find(':') {
            Some(colon) => {
                let colon = name_start + colon;
                (&rest[..colon], Some(&rest[colon + 1..]))
            }
            None => (rest, None),
        };
        if tag.is_some_and(|tag| !is_tag(tag)) {
            return error(
                "a tag has up to 128 letters, digits, `_`, `.` and `-`, and starts with none of the last two",
            );
        }
        let (domain, path) = split_domain(name);
        if !is_domain(domain) {
            return error("the registry is not a host name with an optional port");
        }
        if path.chars().any(|character| character.is_ascii_uppercase()) {
            return error("the repository must be lower case");
        }
        if !path.split('/').all(is_path_component) {
            return error("the repository has letters, digits and single `.`, `_`, `__` or `-` between them");
        }
        let path = if domain == DEFAULT_DOMAIN && !path.contains('/') {
            format!("{OFFICIAL}{path}")
        } else {
            path.to_owned()
        };
        Ok(Self {
            domain: domain.to_owned(),
            path,
            tag: tag.map(str::to_owned),
            digest: digest.map(str::to_owned),
        })
    }
}

fn split_domain(name: &str) -> (&str, &str) {
    match name.split_once('/') {
        Some((first, rest)) => {
            let has_upper_case = first.chars().any(|character| character.is_ascii_uppercase());
            if first == LEGACY_DEFAULT_DOMAIN {
                (DEFAULT_DOMAIN, rest)
            } else if first.contains(['.', ':']) || first == "localhost" || has_upper_case {
                (first, rest)
            } else {
                (DEFAULT_DOMAIN, name)
            }
        }
        None => (DEFAULT_DOMAIN, name),
    }
}

fn is_domain(domain: &str) -> bool {
    let host = match domain.rsplit_once(':') {
        Some((host, port)) if !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit()) => host,
        // The last colon of an address in brackets may be its own.
        _ => domain,
    };
    if let Some(address) = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')) {
        return !address.is_empty()
            && address
                .bytes()
                .all(|byte| byte.is_ascii_hexdigit() || byte == b':');
    }
    host.split('.').all(|label| {
        !label.is_empty()
            && !label.starts_with('-')
            && !label.ends_with('-')
            && label
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    })
}

fn is_path_component(component: &str) -> bool {
    let alphanumeric = |character: char| character.is_ascii_lowercase() || character.is_ascii_digit();
    let words: Vec<&str> = component
        .split(alphanumeric)
        .filter(|text| !text.is_empty())
        .collect();
    component.starts_with(alphanumeric)
        && component.ends_with(alphanumeric)
        && words
            .into_iter()
            .all(|between| matches!(between, "." | "_" | "__") || between.bytes().all(|byte| byte == b'-'))
}

/// Whether a text is a tag (OCI distribution specification, "Pulling manifests").
pub(crate) fn is_tag(tag: &str) -> bool {
    tag.len() <= 128
        && tag.starts_with(|first: char| first.is_ascii_alphanumeric() || first == '_')
        && tag
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-'))
}

fn is_digest(digest: &str) -> bool {
    let Some((algorithm, hex)) = digest.split_once(':') else {
        return false;
    };
    let digits = match algorithm {
        "sha256" => 64,
        "sha384" => 96,
        "sha512" => 128,
        _ => return false,
    };
    hex.len() == digits && hex.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn full(text: &str) -> String {
        text.parse::<Reference>().unwrap().to_string()
    }

    #[test]
    fn normalises_like_docker() {
        assert_eq!(full("alpine"), "docker.io/library/alpine:latest");
        assert_eq!(
            full("nvidia/cuda:12.8.1-base-ubuntu22.04"),
            "docker.io/nvidia/cuda:12.8.1-base-ubuntu22.04"
        );
        assert_eq!(full("index.docker.io/a/b"), "docker.io/a/b:latest");
        assert_eq!(full("localhost/a"), "localhost/a:latest");
        assert_eq!(full("zot.example:5000/a/b__c:1"), "zot.example:5000/a/b__c:1");
        assert_eq!(full("[::1]:5000/a"), "[::1]:5000/a:latest");
        let digest = format!("sha256:{}", "a".repeat(64));
        assert_eq!(
            full(&format!("alpine@{digest}")),
            format!("docker.io/library/alpine@{digest}")
        );
        assert_eq!(
            full(&format!("alpine:3@{digest}")),
            format!("docker.io/library/alpine:3@{digest}")
        );
    }

    #[test]
    fn familiar_is_short() {
        for (text, short) in [
            ("docker.io/library/alpine:3", "alpine:3"),
            ("docker.io/nvidia/cuda", "nvidia/cuda"),
            ("zot.example/a", "zot.example/a"),
            ("docker.io/library/a/b", "library/a/b"),
        ] {
            assert_eq!(text.parse::<Reference>().unwrap().familiar(), short);
        }
    }

    #[test]
    fn refuses_what_is_no_reference() {
        let long_tag = format!("a:{}", "t".repeat(129));
        for text in [
            "",
            "Alpine",
            "a:",
            "a:-x",
            "a@sha256:12",
            "a@md5:00",
            "a//b",
            "-a.example/b",
            "a.example:x/b",
            "a/b_",
            "a..b",
            "a___b",
            &long_tag,
            "https://a.example/b",
        ] {
            let error = text.parse::<Reference>().unwrap_err().to_string();
            assert!(error.contains(text), "{error}");
        }
    }
}
