//! `.dockerignore`, as far as the frontend has to understand it: BuildKit does the matching.
//!
//! The client refuses a pattern that is none, and says nothing of where it stands. So patterns are looked at here.

use std::iter::Peekable;
use std::ops::Range;
use std::str::Chars;
use std::sync::Arc;

use crate::diagnostic::{Diagnostic, Location, SourceFile};
use crate::rules::Rule;
use crate::spec::{Spanned, Spec, WheelSource};

mod pattern;

use pattern::{Pattern, hides};

/// An ignore file that has been read.
#[derive(Debug, Clone)]
pub(super) struct Ignore {
    file: Arc<SourceFile>,
    /// As `local.excludepatterns` takes them.
    pub(super) patterns: Vec<String>,
    /// Where each of them stands.
    places: Vec<Range<usize>>,
}

impl Ignore {
    /// What a spec takes from the build context and the file hides: it builds nothing, or something without it, and nobody
    /// would look here for the reason.
    pub(super) fn hidden(&self, spec: &Spec) -> Vec<Diagnostic> {
        let parsed: Option<Vec<Pattern>> = self.patterns.iter().map(|text| Pattern::parse(text)).collect();
        let Some(parsed) = parsed else {
            return Vec::new();
        };
        taken(spec)
            .filter_map(|path| {
                let clean = path.get_ref().trim_start_matches("./").trim_matches('/');
                let number = hides(&parsed, clean)?;
                let below = format!("{clean}/");
                let back = |later: &String| {
                    let later = later.strip_prefix('!');
                    later.is_some_and(|later| later.starts_with(&below) || later.starts_with('*'))
                };
                // A part of it may be taken back.
                if self.patterns[number..].iter().any(back) {
                    return None;
                }
                let place = &self.places[number];
                let (line, _) = self.file.position(place.start);
                let pattern = &self.file.text[place.clone()];
                Some(
                    Rule::IgnoredSource
                        .warning(format!("{} hides `{clean}`", self.file.name))
                        .at(spec.locate(path), "taken from the build context")
                        .help(format!(
                            "line {line} of {} is `{pattern}`: take the path back after it, with `!{clean}`",
                            self.file.name
                        )),
                )
            })
            .collect()
    }
}

/// The paths of the build context that a spec names.
fn taken(spec: &Spec) -> impl Iterator<Item = &Spanned<String>> {
    let copies = spec.images.values().flat_map(|image| &image.copy);
    let copies = copies.map(|copy| &copy.from);
    let wheels = spec.wheels.values().flat_map(|wheel| {
        let source = match &wheel.source {
            WheelSource::Path { path, .. } | WheelSource::ReadyInContext(path) => Some(path),
            _ => None,
        };
        source.into_iter().chain(&wheel.patches)
    });
    copies.chain(wheels)
}

/// The patterns of an ignore file in the form that `local.excludepatterns` takes: comments and blank lines
/// dropped, each pattern cleaned as a path and without a leading slash, `!` and order kept
/// (`moby/patternmatcher/ignorefile`).
///
/// # Errors
///
/// When what stands there is no pattern.
pub(super) fn read(file: &Arc<SourceFile>) -> Result<Ignore, Vec<Diagnostic>> {
    const MARK: char = '\u{feff}';
    let mut patterns = Vec::new();
    let mut places = Vec::new();
    let mut errors = Vec::new();
    let mut offset = 0;
    for line in file.text.split_inclusive('\n') {
        let start = offset;
        offset += line.len();
        let text = if start == 0 {
            line.strip_prefix(MARK).unwrap_or(line)
        } else {
            line
        };
        if text.starts_with('#') {
            continue;
        }
        let text = text.trim();
        if text.is_empty() {
            continue;
        }
        let (negated, pattern) = match text.strip_prefix('!') {
            Some(pattern) => ("!", pattern.trim()),
            None => ("", text),
        };
        let at = start + line.find(text).unwrap_or(0);
        let location = || Location::new(file, at..at + text.len());
        let problem = if pattern.is_empty() {
            Some((
                "`!` takes nothing back",
                "write the pattern after it, as in `!docs/index.md`",
            ))
        } else {
            problem(pattern)
        };
        if let Some((problem, help)) = problem {
            let error = Diagnostic::error(format!("{} has a pattern that is none: {problem}", file.name));
            errors.push(error.at(location(), "this one").help(help));
            continue;
        }
        let cleaned = clean(pattern);
        let relative = match cleaned.strip_prefix('/') {
            Some("") | None => cleaned.as_str(),
            Some(relative) => relative,
        };
        patterns.push(format!("{negated}{relative}"));
        places.push(at..at + text.len());
    }
    if errors.is_empty() {
        Ok(Ignore {
            file: Arc::clone(file),
            patterns,
            places,
        })
    } else {
        Err(errors)
    }
}

/// A path in the way of Go's `path.Clean`: without empty, `.` and resolvable `..` parts.
fn clean(path: &str) -> String {
    let rooted = path.starts_with('/');
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|last| *last != "..") => {
                parts.pop();
            }
            ".." if rooted => {}
            part => parts.push(part),
        }
    }
    match (rooted, parts.is_empty()) {
        (true, _) => format!("/{}", parts.join("/")),
        (false, true) => ".".to_owned(),
        (false, false) => parts.join("/"),
    }
}

/// What is wrong with a pattern, and what to write: what Go's `filepath.Match` refuses, or the expression that
/// `moby/patternmatcher` makes of it.
fn problem(pattern: &str) -> Option<(&'static str, &'static str)> {
    const CLASS: (&str, &str) = (
        "`[` opens a list of characters that does not end",
        "close it with `]`, or write `\\[` for the character itself",
    );
    const EMPTY: (&str, &str) = (
        "a list of characters is empty, or `-` stands in it without two ends",
        "write `\\-` and `\\]` for the characters themselves",
    );
    const ESCAPE: (&str, &str) = (
        "`\\` stands at its end and escapes nothing",
        "write the character after it, or `\\\\` for the character itself",
    );
    const ORDER: (&str, &str) = (
        "a range of characters ends before it begins",
        "write the lower end first, as in `[a-z]`",
    );
    // A character of a list.
    fn one(rest: &mut Peekable<Chars<'_>>) -> Result<char, (&'static str, &'static str)> {
        match rest.next() {
            None => Err(CLASS),
            Some('-' | ']') => Err(EMPTY),
            Some('\\') => rest.next().ok_or(CLASS),
            Some(other) => Ok(other),
        }
    }
    fn class(rest: &mut Peekable<Chars<'_>>) -> Result<(), (&'static str, &'static str)> {
        rest.next_if_eq(&'^');
        loop {
            let low = one(rest)?;
            if rest.next_if_eq(&'-').is_some() && one(rest)? < low {
                return Err(ORDER);
            }
            if rest.next_if_eq(&']').is_some() {
                return Ok(());
            }
        }
    }
    let mut rest = pattern.chars().peekable();
    while let Some(character) = rest.next() {
        match character {
            '\\' if rest.next().is_none() => return Some(ESCAPE),
            '[' => {
                if let Err(problem) = class(&mut rest) {
                    return Some(problem);
                }
            }
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn patterns(text: &str) -> Vec<String> {
        read(&SourceFile::new(".dockerignore", text)).unwrap().patterns
    }

    #[test]
    fn reads_like_docker() {
        let text = "\u{feff}# comment\n\n  /build/ \n!./build/keep\n**/*.pyc\na/../b\n # not a comment\n/\r\n! /x\n\
                    ../up\n/../up\n.\na//b/./c\n#last";
        assert_eq!(
            patterns(text),
            [
                "build",
                "!build/keep",
                "**/*.pyc",
                "b",
                "# not a comment",
                "/",
                "!x",
                "../up",
                "up",
                ".",
                "a/b/c"
            ]
        );
    }

    #[test]
    fn what_is_no_pattern_is_refused_at_its_line() {
        let text = "ok\n[a\n  a[]\n!\n[b-a]\nx\\\n[a-]\n[^a-z]*\\[\n";
        let errors = read(&SourceFile::new(".dockerignore", text)).unwrap_err();
        let said: Vec<String> = errors
            .iter()
            .map(|error| {
                let location = &error.labels[0].location;
                let (line, column) = location.file.position(location.range.start);
                format!("{line}:{column} {}", error.message)
            })
            .collect();
        insta::assert_snapshot!(said.join("\n"), @r"
        2:0 .dockerignore has a pattern that is none: `[` opens a list of characters that does not end
        3:2 .dockerignore has a pattern that is none: a list of characters is empty, or `-` stands in it without two ends
        4:0 .dockerignore has a pattern that is none: `!` takes nothing back
        5:0 .dockerignore has a pattern that is none: a range of characters ends before it begins
        6:0 .dockerignore has a pattern that is none: `\` stands at its end and escapes nothing
        7:0 .dockerignore has a pattern that is none: a list of characters is empty, or `-` stands in it without two ends
        ");
    }
    /// The table is measured by `make acceptance AREA=buildx` against Docker.
    #[test]
    fn matches_what_docker_matches() {
        let cases = include_str!("../../../tests/acceptance/buildx/patterns.txt")
            .lines()
            .skip(1);
        let measured = include_str!("../../../tests/acceptance/buildx/left-out.txt");
        let measured: Vec<BTreeSet<&str>> = measured
            .lines()
            .map(|line| line.split(" | ").filter(|path| !path.is_empty()).collect())
            .collect();
        // The first case hides everything. A folder is there when something in it is.
        let all = &measured[0];
        let is_folder = |path: &str| all.iter().any(|other| other.starts_with(&format!("{path}/")));
        let files: Vec<&str> = all.iter().copied().filter(|path| !is_folder(path)).collect();
        assert!(files.len() > 30 && measured.len() >= 60, "the table is short");
        let mut wrong = Vec::new();
        for (case, hidden) in cases.zip(&measured) {
            let text = case.replace(" | ", "\n");
            let ignore = read(&SourceFile::new(".dockerignore", text)).unwrap();
            let parsed: Vec<Pattern> = ignore
                .patterns
                .iter()
                .map(|pattern| Pattern::parse(pattern).unwrap())
                .collect();
            wrong.extend(
                files
                    .iter()
                    .filter(|path| hides(&parsed, path).is_some() != hidden.contains(*path))
                    .map(|path| format!("{case}: {path}")),
            );
        }
        assert_eq!(wrong, Vec::<String>::new());
    }

    #[test]
    fn what_the_spec_takes_and_the_file_hides_is_said() {
        let spec = "name = \"app\"\n[gpu]\narchs = [\"9.0\"]\ntiers.base = \"a:1\"\ntiers.devel = \"b:1\"\n[python]\n\
                    version = \"3.11\"\nprovider = { image = \"p:1\" }\n[wheels.kernel]\nsource = { path = \"kernels/k\" }\n\
                    [images.app]\ntier = \"base\"\nwheels = [\"kernel\"]\n\
                    copy = [{ from = \"src\", to = \"/a\" }, { from = \"./docs/x.md\", to = \"/b\" }]\n";
        let (spec, _) = Spec::parse(&SourceFile::new("wheelbase.toml", spec)).unwrap();
        let said = |text: &str| -> Vec<String> {
            let ignore = read(&SourceFile::new(".dockerignore", text)).unwrap();
            let findings = ignore.hidden(&spec);
            findings
                .iter()
                .map(|finding| {
                    format!(
                        "{}: {}",
                        finding.message,
                        finding.help.as_deref().unwrap_or_default()
                    )
                })
                .collect()
        };
        insta::assert_snapshot!(said("# all\n*\n!src\n").join("\n"), @r"
        .dockerignore hides `docs/x.md`: line 2 of .dockerignore is `*`: take the path back after it, with `!docs/x.md`
        .dockerignore hides `kernels/k`: line 2 of .dockerignore is `*`: take the path back after it, with `!kernels/k`
        ");
        for harmless in ["build\n**/*.pyc\n", "*\n!src/a\n!kernels/k/setup.py\n!**/x.md\n"] {
            assert_eq!(said(harmless), Vec::<String>::new(), "{harmless}");
        }
    }
}
