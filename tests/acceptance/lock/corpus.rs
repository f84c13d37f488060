//! Real locks, real histories of locks, and uv as the other opinion. The comparisons are tests; their counts are read
//! from what the tests print.

use anyhow::Result;

use crate::Claim;
use crate::cargo::{line, tests};

pub(crate) fn claims() -> Vec<Claim> {
    vec![
        Claim::new("every uv.lock of the corpus parses and answers", |_| {
            counted("lock", "every_lock_of_the_corpus_answers", " locks: ")
        }),
        Claim::new("docs/reference/corpus.md is what the corpus holds", |_| {
            counted("lock", "the_table_of_the_corpus_is_fresh", " locks in the table")
        }),
        Claim::new(
            "every other lock of the corpus answers, or the export of its tool is named",
            |_| counted("lists", "every_other_lock_of_the_corpus", " pylock.toml and "),
        ),
        Claim::new("subsets of uv.lock are those of uv", |_| {
            counted("lock", "subsets_are_those_of_uv", " subsets compared with uv")
        }),
        Claim::new(
            "what uv exports as pylock.toml and requirements.txt is the same subset",
            |_| {
                counted(
                    "lists",
                    "exports_of_uv_are_the_same_subset",
                    " equal in pylock.toml",
                )
            },
        ),
        Claim::new(
            "edits of six histories leave a package untouched as often as an independent count says",
            |_| counted("replay", "edits_that_leave_a_package_alone", "whole projects: "),
        ),
    ]
}

/// Runs one test and returns the line of its output that holds some words: its figures.
fn counted(binary: &str, test: &str, words: &str) -> Result<String> {
    let (said, _) = tests(&["--test", binary, test])?;
    Ok(line(&said, words)?.to_owned())
}
