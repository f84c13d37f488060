//! Changes in words.

use std::fmt;

use super::{Cause, Change, ChangeKind, Explanation, ORDER, RELEASE, Root, STANDS_ON};

/// How the value of an image begins that no registry has been asked about.
pub(super) const UNRESOLVED: &str = "unresolved ";

/// More names than this are counted.
const MOST_NAMES: usize = 3;

/// Version and hash of a package's value, `2.8.0 0123456789abcdef`; `None` when it is not one.
pub(super) fn package(value: &str) -> Option<(&str, &str)> {
    let (version, hash) = value.split_once(' ')?;
    let digits = hash.strip_prefix("sha256:").unwrap_or(hash);
    let is_hash = digits.len() >= 16 && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    (is_hash && !version.is_empty()).then_some((version, hash))
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let gone = self
            .changes
            .iter()
            .filter(|change| change.kind == ChangeKind::Removed)
            .count();
        let changed = self.changes.len() - gone;
        write!(f, "image {}: ", self.image)?;
        match (changed, gone) {
            (0, 0) if self.config.is_empty() => writeln!(f, "nothing changes")?,
            (0, 0) => writeln!(f, "no stage changes")?,
            (changed, gone) => {
                write!(f, "{changed} of {} stages change", self.stages)?;
                if gone > 0 {
                    write!(f, ", {gone} {} gone", if gone == 1 { "is" } else { "are" })?;
                }
                writeln!(f)?;
            }
        }
        for change in &self.changes {
            write!(f, "{change}")?;
        }
        if !self.config.is_empty() {
            writeln!(f, "  image config: {}", self.config.join(", "))?;
        }
        if !self.unknown.is_empty() {
            writeln!(
                f,
                "  taken as unchanged, since one of the plans knows no digest: {}",
                self.unknown.join(", ")
            )?;
        }
        Ok(())
    }
}

impl fmt::Display for Change {
    /// One line for one reason, an indented list for several.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_new = self.kind == ChangeKind::Added;
        let mut reasons: Vec<String> = self
            .causes
            .iter()
            .map(|cause| {
                let words = cause.to_string();
                // That a package is new goes without saying in a stage that is.
                if is_new {
                    words.replacen(" is new", "", 1)
                } else {
                    words
                }
            })
            .collect();
        if !self.because_of.is_empty() && !is_new {
            reasons.push(because_of(&self.because_of));
        }
        let word = match self.kind {
            ChangeKind::Added => " new",
            ChangeKind::Changed => "",
            ChangeKind::Removed => " gone",
        };
        write!(f, "  {}:{word}", self.stage)?;
        match reasons.as_slice() {
            [] => writeln!(f),
            [only] if word.is_empty() => writeln!(f, " {only}"),
            [only] => writeln!(f, ", {only}"),
            several => {
                writeln!(f)?;
                several.iter().try_for_each(|reason| writeln!(f, "    {reason}"))
            }
        }
    }
}

fn because_of(roots: &[Root]) -> String {
    let mut names: Vec<&str> = roots.iter().map(|root| root.stage.as_str()).collect();
    let more = names.len().saturating_sub(MOST_NAMES);
    let counted = format!("{more} others");
    if more > 1 {
        names.truncate(MOST_NAMES);
        names.push(&counted);
    }
    let names = match names.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
        _ => names.concat(),
    };
    match roots {
        [root] if !root.through.is_empty() => {
            format!("because of {names}, through {}", root.through.join(", "))
        }
        _ => format!("because of {names}"),
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            input,
            before,
            after,
            because,
            moved,
        } = self;
        let (before, after) = (before.as_deref(), after.as_deref());
        match (input.as_str(), before, after) {
            (STANDS_ON, None, Some(stage)) => return write!(f, "it stands on {stage} now"),
            (STANDS_ON, Some(stage), None) => return write!(f, "it does not stand on {stage} any more"),
            (ORDER | RELEASE, None, None) => return f.write_str(input),
            ("step", Some(_), Some(_)) if before.and_then(package).is_none() => {
                return f
                    .write_str("the text of its step, which another release of Wheelbase has written anew");
            }
            _ => {}
        }
        match (before.and_then(package), after.and_then(package)) {
            (Some((old, _)), Some((new, _))) if old == new && before != after => {
                write!(f, "{input} {new}: other files of the same version")?;
            }
            (Some((old, _)), Some((new, _))) if old == new => write!(f, "{input} {new}")?,
            (Some((old, _)), Some((new, _))) => write!(f, "{input} {old} -> {new}")?,
            (None, Some((new, _))) => write!(f, "{input} {new} is new")?,
            (Some((old, _)), None) if moved.is_some() => write!(f, "{input} {old}")?,
            (Some((old, _)), None) => write!(f, "{input} {old} is no longer needed")?,
            (None, None) => return plain(f, input, before, after),
        }
        if let Some(stage) = moved {
            let direction = if after.is_some() { "from" } else { "to" };
            write!(f, ", moved {direction} {stage}")?;
        }
        match because {
            // A package that was asked for by its name is its own reason.
            Some(because) if after.is_some() && because != input => write!(f, ", needed by {because}"),
            _ => Ok(()),
        }
    }
}

/// An input that is no package.
fn plain(f: &mut fmt::Formatter<'_>, input: &str, before: Option<&str>, after: Option<&str>) -> fmt::Result {
    let value = |value: &str| {
        let value = value.strip_prefix(UNRESOLVED).unwrap_or(value);
        value.to_owned()
    };
    // What a digest is of, the name of the stage says.
    let name = if input == "digest" {
        String::new()
    } else {
        format!("{input} ")
    };
    match (before, after) {
        (Some(before), Some(after)) => write!(f, "{name}{} -> {}", value(before), value(after)),
        (None, Some(after)) => write!(f, "{name}{} is new", value(after)),
        (Some(before), None) => write!(f, "{name}{} is no longer asked for", value(before)),
        (None, None) => f.write_str(input),
    }
}

/// An input as `explain` reads it, for tests of the words.
#[cfg(test)]
pub(super) fn locked(name: &str, version: &str, hash: u8, because: &str) -> crate::plan::Input {
    crate::plan::Input::new(name, format!("{version} {}", format!("{hash:02x}").repeat(8))).because(because)
}
