//! Collects what is wrong with a file, so that one run shows everything.
//!
//! It is also the one place that keeps secrets out of what is shown: an error draws the line that it points
//! at, and that line may hold a password. Bytes that were [concealed](Findings::conceal) are drawn as `*`.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

use super::secrets;
use crate::diagnostic::{Diagnostic, Location, SourceFile};
use crate::rules::Rule;

/// Why a piece of text is not what it should be.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Problem {
    /// What is wrong, in one line.
    pub(super) message: String,
    /// What to write instead.
    pub(super) help: String,
}

impl Problem {
    /// A problem with a way out.
    pub(super) fn new(message: impl Into<String>, help: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            help: help.into(),
        }
    }
}

/// The findings of one file so far.
pub(super) struct Findings {
    file: Arc<SourceFile>,
    list: Vec<Diagnostic>,
    concealed: Vec<Range<usize>>,
    meant: BTreeSet<&'static str>,
    used: BTreeSet<String>,
}

impl Findings {
    /// None yet. User information of URLs in the text is concealed from the start, wherever it stands: in
    /// comments and in what turns out not to be TOML, too.
    pub(super) fn new(file: &Arc<SourceFile>) -> Self {
        Self {
            file: Arc::clone(file),
            list: Vec::new(),
            concealed: secrets::suspects(&file.text),
            meant: BTreeSet::new(),
            used: BTreeSet::new(),
        }
    }

    /// A place in the file.
    pub(super) fn place(&self, span: Range<usize>) -> Location {
        Location::new(&self.file, span)
    }

    /// The text as it was written.
    pub(super) fn text(&self, span: Range<usize>) -> &str {
        self.file.text.get(span).unwrap_or_default()
    }

    /// Adds a finding with several places.
    pub(super) fn push(&mut self, diagnostic: Diagnostic) {
        self.list.push(diagnostic);
    }

    /// Adds an error with one place.
    pub(super) fn error(
        &mut self,
        span: Range<usize>,
        message: impl Into<String>,
        label: impl Into<String>,
        help: impl Into<String>,
    ) {
        let place = self.place(span);
        self.push(Diagnostic::error(message).at(place, label).help(help));
    }

    /// Adds what a parser has said of text that is not TOML.
    pub(super) fn syntax(&mut self, errors: &[toml::de::Error]) {
        for error in errors {
            self.error(
                error.span().unwrap_or(0..0),
                format!("this is not TOML: {}", error.message()),
                "",
                "see https://toml.io/en/v1.1.0 for how it is written",
            );
        }
    }

    /// Adds a warning of a rule, with one place.
    pub(super) fn warning(
        &mut self,
        rule: Rule,
        span: Range<usize>,
        message: impl Into<String>,
        label: impl Into<String>,
        help: impl Into<String>,
    ) {
        let place = self.place(span);
        self.push(rule.warning(message).at(place, label).help(help));
    }

    /// Adds a problem of the value at `span` as an error, and gives the value when there is none.
    pub(super) fn check<T>(&mut self, span: Range<usize>, checked: Result<T, Problem>) -> Option<T> {
        match checked {
            Ok(value) => Some(value),
            Err(problem) => {
                self.error(span, problem.message, "", problem.help);
                None
            }
        }
    }

    /// Never show these bytes of the file.
    pub(super) fn conceal(&mut self, span: Range<usize>) {
        self.concealed.push(span);
    }

    /// Notes that a key of the table of keys is there, but misspelt or of a wrong type.
    pub(super) fn note_meant(&mut self, path: &'static str) {
        self.meant.insert(path);
    }

    /// Whether a key that reads as absent was [meant](Self::note_meant): its absence needs no second error.
    pub(super) fn is_meant(&self, path: &str) -> bool {
        self.meant.contains(path)
    }

    /// Notes that a string refers to an argument.
    pub(super) fn note_used(&mut self, argument: &str) {
        self.used.insert(argument.to_owned());
    }

    /// Whether a string [refers](Self::note_used) to an argument.
    pub(super) fn is_used(&self, argument: &str) -> bool {
        self.used.contains(argument)
    }

    /// Whether there is an error so far.
    pub(super) fn failed(&self) -> bool {
        self.list.iter().any(Diagnostic::is_error)
    }

    /// The file as it may be shown, and the warnings; or all errors in the order of the file.
    pub(super) fn finish(self) -> Result<(Arc<SourceFile>, Vec<Diagnostic>), Vec<Diagnostic>> {
        let file = secrets::mask(&self.file, &self.concealed);
        let failed = self.failed();
        let mut list = self.list;
        list.retain(|diagnostic| diagnostic.is_error() == failed);
        list.sort_by_key(|diagnostic| {
            diagnostic.labels.first().map_or((0, 0), |label| {
                (label.location.range.start, label.location.range.end)
            })
        });
        for diagnostic in &mut list {
            diagnostic.message = secrets::redact(&diagnostic.message);
            diagnostic.help = diagnostic.help.take().map(|help| secrets::redact(&help));
            for label in &mut diagnostic.labels {
                label.text = secrets::redact(&label.text);
                label.location.file = Arc::clone(&file);
            }
        }
        if failed { Err(list) } else { Ok((file, list)) }
    }
}
