//! Reads values out of a table whose shape was checked.
//!
//! Whatever has the wrong type, or carries credentials or NUL characters, reads as absent: [`super::shape`] has already said so,
//! and what depends on it is not reported a second time.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::findings::Findings;
use super::secrets;
use crate::diagnostic::Diagnostic;

/// A table of the file; empty when the file does not have it.
#[derive(Clone)]
pub(super) struct Section<'a> {
    table: Option<&'a DeTable<'a>>,
    /// Where the table is named: the last part of its header, or the table itself inside an array.
    pub(super) span: Range<usize>,
}

impl<'a> Section<'a> {
    /// The top level.
    pub(super) fn root(table: &'a DeTable<'a>) -> Self {
        Self {
            table: Some(table),
            span: 0..0,
        }
    }

    fn entry(&self, name: &str) -> Option<(&'a Spanned<Cow<'a, str>>, &'a Spanned<DeValue<'a>>)> {
        self.table?.get_key_value(name)
    }

    /// Whether the file has the table.
    pub(super) fn exists(&self) -> bool {
        self.table.is_some()
    }

    /// Whether the key is there, right or wrong.
    pub(super) fn has(&self, name: &str) -> bool {
        self.entry(name).is_some()
    }

    /// Where the key is written, or the table that should have it.
    pub(super) fn key_span(&self, name: &str) -> Range<usize> {
        self.entry(name)
            .map_or_else(|| self.span.clone(), |(key, _)| key.span())
    }

    /// The raw value.
    pub(super) fn value(&self, name: &str) -> Option<&'a Spanned<DeValue<'a>>> {
        self.entry(name).map(|(_, value)| value)
    }

    /// A string.
    pub(super) fn string(&self, name: &str) -> Option<Spanned<String>> {
        string(self.value(name)?)
    }

    /// A boolean.
    pub(super) fn boolean(&self, name: &str) -> Option<bool> {
        self.value(name)?.get_ref().as_bool()
    }

    /// A whole number.
    pub(super) fn integer(&self, name: &str) -> Option<u64> {
        integer(self.value(name)?.get_ref())
    }

    /// The items of an array.
    pub(super) fn items(&self, name: &str) -> impl Iterator<Item = &'a Spanned<DeValue<'a>>> + use<'a> {
        self.value(name)
            .and_then(|value| value.get_ref().as_array())
            .into_iter()
            .flat_map(|items| items.iter())
    }

    /// The strings of an array; `None` when there is no array.
    pub(super) fn strings(&self, name: &str) -> Option<Vec<Spanned<String>>> {
        let items = self.value(name)?.get_ref().as_array()?;
        Some(items.iter().filter_map(string).collect())
    }

    /// A table of strings.
    pub(super) fn map(&self, name: &str) -> Vec<(Spanned<String>, Spanned<String>)> {
        self.value(name)
            .and_then(|value| value.get_ref().as_table())
            .into_iter()
            .flatten()
            .filter_map(|(key, value)| {
                Some((
                    Spanned::new(key.span(), key.get_ref().to_string()),
                    string(value)?,
                ))
            })
            .collect()
    }

    /// A table below this one; an empty one when there is none.
    pub(super) fn section(&self, name: &str) -> Section<'a> {
        let table = self.value(name).and_then(|value| value.get_ref().as_table());
        Section {
            table,
            span: self.key_span(name),
        }
    }

    /// All keys with their values, in the order of the file.
    pub(super) fn entries(&self) -> Vec<(Spanned<String>, &'a Spanned<DeValue<'a>>)> {
        let mut entries: Vec<_> = self
            .table
            .into_iter()
            .flatten()
            .map(|(key, value)| (Spanned::new(key.span(), key.get_ref().to_string()), value))
            .collect();
        entries.sort_by_key(|(name, _)| name.span().start);
        entries
    }

    /// The tables of a table, by the names that the user chose.
    pub(super) fn named(&self, name: &str) -> Vec<(Spanned<String>, Section<'a>)> {
        let table = self.value(name).and_then(|value| value.get_ref().as_table());
        table
            .into_iter()
            .flatten()
            .filter_map(|(key, value)| {
                let table = value.get_ref().as_table()?;
                let name = Spanned::new(key.span(), key.get_ref().to_string());
                Some((
                    name,
                    Section {
                        table: Some(table),
                        span: key.span(),
                    },
                ))
            })
            .collect()
    }

    /// The tables of an array.
    pub(super) fn tables(&self, name: &str) -> Vec<Section<'a>> {
        self.items(name)
            .filter_map(|item| {
                Some(Section {
                    table: Some(item.get_ref().as_table()?),
                    span: item.span(),
                })
            })
            .collect()
    }
}

/// A value as string, when it is one that may be repeated.
pub(super) fn string(value: &Spanned<DeValue<'_>>) -> Option<Spanned<String>> {
    let text = value
        .get_ref()
        .as_str()
        .filter(|text| !secrets::present(text) && !text.contains('\0'))?;
    Some(Spanned::new(value.span(), text.to_owned()))
}

/// A value as whole number, when it is one that is not negative.
pub(super) fn integer(value: &DeValue<'_>) -> Option<u64> {
    let number = value.as_integer()?;
    u64::from_str_radix(number.as_str().trim_start_matches('+'), number.radix()).ok()
}

/// Reports items that are there twice, and gives each once, in the order of the file.
pub(super) fn unique(
    findings: &mut Findings,
    what: &str,
    items: Vec<Spanned<String>>,
) -> Vec<Spanned<String>> {
    let mut places: BTreeMap<String, Range<usize>> = BTreeMap::new();
    let mut kept = Vec::with_capacity(items.len());
    for item in items {
        if let Some(earlier) = places.get(item.get_ref()) {
            let (here, there) = (findings.place(item.span()), findings.place(earlier.clone()));
            findings.push(
                Diagnostic::error(format!("`{}` is in {what} twice", item.get_ref()))
                    .at(here, "again here")
                    .at(there, "first here")
                    .help("remove one of the two"),
            );
        } else {
            places.insert(item.get_ref().clone(), item.span());
            kept.push(item);
        }
    }
    kept
}
