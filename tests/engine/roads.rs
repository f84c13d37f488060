//! The other roads: private indexes, interpreters and uv from elsewhere, tiers by name.

use anyhow::{Result, ensure};

use crate::support::build::{Build, Built};
use crate::support::engine::{Lab, lab};
use crate::support::project::{Project, lab_file, serve_file};
use crate::support::tree::Tree;
use crate::{Tag, image};

/// Only what a test of another road needs: no kernels, packages from wheels.
fn small_spec(lab: &Lab, gpu: &str, python: &str, uv: &str) -> String {
    let Lab {
        registry, frontend, ..
    } = lab;
    let gpu = gpu.replace("REGISTRY", registry);
    format!(
        "# syntax={frontend}\nname = \"small\"\n[gpu]\n{gpu}\n[python]\nversion = \"3.11\"\n{python}\n\
         [uv]\n{uv}\n[images.app]\ntier = \"base\"\npackages = [\"idna\", \"attrs\"]\nentrypoint = [\"python\"]\n"
    )
}

const CUDA: &str = "cuda = \"13.0.2\"\nos = \"ubuntu22.04\"\nmirror = \"REGISTRY\"";

fn python_image(lab: &Lab) -> String {
    format!(
        "provider = {{ image = \"{}/wheelbase-lab/python:3.11\" }}",
        lab.registry
    )
}

fn uv_image(lab: &Lab) -> String {
    format!("image = \"{}/astral-sh/uv:0.13.9\"", lab.registry)
}

fn imports(lab: &Lab, project: &Project) -> Result<(Built, Tree)> {
    let tag = Tag::new(lab);
    let built = image(lab, project, "app", &tag)?;
    let said = lab.engine().run(
        &tag.1,
        &[],
        &[
            "-c",
            "import idna, attrs; print(idna.encode('b\\xfccher').decode())",
        ],
    )?;
    ensure!(said.trim() == "xn--bcher-kva", "{said}");
    let (_, tree) = Build::of(lab, project).target("app").export()?;
    Ok((built, tree))
}

#[test]
fn a_private_index_is_read_with_a_secret_that_stays_secret() -> Result<()> {
    let Some(lab) = lab() else { return Ok(()) };
    let project = Project::quickstart(&lab)?;
    let private = format!("{}/private/simple", lab.index);
    project.edit("uv.lock", &format!("{}/simple", lab.index), &private)?;
    let python = format!("{}\nfetch = \"index\"", python_image(&lab));
    project.write(
        "wheelbase.toml",
        &small_spec(&lab, CUDA, &python, &uv_image(&lab)),
    )?;
    let host = lab
        .index
        .trim_start_matches("http://")
        .split(':')
        .next()
        .unwrap_or_default();
    project.write("netrc", &format!("machine {host} login reader password secret\n"))?;
    let secret = format!("id=netrc,src={}", project.path().join("netrc").display());

    let tag = Tag::new(&lab);
    let built = Build::of(&lab, &project)
        .target("app")
        .tag(&tag.1)
        .arguments(&["--load", "--secret", &secret])
        .succeed()?;
    let said = lab
        .engine()
        .run(&tag.1, &[], &["-c", "import idna; print(idna.__version__)"])?;
    assert_eq!(said.trim(), "3.10");
    assert!(
        !built.progress.log().contains("reader"),
        "{}",
        built.progress.log()
    );

    let (_, tree) = Build::of(&lab, &project)
        .target("app")
        .arguments(&["--secret", &secret])
        .export()?;
    let told: Vec<&String> = tree
        .entries
        .iter()
        .filter(|(_, entry)| {
            entry
                .text
                .as_deref()
                .is_some_and(|text| text.contains("login reader"))
        })
        .map(|(path, _)| path)
        .collect();
    assert!(told.is_empty(), "{told:?}");
    assert!(!tree.has("wheelbase") && !tree.has("root/.netrc"));
    let everything = lab.engine().output(&["image", "inspect", &tag.1])?
        + &lab.engine().output(&["history", "--no-trunc", &tag.1])?;
    assert!(
        !everything.contains("reader:") && !everything.contains("login reader"),
        "{everything}"
    );
    Ok(())
}

#[test]
fn both_roads_to_a_package_leave_the_same_files() -> Result<()> {
    let Some(lab) = lab() else { return Ok(()) };
    let project = Project::quickstart(&lab)?;
    project.write(
        "wheelbase.toml",
        &small_spec(&lab, CUDA, &python_image(&lab), &uv_image(&lab)),
    )?;
    let (_, files) = imports(&lab, &project)?;
    let python = format!("{}\nfetch = \"index\"", python_image(&lab));
    project.write(
        "wheelbase.toml",
        &small_spec(&lab, CUDA, &python, &uv_image(&lab)),
    )?;
    let (_, index) = imports(&lab, &project)?;
    let differences = files.below("opt/venv").differences(&index.below("opt/venv"));
    assert!(differences.is_empty(), "{differences:#?}");
    Ok(())
}

#[test]
fn python_from_an_archive_and_uv_from_a_wheel() -> Result<()> {
    let Some(lab) = lab() else { return Ok(()) };
    let (url, sha256) = serve_file(&lab, &lab_file(&lab, "index/static", "cpython-3.11")?)?;
    let python = format!("provider = {{ url = \"{url}\", sha256 = \"{sha256}\" }}");
    let (url, sha256) = serve_file(&lab, &lab_file(&lab, "wheels", "uv-")?)?;
    let uv = format!("url = \"{url}\"\nsha256 = \"{sha256}\"");
    let project = Project::quickstart(&lab)?;
    project.write("wheelbase.toml", &small_spec(&lab, CUDA, &python, &uv))?;
    let (_, other) = imports(&lab, &project)?;
    project.write(
        "wheelbase.toml",
        &small_spec(&lab, CUDA, &python_image(&lab), &uv_image(&lab)),
    )?;
    let (_, usual) = imports(&lab, &project)?;
    let differences = usual.below("opt/venv").differences(&other.below("opt/venv"));
    assert!(differences.is_empty(), "{differences:#?}");

    project.edit("wheelbase.toml", "[uv]\nimage", "[uv]\n#")?;
    let wrong = "0".repeat(64);
    project.write(
        "wheelbase.toml",
        &small_spec(&lab, CUDA, &python, &uv.replace(&sha256, &wrong)),
    )?;
    let built = Build::of(&lab, &project).target("app").fail()?;
    assert!(
        built.text.contains("digest") || built.text.contains("checksum"),
        "{}",
        built.text
    );
    Ok(())
}

#[test]
fn tiers_by_name_with_the_python_of_the_system() -> Result<()> {
    let Some(lab) = lab() else { return Ok(()) };
    let gpu = "tiers.devel = \"REGISTRY/nvidia/pytorch:25.09-py3\"";
    let project = Project::quickstart(&lab)?;
    let spec = small_spec(&lab, gpu, "provider = \"system\"", &uv_image(&lab));
    project.write(
        "wheelbase.toml",
        &spec.replace("tier = \"base\"", "tier = \"devel\""),
    )?;
    let (_, tree) = imports(&lab, &project)?;
    let python = &tree.entries["opt/venv/bin/python"];
    assert_eq!(python.target.as_deref(), Some("/usr/bin/python3.11"));
    assert!(!tree.has("opt/python"));
    Ok(())
}
