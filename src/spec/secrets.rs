//! Finds credentials in text, so that they are neither shown nor passed on.
//!
//! What stands in a spec ends in layer keys, image configurations and error messages; a URL with user
//! information (RFC 3986, section 3.2.1) in it is the usual way for a token to get there.

use std::ops::Range;
use std::sync::Arc;

use crate::diagnostic::SourceFile;

/// The byte ranges of user information in URLs anywhere in `text`, without the `@`.
///
/// Two forms are no secret and left alone: a bare user of ssh (`ssh://git@host/`), and shell variables
/// (`https://$USER:$TOKEN@host/`).
pub(super) fn user_information(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    for (at, _) in text.match_indices("://") {
        let scheme: String = text[..at]
            .chars()
            .rev()
            .take_while(|c| c.is_ascii_alphanumeric() || "+-.".contains(*c))
            .collect();
        let scheme: String = scheme.chars().rev().collect();
        let start = at + "://".len();
        let rest = &text[start..];
        let end = rest
            .find(|c: char| c.is_whitespace() || c.is_control() || matches!(c, '"' | '`' | '<' | '>'))
            .unwrap_or(rest.len());
        let token = &rest[..end];
        let authority = token.split(['/', '?', '#']).next().unwrap_or_default();
        let Some(length) = user_length(authority, token) else {
            continue;
        };
        let user = &token[..length];
        let bare_ssh_user = scheme.ends_with("ssh") && !user.contains(':');
        let variable = user
            .split_once(':')
            .map_or(user, |(_, password)| password)
            .starts_with('$');
        if !user.is_empty() && !bare_ssh_user && !variable {
            found.push(start..start + length);
        }
    }
    found
}

/// The byte ranges of what looks like `user:password` before an `@`, outside of URLs: `user:password@registry/image`.
/// It may be something else, so it is only ever hidden, never refused. A tag before a digest is none.
pub(super) fn bare_credentials(text: &str) -> Vec<Range<usize>> {
    let ends = |c: char| c.is_whitespace() || c.is_control() || "\"'`<>[]{}(),;=/".contains(c);
    let mut found: Vec<Range<usize>> = Vec::new();
    for (at, _) in text.match_indices('@') {
        let start = text[..at].rfind(ends).map_or(0, |before| {
            before + text[before..].chars().next().map_or(1, char::len_utf8)
        });
        let digest = ["sha256:", "sha512:"]
            .iter()
            .any(|algorithm| text[at + 1..].starts_with(algorithm));
        let Some((user, password)) = text[start..at].split_once(':') else {
            continue;
        };
        if !digest && !user.is_empty() && !password.is_empty() && !password.starts_with('$') {
            // Of several `@` in one word the last ends the password.
            if found.last().is_some_and(|last| last.start == start) {
                found.pop();
            }
            found.push(start..at);
        }
    }
    found
}

/// Whether a variable of this name is meant to hold a secret, by the words that such names end with.
pub(super) fn is_secret_name(name: &str) -> bool {
    let words: Vec<String> = name.split('_').map(str::to_ascii_uppercase).collect();
    match words.as_slice() {
        [.., last]
            if matches!(
                last.as_str(),
                "TOKEN" | "SECRET" | "PASSWORD" | "PASSWD" | "CREDENTIALS" | "APIKEY"
            ) =>
        {
            true
        }
        [.., kind, last] if last == "KEY" => {
            matches!(kind.as_str(), "API" | "ACCESS" | "SECRET" | "PRIVATE" | "AUTH")
        }
        _ => false,
    }
}

/// How long the user information of a URL is whose part after `://` is `token`.
fn user_length(authority: &str, token: &str) -> Option<usize> {
    if let Some(at) = authority.rfind('@') {
        return Some(at);
    }
    // `https://user:pa/ss@host`: the slash ends the authority, and what follows the colon is no port.
    let (_, port) = authority.split_once(':')?;
    if authority.starts_with('[') || port.chars().all(|c| c.is_ascii_digit()) {
        return None;
    }
    token.rfind('@')
}

/// Whether `text` carries credentials in a URL.
pub(super) fn present(text: &str) -> bool {
    !user_information(text).is_empty()
}

/// Everything in `text` that may be credentials.
pub(super) fn suspects(text: &str) -> Vec<Range<usize>> {
    let mut found = user_information(text);
    let bare = bare_credentials(text);
    let apart =
        |range: &Range<usize>, other: &Range<usize>| other.end <= range.start || range.end <= other.start;
    let bare: Vec<_> = bare
        .into_iter()
        .filter(|range| found.iter().all(|other| apart(range, other)))
        .collect();
    found.extend(bare);
    found.sort_by_key(|range| range.start);
    found
}

/// `text` with everything that may be credentials written as `***`.
pub(super) fn redact(text: &str) -> String {
    let mut redacted = text.to_owned();
    for range in suspects(text).into_iter().rev() {
        redacted.replace_range(range, "***");
    }
    redacted
}

/// The file with those bytes written as `*`, each for each, so that places in it stay where they are.
/// Line ends are kept; without anything to hide it is the same file.
pub(super) fn mask(file: &Arc<SourceFile>, hidden: &[Range<usize>]) -> Arc<SourceFile> {
    if hidden.is_empty() {
        return Arc::clone(file);
    }
    let mut text = String::with_capacity(file.text.len());
    for (at, character) in file.text.char_indices() {
        let hide = hidden.iter().any(|range| range.contains(&at)) && !matches!(character, '\n' | '\r');
        if hide {
            text.extend(std::iter::repeat_n('*', character.len_utf8()));
        } else {
            text.push(character);
        }
    }
    SourceFile::new(file.name.clone(), text)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn finds_credentials() {
        for text in [
            "https://user:token@host/path",
            "https://token@host",
            "see git+https://user:p@ss@host/x for more",
            "https://user:pa/ss@host/x",
            "ssh://git:password@host/x",
            "https://us'er:x@host/",
        ] {
            assert!(present(text), "{text}");
            let redacted = redact(text);
            assert!(
                redacted.contains("***@host") && !present(&redacted.replace("***@", "")),
                "{redacted}"
            );
        }
    }

    #[test]
    fn leaves_the_rest_alone() {
        for text in [
            "https://host/path@1",
            "https://host:8443/path@1",
            "ssh://git@host/x",
            "https://$USER:$TOKEN@host/x",
            "https://[::1]:80/a@b",
            "user@host",
            "ubuntu:24.04@sha256:0",
            "git@host:a/b",
            "$USER:$TOKEN@host",
            "://@",
        ] {
            assert!(!present(text), "{text}");
            assert_eq!(redact(text), text);
        }
    }

    #[test]
    fn hides_what_may_be_credentials() {
        assert_eq!(redact("me:pass@registry.example/x"), "***@registry.example/x");
        assert_eq!(redact("see \"é:p@ss@host\" and a@b"), "see \"***@host\" and a@b");
        assert_eq!(
            redact("https://me:a@b.example/ me:b@c"),
            "https://***@b.example/ ***@c"
        );
    }

    #[test]
    fn names_of_secrets() {
        for name in ["HF_TOKEN", "AWS_SECRET_ACCESS_KEY", "password", "WANDB_API_KEY"] {
            assert!(is_secret_name(name), "{name}");
        }
        for name in ["MAX_TOKEN_LENGTH", "TOKEN_FILE", "KEY", "PUBLIC_KEY", ""] {
            assert!(!is_secret_name(name), "{name}");
        }
    }

    proptest! {
        #[test]
        fn masks_keep_places(text in "[a-zé:/@\n]{0,40}") {
            let file = SourceFile::new("f", text.clone());
            let masked = mask(&file, &user_information(&text));
            prop_assert_eq!(masked.text.len(), text.len());
            prop_assert_eq!(masked.text.matches('\n').count(), text.matches('\n').count());
        }
    }
}
