//! The step that imports modules, run as a process over an environment of links: what is written down of each group, and the
//! stub of the driver's library.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use wheelbase::plan::steps;

/// An environment whose interpreter is this machine's.
struct Environment(tempfile::TempDir);

impl Environment {
    fn new() -> Self {
        let environment = Self(tempfile::tempdir().unwrap());
        for folder in ["bin", "lib"] {
            fs::create_dir_all(environment.path(folder)).unwrap();
        }
        let python = Command::new("python3")
            .args(["-c", "import sys; print(sys.executable)"])
            .output()
            .unwrap();
        let python = String::from_utf8(python.stdout).unwrap();
        std::os::unix::fs::symlink(python.trim(), environment.path("bin/python")).unwrap();
        environment
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str, text: &str) -> &Self {
        fs::write(self.path("lib").join(name), text).unwrap();
        self
    }

    /// Compiles a shared library.
    fn compile(&self, name: &str, text: &str, more: &[&str]) -> &Self {
        let source = self.path("source.c");
        fs::write(&source, text).unwrap();
        let status = Command::new("cc")
            .args(["-shared", "-fPIC", "-o"])
            .arg(self.path(name))
            .arg(&source)
            .args(more)
            .status()
            .unwrap();
        assert!(status.success());
        self
    }

    /// The report of some groups, and what the step said.
    fn import(&self, groups: &[&str]) -> (Vec<serde_json::Value>, String) {
        let (stubs, listing) = (self.path("stubs"), self.path("imports"));
        let Output { status, stderr, .. } = Command::new("python3")
            .args(["-I", "-S", "-B", "-c", &steps::imports()])
            .args([self.0.path(), &stubs, &listing])
            .args(groups)
            .env("PYTHONPATH", self.path("lib"))
            .env("LD_LIBRARY_PATH", self.path("lib"))
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&stderr).into_owned();
        assert!(status.success(), "{said}");
        let report = fs::read_to_string(&listing).unwrap();
        let lines = report.lines().map(|line| serde_json::from_str(line).unwrap());
        (lines.collect(), said)
    }

    fn stub(&self, library: &str) -> std::path::PathBuf {
        self.path("stubs").join(library)
    }
}

/// Module `name`, which loads `libname.so` and calls a function of it.
fn loads(name: &str) -> String {
    format!("import ctypes\nVALUE = ctypes.CDLL('lib{name}.so').value()\nassert VALUE == 34, VALUE\n")
}

#[test]
fn a_group_is_one_process_and_stops_at_its_first_failure() {
    let environment = Environment::new();
    environment
        .write("first.py", "import sys\nsys.first = True\n")
        .write("second.py", "import sys\nsys.first\n")
        .write("broken.py", "raise RuntimeError('no GPU here')\n")
        .write(
            "killed.py",
            "import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)\n",
        )
        .write("leaves.py", "import sys\nsys.exit(3)\n");
    let (report, said) = environment.import(&[
        "first second",
        "second",
        "broken first",
        "killed",
        "leaves",
        "absent",
    ]);
    let wanted = serde_json::json!([
        null,
        ["second", "AttributeError: module 'sys' has no attribute 'first'"],
        ["broken", "RuntimeError: no GPU here"],
        ["killed", "it is killed by SIGSEGV"],
        ["leaves", "it ends the process with 3"],
        ["absent", "ModuleNotFoundError: No module named 'absent'"],
    ]);
    assert_eq!(serde_json::Value::Array(report), wanted);
    assert!(
        said.contains("Traceback") && said.contains("wheelbase: imported first second"),
        "{said}"
    );
}

#[test]
fn a_stub_has_what_is_asked_of_the_driver_and_nothing_else() {
    let environment = Environment::new();
    let driver = environment.path("driver");
    fs::create_dir(&driver).unwrap();
    environment.compile(
        "driver/libcuda.so",
        "int cuInit(int x) { return x; } int cuMemAlloc_v2(void) { return 0; } int cudaFree(void) { return 0; }",
        &["-Wl,-soname,libcuda.so.1"],
    );
    let folder = format!("-L{}", driver.display());
    environment
        .compile(
            "lib/libneedy.so",
            "int cuInit(int); int cuMemAlloc_v2(void); int value(void) { return cuInit(0) == cuMemAlloc_v2() ? cuInit(0) : 0; }",
            &[&folder, "-lcuda", "-Wl,-z,now"],
        )
        .write("needy.py", &loads("needy"));
    let (report, said) = environment.import(&["needy"]);
    assert_eq!(report, [serde_json::Value::Null], "{said}");
    assert!(said.contains("a stub stands in for libcuda.so.1"), "{said}");

    // What is nobody's but the runtime's is not the driver's to give.
    environment
        .compile(
            "lib/libother.so",
            "int cuInit(int); int cudaFree(void); int value(void) { return cuInit(0) + cudaFree(); }",
            &[&folder, "-lcuda", "-Wl,-z,now"],
        )
        .write("other.py", &loads("other"));
    let (report, _) = environment.import(&["other"]);
    let says = report[0][1].as_str().unwrap();
    assert!(says.contains("undefined symbol: cudaFree"), "{says}");
}

#[test]
fn a_library_that_is_there_is_used() {
    let environment = Environment::new();
    environment
        .compile(
            "lib/libcuda.so.1",
            "int cuInit(int x) { return 34 + x; }",
            &["-Wl,-soname,libcuda.so.1"],
        )
        .compile(
            "lib/libneedy.so",
            "int cuInit(int); int value(void) { return cuInit(0); }",
            &[&environment.path("lib/libcuda.so.1").to_string_lossy()],
        )
        .write("needy.py", &loads("needy"));
    let (report, said) = environment.import(&["needy"]);
    assert_eq!(report, [serde_json::Value::Null], "{said}");
    assert!(!Path::new(&environment.stub("libcuda.so.1")).exists(), "{said}");
}

#[test]
fn without_anything_of_the_driver_there_is_no_stub() {
    let environment = Environment::new();
    environment
        .write("plain.py", "")
        .write("libnot.so", "not ELF")
        .write("libcut.so", &format!("\u{7f}ELF\u{2}\u{1}{}", "\0".repeat(90)));
    let (report, _) = environment.import(&["plain"]);
    assert_eq!(report, [serde_json::Value::Null]);
    assert!(!environment.path("stubs").exists());
}
