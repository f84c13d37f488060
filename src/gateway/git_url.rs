//! Addresses of git repositories as build contexts: `https://host/repo.git#branch:folder`, and the longer form whose
//! query says each thing by name.
//!
//! Which addresses are git's, and what may stand in them, is that of BuildKit (`frontend/dockerfile/dfgitutil` and
//! `util/gitutil`).

use super::values::{comma_separated, go_bool};
use crate::diagnostic::{Diagnostic, nearest, without_secrets};
use crate::llb::{GitSource, GitTime};

/// What a query may say.
const KEYS: [&str; 10] = [
    "ref",
    "tag",
    "branch",
    "subdir",
    "checksum",
    "commit",
    "keep-git-dir",
    "submodules",
    "mtime",
    "fetch-by-commit",
];

/// Whether an address is a git repository's: by scheme, by `user@host:`, and over http by the end `.git` of the path.
pub(crate) fn is_git(address: &str) -> bool {
    if let Some((scheme, rest)) = address.split_once("://") {
        return match scheme.to_ascii_lowercase().as_str() {
            "git" | "ssh" => true,
            "http" | "https" => {
                let address = rest.split(['#', '?']).next().unwrap_or_default();
                // In lower case, as BuildKit looks for it.
                let path = address.split_once('/').map_or("", |(_, path)| path);
                path.strip_suffix(".git").is_some()
            }
            _ => false,
        };
    }
    address
        .split_once('@')
        .is_some_and(|(user, rest)| !user.is_empty() && !user.contains([':', '/']) && rest.contains(':'))
}

/// Reads the address of a repository; what it is called names it in what is said of mistakes.
///
/// # Errors
///
/// When its query or fragment says what BuildKit does not know, or two things that exclude each other.
pub fn parse_git_url(address: &str, called: &str) -> Result<GitSource, Diagnostic> {
    let wrong = |reason: String| {
        Diagnostic::error(format!("{called} is wrong: {reason}"))
            .help("write https://git.example/repository.git#branch:folder, or ?branch=...&subdir=... in place of what \
                 stands after `#`")
    };
    let (address, fragment) = address.split_once('#').unwrap_or((address, ""));
    let (url, query) = address.split_once('?').unwrap_or((address, ""));
    let mut read = Read::default();
    read.fragment(fragment).map_err(wrong)?;
    read.query(query).map_err(wrong)?;
    let mut source = GitSource::new(url, read.reference);
    source.subdir = read.subdir;
    source.keep_git_dir = read.keep_git_dir;
    source.skip_submodules = read.submodules == Some(false);
    source.checksum = (!read.checksum.is_empty()).then_some(read.checksum);
    source.time = read.time;
    source.fetch_by_commit = read.fetch_by_commit;
    Ok(source)
}

/// An address as it may be shown: without user and password, and without the query.
pub fn shown_url(address: &str) -> String {
    let fragment = address.split_once('#').map(|(_, fragment)| fragment);
    let mut shown = without_secrets(address);
    if let Some(fragment) = fragment {
        shown.push('#');
        shown.push_str(fragment);
    }
    shown
}

/// What has been read of a query and a fragment.
#[derive(Default)]
struct Read {
    reference: String,
    subdir: String,
    checksum: String,
    keep_git_dir: bool,
    submodules: Option<bool>,
    time: Option<GitTime>,
    fetch_by_commit: bool,
}

impl Read {
    /// `branch:folder`, or the fields after a second hash sign.
    fn fragment(&mut self, fragment: &str) -> Result<(), String> {
        if let Some(fields) = fragment.strip_prefix('#') {
            return self.fields(fields);
        }
        let (reference, subdir) = fragment.split_once(':').unwrap_or((fragment, ""));
        self.reference = decoded(reference)?;
        self.subdir = decoded(subdir)?;
        Ok(())
    }

    /// `ref=tag,subdir=/folder`, the form after two hash signs.
    fn fields(&mut self, fields: &str) -> Result<(), String> {
        for field in comma_separated(fields) {
            let Some((key, value)) = field.split_once('=') else {
                return Err(format!("`{field}` of its fragment is no key=value"));
            };
            match key.to_ascii_lowercase().as_str() {
                "ref" => value.clone_into(&mut self.reference),
                "subdir" => value.clone_into(&mut self.subdir),
                "commit" => value.clone_into(&mut self.checksum),
                _ => {
                    return Err(format!(
                        "its fragment has the key `{key}`; known are ref, commit and subdir"
                    ));
                }
            }
        }
        if self.reference.is_empty() {
            self.reference.clone_from(&self.checksum);
        }
        Ok(())
    }

    fn query(&mut self, query: &str) -> Result<(), String> {
        let (mut tag, mut branch) = (None, None);
        let mut seen: Vec<String> = Vec::new();
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            let (key, value) = (
                decoded(&key.replace('+', " "))?,
                decoded(&value.replace('+', " "))?,
            );
            if seen.contains(&key) {
                return Err(format!("`{key}` stands in its query twice"));
            }
            let flag = |value: &str| match value {
                "" => Ok(true),
                value => go_bool(value).ok_or_else(|| format!("`{key}` of its query is no boolean")),
            };
            if value.is_empty()
                && !matches!(key.as_str(), "submodules" | "keep-git-dir" | "fetch-by-commit")
                && KEYS.contains(&key.as_str())
            {
                return Err(format!("`{key}` of its query has no value"));
            }
            match key.as_str() {
                "ref" => set(&mut self.reference, "ref", value)?,
                "subdir" => set(&mut self.subdir, "subdir", value)?,
                "tag" => tag = Some(prefixed("refs/tags/", value)),
                "branch" => branch = Some(prefixed("refs/heads/", value)),
                "checksum" | "commit" => set(&mut self.checksum, "commit", value)?,
                "keep-git-dir" => self.keep_git_dir = flag(&value)?,
                "submodules" => self.submodules = Some(flag(&value)?),
                "fetch-by-commit" => self.fetch_by_commit = flag(&value)?,
                "mtime" => {
                    self.time = Some(match value.as_str() {
                        "checkout" => GitTime::Checkout,
                        "commit" => GitTime::Commit,
                        _ => return Err("`mtime` of its query is neither `checkout` nor `commit`".to_owned()),
                    });
                }
                _ => {
                    let known = nearest(&key, KEYS).map(|near| format!("; did you mean `{near}`?"));
                    return Err(format!(
                        "its query has the key `{key}`{}",
                        known.unwrap_or_default()
                    ));
                }
            }
            seen.push(key);
        }
        if tag.is_some() && branch.is_some() {
            return Err("its query has both a tag and a branch".to_owned());
        }
        if let Some(reference) = tag.or(branch) {
            set(&mut self.reference, "ref", reference)?;
        }
        if self.reference.is_empty() {
            self.reference.clone_from(&self.checksum);
        }
        Ok(())
    }
}

/// Sets what is not set yet, or is set to the same.
fn set(field: &mut String, key: &str, value: String) -> Result<(), String> {
    if !field.is_empty() && *field != value {
        return Err(format!("it says two different things of `{key}`"));
    }
    *field = value;
    Ok(())
}

fn prefixed(prefix: &str, name: String) -> String {
    if name.starts_with(prefix) {
        name
    } else {
        format!("{prefix}{name}")
    }
}

/// A text with its `%41` decoded.
fn decoded(text: &str) -> Result<String, String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        rest = after;
        if *first != b'%' {
            bytes.push(*first);
            continue;
        }
        let digits = rest.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
        let byte = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        bytes.push(byte.ok_or_else(|| "a `%` in it is not followed by two hexadecimal digits".to_owned())?);
        rest = rest.get(2..).unwrap_or_default();
    }
    String::from_utf8(bytes).map_err(|_| "what its `%` stand for is no text".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(address: &str) -> GitSource {
        parse_git_url(address, "it").unwrap()
    }

    fn refused(address: &str) -> String {
        parse_git_url(address, "the option `context`")
            .unwrap_err()
            .message
    }

    #[test]
    fn repositories_are_told_from_files() {
        for git in [
            "https://git.example/a.git#main:sub",
            "http://127.0.0.1:8080/a.git?branch=x",
            "HTTPS://git.example/a.git",
            "git@git.example:a",
            "git://git.example/a",
            "ssh://git@git.example/a",
        ] {
            assert!(is_git(git), "{git}");
        }
        for other in [
            "https://files.example/a.tar",
            "https://files.git",
            "https://files.example/a.git/b",
            "local:src",
            "input:base",
            "docker-image://a@sha256:1",
            "oci-layout://a@sha256:1",
            "",
        ] {
            assert!(!is_git(other), "{other}");
        }
    }

    #[test]
    fn both_forms_say_the_same() {
        let short = parsed("https://git.example/a.git#main:sub/folder");
        assert_eq!(
            (short.reference.as_str(), short.subdir.as_str()),
            ("main", "sub/folder")
        );
        assert_eq!(short.url, "https://git.example/a.git");
        assert_eq!(
            parsed("https://git.example/a.git?ref=main&subdir=sub%2Ffolder"),
            short
        );
        assert_eq!(
            parsed("https://git.example/a.git##ref=main,subdir=sub/folder"),
            short
        );
        assert_eq!(
            parsed("https://git.example/a.git?tag=v1").reference,
            "refs/tags/v1"
        );
        assert_eq!(
            parsed("https://git.example/a.git?branch=b").reference,
            "refs/heads/b"
        );
        let pinned = parsed("https://git.example/a.git?commit=0123456&submodules=0&keep-git-dir");
        assert_eq!(
            (pinned.reference.as_str(), pinned.checksum.as_deref()),
            ("0123456", Some("0123456"))
        );
        assert!(pinned.skip_submodules && pinned.keep_git_dir);
        assert_eq!(parsed("git@git.example:a#:sub").subdir, "sub");
    }

    #[test]
    fn what_is_not_known_is_refused_in_words() {
        insta::assert_snapshot!(
            [
                "https://u:secret@git.example/a.git?brnch=x",
                "https://git.example/a.git?zzz=x",
                "https://git.example/a.git?tag=a&branch=b",
                "https://git.example/a.git?ref=a#b",
                "https://git.example/a.git?ref=a&ref=b",
                "https://git.example/a.git?ref=",
                "https://git.example/a.git?submodules=maybe",
                "https://git.example/a.git?mtime=now",
                "https://git.example/a.git##rev=a",
                "https://git.example/a.git##a",
                "https://git.example/a.git#%zz",
            ]
            .map(refused)
            .join("\n"),
            @r"
        the option `context` is wrong: its query has the key `brnch`; did you mean `branch`?
        the option `context` is wrong: its query has the key `zzz`
        the option `context` is wrong: its query has both a tag and a branch
        the option `context` is wrong: it says two different things of `ref`
        the option `context` is wrong: `ref` stands in its query twice
        the option `context` is wrong: `ref` of its query has no value
        the option `context` is wrong: `submodules` of its query is no boolean
        the option `context` is wrong: `mtime` of its query is neither `checkout` nor `commit`
        the option `context` is wrong: its fragment has the key `rev`; known are ref, commit and subdir
        the option `context` is wrong: `a` of its fragment is no key=value
        the option `context` is wrong: a `%` in it is not followed by two hexadecimal digits
        "
        );
    }

    #[test]
    fn an_address_is_shown_without_secrets() {
        for (address, shown) in [
            (
                "https://user:token@git.example/a.git?x=secret#main",
                "https://git.example/a.git#main",
            ),
            ("https://user:p@ss@git.example", "https://git.example"),
            ("git@git.example:a.git", "git@git.example:a.git"),
        ] {
            assert_eq!(shown_url(address), shown);
        }
    }
}
