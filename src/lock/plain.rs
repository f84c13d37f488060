//! The short road to a tree, for the plain TOML that uv writes.
//!
//! uv writes headers of bare keys, one key to a line, and strings without escapes. Such text can be read in one pass
//! with a byte or two of lookahead. Whatever else TOML allows gives `None` here and is left to [`toml`], so this
//! reader may be narrow, but must never read anything in another way: a property test holds the two together.

use std::borrow::Cow;
use std::ops::Range;

use super::document::{Kind, Table, Value};

/// Takes the tables of an array of the document, `[[key]]`, out of the tree as soon as each is whole.
pub(super) struct Sieve<'s, 'a> {
    pub(super) key: &'static str,
    pub(super) each: &'s mut dyn FnMut(&Range<usize>, Table<'a>),
}

impl<'a> Sieve<'_, 'a> {
    fn drain(&mut self, root: &mut Nodes<'a>) {
        let array = root.iter_mut().find(|(key, _)| key == self.key);
        if let Some((_, Node::Tables(_, tables))) = array {
            for (span, nodes) in tables.drain(..) {
                (self.each)(&span, settle(nodes));
            }
        }
    }
}

/// Reads a document of plain shapes; `None` for any other, be it right or wrong. What has gone through the sieve by
/// then is void.
pub(super) fn read_plain<'a>(text: &'a str, mut sieve: Option<Sieve<'_, 'a>>) -> Option<Table<'a>> {
    if has_controls(text) {
        return None;
    }
    let mut scanner = Scanner { text, at: 0 };
    let mut root = Vec::new();
    let mut header = None;
    let mut body = Vec::new();
    loop {
        scanner.skip_lines();
        match scanner.peek() {
            None => break,
            Some(b'[') => {
                place(&mut root, header.take(), std::mem::take(&mut body))?;
                let next = scanner.header()?;
                if let Some(sieve) = sieve.as_mut().filter(|sieve| next.is_array_of_root(sieve.key)) {
                    // Another table begins, so no header can add to those before it.
                    sieve.drain(&mut root);
                }
                header = Some(next);
            }
            Some(_) => scanner.entry(&mut body, 0)?,
        }
        scanner.end_of_line()?;
    }
    place(&mut root, header, body)?;
    if let Some(mut sieve) = sieve {
        sieve.drain(&mut root);
    }
    Some(settle(root))
}

/// Whether there are control characters beside tabs and newlines: they are wrong in most places, and a carriage return
/// is at the end of a line only. Eight bytes are looked at together, since this is a pass over the whole text.
fn has_controls(text: &str) -> bool {
    const EACH: u64 = 0x0101_0101_0101_0101;
    let is_control = |byte: &u8| (*byte < b' ' && *byte != b'\n' && *byte != b'\t') || *byte == 0x7f;
    let (chunks, rest) = text.as_bytes().as_chunks::<8>();
    let found = chunks.iter().any(|chunk| {
        let word = u64::from_ne_bytes(*chunk);
        // The high bit of a byte stays set where it was below 0x20, or was 0x7f.
        let below = word.wrapping_sub(EACH * 0x20) & !word;
        let delete = (word ^ (EACH * 0x7f)).wrapping_sub(EACH) & !(word ^ (EACH * 0x7f));
        (below | delete) & (EACH * 0x80) != 0 && chunk.iter().any(is_control)
    });
    found || rest.iter().any(is_control)
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

/// `[a.b]` or `[[a.b]]`.
struct Header<'a> {
    parents: Vec<&'a str>,
    name: &'a str,
    span: Range<usize>,
    is_array: bool,
}

impl Header<'_> {
    /// Whether it is `[[key]]`.
    fn is_array_of_root(&self, key: &str) -> bool {
        self.is_array && self.parents.is_empty() && self.name == key
    }
}

/// Puts the body of a header into the tree, at the place that it names; `None` where a rule about tables that are
/// defined twice would have to be looked at.
fn place<'a>(root: &mut Nodes<'a>, header: Option<Header<'a>>, body: Entries<'a>) -> Option<()> {
    let body = body.into_iter().map(|(key, value)| (key, Node::Value(value)));
    let Some(Header {
        parents,
        name,
        span,
        is_array,
    }) = header
    else {
        root.extend(body);
        return Some(());
    };
    let mut nodes = root;
    for parent in parents {
        let at = nodes
            .iter()
            .position(|(key, _)| key == parent)
            .unwrap_or_else(|| {
                nodes.push((Cow::Borrowed(parent), Node::Table(span.clone(), Vec::new())));
                nodes.len() - 1
            });
        nodes = match &mut nodes.get_mut(at)?.1 {
            Node::Table(_, nodes) => nodes,
            Node::Tables(_, tables) => &mut tables.last_mut()?.1,
            Node::Value(_) => return None,
        };
    }
    match nodes.iter_mut().find(|(key, _)| key == name) {
        None => {
            let body = body.collect();
            let node = if is_array {
                Node::Tables(span.clone(), vec![(span, body)])
            } else {
                Node::Table(span, body)
            };
            nodes.push((Cow::Borrowed(name), node));
            Some(())
        }
        Some((_, Node::Tables(_, tables))) if is_array => {
            tables.push((span, body.collect()));
            Some(())
        }
        Some(_) => None,
    }
}

/// Turns header tables into ordinary ones.
fn settle(nodes: Nodes<'_>) -> Table<'_> {
    let entries = nodes.into_iter().map(|(key, node)| {
        let value = match node {
            Node::Value(value) => value,
            Node::Table(span, nodes) => Value {
                kind: Kind::Table(settle(nodes)),
                span,
            },
            Node::Tables(span, tables) => {
                let tables = tables.into_iter();
                let tables = tables.map(|(span, nodes)| Value {
                    kind: Kind::Table(settle(nodes)),
                    span,
                });
                Value {
                    kind: Kind::Array(tables.collect()),
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

/// A place in the text.
struct Scanner<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Scanner<'a> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn eat(&mut self, byte: u8) -> Option<()> {
        if self.peek() == Some(byte) {
            self.at += 1;
            return Some(());
        }
        None
    }

    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    /// Takes bytes while they fit.
    fn take(&mut self, fits: impl Fn(u8) -> bool) -> &'a str {
        let rest = self.rest();
        let end = rest.bytes().position(|byte| !fits(byte)).unwrap_or(rest.len());
        self.at += end;
        rest.get(..end).unwrap_or_default()
    }

    fn skip_spaces(&mut self) {
        self.take(|byte| byte == b' ' || byte == b'\t');
    }

    fn skip_comment(&mut self) {
        if self.peek() == Some(b'#') {
            let rest = self.rest();
            self.at += rest.find('\n').unwrap_or(rest.len());
        }
    }

    /// Skips spaces, comments and ends of lines.
    fn skip_lines(&mut self) {
        loop {
            self.take(|byte| byte == b' ' || byte == b'\t' || byte == b'\n');
            if self.peek() != Some(b'#') {
                return;
            }
            self.skip_comment();
        }
    }

    fn end_of_line(&mut self) -> Option<()> {
        self.skip_spaces();
        self.skip_comment();
        if self.peek().is_none() {
            Some(())
        } else {
            self.eat(b'\n')
        }
    }

    /// A bare key.
    fn key(&mut self) -> Option<&'a str> {
        let key = self.take(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_');
        (!key.is_empty()).then_some(key)
    }

    fn header(&mut self) -> Option<Header<'a>> {
        let start = self.at;
        self.eat(b'[')?;
        let is_array = self.eat(b'[').is_some();
        let mut parents = Vec::new();
        let mut name = self.key()?;
        while self.eat(b'.').is_some() {
            parents.push(name);
            name = self.key()?;
        }
        self.eat(b']')?;
        if is_array {
            self.eat(b']')?;
        }
        Some(Header {
            parents,
            name,
            span: start..self.at,
            is_array,
        })
    }

    /// `key = value`, unless the key is there already.
    fn entry(&mut self, entries: &mut Entries<'a>, depth: usize) -> Option<()> {
        let key = self.key()?;
        if entries.iter().any(|(name, _)| name == key) {
            return None;
        }
        self.skip_spaces();
        self.eat(b'=')?;
        self.skip_spaces();
        let value = self.value(depth)?;
        entries.push((Cow::Borrowed(key), value));
        Some(())
    }

    fn value(&mut self, depth: usize) -> Option<Value<'a>> {
        if depth > DEPTH {
            return None;
        }
        let start = self.at;
        let kind = match self.peek()? {
            quote @ (b'"' | b'\'') => Kind::Text(Cow::Borrowed(self.string(quote)?)),
            b'[' => Kind::Array(self.array(depth + 1)?),
            b'{' => Kind::Table(Table {
                entries: self.table(depth + 1)?,
            }),
            _ => self.word()?,
        };
        Some(Value {
            kind,
            span: start..self.at,
        })
    }

    /// A string of one line that needs no decoding.
    fn string(&mut self, quote: u8) -> Option<&'a str> {
        self.eat(quote)?;
        let inner = self.take(|byte| byte != quote && byte != b'\n' && (byte != b'\\' || quote == b'\''));
        self.eat(quote)?;
        // An empty string and a quote begin a string of several lines.
        let is_long = inner.is_empty() && self.peek() == Some(quote);
        (!is_long).then_some(inner)
    }

    fn array(&mut self, depth: usize) -> Option<Vec<Value<'a>>> {
        self.eat(b'[')?;
        let mut values = Vec::new();
        loop {
            self.skip_lines();
            if self.eat(b']').is_some() {
                return Some(values);
            }
            values.push(self.value(depth)?);
            self.skip_lines();
            if self.eat(b',').is_none() {
                self.eat(b']')?;
                return Some(values);
            }
        }
    }

    fn table(&mut self, depth: usize) -> Option<Entries<'a>> {
        self.eat(b'{')?;
        let mut entries = Vec::new();
        self.skip_spaces();
        if self.eat(b'}').is_some() {
            return Some(entries);
        }
        loop {
            self.skip_spaces();
            self.entry(&mut entries, depth)?;
            self.skip_spaces();
            if self.eat(b',').is_none() {
                self.eat(b'}')?;
                return Some(entries);
            }
        }
    }

    /// `true`, `false`, or a decimal integer without sign and underscores.
    fn word(&mut self) -> Option<Kind<'a>> {
        let word = self.take(|byte| !matches!(byte, b' ' | b'\t' | b'\n' | b',' | b']' | b'}' | b'#'));
        match word {
            "true" => Some(Kind::Boolean(true)),
            "false" => Some(Kind::Boolean(false)),
            _ => {
                let is_plain = word.bytes().all(|byte| byte.is_ascii_digit());
                let is_padded = word.len() > 1 && word.starts_with('0');
                (is_plain && !is_padded)
                    .then(|| word.parse().ok())
                    .flatten()
                    .map(Kind::Integer)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::document::{read, read_any, read_each};
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
        [package.metadata.requires-dev]\ndev = []\n\n[[package]]\nname = \"bb\"\nsize = 1000\nflag = true\n";

    #[test]
    fn plain_documents_take_the_short_road() {
        let plain = read_plain(LOCK, None).unwrap();
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

    /// Whichever road is taken, and wherever the headers of one table stand.
    #[test]
    fn the_sieve_takes_each_table_whole() {
        for text in [
            LOCK,
            &LOCK.replace("true", "1.5"),
            "[[package]]\na = 1\n[[package.b]]\nc = 1\n[x]\ny = 2\n[package.d]\ne = 3\n[[package]]\na = 4\n[z]\n",
            "package = [{ a = 1 }, 2, { a = 3 }]\nb = 4\n",
            "[package]\na = 1\n",
            "a = 1\n",
        ] {
            let take = |taken: &mut Vec<_>, _: &Range<usize>, table| taken.push(sorted(table));
            let (document, taken) = read_each(text, "package", Vec::new, take).unwrap();
            let (mut left, mut expected) = (read_any(text).unwrap(), Vec::new());
            for (_, value) in left.entries.iter_mut().filter(|(key, _)| key == "package") {
                if let Kind::Array(values) = &mut value.kind {
                    for value in std::mem::take(values) {
                        match value.kind {
                            Kind::Table(table) => expected.push(sorted(table)),
                            _ => values.push(value),
                        }
                    }
                }
            }
            assert_eq!(taken, expected, "{text}");
            assert_eq!(sorted(document), sorted(left), "{text}");
        }
    }

    #[test]
    fn control_characters_are_found_wherever_they_stand() {
        for at in 0..20 {
            for control in ['\u{0}', '\u{1f}', '\r', '\u{7f}'] {
                let mut text = "a\tb\né ~ ".repeat(3);
                while !text.is_char_boundary(at) {
                    text.insert(0, 'x');
                }
                assert!(!has_controls(&text));
                text.insert(at, control);
                assert!(has_controls(&text), "{text:?}");
            }
        }
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
            assert_eq!(read_plain(text, None), None, "{text}");
        }
        assert!(read("a.b = 1\nc = 1.5\n").is_ok());
        let faults = read("a = \nb = \n").unwrap_err();
        assert_eq!(faults.len(), 2, "{faults:?}");
    }

    proptest! {
        #[test]
        fn both_roads_agree(text in "(\\[{0,2}[ab](\\.[ab])?\\]{0,2}|[abc](\\.d)? ?= ?(1|-7|'x'|\"y\\\\n?\"|true|1\\.0|\\{ ?a = 1(, b = \\[\\])? ?\\}|\\[1,? ?\\[\\]\\])|#c|)(\n(\\[{0,2}[ab](\\.[ab])?\\]{0,2}|[abc](\\.d)? ?= ?(1|'x'|\\{ ?a = 1 ?\\}))){0,5}") {
            if let Some(plain) = read_plain(&text, None) {
                let any = read_any(&text);
                prop_assert!(any.is_ok(), "{} {:?}", text, any);
                prop_assert_eq!(sorted(plain), sorted(any.unwrap()));
            }
        }

        #[test]
        fn both_roads_agree_on_damaged_locks(at in any::<prop::sample::Index>(), cut in 0_usize..4, junk in "[\\[\\]{}=a1\"'\\\\\n#.,_+ \t]{0,4}") {
            let start = at.index(LOCK.len());
            let mut text = LOCK.to_owned();
            text.replace_range(start..(start + cut).min(LOCK.len()), &junk);
            if let Some(plain) = read_plain(&text, None) {
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
