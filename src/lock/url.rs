//! URLs as a lock writes them: file names, relative ones, and credentials that must not be in them.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use crate::diagnostic::SourceFile;

/// Where a text holds credentials in URLs, anywhere in it.
///
/// The login name of an ssh URL (`ssh://git@host/...`) is not a secret; every other user information is taken for
/// one, since tokens stand in either part of it.
pub(super) fn secrets(text: &str) -> impl Iterator<Item = Range<usize>> {
    // An `@` is rare in a lock and `://` is not, so the search goes backwards from the former.
    text.match_indices('@').filter_map(|(at, _)| {
        let (before, after) = (text.get(..at)?, text.get(at + 1..)?);
        let is_end = |character: char| {
            matches!(character, '/' | '?' | '#' | '"' | '\'' | '\\' | '<' | '>' | ',')
                || character.is_whitespace()
        };
        let user = before.rsplit(is_end).next()?;
        // Of several `@` in one authority the last ends the user information.
        let is_last = !after.split(is_end).next()?.contains('@');
        let start = at - user.len();
        let scheme = text.get(..start)?.strip_suffix("://")?;
        let is_login = scheme.ends_with("ssh") && !user.contains(':');
        (is_last && !is_login && !user.is_empty()).then_some(start..at)
    })
}

/// The same file with some ranges blotted out, at the same offsets.
pub(super) fn redact(file: &Arc<SourceFile>, ranges: &[Range<usize>]) -> Arc<SourceFile> {
    if ranges.is_empty() {
        return Arc::clone(file);
    }
    let mut text = file.text.clone();
    for range in ranges {
        if text.get(range.clone()).is_some() {
            text.replace_range(range.clone(), &"*".repeat(range.len()));
        }
    }
    SourceFile::new(file.name.clone(), text)
}

/// A message without the texts of some ranges of a file, should it quote one.
pub(super) fn redact_message(message: String, file: &SourceFile, ranges: &[Range<usize>]) -> String {
    let secrets = ranges.iter().filter_map(|range| file.text.get(range.clone()));
    secrets.fold(message, |message, secret| message.replace(secret, "***"))
}

/// The absolute URL, or the path relative to the lock, of a file that an index names.
pub(super) fn resolve(index: &str, given: &str) -> (Option<String>, Option<String>) {
    if given.contains("://") {
        return (Some(given.to_owned()), None);
    }
    let Some((scheme, rest)) = index.split_once("://") else {
        let given = given.strip_prefix("./").unwrap_or(given);
        let is_absolute = given.starts_with('/') || index.is_empty();
        let path = if is_absolute {
            given.to_owned()
        } else {
            format!("{}/{given}", index.trim_end_matches('/'))
        };
        return (None, Some(path));
    };
    let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
    if let Some(absolute) = given.strip_prefix('/') {
        return (Some(format!("{scheme}://{host}/{absolute}")), None);
    }
    // Links are relative to the page of the index, whose URL counts as a folder.
    let mut segments: Vec<&str> = path.split('/').filter(|segment| !segment.is_empty()).collect();
    for segment in given.split('/') {
        match segment {
            "" | "." => {}
            ".." => {
                segments.pop();
            }
            _ => segments.push(segment),
        }
    }
    (Some(format!("{scheme}://{host}/{}", segments.join("/"))), None)
}

/// The last segment of a URL's path, percent-decoded.
pub(super) fn filename(url: &str) -> Cow<'_, str> {
    let path = url.split_once('#').map_or(url, |(path, _)| path);
    let path = path
        .split_once('?')
        .map_or(path, |(path, _)| path)
        .trim_end_matches('/');
    decode(path.rsplit_once('/').map_or(path, |(_, filename)| filename))
}

/// Decodes `%2B` and its like; what is no valid escape or UTF-8 stays as it is.
pub(super) fn decode(text: &str) -> Cow<'_, str> {
    if !text.contains('%') {
        return Cow::Borrowed(text);
    }
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let digits = (*first == b'%').then(|| after.get(..2)).flatten();
        let escaped = digits
            .filter(|digits| digits.iter().all(u8::is_ascii_hexdigit))
            .and_then(|digits| std::str::from_utf8(digits).ok())
            .and_then(|digits| u8::from_str_radix(digits, 16).ok());
        bytes.push(escaped.unwrap_or(*first));
        rest = if escaped.is_some() {
            after.get(2..).unwrap_or_default()
        } else {
            after
        };
    }
    String::from_utf8(bytes).map_or(Cow::Borrowed(text), Cow::Owned)
}

/// The values of a query string, percent-decoded, in order.
pub(super) fn query(query: &str) -> impl Iterator<Item = (&str, String)> {
    query.split('&').filter_map(|pair| {
        let (key, value) = pair.split_once('=')?;
        Some((key, decode(&value.replace('+', " ")).into_owned()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_credentials_but_not_logins() {
        let found =
            |text: &str| -> Vec<String> { secrets(text).map(|range| text[range].to_owned()).collect() };
        assert_eq!(
            found("a = \"https://user:token@index.example/simple\""),
            ["user:token"]
        );
        assert_eq!(
            found("https://token@index.example/a https://x@y.example"),
            ["token", "x"]
        );
        assert_eq!(found("ssh://git:secret@host/x"), ["git:secret"]);
        assert_eq!(found("https://user:p@ss@host/"), ["user:p@ss"]);
        assert_eq!(found("ssh://git@host/x git+ssh://git@host/y"), [""; 0]);
        assert_eq!(
            found("https://index.example/a@b https://index.example \"a@b\""),
            [""; 0]
        );
    }

    #[test]
    fn redacts_in_place() {
        let file = SourceFile::new("uv.lock", "u = \"https://a:é@h/\"\nv = 1\n");
        let ranges: Vec<_> = secrets(&file.text).collect();
        let redacted = redact(&file, &ranges);
        assert_eq!(redacted.text, "u = \"https://****@h/\"\nv = 1\n");
        assert_eq!(redacted.text.len(), file.text.len());
    }

    #[test]
    fn resolves_against_the_index() {
        let url = |index, given| resolve(index, given).0.unwrap();
        assert_eq!(
            url("https://index.example/simple", "https://f.example/a.whl"),
            "https://f.example/a.whl"
        );
        assert_eq!(
            url("https://index.example/simple/", "../files/a.whl"),
            "https://index.example/files/a.whl"
        );
        assert_eq!(
            url("https://index.example/simple", "/files/a.whl"),
            "https://index.example/files/a.whl"
        );
        assert_eq!(
            url("https://index.example", "a.whl"),
            "https://index.example/a.whl"
        );
        assert_eq!(
            resolve("wheels", "a.whl"),
            (None, Some("wheels/a.whl".to_owned()))
        );
        assert_eq!(
            resolve("../wheels/", "./a.whl"),
            (None, Some("../wheels/a.whl".to_owned()))
        );
    }

    #[test]
    fn file_names_are_decoded() {
        assert_eq!(
            filename("https://h/x/torch-2.8.0%2Bcu128-py3-none-any.whl#sha256=1"),
            "torch-2.8.0+cu128-py3-none-any.whl"
        );
        assert_eq!(filename("https://h/a.whl?x=/y"), "a.whl");
        assert_eq!(filename("https://h/%zz%"), "%zz%");
        assert_eq!(filename("https://h/%ff"), "%ff");
    }
}
