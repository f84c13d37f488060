//! One pattern of an ignore file, as far as the frontend matches by itself: to say which line hides a file.
//!
//! What is transferred is decided by the client, with `moby/patternmatcher`; this follows it, its habits included: a list of
//! characters that leaves some out takes a slash, and `a**` is everything that begins with `a`.

use std::iter::Peekable;
use std::str::Chars;

/// A pattern, ready to be compared with paths.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Pattern {
    /// Whether it takes back what patterns before it hide.
    negated: bool,
    shape: Shape,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Shape {
    /// The path itself.
    Exact(String),
    /// What begins so.
    Prefix(String),
    /// What ends so; or is that without a slash at its front.
    Suffix(String),
    /// What all of it fits.
    Tokens(Vec<Token>),
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Token {
    /// This character.
    One(char),
    /// A character of a name.
    Any,
    /// Any number of characters of a name.
    Name,
    /// Any number of folders.
    Folders,
    /// Anything.
    Rest,
    /// A character in one of these ranges, or in none of them.
    List {
        negated: bool,
        ranges: Vec<(char, char)>,
    },
}

impl Pattern {
    /// Reads a pattern in the form that [`super::Ignore`] keeps. `None` for one that has another meaning as a regular
    /// expression than it seems to have, such as `\d`.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (negated, text) = match text.strip_prefix('!') {
            Some(text) => (true, text),
            None => (false, text),
        };
        Some(Self {
            negated,
            shape: shape(text)?,
        })
    }

    /// Whether a path fits.
    fn fits(&self, path: &str) -> bool {
        match &self.shape {
            Shape::Exact(exact) => path == exact,
            Shape::Prefix(prefix) => path.starts_with(prefix),
            Shape::Suffix(suffix) => {
                path.ends_with(suffix) || suffix.strip_prefix('/').is_some_and(|name| name == path)
            }
            Shape::Tokens(tokens) => fits(tokens, path),
        }
    }
}

/// The pattern, by its number, that hides a path or a folder above it, when no later one takes it back
/// (`MatchesOrParentMatches` of `moby/patternmatcher`).
pub(super) fn hides(patterns: &[Pattern], path: &str) -> Option<usize> {
    let ends = path.match_indices('/').map(|(end, _)| end);
    let paths: Vec<&str> = ends.chain([path.len()]).map(|end| &path[..end]).collect();
    let mut hidden = None;
    for (number, pattern) in patterns.iter().enumerate() {
        // Only what is still to be hidden, or hidden so far, is looked at.
        if pattern.negated == hidden.is_some() && paths.iter().any(|path| pattern.fits(path)) {
            hidden = (!pattern.negated).then_some(number);
        }
    }
    hidden
}

fn shape(text: &str) -> Option<Shape> {
    let mut tokens = Vec::new();
    // What is plain so far: exact, or a suffix when it began with `**`.
    let mut plain = true;
    let mut suffix = false;
    let mut rest = text.chars().peekable();
    let mut first = true;
    while let Some(character) = rest.next() {
        match character {
            '*' if rest.next_if_eq(&'*').is_some() => {
                rest.next_if_eq(&'/');
                let last = rest.peek().is_none();
                if last && plain && !suffix && !first {
                    return Some(Shape::Prefix(text[..text.len() - trailing(text)].to_owned()));
                }
                tokens.push(if last { Token::Rest } else { Token::Folders });
                if first {
                    suffix = true;
                } else {
                    plain = false;
                }
            }
            '*' => {
                tokens.push(Token::Name);
                plain = false;
            }
            '?' => {
                tokens.push(Token::Any);
                plain = false;
            }
            '[' => {
                tokens.push(list(&mut rest)?);
                plain = false;
            }
            '\\' => {
                let escaped = rest.next()?;
                if escaped.is_ascii_alphanumeric() {
                    return None;
                }
                tokens.push(Token::One(escaped));
                plain = false;
            }
            other => {
                tokens.push(Token::One(other));
                // As an expression it is one.
                plain &= other != ']';
            }
        }
        first = false;
    }
    Some(match (plain, suffix) {
        (false, _) => Shape::Tokens(tokens),
        (true, false) => Shape::Exact(text.to_owned()),
        (true, true) => Shape::Suffix(text[2..].to_owned()),
    })
}

/// The length of the `**` at the end.
fn trailing(text: &str) -> usize {
    text.len() - text.trim_end_matches('/').trim_end_matches("**").len()
}

/// What is between brackets. Wildcards in it become other expressions, which nobody means.
fn list(rest: &mut Peekable<Chars<'_>>) -> Option<Token> {
    let negated = rest.next_if_eq(&'^').is_some();
    let mut ranges = Vec::new();
    let one = |rest: &mut Peekable<Chars<'_>>| match rest.next()? {
        '*' | '?' => None,
        // `[:alpha:]` is a list by itself.
        '[' if rest.peek() == Some(&':') => None,
        '\\' => rest.next().filter(|escaped| !escaped.is_ascii_alphanumeric()),
        other => Some(other),
    };
    loop {
        let low = one(rest)?;
        let high = if rest.next_if_eq(&'-').is_some() {
            one(rest)?
        } else {
            low
        };
        ranges.push((low, high));
        if rest.next_if_eq(&']').is_some() {
            return Some(Token::List { negated, ranges });
        }
    }
}

/// Whether all of a path fits.
fn fits(tokens: &[Token], path: &str) -> bool {
    let Some((token, after)) = tokens.split_first() else {
        return path.is_empty();
    };
    let mut characters = path.chars();
    let first = characters.next();
    let behind = characters.as_str();
    match token {
        Token::One(one) => first == Some(*one) && fits(after, behind),
        Token::Any => first.is_some_and(|one| one != '/') && fits(after, behind),
        Token::List { negated, ranges } => {
            first
                .is_some_and(|one| ranges.iter().any(|(low, high)| (*low..=*high).contains(&one)) != *negated)
                && fits(after, behind)
        }
        Token::Name => {
            let end = path.find('/').unwrap_or(path.len());
            let ends = path[..end].char_indices().map(|(at, _)| at).chain([end]);
            ends.into_iter().any(|at| fits(after, &path[at..]))
        }
        Token::Folders => {
            let ends = path.match_indices('/').map(|(at, _)| at + 1);
            std::iter::once(0).chain(ends).any(|at| fits(after, &path[at..]))
        }
        Token::Rest => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hidden(lines: &[&str], path: &str) -> bool {
        let patterns: Vec<Pattern> = lines.iter().map(|line| Pattern::parse(line).unwrap()).collect();
        hides(&patterns, path).is_some()
    }

    #[test]
    fn single_patterns() {
        for (pattern, path, expected) in [
            ("a", "a", true),
            ("a", "a/b", true),
            ("a", "ab", false),
            ("a", "b/a", false),
            ("*.md", "x.md", true),
            ("*.md", "d/x.md", false),
            ("*", "d/x.md", true),
            ("**", "d/x.md", true),
            ("**/x.md", "x.md", true),
            ("**/x.md", "d/e/x.md", true),
            ("**/x.md", "yx.md", false),
            ("**/*.md", "d/e/x.md", true),
            ("d/**", "d", false),
            ("d/**", "d/e/x", true),
            ("a**", "abc/d", true),
            ("d/**/x", "d/x", true),
            ("d/**/x", "d/e/f/x", true),
            ("d/**/x", "d/ex", false),
            ("t?", "t1", true),
            ("t?", "t/", false),
            ("t[1-2]", "t2", true),
            ("t[^1]", "t2", true),
            ("t[^1]", "t1", false),
            ("x\\[1\\]", "x[1]", true),
            ("x[1]", "x[1]", false),
            ("ü*", "ünï", true),
            (".", "a", false),
            ("/", "a", false),
        ] {
            assert_eq!(hidden(&[pattern], path), expected, "{pattern} {path}");
        }
    }

    #[test]
    fn the_last_one_that_fits_decides() {
        assert!(hidden(&["*", "!src", "src/a"], "src/a"));
        assert!(!hidden(&["*", "!src", "src/a"], "src/b"));
        assert!(hidden(&["!src", "src"], "src"));
        let patterns = ["docs", "*.md"].map(|line| Pattern::parse(line).unwrap());
        assert_eq!(hides(&patterns, "x.md"), Some(1));
        assert_eq!(hides(&patterns, "docs/x"), Some(0));
    }

    #[test]
    fn what_is_another_expression_is_not_judged() {
        for odd in ["\\d", "[*]", "[a\\w]", "[[:alpha:]]"] {
            assert_eq!(Pattern::parse(odd), None, "{odd}");
        }
    }
}
