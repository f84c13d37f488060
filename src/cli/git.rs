//! Reads old versions of files from a git repository, by running git.

use std::ffi::OsStr;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use anyhow::{Context as _, anyhow, bail};

/// A folder inside a repository. Paths are relative to the folder.
#[derive(Debug, Clone)]
pub(super) struct Repository {
    folder: PathBuf,
    /// The repository's own folder.
    top: PathBuf,
}

/// A commit that changed a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Commit {
    /// 40 hex digits, or 64 in a repository of SHA-256.
    pub(super) id: String,
    /// The day of the commit, `2026-03-02`.
    pub(super) date: String,
    /// The first line of the message.
    pub(super) subject: String,
}

impl Commit {
    /// The first ten digits.
    pub(super) fn short(&self) -> &str {
        self.id.get(..10).unwrap_or(&self.id)
    }
}

impl Repository {
    /// The repository that holds a folder.
    pub(super) fn of(folder: &Path) -> anyhow::Result<Self> {
        let folder = if folder.as_os_str().is_empty() {
            Path::new(".")
        } else {
            folder
        };
        let shown = folder.display();
        if !folder.is_dir() {
            bail!("{shown} is no folder");
        }
        let output = git(folder, ["rev-parse", "--show-toplevel"])?;
        if !output.status.success() {
            let said = said(&output);
            // git's own words are kept: it also says so of a repository that belongs to somebody else.
            bail!("{shown} is in no git repository that can be read: {said}");
        }
        Ok(Self {
            folder: folder.to_owned(),
            top: PathBuf::from(text(output)?.trim_end_matches('\n')),
        })
    }

    /// The same repository seen from another folder, which must be inside it.
    pub(super) fn from(&self, folder: &Path) -> anyhow::Result<Self> {
        let other = Self::of(folder)?;
        if other.top != self.top {
            bail!(
                "{} is in the repository {}, and the spec in {}",
                folder.display(),
                other.top.display(),
                self.top.display()
            );
        }
        Ok(other)
    }

    /// The id of the commit that a revision names.
    pub(super) fn commit(&self, revision: &str) -> anyhow::Result<String> {
        let unknown = || anyhow!("git knows no revision `{revision}` in {}", self.top.display());
        if revision.is_empty() || revision.starts_with('-') {
            return Err(unknown());
        }
        let name = format!("{revision}^{{commit}}");
        let output = git(&self.folder, ["rev-parse", "--quiet", "--verify", &name])?;
        if !output.status.success() {
            return Err(unknown());
        }
        Ok(text(output)?.trim().to_owned())
    }

    /// A text file as a commit has it; `None` when it has none.
    pub(super) fn read(&self, commit: &str, path: &str) -> anyhow::Result<Option<String>> {
        let listed = self.run(["ls-tree", "-z", commit, "--", path])?;
        // `100644 blob <id>\t<path>`
        let Some((head, _)) = listed.split_once('\t') else {
            return Ok(None);
        };
        let words: Vec<&str> = head.split(' ').collect();
        match words.as_slice() {
            ["120000", ..] => bail!("{path} is a link in {commit}: its target is not followed there"),
            [_, "blob", id] => self.run(["cat-file", "blob", id]).map(Some),
            _ => bail!("{path} is no file in {commit}"),
        }
    }

    /// The commits of the main line that changed a file, newest first.
    ///
    /// A branch that was merged counts as one change: what its commits had in between was never on the main line.
    pub(super) fn history(&self, path: &str, most: Option<usize>) -> anyhow::Result<Vec<Commit>> {
        let mut arguments = vec![
            "log".to_owned(),
            "--first-parent".to_owned(),
            "--format=%H%x09%cs%x09%s".to_owned(),
        ];
        arguments.extend(most.map(|most| format!("--max-count={most}")));
        arguments.extend(["--".to_owned(), path.to_owned()]);
        let log = self.run(&arguments)?;
        Ok(log
            .lines()
            .filter_map(|line| {
                let mut parts = line.splitn(3, '\t');
                Some(Commit {
                    id: parts.next()?.to_owned(),
                    date: parts.next()?.to_owned(),
                    subject: parts.next()?.to_owned(),
                })
            })
            .collect())
    }

    /// Whether older commits were left out when it was cloned.
    pub(super) fn is_shallow(&self) -> anyhow::Result<bool> {
        Ok(self.run(["rev-parse", "--is-shallow-repository"])?.trim() == "true")
    }

    fn run<A: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = A>) -> anyhow::Result<String> {
        let output = git(&self.folder, arguments)?;
        if !output.status.success() {
            bail!("git failed: {}", said(&output));
        }
        text(output)
    }
}

fn git<A: AsRef<OsStr>>(folder: &Path, arguments: impl IntoIterator<Item = A>) -> anyhow::Result<Output> {
    let output = Command::new("git")
        .arg("-C")
        .arg(folder)
        .arg("--no-pager")
        .args(arguments)
        // Its words are shown, and are looked for by nobody.
        .env("LC_ALL", "C")
        .output();
    match output {
        Err(error) if error.kind() == ErrorKind::NotFound => bail!("this needs git, which is not on PATH"),
        output => output.context("failed to run git"),
    }
}

fn text(output: Output) -> anyhow::Result<String> {
    String::from_utf8(output.stdout).map_err(|_| anyhow!("git gave a file that is no UTF-8 text"))
}

/// What git said, in one line.
fn said(output: &Output) -> String {
    let said = String::from_utf8_lossy(&output.stderr);
    let line = said.lines().next().unwrap_or("it said nothing");
    line.strip_prefix("fatal: ").unwrap_or(line).to_owned()
}
