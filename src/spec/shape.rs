//! Checks a parsed file against the table of keys: unknown keys, wrong types, missing keys, and tables that mix
//! two ways of saying a thing.
//!
//! It runs before anything is read, over the whole file; [`super::section`] then reads only what has the right
//! shape, so a mistake is reported once and hides no other.

use std::borrow::Cow;
use std::ops::Range;

use toml::Spanned;
use toml::de::{DeArray, DeTable, DeValue};

use super::findings::Findings;
use super::keys::{self, Form, Key, Kind};
use super::secrets;
use crate::diagnostic::{Diagnostic, nearest};

/// Reports everything that does not fit the table of keys.
pub(super) fn check(root: &DeTable<'_>, findings: &mut Findings) {
    drop(Shape { findings }.table("", "", 0..0, root));
}

/// Reports what does not fit of one table of the top level.
pub(super) fn check_table(root: &DeTable<'_>, name: &str, findings: &mut Findings) {
    if let Some(key) = keys::find("", name)
        && let Some((name, value)) = root.get_key_value(key.name())
    {
        Shape { findings }.value(&key.kind, key, key.name(), name.span(), value);
    }
}

/// Whether a value may be read as one of this kind (as far as TOML's types tell).
pub(super) fn fits(kind: &Kind, value: &DeValue<'_>) -> bool {
    match kind {
        Kind::Text | Kind::Shaped(_) | Kind::Word(_) => value.is_str(),
        Kind::Boolean => value.is_bool(),
        Kind::Integer { .. } => value.is_integer(),
        Kind::Array(_) | Kind::Tables => value.is_array(),
        Kind::Map(_) | Kind::Table | Kind::Forms(_) | Kind::Named | Kind::Open(_) => value.is_table(),
        Kind::Any(kinds) => kinds.iter().any(|kind| fits(kind, value)),
    }
}

/// Whether a value is one of this kind, and so are the items of an array.
fn of_kind(kind: &Kind, value: &DeValue<'_>) -> bool {
    match (kind, value) {
        (Kind::Array(item), DeValue::Array(items)) => items.iter().all(|value| fits(item, value.get_ref())),
        _ => fits(kind, value),
    }
}

struct Shape<'f> {
    findings: &'f mut Findings,
}

impl Shape<'_> {
    /// A table with fixed keys: `path` as in [`keys::all`], `shown` as the user wrote it. Gives the keys that
    /// misspelt ones were probably meant to be; that these are missing needs no second word.
    fn table(
        &mut self,
        path: &str,
        shown: &str,
        place: Range<usize>,
        table: &DeTable<'_>,
    ) -> Vec<&'static str> {
        let mut meant = Vec::new();
        for (name, value) in table {
            match keys::find(path, name.get_ref()) {
                Some(key) => self.value(&key.kind, key, &joined(shown, name.get_ref()), name.span(), value),
                None => meant.extend(self.unknown(path, shown, name)),
            }
        }
        let absent = |key: &&Key| !table.contains_key(key.name()) && !meant.contains(&key.name());
        for key in keys::below(path).filter(|key| key.required).filter(absent) {
            self.missing(key, shown, place.clone());
        }
        meant
    }

    fn value(
        &mut self,
        kind: &Kind,
        key: &'static Key,
        shown: &str,
        name: Range<usize>,
        value: &Spanned<DeValue<'_>>,
    ) {
        if !fits(kind, value.get_ref()) {
            return self.wrong_type(kind, key, shown, name, value);
        }
        match (kind, value.get_ref()) {
            (Kind::Any(kinds), content) => {
                if let Some(kind) = kinds.iter().find(|kind| fits(kind, content)) {
                    self.value(kind, key, shown, name, value);
                }
            }
            (Kind::Word(words), DeValue::String(word)) => self.word(words, shown, word, value.span()),
            (Kind::Integer { least, most }, DeValue::Integer(_)) => {
                let number = super::section::integer(value.get_ref());
                if number.is_none_or(|number| number < *least || number > *most) {
                    let range = match (*least, *most) {
                        (least, u64::MAX) => format!("at least {least}"),
                        (least, most) => format!("from {least} to {most}"),
                    };
                    let message = format!("`{shown}` is out of range");
                    let help = format!("write a number {range}, such as `{}`", key.example);
                    self.findings
                        .error(value.span(), message, format!("must be {range}"), help);
                }
            }
            (Kind::Array(item), DeValue::Array(items)) => {
                for value in items {
                    if fits(item, value.get_ref()) {
                        self.value(item, key, shown, name.clone(), value);
                    } else {
                        self.wrong_item(kind, shown, value);
                    }
                }
            }
            (Kind::Map(item), DeValue::Table(table)) => {
                for (name, value) in table {
                    self.value(item, key, &joined(shown, name.get_ref()), name.span(), value);
                }
            }
            (Kind::Table, DeValue::Table(table)) => {
                self.table(key.path, shown, name, table);
            }
            (Kind::Forms(forms), DeValue::Table(table)) => {
                let meant = self.table(key.path, shown, name.clone(), table);
                if meant.is_empty() {
                    self.forms(forms, key, shown, name, table);
                }
            }
            (Kind::Named, DeValue::Table(table)) => {
                let path = format!("{}.*", key.path);
                for (name, value) in table {
                    let shown = joined(shown, name.get_ref());
                    match value.get_ref() {
                        DeValue::Table(table) => drop(self.table(&path, &shown, name.span(), table)),
                        _ => self.wrong_type(&Kind::Table, key, &shown, name.span(), value),
                    }
                }
            }
            (Kind::Open(item), DeValue::Table(table)) => self.open(item, key, shown, table),
            (Kind::Tables, DeValue::Array(items)) => self.tables(key, shown, items),
            (Kind::Text | Kind::Shaped(_), DeValue::String(text)) if text.contains('\0') => {
                self.findings.error(
                    value.span(),
                    format!("`{shown}` has a NUL character in it"),
                    "",
                    "remove it: no argument, path or variable can hold it",
                );
            }
            (Kind::Text | Kind::Shaped(_), DeValue::String(text)) if secrets::present(text) => {
                // What escapes hide from a look at the raw text is hidden as a whole.
                if !secrets::present(self.findings.text(value.span())) {
                    self.findings.conceal(value.span());
                }
                self.findings.error(
                    value.span(),
                    format!("`{shown}` carries credentials in a URL"),
                    "they would end in keys, layers and logs",
                    "write the URL without them, and give them to the build as a secret",
                );
            }
            _ => {}
        }
    }

    /// A table whose names are partly the user's. One that looks like a known key and has no value of its own kind is that key,
    /// misspelt.
    fn open(&mut self, item: &Kind, key: &'static Key, shown: &str, table: &DeTable<'_>) {
        for (name, value) in table {
            let word = name.get_ref();
            let joined = joined(shown, word);
            let near = || nearest(word, keys::below(key.path).map(Key::name));
            if let Some(known) = keys::find(key.path, word) {
                self.value(&known.kind, known, &joined, name.span(), value);
            } else if !of_kind(item, value.get_ref()) && near().is_some() {
                self.unknown(key.path, shown, name);
            } else {
                self.value(item, key, &joined, name.span(), value);
            }
        }
    }

    fn tables(&mut self, key: &Key, shown: &str, items: &DeArray<'_>) {
        for item in items {
            match item.get_ref() {
                DeValue::Table(table) => drop(self.table(key.path, shown, item.span(), table)),
                _ => self.wrong_item(&key.kind, shown, item),
            }
        }
    }

    /// A table that is written in exactly one of several forms.
    fn forms(&mut self, forms: &[Form], key: &Key, shown: &str, name: Range<usize>, table: &DeTable<'_>) {
        let place = |wanted: &str| table.get_key_value(wanted).map(|(name, _)| name.span());
        let mut given: Vec<&'static str> = Vec::new();
        for word in forms.iter().flat_map(Form::keys) {
            if table.contains_key(word) && !given.contains(&word) {
                given.push(word);
            }
        }
        let absent = |form: &Form| form.needs.iter().filter(|word| !given.contains(*word)).count();
        // Forms may share a word: what is meant is the one that has all that is given and lacks least.
        let fitting = forms
            .iter()
            .filter(|form| given.iter().all(|word| form.has(word)))
            .min_by_key(|form| absent(form));
        match fitting {
            _ if given.is_empty() => {
                let ways: Vec<String> = forms.iter().map(Form::words).collect();
                let message = format!("`{shown}` does not say where from");
                let help = format!("write {}: `{}`", ways.join(", or "), key.example);
                self.findings.error(name, message, "", help);
            }
            Some(form) => {
                for missing in form.needs.iter().filter(|word| !given.contains(*word)) {
                    let message = format!("`{shown}` has `{}` but no `{missing}`", given.join("`, `"));
                    let own = keys::find(key.path, missing).map_or("", |key| key.example);
                    // An example of another form would mislead: then that of what is given shows the whole form.
                    let whole = given.iter().filter_map(|word| keys::find(key.path, word));
                    let example = if own.contains('{') && !given.iter().any(|word| own.contains(word)) {
                        whole.map(|key| key.example).next().unwrap_or(own)
                    } else {
                        own
                    };
                    let place = given
                        .first()
                        .and_then(|key| place(key))
                        .unwrap_or_else(|| name.clone());
                    self.findings
                        .error(place, message, "", format!("add for example `{example}`"));
                }
            }
            None => {
                let Some((one, other)) = apart(forms, &given) else {
                    return;
                };
                let ways = [one, other].map(|word| forms.iter().find(|form| form.has(word)));
                let ([Some(first), Some(second)], Some(there), Some(here)) = (ways, place(one), place(other))
                else {
                    return;
                };
                let (here, there) = (self.findings.place(here), self.findings.place(there));
                self.findings.push(
                    Diagnostic::error(format!("`{shown}` has both `{one}` and `{other}`"))
                        .at(here, format!("`{other}` is one way to say where from"))
                        .at(there, format!("`{one}` is another"))
                        .help(format!("keep {} or {}", first.words(), second.words())),
                );
            }
        }
    }

    fn word(&mut self, words: &[&str], shown: &str, word: &str, span: Range<usize>) {
        if words.contains(&word) {
            return;
        }
        let all: Vec<String> = words.iter().map(|word| format!("\"{word}\"")).collect();
        let help = match nearest(word, words.iter().copied()) {
            Some(near) => format!("did you mean \"{near}\"?"),
            None => format!("write {}", keys::join_or(&all)),
        };
        let label = format!("expected {}", keys::join_or(&all));
        self.findings
            .error(span, format!("`{shown}` cannot be \"{word}\""), label, help);
    }

    fn wrong_type(
        &mut self,
        kind: &Kind,
        key: &'static Key,
        shown: &str,
        name: Range<usize>,
        value: &Spanned<DeValue<'_>>,
    ) {
        // `cudnn = 8` is a question about versions, not about types: `super::gpu` answers it.
        if key.path == "gpu.cudnn" && (value.get_ref().is_integer() || value.get_ref().is_str()) {
            return;
        }
        self.findings.note_meant(key.path);
        let found = article(value.get_ref());
        let message = format!("`{shown}` expected {}, found {found}", kind.words());
        let (name, written) = (self.findings.text(name), self.findings.text(value.span()));
        let help = match (kind, value.get_ref()) {
            (Kind::Array(Kind::Text | Kind::Shaped(_) | Kind::Any(_)), DeValue::String(text))
                if is_plain(text) =>
            {
                let words: Vec<String> = text
                    .split_whitespace()
                    .map(|word| format!("\"{word}\""))
                    .collect();
                format!("write `{name} = [{}]`", words.join(", "))
            }
            (Kind::Text | Kind::Shaped(_) | Kind::Word(_), scalar) if is_scalar(scalar) => {
                format!("quote it: `{name} = \"{written}\"`")
            }
            _ => example(key),
        };
        self.findings
            .error(value.span(), message, format!("this is {found}"), help);
    }

    fn wrong_item(&mut self, kind: &Kind, shown: &str, value: &Spanned<DeValue<'_>>) {
        let found = article(value.get_ref());
        let message = format!("`{shown}` expected {}, found {found} in it", kind.words());
        let help = if is_scalar(value.get_ref()) {
            format!("quote it: \"{}\"", self.findings.text(value.span()))
        } else {
            format!("expected {}", kind.words())
        };
        self.findings
            .error(value.span(), message, format!("this is {found}"), help);
    }

    /// Reports an unknown key, and gives the one that was probably meant.
    fn unknown(&mut self, path: &str, shown: &str, name: &Spanned<Cow<'_, str>>) -> Option<&'static str> {
        let known: Vec<&'static str> = keys::below(path).map(Key::name).collect();
        let owner = if shown.is_empty() {
            "the top level".to_owned()
        } else {
            format!("`{shown}`")
        };
        let elsewhere: Vec<String> = keys::all()
            .filter(|key| key.name() == name.get_ref() && !key.path.contains("provider"))
            .map(|key| match key.parent() {
                "" => "the top level".to_owned(),
                parent => format!("`[{}]`", parent.replace(".*", ".NAME")),
            })
            .collect();
        let list = format!("known keys are `{}`", known.join("`, `"));
        let near = nearest(name.get_ref(), known.iter().copied());
        let help = match near {
            Some(near) => format!("did you mean `{near}`?"),
            None if elsewhere.is_empty() => list,
            None => {
                format!(
                    "`{}` is a key of {}; here {list}",
                    name.get_ref(),
                    keys::join_or(&elsewhere)
                )
            }
        };
        let message = format!("unknown key `{}` in {owner}", name.get_ref());
        self.findings
            .error(name.span(), message, "not a key of this table", help);
        let meant = near.and_then(|near| keys::find(path, near))?;
        self.findings.note_meant(meant.path);
        Some(meant.name())
    }

    fn missing(&mut self, key: &Key, shown: &str, place: Range<usize>) {
        let message = format!("`{}` is missing", joined(shown, key.name()));
        let help = example(key);
        self.findings.error(place, message, "", help);
    }
}

/// Two of the given words that no form has both of; of words that only stand together wrongly in threes, the first two.
fn apart<'k>(forms: &[Form], given: &[&'k str]) -> Option<(&'k str, &'k str)> {
    let pairs = || {
        let each = given.iter().enumerate();
        each.flat_map(|(at, one)| given[at + 1..].iter().map(move |other| (*one, *other)))
    };
    let never = |(one, other): &(&str, &str)| !forms.iter().any(|form| form.has(one) && form.has(other));
    pairs().find(never).or_else(|| pairs().next())
}

/// `outer.inner`, quoted where TOML needs it.
fn joined(outer: &str, inner: &str) -> String {
    let bare = !inner.is_empty()
        && inner
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "-_".contains(c));
    let inner = if bare {
        inner.to_owned()
    } else {
        format!("{inner:?}")
    };
    if outer.is_empty() {
        inner
    } else {
        format!("{outer}.{inner}")
    }
}

/// An example of the key, on lines of its own when it takes several.
fn example(key: &Key) -> String {
    if key.example.contains('\n') {
        format!("write for example\n{}", key.example)
    } else {
        format!("write for example `{}`", key.example)
    }
}

/// Whether a string can be shown as words in quotes.
fn is_plain(text: &str) -> bool {
    !text.trim().is_empty()
        && !text
            .chars()
            .any(|c| c.is_control() || matches!(c, '"' | '\'' | '\\'))
}

fn is_scalar(value: &DeValue<'_>) -> bool {
    !(value.is_array() || value.is_table() || value.is_str())
}

/// The value's type with its article.
fn article(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "a string",
        DeValue::Integer(_) => "an integer",
        DeValue::Float(_) => "a float",
        DeValue::Boolean(_) => "a boolean",
        DeValue::Datetime(_) => "a date or time",
        DeValue::Array(_) => "an array",
        DeValue::Table(_) => "a table",
    }
}
