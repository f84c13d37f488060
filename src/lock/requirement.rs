//! One requirement of a `requirements.txt` (PEP 508, with pip's `--hash`).

use std::collections::BTreeSet;
use std::ops::Range;
use std::str::FromStr;

use pep440_rs::Version;

use super::reader::Reader;
use super::requirements::{Line, offset, words};
use super::source::{is_commit, is_hex};
use super::{File, Indexes, Package, PackageName, Source, url};

/// Hash algorithms that pip accepts in a file, with their hex digits.
const ALGORITHMS: [(&str, usize); 3] = [("sha256", 64), ("sha384", 96), ("sha512", 128)];

/// What to do about a line that is no exact pin.
const PIN: &str =
    "write name==version with a --hash for each file: `uv pip compile --generate-hashes` and `uv export` do";

/// What is said of a pin that has none.
pub(super) fn without_hash(name: &PackageName) -> String {
    format!("`{name}` has no hash: nothing says which file it is")
}

/// A requirement taken apart, as slices of its line.
pub(super) struct Parts<'a> {
    pub(super) name: &'a str,
    /// What stands between the name (with extras) and the marker.
    pub(super) what: &'a str,
    pub(super) marker: &'a str,
    options: &'a str,
}

/// Takes a line apart. Extras are left out: what they bring stands in the file by itself.
pub(super) fn split(text: &str) -> Option<Parts<'_>> {
    let (requirement, options) = text.split_at(options(text));
    let requirement = requirement.trim();
    let is_end = |character: char| !(character.is_ascii_alphanumeric() || "-_.".contains(character));
    let (name, rest) = requirement.split_at(requirement.find(is_end).unwrap_or(requirement.len()));
    let rest = rest.trim_start();
    let rest = match rest.strip_prefix('[') {
        Some(rest) => rest.split_once(']')?.1.trim_start(),
        None => rest,
    };
    // A `;` can be part of a URL, unless there is white space before it.
    let end = if rest.starts_with('@') {
        rest.match_indices(';').map(|(at, _)| at).find(|at| {
            rest.get(..*at)
                .is_some_and(|before| before.ends_with(char::is_whitespace))
        })
    } else {
        rest.find(';')
    };
    let (what, marker) = rest.split_at(end.unwrap_or(rest.len()));
    Some(Parts {
        name,
        what: what.trim(),
        marker: marker.trim_start_matches(';').trim(),
        options: options.trim(),
    })
}

/// Where options begin: at a word with `--` outside of quotes.
fn options(text: &str) -> usize {
    let mut quote = None;
    let mut is_start = false;
    for (at, character) in text.char_indices() {
        match (quote, character) {
            (Some(open), _) => quote = (open != character).then_some(open),
            (None, '\'' | '"') => quote = Some(character),
            (None, '-') if is_start && text.get(at..).is_some_and(|rest| rest.starts_with("--")) => {
                return at;
            }
            (None, _) => {}
        }
        is_start = character.is_whitespace();
    }
    text.len()
}

impl Reader {
    /// A package of the list; `None` with a fault noted when the line does not pin one.
    pub(super) fn requirement(&mut self, line: &Line) -> Option<Package> {
        let start = line.text.len() - line.text.trim_start().len();
        let place = |part: &str| {
            let at = offset(&line.text, part);
            line.place(at..at + part.len())
        };
        let whole = || line.place(start..start + options(&line.text).saturating_sub(start).max(1));
        let Some(parts) = split(&line.text) else {
            self.helped(whole(), "expected a closing `]`", PIN);
            return None;
        };
        let is_path =
            line.text[start..].starts_with(['.', '/', '~']) || line.text[start..].starts_with("file:");
        if is_path {
            self.local_project(whole());
            return None;
        }
        let name = match parts.name.parse::<PackageName>() {
            Ok(name) if !parts.what.starts_with(['+', ':']) => name,
            Ok(_) => {
                self.helped(
                    whole(),
                    "this URL does not say which package it is",
                    "write it as `name @ URL`",
                );
                return None;
            }
            Err(error) => {
                let message = if parts.name.is_empty() {
                    "a requirement begins with the name of a package".to_owned()
                } else {
                    error.to_string()
                };
                self.helped(whole(), message, PIN);
                return None;
            }
        };
        let hashes = self.hashes(parts.options, &place)?;
        let marker = (!parts.marker.is_empty()).then(|| self.marker_text(parts.marker, &place(parts.marker)));
        let span = place(parts.name);
        let mut package = if let Some(location) = parts.what.strip_prefix('@') {
            self.direct(name, location.trim(), &hashes, &place, span)?
        } else {
            let version = self.pinned_version(&name, parts.what, &place, &span)?;
            // uv writes pins of other platforms without a hash where the index has no file for any: those with a
            // marker are refused when they are installed.
            if hashes.is_empty() && marker.is_none() {
                self.helped(whole(), without_hash(&name), PIN);
                return None;
            }
            let mut package = Package::new(name, Source::Indexes(Indexes::default()), span);
            package.version = Some(version);
            package.hashes = hashes.into_iter().collect();
            package
        };
        package.marker = marker;
        Some(package)
    }

    /// The version of `==version` or `===version`.
    fn pinned_version(
        &mut self,
        name: &PackageName,
        specifier: &str,
        place: &impl Fn(&str) -> Range<usize>,
        span: &Range<usize>,
    ) -> Option<String> {
        let inner = specifier
            .strip_prefix('(')
            .and_then(|inner| inner.strip_suffix(')'))
            .unwrap_or(specifier)
            .trim();
        let version = inner
            .strip_prefix("===")
            .or_else(|| inner.strip_prefix("=="))
            .map(str::trim);
        match version {
            Some(version) if Version::from_str(version).is_ok() => Some(version.to_owned()),
            _ if specifier.is_empty() => {
                self.helped(span.clone(), format!("`{name}` is not pinned to a version"), PIN);
                None
            }
            _ => {
                let message = format!("`{specifier}` does not pin `{name}` to one version");
                self.helped(place(specifier), message, PIN);
                None
            }
        }
    }

    /// A requirement by URL: a wheel or source archive with its hash, or a git commit, which is a hash itself.
    fn direct(
        &mut self,
        name: PackageName,
        location: &str,
        hashes: &BTreeSet<String>,
        place: &impl Fn(&str) -> Range<usize>,
        span: Range<usize>,
    ) -> Option<Package> {
        let (address, fragment) = location.split_once('#').unwrap_or((location, ""));
        let fragment: Vec<(&str, String)> = url::query(fragment).collect();
        let value = |wanted: &str| {
            fragment
                .iter()
                .find(|(key, _)| *key == wanted)
                .map(|(_, value)| value.clone())
        };
        let subdirectory = value("subdirectory");
        if let Some(repository) = address.strip_prefix("git+") {
            let Some((repository, rev)) = repository
                .rsplit_once('@')
                .filter(|(_, rev)| is_commit(&rev.to_ascii_lowercase()))
            else {
                self.helped(
                    place(location),
                    "a git URL must end in `@` and the 40 hex digits of a commit",
                    PIN,
                );
                return None;
            };
            let source = Source::Git {
                url: repository.to_owned(),
                rev: rev.to_ascii_lowercase(),
                reference: None,
                subdirectory,
                path: None,
                lfs: false,
            };
            return Some(Package::new(name, source, span));
        }
        if !address.starts_with("https://") && !address.starts_with("http://") {
            self.helped(
                place(location),
                "only http, https and git URLs can be fetched in a build",
                "publish the file in an index, or build the folder in a stage of its own: [wheels.NAME] in the spec",
            );
            return None;
        }
        let is_sha256 = |hash: &&String| hash.starts_with("sha256:");
        let hash = value("sha256")
            .map(|digits| format!("sha256:{}", digits.to_ascii_lowercase()))
            .or_else(|| hashes.iter().find(is_sha256).cloned())
            .filter(|hash| is_hex(hash.trim_start_matches("sha256:"), 64));
        let Some(hash) = hash else {
            let message = format!("`{name}` has no SHA-256: nothing says which file is behind its URL");
            self.helped(place(location), message, PIN);
            return None;
        };
        let file = File {
            name: None,
            url: Some(address.to_owned()),
            path: None,
            hash: Some(hash),
            size: None,
        };
        let source = Source::Url {
            url: address.to_owned(),
            subdirectory,
        };
        let mut package = Package::new(name, source, span);
        let wheel = super::wheel::WheelName::parse(&file.filename()).map(|wheel| wheel.version.to_owned());
        if wheel.is_some() {
            package.version = wheel;
            package.wheels.push(file);
        } else {
            package.sdist = Some(Box::new(file));
        }
        Some(package)
    }

    /// The hashes of a requirement; `None` when one of its options cannot be taken over.
    fn hashes(&mut self, options: &str, place: &impl Fn(&str) -> Range<usize>) -> Option<BTreeSet<String>> {
        let mut hashes = BTreeSet::new();
        let faults = self.faults.len();
        let mut words = words(options).map(|(_, word)| word);
        while let Some(word) = words.next() {
            let (option, value) = match word.split_once('=') {
                Some((option, value)) => (option, Some(value)),
                None if word == "--hash" => (word, words.next()),
                None => (word, None),
            };
            if option != "--hash" {
                self.helped(
                    place(word),
                    format!("`{option}` is an option of a build, which a lock cannot have"),
                    "remove it, and build the package in a stage of its own: [wheels.NAME] in the spec",
                );
                // What follows may be its value.
                break;
            }
            let hash = value.unwrap_or_default().to_ascii_lowercase();
            let is_known = hash.split_once(':').is_some_and(|(algorithm, digits)| {
                ALGORITHMS
                    .iter()
                    .any(|(known, length)| *known == algorithm && is_hex(digits, *length))
            });
            if is_known {
                hashes.insert(hash);
            } else {
                self.helped(
                    place(value.unwrap_or(word)),
                    "a hash is `sha256:` (or sha384, sha512) and its hex digits",
                    PIN,
                );
            }
        }
        (self.faults.len() == faults).then_some(hashes)
    }
}
