//! Which lockfile it is, and the one way in for all of them.
//!
//! The name decides where it can: it is what tools write and look for. A file under another name, such as
//! `locks/gpu.lock`, is told by its first lines. Locks of tools whose packages pip and uv cannot install by hash are
//! refused with the command that exports one that they can.

use std::sync::Arc;

use super::reader::{Fault, Reader};
use super::{Lock, document, url};
use crate::diagnostic::{Diagnostic, SourceFile};

/// A format that can be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Format {
    UvLock,
    Pylock,
    Requirements,
}

impl Format {
    /// What to do about a file that is wrong, when nothing more exact is known.
    fn help(self) -> &'static str {
        match self {
            Self::UvLock => "uv.lock is written by `uv lock`; run it to write the file anew",
            Self::Pylock => {
                "pylock.toml is written by a tool such as `uv export --format pylock.toml`; run it to write the file anew"
            }
            Self::Requirements => {
                "requirements with hashes are written by a tool such as `uv export --format requirements-txt`; run it \
                 to write the file anew"
            }
        }
    }
}

/// Locks of other tools by file name, with what to do instead.
const FOREIGN: &[(&str, &str)] = &[
    (
        "poetry.lock",
        "export it with `poetry export --output requirements.txt` (poetry-plugin-export) and write lock = \
         \"requirements.txt\"",
    ),
    (
        "Pipfile.lock",
        "export it with `pipenv requirements --hash > requirements.txt` and write lock = \"requirements.txt\"",
    ),
    (
        "pdm.lock",
        "export it with `pdm export --format pylock --output pylock.toml` and write lock = \"pylock.toml\"",
    ),
    (
        "pixi.lock",
        "it pins conda packages, which no wheel replaces, and `pixi workspace export` writes conda formats alone: lock \
         the PyPI dependencies with `uv lock` and write lock = \"uv.lock\"",
    ),
    (
        "conda-lock.yml",
        "it pins conda packages, which no wheel replaces: lock the PyPI dependencies with `uv lock` and write lock = \
         \"uv.lock\"",
    ),
];

/// What can be read, for messages.
const KNOWN: &str = "a lockfile is uv.lock, pylock.toml (PEP 751), or a requirements.txt with hashes";

/// Reads a lock; the warnings beside it, or all errors.
pub(super) fn parse(file: &Arc<SourceFile>) -> Result<(Lock, Vec<Diagnostic>), Vec<Diagnostic>> {
    let format = detect(&file.name, &file.text).map_err(|error| vec![error])?;
    let mut reader = Reader::default();
    for range in url::secrets(&file.text) {
        reader.secret(range);
    }
    let lock = match format {
        Format::Requirements => Some(reader.requirements(file)),
        Format::UvLock => reader.uv_lock(file),
        Format::Pylock => match document::read(&file.text) {
            Ok(document) => reader.pylock(file, &document),
            Err(faults) => {
                reader.syntax(faults);
                None
            }
        },
    };
    match lock {
        Some(lock) if reader.faults.is_empty() => {
            let warnings = reader.warnings.into_iter();
            Ok((lock, warnings.map(|fault| fault.warning(file)).collect()))
        }
        _ => {
            // A diagnostic draws the line that it points to: a password there must not be on it.
            let redacted = url::redact(file, &reader.secrets);
            let mut faults = reader.faults;
            faults.sort_by_key(|fault| fault.range.start);
            let error = |mut fault: Fault| {
                fault.message = url::redact_message(fault.message, file, &reader.secrets);
                fault.error(&redacted, format.help())
            };
            Err(faults.into_iter().map(error).collect())
        }
    }
}

fn detect(path: &str, text: &str) -> Result<Format, Diagnostic> {
    // A file of another commit is named `REV:PATH`.
    let name = path.rsplit(['/', ':']).next().unwrap_or(path);
    if name == "uv.lock" {
        return Ok(Format::UvLock);
    }
    if is_pylock(name) {
        return Ok(Format::Pylock);
    }
    let extension = name.rsplit_once('.').map_or("", |(_, extension)| extension);
    if extension.eq_ignore_ascii_case("txt") {
        return Ok(Format::Requirements);
    }
    let by_name = FOREIGN.iter().find(|(foreign, _)| *foreign == name);
    if let Some((foreign, help)) = by_name.or_else(|| foreign(text)) {
        return Err(
            Diagnostic::error(format!("`{path}` is a {foreign}, which cannot be installed from")).help(*help),
        );
    }
    if extension == "in" || matches!(name, "pyproject.toml" | "Pipfile" | "pixi.toml") {
        return Err(Diagnostic::error(format!(
            "`{path}` says what is wanted, and not which files were chosen"
        ))
        .help(format!("lock it first, for example with `uv lock`; {KNOWN}")));
    }
    by_content(text)
        .or((extension == "lock").then_some(Format::UvLock))
        .ok_or_else(|| {
            Diagnostic::error(format!("`{path}` is no lockfile that can be read"))
                .help(format!("{KNOWN}; name it so, or see that it is not empty"))
        })
}

/// `pylock.toml`, or `pylock.NAME.toml` where the name has no dot (PEP 751).
fn is_pylock(name: &str) -> bool {
    let middle = name
        .strip_prefix("pylock.")
        .and_then(|rest| rest.strip_suffix("toml"));
    match middle.map(|middle| middle.strip_suffix('.').unwrap_or(middle)) {
        Some(middle) => !middle.contains('.'),
        None => false,
    }
}

/// Lines that say something.
fn lines(text: &str) -> impl Iterator<Item = &str> {
    let text = text.trim_start_matches('\u{feff}');
    text.lines()
        .map(str::trim)
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
}

/// The other tool whose lock a text is.
fn foreign(text: &str) -> Option<&'static (&'static str, &'static str)> {
    let first = lines(text).next()?;
    let name = if first.starts_with('{') && text.contains("\"_meta\"") {
        "Pipfile.lock"
    } else if first.starts_with("version:") && text.contains("\nenvironments:") {
        "pixi.lock"
    } else if lines(text).any(|line| line.starts_with("content-hash = ")) {
        "poetry.lock"
    } else if lines(text).any(|line| line.starts_with("content_hash = ")) {
        "pdm.lock"
    } else {
        return None;
    };
    FOREIGN.iter().find(|(foreign, _)| *foreign == name)
}

fn by_content(text: &str) -> Option<Format> {
    let starts_with = |word: &str| lines(text).any(|line| line.starts_with(word));
    if starts_with("lock-version") || starts_with("[[packages]]") {
        return Some(Format::Pylock);
    }
    if starts_with("[[package]]") {
        return Some(Format::UvLock);
    }
    let is_pinned = |line: &str| line.contains("==") && (line.contains("--hash") || line.ends_with('\\'));
    lines(text)
        .any(|line| line.starts_with("--") || is_pinned(line))
        .then_some(Format::Requirements)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_decides() {
        for (name, format) in [
            ("uv.lock", Format::UvLock),
            ("a/b/uv.lock", Format::UvLock),
            ("HEAD~2:uv.lock", Format::UvLock),
            ("pylock.toml", Format::Pylock),
            ("locks/pylock.cuda.toml", Format::Pylock),
            ("requirements.txt", Format::Requirements),
            ("requirements.cpu.txt", Format::Requirements),
            ("gpu.lock", Format::UvLock),
        ] {
            assert_eq!(detect(name, "").unwrap(), format, "{name}");
        }
        for name in ["pylock.a.b.toml", "pylock.json", "my-pylock.toml", "lock"] {
            assert!(detect(name, "").is_err(), "{name}");
        }
    }

    #[test]
    fn content_decides_where_the_name_does_not() {
        for (text, format) in [
            ("version = 1\n[[package]]\nname = \"a\"\n", Format::UvLock),
            ("# by x\nlock-version = \"1.0\"\n", Format::Pylock),
            ("# by x\na==1 \\\n    --hash=sha256:00\n", Format::Requirements),
            ("--index-url https://index.example/simple\n", Format::Requirements),
        ] {
            assert_eq!(detect("frozen", text).unwrap(), format, "{text}");
        }
    }

    #[test]
    fn locks_of_other_tools_name_their_export() {
        for (name, text, command) in [
            ("poetry.lock", "", "poetry export"),
            (
                "other.lock",
                "[[package]]\n[metadata]\ncontent-hash = \"x\"\n",
                "poetry export",
            ),
            ("Pipfile.lock", "", "pipenv requirements --hash"),
            (
                "frozen.json",
                "{\n  \"_meta\": {}\n}",
                "pipenv requirements --hash",
            ),
            ("pdm.lock", "", "pdm export"),
            ("pixi.lock", "", "uv lock"),
            ("frozen.lock", "version: 6\nenvironments:\n", "uv lock"),
            ("requirements.in", "a\n", "uv lock"),
            ("pyproject.toml", "[project]\n", "uv lock"),
            ("notes.md", "Hello.\n", "pylock.toml"),
        ] {
            let error = detect(name, text).unwrap_err();
            assert!(error.help.unwrap().contains(command), "{name}");
        }
    }
}
