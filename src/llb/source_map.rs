//! Which lines of which files the vertices come from, so that BuildKit can show them when a vertex fails.

use std::sync::Arc;

use super::graph::Vertex;
use crate::diagnostic::{Location, SourceFile};
use crate::proto::pb;

/// The wire form of a file that locations point into. `definition` says how it was obtained.
pub fn source_info(file: &SourceFile, definition: Option<pb::Definition>) -> pb::SourceInfo {
    let extension = file.name.rsplit_once('.').map_or("", |(_, extension)| extension);
    // uv.lock is TOML as well.
    let language = if matches!(extension, "toml" | "lock") {
        "TOML"
    } else {
        ""
    };
    pb::SourceInfo {
        filename: file.name.clone(),
        data: file.text.clone().into_bytes(),
        definition,
        language: language.to_owned(),
    }
}

/// The wire form of a place: lines count from 1, characters from 0. BuildKit marks every line from the first
/// to the last, so a range that takes in the end of its line stops there.
pub fn source_range(location: &Location) -> pb::Range {
    let file = &location.file;
    let start = location.range.start.min(file.text.len());
    let mut end = location.range.end.clamp(start, file.text.len());
    while end > start && matches!(file.text.as_bytes().get(end - 1), Some(b'\n' | b'\r')) {
        end -= 1;
    }
    pb::Range {
        start: Some(position(file, start)),
        end: Some(position(file, end)),
    }
}

fn position(file: &SourceFile, offset: usize) -> pb::Position {
    let (line, character) = file.position(offset);
    let wire = |number| i32::try_from(number).unwrap_or(i32::MAX);
    pb::Position {
        line: wire(line),
        character: wire(character),
    }
}

/// Builds the source map of a definition. Each file is in it once, however many vertices point into it: texts
/// repeated per vertex have broken the message limit of other frontends.
#[derive(Debug)]
pub(crate) struct SourceMap<'a> {
    origins: &'a [(Arc<SourceFile>, pb::Definition)],
    files: Vec<(Arc<SourceFile>, i32)>,
    wire: pb::Source,
}

impl<'a> SourceMap<'a> {
    /// The source map of these vertices; files are numbered as the vertices mention them. `by_digest` are the same vertices
    /// in the order of their digests.
    pub(crate) fn of(
        vertices: &[&Vertex],
        by_digest: &[&Vertex],
        origins: &'a [(Arc<SourceFile>, pb::Definition)],
    ) -> pb::Source {
        let mut map = Self {
            origins,
            files: Vec::new(),
            wire: pb::Source::default(),
        };
        for vertex in vertices {
            for location in &vertex.metadata.locations {
                map.file(&location.file);
            }
            for (info, _) in &vertex.foreign_places {
                map.info(info);
            }
        }
        map.wire.locations = by_digest
            .iter()
            .map(|vertex| (vertex.digest.to_string(), map.places(vertex)))
            .filter(|(_, places)| !places.locations.is_empty())
            .collect();
        map.wire
    }

    fn places(&mut self, vertex: &Vertex) -> pb::Locations {
        let mut places: Vec<pb::Location> = Vec::new();
        for location in &vertex.metadata.locations {
            let source_index = self.file(&location.file);
            push(&mut places, source_index, [source_range(location)]);
        }
        for (info, ranges) in &vertex.foreign_places {
            let source_index = self.info(info);
            push(&mut places, source_index, ranges.iter().copied());
        }
        pb::Locations { locations: places }
    }

    fn file(&mut self, file: &Arc<SourceFile>) -> i32 {
        let known = self
            .files
            .iter()
            .find(|(known, _)| Arc::ptr_eq(known, file) || known == file);
        if let Some((_, index)) = known {
            return *index;
        }
        let origin = self.origins.iter().find(|(known, _)| known == file);
        let index = self.info(&source_info(
            file,
            origin.map(|(_, definition)| definition.clone()),
        ));
        self.files.push((Arc::clone(file), index));
        index
    }

    fn info(&mut self, info: &pb::SourceInfo) -> i32 {
        let infos = &mut self.wire.infos;
        let index = infos.iter().position(|known| known == info).unwrap_or_else(|| {
            infos.push(info.clone());
            infos.len() - 1
        });
        i32::try_from(index).unwrap_or(i32::MAX)
    }
}

fn push(places: &mut Vec<pb::Location>, source_index: i32, ranges: impl IntoIterator<Item = pb::Range>) {
    match places.iter_mut().find(|place| place.source_index == source_index) {
        Some(place) => place.ranges.extend(ranges),
        None => places.push(pb::Location {
            source_index,
            ranges: ranges.into_iter().collect(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::super::{File, Graph, ImageSource, Metadata, Mkfile};
    use super::*;
    use crate::platform::Platform;

    fn range(start: (i32, i32), end: (i32, i32)) -> pb::Range {
        let position = |(line, character)| Some(pb::Position { line, character });
        pb::Range {
            start: position(start),
            end: position(end),
        }
    }

    #[test]
    fn ranges_stop_at_the_end_of_their_line() {
        let file = SourceFile::new("f.toml", "a = 1\nbé = 2\n\n");
        assert_eq!(source_range(&Location::new(&file, 6..13)), range((2, 0), (2, 6)));
        assert_eq!(source_range(&Location::new(&file, 6..15)), range((2, 0), (2, 6)));
        assert_eq!(source_range(&Location::new(&file, 0..6)), range((1, 0), (1, 5)));
        assert_eq!(
            source_range(&Location::new(&file, 99..200)),
            range((4, 0), (4, 0))
        );
    }

    #[test]
    fn each_file_stands_once_with_its_origin() {
        let file = SourceFile::new("wheelbase.toml", "a = 1\nb = 2\n");
        let same = SourceFile::new("wheelbase.toml", "a = 1\nb = 2\n");
        let lock = SourceFile::new("uv.lock", "version = 1\n");
        let mut graph = Graph::new(Platform::linux_amd64());
        let origin = pb::Definition {
            def: vec![vec![1]],
            ..pb::Definition::default()
        };
        graph.set_origin(&file, pb::Definition::default());
        graph.set_origin(&file, origin.clone());
        let metadata = Metadata::default()
            .at(Location::new(&file, 0..5))
            .at(Location::new(&lock, 0..7));
        let base = graph.image(ImageSource::new("base"), metadata.at(Location::new(&same, 6..11)));
        let made = File::on(base).mkfile(Mkfile::new("/f", ""));
        let made = graph.file(made, Metadata::default().at(Location::new(&same, 6..11)));
        let unplaced = graph.file(File::on(made).mkfile(Mkfile::new("/g", "")), Metadata::default());

        let source = graph.definition(unplaced).source.unwrap();
        let names: Vec<&str> = source.infos.iter().map(|info| info.filename.as_str()).collect();
        assert_eq!(names, ["wheelbase.toml", "uv.lock"]);
        assert_eq!(source.infos[0].data, file.text.as_bytes());
        assert_eq!(source.infos[0].language, "TOML");
        assert_eq!(source.infos[0].definition, Some(origin));
        assert_eq!(source.infos[1].definition, None);
        let first = &source.locations[graph.digest(base)].locations;
        assert_eq!(first.len(), 2);
        assert_eq!(first[0].ranges, [range((1, 0), (1, 5)), range((2, 0), (2, 5))]);
        assert_eq!((first[0].source_index, first[1].source_index), (0, 1));
        assert_eq!(source.locations[graph.digest(made)].locations.len(), 1);
        assert!(!source.locations.contains_key(graph.digest(unplaced)));
    }
}
