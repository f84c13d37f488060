//! The texts that run inside build steps.
//!
//! They are part of every user's cache keys: a changed byte rebuilds the world. So they are small POSIX sh (and
//! a little Python, which every tier has by then), they stand in this one folder, and comments and indentation
//! are taken out before they are used, so that explaining them better rebuilds nothing. A golden test holds
//! their digests; changing one is a "key break" and stands in the CHANGELOG.

/// A step's text with comment lines, blank lines and (for sh) indentation removed.
fn shell(text: &str) -> String {
    strip(text, true)
}

/// As [`shell`], with indentation kept.
fn python(text: &str) -> String {
    strip(text, false)
}

fn strip(text: &str, dedent: bool) -> String {
    text.lines()
        .filter(|line| {
            let line = line.trim_start();
            !line.is_empty() && (!line.starts_with('#') || line.starts_with("#!"))
        })
        .map(|line| if dedent { line.trim() } else { line.trim_end() })
        .collect::<Vec<_>>()
        .join("\n")
}

/// Operating system packages, interpreter and user of a tier.
pub fn system() -> String {
    shell(include_str!("steps/system.sh"))
}

/// The empty virtual environment.
pub fn venv() -> String {
    shell(include_str!("steps/venv.sh"))
}

/// Install from mounted wheel files, without network.
pub fn install() -> String {
    shell(include_str!("steps/install.sh"))
}

/// Install from an index by hash.
pub fn index() -> String {
    shell(include_str!("steps/index.sh"))
}

/// Compile a kernel wheel.
pub fn compile() -> String {
    shell(include_str!("steps/compile.sh"))
}

/// Python: counts what the compiler cache did.
pub fn count() -> String {
    python(include_str!("steps/count.py"))
}

/// Python: runs a build command in one of the builder's slots.
pub fn run() -> String {
    python(include_str!("steps/run.py"))
}

/// The build command of an isolated compile.
pub fn isolated() -> String {
    shell(include_str!("steps/isolated.sh"))
}

/// Python: unpacks and patches a source.
pub fn source() -> String {
    python(include_str!("steps/source.py"))
}

/// Python: lists the libraries that wheels need.
pub fn needed() -> String {
    python(include_str!("steps/needed.py"))
}

/// Python: imports modules.
pub fn imports() -> String {
    python(include_str!("steps/imports.py"))
}

/// Build the wheel of a workspace member.
pub fn project() -> String {
    shell(include_str!("steps/project.sh"))
}

/// Python: fixes times below a folder and lists it.
pub fn settle() -> String {
    python(include_str!("steps/settle.py"))
}

/// Python: lists a mounted filesystem.
pub fn list() -> String {
    python(include_str!("steps/list.py"))
}

/// Python: takes a program out of a wheel or a tar archive.
pub fn unpack() -> String {
    python(include_str!("steps/unpack.py"))
}

/// Every text by name, for golden tests and `plan`'s own digest of them.
pub fn all() -> [(&'static str, String); 15] {
    [
        ("compile", compile()),
        ("count", count()),
        ("imports", imports()),
        ("index", index()),
        ("install", install()),
        ("isolated", isolated()),
        ("list", list()),
        ("needed", needed()),
        ("project", project()),
        ("run", run()),
        ("settle", settle()),
        ("source", source()),
        ("system", system()),
        ("unpack", unpack()),
        ("venv", venv()),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_are_not_part_of_a_step() {
        for (name, text) in all() {
            assert!(
                !text.lines().any(|line| line.trim_start().starts_with("# ")),
                "{name}"
            );
            assert!(!text.is_empty(), "{name}");
        }
        assert_eq!(strip("# why\na\n\n  b # kept\n", true), "a\nb # kept");
    }

    #[test]
    fn shell_steps_parse() {
        for (name, text) in all() {
            if [
                "count", "imports", "settle", "source", "list", "needed", "run", "unpack",
            ]
            .contains(&name)
            {
                continue;
            }
            let status = std::process::Command::new("sh")
                .args(["-n", "-c", &text])
                .status()
                .unwrap();
            assert!(status.success(), "{name}");
        }
    }
}
