//! Cargo's own commands, and what is read from their output.

use std::process::{Command, Output};

use anyhow::{Context as _, Result, ensure};

/// A command of cargo in this repository.
pub(crate) fn cargo(arguments: &[&str]) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command
        .args(arguments)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .env_remove("WHEELBASE_ACCEPTANCE");
    command
}

/// All that a command wrote.
pub(crate) fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

/// The last lines of what a command wrote, for an error.
pub(crate) fn end(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(12)..].join("\n")
}

/// How many tests passed, of all test binaries together.
pub(crate) fn passed(text: &str) -> u32 {
    text.lines()
        .filter_map(|line| {
            line.strip_prefix("test result: ok. ")?
                .split(' ')
                .next()?
                .parse::<u32>()
                .ok()
        })
        .sum()
}

/// Runs the tests that the arguments select and returns what they wrote and how many they were. Nothing is skipped: what
/// a test cannot find fails it.
///
/// # Errors
///
/// When one fails, or when there is none.
pub(crate) fn tests(arguments: &[&str]) -> Result<(String, u32)> {
    let output = cargo(&["test", "--locked", "--quiet"])
        .args(arguments)
        .args(["--", "--nocapture"])
        .env("CI", "true")
        .output()?;
    let text = said(&output);
    ensure!(output.status.success(), "{}", end(&text));
    let passed = passed(&text);
    ensure!(passed > 0, "no test is selected by {}", arguments.join(" "));
    Ok((text, passed))
}

/// The line of a test's output that holds some words: its figures.
///
/// # Errors
///
/// When there is none.
pub(crate) fn line<'a>(text: &'a str, words: &str) -> Result<&'a str> {
    let line = text.lines().find(|line| line.contains(words));
    line.map(str::trim)
        .with_context(|| format!("no line has `{words}`: {}", end(text)))
}

/// Runs benchmarks and returns the lines of the targets that they meet.
///
/// # Errors
///
/// When one falls short, with its line.
pub(crate) fn benches(names: &[&str]) -> Result<String> {
    let mut command = cargo(&["bench", "--locked", "--quiet", "--no-fail-fast"]);
    for name in names {
        command.args(["--bench", name]);
    }
    let output = command.output()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let [good, short] = ["ok ", "short "].map(|word| {
        text.lines()
            .filter_map(|line| line.strip_prefix(word))
            .map(str::trim)
            .collect::<Vec<_>>()
    });
    ensure!(short.is_empty(), "{}", short.join("; "));
    ensure!(
        output.status.success() && !good.is_empty(),
        "{}",
        end(&said(&output))
    );
    Ok(good.join("; "))
}
