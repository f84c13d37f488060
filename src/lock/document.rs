//! A TOML document as a lean tree.
//!
//! A lock has tens of thousands of small inline tables, and [`toml::de::DeTable`] pays for a sorted map in each.
//! Reading is most of the work of planning, so the plain shapes that uv writes (headers of bare keys, one level of
//! keys, inline arrays and tables) are built straight from the parser's events into vectors: two to three times as
//! fast. Whatever else TOML allows, and every error, goes through [`toml`] itself, which stays the judge.

use std::borrow::Cow;
use std::ops::Range;

use toml::de::{DeTable, DeValue};
use toml_parser::decoder::{Encoding, IntegerRadix, ScalarKind};
use toml_parser::parser::{EventReceiver, ValidateWhitespace, parse_document};
use toml_parser::{ErrorSink, ParseError, Span};

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
    entries: Vec<(Cow<'a, str>, Value<'a>)>,
}

impl<'a> Table<'a> {
    /// The value of a key. Tables of a lock have few keys, so a search beats an index.
    pub(super) fn get(&self, key: &str) -> Option<&Value<'a>> {
        self.entries
            .iter()
            .find(|(name, _)| name == key)
            .map(|(_, value)| value)
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
    read_plain(text).map_or_else(|| read_any(text), Ok)
}

/// Reads any TOML.
fn read_any(text: &str) -> Result<Table<'_>, Vec<Fault>> {
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

/// Reads a document of plain shapes; `None` for any other, be it right or wrong.
fn read_plain(text: &str) -> Option<Table<'_>> {
    let source = toml_parser::Source::new(text);
    let tokens = source.lex().into_vec();
    let mut builder = Builder {
        text,
        root: Vec::new(),
        header: Vec::new(),
        header_span: 0..0,
        is_array: false,
        in_header: false,
        open: vec![Container {
            key: None,
            items: Items::Table(Vec::new()),
            start: 0,
        }],
        plain: true,
    };
    let mut errors = None::<ParseError>;
    parse_document(
        &tokens,
        &mut ValidateWhitespace::new(&mut builder, source),
        &mut errors,
    );
    if errors.is_some() { None } else { builder.finish() }
}

/// Deepest nesting of inline values that is read here; a lock has four.
const DEPTH: usize = 16;

type Entries<'a> = Vec<(Cow<'a, str>, Value<'a>)>;

/// A table of the header level. It must be told from inline ones, which no later header may extend.
enum Node<'a> {
    Value(Value<'a>),
    Table(Range<usize>, Vec<(Cow<'a, str>, Node<'a>)>),
    Tables(Range<usize>, Vec<(Range<usize>, Vec<(Cow<'a, str>, Node<'a>)>)>),
}

/// An array or inline table that has been opened and not closed, or (the first of the stack) the body of a header.
struct Container<'a> {
    key: Option<Cow<'a, str>>,
    items: Items<'a>,
    start: usize,
}

enum Items<'a> {
    Array(Vec<Value<'a>>),
    Table(Entries<'a>),
}

/// Builds the tree from the parser's events, and gives up at the first that is not plain.
struct Builder<'a> {
    text: &'a str,
    root: Vec<(Cow<'a, str>, Node<'a>)>,
    /// The header whose body is being read; empty for the top of the document.
    header: Vec<Cow<'a, str>>,
    header_span: Range<usize>,
    is_array: bool,
    in_header: bool,
    open: Vec<Container<'a>>,
    plain: bool,
}

impl<'a> Builder<'a> {
    fn give_up(&mut self) {
        self.plain = false;
    }

    fn open_header(&mut self, span: Span, is_array: bool) {
        self.flush();
        self.header.clear();
        self.header_span = span.start()..span.end();
        self.is_array = is_array;
        self.in_header = true;
    }

    fn close_header(&mut self, span: Span) {
        self.in_header = false;
        self.header_span.end = span.end();
    }

    /// Puts the body that has been read into the tree, at the place that its header names.
    fn flush(&mut self) {
        if !self.plain {
            return;
        }
        let Some(Container {
            items: Items::Table(body),
            key: None,
            ..
        }) = self.open.pop()
        else {
            return self.give_up();
        };
        if !self.open.is_empty() {
            return self.give_up();
        }
        self.open.push(Container {
            key: None,
            items: Items::Table(Vec::new()),
            start: 0,
        });
        let body = body.into_iter().map(|(key, value)| (key, Node::Value(value)));
        let Some((last, parents)) = self.header.split_last() else {
            self.root.extend(body);
            return;
        };
        let mut place = &mut self.root;
        for name in parents {
            let at = place.iter().position(|(key, _)| key == name).unwrap_or_else(|| {
                place.push((name.clone(), Node::Table(self.header_span.clone(), Vec::new())));
                place.len() - 1
            });
            match place.get_mut(at).map(|(_, node)| node) {
                Some(Node::Table(_, entries)) => place = entries,
                Some(Node::Tables(_, tables)) => match tables.last_mut() {
                    Some((_, entries)) => place = entries,
                    None => return self.plain = false,
                },
                Some(Node::Value(_)) | None => return self.plain = false,
            }
        }
        let span = self.header_span.clone();
        match place.iter_mut().find(|(key, _)| key == last) {
            None if self.is_array => {
                place.push((
                    last.clone(),
                    Node::Tables(span.clone(), vec![(span, body.collect())]),
                ));
            }
            None => place.push((last.clone(), Node::Table(span, body.collect()))),
            Some((_, Node::Tables(_, tables))) if self.is_array => tables.push((span, body.collect())),
            Some(_) => self.plain = false,
        }
    }

    fn value(&mut self, value: Value<'a>) {
        match self.open.last_mut() {
            Some(Container {
                items: Items::Array(values),
                ..
            }) => values.push(value),
            Some(Container {
                items: Items::Table(entries),
                key,
                ..
            }) => match key.take() {
                Some(key) if !entries.iter().any(|(name, _)| *name == key) => entries.push((key, value)),
                _ => self.plain = false,
            },
            None => self.plain = false,
        }
    }

    fn container(&mut self, span: Span, items: Items<'a>) -> bool {
        if self.open.len() > DEPTH {
            self.give_up();
        }
        if self.plain {
            self.open.push(Container {
                key: None,
                items,
                start: span.start(),
            });
        }
        self.plain
    }

    fn close(&mut self, span: Span) {
        if !self.plain {
            return;
        }
        match self.open.pop() {
            Some(Container {
                items,
                key: None,
                start,
            }) if !self.open.is_empty() => {
                let kind = match items {
                    Items::Array(values) => Kind::Array(values),
                    Items::Table(entries) => Kind::Table(Table { entries }),
                };
                self.value(Value {
                    kind,
                    span: start..span.end(),
                });
            }
            _ => self.give_up(),
        }
    }

    /// The tree, when everything was plain.
    fn finish(mut self) -> Option<Table<'a>> {
        self.flush();
        self.plain.then(|| settle(self.root))
    }
}

/// Turns header tables into ordinary ones.
fn settle<'a>(nodes: Vec<(Cow<'a, str>, Node<'a>)>) -> Table<'a> {
    let entries = nodes.into_iter().map(|(key, node)| {
        let value = match node {
            Node::Value(value) => value,
            Node::Table(span, entries) => Value {
                kind: Kind::Table(settle(entries)),
                span,
            },
            Node::Tables(span, tables) => {
                let tables = tables
                    .into_iter()
                    .map(|(span, entries)| Value {
                        kind: Kind::Table(settle(entries)),
                        span,
                    })
                    .collect();
                Value {
                    kind: Kind::Array(tables),
                    span,
                }
            }
        };
        (key, value)
    });
    Table {
        entries: entries.collect(),
    }
}

impl EventReceiver for Builder<'_> {
    fn std_table_open(&mut self, span: Span, _: &mut dyn ErrorSink) {
        self.open_header(span, false);
    }

    fn std_table_close(&mut self, span: Span, _: &mut dyn ErrorSink) {
        self.close_header(span);
    }

    fn array_table_open(&mut self, span: Span, _: &mut dyn ErrorSink) {
        self.open_header(span, true);
    }

    fn array_table_close(&mut self, span: Span, _: &mut dyn ErrorSink) {
        self.close_header(span);
    }

    fn inline_table_open(&mut self, span: Span, _: &mut dyn ErrorSink) -> bool {
        self.container(span, Items::Table(Vec::new()))
    }

    fn inline_table_close(&mut self, span: Span, _: &mut dyn ErrorSink) {
        self.close(span);
    }

    fn array_open(&mut self, span: Span, _: &mut dyn ErrorSink) -> bool {
        self.container(span, Items::Array(Vec::new()))
    }

    fn array_close(&mut self, span: Span, _: &mut dyn ErrorSink) {
        self.close(span);
    }

    fn simple_key(&mut self, span: Span, encoding: Option<Encoding>, error: &mut dyn ErrorSink) {
        if !self.plain {
            return;
        }
        let Some(raw) = self.text.get(span.start()..span.end()) else {
            return self.give_up();
        };
        let mut key = Cow::Borrowed("");
        toml_parser::Raw::new_unchecked(raw, encoding, span).decode_key(&mut key, error);
        if self.in_header {
            self.header.push(key);
        } else if let Some(Container {
            items: Items::Table(_),
            key: place @ None,
            ..
        }) = self.open.last_mut()
        {
            *place = Some(key);
        } else {
            self.give_up();
        }
    }

    fn key_sep(&mut self, _: Span, _: &mut dyn ErrorSink) {
        if !self.in_header {
            self.give_up();
        }
    }

    fn scalar(&mut self, span: Span, encoding: Option<Encoding>, error: &mut dyn ErrorSink) {
        if !self.plain {
            return;
        }
        let Some(raw) = self.text.get(span.start()..span.end()) else {
            return self.give_up();
        };
        let mut text = Cow::Borrowed("");
        let scalar = toml_parser::Raw::new_unchecked(raw, encoding, span).decode_scalar(&mut text, error);
        let kind = match scalar {
            ScalarKind::String => Kind::Text(text),
            ScalarKind::Boolean(boolean) => Kind::Boolean(boolean),
            ScalarKind::Integer(IntegerRadix::Dec) => match text.parse() {
                Ok(integer) => Kind::Integer(integer),
                Err(_) => return self.give_up(),
            },
            ScalarKind::Integer(_) | ScalarKind::Float | ScalarKind::DateTime => return self.give_up(),
        };
        self.value(Value {
            kind,
            span: span.start()..span.end(),
        });
    }

    fn error(&mut self, _: Span, _: &mut dyn ErrorSink) {
        self.give_up();
    }
}
