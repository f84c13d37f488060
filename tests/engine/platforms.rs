//! One build for two platforms, on a builder that runs one of them.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

use crate::support::build::Build;
use crate::support::engine::lab;
use crate::support::platforms::{BOTH, machine, project, run_arm64};

const PACKAGES: &str = "opt/venv/lib/python3.11/site-packages";

/// The files of a folder, relative to it.
fn files(root: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut open = vec![root.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(&folder)? {
            let path = entry?.path();
            if path.is_dir() && !path.is_symlink() {
                open.push(path);
            } else {
                found.push(path.strip_prefix(root)?.to_owned());
            }
        }
    }
    found.sort();
    Ok(found)
}

fn compiled(root: &Path) -> Result<PathBuf> {
    let folder = root.join(PACKAGES).join("charset_normalizer");
    let found = files(&folder)?;
    let library = found
        .into_iter()
        .find(|path| path.extension().is_some_and(|end| end == "so"));
    Ok(folder.join(library.context("charset_normalizer has nothing that is compiled")?))
}

#[test]
fn wheels_of_another_platform_are_installed_without_an_emulator() -> Result<()> {
    let Some(lab) = lab() else { return Ok(()) };
    let project = project(&lab)?;
    let folder = tempfile::tempdir()?;
    Build::of(&lab, &project)
        .arguments(&["--platform", BOTH])
        .succeed()?;
    // An export of both at once would write their folders into links.
    let export = |platform: &str| {
        let root = folder.path().join(platform);
        let output = format!("--output=type=local,dest={}", root.display());
        let build =
            Build::of(&lab, &project).arguments(&["--platform", &format!("linux/{platform}"), &output]);
        build.succeed().map(|_| root)
    };
    let (amd64, arm64) = (export("amd64")?, export("arm64")?);
    assert_eq!(machine(&fs::read(compiled(&amd64)?)?)?, "x86_64");
    assert_eq!(machine(&fs::read(compiled(&arm64)?)?)?, "aarch64");
    assert_eq!(
        machine(&fs::read(arm64.join("opt/python/bin/python3.11"))?)?,
        "aarch64"
    );

    // What is Python alone, and the environment around it, is the same for both.
    let of_machine = |path: &PathBuf| path.to_string_lossy().contains("charset_normalizer");
    for path in files(&amd64.join("opt/venv"))?
        .iter()
        .filter(|path| !of_machine(path))
    {
        let (one, other) = (
            amd64.join("opt/venv").join(path),
            arm64.join("opt/venv").join(path),
        );
        if one.is_symlink() {
            assert_eq!(fs::read_link(&one)?, fs::read_link(&other)?, "{}", path.display());
        } else {
            assert_eq!(fs::read(&one)?, fs::read(&other)?, "{}", path.display());
        }
    }

    let code =
        "import idna, charset_normalizer.md, platform; print(platform.machine(), idna.encode('b\\xfccher'))";
    assert_eq!(run_arm64(&lab, &arm64, code)?.trim(), "aarch64 b'xn--bcher-kva'");
    Ok(())
}

#[test]
fn both_roads_to_a_package_lead_to_another_platform() -> Result<()> {
    let Some(lab) = lab() else { return Ok(()) };
    let project = project(&lab)?;
    let export = || {
        let build = Build::of(&lab, &project).arguments(&["--platform", "linux/arm64"]);
        anyhow::Ok(build.export()?.1)
    };
    let by_file = export()?;
    project.edit(
        "wheelbase.toml",
        "version = \"3.11\"",
        "version = \"3.11\"\nfetch = \"index\"",
    )?;
    let by_index = export()?;
    let differences = by_file.below("opt/venv").differences(&by_index.below("opt/venv"));
    assert!(differences.is_empty(), "{differences:#?}");
    Ok(())
}

#[test]
fn what_would_have_to_be_emulated_is_refused_at_its_line() -> Result<()> {
    let Some(lab) = lab() else { return Ok(()) };
    for (addition, line, says) in [
        (
            "user = \"app\"\n",
            "[images.app]",
            "user `app` would be made for linux/arm64 on a builder of linux/amd64",
        ),
        (
            "wheels = [\"kernel\"]\n[wheels.kernel]\nsource = { path = \"kernel\" }\n",
            "[wheels.kernel]",
            "wheel `kernel` would be compiled for linux/arm64 on a builder of linux/amd64",
        ),
    ] {
        let project = project(&lab)?;
        let spec = project.read("wheelbase.toml")? + addition;
        let devel = format!(
            "tiers.devel = \"{}/wheelbase-lab/base:two-platforms\"\n[python]",
            lab.registry
        );
        project.write("wheelbase.toml", &spec.replace("[python]", &devel))?;
        project.write(
            "kernel/pyproject.toml",
            "[project]\nname = \"kernel\"\nversion = \"1\"\n",
        )?;
        let built = Build::of(&lab, &project)
            .arguments(&["--platform", "linux/arm64"])
            .fail()?;
        assert!(built.text.contains(says), "{}", built.text);
        let shown = built.text.lines().any(|shown| shown.contains(line));
        assert!(shown, "{}", built.text);
        assert!(built.executed().is_empty(), "{:?}", built.executed());
    }
    Ok(())
}
