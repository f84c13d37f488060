//! A Cargo workspace with a wheel in it, that is built by maturin.

use std::process::Command;

use anyhow::{Context as _, Result, ensure};

use super::build::{Build, Built};
use super::engine::Lab;
use super::project::{Project, lab_file, serve_file};
use super::unique;

/// No compiler cache.
pub(crate) const UNCACHED: &str = "[compiler-cache]\ntool = \"none\"";

/// The step that compiles the wheel.
pub(crate) const STEP: &str = "[wheel app] compile";

/// A workspace of four crates in an image `app`: `app` is a program in a wheel, which needs `inner`, and `stamp` to be
/// built. Nothing needs `other`, which is no Rust. No build had the program before. `wheel` says how it is built, and `cache`
/// is the table of the compiler cache.
///
/// # Errors
///
/// When files cannot be written, or the lab has no Rust.
pub(crate) fn project(lab: &Lab, wheel: &str, cache: &str) -> Result<Project> {
    let project = Project::quickstart(lab)?;
    let member = |name: &str, more: &str| {
        project.write(
            &format!("crates/{name}/Cargo.toml"),
            &format!("[package]\nname = \"{name}\"\nversion = \"1.0.0\"\nedition = \"2021\"\n{more}"),
        )
    };
    project.write(
        "Cargo.toml",
        "[workspace]\nresolver = \"2\"\nmembers = [\"crates/*\"]\n[workspace.dependencies]\ninner = { path = \"crates/inner\" }\n",
    )?;
    member(
        "app",
        "[dependencies]\ninner.workspace = true\n[target.'cfg(unix)'.build-dependencies]\nstamp = { path = \"../stamp\" }\n",
    )?;
    member("inner", "")?;
    member("stamp", "")?;
    member("other", "[dependencies]\ninner.workspace = true\n")?;
    project.write(
        "Cargo.lock",
        "version = 4\n\n[[package]]\nname = \"app\"\nversion = \"1.0.0\"\ndependencies = [\n \"inner\",\n \"stamp\",\n]\n\n\
         [[package]]\nname = \"inner\"\nversion = \"1.0.0\"\n\n\
         [[package]]\nname = \"other\"\nversion = \"1.0.0\"\ndependencies = [\n \"inner\",\n]\n\n\
         [[package]]\nname = \"stamp\"\nversion = \"1.0.0\"\n",
    )?;
    project.write(
        "crates/app/build.rs",
        "fn main() { println!(\"cargo:rustc-env=STAMP={}\", stamp::VALUE); }\n",
    )?;
    project.write(
        "crates/app/src/main.rs",
        "fn main() { println!(\"{} {}\", inner::VALUE, env!(\"STAMP\")); }\n",
    )?;
    project.write("crates/stamp/src/lib.rs", "pub const VALUE: &str = \"stamp\";\n")?;
    project.write(
        "crates/inner/src/lib.rs",
        &format!("pub const VALUE: &str = \"{}\";\n", unique()),
    )?;
    project.write("crates/other/src/lib.rs", "this is no Rust\n")?;
    project.write(
        "crates/app/pyproject.toml",
        "[build-system]\nrequires = [\"maturin\"]\nbuild-backend = \"maturin\"\n[project]\nname = \"app\"\nversion = \"1.0\"\n\
         [tool.maturin]\nbindings = \"bin\"\n",
    )?;

    let maturin = lab_file(lab, "index/files", "maturin-")?;
    let name = maturin
        .file_name()
        .context("no name")?
        .to_string_lossy()
        .into_owned();
    let version = name.split('-').nth(1).context("no version")?;
    let (url, sha256) = serve_file(lab, &maturin)?;
    project.write(
        "uv.lock",
        &format!(
            "version = 1\nrevision = 3\nrequires-python = \"==3.11.*\"\n\n[[package]]\nname = \"maturin\"\nversion = \"{version}\"\n\
             source = {{ registry = \"{}/simple\" }}\nwheels = [\n    {{ url = \"{url}\", hash = \"sha256:{sha256}\" }},\n]\n",
            lab.index
        ),
    )?;
    let Lab {
        registry, frontend, ..
    } = lab;
    project.write(
        "wheelbase.toml",
        &format!(
            "# syntax={frontend}\nname = \"crates\"\n[gpu]\ncuda = \"13.0.2\"\nos = \"ubuntu22.04\"\nmirror = \"{registry}\"\n\
             tiers.devel = \"{registry}/wheelbase-lab/rust:{}\"\n\
             [python]\nversion = \"3.11\"\nprovider = {{ image = \"{registry}/wheelbase-lab/python:3.11\" }}\n\
             [uv]\nimage = \"{registry}/astral-sh/uv:0.13.9\"\n{cache}\n\
             [images.app]\ntier = \"base\"\nwheels = [\"app\"]\nentrypoint = [\"app\"]\n\
             [wheels.app]\narch = \"any\"\nneeds = [\"maturin\"]\n{wheel}\n",
            rust()?
        ),
    )?;
    Ok(project)
}

/// The version of this machine's Rust, which is that of the lab's image.
fn rust() -> Result<String> {
    let output = Command::new("rustc").arg("--version").output()?;
    let said = String::from_utf8(output.stdout)?;
    Ok(said
        .split(' ')
        .nth(1)
        .context("rustc tells no version")?
        .to_owned())
}

/// Builds, and runs the program.
///
/// # Errors
///
/// When one of both fails.
pub(crate) fn says(lab: &Lab, project: &Project) -> Result<(Built, String)> {
    let (engine, tag) = (lab.engine(), unique());
    let built = Build::of(lab, project)
        .target("app")
        .tag(&tag)
        .arguments(&["--load"])
        .succeed()?;
    let said = engine.run(&tag, &[], &[]);
    engine.remove_image(&tag);
    Ok((built, said?.trim().to_owned()))
}

/// What `inner` holds.
///
/// # Errors
///
/// When it cannot be read.
pub(crate) fn value(project: &Project) -> Result<String> {
    let text = project.read("crates/inner/src/lib.rs")?;
    let value = text.split('"').nth(1);
    ensure!(value.is_some(), "{text}");
    Ok(value.unwrap_or_default().to_owned())
}
