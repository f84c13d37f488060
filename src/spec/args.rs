//! `[args]`: what a build may set, and to what.
//!
//! Arguments are put into the parsed file (`substitution`) before anything else looks at it: what checks a key checks what
//! stands there in the end, and shows it where the user wrote `${NAME}`. So an argument that nothing uses changes nothing, and
//! no key of a step can know that there was one.

mod substitution;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::ops::Range;

use toml::Spanned;
use toml::de::DeValue;

use super::findings::Findings;
use super::section::{Section, integer};
use super::{keys, secrets};
use crate::diagnostic::nearest;
use crate::rules::Rule;

/// Proxies that `docker buildx build` hands over from the client's configuration.
const PROXIES: [&str; 5] = ["HTTP_PROXY", "HTTPS_PROXY", "FTP_PROXY", "NO_PROXY", "ALL_PROXY"];

/// Whether a build argument means something without being declared: proxies, `SOURCE_DATE_EPOCH`, and what is for BuildKit
/// or the client.
pub fn is_predefined(name: &str) -> bool {
    name == "SOURCE_DATE_EPOCH"
        || name.starts_with("BUILDKIT_")
        || PROXIES.iter().any(|proxy| name.eq_ignore_ascii_case(proxy))
}

/// `[args.NAME]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Arg {
    /// The name with its place.
    pub name: Spanned<String>,
    /// `type`, or that of `default` or of `choices`.
    pub kind: ArgKind,
    /// `description`.
    pub description: Option<String>,
    /// `choices`, as text; any value when there are none.
    pub choices: Vec<String>,
    /// `default`, as text.
    pub default: Option<String>,
    /// What the build has given, or else the default, as text.
    pub value: Option<String>,
}

/// What an argument's values are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArgKind {
    /// Text.
    String,
    /// A whole number, 0 or more.
    Integer,
    /// `true` or `false`.
    Boolean,
}

impl ArgKind {
    /// The word in a spec.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::String => "string",
            Self::Integer => "integer",
            Self::Boolean => "boolean",
        }
    }

    pub(super) fn of(value: &DeValue<'_>) -> Option<Self> {
        match value {
            DeValue::String(_) => Some(Self::String),
            DeValue::Integer(_) => Some(Self::Integer),
            DeValue::Boolean(_) => Some(Self::Boolean),
            _ => None,
        }
    }

    /// Whether a text that a build has given is a value. TOML's other ways to write a number, such as `0x10`, are none:
    /// they would be another text where the value is put into one.
    pub(super) fn takes(self, text: &str) -> bool {
        match self {
            Self::String => true,
            Self::Integer => text.parse::<u64>().is_ok_and(|number| number.to_string() == text),
            Self::Boolean => matches!(text, "true" | "false"),
        }
    }
}

impl fmt::Display for ArgKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::String => "a string",
            Self::Integer => "a whole number",
            Self::Boolean => "`true` or `false`",
        })
    }
}

/// The arguments of a file with their values.
pub(super) struct Arguments {
    all: BTreeMap<String, Arg>,
    /// Those that a build has given what they do not take. It has been said; where they are used is no second mistake.
    refused: BTreeSet<String>,
}

impl Arguments {
    /// Reads `[args]`, whose shape was checked, with what a build has given.
    pub(super) fn decode(
        root: &Section<'_>,
        given: &BTreeMap<String, String>,
        findings: &mut Findings,
    ) -> Self {
        let mut arguments = Self {
            all: BTreeMap::new(),
            refused: BTreeSet::new(),
        };
        for (name, section) in root.named("args") {
            let text = given.get(name.get_ref()).map(String::as_str);
            let Some(mut arg) = declared(name, &section, findings) else {
                continue;
            };
            let name = arg.name.get_ref().clone();
            match text {
                Some(text) if takes(&arg, text, findings) => arg.value = Some(text.to_owned()),
                Some(_) => {
                    arguments.refused.insert(name.clone());
                }
                None => {}
            }
            arguments.all.insert(name, arg);
        }
        for name in given.keys().filter(|name| !arguments.all.contains_key(*name)) {
            let warning =
                Rule::UndeclaredArgument.warning(format!("nothing takes the build argument `{name}`"));
            let help = match nearest(name, arguments.names()) {
                Some(near) => format!("did you mean --build-arg {near}=...?"),
                None => format!("declare it with a table [args.{name}], or leave it out"),
            };
            findings.push(warning.help(help));
        }
        arguments
    }

    fn names(&self) -> impl Iterator<Item = &str> {
        self.all.keys().map(String::as_str)
    }

    /// The arguments by name.
    pub(super) fn all(&self) -> &BTreeMap<String, Arg> {
        &self.all
    }
}

/// Whether a character may be in the name of an argument; the first is no digit.
fn is_inner(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

/// Whether a text may be the name of an argument.
fn is_name(text: &str) -> bool {
    text.chars().all(is_inner) && text.starts_with(|c: char| !c.is_ascii_digit())
}

/// A value as text.
pub(super) fn shown(value: &DeValue<'_>) -> Option<String> {
    match value {
        DeValue::String(text) => Some(text.to_string()),
        DeValue::Integer(_) => integer(value).map(|number| number.to_string()),
        DeValue::Boolean(value) => Some(value.to_string()),
        _ => None,
    }
}

/// Reads one argument, with its default as its value; nothing when its name is none.
fn declared(name: Spanned<String>, section: &Section<'_>, findings: &mut Findings) -> Option<Arg> {
    if !is_name(name.get_ref()) {
        findings.error(
            name.span(),
            format!("`{}` is not a name of an argument", name.get_ref()),
            "",
            "names have letters, digits and `_`, and do not start with a digit",
        );
        return None;
    }
    if secrets::is_secret_name(name.get_ref()) {
        findings.warning(
            Rule::SecretsUsedInArgOrEnv,
            name.span(),
            format!("`{}` looks like a secret", name.get_ref()),
            "the value of an argument ends in keys and images, for all to read",
            "give it to the build as a secret: docker buildx build --secret id=...",
        );
    }
    let default = section.value("default");
    let choices: Vec<_> = section.items("choices").collect();
    let kinds = [ArgKind::String, ArgKind::Integer, ArgKind::Boolean];
    let kind = match section.string("type") {
        Some(said) => kinds.into_iter().find(|kind| kind.as_str() == said.get_ref()),
        None => default
            .or(choices.first().copied())
            .and_then(|value| ArgKind::of(value.get_ref())),
    };
    let kind = kind.unwrap_or(ArgKind::String);
    for value in choices.iter().copied().chain(default) {
        if ArgKind::of(value.get_ref()) != Some(kind) {
            findings.error(
                value.span(),
                format!("a value of `{}` is {kind}", name.get_ref()),
                "this is none",
                "write one, or another `type`",
            );
        }
    }
    let text = default.and_then(|default| shown(default.get_ref()));
    let arg = Arg {
        kind,
        description: section.string("description").map(Spanned::into_inner),
        choices: choices
            .iter()
            .filter_map(|value| shown(value.get_ref()))
            .collect(),
        default: text.clone(),
        value: text,
        name,
    };
    if let (Some(default), Some(text)) = (default, &arg.default) {
        check_choice(&arg, text, default.span(), findings);
    }
    Some(arg)
}

/// Whether an argument takes what a build has given.
fn takes(arg: &Arg, text: &str, findings: &mut Findings) -> bool {
    let name = arg.name.get_ref();
    if arg.kind.takes(text) {
        return check_choice(arg, text, arg.name.span(), findings);
    }
    let example = if arg.kind == ArgKind::Integer { "8" } else { "true" };
    findings.error(
        arg.name.span(),
        format!("--build-arg {name}={text}: a value of `{name}` is {}", arg.kind),
        "declared here",
        format!("give for example --build-arg {name}={example}"),
    );
    false
}

/// Whether a value is one of an argument's choices.
pub(super) fn check_choice(arg: &Arg, text: &str, span: Range<usize>, findings: &mut Findings) -> bool {
    if arg.choices.is_empty() || arg.choices.iter().any(|choice| choice == text) {
        return true;
    }
    let choices = arg.choices.iter();
    let all = keys::join_or(
        &choices
            .clone()
            .map(|choice| format!("\"{choice}\""))
            .collect::<Vec<_>>(),
    );
    let near = nearest(text, choices.map(String::as_str)).filter(|_| arg.kind == ArgKind::String);
    let help = match near {
        Some(near) => format!("did you mean \"{near}\"?"),
        None => format!("give {all}"),
    };
    findings.error(
        span,
        format!("the argument `{}` cannot be \"{text}\"", arg.name.get_ref()),
        format!("it is {all}"),
        help,
    );
    false
}
