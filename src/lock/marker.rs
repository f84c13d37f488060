//! Environment markers (PEP 508), evaluated for one target.
//!
//! A lock repeats a few dozen markers thousands of times, and some are pages long: they spell out which extras of a
//! conflict exclude each other. Building decision diagrams of them, as `pep508_rs` does for its algebra, costs more
//! than reading the whole lock, and deep ones could exhaust the stack. Only their value in one environment is needed
//! here, so each distinct marker is parsed once, when first reached, into a plain expression. A test holds the values
//! against `pep508_rs`.

use std::collections::BTreeSet;
use std::ops::Range;
use std::str::FromStr;
use std::sync::OnceLock;

use pep440_rs::{Operator, Version, VersionPattern, VersionSpecifier};

use super::PythonVersion;
use crate::platform::Platform;

/// A distinct marker of the lock, parsed when it is first evaluated.
#[derive(Debug, Clone)]
pub(super) struct Marker {
    pub(super) text: String,
    /// Bytes of its first occurrence.
    pub(super) span: Range<usize>,
    parsed: OnceLock<Result<(Expression, bool), String>>,
}

impl Marker {
    pub(super) fn new(text: String, span: Range<usize>) -> Self {
        Self {
            text,
            span,
            parsed: OnceLock::new(),
        }
    }

    /// The parsed marker and whether its value can depend on extras, or what is wrong with it.
    pub(super) fn expression(&self) -> Result<(&Expression, bool), &str> {
        let parsed = self.parsed.get_or_init(|| {
            let expression = parse(&self.text)?;
            let has_extra = expression.has_extra();
            Ok((expression, has_extra))
        });
        match parsed {
            Ok((expression, has_extra)) => Ok((expression, *has_extra)),
            Err(what) => Err(what),
        }
    }
}

/// The values of the marker variables on a target: CPython on Linux.
#[derive(Debug, Clone)]
pub(super) struct Environment {
    python_version: Version,
    python_full_version: Version,
    machine: String,
}

impl Environment {
    pub(super) fn new(platform: &Platform, python: PythonVersion) -> Self {
        let PythonVersion { major, minor, patch } = python;
        let (major, minor, patch) = (u64::from(major), u64::from(minor), u64::from(patch.unwrap_or(0)));
        Self {
            python_version: Version::new([major, minor]),
            python_full_version: Version::new([major, minor, patch]),
            machine: platform.machine().to_owned(),
        }
    }

    fn text(&self, variable: Text) -> &str {
        match variable {
            Text::ImplementationName => "cpython",
            Text::OsName => "posix",
            Text::PlatformMachine => &self.machine,
            Text::PlatformPythonImplementation => "CPython",
            Text::PlatformSystem => "Linux",
            Text::SysPlatform => "linux",
            // The kernel is the host's: nothing can be said of it when an image is planned.
            Text::PlatformRelease | Text::PlatformVersion => "",
        }
    }
}

/// A string variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Text {
    ImplementationName,
    OsName,
    PlatformMachine,
    PlatformPythonImplementation,
    PlatformRelease,
    PlatformSystem,
    PlatformVersion,
    SysPlatform,
}

/// A version variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Release {
    ImplementationVersion,
    PythonFullVersion,
    PythonVersion,
}

/// A comparison of strings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Comparison {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    /// The variable is a part of the value.
    In,
    NotIn,
    /// The value is a part of the variable.
    Contains,
    NotContains,
}

/// A marker as a formula.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Expression {
    All(Vec<Expression>),
    Any(Vec<Expression>),
    Text {
        variable: Text,
        comparison: Comparison,
        value: String,
    },
    Release {
        variable: Release,
        specifier: VersionSpecifier,
    },
    /// `in` and `not in` with a list of versions.
    OneOf {
        variable: Release,
        versions: Vec<Version>,
        negated: bool,
    },
    Extra {
        name: String,
        negated: bool,
    },
}

impl Expression {
    /// The value in an environment with some extras on; conflict items count as extras, in uv's encoding.
    pub(super) fn evaluate(&self, environment: &Environment, is_on: &impl Fn(&str) -> bool) -> bool {
        match self {
            Self::All(parts) => parts.iter().all(|part| part.evaluate(environment, is_on)),
            Self::Any(parts) => parts.iter().any(|part| part.evaluate(environment, is_on)),
            Self::Text {
                variable,
                comparison,
                value,
            } => {
                let actual = environment.text(*variable);
                let value = value.as_str();
                match comparison {
                    Comparison::Equal => actual == value,
                    Comparison::NotEqual => actual != value,
                    Comparison::Less => actual < value,
                    Comparison::LessOrEqual => actual <= value,
                    Comparison::Greater => actual > value,
                    Comparison::GreaterOrEqual => actual >= value,
                    Comparison::In => value.contains(actual),
                    Comparison::NotIn => !value.contains(actual),
                    Comparison::Contains => actual.contains(value),
                    Comparison::NotContains => !actual.contains(value),
                }
            }
            Self::Release { variable, specifier } => {
                specifier.contains(Self::release(environment, *variable))
            }
            Self::OneOf {
                variable,
                versions,
                negated,
            } => versions.contains(Self::release(environment, *variable)) != *negated,
            Self::Extra { name, negated } => is_on(name) != *negated,
        }
    }

    /// Whether it holds in an environment for some choice of extras, taken as free of each other.
    pub(super) fn is_possible(&self, environment: &Environment) -> bool {
        match self {
            Self::All(parts) => parts.iter().all(|part| part.is_possible(environment)),
            Self::Any(parts) => parts.iter().any(|part| part.is_possible(environment)),
            Self::Extra { .. } => true,
            Self::Text { .. } | Self::Release { .. } | Self::OneOf { .. } => {
                self.evaluate(environment, &|_| false)
            }
        }
    }

    /// Whether its value can depend on extras.
    fn has_extra(&self) -> bool {
        match self {
            Self::All(parts) | Self::Any(parts) => parts.iter().any(Self::has_extra),
            Self::Extra { .. } => true,
            Self::Text { .. } | Self::Release { .. } | Self::OneOf { .. } => false,
        }
    }

    fn release(environment: &Environment, variable: Release) -> &Version {
        match variable {
            Release::PythonVersion => &environment.python_version,
            // CPython's implementation version is its own.
            Release::PythonFullVersion | Release::ImplementationVersion => &environment.python_full_version,
        }
    }
}

/// Deepest nesting of parentheses; uv writes disjunctive normal form, which has one level.
const DEPTH: usize = 64;

/// Parses a marker.
pub(super) fn parse(text: &str) -> Result<Expression, String> {
    let mut parser = Parser {
        text,
        at: 0,
        depth: 0,
    };
    let expression = parser.any()?;
    parser.skip_space();
    match parser.rest().chars().next() {
        None => Ok(expression),
        Some(character) => Err(format!("expected `and`, `or` or the end, found `{character}`")),
    }
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
}

/// One side of a comparison.
enum Operand<'a> {
    Text(Text),
    Release(Release),
    Extra,
    Value(&'a str),
}

impl<'a> Parser<'a> {
    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn skip_space(&mut self) {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start().len();
    }

    /// Consumes a whole word.
    fn word(&mut self, word: &str) -> bool {
        self.skip_space();
        let Some(after) = self.rest().strip_prefix(word) else {
            return false;
        };
        let ends = !after.starts_with(|character: char| character.is_alphanumeric() || character == '_');
        if ends {
            self.at += word.len();
        }
        ends
    }

    fn symbol(&mut self, symbol: &str) -> bool {
        self.skip_space();
        let found = self.rest().starts_with(symbol);
        if found {
            self.at += symbol.len();
        }
        found
    }

    fn any(&mut self) -> Result<Expression, String> {
        let first = self.all()?;
        let mut parts = vec![first];
        while self.word("or") {
            parts.push(self.all()?);
        }
        Ok(join(parts, Expression::Any))
    }

    fn all(&mut self) -> Result<Expression, String> {
        let first = self.atom()?;
        let mut parts = vec![first];
        while self.word("and") {
            parts.push(self.atom()?);
        }
        Ok(join(parts, Expression::All))
    }

    fn atom(&mut self) -> Result<Expression, String> {
        if !self.symbol("(") {
            return self.comparison();
        }
        if self.depth == DEPTH {
            return Err("parentheses are nested too deeply".to_owned());
        }
        self.depth += 1;
        let inner = self.any()?;
        self.depth -= 1;
        if self.symbol(")") {
            Ok(inner)
        } else {
            Err("expected `)`".to_owned())
        }
    }

    fn operand(&mut self) -> Result<Operand<'a>, String> {
        self.skip_space();
        let rest = self.rest();
        if let Some(quote @ ('\'' | '"')) = rest.chars().next() {
            let value = rest.get(1..).unwrap_or_default();
            let Some(end) = value.find(quote) else {
                return Err(format!("expected a closing {quote}"));
            };
            self.at += end + 2;
            return Ok(Operand::Value(value.get(..end).unwrap_or_default()));
        }
        let end = rest
            .find(|character: char| !(character.is_ascii_alphanumeric() || matches!(character, '_' | '.')))
            .unwrap_or(rest.len());
        let name = rest.get(..end).unwrap_or_default();
        self.at += end;
        Ok(match name {
            "implementation_name" => Operand::Text(Text::ImplementationName),
            "implementation_version" => Operand::Release(Release::ImplementationVersion),
            "os_name" | "os.name" => Operand::Text(Text::OsName),
            "platform_machine" | "platform.machine" => Operand::Text(Text::PlatformMachine),
            "platform_python_implementation" | "platform.python_implementation" | "python_implementation" => {
                Operand::Text(Text::PlatformPythonImplementation)
            }
            "platform_release" => Operand::Text(Text::PlatformRelease),
            "platform_system" => Operand::Text(Text::PlatformSystem),
            "platform_version" | "platform.version" => Operand::Text(Text::PlatformVersion),
            "python_full_version" => Operand::Release(Release::PythonFullVersion),
            "python_version" => Operand::Release(Release::PythonVersion),
            "sys_platform" | "sys.platform" => Operand::Text(Text::SysPlatform),
            "extra" => Operand::Extra,
            "" => return Err("expected a variable or a quoted string".to_owned()),
            _ => return Err(format!("`{name}` is no marker variable")),
        })
    }

    fn operator(&mut self) -> Result<&'static str, String> {
        const SYMBOLS: [&str; 8] = ["===", "==", "!=", "<=", ">=", "~=", "<", ">"];
        if let Some(symbol) = SYMBOLS.into_iter().find(|symbol| self.symbol(symbol)) {
            return Ok(symbol);
        }
        if self.word("in") {
            return Ok("in");
        }
        if self.word("not") && self.word("in") {
            return Ok("not in");
        }
        Err("expected an operator such as `==` or `in`".to_owned())
    }

    fn comparison(&mut self) -> Result<Expression, String> {
        let left = self.operand()?;
        let operator = self.operator()?;
        let right = self.operand()?;
        match (left, right) {
            (Operand::Text(variable), Operand::Value(value)) => text(variable, operator, value, false),
            (Operand::Value(value), Operand::Text(variable)) => text(variable, operator, value, true),
            (Operand::Release(variable), Operand::Value(value)) => release(variable, operator, value),
            (Operand::Value(value), Operand::Release(variable)) => {
                release(variable, mirrored(operator), value)
            }
            (Operand::Extra, Operand::Value(value)) | (Operand::Value(value), Operand::Extra) => {
                match operator {
                    "==" => Ok(Expression::Extra {
                        name: value.to_owned(),
                        negated: false,
                    }),
                    "!=" => Ok(Expression::Extra {
                        name: value.to_owned(),
                        negated: true,
                    }),
                    _ => Err(format!("`extra` cannot be compared with `{operator}`")),
                }
            }
            _ => Err("one side of a comparison must be a variable, the other a quoted string".to_owned()),
        }
    }
}

/// One part alone needs no group.
fn join(mut parts: Vec<Expression>, group: impl FnOnce(Vec<Expression>) -> Expression) -> Expression {
    match (parts.len(), parts.pop()) {
        (1, Some(only)) => only,
        (_, last) => {
            parts.extend(last);
            group(parts)
        }
    }
}

/// The operator with its sides exchanged.
fn mirrored(operator: &'static str) -> &'static str {
    match operator {
        "<" => ">",
        "<=" => ">=",
        ">" => "<",
        ">=" => "<=",
        other => other,
    }
}

fn text(variable: Text, operator: &'static str, value: &str, swapped: bool) -> Result<Expression, String> {
    let comparison = match if swapped { mirrored(operator) } else { operator } {
        "==" | "===" => Comparison::Equal,
        "!=" => Comparison::NotEqual,
        "<" => Comparison::Less,
        "<=" => Comparison::LessOrEqual,
        ">" => Comparison::Greater,
        ">=" => Comparison::GreaterOrEqual,
        "in" if swapped => Comparison::Contains,
        "not in" if swapped => Comparison::NotContains,
        "in" => Comparison::In,
        "not in" => Comparison::NotIn,
        other => return Err(format!("strings cannot be compared with `{other}`")),
    };
    Ok(Expression::Text {
        variable,
        comparison,
        value: value.to_owned(),
    })
}

fn release(variable: Release, operator: &str, value: &str) -> Result<Expression, String> {
    let wrong = |error: &dyn std::fmt::Display| format!("`{value}` is no version: {error}");
    let operator = match operator {
        "in" | "not in" => {
            let words = value.split([' ', ',', '|']).filter(|word| !word.is_empty());
            let versions = words.map(|word| Version::from_str(word).map_err(|error| wrong(&error)));
            let versions = versions.collect::<Result<_, _>>()?;
            return Ok(Expression::OneOf {
                variable,
                versions,
                negated: operator == "not in",
            });
        }
        other => Operator::from_str(other).map_err(|error| error.to_string())?,
    };
    let pattern = VersionPattern::from_str(value).map_err(|error| wrong(&error))?;
    let specifier = VersionSpecifier::from_pattern(operator, pattern).map_err(|error| error.to_string())?;
    Ok(Expression::Release { variable, specifier })
}

/// How uv writes an extra, group or project of a conflict as the name of an extra in a marker. The length of the
/// package's name makes it unambiguous.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ConflictItem {
    Project(String),
    Extra(String, String),
    Group(String, String),
}

impl ConflictItem {
    /// The name in markers.
    pub(super) fn encode(&self) -> String {
        match self {
            Self::Project(package) => format!("project-{}-{package}", package.len()),
            Self::Extra(package, extra) => format!("extra-{}-{package}-{extra}", package.len()),
            Self::Group(package, group) => format!("group-{}-{package}-{group}", package.len()),
        }
    }

    /// As a person would say it.
    pub(super) fn describe(&self) -> String {
        match self {
            Self::Project(package) => package.clone(),
            Self::Extra(package, extra) => format!("{package}[{extra}]"),
            Self::Group(package, group) => format!("{package}:{group}"),
        }
    }
}

/// The conflict items that are on, with their names in markers.
#[derive(Debug, Clone, Default)]
pub(super) struct Active {
    items: BTreeSet<ConflictItem>,
    encoded: BTreeSet<String>,
}

impl Active {
    /// Turns an item on; whether it was off.
    pub(super) fn insert(&mut self, item: ConflictItem) -> bool {
        self.encoded.insert(item.encode()) && self.items.insert(item)
    }

    pub(super) fn contains(&self, item: &ConflictItem) -> bool {
        self.items.contains(item)
    }

    /// Whether an extra of a marker is on.
    pub(super) fn has(&self, encoded: &str) -> bool {
        self.encoded.contains(encoded)
    }
}
