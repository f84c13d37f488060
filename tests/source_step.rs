//! The step that unpacks and patches a source, run as a process: patches do what `git apply` does with them, and archives
//! of every kind give the same tree.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Output};

use proptest::prelude::*;
use wheelbase::plan::steps;

/// A folder with `source`, `patches` and `out`.
struct Step(tempfile::TempDir);

impl Step {
    fn new() -> Self {
        let step = Self(tempfile::tempdir().unwrap());
        for folder in ["source", "patches", "out"] {
            fs::create_dir(step.path(folder)).unwrap();
        }
        step
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str, text: impl AsRef<[u8]>) -> &Self {
        fs::create_dir_all(self.path(name).parent().unwrap()).unwrap();
        fs::write(self.path(name), text).unwrap();
        self
    }

    fn run(&self, shape: &str, patches: &[&str]) -> Output {
        Command::new("python3")
            .args(["-I", "-S", "-B", "-c", &steps::source(), shape])
            .args(["source", "patches", "out"].map(|name| self.path(name)))
            .args(patches)
            .output()
            .unwrap()
    }

    /// The finished tree.
    fn tree(&self, shape: &str, patches: &[&str]) -> BTreeMap<String, Vec<u8>> {
        let output = self.run(shape, patches);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{said}");
        read(&self.path("out"))
    }

    fn refused(&self, shape: &str, patches: &[&str]) -> String {
        let output = self.run(shape, patches);
        assert!(!output.status.success());
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(said.starts_with("wheelbase: "), "{said}");
        said
    }
}

/// Files by path: `x` or `-` for whether it can be executed or `l` for a link, then what it holds.
fn read(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    fn walk(folder: &Path, at: &str, found: &mut BTreeMap<String, Vec<u8>>) {
        for entry in fs::read_dir(folder).unwrap() {
            let entry = entry.unwrap();
            let name = entry.file_name().into_string().unwrap();
            let kind = entry.file_type().unwrap();
            if name == ".git" {
                continue;
            }
            if kind.is_dir() {
                walk(&entry.path(), &format!("{at}{name}/"), found);
            } else if kind.is_symlink() {
                let target = fs::read_link(entry.path()).unwrap();
                found.insert(
                    format!("{at}{name}"),
                    format!("l{}", target.display()).into_bytes(),
                );
            } else {
                let executable = entry.metadata().unwrap().permissions().mode() & 0o111 != 0;
                let mut content = vec![if executable { b'x' } else { b'-' }];
                content.extend(fs::read(entry.path()).unwrap());
                found.insert(format!("{at}{name}"), content);
            }
        }
    }
    let mut found = BTreeMap::new();
    walk(folder, "", &mut found);
    found
}

fn git(folder: &Path, arguments: &[&str]) -> Vec<u8> {
    let output = Command::new("git")
        .args([
            "-c",
            "user.name=a",
            "-c",
            "user.email=a@b.example",
            "-c",
            "core.autocrlf=false",
        ])
        .args(arguments)
        .current_dir(folder)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "git {arguments:?}: {said}");
    output.stdout
}

fn commit(folder: &Path) {
    git(folder, &["add", "--all"]);
    git(folder, &["commit", "--quiet", "--allow-empty", "--message=x"]);
}

const FILE: &str = "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\nten\n";

#[test]
fn what_git_can_say_of_files_is_done() {
    let step = Step::new();
    let source = step.path("source");
    git(&source, &["init", "--quiet"]);
    for name in [
        "a.c",
        "sub/b.c",
        "sub/with blank.c",
        "gone.c",
        "moved.c",
        "run.sh",
        "mode.sh",
    ] {
        step.write(&format!("source/{name}"), format!("{name}\n{FILE}"));
    }
    step.write("source/crlf.c", FILE.replace('\n', "\r\n"));
    step.write("source/bare", "no end");
    std::os::unix::fs::symlink("a.c", source.join("link")).unwrap();
    commit(&source);
    let before = step.path("before");
    assert!(
        Command::new("cp")
            .arg("-a")
            .args([&source, &before])
            .status()
            .unwrap()
            .success()
    );

    step.write(
        "source/a.c",
        format!("a.c\n{}", FILE.replace("two", "2").replace("nine\n", "")),
    );
    step.write("source/sub/with blank.c", format!("first\n{FILE}last"));
    step.write("source/sub/\u{fc}.c", "new\n");
    step.write("source/empty", "");
    step.write("source/crlf.c", FILE.replace("five", "5").replace('\n', "\r\n"));
    step.write("source/bare", "an end\n");
    fs::remove_file(source.join("gone.c")).unwrap();
    fs::create_dir(source.join("new")).unwrap();
    fs::rename(source.join("moved.c"), source.join("new/place.c")).unwrap();
    fs::rename(source.join("run.sh"), source.join("ran.sh")).unwrap();
    step.write("source/ran.sh", format!("run.sh\n{}", FILE.replace("six", "6")));
    fs::set_permissions(source.join("mode.sh"), fs::Permissions::from_mode(0o755)).unwrap();
    fs::remove_file(source.join("link")).unwrap();
    std::os::unix::fs::symlink("sub/b.c", source.join("link")).unwrap();
    let after = read(&source);
    git(&source, &["add", "--all"]);
    let patch = git(&source, &["diff", "--cached", "--find-renames"]);
    git(&source, &["commit", "--quiet", "--message=All of it"]);
    let mail = git(&source, &["format-patch", "--stdout", "HEAD~1"]);

    for patch in [patch, mail] {
        let step = Step::new();
        fs::remove_dir(step.path("source")).unwrap();
        assert!(
            Command::new("cp")
                .arg("-a")
                .arg(&before)
                .arg(step.path("source"))
                .status()
                .unwrap()
                .success()
        );
        step.write("patches/0", patch);
        assert_eq!(step.tree("folder", &["all.patch"]), after);
    }
}

#[test]
fn patches_follow_each_other_and_text_that_moved() {
    let step = Step::new();
    step.write("source/a", format!("{}{FILE}", "new\n".repeat(5)));
    step.write("patches/0", "--- a/a\n+++ b/a\n@@ -2,3 +2,3 @@ x\n two\n-three\n+3\n four\n@@ -8,2 +8,3 @@\n eight\n+8.5\n nine\n");
    // What diff -Naur and quilt write, without git's words.
    step.write(
        "patches/1",
        "Index: src/a\n--- src.orig/a\t2025-01-01 00:00:00\n+++ src/a\t2025-01-02 00:00:00\n@@ -6,4 +6,4 @@\n one\n two\n-3\n+drei\n four\n\
         --- src.orig/b\t1970-01-01 00:00:00\n+++ src/b\t2025-01-02 00:00:00\n@@ -0,0 +1 @@\n+b\n\\ No newline at end of file\n",
    );
    let tree = step.tree("folder", &["first.patch", "second.patch"]);
    let expected = FILE.replace("three", "drei").replace("eight\n", "eight\n8.5\n");
    assert_eq!(
        tree["a"],
        format!("-{}{expected}", "new\n".repeat(5)).into_bytes()
    );
    assert_eq!(tree["b"], b"-b");
}

#[test]
fn a_patch_that_does_not_fit_is_named() {
    let step = Step::new();
    step.write("source/a", FILE);
    let refused = |patch: &str| {
        step.write("patches/1", patch);
        step.write("patches/0", "--- a/new\n+++ b/new\n@@ -0,0 +1 @@\n+new\n");
        let said = step.refused("folder", &["good.patch", "patches/bad.patch"]);
        fs::remove_dir_all(step.path("out")).unwrap();
        fs::create_dir(step.path("out")).unwrap();
        said
    };
    let cases = [
        (
            "--- a/a\n+++ b/a\n@@ -1,2 +1,2 @@\n one\n-too\n+2\n",
            "patches/bad.patch: a: hunk 1, of line 1, does not match",
        ),
        (
            "--- a/b\n+++ b/b\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n",
            "patches/bad.patch: the source has no file b",
        ),
        (
            "--- a/a\n+++ b/a\n@@ -1,2 +1,2 @@\n one\n",
            "patches/bad.patch: line 5: the hunk ends early",
        ),
        ("nothing", "patches/bad.patch: this is no patch"),
        (
            "--- a/x\n+++ b/../../x\n@@ -0,0 +1 @@\n+x\n",
            "is not below the source",
        ),
        (
            "--- /dev/null\n+++ b/a\n@@ -0,0 +1 @@\n+x\n",
            "a is there already",
        ),
        (
            "--- a/a\n+++ /dev/null\n@@ -1 +0,0 @@\n-one\n",
            "holds more than the patch says",
        ),
        (
            "diff --git a/a b/a\nindex 1..2 100644\nGIT binary patch\nliteral 1\n",
            "a is changed as a binary file",
        ),
    ];
    for (patch, expected) in cases {
        let said = refused(patch);
        assert!(said.contains(expected), "{patch}: {said}");
    }
}

#[test]
fn archives_of_every_kind_give_one_tree() {
    let made = Step::new();
    made.write("tree/kernels-1.0/setup.py", "setup")
        .write("tree/kernels-1.0/src/a.c", "a");
    made.write("tree/kernels-1.0/run.sh", "#!/bin/sh\n");
    let folder = made.path("tree/kernels-1.0");
    fs::set_permissions(folder.join("run.sh"), fs::Permissions::from_mode(0o755)).unwrap();
    std::os::unix::fs::symlink("src/a.c", folder.join("link")).unwrap();
    fs::hard_link(folder.join("src/a.c"), folder.join("src/hard.c")).unwrap();
    let expected = read(&folder);
    let pack = "
import os, sys, tarfile, zipfile
name, tree = sys.argv[1:]
os.chdir(tree)
if name.endswith('.zip'):
    with zipfile.ZipFile(name, 'w') as archive:
        for folder, folders, files in os.walk('.'):
            for file in files:
                path = os.path.normpath(os.path.join(folder, file))
                info = zipfile.ZipInfo(path)
                info.external_attr = os.lstat(path).st_mode << 16
                archive.writestr(info, os.readlink(path) if os.path.islink(path) else open(path, 'rb').read())
else:
    with tarfile.open(name, 'w:' + name.rpartition('.')[2].replace('tar', '')) as archive:
        archive.add('.')
";
    for (name, tree) in [
        ("k.tar", "tree"),
        ("k.tar.gz", "tree"),
        ("k.tar.xz", "tree"),
        ("k.tar.bz2", "tree"),
        ("k.zip", "tree"),
        // Without a folder at the top.
        ("k.tar.gz", "tree/kernels-1.0"),
        ("k.zip", "tree/kernels-1.0"),
    ] {
        let step = Step::new();
        let status = Command::new("python3")
            .args(["-c", pack])
            .args([step.path("source").join(name), made.path(tree)])
            .status();
        assert!(status.unwrap().success(), "{name}");
        assert_eq!(step.tree("archive", &[]), expected, "{name} of {tree}");
    }
    let step = Step::new();
    assert!(
        Command::new("cp")
            .arg("-a")
            .arg(&folder)
            .arg(step.path("source"))
            .status()
            .unwrap()
            .success()
    );
    assert_eq!(step.tree("unpacked", &[]), expected);
    let step = Step::new();
    step.write("source/k.tar.gz", "no archive");
    assert!(
        step.refused("archive", &[])
            .contains("k.tar.gz cannot be unpacked")
    );
    let step = Step::new();
    step.write("source/k.tar.zst", "as it came");
    assert!(step.refused("unpacked", &[]).contains("give it as .tar.gz"));
}

#[test]
fn libraries_that_wheels_need_are_read_from_their_files() {
    let step = Step::new();
    step.write("source/a.c", "int a(void) { return 0; }");
    let compiled = |name: &str, libraries: &[&str]| {
        let status = Command::new("cc")
            .args(["-shared", "-fPIC", "-Wl,--no-as-needed", "-o"])
            .arg(step.path(&format!("tree/{name}")))
            .arg(step.path("source/a.c"))
            .args(libraries)
            .status();
        assert!(status.unwrap().success(), "{name}");
    };
    step.write("tree/fast/__init__.py", "")
        .write("tree/fast/half.so", b"\x7fELF\x02\x01 and no more");
    compiled("fast/a.so", &["-lm", "-lpthread"]);
    compiled("fast/nothing.so", &["-nostdlib"]);
    fs::create_dir(step.path("wheels")).unwrap();
    for name in [
        "Fa_st-1.0-cp311-cp311-linux_x86_64.whl",
        "other-1.0-py3-none-any.whl",
    ] {
        let status = Command::new("python3")
            .args(["-m", "zipfile", "-c"])
            .arg(step.path("wheels").join(name))
            .arg("fast/")
            .current_dir(step.path("tree"))
            .status();
        assert!(status.unwrap().success());
    }
    let list = |package: &str| {
        let status = Command::new("python3")
            .args(["-I", "-S", "-B", "-c", &steps::needed()])
            .args([step.path("wheels"), step.path("needed")])
            .arg(package)
            .status();
        assert!(status.unwrap().success());
        fs::read_to_string(step.path("needed")).unwrap()
    };
    let said = list("fa-st");
    assert!(said.contains("[\"fast/a.so\", \"libm.so.6\"]\n"), "{said}");
    assert!(said.contains("[\"fast/a.so\", \"libc.so.6\"]\n"), "{said}");
    assert!(!said.contains("half") && !said.contains("nothing"), "{said}");
    assert_eq!(list("absent"), "");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn a_patch_of_git_leads_from_one_text_to_the_other(
        before in proptest::collection::vec("[ab]{0,2}", 0..30),
        edits in proptest::collection::vec((any::<prop::sample::Index>(), proptest::option::of("[abc]{0,2}")), 1..8),
        ends in any::<(bool, bool)>(),
        context in 0usize..4,
    ) {
        let text = |lines: &[String], end: bool| lines.join("\n") + if end { "\n" } else { "" };
        let mut lines = before.clone();
        for (at, edit) in edits {
            let at = at.index(lines.len() + 1);
            match edit {
                Some(line) => lines.insert(at, line),
                None => drop((at < lines.len()).then(|| lines.remove(at))),
            }
        }
        let step = Step::new();
        let source = step.path("source");
        git(&source, &["init", "--quiet"]);
        step.write("source/a", text(&before, ends.0));
        commit(&source);
        step.write("source/a", text(&lines, ends.1));
        let expected = read(&source);
        let patch = git(&source, &["diff", &format!("--unified={context}")]);
        prop_assume!(!patch.is_empty());
        git(&source, &["checkout", "--quiet", "a"]);
        step.write("patches/0", patch);
        prop_assert_eq!(step.tree("folder", &["a.patch"]), expected);
    }
}
