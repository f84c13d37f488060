//! `${NAME}` in the strings of a file: what it stands for, and what is said where it stands for nothing.
//!
//! Which keys take it, and whether a number may come of it, is read from the one table of [`keys`], so a new key needs no word
//! here.

use std::borrow::Cow;
use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::{Arg, ArgKind, Arguments, is_inner, is_name};
use crate::diagnostic::{Diagnostic, nearest};
use crate::spec::findings::Findings;
use crate::spec::keys::{self, Key, Kind};
use crate::spec::shape;

impl Arguments {
    /// A file with values in the place of `${NAME}`, in all keys that take them.
    pub(in crate::spec) fn put_into<'i>(
        &'i self,
        mut root: DeTable<'i>,
        findings: &mut Findings,
    ) -> DeTable<'i> {
        self.table("", &mut root, findings);
        root
    }

    fn table<'i>(&'i self, path: &str, table: &mut DeTable<'i>, findings: &mut Findings) {
        for (name, value) in table.iter_mut() {
            if let Some(key) = keys::find(path, name.get_ref())
                && !key.literal
            {
                self.value(&key.kind, key, value, findings);
            }
        }
    }

    fn value<'i>(
        &'i self,
        kind: &Kind,
        key: &Key,
        value: &mut Spanned<DeValue<'i>>,
        findings: &mut Findings,
    ) {
        let span = value.span();
        match (kind, value.get_mut()) {
            (_, content @ DeValue::String(_)) => {
                let text = content.as_str().unwrap_or_default();
                if let Some(put) = self.put(kind, text, &span, findings) {
                    *content = put;
                }
            }
            (Kind::Any(kinds), content) => {
                if let Some(kind) = kinds.iter().find(|kind| shape::fits(kind, content)) {
                    self.value(kind, key, value, findings);
                }
            }
            (Kind::Array(item), DeValue::Array(items)) => {
                for item_value in items.iter_mut() {
                    self.value(item, key, item_value, findings);
                }
            }
            (Kind::Map(item), DeValue::Table(table)) => {
                for (_, item_value) in table.iter_mut() {
                    self.value(item, key, item_value, findings);
                }
            }
            (Kind::Table | Kind::Forms(_), DeValue::Table(table)) => self.table(key.path, table, findings),
            (Kind::Named, DeValue::Table(tables)) => {
                let path = format!("{}.*", key.path);
                for (_, table) in tables.iter_mut() {
                    if let DeValue::Table(table) = table.get_mut() {
                        self.table(&path, table, findings);
                    }
                }
            }
            (Kind::Tables, DeValue::Array(items)) => {
                for item in items.iter_mut() {
                    if let DeValue::Table(table) = item.get_mut() {
                        self.table(key.path, table, findings);
                    }
                }
            }
            _ => {}
        }
    }

    /// A text with its references replaced; `None` when it has none. Where a number or boolean is expected and the text is
    /// one reference alone, the value keeps its type.
    fn put<'i>(
        &'i self,
        kind: &Kind,
        text: &str,
        span: &Range<usize>,
        findings: &mut Findings,
    ) -> Option<DeValue<'i>> {
        if !text.contains("${") {
            return None;
        }
        let parts = parts(text);
        for part in &parts {
            if let Part::Reference(name) = part {
                findings.note_used(name);
            }
        }
        if let [Part::Reference(name)] = parts.as_slice()
            && let Some(value) = self.all.get(*name).and_then(typed)
            && shape::fits(kind, &value)
        {
            return Some(value);
        }
        let mut whole = String::with_capacity(text.len());
        for part in parts {
            match part {
                Part::Text(text) => whole.push_str(text),
                Part::Reference(name) => match self.all.get(name) {
                    None => self.undeclared(name, span, findings),
                    Some(arg) => match &arg.value {
                        Some(value) => whole.push_str(value),
                        None if self.refused.contains(name) => {}
                        None => without_value(arg, span, findings),
                    },
                },
                Part::Wrong(written) => wrong(written, span, findings),
            }
        }
        Some(DeValue::String(Cow::Owned(whole)))
    }

    fn undeclared(&self, name: &str, span: &Range<usize>, findings: &mut Findings) {
        let help = match nearest(name, self.names()) {
            Some(near) => format!("did you mean `${{{near}}}`?"),
            None => format!("declare it with a table [args.{name}]; `$${{` stands for `${{` itself"),
        };
        findings.error(
            within(findings, span, &format!("${{{name}}}")),
            format!("there is no argument `{name}`"),
            "used here",
            help,
        );
    }
}

/// An argument that is used and has nothing to put there. A value that was wrong is an error already.
fn without_value(arg: &Arg, span: &Range<usize>, findings: &mut Findings) {
    let name = arg.name.get_ref();
    let place = within(findings, span, &format!("${{{name}}}"));
    let (used, declared) = (findings.place(place), findings.place(arg.name.span()));
    findings.push(
        Diagnostic::error(format!("the argument `{name}` has no value"))
            .at(used, "used here")
            .at(declared, "declared here without a `default`")
            .help(format!("build with --build-arg {name}=..., or write a `default`")),
    );
}

fn wrong(written: &str, span: &Range<usize>, findings: &mut Findings) {
    let name: String = written
        .trim_start_matches("${")
        .chars()
        .take_while(|c| is_inner(*c))
        .collect();
    let help = if is_name(&name) && written.contains(":-") {
        format!("write `${{{name}}}`; its default stands in [args.{name}]")
    } else {
        "write `${NAME}` with a name of [args], or `$${` for `${` itself".to_owned()
    };
    findings.error(
        within(findings, span, written),
        format!("`{written}` is no reference to an argument"),
        "",
        help,
    );
}

/// The place of a part of a string, where it is written in the file as it is meant.
fn within(findings: &Findings, span: &Range<usize>, part: &str) -> Range<usize> {
    match findings.text(span.clone()).find(part) {
        Some(at) => span.start + at..span.start + at + part.len(),
        None => span.clone(),
    }
}

/// The value of an argument that is a number or boolean.
fn typed(arg: &Arg) -> Option<DeValue<'_>> {
    let text = arg.value.as_deref()?;
    match arg.kind {
        ArgKind::String => None,
        ArgKind::Integer => DeValue::parse(text).ok().map(Spanned::into_inner),
        ArgKind::Boolean => Some(DeValue::Boolean(text == "true")),
    }
}

/// A piece of a text.
#[derive(Debug, PartialEq, Eq)]
enum Part<'t> {
    /// As it is.
    Text(&'t str),
    /// `${NAME}`.
    Reference(&'t str),
    /// What starts like a reference and is none.
    Wrong(&'t str),
}

/// Cuts a text at its references; `$${` is `${` as it is.
fn parts(text: &str) -> Vec<Part<'_>> {
    let mut parts = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find("${") {
        if let Some(before) = rest[..at].strip_suffix('$') {
            parts.push(Part::Text(before));
            parts.push(Part::Text("${"));
            rest = &rest[at + 2..];
            continue;
        }
        parts.push(Part::Text(&rest[..at]));
        let inner = &rest[at + 2..];
        let end = inner.find('}');
        let written = &rest[at..end.map_or(rest.len(), |end| at + 2 + end + 1)];
        match end.map(|end| &inner[..end]).filter(|name| is_name(name)) {
            Some(name) => parts.push(Part::Reference(name)),
            None => parts.push(Part::Wrong(written)),
        }
        rest = &rest[at + written.len()..];
    }
    parts.push(Part::Text(rest));
    parts.retain(|part| *part != Part::Text(""));
    parts
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn references_are_names_in_braces() {
        use Part::{Reference, Text, Wrong};
        for (text, expected) in [
            ("", vec![]),
            ("$5 and $NAME", vec![Text("$5 and $NAME")]),
            ("a${B}c", vec![Text("a"), Reference("B"), Text("c")]),
            ("${A}${_b1}", vec![Reference("A"), Reference("_b1")]),
            ("$${A}", vec![Text("${"), Text("A}")]),
            ("${1A}", vec![Wrong("${1A}")]),
            ("${}x", vec![Wrong("${}"), Text("x")]),
            ("${A:-b}", vec![Wrong("${A:-b}")]),
            ("x${A", vec![Text("x"), Wrong("${A")]),
        ] {
            assert_eq!(parts(text), expected, "{text}");
        }
    }

    proptest! {
        #[test]
        fn what_is_escaped_comes_back_as_it_was(text in "([a-z]|[$]|[{]|[}]|é){0,12}") {
            let escaped = text.replace("${", "$${");
            let mut back = String::new();
            for part in parts(&escaped) {
                match part {
                    Part::Text(text) => back.push_str(text),
                    other => prop_assert!(false, "{other:?} in {escaped}"),
                }
            }
            prop_assert_eq!(back, text);
        }
    }
}
