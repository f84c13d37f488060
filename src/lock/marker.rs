//! Environment markers (PEP 508), evaluated for one target.
//!
//! A lock repeats a few dozen markers thousands of times, and some are pages long: they spell out which extras of a
//! conflict exclude each other. Building decision diagrams of them, as `pep508_rs` does for its algebra, costs more
//! than reading the whole lock, and deep ones could exhaust the stack. Only their value in one environment is needed
//! here, so each distinct marker is parsed once, when first reached, into a plain expression. A test holds the values
//! against `pep508_rs`.

use std::ops::Range;
use std::str::FromStr;
use std::sync::OnceLock;

use pep440_rs::{Operator, Version, VersionPattern, VersionSpecifier};

use super::expression::{Comparison, Expression, Release, Set, Text};

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
    Set(Set),
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
            "implementation_version" => Operand::Release(Release::Implementation),
            "os_name" | "os.name" => Operand::Text(Text::OsName),
            "platform_machine" | "platform.machine" => Operand::Text(Text::PlatformMachine),
            "platform_python_implementation" | "platform.python_implementation" | "python_implementation" => {
                Operand::Text(Text::PlatformPythonImplementation)
            }
            "platform_release" => Operand::Text(Text::PlatformRelease),
            "platform_system" => Operand::Text(Text::PlatformSystem),
            "platform_version" | "platform.version" => Operand::Text(Text::PlatformVersion),
            "python_full_version" => Operand::Release(Release::PythonFull),
            "python_version" => Operand::Release(Release::Python),
            "sys_platform" | "sys.platform" => Operand::Text(Text::SysPlatform),
            "extra" => Operand::Extra,
            "extras" => Operand::Set(Set::Extras),
            "dependency_groups" => Operand::Set(Set::DependencyGroups),
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
            (Operand::Value(value), Operand::Set(set)) => match operator {
                "in" | "not in" => Ok(Expression::Extra {
                    name: set.member(value),
                    negated: operator == "not in",
                }),
                _ => Err("a set can only be asked whether a string is `in` it".to_owned()),
            },
            (Operand::Set(_), _) => Err("a set stands on the right: write \"'x' in extras\"".to_owned()),
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

#[cfg(test)]
mod tests {
    use pep508_rs::{ExtraName, MarkerEnvironment, MarkerEnvironmentBuilder, MarkerTree};
    use proptest::prelude::*;

    use super::super::PythonVersion;
    use super::super::expression::Environment;
    use super::*;
    use crate::platform::Platform;

    fn environment() -> Environment {
        Environment::new(
            &Platform::linux_arm64(),
            PythonVersion {
                major: 3,
                minor: 12,
                patch: Some(4),
            },
        )
    }

    fn holds(text: &str, extras: &[&str]) -> bool {
        parse(text)
            .unwrap()
            .evaluate(&environment(), &|name| extras.contains(&name))
    }

    #[test]
    fn evaluates_for_the_target() {
        for text in [
            "sys_platform == 'linux'",
            "sys_platform != \"win32\" and platform_machine in 'arm64 aarch64'",
            "'arm' not in platform_machine and python_version >= '3.9'",
            "python_full_version == '3.12.*' or os_name == 'nt'",
            "python_full_version < '3.12.5' and python_version not in '3.10, 3.11'",
            "'3.13' > python_version and implementation_name == 'cpython'",
            "(extra == 'extra-3-app-cu128' or extra == 'x') and extra != 'extra-3-app-cpu'",
            "platform_python_implementation == 'CPython' and python_version ~= '3.8'",
        ] {
            assert!(holds(text, &["extra-3-app-cu128"]), "{text}");
        }
        for text in [
            "sys_platform == 'win32'",
            "python_version < '3.12'",
            "extra == 'a'",
            "platform_system == 'Darwin'",
        ] {
            assert!(!holds(text, &[]), "{text}");
        }
    }

    #[test]
    fn and_binds_closer_than_or() {
        assert!(holds(
            "os_name == 'posix' or os_name == 'nt' and os_name == 'java'",
            &[]
        ));
        assert!(!holds(
            "(os_name == 'posix' or os_name == 'nt') and os_name == 'java'",
            &[]
        ));
    }

    #[test]
    fn says_what_is_wrong() {
        for (text, part) in [
            ("", "expected a variable"),
            ("os_name", "expected an operator"),
            ("os_name == ", "expected a variable"),
            ("os_name == 'a", "closing"),
            ("os_nam == 'a'", "`os_nam`"),
            ("(os_name == 'a'", "`)`"),
            ("os_name == 'a' x", "found `x`"),
            ("python_version > 'a'", "no version"),
            ("os_name ~= 'a'", "`~=`"),
            ("extra > 'a'", "`extra`"),
            ("'a' == extras", "`in`"),
            ("extras not in 'a'", "right"),
            ("'a' == 'a'", "variable"),
            ("os_name notin 'a'", "operator"),
        ] {
            let what = parse(text).unwrap_err();
            assert!(what.contains(part), "{text}: {what}");
        }
        let deep = format!("{}os_name == 'a'", "(".repeat(100_000));
        assert!(parse(&deep).unwrap_err().contains("deeply"));
    }

    #[test]
    fn possible_looks_at_the_environment_alone() {
        let possible = |text: &str| parse(text).unwrap().is_possible(&environment());
        assert!(possible("extra == 'a' and extra != 'b' and os_name == 'posix'"));
        assert!(!possible("extra == 'a' and os_name == 'nt'"));
    }

    /// Comparisons that both implementations know, over values near the target's.
    fn comparison() -> impl Strategy<Value = String> {
        let texts = prop_oneof![
            Just(("sys_platform", "linux")),
            Just(("sys_platform", "win32")),
            Just(("platform_machine", "aarch64")),
            Just(("platform_machine", "x86_64")),
            Just(("os_name", "posix")),
            Just(("implementation_name", "pypy")),
            Just(("platform_system", "Linux")),
        ];
        let versions = prop_oneof![
            Just("3.8"),
            Just("3.11"),
            Just("3.12"),
            Just("3.12.4"),
            Just("3.13"),
            Just("3.12.*"),
            Just("3")
        ];
        let variable = prop_oneof![
            Just("python_version"),
            Just("python_full_version"),
            Just("implementation_version")
        ];
        prop_oneof![
            (
                texts,
                prop_oneof![
                    Just("=="),
                    Just("!="),
                    Just("in"),
                    Just("not in"),
                    Just("<"),
                    Just(">=")
                ]
            )
                .prop_map(|((variable, value), operator)| format!("{variable} {operator} '{value}'")),
            (
                variable,
                prop_oneof![
                    Just("=="),
                    Just("!="),
                    Just("<"),
                    Just("<="),
                    Just(">"),
                    Just(">=")
                ],
                versions
            )
                .prop_map(|(variable, operator, value)| {
                    let value = if matches!(operator, "==" | "!=") {
                        value
                    } else {
                        value.trim_end_matches(".*")
                    };
                    format!("{variable} {operator} '{value}'")
                }),
            (prop_oneof![Just("=="), Just("!=")], "[ab]")
                .prop_map(|(operator, extra)| format!("extra {operator} '{extra}'")),
        ]
    }

    fn marker() -> impl Strategy<Value = String> {
        comparison().prop_recursive(4, 24, 4, |inner| {
            (
                prop::collection::vec(inner, 1..4),
                prop_oneof![Just(" and "), Just(" or ")],
            )
                .prop_map(|(parts, word)| format!("({})", parts.join(word)))
        })
    }

    fn reference() -> MarkerEnvironment {
        MarkerEnvironment::try_from(MarkerEnvironmentBuilder {
            implementation_name: "cpython",
            implementation_version: "3.12.4",
            os_name: "posix",
            platform_machine: "aarch64",
            platform_python_implementation: "CPython",
            platform_release: "",
            platform_system: "Linux",
            platform_version: "",
            python_full_version: "3.12.4",
            python_version: "3.12",
            sys_platform: "linux",
        })
        .unwrap()
    }

    proptest! {
        #[test]
        fn agrees_with_pep508_rs(text in marker(), a in any::<bool>(), b in any::<bool>()) {
            let extras: Vec<&str> = [(a, "a"), (b, "b")].into_iter().filter(|(on, _)| *on).map(|(_, name)| name).collect();
            let names: Vec<ExtraName> = extras.iter().map(|name| name.parse().unwrap()).collect();
            let expected = text.parse::<MarkerTree>().unwrap().evaluate(&reference(), &names);
            prop_assert_eq!(holds(&text, &extras), expected, "{}", text);
        }

        #[test]
        fn never_panics(text in "[a-z_.()'\" <>=!~0-9é\\\\]{0,40}") {
            drop(parse(&text));
        }
    }
}
