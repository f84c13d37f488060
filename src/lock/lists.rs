//! Files that list packages: what tests of both formats ask them, and what holds for both.

mod pylock;
mod requirements;

use proptest::prelude::*;

use super::testing::target;
use super::{Lock, Roots};
use crate::diagnostic::{Diagnostic, SourceFile};

const ONE: &str = "1111111111111111111111111111111111111111111111111111111111111111";

fn read(name: &str, text: &str) -> Result<(Lock, Vec<Diagnostic>), Vec<String>> {
    let drawn = |errors: Vec<Diagnostic>| errors.iter().map(Diagnostic::one_line).collect();
    Lock::parse(&SourceFile::new(name, text)).map_err(drawn)
}

/// Everything, with extras (`x`) and groups (`:g`).
fn all(words: &str) -> Roots {
    let mut roots = Roots {
        everything: true,
        ..Roots::default()
    };
    for word in words.split_whitespace() {
        match word.strip_prefix(':') {
            Some(group) => roots.groups.insert(group.to_owned()),
            None => roots.extras.insert(word.to_owned()),
        };
    }
    roots
}

fn names(lock: &Lock, roots: &Roots) -> Vec<String> {
    let subset = lock.subset(roots, &target()).unwrap();
    subset
        .packages
        .iter()
        .map(|locked| locked.name.to_string())
        .collect()
}

#[test]
fn passwords_are_never_shown() {
    for text in [
        format!("--index-url https://user:hunter2@index.example/simple\na==1 --hash=sha256:{ONE}\n"),
        "--extra-index-url https://hunter2@index.example/\nb>=1\n".to_owned(),
        "a @ git+https://hunter2@git.example/a@main\n".to_owned(),
        "git+https://u:hunter2@git.example/a\n".to_owned(),
    ] {
        let errors = Lock::parse(&SourceFile::new("requirements.txt", text)).unwrap_err();
        assert!(errors.iter().any(|error| error.message.contains("credentials")));
        for error in errors {
            assert!(!error.render(false).contains("hunter2") && !error.message.contains("hunter2"));
        }
    }
    for line in [
        "index = \"https://u:hunter2@index.example/simple\"",
        "archive = { url = \"https://hunter2@files.example/a-1.0.tar.gz\" }",
        "vcs = { type = \"git\", url = \"https://u:hunter2\\u0040git.example/a\" }",
    ] {
        let text = format!("lock-version = \"1.0\"\n[[packages]]\nname = \"a\"\n{line}\n");
        let errors = Lock::parse(&SourceFile::new("pylock.toml", text)).unwrap_err();
        assert!(errors.iter().any(|error| error.message.contains("credentials")));
        for error in errors {
            assert!(!error.render(false).contains("hunter2") && !error.message.contains("hunter2"));
        }
    }
}

proptest! {
    #[test]
    fn no_text_makes_it_panic(text in any::<String>(), name in "(pylock\\.toml|requirements\\.txt|x|x\\.lock)") {
        drop(Lock::parse(&SourceFile::new(name, text)));
    }
}
