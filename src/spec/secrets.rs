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

/// `text` with user information of URLs written as `***`.
pub(super) fn redact(text: &str) -> String {
    let mut redacted = text.to_owned();
    for range in user_information(text).into_iter().rev() {
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
            "://@",
        ] {
            assert!(!present(text), "{text}");
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
