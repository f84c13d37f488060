//! What tests of locks take from outside: a corpus of real locks, and uv.
//!
//! Neither is part of this repository. `WHEELBASE_CORPUS` names the folder of the corpus, with `uvlock`, `otherlocks` and
//! `history` in it; `UV` names a uv binary, else one on `PATH` is taken. Where one is absent the tests that need it say so
//! and pass, except under `CI`.

#![allow(dead_code, reason = "each test binary uses a part of it")]

use std::path::{Path, PathBuf};
use std::process::Command;

use pep508_rs::{MarkerEnvironment, MarkerEnvironmentBuilder};
use wheelbase::lock::{Lock, PythonVersion, Roots, SubsetError, Target};
use wheelbase::platform::Platform;

/// What is missing fails under CI and is said aloud elsewhere.
fn missing<T>(what: &str) -> Option<T> {
    assert!(std::env::var_os("CI").is_none(), "{what}, and CI is set");
    eprintln!("skipped: {what}");
    None
}

/// A folder of the corpus.
pub(crate) fn corpus(folder: &str) -> Option<PathBuf> {
    let corpus = std::env::var_os("WHEELBASE_CORPUS").or_else(|| missing("WHEELBASE_CORPUS is not set"))?;
    Some(Path::new(&corpus).join(folder))
}

/// A `CPython` of this version on Linux, as markers see it.
pub(crate) fn cpython((major, minor, patch): (u32, u32, u32), machine: &str) -> MarkerEnvironment {
    let short = format!("{major}.{minor}");
    let full = format!("{short}.{patch}");
    MarkerEnvironment::try_from(MarkerEnvironmentBuilder {
        implementation_name: "cpython",
        implementation_version: &full,
        os_name: "posix",
        platform_machine: machine,
        platform_python_implementation: "CPython",
        platform_release: "",
        platform_system: "Linux",
        platform_version: "",
        python_full_version: &full,
        python_version: &short,
        sys_platform: "linux",
    })
    .unwrap()
}

/// uv, with an empty cache of its own.
pub(crate) struct Uv {
    binary: PathBuf,
    cache: tempfile::TempDir,
}

impl Uv {
    /// uv, where there is one.
    pub(crate) fn find() -> Option<Self> {
        let binary = std::env::var_os("UV").map(PathBuf::from).or_else(|| {
            let path = std::env::var_os("PATH")?;
            std::env::split_paths(&path)
                .map(|folder| folder.join("uv"))
                .find(|file| file.is_file())
        });
        let binary = binary.or_else(|| missing("there is no uv binary in UV or on PATH"))?;
        let cache = tempfile::tempdir().unwrap();
        Some(Self { binary, cache })
    }

    /// The command that writes a part of the `uv.lock` in a folder in another format, and nothing that was not asked for.
    pub(crate) fn export(&self, folder: &Path, format: &str) -> Command {
        let mut command = Command::new(&self.binary);
        command
            .current_dir(folder)
            .env("UV_CACHE_DIR", self.cache.path())
            .env("UV_OFFLINE", "1")
            .env("UV_PYTHON_DOWNLOADS", "never")
            .args(["export", "--frozen", "--no-default-groups", "--quiet"])
            .args(["--format", format]);
        command
    }
}

/// A Python that a lock admits, patch level included.
pub(crate) fn admitted(lock: &Lock) -> PythonVersion {
    let all = [12, 13, 11, 10, 14, 9, 8]
        .into_iter()
        .flat_map(|minor| (0..40).map(move |patch| (minor, patch)));
    let mut pythons = all.map(|(minor, patch)| PythonVersion {
        major: 3,
        minor,
        patch: Some(patch),
    });
    let fits = |python: &PythonVersion| {
        let target = Target {
            platform: Platform::linux_amd64(),
            python: *python,
            glibc: (2, 35),
        };
        let result = lock.subset(&Roots::default(), &target);
        !matches!(&result, Err(errors) if errors.iter().any(|error| matches!(error, SubsetError::PythonMismatch { .. })))
    };
    pythons
        .find(fits)
        .unwrap_or_else(|| panic!("no Python fits {:?}", lock.requires_python()))
}
