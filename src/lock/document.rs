//! A TOML document as a lean tree.
//!
//! A lock has tens of thousands of small inline tables, and [`toml::de::DeTable`] pays for a sorted map in each.
//! Reading is much of the work of planning, so what uv writes takes a short road, several times as fast, is kept in
//! vectors, and its packages only until they have been looked at. Everything else that TOML allows, and every error,
//! goes through [`toml`] itself, which stays the judge.

use std::borrow::Cow;
use std::ops::Range;

use toml::de::{DeTable, DeValue};

use super::plain::{Sieve, read_plain};

/// A value with its bytes in the document.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Value<'a> {
    pub(super) kind: Kind<'a>,
    pub(super) span: Range<usize>,
}

/// What a value is.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Kind<'a> {
    Text(Cow<'a, str>),
    Integer(i64),
    Boolean(bool),
    Array(Vec<Value<'a>>),
    Table(Table<'a>),
    /// A float, date or an integer beyond 64 bits, of which a lock has no use.
    Other(&'static str),
}

impl Kind<'_> {
    /// The word for it in a diagnostic.
    pub(super) fn describe(&self) -> &'static str {
        match self {
            Self::Text(_) => "a string",
            Self::Integer(_) => "an integer",
            Self::Boolean(_) => "a boolean",
            Self::Array(_) => "an array",
            Self::Table(_) => "a table",
            Self::Other(what) => what,
        }
    }
}

/// Keys and values, in no particular order.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Table<'a> {
    pub(super) entries: Vec<(Cow<'a, str>, Value<'a>)>,
}

impl<'a> Table<'a> {
    /// The value of a key. Tables of a lock have few keys, so a search beats an index.
    pub(super) fn get(&self, key: &str) -> Option<&Value<'a>> {
        self.entries
            .iter()
            .find(|(name, _)| name == key)
            .map(|(_, value)| value)
    }

    /// Drops what stands under other keys than these.
    pub(super) fn keep(&mut self, keys: &[&str]) {
        self.entries.retain(|(name, _)| keys.contains(&name.as_ref()));
        self.entries.shrink_to_fit();
    }

    /// All keys and values.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, &Value<'a>)> {
        self.entries.iter().map(|(name, value)| (name.as_ref(), value))
    }
}

/// A place in the document and what is wrong there.
pub(super) type Fault = (Range<usize>, String);

/// Reads a document; all its syntax errors at once when it has any.
pub(super) fn read(text: &str) -> Result<Table<'_>, Vec<Fault>> {
    read_plain(text, None).map_or_else(|| read_any(text), Ok)
}

/// Reads a document that is mostly one array of tables, and hands these over one by one instead of keeping them. What
/// else stands in the array stays there. Where the short road turns out to be none, all begins anew.
pub(super) fn read_each<'a, T>(
    text: &'a str,
    key: &'static str,
    begin: impl Fn() -> T,
    each: impl Fn(&mut T, &Range<usize>, Table<'a>),
) -> Result<(Table<'a>, T), Vec<Fault>> {
    let mut taken = begin();
    let sieve = Sieve {
        key,
        each: &mut |span, table| each(&mut taken, span, table),
    };
    let mut document = if let Some(document) = read_plain(text, Some(sieve)) {
        document
    } else {
        taken = begin();
        read_any(text)?
    };
    let array = document.entries.iter_mut().find(|(name, _)| name == key);
    if let Some(Kind::Array(values)) = array.map(|(_, value)| &mut value.kind) {
        for Value { kind, span } in std::mem::take(values) {
            match kind {
                Kind::Table(table) => each(&mut taken, &span, table),
                kind => values.push(Value { kind, span }),
            }
        }
    }
    Ok((document, taken))
}

/// Reads any TOML.
pub(super) fn read_any(text: &str) -> Result<Table<'_>, Vec<Fault>> {
    let (table, errors) = DeTable::parse_recoverable(text);
    if errors.is_empty() {
        return Ok(convert_table(table.into_inner()));
    }
    let faults = errors
        .iter()
        .map(|error| (error.span().unwrap_or(0..0), error.message().to_owned()));
    Err(faults.collect())
}

fn convert_table(table: DeTable<'_>) -> Table<'_> {
    let entries = table.into_iter().map(|(key, value)| {
        let span = value.span();
        (
            key.into_inner(),
            Value {
                kind: convert(value.into_inner()),
                span,
            },
        )
    });
    Table {
        entries: entries.collect(),
    }
}

fn convert(value: DeValue<'_>) -> Kind<'_> {
    match value {
        DeValue::String(text) => Kind::Text(text),
        DeValue::Integer(integer) => i64::from_str_radix(integer.as_str(), integer.radix())
            .map_or(Kind::Other("an integer beyond 64 bits"), Kind::Integer),
        DeValue::Boolean(boolean) => Kind::Boolean(boolean),
        DeValue::Float(_) => Kind::Other("a float"),
        DeValue::Datetime(_) => Kind::Other("a date"),
        DeValue::Array(array) => Kind::Array(
            array
                .into_iter()
                .map(|value| {
                    let span = value.span();
                    Value {
                        kind: convert(value.into_inner()),
                        span,
                    }
                })
                .collect(),
        ),
        DeValue::Table(table) => Kind::Table(convert_table(table)),
    }
}
