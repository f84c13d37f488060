//! A project for two platforms, and what its images are looked at with.

use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, bail, ensure};

use super::engine::Lab;
use super::project::{Project, lab_file, serve_file};

/// What both images are built for, as `--platform` takes it.
pub(crate) const BOTH: &str = "linux/amd64,linux/arm64";

const NAME: &str = "charset_normalizer-3.5.3-cp311-cp311-manylinux";
const AMD64: (&str, &str) = (
    "1_x86_64.manylinux_2_28_x86_64.manylinux_2_5_x86_64.whl",
    "2a6f937e0b70133d1f826d0a253331b6fe1a4c874808cc12e16f2fb8177042f4",
);
const ARM64: (&str, &str) = (
    "2014_aarch64.manylinux_2_17_aarch64.manylinux_2_28_aarch64.whl",
    "90b1ff6cb9c7a204a3b79b1b0ed6ac8a1d8fed3b6dc69e50ae5de0f358ee81d4",
);

/// An image `app` of a package that is Python alone and of one that is compiled, on a tier that is there for both
/// platforms.
pub(crate) fn project(lab: &Lab) -> Result<Project> {
    let Lab {
        registry,
        index,
        frontend,
        ..
    } = lab;
    let archive = |prefix: &str| -> Result<String> {
        let (url, sha256) = serve_file(lab, &lab_file(lab, "index/static", prefix)?)?;
        Ok(format!("{{ url = \"{url}\", sha256 = \"{sha256}\" }}"))
    };
    let (amd64, arm64) = (archive("cpython-3.11")?, archive("cpython-arm64-3.11")?);
    let project = Project::empty()?;
    project.write(
        "wheelbase.toml",
        &format!(
            "# syntax={frontend}\nname = \"two\"\n[gpu]\narchs = [\"9.0\"]\n\
             tiers.base = \"{registry}/wheelbase-lab/base:two-platforms\"\n\
             [python]\nversion = \"3.11\"\nprovider = {{ amd64 = {amd64}, arm64 = {arm64} }}\n\
             [uv]\nimage = \"{registry}/astral-sh/uv:0.13.9\"\n\
             [images.app]\ntier = \"base\"\npackages = [\"idna\", \"charset-normalizer\"]\n"
        ),
    )?;
    let file = |(tags, sha256): (&str, &str)| {
        format!(
            "    {{ url = \"{index}/files/{NAME}{tags}\", hash = \"sha256:{sha256}\", size = 250000 }},\n"
        )
    };
    let source = format!("source = {{ registry = \"{index}/simple\" }}");
    project.write(
        "uv.lock",
        &format!(
            "version = 1\nrevision = 3\nrequires-python = \"==3.11.*\"\n\n\
             [[package]]\nname = \"charset-normalizer\"\nversion = \"3.5.3\"\n{source}\nwheels = [\n{}{}]\n\n\
             [[package]]\nname = \"idna\"\nversion = \"3.10\"\n{source}\nwheels = [\n    \
             {{ url = \"{index}/files/idna-3.10-py3-none-any.whl\", hash = \"sha256:\
             946d195a0d259cbba61165e88e65941f16e9b36ea6ddb97f00452bae8b1287d3\", size = 70442 }},\n]\n",
            file(AMD64),
            file(ARM64),
        ),
    )?;
    Ok(project)
}

/// The machine of an ELF file (`e_machine`), as Python names it.
pub(crate) fn machine(file: &[u8]) -> Result<&'static str> {
    ensure!(file.starts_with(b"\x7fELF"), "no ELF file");
    match file.get(18..20) {
        Some([62, 0]) => Ok("x86_64"),
        Some([183, 0]) => Ok("aarch64"),
        other => bail!("machine {other:?}"),
    }
}

/// Runs Python code in an exported filesystem of an arm64 image, in an emulator that only this knows of.
///
/// # Errors
///
/// With what it says when it fails.
pub(crate) fn run_arm64(lab: &Lab, root: &Path, code: &str) -> Result<String> {
    const EMULATOR: &str = "qemu-aarch64-static";
    std::fs::copy(lab.folder().join("bin").join(EMULATOR), root.join(EMULATOR))
        .context("tests/lab/lab arm fetches the emulator")?;
    let output = Command::new("chroot")
        .arg(root)
        .args([
            &format!("/{EMULATOR}"),
            "/opt/venv/bin/python",
            "-I",
            "-B",
            "-c",
            code,
        ])
        .output()?;
    ensure!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
