//! From the text of a `requirements.txt` with hashes to a [`Lock`].
//!
//! Such a file is a lock when every line is pinned by version and hash: that is what `pip install --require-hashes`
//! accepts, what `uv pip compile --generate-hashes`, `uv export`, `pip-compile` and others write, and all that is
//! accepted here. The grammar is pip's (`pip/_internal/req/req_file.py`). What pip takes from elsewhere — other
//! files, the environment, the index of its configuration — is refused, or left to the installer's default.

use std::ops::Range;
use std::sync::Arc;

use super::reader::{Fault, Reader, new_lock};
use super::{Indexes, List, Lock, Package};
use crate::diagnostic::SourceFile;

/// A line with its continuations, without its comment.
#[derive(Debug, Default)]
pub(super) struct Line {
    pub(super) text: String,
    /// Where parts of the text begin, and where they stand in the file.
    parts: Vec<(usize, usize)>,
}

impl Line {
    fn push(&mut self, part: &str, at: usize) {
        self.parts.push((self.text.len(), at));
        self.text.push_str(part);
    }

    /// The bytes of the file that a range of the text is, up to the end of the first line of it.
    pub(super) fn place(&self, range: Range<usize>) -> Range<usize> {
        let after = self.parts.partition_point(|(start, _)| *start <= range.start);
        let (start, at) = after
            .checked_sub(1)
            .and_then(|index| self.parts.get(index))
            .copied()
            .unwrap_or_default();
        let next = self.parts.get(after).map_or(self.text.len(), |(start, _)| *start);
        let end = range.end.min(next).max(range.start);
        at + range.start - start..at + end - start
    }
}

/// Puts continued lines together and takes comments out. As for pip, a line that is only a comment ends what was
/// continued.
fn lines(text: &str) -> Vec<Line> {
    let mut lines = Vec::new();
    let mut line = Line::default();
    let body = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut at = text.len() - body.len();
    for raw in body.split_inclusive('\n') {
        let start = at;
        at += raw.len();
        let raw = raw.trim_end();
        let part = without_comment(raw);
        match part.strip_suffix('\\') {
            Some(part) if part.len() + 1 == raw.len() => line.push(part, start),
            _ => {
                line.push(part, start);
                lines.push(std::mem::take(&mut line));
            }
        }
    }
    lines.push(line);
    lines
}

/// A comment begins with a `#` at the start or after white space.
fn without_comment(line: &str) -> &str {
    let end = line.match_indices('#').map(|(at, _)| at).find(|at| {
        let before = line.get(..*at).unwrap_or_default();
        before.is_empty() || before.ends_with(char::is_whitespace)
    });
    line.get(..end.unwrap_or(line.len())).unwrap_or_default()
}

/// The words of a text with their places in it.
pub(super) fn words(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.split_whitespace().map(|word| (offset(text, word), word))
}

/// Where a slice of a text begins in it.
pub(super) fn offset(text: &str, slice: &str) -> usize {
    (slice.as_ptr() as usize).saturating_sub(text.as_ptr() as usize)
}

impl Reader {
    /// A `requirements.txt`, as far as nothing is wrong with it.
    pub(super) fn requirements(&mut self, file: &Arc<SourceFile>) -> Lock {
        let mut indexes = Indexes::default();
        let mut packages: Vec<Package> = Vec::new();
        for line in lines(&file.text) {
            let text = line.text.trim_start();
            if text.starts_with('-') {
                self.option_line(&line, &mut indexes);
            } else if !text.is_empty() {
                packages.extend(self.requirement(&line));
            }
        }
        for package in &mut packages {
            if let super::Source::Indexes(places) = &mut package.source {
                places.clone_from(&indexes);
            }
        }
        let mut lock = new_lock(file, packages);
        lock.markers = std::mem::take(&mut self.markers);
        lock.list = Some(List::default());
        lock
    }

    /// Notes a fault with its own help.
    pub(super) fn helped(
        &mut self,
        range: Range<usize>,
        message: impl Into<String>,
        help: impl Into<String>,
    ) {
        self.faults.push(Fault {
            range,
            message: message.into(),
            help: Some(help.into()),
        });
    }

    /// A line of options. Those that narrow what pip may choose say nothing new: only wheels with the right hash are
    /// installed.
    fn option_line(&mut self, line: &Line, indexes: &mut Indexes) {
        let mut words = words(&line.text);
        let Some((at, word)) = words.next() else { return };
        let (option, value) = match word.split_once('=') {
            Some((option, value)) => (option, Some((at + option.len() + 1, value))),
            // `-ifoo` is `-i foo`.
            None if !word.starts_with("--") && word.len() > 2 && word.is_char_boundary(2) => {
                let (option, value) = word.split_at(2);
                (option, Some((at + 2, value)))
            }
            None => (word, words.next()),
        };
        let place = line.place(at..at + option.len());
        let value_place = value.map_or_else(|| place.clone(), |(at, value)| line.place(at..at + value.len()));
        let value = value.map(|(_, value)| value);
        match option {
            "-i" | "--index-url" | "--pypi-url" => {
                if let Some(url) = self.place_to_look(value, value_place) {
                    indexes.main = Some(url);
                }
            }
            "--extra-index-url" => indexes.others.extend(self.place_to_look(value, value_place)),
            "-f" | "--find-links" => indexes.pages.extend(self.place_to_look(value, value_place)),
            "--require-hashes" | "--only-binary" | "--prefer-binary" | "--pre" => {}
            "-r" | "--requirement" => self.helped(
                place,
                "a lock is one file, and this line includes another",
                "write everything into one file: `uv pip compile FILE --generate-hashes -o requirements.txt`",
            ),
            "-c" | "--constraint" => self.helped(
                place,
                "a lock is one file, and this line names another one with constraints",
                "remove the line: every version is pinned already",
            ),
            "-e" | "--editable" => self.local_project(place),
            "--no-binary" => self.helped(
                place,
                "this line asks for a build from source",
                "remove the line, and build the package in a stage of its own: [wheels.NAME] in the spec",
            ),
            "--no-index" => self.helped(
                place,
                "this line keeps the installer from every index",
                "remove the line, and name the only place to look as --index-url",
            ),
            "--trusted-host" => self.helped(
                place,
                "this line switches certificates off",
                "remove the line, and give the host's certificate to the build as the secret `ca`",
            ),
            _ => self.warnings.push(Fault {
                range: place,
                message: format!("`{option}` is not known, and has no effect here"),
                help: None,
            }),
        }
    }

    /// The URL of an index or page.
    fn place_to_look(&mut self, value: Option<&str>, place: Range<usize>) -> Option<String> {
        let Some(url) = value.filter(|value| !value.is_empty()) else {
            self.fault(&place, "this option needs a URL");
            return None;
        };
        if url.contains("${") {
            self.helped(
                place,
                "variables of the environment have no value in a build",
                "write the URL itself, and give credentials to the build as the secret `netrc`",
            );
            return None;
        }
        if !url.starts_with("https://") && !url.starts_with("http://") {
            self.helped(
                place,
                "only an index with an http or https URL can be reached in a build",
                "publish the files in an index, or give their URLs as `name @ URL` lines",
            );
            return None;
        }
        Some(url.to_owned())
    }

    /// A line that names a folder.
    pub(super) fn local_project(&mut self, place: Range<usize>) {
        self.helped(
            place,
            "this line is a project folder, which has no hash",
            "write the file without it (`uv export --no-emit-workspace`), and build the folder in a stage of its own: \
             [wheels.NAME] with source = { path = \"...\" } in the spec, and `wheels` of the image",
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_joined_and_comments_are_not_part_of_them() {
        let text = "a==1 \\\n    --hash=x # y\r\n# z\nb @ https://h/#c\nc \\\n # d\ne\\";
        let texts: Vec<String> = lines(text).into_iter().map(|line| line.text).collect();
        assert_eq!(
            texts,
            ["a==1     --hash=x ", "", "b @ https://h/#c", "c  ", "e"][..]
        );
    }

    #[test]
    fn places_are_those_of_the_file() {
        let text = "\u{feff}a==1 \\\n    --hash=x\nb\n";
        let lines = lines(text);
        let find = |line: &Line, word: &str| {
            let at = line.text.find(word).unwrap();
            text[line.place(at..at + word.len())].to_owned()
        };
        assert_eq!(find(&lines[0], "a==1"), "a==1");
        assert_eq!(find(&lines[0], "--hash=x"), "--hash=x");
        assert_eq!(find(&lines[1], "b"), "b");
        // What is continued is shown up to the end of its first line.
        assert_eq!(&text[lines[0].place(0..lines[0].text.len())], "a==1 ");
    }
}
