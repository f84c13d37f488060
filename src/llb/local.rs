//! Directories that the client offers, such as the build context.
//!
//! A local source never matches an earlier build by itself: it is keyed by session. What reuses results is a
//! consumer that BuildKit keys by content: a copy, or a read-only mount that is not the root.

use std::collections::{BTreeMap, BTreeSet};

use super::caps::Cap;
use super::graph::{Graph, Output};
use super::metadata::Metadata;
use crate::proto::pb;

/// How the client finds out which files have changed since the last transfer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Differ {
    /// It does not: everything is sent. Right for small things that decide a build, because the other way
    /// misses edits which keep size and time.
    None,
    /// By size, time, mode and owner; the default of BuildKit.
    Metadata,
}

/// A directory of the client.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LocalSource {
    /// The name that the client gave it: `context`, `dockerfile`, or a named one.
    pub name: String,
    /// The session of the client that has it. Without one, BuildKit asks the session of the build.
    pub session: String,
    /// Makes the vertex another one when there is no session; never part of a cache key.
    pub unique: String,
    /// Only what matches one of these patterns.
    pub include: Vec<String>,
    /// Not what matches these, in Docker's `.dockerignore` syntax, last match first.
    pub exclude: Vec<String>,
    /// Only these paths, and what they link to.
    pub follow_paths: Vec<String>,
    /// Names the earlier transfer that is brought up to date; one per name and set of patterns.
    pub shared_key_hint: String,
    /// How changes are found. A daemon that does not know it sends as by default, which is why it is not
    /// demanded of the daemon.
    pub differ: Option<Differ>,
}

impl LocalSource {
    /// A directory by the client's name for it.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            ..Self::default()
        }
    }
}

impl Graph {
    /// Adds a directory of the client.
    pub fn local(&mut self, source: LocalSource, metadata: Metadata) -> Output {
        let mut caps = BTreeSet::from([Cap::SourceLocal]);
        let mut attrs = BTreeMap::new();
        let unique = if source.session.is_empty() {
            source.unique
        } else {
            String::new()
        };
        let texts = [
            ("local.session", source.session, Cap::SourceLocalSession),
            ("local.unique", unique, Cap::SourceLocalUnique),
            (
                "local.includepattern",
                json(source.include),
                Cap::SourceLocalInclude,
            ),
            (
                "local.followpaths",
                json(source.follow_paths),
                Cap::SourceLocalFollowPaths,
            ),
            (
                "local.excludepatterns",
                json(source.exclude),
                Cap::SourceLocalExclude,
            ),
            (
                "local.sharedkeyhint",
                source.shared_key_hint,
                Cap::SourceLocalSharedKeyHint,
            ),
        ];
        for (key, value, cap) in texts {
            if !value.is_empty() {
                attrs.insert(key.to_owned(), value);
                caps.insert(cap);
            }
        }
        if let Some(differ) = source.differ {
            let value = match differ {
                Differ::None => "none",
                Differ::Metadata => "metadata",
            };
            attrs.insert("local.differ".to_owned(), value.to_owned());
        }
        let op = pb::SourceOp {
            identifier: format!("local://{}", source.name),
            attrs,
        };
        self.add(pb::op::Op::Source(op), Vec::new(), None, caps, metadata)
    }
}

/// A JSON array, or nothing when there is nothing in it.
fn json(patterns: Vec<String>) -> String {
    if patterns.is_empty() {
        String::new()
    } else {
        serde_json::Value::from(patterns).to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{attrs, caps, source};
    use super::*;
    use crate::platform::Platform;

    #[test]
    fn a_bare_directory() {
        let mut graph = Graph::new(Platform::linux_amd64());
        let output = graph.local(LocalSource::new("context"), Metadata::default());
        assert_eq!(source(&graph, output).identifier, "local://context");
        assert!(attrs(&graph, output).is_empty());
        assert_eq!(caps(&graph, output), ["source.local"]);
        assert_eq!(graph.vertex(output).op().platform, None);
    }

    #[test]
    fn options_are_attributes_with_their_capabilities() {
        let mut graph = Graph::new(Platform::linux_amd64());
        let local = LocalSource {
            session: "s".into(),
            unique: "not beside a session".into(),
            include: vec!["*.toml".into()],
            exclude: vec!["a \"b\"".into(), "!c".into()],
            follow_paths: vec!["uv.lock".into()],
            shared_key_hint: "context".into(),
            differ: Some(Differ::None),
            ..LocalSource::new("context")
        };
        let output = graph.local(local, Metadata::default());
        let expected = [
            ("local.differ", "none"),
            ("local.excludepatterns", r#"["a \"b\"","!c"]"#),
            ("local.followpaths", r#"["uv.lock"]"#),
            ("local.includepattern", r#"["*.toml"]"#),
            ("local.session", "s"),
            ("local.sharedkeyhint", "context"),
        ];
        assert_eq!(attrs(&graph, output), expected);
        let expected = [
            "source.local",
            "source.local.excludepatterns",
            "source.local.followpaths",
            "source.local.includepatterns",
            "source.local.sessionid",
            "source.local.sharedkeyhint",
        ];
        assert_eq!(caps(&graph, output), expected);
    }

    #[test]
    fn without_a_session_it_can_be_told_apart() {
        let mut graph = Graph::new(Platform::linux_amd64());
        let local = LocalSource {
            unique: "1".into(),
            differ: Some(Differ::Metadata),
            ..LocalSource::new("context")
        };
        let output = graph.local(local, Metadata::default());
        assert_eq!(
            attrs(&graph, output),
            [("local.differ", "metadata"), ("local.unique", "1")]
        );
        assert_eq!(caps(&graph, output), ["source.local", "source.local.unique"]);
    }
}
