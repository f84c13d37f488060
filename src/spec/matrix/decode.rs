//! Reads `[matrix]`: every value is one that its argument may have, and every line has an effect.

use std::collections::BTreeMap;
use std::ops::Range;

use toml::Spanned;
use toml::de::DeValue;

use super::super::args::{self, Arg, ArgKind};
use super::super::findings::Findings;
use super::super::section::{self, Section, unique};
use super::{Axis, EXCLUDE, MOST_COMBINATIONS, Matrix, product};
use crate::diagnostic::{Diagnostic, nearest};
use crate::platform::Platform;
use crate::rules::Rule;

/// Reads `[matrix]`, whose shape was checked; `None` when the file has none, or errors were found.
pub(in crate::spec) fn decode(
    root: &Section<'_>,
    arguments: &BTreeMap<String, Arg>,
    findings: &mut Findings,
) -> Option<Matrix> {
    let section = root.section("matrix");
    if !section.exists() {
        return None;
    }
    let mut axes = Vec::new();
    let mut written = 0;
    for (name, value) in section.entries() {
        if name.get_ref() != EXCLUDE {
            written += 1;
            axes.extend(axis(name, value, arguments, findings));
        }
    }
    if written == 0 {
        findings.error(
            section.span.clone(),
            "`[matrix]` varies nothing",
            "",
            "write an argument of [args] with its values, such as `cuda = [\"12.8.1\", \"13.0.2\"]`, or remove the table",
        );
        return None;
    }
    let exclude = excluded(&section, &axes, findings);
    if axes.len() < written {
        return None;
    }
    let count = axes
        .iter()
        .fold(1_usize, |count, axis| count.saturating_mul(axis.values.len()));
    if count > MOST_COMBINATIONS {
        findings.error(
            section.span.clone(),
            format!("`[matrix]` has {count} combinations"),
            format!("at most {MOST_COMBINATIONS}"),
            "vary fewer arguments, or make two specs of it",
        );
        return None;
    }
    let mut left = product(&axes);
    for (values, span) in &exclude {
        let before = left.len();
        left.retain(|one| !one.is_excluded_by(values));
        if left.len() == before {
            findings.warning(
                Rule::KeyWithoutEffect,
                span.clone(),
                "this leaves no combination out",
                "tables before it do",
                "remove it",
            );
        }
    }
    if left.is_empty() {
        findings.error(
            section.key_span(EXCLUDE),
            "`exclude` leaves no combination",
            format!("all {count} are left out"),
            "remove one of its tables",
        );
        return None;
    }
    drop(left);
    for axis in axes.iter().filter(|axis| !axis.is_platform()) {
        let name = axis.name.get_ref();
        if !findings.is_used(name) {
            findings.warning(
                Rule::UnusedAxis,
                axis.name.span(),
                format!("nothing uses the argument `{name}`"),
                "its variants are the same",
                format!(
                    "write `${{{name}}}` where its value belongs (`command`, `entrypoint` and `cmd` are taken as they are), or \
                     remove the line"
                ),
            );
        }
    }
    let exclude = exclude.into_iter().map(|(values, _)| values).collect();
    Some(Matrix { axes, exclude })
}

/// Reads a line of `[matrix]`; nothing when it has errors.
fn axis(
    name: Spanned<String>,
    value: &Spanned<DeValue<'_>>,
    arguments: &BTreeMap<String, Arg>,
    findings: &mut Findings,
) -> Option<Axis> {
    let word = name.get_ref();
    let arg = arguments.get(word);
    match arg {
        Some(arg) if word == Axis::PLATFORM => {
            let (here, there) = (findings.place(name.span()), findings.place(arg.name.span()));
            findings.push(
                Diagnostic::error("`platform` is an argument, and in `[matrix]` it is none")
                    .at(here, "what is built for")
                    .at(there, "an argument of the same name")
                    .help("give the argument another name"),
            );
            return None;
        }
        None if word != Axis::PLATFORM => {
            let known = arguments
                .keys()
                .map(String::as_str)
                .chain([Axis::PLATFORM, EXCLUDE]);
            let help = match nearest(word, known) {
                // It has been said.
                Some(EXCLUDE) if findings.is_meant("matrix.exclude") => return None,
                Some(near) => format!("did you mean `{near}`?"),
                None => {
                    format!("declare it with a table [args.{word}], and write `${{{word}}}` where it belongs")
                }
            };
            findings.error(
                name.span(),
                format!("there is no argument `{word}`"),
                "arguments vary, and `platform`",
                help,
            );
            return None;
        }
        _ => {}
    }
    let items = value.get_ref().as_array()?;
    if items.is_empty() {
        findings.error(
            value.span(),
            format!("`matrix.{word}` has no value"),
            "so there would be no combination",
            "write its values, or remove the line",
        );
        return None;
    }
    let values: Vec<_> = items
        .iter()
        .filter_map(|item| match arg {
            Some(arg) => of_argument(arg, item, findings),
            None => platform(item, findings),
        })
        .collect();
    let complete = values.len() == items.len();
    let values = unique(findings, &format!("`matrix.{word}`"), values);
    complete.then_some(Axis {
        has_default: arg.is_none_or(|arg| arg.default.is_some()),
        name,
        values,
    })
}

/// A value that the argument may have, as text.
fn of_argument(arg: &Arg, value: &Spanned<DeValue<'_>>, findings: &mut Findings) -> Option<Spanned<String>> {
    let kind = ArgKind::of(value.get_ref())?;
    let text = text(value)?;
    if kind != arg.kind {
        let help = match arg.kind {
            ArgKind::String => format!("quote it: \"{}\"", text.get_ref()),
            kind if kind.takes(text.get_ref()) => format!("write it without quotes: {}", text.get_ref()),
            _ => "write one, or another `type`".to_owned(),
        };
        let message = format!("a value of `{}` is {}", arg.name.get_ref(), arg.kind);
        findings.error(value.span(), message, "this is none", help);
        return None;
    }
    args::check_choice(arg, text.get_ref(), value.span(), findings).then_some(text)
}

/// A platform, normalised.
fn platform(value: &Spanned<DeValue<'_>>, findings: &mut Findings) -> Option<Spanned<String>> {
    let text = text(value)?;
    match text.get_ref().parse::<Platform>() {
        Ok(platform) if platform.os == "linux" => Some(Spanned::new(value.span(), platform.to_string())),
        _ => {
            findings.error(
                value.span(),
                format!("`{}` is not a platform that images are built for", text.get_ref()),
                "",
                "write linux and an architecture, such as \"linux/amd64\" or \"linux/arm64\"",
            );
            None
        }
    }
}

/// A value as text, when it is one that may be repeated.
fn text(value: &Spanned<DeValue<'_>>) -> Option<Spanned<String>> {
    match value.get_ref() {
        DeValue::String(_) => section::string(value),
        other => args::shown(other).map(|text| Spanned::new(value.span(), text)),
    }
}

/// Reads `exclude`: values by the names of axes, and the place of each table. A table with errors is left out.
fn excluded(
    section: &Section<'_>,
    axes: &[Axis],
    findings: &mut Findings,
) -> Vec<(BTreeMap<String, String>, Range<usize>)> {
    let mut all = Vec::new();
    for table in section.tables(EXCLUDE) {
        let entries = table.entries();
        if entries.is_empty() {
            findings.error(
                table.span.clone(),
                "this leaves every combination out",
                "",
                "write values that do not go together, such as `{ cuda = \"12.8.1\", python = \"3.11\" }`",
            );
            continue;
        }
        let values: BTreeMap<String, String> = entries
            .iter()
            .filter_map(|(name, value)| {
                let value = left_out(section, axes, name, value, findings)?;
                Some((name.get_ref().clone(), value))
            })
            .collect();
        if values.len() == entries.len() {
            all.push((values, table.span.clone()));
        }
    }
    all
}

/// A value of an axis that a table of `exclude` names. Of an axis that is wrong itself nothing is said.
fn left_out(
    section: &Section<'_>,
    axes: &[Axis],
    name: &Spanned<String>,
    value: &Spanned<DeValue<'_>>,
    findings: &mut Findings,
) -> Option<String> {
    let word = name.get_ref();
    let Some(known) = axes.iter().find(|known| known.name.get_ref() == word) else {
        if !section.has(word) || word == EXCLUDE {
            let help = match nearest(word, axes.iter().map(|axis| axis.name.get_ref().as_str())) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("write its values in [matrix]: {word} = [...], or leave it out"),
            };
            let message = format!("`{word}` does not vary");
            findings.error(name.span(), message, "`[matrix]` has no such line", help);
        }
        return None;
    };
    let text = text(value)?.into_inner();
    let text = match text.parse::<Platform>() {
        Ok(platform) if known.is_platform() => platform.to_string(),
        _ => text,
    };
    if known.has(&text) {
        return Some(text);
    }
    let (all, near) = known.instead_of(&text);
    let help = match near {
        Some(near) => format!("did you mean \"{near}\"?"),
        None => format!("write {all}"),
    };
    findings.error(
        value.span(),
        format!("`{word}` is never \"{text}\""),
        format!("it is {all}"),
        help,
    );
    None
}
