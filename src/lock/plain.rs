//! The short road from the parser's events to a tree, for the plain shapes of TOML that uv writes.

use std::borrow::Cow;
use std::ops::Range;

use toml_parser::decoder::{Encoding, IntegerRadix, ScalarKind};
use toml_parser::parser::{EventReceiver, ValidateWhitespace, parse_document};
use toml_parser::{ErrorSink, ParseError, Span};

use super::document::{Kind, Table, Value};

/// Reads a document of plain shapes; `None` for any other, be it right or wrong.
pub(super) fn read_plain(text: &str) -> Option<Table<'_>> {
    let source = toml_parser::Source::new(text);
    let tokens = source.lex().into_vec();
    let mut builder = Builder {
        text,
        root: Vec::new(),
        header: Header {
            names: Vec::new(),
            span: 0..0,
            is_array: false,
            is_open: false,
        },
        open: vec![Container {
            key: None,
            items: Items::Table(Vec::new()),
            start: 0,
        }],
        has_controls: has_controls(text),
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

/// Keys of a header's table. Those must be told from inline ones, which no later header may extend.
type Nodes<'a> = Vec<(Cow<'a, str>, Node<'a>)>;

enum Node<'a> {
    Value(Value<'a>),
    Table(Range<usize>, Nodes<'a>),
    Tables(Range<usize>, Vec<(Range<usize>, Nodes<'a>)>),
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

/// The header whose body is being read; without names for the top of the document.
struct Header<'a> {
    names: Vec<Cow<'a, str>>,
    span: Range<usize>,
    /// `[[x]]` as against `[x]`.
    is_array: bool,
    /// Whether its names are still being read.
    is_open: bool,
}

/// Builds the tree from the parser's events, and gives up at the first that is not plain.
struct Builder<'a> {
    text: &'a str,
    root: Nodes<'a>,
    header: Header<'a>,
    open: Vec<Container<'a>>,
    has_controls: bool,
    plain: bool,
}

impl<'a> Builder<'a> {
    fn give_up(&mut self) {
        self.plain = false;
    }

    fn open_header(&mut self, span: Span, is_array: bool) {
        self.flush();
        self.header = Header {
            names: Vec::new(),
            span: span.start()..span.end(),
            is_array,
            is_open: true,
        };
    }

    fn close_header(&mut self, span: Span) {
        self.header.is_open = false;
        self.header.span.end = span.end();
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
        let Some((last, parents)) = self.header.names.split_last() else {
            self.root.extend(body);
            return;
        };
        let mut place = &mut self.root;
        for name in parents {
            let at = place.iter().position(|(key, _)| key == name).unwrap_or_else(|| {
                place.push((name.clone(), Node::Table(self.header.span.clone(), Vec::new())));
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
        let span = self.header.span.clone();
        match place.iter_mut().find(|(key, _)| key == last) {
            None if self.header.is_array => {
                place.push((
                    last.clone(),
                    Node::Tables(span.clone(), vec![(span, body.collect())]),
                ));
            }
            None => place.push((last.clone(), Node::Table(span, body.collect()))),
            Some((_, Node::Tables(_, tables))) if self.header.is_array => tables.push((span, body.collect())),
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

    /// The text of a basic string that needs no decoding, as almost all do.
    fn undecoded(&self, raw: &'a str, encoding: Option<Encoding>) -> Option<&'a str> {
        let inner = raw.strip_prefix('"')?.strip_suffix('"')?;
        let is_simple =
            encoding == Some(Encoding::BasicString) && !self.has_controls && !inner.contains('\\');
        is_simple.then_some(inner)
    }

    /// The tree, when everything was plain.
    fn finish(mut self) -> Option<Table<'a>> {
        self.flush();
        self.plain.then(|| settle(self.root))
    }
}

/// Whether a document has control characters that strings must not hold; then each string is checked by its decoder.
fn has_controls(text: &str) -> bool {
    text.bytes()
        .any(|byte| (byte < b' ' && byte != b'\n' && byte != b'\t') || byte == 0x7f)
}

/// Turns header tables into ordinary ones.
fn settle(nodes: Nodes<'_>) -> Table<'_> {
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
        let mut key = Cow::Borrowed(raw);
        if encoding.is_some()
            || !raw
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
        {
            toml_parser::Raw::new_unchecked(raw, encoding, span).decode_key(&mut key, error);
        }
        if self.header.is_open {
            self.header.names.push(key);
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
        if !self.header.is_open {
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
        if let Some(text) = self.undecoded(raw, encoding) {
            let kind = Kind::Text(Cow::Borrowed(text));
            return self.value(Value {
                kind,
                span: span.start()..span.end(),
            });
        }
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::document::{read, read_any};
    use super::*;

    /// Both roads give one tree; the keys of a `toml` table come sorted, so the order is evened out.
    fn sorted(table: Table<'_>) -> Table<'_> {
        let mut entries: Entries<'_> = table
            .entries
            .into_iter()
            .map(|(key, value)| {
                (
                    key,
                    Value {
                        kind: sorted_kind(value.kind),
                        span: 0..0,
                    },
                )
            })
            .collect();
        entries.sort_by(|left, right| left.0.cmp(&right.0));
        Table { entries }
    }

    fn sorted_kind(kind: Kind<'_>) -> Kind<'_> {
        match kind {
            Kind::Table(table) => Kind::Table(sorted(table)),
            Kind::Array(values) => Kind::Array(
                values
                    .into_iter()
                    .map(|value| Value {
                        kind: sorted_kind(value.kind),
                        span: 0..0,
                    })
                    .collect(),
            ),
            other => other,
        }
    }

    const LOCK: &str = "version = 1\n[manifest]\nmembers = [\n    \"a\",\n]\n\n[[package]]\nname = \"a\" # x\n\
        source = { editable = \".\" }\n[package.optional-dependencies]\nx = [{ name = \"b\", marker = 'os_name == \"nt\"' }]\n\
        [package.metadata.requires-dev]\ndev = []\n\n[[package]]\nname = \"b\\u0062\"\nsize = 1_000\nflag = true\n";

    #[test]
    fn plain_documents_take_the_short_road() {
        let plain = read_plain(LOCK).unwrap();
        let Kind::Array(packages) = &plain.get("package").unwrap().kind else {
            panic!()
        };
        assert_eq!(packages.len(), 2);
        let Kind::Table(second) = &packages[1].kind else {
            panic!()
        };
        assert_eq!(second.get("name").unwrap().kind, Kind::Text("bb".into()));
        assert_eq!(second.get("size").unwrap().kind, Kind::Integer(1000));
        let span = second.get("flag").unwrap().span.clone();
        assert_eq!(&LOCK[span], "true");
        assert_eq!(sorted(plain), sorted(read_any(LOCK).unwrap()));
    }

    #[test]
    fn other_documents_are_left_to_toml() {
        for text in [
            "a.b = 1",
            "a = 1.5",
            "a = 1979-05-27",
            "a = 0x10",
            "[a.b]\n[a]\n",
            "a = {}\n[a.b]\n",
            "a = [{}]\n[[a]]\n",
            "a = 1\na = 2",
            "[a]\n[a]\n",
            "[[a]]\n[a]\n",
            "a = ",
            "a = 99999999999999999999",
            "a = \"\u{1}\"",
            "a = \"x\ry\"",
            "a = [[[[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]]]",
        ] {
            assert_eq!(read_plain(text), None, "{text}");
        }
        assert!(read("a.b = 1\nc = 1.5\n").is_ok());
        let faults = read("a = \nb = \n").unwrap_err();
        assert_eq!(faults.len(), 2, "{faults:?}");
    }

    proptest! {
        #[test]
        fn both_roads_agree(text in "(\\[{0,2}[ab](\\.[ab])?\\]{0,2}|[abc](\\.d)? ?= ?(1|-7|'x'|\"y\\\\n?\"|true|1\\.0|\\{ ?a = 1(, b = \\[\\])? ?\\}|\\[1,? ?\\[\\]\\])|#c|)(\n(\\[{0,2}[ab](\\.[ab])?\\]{0,2}|[abc](\\.d)? ?= ?(1|'x'|\\{ ?a = 1 ?\\}))){0,5}") {
            if let Some(plain) = read_plain(&text) {
                let any = read_any(&text);
                prop_assert!(any.is_ok(), "{} {:?}", text, any);
                prop_assert_eq!(sorted(plain), sorted(any.unwrap()));
            }
        }

        #[test]
        fn never_panics(text in "[\\[\\]{}=a\"'\\\\\n#.,1é ]{0,60}") {
            drop(read(&text));
        }
    }
}
