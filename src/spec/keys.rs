//! The one table of keys that a `wheelbase.toml` may hold.
//!
//! What the decoder accepts, what its errors suggest, what an editor completes and what the reference page
//! says must never disagree, so all four are made from [`all`]: the decoder checks a file against it, [`super::schema`] renders
//! it as JSON Schema and [`super::docs`] as Markdown.

mod environment;
mod execution;
mod head;
mod products;

/// One key of the file.
#[derive(Debug)]
pub struct Key {
    /// Dotted path from the top of the file; `*` stands for a name that the user chooses: `images.*.packages`.
    pub path: &'static str,
    /// What may be written for it.
    pub kind: Kind,
    /// Whether the table that it belongs to must have it.
    pub required: bool,
    /// What holds when the key is left out, as TOML or in words; empty when nothing does.
    pub default: &'static str,
    /// What it means, in one sentence.
    pub doc: &'static str,
    /// A line of TOML (or a few) that uses it.
    pub example: &'static str,
    /// Whether `${NAME}` in its strings is no reference to an argument, but stands for itself: in what is run by a shell,
    /// and in what names something.
    pub literal: bool,
}

/// What may be written for a key.
#[derive(Debug)]
pub enum Kind {
    /// Any string.
    Text,
    /// A string of this shape (a regular expression that ECMA 262 and RE2 read alike). The schema carries the
    /// shape; the decoder has a hand-written check with a message that helps.
    Shaped(&'static str),
    /// One of these strings.
    Word(&'static [&'static str]),
    /// `true` or `false`.
    Boolean,
    /// A whole number in this range.
    Integer {
        /// The smallest that is accepted.
        least: u64,
        /// The largest that is accepted.
        most: u64,
    },
    /// An array whose items are all of one kind.
    Array(&'static Kind),
    /// A table from names that the user chooses to values of one kind.
    Map(&'static Kind),
    /// A table with the keys that [`all`] lists below this path.
    Table,
    /// A table of that sort that is written in exactly one of several forms.
    Forms(&'static [Form]),
    /// A table of tables: the names are the user's, each table has the keys below `path.*`.
    Named,
    /// A table with the keys that [`all`] lists below this path, and beside them names that the user chooses, whose values are
    /// of one kind.
    Open(&'static Kind),
    /// An array of tables with the keys below this path.
    Tables,
    /// Any of these.
    Any(&'static [Kind]),
}

/// One way to write a table: which keys stand together.
#[derive(Debug)]
pub struct Form {
    /// Keys that must all be there.
    pub needs: &'static [&'static str],
    /// Keys that may be there.
    pub takes: &'static [&'static str],
}

impl Form {
    /// All keys of the form, required ones first.
    pub fn keys(&self) -> impl Iterator<Item = &'static str> {
        self.needs.iter().chain(self.takes).copied()
    }

    /// Whether the key is one of the form.
    pub fn has(&self, key: &str) -> bool {
        self.keys().any(|known| known == key)
    }

    /// The form in words: `url` with `sha256`.
    pub fn words(&self) -> String {
        let (keys, joint) = if self.needs.is_empty() {
            (self.takes, " or ")
        } else {
            (self.needs, " with ")
        };
        keys.iter()
            .map(|key| format!("`{key}`"))
            .collect::<Vec<_>>()
            .join(joint)
    }
}

impl Kind {
    /// The kind in words that fit after "expected": `an array of strings`.
    pub fn words(&self) -> String {
        match self {
            Self::Text | Self::Shaped(_) => "a string".to_owned(),
            Self::Word(words) => {
                let words: Vec<String> = words.iter().map(|word| format!("\"{word}\"")).collect();
                join_or(&words)
            }
            Self::Boolean => "a boolean".to_owned(),
            Self::Integer { .. } => "an integer".to_owned(),
            Self::Array(item) => format!("an array of {}", item.plural()),
            Self::Map(value) => format!("a table of {}", value.plural()),
            Self::Table | Self::Forms(_) | Self::Open(_) => "a table".to_owned(),
            Self::Named => "a table of tables".to_owned(),
            Self::Tables => "an array of tables".to_owned(),
            Self::Any(kinds) => join_or(&kinds.iter().map(Self::words).collect::<Vec<_>>()),
        }
    }

    /// The kind in words, for several values: `strings`.
    fn plural(&self) -> String {
        match self {
            Self::Text | Self::Shaped(_) | Self::Word(_) => "strings".to_owned(),
            Self::Boolean => "booleans".to_owned(),
            Self::Integer { .. } => "integers".to_owned(),
            Self::Array(_) | Self::Tables => "arrays".to_owned(),
            Self::Map(_) | Self::Table | Self::Forms(_) | Self::Named | Self::Open(_) => "tables".to_owned(),
            Self::Any(kinds) => join_or(&kinds.iter().map(Self::plural).collect::<Vec<_>>()),
        }
    }
}

impl Key {
    /// The last segment of the path: what is written in the file.
    pub fn name(&self) -> &'static str {
        self.path.rsplit('.').next().unwrap_or(self.path)
    }

    /// The path of the table that the key belongs to; empty for the top level.
    pub fn parent(&self) -> &'static str {
        self.path.rsplit_once('.').map_or("", |(parent, _)| parent)
    }
}

const TEXTS: Kind = Kind::Array(&Kind::Text);
const IMAGE: Kind = Kind::Shaped("^[^\\s]+$");
const NAME: Kind = Kind::Shaped("^[A-Za-z0-9][A-Za-z0-9._-]*$");
const PATH: Kind = Kind::Shaped("^([^/]|$)");
const ABSOLUTE: Kind = Kind::Shaped("^/");
const URL: Kind = Kind::Shaped("^https?://");
const SHA256: Kind = Kind::Shaped("^[0-9a-fA-F]{64}$");

/// A whole number.
const ANY_INTEGER: Kind = Kind::Integer {
    least: 0,
    most: u64::MAX,
};

/// A number of bytes, or one with a unit.
const BYTES: Kind = Kind::Any(&[ANY_INTEGER, Kind::Shaped("^[0-9]+\\s*(B|[kKMGT]i?B)$")]);

/// Where the binary of a tool comes from: an image, or a file by URL and hash.
const TOOL: Kind = Kind::Forms(&[
    Form {
        needs: &["image"],
        takes: &[],
    },
    Form {
        needs: &["url", "sha256"],
        takes: &[],
    },
]);

/// A key that may be left out.
const fn key(
    path: &'static str,
    kind: Kind,
    default: &'static str,
    doc: &'static str,
    example: &'static str,
) -> Key {
    Key {
        path,
        kind,
        required: false,
        default,
        doc,
        example,
        literal: false,
    }
}

/// A key that its table must have.
const fn required(path: &'static str, kind: Kind, doc: &'static str, example: &'static str) -> Key {
    Key {
        path,
        kind,
        required: true,
        default: "",
        doc,
        example,
        literal: false,
    }
}

/// The same key, whose strings are taken as they are.
const fn literal(key: Key) -> Key {
    Key { literal: true, ..key }
}

/// Every key of the file, in the order in which the reference page shows them; a table comes before its keys.
pub fn all() -> impl Iterator<Item = &'static Key> + Clone {
    let tables = [head::KEYS, environment::KEYS, execution::KEYS, products::KEYS];
    tables.into_iter().flatten()
}

/// The keys of the table at `path` (empty for the top level), in the order of [`all`].
pub fn below(path: &str) -> impl Iterator<Item = &'static Key> {
    all().filter(move |key| key.parent() == path)
}

/// The key `name` of the table at `path`.
pub fn find(path: &str, name: &str) -> Option<&'static Key> {
    below(path).find(|key| key.name() == name)
}

/// `a`, `b` or `c`.
pub(super) fn join_or(words: &[String]) -> String {
    match words {
        [] => String::new(),
        [only] => only.clone(),
        [head @ .., last] => format!("{} or {last}", head.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_key_is_said_once_and_stands_below_a_table() {
        let mut seen = BTreeSet::new();
        for key in all() {
            assert!(seen.insert(key.path), "{} twice", key.path);
            let parent = key.parent().trim_end_matches(".*");
            assert!(
                parent.is_empty() || seen.contains(parent),
                "{} comes before its table",
                key.path
            );
        }
    }

    #[test]
    fn every_key_is_documented() {
        for key in all() {
            assert!(
                key.doc.ends_with('.') && !key.doc.ends_with(".."),
                "{}: {}",
                key.path,
                key.doc
            );
            assert!(!key.example.is_empty(), "{} has no example", key.path);
            assert!(
                !key.required || key.default.is_empty(),
                "{} is required and has a default",
                key.path
            );
        }
    }

    #[test]
    fn forms_name_keys_of_their_table_and_all_of_them() {
        fn forms(kind: &Kind) -> Option<&'static [Form]> {
            match kind {
                Kind::Forms(forms) => Some(forms),
                Kind::Any(kinds) => kinds.iter().find_map(forms),
                _ => None,
            }
        }
        for key in all() {
            if let Some(forms) = forms(&key.kind) {
                let named: BTreeSet<&str> = forms.iter().flat_map(Form::keys).collect();
                let known: BTreeSet<&str> = below(key.path).map(Key::name).collect();
                assert_eq!(named, known, "{}", key.path);
            }
        }
    }

    #[test]
    fn what_a_shell_reads_and_what_names_things_is_taken_as_it_is() {
        let literal: Vec<&str> = all().filter(|key| key.literal).map(|key| key.path).collect();
        let expected = [
            "name",
            "default",
            "args",
            "args.*.default",
            "args.*.type",
            "args.*.choices",
            "args.*.description",
            "matrix",
            "matrix.platform",
            "matrix.exclude",
            "wheels.*.command",
            "images.*.entrypoint",
            "images.*.cmd",
        ];
        assert_eq!(literal, expected);
    }

    #[test]
    fn kinds_speak_english() {
        assert_eq!(Kind::Array(&Kind::Text).words(), "an array of strings");
        assert_eq!(
            Kind::Any(&[Kind::Boolean, Kind::Word(&["a", "b"])]).words(),
            "a boolean or \"a\" or \"b\""
        );
    }
}
