//! URLs of archives and repositories, and the hashes that pin them.

use toml::Spanned;

use super::findings::{Findings, Problem};
use super::model::Download;
use super::reference;
use super::section::Section;

/// An `http` or `https` URL of a file.
pub(super) fn file(text: &str) -> Result<(), Problem> {
    match text.split_once("://") {
        Some(("http" | "https", rest)) => located(text, rest),
        Some((scheme, _)) => Err(Problem::new(
            format!("a file cannot be fetched over `{scheme}`"),
            "write an `https://` URL",
        )),
        None => Err(Problem::new(
            format!("`{text}` is not a URL"),
            "write it in full: \"https://host/path\"",
        )),
    }
}

/// A URL of a git repository: `https`, `http`, `ssh` or `git`.
pub(super) fn repository(text: &str) -> Result<(), Problem> {
    match text.split_once("://") {
        Some(("http" | "https" | "ssh" | "git", rest)) if text.contains('#') => Err(Problem::new(
            format!(
                "the URL has a fragment: `#{}`",
                rest.split_once('#').map_or("", |(_, fragment)| fragment)
            ),
            "say the commit with `rev` and the folder with `subdir`",
        )),
        Some(("http" | "https" | "ssh" | "git", rest)) => located(text, rest),
        Some((scheme, rest)) => Err(Problem::new(
            format!("a repository cannot be fetched over `{scheme}`"),
            format!("write an `https://` or `ssh://` URL: \"https://{rest}\""),
        )),
        None => {
            let help = match text.split_once(':') {
                Some((host, path)) if host.contains('@') => format!("write \"ssh://{host}/{path}\""),
                _ => "write it in full: \"https://host/owner/repository\"".to_owned(),
            };
            Err(Problem::new(format!("`{text}` is not a URL"), help))
        }
    }
}

/// A URL whose part after `://` is `rest` names a host, and has no characters that end it early.
fn located(text: &str, rest: &str) -> Result<(), Problem> {
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    if host.len() < authority.len() && !text.starts_with("ssh://") {
        return Err(Problem::new(
            "the URL names a user",
            "write it without, and give credentials to the build as a secret",
        ));
    }
    if !reference::is_host(host) {
        return Err(Problem::new(
            format!("`{text}` names no host"),
            "write it in full: \"https://host/path\"",
        ));
    }
    if text
        .chars()
        .any(|c| c.is_whitespace() || c.is_control() || matches!(c, '"' | '<' | '>' | '\\'))
    {
        return Err(Problem::new(
            "the URL has a character that URLs cannot have",
            "percent-encode it: a space is `%20`",
        ));
    }
    Ok(())
}

/// 64 hex digits, in lower case.
pub(super) fn sha256(text: &str) -> Result<String, Problem> {
    if text.len() == 64 && text.chars().all(|c| c.is_ascii_hexdigit()) {
        return Ok(text.to_ascii_lowercase());
    }
    let help = match text.strip_prefix("sha256:") {
        Some(_) => "leave `sha256:` out: 64 hex digits alone",
        None => "write 64 hex digits, as `sha256sum` prints them",
    };
    Err(Problem::new(
        format!("this is no SHA-256: it has {} characters", text.chars().count()),
        help,
    ))
}

/// 40 hex digits of a commit, in lower case.
pub(super) fn commit(text: &str, url: Option<&str>) -> Result<String, Problem> {
    if text.len() == 40 && text.chars().all(|c| c.is_ascii_hexdigit()) {
        return Ok(text.to_ascii_lowercase());
    }
    let what = if !text.is_empty() && text.len() < 40 && text.chars().all(|c| c.is_ascii_hexdigit()) {
        "is a commit cut short"
    } else {
        "is a tag or a branch, which can move"
    };
    Err(Problem::new(
        format!("`rev` must be a whole commit: `{text}` {what}"),
        format!(
            "write its 40 hex digits; `git ls-remote {} {text}` prints them",
            url.unwrap_or("URL")
        ),
    ))
}

/// `url` and `sha256` of a table, when both are right.
pub(super) fn download(findings: &mut Findings, section: &Section<'_>) -> Option<Download> {
    let url = section
        .string("url")
        .and_then(|url| findings.check(url.span(), file(url.get_ref())).map(|()| url));
    let hash = section
        .string("sha256")
        .and_then(|hash| findings.check(hash.span(), sha256(hash.get_ref())));
    let url: Spanned<String> = url?;
    Some(Download { url, sha256: hash? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_come_over_http() {
        assert!(file("https://files.example:8443/a%20b.tar.gz?x#y").is_ok());
        for text in [
            "",
            "files.example/a",
            "ftp://files.example/a",
            "https:///a",
            "https://files.example/a b",
        ] {
            assert!(file(text).is_err(), "{text}");
        }
    }

    #[test]
    fn repositories_have_urls() {
        for text in [
            "https://git.example/a",
            "ssh://git@git.example/a.git",
            "git://git.example/a",
        ] {
            assert!(repository(text).is_ok(), "{text}");
        }
        assert_eq!(
            repository("git@git.example:a/b").unwrap_err().help,
            "write \"ssh://git@git.example/a/b\""
        );
        for text in [
            "a/b",
            "file:///a",
            "git+https://git.example/a",
            "https://$USER:$TOKEN@git.example/a",
            "https://git.example/a#main",
        ] {
            assert!(repository(text).is_err(), "{text}");
        }
    }

    #[test]
    fn commits_are_whole() {
        let digits = "A".repeat(40);
        assert_eq!(commit(&digits, None).unwrap(), "a".repeat(40));
        assert!(commit("abc1234", None).unwrap_err().message.contains("cut short"));
        let problem = commit("v2.8.2", Some("https://git.example/x")).unwrap_err();
        assert!(
            problem
                .help
                .contains("git ls-remote https://git.example/x v2.8.2"),
            "{}",
            problem.help
        );
    }

    #[test]
    fn hashes() {
        assert_eq!(sha256(&"AB".repeat(32)).unwrap(), "ab".repeat(32));
        assert!(
            sha256(&format!("sha256:{}", "ab".repeat(32)))
                .unwrap_err()
                .help
                .contains("leave `sha256:` out")
        );
        assert!(sha256("").is_err());
    }
}
