//! Git repositories.

use std::collections::{BTreeMap, BTreeSet};

use super::caps::Cap;
use super::graph::{Graph, Output};
use super::metadata::Metadata;
use super::path::clean;
use crate::proto::pb;

/// The secrets that BuildKit asks the client for when none are named; both may be absent there.
const DEFAULT_TOKEN_SECRET: &str = "GIT_AUTH_TOKEN";
const DEFAULT_HEADER_SECRET: &str = "GIT_AUTH_HEADER";

/// Which modification time the files of a checkout get.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum GitTime {
    /// The time of the checkout.
    Checkout,
    /// The time of the commit.
    Commit,
}

/// A commit of a repository, or a directory of it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct GitSource {
    /// `https://host/path.git`, `ssh://git@host/path`, `git@host:path`, `git://host/path`; a text without a
    /// scheme is taken as https. A fragment or query is dropped: use the fields below.
    pub url: String,
    /// Branch, tag or commit; the repository's default branch when empty.
    pub reference: String,
    /// Directory of the repository that becomes the root.
    pub subdir: String,
    /// Keep `.git`.
    pub keep_git_dir: bool,
    /// The commit, or the start of it, that `reference` must be.
    pub checksum: Option<String>,
    /// Leave the submodules out.
    pub skip_submodules: bool,
    /// Id of the client's secret that holds a token; BuildKit's own name for it when `None`.
    pub auth_token_secret: Option<String>,
    /// Id of the client's secret that holds an `Authorization` header; BuildKit's own name when `None`.
    pub auth_header_secret: Option<String>,
    /// Lines of a `known_hosts` file, for repositories over SSH.
    pub known_ssh_hosts: Option<String>,
    /// Id of the client's SSH agent, for repositories over SSH; `default` when `None`.
    pub ssh_socket: Option<String>,
    /// Times of the files.
    pub time: Option<GitTime>,
    /// Fetch `reference`, a full commit, although no branch or tag leads to it.
    pub fetch_by_commit: bool,
}

impl GitSource {
    /// A commit, branch or tag of a repository.
    pub fn new(url: impl Into<String>, reference: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            reference: reference.into(),
            ..Self::default()
        }
    }
}

impl Graph {
    /// Adds a repository.
    ///
    /// The identifier is `git://host/path#reference:subdir` whatever the transport, so that the same repository
    /// over https and over ssh is the same source (`llb.Git` of BuildKit's `client/llb/source.go`).
    pub fn git(&mut self, source: GitSource, metadata: Metadata) -> Output {
        let mut caps = BTreeSet::from([Cap::SourceGit, Cap::SourceGitFullUrl]);
        let remote = Remote::parse(&source.url);
        let mut identifier = format!("git://{}", remote.identity);
        let subdir = clean("/", &source.subdir);
        let subdir = subdir.trim_start_matches('/');
        if !source.reference.is_empty() || !subdir.is_empty() {
            identifier.push('#');
            identifier.push_str(&source.reference);
        }
        if !subdir.is_empty() {
            identifier.push(':');
            identifier.push_str(subdir);
            caps.insert(Cap::SourceGitSubdir);
        }

        if source.auth_token_secret.is_some() || source.auth_header_secret.is_some() {
            caps.insert(Cap::SourceGitHttpAuth);
        }
        let token = source
            .auth_token_secret
            .unwrap_or_else(|| DEFAULT_TOKEN_SECRET.to_owned());
        let header = source
            .auth_header_secret
            .unwrap_or_else(|| DEFAULT_HEADER_SECRET.to_owned());
        let mut attrs = BTreeMap::from([
            ("git.fullurl".to_owned(), remote.url),
            ("git.authtokensecret".to_owned(), token),
            ("git.authheadersecret".to_owned(), header),
        ]);
        let known_ssh_hosts = source
            .known_ssh_hosts
            .filter(|_| remote.ssh)
            .map(|lines| format!("{}\n", lines.trim_end_matches('\n')));
        let ssh_socket = remote
            .ssh
            .then(|| source.ssh_socket.unwrap_or_else(|| "default".to_owned()));
        let time = source.time.map(|time| match time {
            GitTime::Checkout => "checkout".to_owned(),
            GitTime::Commit => "commit".to_owned(),
        });
        let flag = |set: bool| set.then(|| "true".to_owned());
        let texts = [
            ("git.keepgitdir", flag(source.keep_git_dir), Cap::SourceGitKeepDir),
            ("git.knownsshhosts", known_ssh_hosts, Cap::SourceGitKnownSshHosts),
            ("git.mountsshsock", ssh_socket, Cap::SourceGitSshSocket),
            ("git.checksum", source.checksum, Cap::SourceGitChecksum),
            (
                "git.skipsubmodules",
                flag(source.skip_submodules),
                Cap::SourceGitSkipSubmodules,
            ),
            ("git.mtime", time, Cap::SourceGitTime),
            (
                "git.fetchbycommit",
                flag(source.fetch_by_commit),
                Cap::SourceGitFetchByCommit,
            ),
        ];
        for (key, value, cap) in texts {
            if let Some(value) = value {
                attrs.insert(key.to_owned(), value);
                caps.insert(cap);
            }
        }
        let op = pb::SourceOp { identifier, attrs };
        self.add(pb::op::Op::Source(op), Vec::new(), None, caps, metadata)
    }
}

/// A repository's address in two forms (`util/gitutil/git_url.go` of BuildKit).
#[derive(Debug, PartialEq, Eq)]
struct Remote {
    /// Host and path, or the text itself when there are none in it.
    identity: String,
    /// What git is given.
    url: String,
    ssh: bool,
}

impl Remote {
    fn parse(text: &str) -> Self {
        let url = text.split(['#', '?']).next().unwrap_or_default();
        match url.split_once("://") {
            Some((scheme, rest)) => Self::with_scheme(&scheme.to_ascii_lowercase(), url, rest),
            None => {
                Self::scp(url).unwrap_or_else(|| Self::with_scheme("https", &format!("https://{url}"), url))
            }
        }
    }

    fn with_scheme(scheme: &str, url: &str, rest: &str) -> Self {
        let url = url.to_owned();
        if !matches!(scheme, "http" | "https" | "ssh" | "git") {
            return Self {
                identity: url.clone(),
                url,
                ssh: false,
            };
        }
        let (authority, path) = match rest.split_once('/') {
            Some((authority, path)) => (authority, clean("/", path)),
            None => (rest, "/".to_owned()),
        };
        let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
        Self {
            identity: format!("{host}{path}"),
            url,
            ssh: scheme == "ssh",
        }
    }

    /// `user@host:path`, the form of scp.
    fn scp(url: &str) -> Option<Self> {
        let (user, rest) = url.split_once('@')?;
        let (host, path) = rest.split_once(':')?;
        let is_word = |text: &str, more: &[char]| {
            !text.is_empty()
                && text
                    .chars()
                    .all(|letter| letter.is_ascii_alphanumeric() || more.contains(&letter))
        };
        if !is_word(user, &['-', '_']) || !is_word(host, &['-', '.']) {
            return None;
        }
        Some(Self {
            identity: format!("{host}{}", clean("/", path)),
            url: url.to_owned(),
            ssh: true,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{attrs, caps, source};
    use super::*;
    use crate::platform::Platform;

    fn identifier(source_of: GitSource) -> (String, String) {
        let mut graph = Graph::new(Platform::linux_amd64());
        let output = graph.git(source_of, Metadata::default());
        let source = source(&graph, output);
        (source.identifier.clone(), source.attrs["git.fullurl"].clone())
    }

    #[test]
    fn transports_of_one_repository_are_one_source() {
        for (url, full) in [
            ("https://git.example/a/b.git", "https://git.example/a/b.git"),
            (
                "https://user:pass@git.example/a/b.git#frag",
                "https://user:pass@git.example/a/b.git",
            ),
            ("ssh://git@git.example/a/b.git", "ssh://git@git.example/a/b.git"),
            ("git@git.example:a/b.git", "git@git.example:a/b.git"),
            ("git://git.example//a/./b.git", "git://git.example//a/./b.git"),
            ("git.example/a/b.git", "https://git.example/a/b.git"),
        ] {
            let found = identifier(GitSource::new(url, "main"));
            assert_eq!(
                found,
                ("git://git.example/a/b.git#main".to_owned(), full.to_owned())
            );
        }
    }

    #[test]
    fn reference_and_directory_follow_the_path() {
        let url = "https://git.example:8443/a.git";
        let with = |reference: &str, subdir: &str| {
            identifier(GitSource {
                subdir: subdir.into(),
                ..GitSource::new(url, reference)
            })
            .0
        };
        assert_eq!(with("", ""), "git://git.example:8443/a.git");
        assert_eq!(with("v1", ""), "git://git.example:8443/a.git#v1");
        assert_eq!(with("v1", "/x/../y/"), "git://git.example:8443/a.git#v1:y");
        assert_eq!(with("", "y"), "git://git.example:8443/a.git#:y");
    }

    #[test]
    fn unknown_schemes_are_left_to_the_daemon() {
        let (identifier, full) = identifier(GitSource::new("ftp://git.example/a", ""));
        assert_eq!(
            (identifier.as_str(), full.as_str()),
            ("git://ftp://git.example/a", "ftp://git.example/a")
        );
    }

    #[test]
    fn a_plain_repository_asks_for_the_usual_secrets() {
        let mut graph = Graph::new(Platform::linux_amd64());
        let output = graph.git(GitSource::new("https://git.example/a", "v1"), Metadata::default());
        let expected = [
            ("git.authheadersecret", "GIT_AUTH_HEADER"),
            ("git.authtokensecret", "GIT_AUTH_TOKEN"),
            ("git.fullurl", "https://git.example/a"),
        ];
        assert_eq!(attrs(&graph, output), expected);
        assert_eq!(caps(&graph, output), ["source.git", "source.git.fullurl"]);
        assert_eq!(graph.vertex(output).op().platform, None);
    }

    #[test]
    fn options_are_attributes_with_their_capabilities() {
        let mut graph = Graph::new(Platform::linux_amd64());
        let git = GitSource {
            subdir: "sub".into(),
            keep_git_dir: true,
            checksum: Some("0123".into()),
            skip_submodules: true,
            auth_token_secret: Some("token".into()),
            auth_header_secret: Some("header".into()),
            known_ssh_hosts: Some("git.example ssh-ed25519 AAAA".into()),
            ssh_socket: Some("agent".into()),
            time: Some(GitTime::Commit),
            fetch_by_commit: true,
            ..GitSource::new("git@git.example:a", "main")
        };
        let output = graph.git(git, Metadata::default());
        let expected = [
            ("git.authheadersecret", "header"),
            ("git.authtokensecret", "token"),
            ("git.checksum", "0123"),
            ("git.fetchbycommit", "true"),
            ("git.fullurl", "git@git.example:a"),
            ("git.keepgitdir", "true"),
            ("git.knownsshhosts", "git.example ssh-ed25519 AAAA\n"),
            ("git.mountsshsock", "agent"),
            ("git.mtime", "commit"),
            ("git.skipsubmodules", "true"),
        ];
        assert_eq!(attrs(&graph, output), expected);
        let expected = [
            "source.git",
            "source.git.checksum",
            "source.git.fetchbycommit",
            "source.git.fullurl",
            "source.git.httpauth",
            "source.git.keepgitdir",
            "source.git.knownsshhosts",
            "source.git.mountsshsock",
            "source.git.mtime",
            "source.git.skipsubmodules",
            "source.git.subdir",
        ];
        assert_eq!(caps(&graph, output), expected);
    }

    #[test]
    fn ssh_settings_are_for_ssh() {
        let mut graph = Graph::new(Platform::linux_amd64());
        let git = GitSource {
            known_ssh_hosts: Some("x".into()),
            ssh_socket: Some("agent".into()),
            ..GitSource::new("https://git.example/a", "")
        };
        let output = graph.git(git, Metadata::default());
        assert!(!caps(&graph, output).iter().any(|cap| cap.contains("ssh")));
        let output = graph.git(GitSource::new("ssh://git@git.example/a", ""), Metadata::default());
        assert_eq!(source(&graph, output).attrs["git.mountsshsock"], "default");
    }
}
