//! Named contexts: what `--build-context NAME=VALUE` puts in place of an image or directory.

use std::fmt;

use super::git_url::{is_git, shown_url};
use super::options::Options;
use crate::diagnostic::Diagnostic;
use crate::llb::Reference;
use crate::platform::Platform;

/// What stands in for a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedContext {
    /// The name.
    pub name: String,
    /// The only platform that it stands in for, if any.
    pub platform: Option<Platform>,
    /// What it is.
    pub source: ContextSource,
}

/// The kinds of context (`frontend/dockerui/namedcontext.go` of BuildKit).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ContextSource {
    /// An empty file system.
    Scratch,
    /// An image of a registry.
    Image(String),
    /// A repository, with `#reference:subdir` if any.
    Git(String),
    /// A file of a web server.
    Http(String),
    /// An image of an OCI layout that the client offers.
    OciLayout {
        /// The client's id of the layout.
        store: String,
        /// Digest of the image.
        digest: String,
    },
    /// A directory of the client, by its name there.
    Local(String),
    /// A graph that the client gives, by its name there.
    Input(String),
}

impl ContextSource {
    /// Reads the value of a `context:` option.
    pub fn parse(value: &str) -> Result<Self, Diagnostic> {
        if is_git(value) {
            return Ok(Self::Git(value.to_owned()));
        }
        let Some((scheme, rest)) = value.split_once(':') else {
            return Err(unknown(value));
        };
        let location = rest.strip_prefix("//").unwrap_or(rest).to_owned();
        match scheme {
            "docker-image" if location == "scratch" => Ok(Self::Scratch),
            "docker-image" => Ok(Self::Image(location)),
            "http" | "https" => Ok(Self::Http(value.to_owned())),
            "local" => Ok(Self::Local(location)),
            "input" => Ok(Self::Input(location)),
            "oci-layout" => match location.split_once('@') {
                Some((store, digest)) => {
                    // A tag is for people: the digest decides.
                    let store = store.split_once(':').map_or(store, |(store, _)| store);
                    Ok(Self::OciLayout {
                        store: store.to_owned(),
                        digest: digest.to_owned(),
                    })
                }
                None => Err(Diagnostic::error(format!("`{value}` names no digest"))
                    .help("an OCI layout is given as oci-layout://STORE@sha256:DIGEST")),
            },
            _ => Err(unknown(value)),
        }
    }
}

fn unknown(value: &str) -> Diagnostic {
    Diagnostic::error(format!("`{}` is of no known kind", shown_url(value)))
        .help("known are docker-image://, git repositories, http(s)://, oci-layout://, local: and input:")
}

/// The name and platform in the key of an option, `NAME` or `NAME::PLATFORM`.
fn split_key(key: &str) -> (&str, Option<&str>) {
    key.split_once("::")
        .map_or((key, None), |(name, platform)| (name, Some(platform)))
}

/// The name under which the context that stands in for an image is given: the short form of its reference, without
/// the tag `latest`, as `docker buildx` writes it. What is no reference stays as it is.
pub fn context_name(name: &str) -> String {
    match name.parse::<Reference>() {
        Ok(reference) => {
            let familiar = reference.familiar();
            familiar.strip_suffix(":latest").unwrap_or(&familiar).to_owned()
        }
        Err(_) => name.to_owned(),
    }
}

impl Options {
    /// All named contexts, in the order of their keys.
    pub fn named_contexts(&self) -> Result<Vec<NamedContext>, Diagnostic> {
        let with_prefix = self.with_prefix("context:");
        let contexts = with_prefix.into_iter().map(|(key, value)| {
            let (name, platform) = split_key(key);
            let platform = platform
                .map(|text| text.parse().map_err(|error| invalid(key, error)))
                .transpose()?;
            Ok(NamedContext {
                name: name.to_owned(),
                platform,
                source: ContextSource::parse(value).map_err(|error| Diagnostic {
                    message: format!("the option `context:{key}` is wrong: {}", error.message),
                    ..error
                })?,
            })
        });
        contexts.collect()
    }

    /// What stands in for `name` on `platform`.
    pub fn named_context(&self, name: &str, platform: &Platform) -> Result<Option<NamedContext>, Diagnostic> {
        let name = context_name(name);
        let contexts = self.named_contexts()?;
        let of = |wanted: Option<&Platform>| {
            contexts
                .iter()
                .find(|context| context.name == name && context.platform.as_ref() == wanted)
        };
        Ok(of(Some(platform)).or_else(|| of(None)).cloned())
    }
}

fn invalid(key: &str, error: impl fmt::Display) -> Diagnostic {
    Diagnostic::error(format!("the option `context:{key}` is wrong: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_is_recognised() {
        use ContextSource as Source;
        for (value, expected) in [
            ("docker-image://alpine:3", Source::Image("alpine:3".into())),
            ("docker-image://scratch", Source::Scratch),
            (
                "https://git.example/a.git#main:sub",
                Source::Git("https://git.example/a.git#main:sub".into()),
            ),
            ("git@git.example:a", Source::Git("git@git.example:a".into())),
            ("git://git.example/a", Source::Git("git://git.example/a".into())),
            (
                "ssh://git@git.example/a",
                Source::Git("ssh://git@git.example/a".into()),
            ),
            (
                "https://files.example/a.tar",
                Source::Http("https://files.example/a.tar".into()),
            ),
            ("https://files.git", Source::Http("https://files.git".into())),
            ("local:src", Source::Local("src".into())),
            ("input:base", Source::Input("base".into())),
            (
                "oci-layout://store:tag@sha256:1",
                Source::OciLayout {
                    store: "store".into(),
                    digest: "sha256:1".into(),
                },
            ),
        ] {
            assert_eq!(ContextSource::parse(value), Ok(expected), "{value}");
        }
    }

    #[test]
    fn what_is_no_context_is_said_without_passwords() {
        let error = ContextSource::parse("ftp://user:secret@files.example/a").unwrap_err();
        assert_eq!(error.message, "`ftp://files.example/a` is of no known kind");
        assert!(ContextSource::parse("plain").is_err());
        assert!(
            ContextSource::parse("oci-layout://store:tag")
                .unwrap_err()
                .message
                .contains("digest")
        );
    }

    #[test]
    fn the_platforms_own_context_comes_first() {
        let options = Options::of(&[
            ("context:base", "docker-image://any"),
            ("context:base::linux/arm64", "docker-image://arm"),
            ("context:nvidia/cuda:12.8.1-base-ubuntu22.04", "local:cuda"),
        ]);
        let find = |name: &str, platform: &Platform| {
            options
                .named_context(name, platform)
                .unwrap()
                .map(|context| context.source)
        };
        let (amd64, arm64) = (Platform::linux_amd64(), Platform::linux_arm64());
        assert_eq!(find("base", &amd64), Some(ContextSource::Image("any".into())));
        assert_eq!(find("base", &arm64), Some(ContextSource::Image("arm".into())));
        assert_eq!(
            find("docker.io/library/base:latest", &arm64),
            Some(ContextSource::Image("arm".into()))
        );
        let cuda = "docker.io/nvidia/cuda:12.8.1-base-ubuntu22.04";
        assert_eq!(find(cuda, &amd64), Some(ContextSource::Local("cuda".into())));
        assert_eq!(find("other", &amd64), None);
        assert_eq!(options.named_contexts().unwrap().len(), 3);
    }

    #[test]
    fn a_wrong_platform_names_its_option() {
        let error = Options::of(&[("context:a::linux", "local:a")])
            .named_contexts()
            .unwrap_err();
        assert!(
            error
                .message
                .starts_with("the option `context:a::linux` is wrong"),
            "{}",
            error.message
        );
    }
}
