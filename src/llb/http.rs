//! Files of web servers.

use std::collections::{BTreeMap, BTreeSet};

use super::caps::Cap;
use super::graph::{Graph, Output};
use super::metadata::Metadata;
use crate::platform::Platform;
use crate::proto::pb;

/// A file of a web server: a directory with that one file in it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct HttpSource {
    /// `http://` or `https://`.
    pub url: String,
    /// `sha256:...`. With it the cache key needs no network and no time of the server.
    pub checksum: Option<String>,
    /// Name of the file in the directory; made from the answer or the URL when `None`.
    pub filename: Option<String>,
    /// Permission bits; 0o600 when `None`.
    pub mode: Option<u32>,
    /// Owner of the file.
    pub uid: u32,
    /// Group of the file.
    pub gid: u32,
    /// Id of the client's secret that holds the value of the `Authorization` header.
    pub auth_header_secret: Option<String>,
    /// `Accept` header.
    pub accept: Option<String>,
    /// `User-Agent` header.
    pub user_agent: Option<String>,
    /// A platform that stands in the operation and changes nothing, as BuildKit's own frontends wrote it once.
    pub platform: Option<Platform>,
}

impl HttpSource {
    /// A file by URL.
    pub fn new(url: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            ..Self::default()
        }
    }
}

impl Graph {
    /// Adds a file of a web server.
    pub fn http(&mut self, source: HttpSource, metadata: Metadata) -> Output {
        let mut caps = BTreeSet::from([Cap::SourceHttp]);
        let mut attrs = BTreeMap::new();
        let id = |id: u32| (id != 0).then(|| id.to_string());
        let texts = [
            ("http.checksum", source.checksum, Some(Cap::SourceHttpChecksum)),
            ("http.filename", source.filename, None),
            (
                "http.perm",
                source.mode.map(|mode| format!("0{:o}", mode & 0o777)),
                Some(Cap::SourceHttpMode),
            ),
            ("http.uid", id(source.uid), Some(Cap::SourceHttpOwner)),
            ("http.gid", id(source.gid), Some(Cap::SourceHttpOwner)),
            (
                "http.authheadersecret",
                source.auth_header_secret,
                Some(Cap::SourceHttpAuth),
            ),
            ("http.header.accept", source.accept, Some(Cap::SourceHttpHeader)),
            (
                "http.header.user-agent",
                source.user_agent,
                Some(Cap::SourceHttpHeader),
            ),
        ];
        for (key, value, cap) in texts {
            if let Some(value) = value {
                attrs.insert(key.to_owned(), value);
                caps.extend(cap);
            }
        }
        let op = pb::SourceOp {
            identifier: source.url,
            attrs,
        };
        let platform = source.platform.as_ref();
        self.add(pb::op::Op::Source(op), Vec::new(), platform, caps, metadata)
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{attrs, caps, source};
    use super::*;

    #[test]
    fn the_url_is_the_identifier() {
        let mut graph = Graph::new(Platform::linux_amd64());
        let output = graph.http(
            HttpSource::new("https://index.example/a.whl"),
            Metadata::default(),
        );
        assert_eq!(source(&graph, output).identifier, "https://index.example/a.whl");
        assert!(attrs(&graph, output).is_empty());
        assert_eq!(caps(&graph, output), ["source.http"]);
        assert_eq!(graph.vertex(output).op().platform, None);
    }

    #[test]
    fn options_are_attributes_with_their_capabilities() {
        let mut graph = Graph::new(Platform::linux_amd64());
        let http = HttpSource {
            checksum: Some("sha256:1".into()),
            filename: Some("a.whl".into()),
            mode: Some(0o644),
            uid: 1,
            gid: 2,
            auth_header_secret: Some("token".into()),
            accept: Some("application/zip".into()),
            user_agent: Some("wheelbase".into()),
            ..HttpSource::new("https://index.example/a.whl")
        };
        let output = graph.http(http, Metadata::default());
        let expected = [
            ("http.authheadersecret", "token"),
            ("http.checksum", "sha256:1"),
            ("http.filename", "a.whl"),
            ("http.gid", "2"),
            ("http.header.accept", "application/zip"),
            ("http.header.user-agent", "wheelbase"),
            ("http.perm", "0644"),
            ("http.uid", "1"),
        ];
        assert_eq!(attrs(&graph, output), expected);
        let expected = [
            "soruce.http.uidgid",
            "source.http",
            "source.http.auth",
            "source.http.checksum",
            "source.http.header",
            "source.http.perm",
        ];
        let mut found = caps(&graph, output);
        found.sort_unstable();
        assert_eq!(found, expected);
    }
}
