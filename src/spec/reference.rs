//! References of container images, as Docker reads them.
//!
//! The grammar is that of distribution's `reference` package (github.com/distribution/reference, `regexp.go` and
//! `normalize.go`): what it accepts, the daemon accepts. Knowing it here means that a slip is shown in the spec
//! and not as a failed pull, and that a mirror can take the registry's place.

use std::fmt;

use super::findings::Problem;

/// A reference with nothing left out: registry, repository, and tag or digest (or both).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reference {
    /// Host of the registry, with its port when it has one.
    pub registry: String,
    /// Path below the registry.
    pub repository: String,
    /// The tag; `latest` when the text had neither tag nor digest.
    pub tag: Option<String>,
    /// The digest, `sha256:...`.
    pub digest: Option<String>,
}

/// The registry that is meant when a reference names none.
const DEFAULT_REGISTRY: &str = "docker.io";

impl Reference {
    /// Reads a reference as `docker pull` does. Errors never repeat the text before an `@` that is no digest:
    /// it may be a password.
    pub(super) fn parse(text: &str) -> Result<Self, Problem> {
        let help = "write `registry/repository:tag`, such as `nvcr.io/nvidia/cuda:12.8.1-devel-ubuntu22.04`";
        let problem = |message: String| Err(Problem::new(message, help));
        let (rest, digest) = match text.split_once('@') {
            None => (text, None),
            Some((rest, digest)) if is_digest(digest) => (rest, Some(digest)),
            Some(_) => {
                return problem("what follows the `@` of this image reference is no digest".to_owned());
            }
        };
        if let Some((scheme, bare)) = rest.split_once("://") {
            return Err(Problem::new(
                format!("`{rest}` is a URL, not an image reference"),
                format!("leave `{scheme}://` out: `{bare}`"),
            ));
        }
        let (name, tag) = match rest.rsplit_once(':') {
            Some((name, tag)) if !tag.contains('/') => (name, Some(tag)),
            _ => (rest, None),
        };
        if let Some(tag) = tag.filter(|tag| !is_tag(tag)) {
            return problem(format!("`{tag}` is not a tag of an image"));
        }
        let (registry, path) = match name.split_once('/') {
            Some((first, path)) if is_registry(first) => (first, path),
            _ => (DEFAULT_REGISTRY, name),
        };
        if !is_host(registry) {
            return problem(format!("`{registry}` is not a registry's host"));
        }
        if path.chars().any(|c| c.is_ascii_uppercase()) {
            return Err(Problem::new(
                format!("`{path}` has upper-case letters, which a repository cannot have"),
                format!("write `{}`", path.to_ascii_lowercase()),
            ));
        }
        if !path.split('/').all(is_component) || registry.len() + path.len() > 254 {
            return problem(format!("`{text}` is not an image reference"));
        }
        let registry = if registry == "index.docker.io" {
            DEFAULT_REGISTRY
        } else {
            registry
        };
        let official = registry == DEFAULT_REGISTRY && !path.contains('/');
        Ok(Self {
            registry: registry.to_owned(),
            repository: if official {
                format!("library/{path}")
            } else {
                path.to_owned()
            },
            tag: tag
                .map(str::to_owned)
                .or_else(|| digest.is_none().then(|| "latest".to_owned())),
            digest: digest.map(str::to_owned),
        })
    }

    /// The same image, pulled through `mirror` (a host, with its port when it has one).
    #[must_use]
    pub fn through(mut self, mirror: Option<&str>) -> Self {
        if let Some(mirror) = mirror {
            mirror.clone_into(&mut self.registry);
        }
        self
    }
}

impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.registry, self.repository)?;
        if let Some(tag) = &self.tag {
            write!(f, ":{tag}")?;
        }
        if let Some(digest) = &self.digest {
            write!(f, "@{digest}")?;
        }
        Ok(())
    }
}

/// Whether the first part of a path is a registry and not a folder (`splitDockerDomain` of `normalize.go`).
fn is_registry(first: &str) -> bool {
    first.contains(['.', ':']) || first == "localhost" || first.chars().any(|c| c.is_ascii_uppercase())
}

/// A host with an optional port: `domainAndPort` of `regexp.go`.
pub(super) fn is_host(text: &str) -> bool {
    let (host, port) = match text.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((address, port)) => {
            let address = !address.is_empty() && address.chars().all(|c| c.is_ascii_hexdigit() || c == ':');
            return address && (port.is_empty() || port.strip_prefix(':').is_some_and(is_port));
        }
        None => match text.split_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (text, None),
        },
    };
    let label = |label: &str| {
        let edge = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric());
        let inner = label.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
        inner && edge(label.chars().next()) && edge(label.chars().last())
    };
    host.split('.').all(label) && port.is_none_or(is_port)
}

fn is_port(text: &str) -> bool {
    text.parse::<u16>().is_ok_and(|port| port > 0) && text.chars().all(|c| c.is_ascii_digit())
}

/// A part of a repository's path: lower-case words, joined by `.`, `_`, `__` or hyphens.
fn is_component(text: &str) -> bool {
    let word = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    let mut rest = text;
    loop {
        let length = rest.find(|c| !word(c)).unwrap_or(rest.len());
        if length == 0 {
            return false;
        }
        rest = &rest[length..];
        if rest.is_empty() {
            return true;
        }
        let joint = &rest[..rest.find(word).unwrap_or(rest.len())];
        if !(matches!(joint, "." | "_" | "__") || joint.chars().all(|c| c == '-')) {
            return false;
        }
        rest = &rest[joint.len()..];
    }
}

fn is_tag(text: &str) -> bool {
    let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    text.len() <= 128
        && text.chars().next().is_some_and(word)
        && text.chars().all(|c| word(c) || matches!(c, '.' | '-'))
}

/// `sha256:` or `sha512:` with as many hex digits as it takes.
fn is_digest(text: &str) -> bool {
    let hex = |hex: &str, length| {
        hex.len() == length && hex.chars().all(|c| c.is_ascii_digit() || matches!(c, 'a'..='f'))
    };
    match text.split_once(':') {
        Some(("sha256", digits)) => hex(digits, 64),
        Some(("sha512", digits)) => hex(digits, 128),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(text: &str) -> String {
        Reference::parse(text)
            .unwrap_or_else(|problem| panic!("{text}: {}", problem.message))
            .to_string()
    }

    #[test]
    fn normalises_as_docker_does() {
        let digest = "a".repeat(64);
        assert_eq!(read("ubuntu"), "docker.io/library/ubuntu:latest");
        assert_eq!(
            read("nvidia/cuda:12.8.1-base"),
            "docker.io/nvidia/cuda:12.8.1-base"
        );
        assert_eq!(read("index.docker.io/ubuntu"), "docker.io/library/ubuntu:latest");
        assert_eq!(read("localhost/x"), "localhost/x:latest");
        assert_eq!(read("zot:5000/a/b__c-d.e:T_1"), "zot:5000/a/b__c-d.e:T_1");
        assert_eq!(read("[::1]:5000/a"), "[::1]:5000/a:latest");
        assert_eq!(
            read(&format!("a@sha256:{digest}")),
            format!("docker.io/library/a@sha256:{digest}")
        );
        assert_eq!(
            read(&format!("a:b@sha256:{digest}")),
            format!("docker.io/library/a:b@sha256:{digest}")
        );
    }

    #[test]
    fn refuses_what_docker_refuses() {
        for text in [
            "",
            "a:",
            "a/",
            "/a",
            "a//b",
            "A",
            "a_-b",
            "a___b",
            "-a",
            "a:-b",
            "a b",
            "a@sha256:abc",
            "a:b:c",
            "https://a/b",
            "zot.example:99999/a",
            "a.-b/c",
            "a@b",
        ] {
            assert!(Reference::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn never_repeats_what_may_be_a_password() {
        let problem = Reference::parse("user:hunter2@registry.example/x").unwrap_err();
        assert!(!format!("{problem:?}").contains("hunter2"));
    }

    #[test]
    fn a_mirror_takes_the_place_of_the_registry() {
        let reference = Reference::parse("nvcr.io/nvidia/pytorch:25.03-py3").unwrap();
        let mirrored = reference.through(Some("zot.example:5000")).to_string();
        assert_eq!(mirrored, "zot.example:5000/nvidia/pytorch:25.03-py3");
    }

    proptest! {
        #[test]
        fn what_is_normal_stays(text in "[a-z0-9./:@_-]{0,30}") {
            if let Ok(reference) = Reference::parse(&text) {
                let normal = reference.to_string();
                prop_assert_eq!(Reference::parse(&normal).unwrap(), reference);
            }
        }
    }
}
