//! What is said about a vertex without being part of it: none of this enters a digest or a cache key.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::exec::Resources;
use crate::diagnostic::Location;

/// The description key that holds a vertex's name (`client/llb/state.go`, `WithCustomName`).
pub const NAME_KEY: &str = "llb.customname";

/// Vertices that are shown as one line of progress.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ProgressGroup {
    /// What makes two vertices members of the same group.
    pub id: Cow<'static, str>,
    /// The line's text.
    pub name: Cow<'static, str>,
    /// Whether this vertex shows only once another member, which is not weak, has started.
    pub weak: bool,
}

/// Name, group, cache behaviour and origin of a vertex.
///
/// When the same operation is added to a graph twice it stays one vertex: the first name, group, export setting and
/// resources count, locations and descriptions are united, and the cache is ignored when either says so.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Metadata {
    /// The progress line. BuildKit makes one from the operation when there is none.
    pub name: Option<String>,
    /// The progress line of several vertices.
    pub group: Option<ProgressGroup>,
    /// Execute although a result is known. This also empties the cache mounts of the vertex
    /// (`detectPrunedCacheID` in BuildKit).
    pub ignore_cache: bool,
    /// Whether the result may go into an exported cache; the exporter decides when this is `None`.
    pub export_cache: Option<bool>,
    /// The lines that the vertex comes from; BuildKit shows them when it fails.
    pub locations: Vec<Location>,
    /// Free text that BuildKit passes on.
    pub description: BTreeMap<String, String>,
    /// What a process may use of the machine; all of it when `None`. Only of processes.
    pub resources: Option<Box<Resources>>,
}

impl Metadata {
    /// Metadata with a name.
    pub fn named(name: impl Into<String>) -> Self {
        Self {
            name: Some(name.into()),
            ..Self::default()
        }
    }

    /// Puts the vertex into a progress group.
    #[must_use]
    pub fn group(mut self, group: ProgressGroup) -> Self {
        self.group = Some(group);
        self
    }

    /// Adds a place in a file that the vertex comes from.
    #[must_use]
    pub fn at(mut self, location: Location) -> Self {
        self.locations.push(location);
        self
    }

    /// Adds several places.
    #[must_use]
    pub fn locations(mut self, locations: impl IntoIterator<Item = Location>) -> Self {
        self.locations.extend(locations);
        self
    }

    /// Sets whether a known result is ignored.
    #[must_use]
    pub fn ignore_cache(mut self, ignore: bool) -> Self {
        self.ignore_cache = ignore;
        self
    }

    /// Sets whether the result may go into an exported cache.
    #[must_use]
    pub fn export_cache(mut self, export: bool) -> Self {
        self.export_cache = Some(export);
        self
    }

    /// Sets what a process may use of the machine.
    #[must_use]
    pub fn resources(mut self, resources: Option<Resources>) -> Self {
        self.resources = resources.map(Box::new);
        self
    }

    /// Adds free text.
    #[must_use]
    pub fn describe(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.description.insert(key.into(), value.into());
        self
    }

    /// Adds what another mention of the same vertex says.
    pub(crate) fn unite(&mut self, other: Self) {
        self.name = self.name.take().or(other.name);
        self.group = self.group.take().or(other.group);
        self.ignore_cache |= other.ignore_cache;
        self.export_cache = self.export_cache.or(other.export_cache);
        self.resources = self.resources.take().or(other.resources);
        for location in other.locations {
            if !self.locations.contains(&location) {
                self.locations.push(location);
            }
        }
        for (key, value) in other.description {
            self.description.entry(key).or_insert(value);
        }
    }

    /// The description as it goes over the wire: free text and name.
    pub(crate) fn wire_description(&self) -> BTreeMap<String, String> {
        let mut description = self.description.clone();
        if let Some(name) = &self.name {
            description.insert(NAME_KEY.to_owned(), name.clone());
        }
        description
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnostic::SourceFile;

    #[test]
    fn first_mention_names_and_all_mentions_locate() {
        let file = SourceFile::new("f", "ab");
        let mut metadata = Metadata::named("one")
            .at(Location::new(&file, 0..1))
            .describe("k", "1");
        metadata.unite(
            Metadata::named("two")
                .at(Location::new(&file, 0..1))
                .at(Location::new(&file, 1..2))
                .ignore_cache(true)
                .export_cache(false)
                .describe("k", "2")
                .describe("l", "3"),
        );
        assert_eq!(metadata.name.as_deref(), Some("one"));
        assert_eq!(metadata.locations.len(), 2);
        assert!(metadata.ignore_cache);
        assert_eq!(metadata.export_cache, Some(false));
        let description = metadata.wire_description();
        assert_eq!(description["k"], "1");
        assert_eq!(description["l"], "3");
        assert_eq!(description[NAME_KEY], "one");
    }
}
