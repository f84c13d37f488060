//! Small `pylock.toml` and `requirements.txt` files, one for each thing that they can say.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::tests::{roots, target};
use super::*;

const ONE: &str = "1111111111111111111111111111111111111111111111111111111111111111";
const TWO: &str = "2222222222222222222222222222222222222222222222222222222222222222";

fn read(name: &str, text: &str) -> Result<(Lock, Vec<Diagnostic>), Vec<String>> {
    let drawn = |errors: Vec<Diagnostic>| errors.iter().map(Diagnostic::one_line).collect();
    Lock::parse(&SourceFile::new(name, text)).map_err(drawn)
}

fn pylock(text: &str) -> Lock {
    let head = "lock-version = \"1.0\"\ncreated-by = \"hand\"\n";
    let (lock, warnings) = read("pylock.toml", &format!("{head}{text}")).unwrap();
    assert_eq!(warnings, []);
    lock
}

fn refused_pylock(text: &str) -> Vec<String> {
    read("pylock.toml", text).unwrap_err()
}

fn requirements(text: &str) -> Lock {
    let (lock, warnings) = read("requirements.txt", text).unwrap();
    assert_eq!(warnings, []);
    lock
}

fn refused_requirements(text: &str) -> Vec<String> {
    read("requirements.txt", text).unwrap_err()
}

/// An entry with one pure wheel, and more lines.
fn entry(name: &str, version: &str, more: &str) -> String {
    let file = name.replace('-', "_");
    format!(
        "[[packages]]\nname = \"{name}\"\nversion = \"{version}\"\n{more}\n\
         wheels = [{{ url = \"https://files.index.example/{file}-{version}-py3-none-any.whl\", size = 10, \
         upload-time = 2025-01-01T00:00:00Z, hashes = {{ sha256 = \"{ONE}\" }} }}]\n\n"
    )
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

fn errors(lock: &Lock, roots: &Roots) -> Vec<String> {
    let errors = lock.subset(roots, &target()).unwrap_err();
    errors.iter().map(SubsetError::message).collect()
}

#[test]
fn markers_choose_from_the_whole_file() {
    let lock = pylock(&format!(
        "{}{}{}",
        entry("a", "1.0", ""),
        entry("w", "1.0", "marker = \"sys_platform == 'win32'\""),
        entry(
            "l",
            "1.0",
            "marker = \"sys_platform == 'linux' and python_version >= '3.9'\""
        ),
    ));
    assert_eq!(names(&lock, &all("")), ["a", "l"]);
    let subset = lock.subset(&all(""), &target()).unwrap();
    assert_eq!(subset.packages[0].key_line(), format!("a==1.0 sha256:{ONE}"));
    assert_eq!(subset.packages[0].source, Source::Files);
    assert_eq!(names(&lock, &roots("a")), ["a"]);
    assert_eq!(
        errors(&lock, &roots("w")),
        ["the lock keeps `w` from this image: its marker is `sys_platform == 'win32'`"]
    );
    assert_eq!(
        errors(&lock, &roots("aa b")),
        ["the lock has no package `aa`", "the lock has no package `b`"]
    );
    assert!(!lock.has_dependencies());
}

#[test]
fn extras_and_groups_are_sets_of_a_file_for_several_uses() {
    let lock = pylock(&format!(
        "extras = [\"GPU\"]\ndependency-groups = [\"default\", \"dev\"]\ndefault-groups = [\"default\"]\n{}{}{}{}",
        entry("a", "1.0", "marker = \"'default' in dependency_groups\""),
        entry("d", "1.0", "marker = \"'dev' in dependency_groups\""),
        entry("g", "1.0", "marker = \"'gpu' in extras\""),
        entry(
            "n",
            "1.0",
            "marker = \"'gpu' not in extras and 'dev' in dependency_groups\""
        ),
    ));
    assert_eq!(names(&lock, &all("")), ["a"]);
    assert_eq!(names(&lock, &all("gpu")), ["a", "g"]);
    assert_eq!(names(&lock, &all(":dev")), ["a", "d", "n"]);
    assert_eq!(names(&lock, &all("gpu :dev")), ["a", "d", "g"]);
    let unknown = lock.subset(&all("gpus :dve"), &target()).unwrap_err();
    assert_eq!(unknown[0].help().as_deref(), Some("did you mean `gpu`?"));
    assert_eq!(unknown[1].help().as_deref(), Some("did you mean `dev`?"));
    // What a wheel needs is chosen in the selection of its image.
    assert_eq!(
        lock.subset_within(&roots("g"), &all("gpu"), &target())
            .unwrap()
            .packages
            .len(),
        1
    );
    assert_eq!(errors(&lock, &roots("g")).len(), 1);
}

#[test]
fn dependencies_cut_a_part_out() {
    let lock = pylock(&format!(
        "{}{}{}{}{}",
        entry(
            "a",
            "1.0",
            "dependencies = [{ name = \"b\", version = \"2.0\" }, { name = \"w\" }]"
        ),
        entry("b", "1.0", "marker = \"sys_platform == 'win32'\""),
        entry(
            "b",
            "2.0",
            "marker = \"sys_platform != 'win32'\"\ndependencies = [{ name = \"a\" }]"
        ),
        entry("w", "1.0", "marker = \"sys_platform == 'win32'\""),
        entry("z", "1.0", ""),
    ));
    assert!(lock.has_dependencies());
    assert_eq!(names(&lock, &roots("a")), ["a", "b"]);
    assert_eq!(names(&lock, &all("")), ["a", "b", "z"]);
    let subset = lock.subset(&roots("a"), &target()).unwrap();
    let b = subset.get(&"b".parse().unwrap()).unwrap();
    assert_eq!(b.version.as_deref(), Some("2.0"));
    let path: Vec<&str> = b.path.iter().map(PackageName::as_str).collect();
    assert_eq!(path, ["a", "b"]);
    let gone = refused_pylock(&format!(
        "lock-version = \"1.0\"\n{}",
        entry("a", "1.0", "dependencies = [{ name = \"gone\" }]")
    ));
    assert_eq!(gone, ["pylock.toml:5:17: the lock has no package `gone`"]);
}

#[test]
fn two_entries_of_a_name_at_once_are_no_answer() {
    let lock = pylock(&format!(
        "{}{}",
        entry("a", "1.0", "marker = \"python_version > '3.8'\""),
        entry("a", "2.0", "")
    ));
    assert_eq!(
        errors(&lock, &all("")),
        ["the lock has `a` more than once: 1.0 (files), 2.0 (files)"]
    );
}

#[test]
fn pythons_and_environments_are_checked() {
    let wrong = pylock(&format!(
        "requires-python = \">=3.13\"\n{}",
        entry("a", "1.0", "")
    ));
    assert_eq!(
        errors(&wrong, &all("")),
        ["the lock requires Python >=3.13, not 3.12"]
    );
    let one = pylock(&format!(
        "{}{}",
        entry("a", "1.0", "requires-python = \">=3.13\""),
        entry("b", "1.0", "requires-python = \">=3.8\"")
    ));
    assert_eq!(errors(&one, &all("")), ["`a` requires Python >=3.13, not 3.12.0"]);
    assert_eq!(names(&one, &roots("b")), ["b"]);
    let elsewhere = pylock(&format!(
        "environments = [\"sys_platform == 'win32'\"]\n{}",
        entry("a", "1.0", "")
    ));
    assert!(errors(&elsewhere, &all(""))[0].contains("not resolved for CPython 3.12"));
}

#[test]
fn every_origin_is_read() {
    const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";
    let lock = pylock(&format!(
        "[[packages]]\nname = \"v\"\n[packages.vcs]\ntype = \"git\"\nurl = \"https://git.example/v\"\n\
         requested-revision = \"main\"\ncommit-id = \"{COMMIT}\"\nsubdirectory = \"py\"\n\
         [[packages]]\nname = \"d\"\ndirectory = {{ path = \"lib\", subdirectory = \"d\", editable = true }}\n\
         [[packages]]\nname = \"e\"\ndirectory = {{ path = \".\" }}\n\
         [[packages]]\nname = \"w\"\n\
         archive = {{ url = \"https://files.example/w-1.5%2Bcu1-py3-none-any.whl\", hashes = {{ sha256 = \"{ONE}\" }} }}\n\
         [[packages]]\nname = \"s\"\nversion = \"2.0\"\n\
         archive = {{ url = \"https://files.example/s.tar.gz\", hashes = {{ sha256 = \"{ONE}\" }}, subdirectory = \"x\" }}\n\
         [[packages]]\nname = \"i\"\nversion = \"1.0\"\nindex = \"https://index.example/simple\"\n\
         sdist = {{ name = \"i-1.0.tar.gz\", url = \"https://files.example/42\", hashes = {{ md5 = \"00\", sha256 = \"{ONE}\" }} }}\n\
         [[packages]]\nname = \"p\"\nversion = \"1.0\"\n\
         wheels = [{{ path = \"wheels/p-1.0-py3-none-any.whl\", hashes = {{ sha512 = \"00\" }} }}]\n"
    ));
    let subset = lock.subset(&all(""), &target()).unwrap();
    let artifact = |name: &str| subset.get(&name.parse().unwrap()).unwrap().artifact.clone();
    assert_eq!(
        artifact("v"),
        Artifact::Git {
            url: "https://git.example/v".to_owned(),
            rev: COMMIT.to_owned(),
            subdirectory: Some("py".to_owned()),
            submodules: true,
            lfs: false
        }
    );
    let tree = |path: &str, editable| Artifact::Tree {
        path: path.to_owned(),
        editable,
    };
    assert_eq!(
        (artifact("d"), artifact("e")),
        (tree("lib/d", true), tree(".", false))
    );
    assert!(
        matches!(artifact("w"), Artifact::Wheel { filename, sha256: Some(_), .. } if filename.contains("+cu1"))
    );
    let w = subset.get(&"w".parse().unwrap()).unwrap();
    assert_eq!(w.version.as_deref(), Some("1.5+cu1"));
    assert!(matches!(artifact("s"), Artifact::Sdist { subdirectory: Some(folder), .. } if folder == "x"));
    assert!(
        matches!(artifact("i"), Artifact::Sdist { filename, sha256: Some(sha256), .. } if filename == "i-1.0.tar.gz" && sha256 == ONE)
    );
    assert!(
        matches!(artifact("p"), Artifact::Wheel { url: None, path: Some(path), sha256: None, .. } if path.starts_with("wheels/"))
    );
}

#[test]
fn wrong_pylocks_are_reported_at_their_lines() {
    assert!(refused_pylock("")[0].contains("no pylock.toml"));
    assert_eq!(
        refused_pylock("lock-version = \"2.0\"\n"),
        ["pylock.toml:1:16: only lock-version 1.x of pylock.toml can be read"]
    );
    let found = refused_pylock(
        "lock-version = \"1.0\"\n[[packages]]\nname = \"a\"\nversion = \"x\"\n\
         [[packages]]\nname = \"b\"\nsdist = {}\nvcs = { type = \"git\" }\n\
         [[packages]]\nname = \"c\"\nvcs = { type = \"hg\", commit-id = \"1\" }\n\
         [[packages]]\nname = \"d\"\nwheels = [{ hashes = { sha256 = \"1\" } }]\n\
         [[packages]]\nname = \"e\"\ndirectory = {}\n[[packages]]\nversion = \"1\"\n",
    );
    assert_eq!(
        found,
        [
            "pylock.toml:4:11: `x` is no version (PEP 440)",
            "pylock.toml:6:8: a package has one source, and not `vcs` and `sdist`",
            "pylock.toml:11:7: only git repositories can be built from, and its type is `hg`",
            "pylock.toml:14:11: this file has neither a `url` nor a `path`",
            "pylock.toml:14:33: a SHA-256 has 64 hex digits",
            "pylock.toml:17:13: a directory needs a `path`",
            "pylock.toml:18:1: `name` is missing",
        ]
    );
    let (lock, warnings) = read(
        "pylock.gpu.toml",
        &format!(
            "lock-version = \"1.4\"\nnovelty = 1\n{}",
            entry(
                "a",
                "1.0",
                "novelty = {}\n[packages.tool.x]\n[[packages]]\nname = \"b\""
            )
        ),
    )
    .unwrap();
    assert!(
        warnings[0]
            .one_line()
            .starts_with("pylock.gpu.toml:1:16: lock-version 1.4 is newer")
    );
    assert_eq!(lock.packages().len(), 2);
}

#[test]
fn hashed_requirements_are_pins() {
    let text = format!(
        "# by hand\n--index-url https://index.example/simple\n--extra-index-url=https://index.example/cu128 # more\n\
         -f https://files.example/links.html\n--require-hashes\n\
         Torch==2.8.0+cu128 ; sys_platform == 'linux' \\\n    --hash=sha256:{TWO} \\\n    --hash sha256:{ONE}\n    # via x\n\
         w===1.0;sys_platform=='win32' --hash=sha256:{ONE}\n\
         jax[cuda, x] == 0.5.0 --hash=sha256:{ONE}\n\n\
         u @ https://files.example/u-1.0-py3-none-any.whl \\\n --hash=sha256:{ONE}\n\
         s @ https://files.example/s-1.0.tar.gz#sha256={ONE}&subdirectory=x ; python_version > '3'\n\
         g @ git+https://git.example/g@0123456789abcdef0123456789abcdef01234567#subdirectory=py\n"
    );
    let lock = requirements(&text);
    assert_eq!(names(&lock, &all("")), ["g", "jax", "s", "torch", "u"]);
    let subset = lock.subset(&all(""), &target()).unwrap();
    let torch = subset.get(&"torch".parse().unwrap()).unwrap();
    assert_eq!(
        torch.key_line(),
        format!("torch==2.8.0+cu128 sha256:{ONE} sha256:{TWO}")
    );
    assert_eq!(
        torch.source,
        Source::Indexes(Indexes {
            main: Some("https://index.example/simple".to_owned()),
            others: vec!["https://index.example/cu128".to_owned()],
            pages: vec!["https://files.example/links.html".to_owned()],
        })
    );
    let artifact = |name: &str| subset.get(&name.parse().unwrap()).unwrap().artifact.clone();
    assert!(matches!(artifact("jax"), Artifact::Pinned { hashes } if hashes.len() == 1));
    assert!(matches!(artifact("u"), Artifact::Wheel { url: Some(url), .. } if url.ends_with("any.whl")));
    assert!(
        matches!(artifact("s"), Artifact::Sdist { url: Some(url), sha256: Some(_), subdirectory: Some(_), .. } if url.ends_with("s-1.0.tar.gz"))
    );
    assert!(matches!(artifact("g"), Artifact::Git { url, .. } if url == "https://git.example/g"));
    let error = lock.sdist(&"torch".parse().unwrap(), None).unwrap_err();
    assert!(
        error.message().contains("hashes of its files"),
        "{}",
        error.message()
    );
}

#[test]
fn the_order_of_lines_and_hashes_is_nothing() {
    let one = requirements(&format!(
        "a==1 --hash=sha256:{ONE} --hash=sha256:{TWO}\nb==1 --hash=sha256:{ONE}\n"
    ));
    let two = requirements(&format!(
        "b==1 --hash=sha256:{ONE}\n\na==1 --hash=sha256:{TWO} --hash=sha256:{ONE}\n"
    ));
    assert_eq!(
        one.subset(&all(""), &target()).unwrap(),
        two.subset(&all(""), &target()).unwrap()
    );
}

#[test]
fn what_pins_nothing_is_refused_at_its_place() {
    let hash = format!("--hash=sha256:{ONE}");
    let found = refused_requirements(&format!(
        "a==1\nb>=1 {hash}\nc==1.* {hash}\nd {hash}\ne==1,<2 {hash}\nf==1 --hash=sha256:12\nf==1 --hash=md5:{ONE}\n"
    ));
    assert_eq!(
        found,
        [
            "requirements.txt:1:1: `a` has no hash: nothing says which file it is",
            "requirements.txt:2:2: `>=1` does not pin `b` to one version",
            "requirements.txt:3:2: `==1.*` does not pin `c` to one version",
            "requirements.txt:4:1: `d` is not pinned to a version",
            "requirements.txt:5:2: `==1,<2` does not pin `e` to one version",
            "requirements.txt:6:13: a hash is `sha256:` (or sha384, sha512) and its hex digits",
            "requirements.txt:7:13: a hash is `sha256:` (or sha384, sha512) and its hex digits",
        ]
    );
    // What is for another platform may have no file, and so no hash.
    let lock = requirements(&format!(
        "a==1 ; sys_platform == 'win32'\nb==1 {hash}\nc==1 ; sys_platform == 'linux'\n"
    ));
    let errors = lock.subset(&all(""), &target()).unwrap_err();
    let [SubsetError::Malformed { what, location }] = errors.as_slice() else {
        panic!("{errors:?}")
    };
    assert!(what.contains("`c` has no hash"));
    assert_eq!(location.file.position(location.range.start), (3, 0));
    let found = refused_requirements(
        "-r base.txt\n  -c constraints.txt\n--index-url ${INDEX}\n--find-links ./wheels\n-e ./lib\n./lib\n\
         https://files.example/a.whl\ngit+https://git.example/a\nb @ git+https://git.example/b@main\n\
         c @ https://files.example/c.whl\nd @ file:///d.whl\n--no-binary :all:\n--no-index\n--trusted-host h\n-i\n\
         e==1 --config-settings=x\nf[x==1\n==1\n",
    );
    let places: Vec<&str> = found
        .iter()
        .map(|line| line.split(": ").next().unwrap())
        .collect();
    assert_eq!(
        places,
        [
            "1:1", "2:3", "3:13", "4:14", "5:1", "6:1", "7:1", "8:1", "9:5", "10:5", "11:5", "12:1", "13:1",
            "14:1", "15:1", "16:6", "17:1", "18:1"
        ]
        .map(|place| format!("requirements.txt:{place}"))
    );
    let file = SourceFile::new("requirements.txt", "-r base.txt\n");
    let errors = Lock::parse(&file).unwrap_err();
    let drawn = errors[0].render(false);
    assert!(
        drawn.contains("^^") && drawn.contains("uv pip compile"),
        "{drawn}"
    );
    let (_, warnings) = read("requirements.txt", "--novelty\n").unwrap();
    assert_eq!(warnings.len(), 1);
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

#[test]
fn everything_of_a_workspace_is_its_members() {
    let lock = super::tests::parse(
        "version = 1\n[manifest]\nmembers = [\"a\", \"b\"]\n\
         [[package]]\nname = \"a\"\nsource = { editable = \"a\" }\n\
         [[package]]\nname = \"b\"\nsource = { virtual = \"b\" }\ndependencies = [{ name = \"c\" }]\n\
         [[package]]\nname = \"c\"\nsource = { virtual = \"c\" }\n\
         [[package]]\nname = \"d\"\nsource = { virtual = \"d\" }\n",
    );
    assert_eq!(names(&lock, &all("")), ["a", "b", "c"]);
    assert!(lock.has_dependencies());
    let with_root = Roots {
        everything: true,
        ..roots("a d")
    };
    assert_eq!(names(&lock, &with_root), ["a", "b", "c", "d"]);
}

/// A pylock with some markers over extras, groups and platforms.
fn generated() -> impl Strategy<Value = Vec<(usize, usize)>> {
    prop::collection::vec((0_usize..6, 0_usize..5), 0..12)
}

const MARKERS: [&str; 5] = [
    "",
    "marker = \"'x' in extras\"",
    "marker = \"'g' in dependency_groups or sys_platform == 'win32'\"",
    "marker = \"sys_platform == 'win32'\"",
    "marker = \"'x' not in extras and python_version >= '3.9'\"",
];

fn write(packages: &[(usize, usize)]) -> String {
    let entries = packages.iter().enumerate();
    let entries = entries.map(|(index, (version, marker))| {
        entry(&format!("p{index}"), &format!("1.{version}"), MARKERS[*marker])
    });
    format!(
        "extras = [\"x\"]\ndependency-groups = [\"g\"]\n{}",
        entries.collect::<String>()
    )
}

proptest! {
    #[test]
    fn a_list_gives_what_its_markers_say(packages in generated(), x in any::<bool>(), g in any::<bool>()) {
        let lock = pylock(&write(&packages));
        let words = [(x, "x"), (g, ":g")].into_iter().filter(|(on, _)| *on).map(|(_, word)| word).collect::<Vec<_>>();
        let expected: BTreeSet<String> = packages.iter().enumerate().filter(|(_, (_, marker))| match marker {
            0 => true,
            1 => x,
            2 => g,
            3 => false,
            _ => !x,
        }).map(|(index, _)| format!("p{index}")).collect();
        let found: BTreeSet<String> = names(&lock, &all(&words.join(" "))).into_iter().collect();
        prop_assert_eq!(found, expected);
    }

    #[test]
    fn the_order_of_a_list_is_nothing(packages in generated()) {
        let text = write(&packages);
        let (head, entries) = text.split_once("[[packages]]").unwrap_or((&text, ""));
        let mut turned: Vec<String> = entries.split("[[packages]]").filter(|entry| !entry.is_empty())
            .map(|entry| format!("[[packages]]{entry}")).collect();
        turned.reverse();
        let turned = pylock(&format!("{head}{}", turned.concat()));
        prop_assert_eq!(pylock(&text).subset(&all("x"), &target()).unwrap(), turned.subset(&all("x"), &target()).unwrap());
    }

    #[test]
    fn no_requirements_make_it_panic(text in "([a-z.]{0,3}(==|>=|@|\\[| ;|;)?[a-z0-9.*'\"\\]]{0,4}( --hash=(sha256:)?[0-9a-f]{0,3})?( \\\\)?( ?#x)?[\r\n \\\\é\u{feff}-]{0,3}){0,6}") {
        if let Err(errors) = Lock::parse(&SourceFile::new("requirements.txt", text)) {
            prop_assert!(!errors.is_empty());
            for error in errors {
                error.render(false);
            }
        }
    }

    #[test]
    fn no_text_makes_it_panic(text in any::<String>(), name in "(pylock\\.toml|requirements\\.txt|x|x\\.lock)") {
        drop(Lock::parse(&SourceFile::new(name, text)));
    }

    #[test]
    fn no_damage_makes_it_panic(packages in generated(), cut in any::<prop::sample::Index>(), junk in "[\\[\\]{}=\"'a#\n,.@:/é]{0,8}") {
        let mut text = format!("lock-version = \"1.0\"\n{}", write(&packages));
        let mut at = cut.index(text.len());
        while !text.is_char_boundary(at) {
            at -= 1;
        }
        text.insert_str(at, &junk);
        if let Ok((lock, _)) = Lock::parse(&SourceFile::new("pylock.toml", text)) {
            drop(lock.subset(&all(""), &target()));
        }
    }
}
