//! Holds the rooms to docs/architecture.md: who may know whom, and who may touch the world.

#![allow(
    clippy::unwrap_used,
    clippy::format_collect,
    reason = "a test fails by panicking"
)]

use std::fs;
use std::path::{Path, PathBuf};

/// Each room with the rooms it may use. A file named here has its own rule.
const RULES: &[(&str, &[&str])] = &[
    ("diagnostic.rs", &[]),
    ("platform.rs", &[]),
    ("proto", &[]),
    ("rules", &["diagnostic"]),
    ("spec", &["diagnostic", "platform", "rules"]),
    ("lock", &["diagnostic", "platform", "rules"]),
    ("plan", &["diagnostic", "platform", "rules", "spec", "lock"]),
    ("llb/emit", &["diagnostic", "platform", "plan", "llb"]),
    ("llb", &["diagnostic", "platform", "proto"]),
    ("gateway", &["diagnostic", "platform", "rules", "proto", "llb"]),
    (
        "frontend",
        &[
            "diagnostic",
            "platform",
            "rules",
            "proto",
            "spec",
            "lock",
            "plan",
            "llb",
            "gateway",
        ],
    ),
    (
        "cli",
        &["diagnostic", "platform", "rules", "spec", "lock", "plan", "llb"],
    ),
];

/// What only some rooms may do, as words of their sources.
const POWERS: &[(&str, &[&str])] = &[
    ("tonic::", &["gateway", "proto"]),
    ("tokio::", &["gateway", "frontend"]),
    ("std::fs", &["cli"]),
    ("TcpStream", &[]),
    ("UnixStream", &[]),
    ("std::process", &["cli", "gateway"]),
    ("std::env", &["cli", "gateway", "frontend"]),
    ("std::time", &["gateway", "cli"]),
    ("ureq::", &["cli"]),
    ("rustls::", &["cli"]),
    ("SystemTime", &[]),
    ("HashMap", &[]),
    ("HashSet", &[]),
    ("toml::", &["spec", "lock"]),
];

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
    found.sort();
    found
}

/// Sources by path below `src`, with comments and `#[cfg(test)]` modules left out: tests may do what they need.
fn sources() -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    files(&root)
        .into_iter()
        .map(|path| {
            let name = path.strip_prefix(&root).unwrap().to_str().unwrap().to_owned();
            let text = fs::read_to_string(&path).unwrap();
            let text = without_tests(&text);
            let code: Vec<&str> = text
                .lines()
                .filter(|line| !line.trim_start().starts_with("//"))
                .collect();
            (name, code.join("\n"))
        })
        .filter(|(name, _)| !name.ends_with("testing.rs"))
        .collect()
}

/// A source up to its module of tests, which is the last thing in it.
fn without_tests(text: &str) -> &str {
    let end = text.match_indices("#[cfg(test)]\n").find(|(at, mark)| {
        let next = text[at + mark.len()..].lines().next().unwrap_or_default();
        next.contains("mod tests {")
    });
    end.map_or(text, |(at, _)| &text[..at])
}

fn rule(name: &str) -> Option<&'static (&'static str, &'static [&'static str])> {
    RULES
        .iter()
        .find(|(room, _)| name == *room || name.starts_with(&format!("{room}/")))
}

fn room(name: &str) -> &str {
    name.split(['/', '.']).next().unwrap()
}

#[test]
fn imports_go_one_way() {
    let rooms = [
        "cli",
        "diagnostic",
        "frontend",
        "gateway",
        "llb",
        "lock",
        "plan",
        "platform",
        "proto",
        "rules",
        "spec",
    ];
    let mut wrong = Vec::new();
    for (name, code) in sources() {
        let Some((rule, allowed)) = rule(&name) else {
            continue;
        };
        for other in rooms {
            let own = other == room(&name) && !rule.contains('/');
            if code.contains(&format!("crate::{other}")) && !own && !allowed.contains(&other) {
                wrong.push(format!("src/{name} uses `{other}`"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn powers_stay_where_they_belong() {
    let mut wrong = Vec::new();
    for (name, code) in sources() {
        for (power, allowed) in POWERS {
            if code.contains(power) && !allowed.contains(&room(&name)) && name != "main.rs" {
                wrong.push(format!("src/{name} uses `{power}`"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn the_rules_cover_every_room() {
    for (name, _) in sources() {
        assert!(
            rule(&name).is_some() || ["lib.rs", "main.rs"].contains(&name.as_str()),
            "src/{name} has no rule"
        );
    }
}
