//! Small locks, one for each thing that a lock can say.

use std::collections::BTreeSet;

use super::testing::{app, errors, lock, name, parse, pins, roots, subset, target, wheel};
use super::*;
use crate::platform::Platform;

#[test]
fn markers_decide_which_edges_are_taken() {
    let lock = lock(&format!(
        "{}{}{}{}",
        app(
            "dependencies = [{ name = \"a\" }, { name = \"w\", marker = \"sys_platform == 'win32'\" }, \
             { name = \"o\", marker = \"python_full_version < '3.12'\" }]"
        ),
        wheel("a", "1.0", ""),
        wheel("o", "1.0", ""),
        wheel("w", "1.0", ""),
    ));
    assert_eq!(pins(&subset(&lock, "app")), ["a==1.0", "app"]);
    let old = Target {
        python: PythonVersion::new(3, 11),
        ..target()
    };
    assert_eq!(
        pins(&lock.subset(&roots("app"), &old).unwrap()),
        ["a==1.0", "app", "o==1.0"]
    );
}

#[test]
fn extras_and_groups_are_taken_when_asked_for() {
    let lock = lock(&format!(
        "{}{}{}{}{}",
        app("dependencies = [{ name = \"a\", extra = [\"y\"] }]\n\
             [package.optional-dependencies]\nall = [{ name = \"app\", extra = [\"x\"] }]\nx = [{ name = \"b\" }]\n\
             [package.dev-dependencies]\ndev = [{ name = \"d\" }]\n\
             [package.metadata]\nprovides-extras = [\"all\", \"x\", \"bare\"]\n[package.metadata.requires-dev]\nnone = []"),
        wheel(
            "a",
            "1.0",
            "[package.optional-dependencies]\ny = [{ name = \"c\" }]\n"
        )
        .replace(
            "[package.optional-dependencies]\ny = [{ name = \"c\" }]\n",
            "optional-dependencies = { y = [{ name = \"c\" }] }"
        ),
        wheel("b", "1.0", ""),
        wheel("c", "1.0", ""),
        wheel("d", "1.0", ""),
    ));
    assert_eq!(pins(&subset(&lock, "app")), ["a==1.0", "app", "c==1.0"]);
    assert_eq!(
        pins(&subset(&lock, "app[x]")),
        ["a==1.0", "app", "b==1.0", "c==1.0"]
    );
    let all = subset(&lock, "app[all]");
    assert_eq!(pins(&all), ["a==1.0", "app", "b==1.0", "c==1.0"]);
    assert_eq!(
        all.get(&name("app")).unwrap().extras,
        ["all", "x"].map(str::to_owned).into()
    );
    assert_eq!(
        pins(&subset(&lock, "app:dev")),
        ["a==1.0", "app", "c==1.0", "d==1.0"]
    );
    assert_eq!(
        pins(&subset(&lock, "app[bare] :none")),
        ["a==1.0", "app", "c==1.0"]
    );
    // An extra for all roots is that of each root that has it.
    let shared = Roots {
        extras: ["y".to_owned()].into(),
        ..roots("app a")
    };
    assert_eq!(
        pins(&lock.subset(&shared, &target()).unwrap()),
        ["a==1.0", "app", "c==1.0"]
    );
    assert_eq!(
        errors(&lock, "app[xx,y]"),
        [
            "`app` has no extra `xx` in the lock",
            "`app` has no extra `y` in the lock"
        ]
    );
    assert_eq!(
        errors(&lock, "app:devv"),
        ["no root has a dependency group `devv`"]
    );
    let unknown = lock
        .subset(
            &Roots {
                extras: ["ally".to_owned()].into(),
                ..roots("app")
            },
            &target(),
        )
        .unwrap_err();
    assert_eq!(unknown[0].help().as_deref(), Some("did you mean `all`?"));
    assert_eq!(errors(&lock, "ap b"), ["the lock has no package `ap`"]);
}

#[test]
fn a_project_may_overrule_metadata() {
    let lock = lock(
        "[manifest]\noverrides = [{ name = \"Torch\", specifier = \"==2.7.0\" }]\nexcludes = [\"apex\"]\n\
         [[manifest.dependency-metadata]]\nname = \"flash-attn\"\nversion = \"2.8\"\nrequires-dist = [\"torch\"]\n",
    );
    let decides = |package, requirement| lock.overrides().decide(package, requirement);
    assert!(decides("xformers", "torch") && decides("xformers", "apex") && decides("flash-attn", "einops"));
    assert!(!decides("xformers", "numpy"));
}

#[test]
fn a_member_takes_the_groups_of_the_workspace_root() {
    let lock = parse(&format!(
        "version = 1\n[manifest]\nmembers = [\"app\", \"lib\"]\n[manifest.dependency-groups]\n\
         lint = [{{ name = \"b\" }}, {{ name = \"a\", marker = \"sys_platform == 'win32'\" }}]\n{}{}{}{}",
        app("[package.dev-dependencies]\ndev = [{ name = \"a\" }]\nown = [{ name = \"a\" }]"),
        "[[package]]\nname = \"lib\"\nsource = { virtual = \"lib\" }\n[package.dev-dependencies]\nown = [{ name = \"b\" }]\n",
        wheel("a", "1.0", ""),
        wheel("b", "1.0", ""),
    ));
    assert_eq!(
        lock.members()
            .map(|member| member.name().as_str())
            .collect::<Vec<_>>(),
        ["app", "lib"]
    );
    assert_eq!(pins(&subset(&lock, "lib:dev")), ["a==1.0", "lib"]);
    assert_eq!(pins(&subset(&lock, "lib:own")), ["b==1.0", "lib"]);
    assert_eq!(pins(&subset(&lock, "lib:lint")), ["b==1.0", "lib"]);
    assert_eq!(pins(&subset(&lock, "app lib:lint")), ["app", "b==1.0", "lib"]);
    assert_eq!(
        subset(&lock, "lib:dev").get(&name("a")).unwrap().path,
        [name("app"), name("a")]
    );
}

#[test]
fn every_kind_of_source_has_its_artifact() {
    let commit = "0123456789abcdef0123456789ABCDEF01234567";
    let lock = lock(&format!(
        "{}[[package]]\nname = \"g\"\nversion = \"1.0\"\nsource = {{ git = \"https://git.example/g?subdirectory=py%2Fg&rev=v1#{commit}\" }}\n\
         [[package]]\nname = \"u\"\nversion = \"2.0\"\nsource = {{ url = \"https://index.example/u-2.0%2Bcu1-py3-none-any.whl\" }}\n\
         wheels = [{{ url = \"https://index.example/u-2.0%2Bcu1-py3-none-any.whl\", hash = \"sha256:aa\" }}]\n\
         [[package]]\nname = \"z\"\nversion = \"2.0\"\nsource = {{ url = \"https://index.example/z-2.0.tar.gz\", subdirectory = \"z\" }}\n\
         sdist = {{ hash = \"sha256:bb\" }}\n\
         [[package]]\nname = \"p\"\nversion = \"3.0\"\nsource = {{ path = \"wheels/p-3.0-py3-none-any.whl\" }}\n\
         wheels = [{{ filename = \"p-3.0-py3-none-any.whl\", hash = \"sha256:cc\" }}]\n\
         [[package]]\nname = \"d\"\nversion = \"1\"\nsource = {{ directory = \"libs/d\" }}\n\
         [[package]]\nname = \"v\"\nsource = {{ virtual = \"v\" }}\ndependencies = [{{ name = \"f\" }}]\n\
         [[package]]\nname = \"f\"\nversion = \"1\"\nsource = {{ registry = \"wheels\" }}\nwheels = [{{ path = \"f-1-py3-none-any.whl\" }}]\n\
         [[package]]\nname = \"s\"\nversion = \"1\"\nsource = {{ registry = \"https://index.example/simple\" }}\n\
         sdist = {{ url = \"../files/s-1.tar.gz\", hash = \"sha256:dd\", size = 5 }}\n",
        app(
            "dependencies = [{ name = \"d\" }, { name = \"g\" }, { name = \"p\" }, { name = \"s\" }, { name = \"u\" }, { name = \"v\" }, { name = \"z\" }]"
        ),
    ));
    let subset = subset(&lock, "app");
    let lines: Vec<String> = subset.key_lines().collect();
    assert_eq!(
        lines,
        [
            "app tree . editable",
            "d tree libs/d",
            "f==1 file f-1-py3-none-any.whl",
            "g==1.0 git 0123456789abcdef0123456789abcdef01234567 subdirectory=py/g",
            "p==3.0 sha256:cc",
            "s==1 sdist sha256:dd",
            "u==2.0 sha256:aa",
            "z==2.0 sdist sha256:bb subdirectory=z",
        ]
    );
    let artifact = |text: &str| subset.get(&name(text)).unwrap().artifact.clone();
    assert_eq!(artifact("v"), Artifact::Nothing);
    assert!(
        matches!(artifact("u"), Artifact::Wheel { filename, pure: true, .. } if filename == "u-2.0+cu1-py3-none-any.whl")
    );
    assert!(
        matches!(artifact("f"), Artifact::Wheel { path: Some(path), sha256: None, .. } if path == "wheels/f-1-py3-none-any.whl")
    );
    assert!(
        matches!(artifact("p"), Artifact::Wheel { path: Some(path), url: None, .. } if path == "wheels/p-3.0-py3-none-any.whl")
    );
    assert!(
        matches!(artifact("s"), Artifact::Sdist { url: Some(url), size: Some(5), .. } if url == "https://index.example/files/s-1.tar.gz")
    );
    assert!(
        matches!(artifact("z"), Artifact::Sdist { url: Some(url), .. } if url == "https://index.example/z-2.0.tar.gz")
    );
    assert!(matches!(artifact("g"), Artifact::Git { url, .. } if url == "https://git.example/g"));
    assert!(matches!(
        lock.sdist(&name("g"), None).unwrap().artifact,
        Artifact::Git { .. }
    ));
    assert!(matches!(
        lock.sdist(&name("s"), None).unwrap().artifact,
        Artifact::Sdist { .. }
    ));
    assert!(
        lock.sdist(&name("u"), None)
            .unwrap_err()
            .message()
            .contains("no source distribution")
    );
    assert!(matches!(
        lock.sdist(&name("nope"), None),
        Err(SubsetError::UnknownPackage { .. })
    ));
}

#[test]
fn paths_are_shortest_and_then_first() {
    let lock = lock(&format!(
        "{}{}{}{}{}",
        app("dependencies = [{ name = \"b\" }, { name = \"c\" }]"),
        wheel("b", "1.0", "dependencies = [{ name = \"d\", extra = [\"x\"] }]"),
        wheel(
            "c",
            "1.0",
            "dependencies = [{ name = \"d\" }, { name = \"app\" }]"
        ),
        wheel(
            "d",
            "1.0",
            "dependencies = [{ name = \"b\" }]\noptional-dependencies = { x = [{ name = \"e\" }] }"
        ),
        wheel("e", "1.0", ""),
    ));
    let subset = subset(&lock, "app");
    let path = |text: &str| {
        subset
            .get(&name(text))
            .unwrap()
            .path
            .iter()
            .map(PackageName::as_str)
            .collect::<Vec<_>>()
    };
    assert_eq!(path("app"), ["app"]);
    assert_eq!(path("d"), ["app", "b", "d"]);
    assert_eq!(path("e"), ["app", "b", "d", "e"]);
    let d = subset.get(&name("d")).unwrap();
    assert_eq!(d.requires, [name("b"), name("e")].into());
    let rest = subset.without(&[name("d"), name("nothing")].into());
    assert_eq!(pins(&rest), ["app", "b==1.0", "c==1.0", "e==1.0"]);
    let edges: Vec<_> = lock
        .dependencies(lock.find(&name("c")).next().unwrap())
        .map(|(_, to)| to.name().as_str())
        .collect();
    assert_eq!(edges, ["d", "app"]);
}

#[test]
fn says_why_nothing_fits() {
    let lock = lock(&format!(
        "{}{}{}",
        app("dependencies = [{ name = \"a\" }, { name = \"b\" }]"),
        wheel("a", "1.0", "").replace("py3-none-any", "cp312-cp312-manylinux_2_39_x86_64"),
        wheel("b", "1.0", "").replace("py3-none-any", "cp312-cp312-win_amd64"),
    ));
    let found = lock.subset(&roots("app"), &target()).unwrap_err();
    assert_eq!(found.len(), 2);
    assert_eq!(
        found[0].message(),
        "nothing of `a==1.0` can be installed here: its wheels need glibc 2.39 or newer where the image has 2.35, and \
         there is no source distribution"
    );
    let help = found[1].help().unwrap();
    assert!(
        help.contains(
            "the lock has cp312-cp312-win_amd64; this target takes cp312-cp312-manylinux_2_35_x86_64"
        )
    );
    assert!(help.ends_with("required by way of app -> b"), "{help}");
}

#[test]
fn the_target_must_be_covered() {
    let lock = parse(&format!(
        "version = 1\nrequires-python = \">=3.11.4, <3.13\"\nsupported-markers = [\"platform_machine == 'x86_64'\"]\n{}",
        app("dependencies = [{ name = \"a\", marker = \"python_full_version >= '3.11.4'\" }]")
            + &wheel("a", "1", "")
    ));
    assert_eq!(lock.requires_python(), Some(">=3.11.4, <3.13"));
    let with = |minor, patch| Target {
        python: PythonVersion {
            major: 3,
            minor,
            patch,
        },
        ..target()
    };
    // An unknown patch level is the lowest that the lock admits.
    assert_eq!(
        lock.subset(&roots("app"), &with(11, None))
            .unwrap()
            .packages
            .len(),
        2
    );
    assert!(matches!(
        lock.subset(&roots("app"), &with(11, Some(3))).unwrap_err()[0],
        SubsetError::PythonMismatch { .. }
    ));
    assert!(matches!(
        lock.subset(&roots("app"), &with(13, None)).unwrap_err()[0],
        SubsetError::PythonMismatch { .. }
    ));
    let on_arm = Target {
        platform: Platform::linux_arm64(),
        ..target()
    };
    assert!(matches!(
        lock.subset(&roots("app"), &on_arm).unwrap_err()[0],
        SubsetError::Environment { .. }
    ));
    let windows = Target {
        platform: Platform::new("windows", "amd64", ""),
        ..target()
    };
    assert!(matches!(
        lock.subset(&roots("app"), &windows).unwrap_err()[0],
        SubsetError::Environment { .. }
    ));
}

#[test]
fn what_changes_no_installed_byte_is_in_no_key() {
    let text = format!(
        "version = 1\n{}{}",
        app("dependencies = [{ name = \"a\" }]"),
        wheel("a", "1.0", "")
    );
    let moved = text
        .replace("0.1.0", "0.2.0")
        .replace("files.index.example/", "mirror.index.example/x/")
        .replace("size = 1000", "size = 1001")
        .replace("2025-01-01", "2026-01-01")
        .replace("version = 1\n", "version = 1 # comment\nrevision = 2\n");
    let lines = |text: &str| subset(&parse(text), "app").key_lines().collect::<Vec<_>>();
    assert_eq!(lines(&text), lines(&moved));
    assert_ne!(lines(&text), lines(&text.replace("sha256:61", "sha256:62")));
}

#[test]
fn names_of_members_are_unique_and_sorted() {
    let lock = lock(&(app("") + &wheel("a", "1.0", "")));
    let members: BTreeSet<_> = lock.members().map(Package::name).collect();
    assert_eq!(members, [&name("app")].into());
    assert_eq!(lock.packages().len(), 2);
}

#[test]
fn everything_of_a_workspace_is_its_members() {
    let lock = parse(
        "version = 1\n[manifest]\nmembers = [\"a\", \"b\"]\n\
         [[package]]\nname = \"a\"\nsource = { editable = \"a\" }\n\
         [[package]]\nname = \"b\"\nsource = { virtual = \"b\" }\ndependencies = [{ name = \"c\" }]\n\
         [[package]]\nname = \"c\"\nsource = { virtual = \"c\" }\n\
         [[package]]\nname = \"d\"\nsource = { virtual = \"d\" }\n",
    );
    let everything = |roots: Roots| {
        let roots = Roots {
            everything: true,
            ..roots
        };
        pins(&lock.subset(&roots, &target()).unwrap())
    };
    assert_eq!(everything(Roots::default()), ["a", "b", "c"]);
    assert!(lock.has_dependencies());
    assert_eq!(everything(roots("a d")), ["a", "b", "c", "d"]);
}
