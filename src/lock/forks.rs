//! Packages that a lock has more than once: for environments that differ, and for extras that exclude each other.
//!
//! Which one an image takes is the answer that is easiest to get wrong, and the wrong torch still installs.

use super::testing::{app, errors, lock, name, parse, pins, roots, subset, target, wheel};
use super::{Lock, SubsetError, Target};
use crate::platform::Platform;

#[test]
fn forks_are_told_apart_by_their_edges() {
    let arm = "resolution-markers = [\"platform_machine == 'aarch64'\"]";
    let other = "resolution-markers = [\"platform_machine != 'aarch64'\"]";
    let text = format!(
        "{}{}{}",
        app(
            "dependencies = [{ name = \"t\", version = \"1.0\", source = { registry = \"https://index.example/simple\" }, marker = \"platform_machine == 'aarch64'\" }, \
             { name = \"t\", version = \"2.0\", source = { registry = \"https://index.example/simple\" }, marker = \"platform_machine != 'aarch64'\" }]"
        ),
        wheel("t", "1.0", arm),
        wheel("t", "2.0", other),
    );
    let lock = lock(&text);
    assert_eq!(pins(&subset(&lock, "app")), ["app", "t==2.0"]);
    // Asked for by name, the fork of the resolution decides.
    assert_eq!(pins(&subset(&lock, "t")), ["t==2.0"]);
    let on_arm = Target {
        platform: Platform::linux_arm64(),
        ..target()
    };
    assert_eq!(pins(&lock.subset(&roots("t"), &on_arm).unwrap()), ["t==1.0"]);

    let both = parse(&format!(
        "version = 1\n{}",
        text.replace(arm, "").replace(other, "")
    ));
    assert!(errors(&both, "t")[0].contains("more than once: 1.0"));
    assert_eq!(pins(&subset(&both, "t app")), ["app", "t==2.0"]);
    assert!(matches!(
        both.sdist(&name("t"), None),
        Err(SubsetError::Forked { .. })
    ));
    let at_once = parse(&format!(
        "version = 1\n{}",
        text.replace("!= 'aarch64'\" }", "== 'x86_64'\" }")
            .replace("marker = \"platform_machine == 'aarch64'\"", "extra = []")
    ));
    assert!(errors(&at_once, "app")[0].contains("more than once"));
}

/// The shape of a project with `cpu` and `cu128` extras that each bring their own torch.
fn conflicting() -> Lock {
    let source = "source = { registry = \"https://index.example/simple\" }";
    let torch = |marker: &str| {
        format!(
            "{{ name = \"torch\", version = \"2.0+cpu\", {source}, marker = \"extra == 'extra-3-app-cpu'{marker}\" }}, \
             {{ name = \"torch\", version = \"2.0+cu128\", {source}, marker = \"extra == 'extra-3-app-cu128'{marker}\" }}"
        )
    };
    parse(&format!(
        "version = 1\nconflicts = [[\n {{ package = \"app\", extra = \"cpu\" }},\n {{ package = \"app\", extra = \"cu128\" }},\n],\n\
         [{{ package = \"app\", group = \"g\" }}, {{ package = \"app\", extra = \"cpu\" }}]]\n{}{}{}{}{}",
        app(&format!(
            "dependencies = [{{ name = \"vision\" }}]\n[package.optional-dependencies]\n\
             cpu = [{}]\ncu128 = [{}]\nboth = [{{ name = \"app\", extra = [\"cpu\", \"cu128\"] }}]\n\
             [package.dev-dependencies]\ng = [{{ name = \"lone\" }}]",
            torch(""),
            torch("")
        )),
        wheel("lone", "1.0", ""),
        wheel("torch", "2.0+cpu", ""),
        wheel("torch", "2.0+cu128", ""),
        wheel("vision", "1.0", &format!("dependencies = [{}]", torch(""))),
    ))
}

#[test]
fn conflicting_extras_choose_their_fork() {
    let lock = conflicting();
    assert_eq!(pins(&subset(&lock, "app")), ["app", "vision==1.0"]);
    assert_eq!(
        pins(&subset(&lock, "app[cpu]")),
        ["app", "torch==2.0+cpu", "vision==1.0"]
    );
    let gpu = subset(&lock, "app[cu128]");
    assert_eq!(pins(&gpu), ["app", "torch==2.0+cu128", "vision==1.0"]);
    for asked in ["app[cpu,cu128]", "app[both]"] {
        assert_eq!(
            errors(&lock, asked),
            ["`app[cpu]` and `app[cu128]` cannot be installed together"],
            "{asked}"
        );
    }
    assert_eq!(errors(&lock, "app[cpu] :g").len(), 1);
    assert_eq!(pins(&subset(&lock, "app[cu128] :g")).len(), 4);
    assert_eq!(lock.conflicts().next().unwrap(), ["app[cpu]", "app[cu128]"]);

    // What a kernel wheel needs is what the image ships.
    let needs = lock
        .subset_within(&roots("vision"), &roots("app[cu128]"), &target())
        .unwrap();
    assert_eq!(pins(&needs), ["torch==2.0+cu128", "vision==1.0"]);
    let needs = lock
        .subset_within(&roots("torch lone"), &roots("app[cpu]"), &target())
        .unwrap();
    assert_eq!(pins(&needs), ["lone==1.0", "torch==2.0+cpu"]);
    assert!(errors(&lock, "torch")[0].contains("more than once"));
    assert!(
        lock.sdist(&name("torch"), Some(&gpu))
            .unwrap_err()
            .message()
            .contains("2.0+cu128")
    );
}
