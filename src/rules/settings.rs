//! What a file and a build say about rules: `# check=skip=RootUser;error=true`.
//!
//! The grammar is that of the Dockerfile's directive (`ParseLintOptions` in `frontend/dockerfile/linter` of BuildKit), and so
//! is the place: the comments at the head of the file, and those right above what they speak of, here a table. One thing is
//! other: `#:schema` may stand between the directives of the head.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

use super::tables::{self, Table, lines, tables};
use super::{Rule, Severity, Stage, rule_of};
use crate::diagnostic::{Diagnostic, Location, SourceFile, nearest};

/// The option of a build that takes the place of the directive at the head, named by the Dockerfile frontend.
const BUILD_ARG: &str = "BUILDKIT_DOCKERFILE_CHECK";

/// What is said of rules.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Settings {
    head: Options,
    /// What is said above tables, by the path of each.
    tables: Vec<(String, Options)>,
    /// The value of the directive at the head.
    place: Option<Location>,
    /// Names in directives that no rule has.
    unknown: Vec<Diagnostic>,
}

/// One directive.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Options {
    skip: Names,
    experimental: Names,
    error: bool,
}

/// Names of rules.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Names {
    all: bool,
    some: BTreeSet<String>,
}

impl Names {
    fn read(value: &str) -> Self {
        let value = value.trim();
        if value == "all" {
            return Self {
                all: true,
                some: BTreeSet::new(),
            };
        }
        Self {
            all: false,
            some: value
                .split(',')
                .map(|name| name.trim().to_owned())
                .filter(|name| !name.is_empty())
                .collect(),
        }
    }

    fn has(&self, rule: Rule) -> bool {
        self.all || self.some.contains(rule.name())
    }
}

impl Options {
    /// Reads `skip=A,B;error=true`; the error says what is wrong with it.
    fn read(text: &str) -> Result<Self, (String, String)> {
        let usage = "write for example skip=RootUser,LatestTag;error=true, or skip=all";
        let mut options = Self::default();
        if text.trim().is_empty() {
            return Ok(options);
        }
        for part in text.split(';') {
            let Some((key, value)) = part.split_once('=') else {
                return Err((format!("`{part}` is no option of a check"), usage.to_owned()));
            };
            match key.trim() {
                "skip" => options.skip = Names::read(value),
                "experimental" => options.experimental = Names::read(value),
                "error" => {
                    options.error = boolean(value.trim()).ok_or_else(|| {
                        let message = format!("`error` of a check is true or false, not `{}`", value.trim());
                        (message, usage.to_owned())
                    })?;
                }
                key => {
                    let help = match nearest(key, ["skip", "error", "experimental"]) {
                        Some(near) => format!("did you mean `{near}`?"),
                        None => usage.to_owned(),
                    };
                    return Err((format!("a check has no option `{key}`"), help));
                }
            }
        }
        Ok(options)
    }
}

/// What Go's `strconv.ParseBool` takes.
fn boolean(text: &str) -> Option<bool> {
    match text {
        "1" | "t" | "T" | "TRUE" | "true" | "True" => Some(true),
        "0" | "f" | "F" | "FALSE" | "false" | "False" => Some(false),
        _ => None,
    }
}

impl Settings {
    /// Reads the directives of a file.
    ///
    /// # Errors
    ///
    /// All that cannot be read, each at its place.
    pub fn of(file: &Arc<SourceFile>) -> Result<Self, Vec<Diagnostic>> {
        let mut settings = Self::default();
        let mut errors = Vec::new();
        let text = file.text.as_str();
        let head = lines(text).take_while(|(_, line)| line.trim_start_matches('\u{feff}').starts_with('#'));
        for (start, line) in head {
            let Some(value) = directive(line) else { continue };
            let place = at(file, start, &value);
            if let Some(first) = &settings.place {
                errors.push(
                    Diagnostic::error("there are two `check` directives")
                        .at(place, "")
                        .at(first.clone(), "the first")
                        .help("write one, with `;` between its options"),
                );
                continue;
            }
            match read(&line[value], &place) {
                Ok(options) => {
                    settings.note_unknown(&options, &place);
                    settings.head = options;
                }
                Err(error) => errors.push(error),
            }
            settings.place = Some(place);
        }
        for table in tables(text) {
            settings.read_table(file, &table, &mut errors);
        }
        if errors.is_empty() {
            Ok(settings)
        } else {
            Err(errors)
        }
    }

    fn read_table(&mut self, file: &Arc<SourceFile>, table: &Table<'_>, errors: &mut Vec<Diagnostic>) {
        for (place, line) in &table.comments {
            let Some(value) = directive(line) else { continue };
            let place = at(file, place.start, &value);
            match read(&line[value], &place) {
                Ok(options) => {
                    self.note_unknown(&options, &place);
                    self.tables.push((table.path.to_owned(), options));
                }
                Err(error) => errors.push(error),
            }
        }
    }

    fn note_unknown(&mut self, options: &Options, place: &Location) {
        let names = options.skip.some.iter().chain(&options.experimental.some);
        for name in names.filter(|name| Rule::find(name).is_none()) {
            let warning = Rule::UnknownRule
                .warning(format!("there is no rule `{name}`"))
                .at(place.clone(), "");
            let known = Rule::ALL.iter().map(|rule| rule.name());
            self.unknown.push(match nearest(name, known) {
                Some(near) => warning.help(format!("did you mean `{near}`?")),
                None => warning.help(format!("the rules are explained in {}", super::docs::PAGE)),
            });
        }
    }

    /// With what a build says in the place of the directive at the head. Names that no rule has are taken: the same value may
    /// go to builds of Dockerfiles.
    ///
    /// # Errors
    ///
    /// When it cannot be read.
    pub fn replaced_by(mut self, value: &str) -> Result<Self, Diagnostic> {
        self.head = Options::read(value).map_err(|(message, help)| {
            Diagnostic::error(format!("--build-arg {BUILD_ARG}={value}: {message}")).help(help)
        })?;
        self.place = None;
        Ok(self)
    }

    /// What is left of findings. Errors always are.
    pub fn keep(&self, findings: Vec<Diagnostic>) -> Vec<Diagnostic> {
        findings.into_iter().filter(|one| self.keeps(one)).collect()
    }

    fn keeps(&self, finding: &Diagnostic) -> bool {
        let Some(rule) = rule_of(finding).filter(|_| !finding.is_error()) else {
            return finding.is_error() || !self.head.skip.all;
        };
        let path = finding
            .labels
            .first()
            .and_then(|label| tables::table_of(&label.location));
        let above = self
            .tables
            .iter()
            .filter(|(table, _)| path.as_ref().is_some_and(|path| tables::is_within(table, path)));
        let said: Vec<&Options> = std::iter::once(&self.head)
            .chain(above.map(|(_, options)| options))
            .collect();
        let asked = rule.entry().severity != Severity::Advice
            || said.iter().any(|options| options.experimental.has(rule));
        asked && !said.iter().any(|options| options.skip.has(rule))
    }

    /// Warnings of the directives themselves.
    pub fn warnings(&self) -> Vec<Diagnostic> {
        self.unknown.clone()
    }

    /// The error that `error=true` makes of warnings. What only a build finds out is let off: it is about caches, and the
    /// image is as good.
    pub fn verdict(&self, warnings: &[Diagnostic]) -> Option<Diagnostic> {
        if !self.head.error {
            return None;
        }
        let broken: BTreeSet<&str> = warnings
            .iter()
            .filter_map(rule_of)
            .filter(|rule| rule.entry().stage == Stage::Check)
            .map(Rule::name)
            .collect();
        if broken.is_empty() {
            return None;
        }
        let names: Vec<&str> = broken.into_iter().collect();
        let message = format!("lint violation found for rules: {}", names.join(", "));
        let mut error =
            Diagnostic::error(message).help("mend what the warnings say, or add the rules to `skip`");
        for warning in warnings {
            if let Some(label) = warning.labels.first() {
                error = error.at(label.location.clone(), warning.message.clone());
            }
        }
        Some(match &self.place {
            Some(place) => error.at(place.clone(), "warnings are errors"),
            None => error,
        })
    }
}

/// The place of a directive's value in its file.
fn at(file: &Arc<SourceFile>, start: usize, value: &Range<usize>) -> Location {
    Location::new(file, start + value.start..start + value.end)
}

/// Reads a directive's value. As in a Dockerfile it ends at the first space, and what comes after it is a remark; a list that
/// goes on there is no remark.
fn read(value: &str, place: &Location) -> Result<Options, Diagnostic> {
    let word = value.split(' ').next().unwrap_or(value);
    if word.len() < value.len() && word.ends_with([',', ';', '=']) {
        return Err(Diagnostic::error("a `check` directive ends at the first space")
            .at(place.clone(), "")
            .help("write it without spaces: skip=RootUser,LatestTag;error=true"));
    }
    Options::read(word).map_err(|(message, help)| Diagnostic::error(message).at(place.clone(), "").help(help))
}

/// Where the value is in a comment line that is a `check` directive.
fn directive(line: &str) -> Option<Range<usize>> {
    let after = line
        .trim_start_matches('\u{feff}')
        .strip_prefix('#')?
        .trim_start();
    let (name, rest) = after.split_once('=')?;
    if !name.trim_end().eq_ignore_ascii_case("check") {
        return None;
    }
    let value = rest.trim();
    let start = line.len() - rest.trim_start().len();
    (!value.is_empty()).then_some(start..start + value.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(text: &str) -> Arc<SourceFile> {
        SourceFile::new("wheelbase.toml", text)
    }

    fn settings(text: &str) -> Settings {
        Settings::of(&file(text)).unwrap()
    }

    fn said(text: &str) -> String {
        let errors = Settings::of(&file(text)).unwrap_err();
        let shown: Vec<String> = errors.iter().map(|error| error.render(false)).collect();
        shown.join("\n")
    }

    #[test]
    fn directives_stand_in_the_comments_at_the_head() {
        let text = "# syntax=registry.example/wheelbase:1\n#:schema s.json\n#  Check = skip=RootUser,LatestTag;error=1 why\nname = \"a\"\n";
        let settings = settings(text);
        assert!(settings.head.error && settings.head.skip.has(Rule::LatestTag));
        assert!(!settings.head.skip.has(Rule::UnusedWheel));
        assert_eq!(settings.warnings(), []);
        let late = "# syntax=a\nname = \"a\"\n# check=skip=all\n";
        assert_eq!(Settings::of(&file(late)).unwrap().head, Options::default());
        let bom = "\u{feff}# check=skip=all\n";
        assert!(Settings::of(&file(bom)).unwrap().head.skip.all);
    }

    #[test]
    fn what_cannot_be_read_is_shown() {
        insta::assert_snapshot!(said("# syntax=a\n# check=skp=all\n"), @r"
        error: a check has no option `skp`
         --> wheelbase.toml:2:9
          |
        2 | # check=skp=all
          |         ^^^^^^^
          |
          = help: did you mean `skip`?
        ");
        insta::assert_snapshot!(said("# check=error=yes\n# check=skip=all\n\n# check=skip\n[gpu]\n"), @r"
        error: `error` of a check is true or false, not `yes`
         --> wheelbase.toml:1:9
          |
        1 | # check=error=yes
          |         ^^^^^^^^^
          |
          = help: write for example skip=RootUser,LatestTag;error=true, or skip=all
        error: there are two `check` directives
         --> wheelbase.toml:2:9
          |
        2 | # check=skip=all
          |         ^^^^^^^^
          |
         ::: wheelbase.toml:1:9
          |
        1 | # check=error=yes
          |         --------- the first
          |
          = help: write one, with `;` between its options
        error: `skip` is no option of a check
         --> wheelbase.toml:4:9
          |
        4 | # check=skip
          |         ^^^^
          |
          = help: write for example skip=RootUser,LatestTag;error=true, or skip=all
        ");
        insta::assert_snapshot!(said("# check=skip=RootUser, LatestTag\n"), @r"
        error: a `check` directive ends at the first space
         --> wheelbase.toml:1:9
          |
        1 | # check=skip=RootUser, LatestTag
          |         ^^^^^^^^^^^^^^^^^^^^^^^^
          |
          = help: write it without spaces: skip=RootUser,LatestTag;error=true
        ");
    }

    #[test]
    fn a_misspelt_rule_is_guessed_in_the_file_and_taken_from_a_build() {
        let settings = settings("# check=skip=RotUser\n");
        let warnings = settings.warnings();
        assert_eq!(warnings[0].rule, Some("UnknownRule"));
        assert_eq!(warnings[0].help.as_deref(), Some("did you mean `RootUser`?"));
        let replaced = Settings::default()
            .replaced_by("skip=StageNameCasing;error=true")
            .unwrap();
        assert_eq!(replaced.warnings(), []);
        let error = Settings::default().replaced_by("skip").unwrap_err();
        assert!(
            error
                .message
                .starts_with("--build-arg BUILDKIT_DOCKERFILE_CHECK=skip: "),
            "{error}"
        );
    }

    #[test]
    fn rules_are_skipped_in_a_file_or_a_table() {
        let text =
            "name = \"a\"\n\n# check=skip=RootUser\n[images.train]\n[images.train.env]\n[images.trainer]\n";
        let file = file(text);
        let settings = Settings::of(&file).unwrap();
        let at = |word: &str, rule: Rule| {
            let start = text.find(word).unwrap();
            rule.warning("w").at(Location::new(&file, start..start + 1), "")
        };
        let kept = settings.keep(vec![
            at("[images.train]", Rule::RootUser),
            at("[images.train.env]", Rule::RootUser),
            at("[images.trainer]", Rule::RootUser),
            at("[images.train]", Rule::LatestTag),
            at("[images.train]", Rule::NoPtx),
            Diagnostic::error("e"),
        ]);
        let lines: Vec<String> = kept.iter().map(Diagnostic::one_line).collect();
        assert_eq!(lines, ["wheelbase.toml:6:1: w", "wheelbase.toml:4:1: w", "e"]);
        let all = settings.replaced_by("skip=all;experimental=all").unwrap();
        assert_eq!(
            all.keep(vec![at("name", Rule::NoPtx), Diagnostic::warning("w")]),
            []
        );
    }

    #[test]
    fn warnings_become_an_error_on_request() {
        let settings = settings("# check=error=true\n");
        let warnings = [
            Rule::RootUser.warning("a"),
            Rule::LatestTag.warning("b"),
            Rule::RootUser.warning("c"),
        ];
        let error = settings.verdict(&warnings).unwrap();
        assert_eq!(
            error.message,
            "lint violation found for rules: LatestTag, RootUser"
        );
        assert_eq!(error.labels.len(), 1);
        assert_eq!(settings.verdict(&[Rule::WheelStoreUnreached.warning("d")]), None);
        assert_eq!(Settings::default().verdict(&warnings), None);
    }
}
