//! Locks that are wrong, and what is said of them.

use super::testing::{app, lock, roots, subset, target, wheel};
use super::{Artifact, Lock, SubsetError};
use crate::diagnostic::{Diagnostic, SourceFile};

fn refused(text: &str) -> Vec<String> {
    Lock::parse(&SourceFile::new("uv.lock", text))
        .unwrap_err()
        .iter()
        .map(Diagnostic::one_line)
        .collect()
}
#[test]
fn a_broken_marker_is_reported_where_it_stands() {
    let lock = lock(&format!(
        "{}{}",
        app("dependencies = [{ name = \"a\", marker = \"sys_platfrom == 'linux'\" }]"),
        wheel("a", "1.0", "")
    ));
    let SubsetError::Malformed { what, location } = &lock.subset(&roots("app"), &target()).unwrap_err()[0]
    else {
        panic!()
    };
    assert!(what.contains("sys_platfrom"));
    assert_eq!(
        &location.file.text[location.range.clone()],
        "\"sys_platfrom == 'linux'\""
    );
    assert!(lock.subset(&roots("a"), &target()).is_ok());
}

#[test]
fn every_fault_is_reported_at_its_line() {
    assert_eq!(
        refused("version = 2\n"),
        ["uv.lock:1:11: only version 1 of uv.lock can be read"]
    );
    assert!(refused("")[0].contains("no uv.lock"));
    assert!(refused("version = 1\n[[package]\n")[0].starts_with("uv.lock:2:"));
    let found = refused(
        "version = 1\nrequires-python = \"x\"\n[[package]]\nname = \"a b\"\nversion = 1\nsource = {}\n\
         [[package]]\nname = \"c\"\n",
    );
    assert_eq!(found.len(), 5, "{found:#?}");
    assert!(found[1].starts_with("uv.lock:4:8:"), "{found:#?}");
    let found = refused(&format!(
        "version = 1\n{}{}{}",
        app("dependencies = [{ name = \"gone\" }, { name = \"a\" }]"),
        wheel("a", "1.0", ""),
        wheel("a", "1.0", "")
    ));
    assert_eq!(found.len(), 3, "{found:#?}");
    let git = |url: &str| {
        refused(&format!(
            "version = 1\n[[package]]\nname = \"g\"\nsource = {{ git = \"{url}\" }}\n"
        ))
    };
    assert!(git("https://git.example/g?rev=main")[0].contains("40 hex digits"));
    let (_, warnings) = Lock::parse(&SourceFile::new("uv.lock", "version = 1\nrevision = 9\n")).unwrap();
    assert!(warnings[0].one_line().starts_with("uv.lock:2:12: revision 9"));
}

#[test]
fn passwords_are_refused_and_never_shown() {
    for url in [
        "https://user:hunter2@index.example/simple",
        "https://hunter2@index.example/simple",
        "https://u:hunter2\\u0040index.example/",
    ] {
        let text = wheel("a", "1.0", "").replace("https://index.example/simple", url);
        let file = SourceFile::new(
            "uv.lock",
            format!("version = 1\nbroken = \n{text}").replace("broken = \n", ""),
        );
        let errors = Lock::parse(&file).unwrap_err();
        assert_eq!(errors.len(), 1);
        let drawn = errors[0].render(false);
        assert!(
            drawn.contains("credentials") && drawn.contains("uv.lock:5:"),
            "{drawn}"
        );
        assert!(
            !drawn.contains("hunter2") && !format!("{errors:?}").contains("hunter2"),
            "{drawn}"
        );
    }
    let named = "version = 1\n[[package]]\nname = \"https://u:hunter2@index.example\"\nsource = { virtual = \".\" }\n";
    assert!(refused(named).iter().all(|line| !line.contains("hunter2")));
    let login = "[[package]]\nname = \"g\"\nversion = \"1\"\nsource = { git = \"ssh://git@git.example/g?rev=main#0123456789abcdef0123456789abcdef01234567\" }\n";
    let lock = lock(login);
    assert!(
        matches!(&subset(&lock, "g").packages[0].artifact, Artifact::Git { url, .. } if url == "ssh://git@git.example/g")
    );
}
