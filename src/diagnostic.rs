//! What went wrong, where, and what to write instead.
//!
//! Every room reports its findings as [`Diagnostic`]s that point into the file which the user wrote; the
//! edges (terminal and gateway) decide how they look. That keeps one voice for all errors, and lets a build
//! report every mistake at once.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};

/// A text file that diagnostics point into.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceFile {
    /// The name as the user knows it: a path relative to the build context or working directory.
    pub name: String,
    /// The whole text.
    pub text: String,
}

impl SourceFile {
    /// A shared file, ready to be pointed into.
    pub fn new(name: impl Into<String>, text: impl Into<String>) -> Arc<Self> {
        Arc::new(Self {
            name: name.into(),
            text: text.into(),
        })
    }

    /// 1-based line and 0-based character (in `char`s) of a byte offset; the shape of BuildKit's `pb.Position`.
    pub fn position(&self, offset: usize) -> (usize, usize) {
        let mut offset = offset.min(self.text.len());
        while !self.text.is_char_boundary(offset) {
            offset -= 1;
        }
        let before = &self.text[..offset];
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        (
            before.matches('\n').count() + 1,
            before[line_start..].chars().count(),
        )
    }
}

/// A byte range of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Location {
    /// The file.
    pub file: Arc<SourceFile>,
    /// Bytes of the file's text.
    pub range: Range<usize>,
}

impl Location {
    /// A range of `file`.
    pub fn new(file: &Arc<SourceFile>, range: Range<usize>) -> Self {
        Self {
            file: Arc::clone(file),
            range,
        }
    }
}

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Nothing can be built.
    Error,
    /// It builds, but probably not what was meant.
    Warning,
}

/// A place in a file with a few words about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Label {
    /// Where.
    pub location: Location,
    /// What is said at that place; may be empty.
    pub text: String,
}

/// One finding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// How bad it is.
    pub severity: Severity,
    /// The name of the rule that it is of, for warnings that can be switched off.
    pub rule: Option<&'static str>,
    /// What is wrong, in one line.
    pub message: String,
    /// The places that it is about; the first is the main one.
    pub labels: Vec<Label>,
    /// What to write instead.
    pub help: Option<String>,
}

impl Diagnostic {
    /// An error without a place.
    pub fn error(message: impl Into<String>) -> Self {
        Self {
            severity: Severity::Error,
            rule: None,
            message: message.into(),
            labels: Vec::new(),
            help: None,
        }
    }

    /// A warning without a place.
    pub fn warning(message: impl Into<String>) -> Self {
        Self {
            severity: Severity::Warning,
            ..Self::error(message)
        }
    }

    /// Adds a place; the first one added is the main one.
    #[must_use]
    pub fn at(mut self, location: Location, text: impl Into<String>) -> Self {
        self.labels.push(Label {
            location,
            text: text.into(),
        });
        self
    }

    /// Says what to write instead.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Whether this stops the build.
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }

    /// `file:line:column: message`, the one-line form (line and column count from 1).
    pub fn one_line(&self) -> String {
        match self.labels.first() {
            None => self.message.clone(),
            Some(label) => {
                let (line, column) = label.location.file.position(label.location.range.start);
                format!(
                    "{}:{line}:{}: {}",
                    label.location.file.name,
                    column + 1,
                    self.message
                )
            }
        }
    }

    /// Draws the finding with its source lines and carets, as rustc does; `colour` adds terminal colours.
    pub fn render(&self, colour: bool) -> String {
        let level = match self.severity {
            Severity::Error => Level::ERROR,
            Severity::Warning => Level::WARNING,
        };
        let mut title = level.primary_title(self.message.as_str());
        if let Some(rule) = self.rule {
            title = title.id(rule);
        }
        let mut group = Group::with_title(title);
        for (index, label) in self.labels.iter().enumerate() {
            let kind = if index == 0 {
                AnnotationKind::Primary
            } else {
                AnnotationKind::Context
            };
            let file = &label.location.file;
            let end = label.location.range.end.min(file.text.len());
            let range = label.location.range.start.min(end)..end;
            group = group.element(
                Snippet::source(file.text.as_str())
                    .path(file.name.as_str())
                    .annotation(kind.span(range).label(label.text.as_str())),
            );
        }
        if let Some(help) = &self.help {
            group = group.element(Level::HELP.message(help.as_str()));
        }
        let renderer = if colour {
            Renderer::styled()
        } else {
            Renderer::plain()
        };
        renderer.render(&[group])
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.one_line())
    }
}

/// A URL without what may be a secret: who asks, the query, and what follows a `#`.
pub(crate) fn without_secrets(url: &str) -> String {
    let url = url.split(['?', '#']).next().unwrap_or(url);
    match url.split_once("://") {
        Some((scheme, rest)) => {
            let (host, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
            let host = host.rsplit('@').next().unwrap_or(host);
            format!("{scheme}://{host}{path}")
        }
        None => url.to_owned(),
    }
}

/// The name in `candidates` that `word` was probably meant to be: within a third of its length in edits
/// (insert, delete, replace, swap of neighbours), at least one.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let allowed = (word.chars().count() / 3).max(1);
    candidates
        .into_iter()
        .map(|candidate| (edit_distance(word, candidate), candidate))
        .filter(|(distance, _)| *distance <= allowed)
        .min()
        .map(|(_, candidate)| candidate)
}

/// Optimal string alignment distance over `char`s.
fn edit_distance(left: &str, right: &str) -> usize {
    let left: Vec<char> = left.chars().collect();
    let right: Vec<char> = right.chars().collect();
    let mut rows = vec![vec![0; right.len() + 1]; left.len() + 1];
    for (i, row) in rows.iter_mut().enumerate() {
        row[0] = i;
    }
    for (j, cell) in rows[0].iter_mut().enumerate() {
        *cell = j;
    }
    for i in 1..=left.len() {
        for j in 1..=right.len() {
            let replaced = rows[i - 1][j - 1] + usize::from(left[i - 1] != right[j - 1]);
            let mut best = replaced.min(rows[i - 1][j] + 1).min(rows[i][j - 1] + 1);
            if i > 1 && j > 1 && left[i - 1] == right[j - 2] && left[i - 2] == right[j - 1] {
                best = best.min(rows[i - 2][j - 2] + 1);
            }
            rows[i][j] = best;
        }
    }
    rows[left.len()][right.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_with_line_and_caret() {
        let file = SourceFile::new("wheelbase.toml", "name = \"x\"\npackges = []\n");
        let diagnostic = Diagnostic::error("unknown key `packges`")
            .at(Location::new(&file, 11..18), "not a key of this file")
            .help("did you mean `packages`?");
        assert_eq!(diagnostic.one_line(), "wheelbase.toml:2:1: unknown key `packges`");
        let drawn = diagnostic.render(false);
        assert!(drawn.contains("wheelbase.toml:2:1"), "{drawn}");
        assert!(drawn.contains("^^^^^^^"), "{drawn}");
        assert!(drawn.contains("did you mean `packages`?"), "{drawn}");
    }

    #[test]
    fn nearest_is_near() {
        assert_eq!(nearest("packges", ["packages", "ports"]), Some("packages"));
        assert_eq!(nearest("imgaes", ["images"]), Some("images"));
        assert_eq!(nearest("zebra", ["images"]), None);
    }

    #[test]
    fn positions_count_characters() {
        let file = SourceFile::new("f", "é = 1\nb");
        assert_eq!(file.position(3), (1, 2));
        assert_eq!(file.position(7), (2, 0));
        assert_eq!(file.position(99), (2, 1));
    }

    #[test]
    fn a_url_keeps_no_password() {
        assert_eq!(
            without_secrets("https://user:token@files.example/a.whl?sig=1#x"),
            "https://files.example/a.whl"
        );
        assert_eq!(without_secrets("ssh://git@git.example/a"), "ssh://git.example/a");
    }
}
