//! The small grammars of names: packages, images, variables, users, ports.

use std::collections::BTreeSet;

use super::findings::Problem;
use super::model::Requirement;

/// A name of a Python package as PEP 503 normalises it: lower case, runs of `-`, `_` and `.` as one `-`.
pub fn normalise(name: &str) -> String {
    let mut normal = String::with_capacity(name.len());
    for character in name.chars() {
        if matches!(character, '-' | '_' | '.') {
            if !normal.ends_with('-') {
                normal.push('-');
            }
        } else {
            normal.push(character.to_ascii_lowercase());
        }
    }
    normal
}

/// A description: one line that is not empty.
pub(super) fn description(text: &str) -> Result<String, Problem> {
    let line = text.trim();
    if line.is_empty() || line.contains(['\n', '\r']) {
        return Err(Problem::new(
            "a description is one line of text",
            "write a few words, or leave it out",
        ));
    }
    Ok(line.to_owned())
}

/// A name of a package, an extra or a dependency group (the core metadata's `Name`), normalised.
pub(super) fn package(text: &str) -> Result<String, Problem> {
    let edge = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric());
    let inner = text
        .chars()
        .all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'));
    if inner && edge(text.chars().next()) && edge(text.chars().last()) {
        return Ok(normalise(text));
    }
    let pinned = text
        .find(['=', '<', '>', '~', '!', ' ', ';', '@', '('])
        .filter(|at| *at > 0);
    if let Some(name) = pinned
        .map(|at| text[..at].trim())
        .filter(|name| package(name).is_ok())
    {
        return Err(Problem::new(
            format!("`{text}` is more than a name"),
            format!("the lockfile decides versions and sources: write \"{name}\""),
        ));
    }
    Err(Problem::new(
        format!("`{text}` is not a name of a package"),
        "names have letters, digits, `-`, `_` and `.`, and start and end with a letter or digit",
    ))
}

/// A name with extras: `jax[cuda12]`.
pub(super) fn requirement(text: &str) -> Result<Requirement, Problem> {
    let (name, extras) = match text.split_once('[') {
        None => (text, ""),
        Some((name, rest)) => match rest.split_once(']') {
            Some((extras, "")) => (name.trim_end(), extras),
            Some((extras, after)) if !after.trim_start().starts_with(']') => {
                return Err(Problem::new(
                    format!("`{text}` is more than a name with extras"),
                    format!("the lockfile decides versions and sources: write \"{name}[{extras}]\""),
                ));
            }
            _ => {
                let help = format!("write \"{}[extra]\"", name.trim_end());
                return Err(Problem::new(
                    format!("the brackets of `{text}` do not close"),
                    help,
                ));
            }
        },
    };
    let extras: BTreeSet<String> = extras
        .split(',')
        .map(str::trim)
        .filter(|extra| !extra.is_empty())
        .map(package)
        .collect::<Result<_, _>>()?;
    Ok(Requirement {
        name: package(name)?,
        extras,
    })
}

/// The target that is all compiled wheels, and the group of a bake file that pushes them. Nothing else can be called so.
pub const WHEEL_STORE: &str = "wheel-store";

/// A name of an image: it becomes a target, and part of names of caches.
pub(super) fn image(text: &str) -> Result<(), Problem> {
    if text == WHEEL_STORE {
        return Err(Problem::new(
            format!("an image cannot be called `{WHEEL_STORE}`"),
            "that target is all compiled wheels; give the image another name",
        ));
    }
    let first = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    if text.starts_with(first) && text.chars().all(|c| first(c) || matches!(c, '.' | '_' | '-')) {
        return Ok(());
    }
    Err(Problem::new(
        format!("`{text}` is not a name of an image"),
        "names of images have lower-case letters, digits, `.`, `_` and `-`, and start with a letter or digit",
    ))
}

/// A shared library, as a file that is linked against it names it.
pub(super) fn library(text: &str) -> Result<(), Problem> {
    if text.contains(".so") && !text.contains('/') {
        return Ok(());
    }
    Err(Problem::new(
        format!("`{text}` is not the name of a shared library"),
        "write the name that the error says, such as \"libibverbs.so.1\": without a folder, and without patterns",
    ))
}

/// A module of Python, by its full name.
pub(super) fn module(text: &str) -> Result<(), Problem> {
    let is_identifier = |part: &str| {
        part.chars().next().is_some_and(|c| c.is_alphabetic() || c == '_')
            && part.chars().all(|c| c.is_alphanumeric() || c == '_')
    };
    if text.split('.').all(is_identifier) {
        return Ok(());
    }
    Err(Problem::new(
        format!("`{text}` is not the name of a module"),
        "write what stands after `import`, such as \"flash_attn_2_cuda\" or \"torch.utils\"",
    ))
}

/// An id of a secret of the build. What starts like a token of a forge is taken for one.
pub(super) fn secret(text: &str) -> Result<(), Problem> {
    const TOKENS: [&str; 7] = ["ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-"];
    if product(text).is_ok() && !TOKENS.iter().any(|start| text.starts_with(start)) {
        return Ok(());
    }
    Err(Problem::new(
        "this is no id of a secret",
        "write the `id` of docker buildx build --secret id=...; the secret itself never stands in this file",
    ))
}

/// Lines of a `known_hosts` file: hosts, kind of key, key.
pub(super) fn known_hosts(text: &str) -> Result<(), Problem> {
    let is_entry = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words.as_slice() {
            [mark, _, _, _, ..] if mark.starts_with('@') => true,
            [hosts, _, key, ..] => !hosts.starts_with('@') && key.len() >= 32,
            _ => false,
        }
    };
    let mut lines = text
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .peekable();
    if lines.peek().is_some() && lines.all(is_entry) {
        return Ok(());
    }
    Err(Problem::new(
        "these are no lines of a `known_hosts` file",
        "write what `ssh-keyscan HOST` prints, once you have seen that it is right",
    ))
}

/// A name that labels a file's products: `name` and `compiler-cache.scope`.
pub(super) fn product(text: &str) -> Result<(), Problem> {
    let inner = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    if text.starts_with(|c: char| c.is_ascii_alphanumeric()) && text.chars().all(inner) && text.len() <= 100 {
        return Ok(());
    }
    Err(Problem::new(
        format!("`{text}` is not a name"),
        "write at most 100 letters, digits, `.`, `_` and `-`, first a letter or digit",
    ))
}

/// A package of an operating system: a name, for apt with an architecture or version (`libc6:arm64=2.35-0`).
pub(super) fn system_package(text: &str) -> Result<(), Problem> {
    let (name, version) = text
        .split_once('=')
        .map_or((text, None), |(name, version)| (name, Some(version)));
    let (name, architecture) = name
        .split_once(':')
        .map_or((name, None), |(name, arch)| (name, Some(arch)));
    let word = |text: &str, more: &str| {
        text.starts_with(|c: char| c.is_ascii_alphanumeric())
            && text
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || more.contains(c))
    };
    if word(name, "+-._")
        && architecture.is_none_or(|text| word(text, "-"))
        && version.is_none_or(|text| word(text, "+-._:~"))
    {
        return Ok(());
    }
    Err(Problem::new(
        format!("`{text}` is not a package of an operating system"),
        "write one name an item, as apt-get or dnf would take it: \"libgomp1\", \"git=1:2.34.1-1ubuntu1\"",
    ))
}

/// A name of an environment variable that every shell can set.
pub(super) fn variable(text: &str) -> Result<(), Problem> {
    let inner = |c: char| c.is_ascii_alphanumeric() || c == '_';
    if text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') && text.chars().all(inner) {
        return Ok(());
    }
    Err(Problem::new(
        format!("`{text}` is not a name of an environment variable"),
        "names of variables have letters, digits and `_`, and do not start with a digit",
    ))
}

/// A key of a label (Docker's guidelines, without their call for lower case).
pub(super) fn label(text: &str) -> Result<(), Problem> {
    let edge = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric());
    let inner = text
        .chars()
        .all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-' | '/'));
    if inner && edge(text.chars().next()) && edge(text.chars().last()) {
        return Ok(());
    }
    Err(Problem::new(
        format!("`{text}` is not a key of a label"),
        "write letters, digits, `.`, `-`, `_` and `/`, such as \"org.opencontainers.image.vendor\"",
    ))
}

/// Who runs in an image: a name (as `useradd` takes it), a uid, or uid:gid.
pub(super) fn user(text: &str) -> Result<(), Problem> {
    let number = |text: &str| {
        !text.is_empty()
            && text.chars().all(|c| c.is_ascii_digit())
            && text.parse::<u32>().is_ok_and(|id| id < u32::MAX)
    };
    let name = text.len() <= 32
        && text.starts_with(|c: char| c.is_ascii_lowercase() || c == '_')
        && text
            .chars()
            .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '_' | '-'));
    let ids = text
        .split_once(':')
        .map_or_else(|| number(text), |(uid, gid)| number(uid) && number(gid));
    if name || ids {
        return Ok(());
    }
    let help = if text.contains(':') {
        "with a group, both are numbers: \"1000:1000\""
    } else {
        "write a name (lower-case letters, digits, `_`, `-`), a uid such as \"1000\", or \"1000:1000\""
    };
    Err(Problem::new(format!("`{text}` is not a user"), help))
}

/// A port with its protocol, as an image's configuration spells it: `8000/tcp`.
pub(super) fn port(text: &str) -> Result<String, Problem> {
    let (number, protocol) = text.split_once('/').unwrap_or((text, "tcp"));
    let digits = !number.is_empty() && number.chars().all(|c| c.is_ascii_digit());
    match number.parse::<u16>() {
        Ok(port) if digits && port > 0 && matches!(protocol, "tcp" | "udp" | "sctp") => {
            Ok(format!("{port}/{protocol}"))
        }
        _ => Err(Problem::new(
            format!("`{text}` is not a port"),
            "write a number from 1 to 65535, with `/tcp`, `/udp` or `/sctp` after it when it matters: \"8000/tcp\"",
        )),
    }
}

/// A size in bytes: `20MB` (powers of 1000) or `20MiB` (powers of 1024).
pub(super) fn bytes(text: &str) -> Result<u64, Problem> {
    let problem = || {
        Problem::new(
            format!("`{text}` is not a size"),
            "write bytes as a number, or \"20MB\", \"64MiB\", \"1GB\" (a whole number and a unit)",
        )
    };
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let unit: u64 = match text[digits..].trim_start() {
        "B" => 1,
        "kB" | "KB" => 1_000,
        "MB" => 1_000_000,
        "GB" => 1_000_000_000,
        "TB" => 1_000_000_000_000,
        "kiB" | "KiB" => 1 << 10,
        "MiB" => 1 << 20,
        "GiB" => 1 << 30,
        "TiB" => 1 << 40,
        _ => return Err(problem()),
    };
    text[..digits]
        .parse::<u64>()
        .ok()
        .and_then(|number| number.checked_mul(unit))
        .ok_or_else(problem)
}

/// A size in ccache's words: a number and `k`, `M`, `G` or `T`, with `i` for powers of 1024.
pub(super) fn cache_size(text: &str) -> Result<(), Problem> {
    let rest = text.trim_start_matches(|c: char| c.is_ascii_digit());
    let whole = text.len() > rest.len();
    let unit = match rest.strip_prefix('.') {
        Some(fraction) => {
            let unit = fraction.trim_start_matches(|c: char| c.is_ascii_digit());
            if unit.len() == fraction.len() { "" } else { unit }
        }
        None => rest,
    };
    let letters = unit.strip_suffix('i').unwrap_or(unit);
    if whole && matches!(letters, "k" | "K" | "M" | "G" | "T") {
        return Ok(());
    }
    Err(Problem::new(
        format!("`{text}` is not a size of a cache"),
        "write a number and one of k, M, G, T (with `i` for powers of 1024), such as \"10G\"",
    ))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn names_are_normalised() {
        assert_eq!(package("Flash__Attn.x").unwrap(), "flash-attn-x");
        for text in ["", "-a", "a-", "a b", "é"] {
            assert!(package(text).is_err(), "{text}");
        }
    }

    #[test]
    fn requirements_are_names_with_extras() {
        let requirement = requirement("Jax[CUDA12, b_c]").unwrap();
        assert_eq!(requirement.name, "jax");
        assert_eq!(
            requirement.extras.iter().map(String::as_str).collect::<Vec<_>>(),
            ["b-c", "cuda12"]
        );
        assert_eq!(
            package("torch==2.8.0").unwrap_err().help,
            "the lockfile decides versions and sources: write \"torch\""
        );
        for text in ["torch[", "torch[a", "torch[a]]", "torch[a]>=1", "[a]"] {
            assert!(super::requirement(text).is_err(), "{text}");
        }
    }

    #[test]
    fn users_and_ports() {
        for text in ["app", "_x", "1000", "1000:1000", "0"] {
            assert!(user(text).is_ok(), "{text}");
        }
        for text in ["", "App", "app:app", "1000:", ":1", "4294967295", "+1", "a b"] {
            assert!(user(text).is_err(), "{text}");
        }
        assert_eq!(port("8000").unwrap(), "8000/tcp");
        assert_eq!(port("53/udp").unwrap(), "53/udp");
        for text in ["", "0", "65536", "+1", "80/http", "8000-8001"] {
            assert!(port(text).is_err(), "{text}");
        }
    }

    #[test]
    fn sizes() {
        assert_eq!(bytes("20MB").unwrap(), 20_000_000);
        assert_eq!(bytes("2 MiB").unwrap(), 2 << 20);
        for text in [
            "",
            "MB",
            "20",
            "20M",
            "1.5MB",
            "99999999999999999999B",
            "20000000TB",
        ] {
            assert!(bytes(text).is_err(), "{text}");
        }
        for text in ["10G", "1.5Gi", "500M"] {
            assert!(cache_size(text).is_ok(), "{text}");
        }
        for text in ["", "G", "10", "10GB", "1.G", "ten"] {
            assert!(cache_size(text).is_err(), "{text}");
        }
    }

    #[test]
    fn system_packages() {
        for text in [
            "git",
            "libstdc++6",
            "python3.12-dev",
            "libc6:arm64",
            "git=1:2.34.1-1ubuntu1.11",
        ] {
            assert!(system_package(text).is_ok(), "{text}");
        }
        for text in ["", "-y", "git cmake", "git;rm", "$(x)", "git="] {
            assert!(system_package(text).is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn normalising_twice_is_normalising_once(text in ".{0,20}") {
            prop_assert_eq!(normalise(&normalise(&text)), normalise(&text));
        }
    }
}
