//! sccache in a cache mount, and over a server that moves, changes its password and goes away.

use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, ensure};

use crate::support::build::Built;
use crate::support::engine::lab;
use crate::support::progress::Vertex;
use crate::support::sccache::{again, build, counts, hits, project};
use crate::support::webdav::{WebDav, free_port};
use crate::support::{sccache, unique};

const STEP: &str = "[wheel vecadd] compile";

const REQUIRED: &str = "store = \"webdav\"\nrequire = true";

/// Nine of ten calls are hits.
fn assert_warm(built: &Built) -> Result<()> {
    let (hits, calls) = hits(built, "vecadd")?;
    ensure!(calls >= 4 && hits * 10 >= calls * 9, "{hits} of {calls} are hits");
    // The same wheel came out again, so nothing was installed again.
    ensure!(built.executed() == [STEP], "{:?}", built.executed());
    Ok(())
}

#[test]
fn a_cache_mount_answers_gcc_and_nvcc() -> Result<()> {
    let Some(lab) = lab() else { return Ok(()) };
    let project = project(&lab, "")?;
    let train = || crate::Build::of(&lab, &project).target("train");
    let cold = train().succeed()?;
    let counted = counts(&cold, "vecadd")?;
    // Two calls of g++; and nvcc's own steps are calls, two for each of two sources and two architectures.
    let misses = counted["misses"].as_u64().unwrap_or(0);
    assert!(
        counted["tool"] == "sccache" && counted["hits"] == 0 && misses >= 10,
        "{counted}"
    );
    again(&project)?;
    assert_warm(&train().succeed()?)
}

#[test]
fn a_store_may_move_and_change_its_password_and_nothing_is_built_again() -> Result<()> {
    let Some(lab) = lab() else { return Ok(()) };
    let mut server = WebDav::start()?;
    let project = project(&lab, REQUIRED)?;
    let cold = build(&lab, &project, &server.secret())?
        .target("train")
        .succeed()?;
    let counted = counts(&cold, "vecadd")?;
    assert!(counted["store"] == "webdav" && counted["hits"] == 0, "{counted}");
    let before = server.secret();
    server.move_away()?;
    let moved = build(&lab, &project, &server.secret())?
        .target("train")
        .succeed()?;
    assert_eq!(moved.executed(), [""; 0]);
    assert_ne!(before, server.secret());
    // What was kept at the old address is found at the new one.
    again(&project)?;
    assert_warm(
        &build(&lab, &project, &server.secret())?
            .target("train")
            .succeed()?,
    )
}

#[test]
fn nothing_of_a_store_is_in_the_image_or_in_what_is_said() -> Result<()> {
    let Some(lab) = lab() else { return Ok(()) };
    let server = WebDav::start()?;
    let project = project(&lab, REQUIRED)?;
    project.salt("rowmax")?;
    let folder = tempfile::tempdir()?;
    let image = folder.path().join("image.tar");
    // Uncompressed, so that a look at the bytes sees what layers hold, and with all that the builder can attest.
    let output = format!(
        "--output=type=oci,compression=uncompressed,force-compression=true,dest={}",
        image.display()
    );
    let built = build(&lab, &project, &server.secret())?
        .target("serve")
        .arguments(&[&output, "--provenance=mode=max"])
        .succeed()?;
    let counted = counts(&built, "rowmax")?;
    assert!(counted["store"] == "webdav", "{counted}");
    for word in [
        "dev.wheelbase.plan",
        "https://slsa.dev/provenance",
        "wheelbase/store",
    ] {
        assert!(
            holds(&image, word)?,
            "the image has no {word}, which it should have"
        );
    }
    let said = format!(
        "{}{}{}{:?}",
        built.progress.log(),
        built.text,
        built.metadata,
        built.progress
    );
    for secret in [server.password.as_str(), &format!("127.0.0.1:{}", server.port)] {
        assert!(!holds(&image, secret)?, "the image holds {secret}");
        assert!(!said.contains(secret), "{said}");
    }
    Ok(())
}

#[test]
fn a_required_store_that_is_gone_ends_the_build_before_the_first_compile() -> Result<()> {
    let Some(lab) = lab() else { return Ok(()) };
    let project = project(&lab, REQUIRED)?;
    let port = free_port()?;
    let password = unique();
    let secret = format!(
        "SCCACHE_WEBDAV_ENDPOINT=http://127.0.0.1:{port}/\nSCCACHE_WEBDAV_USERNAME=u\nSCCACHE_WEBDAV_PASSWORD={password}\n"
    );
    let failed = build(&lab, &project, &secret)?.target("train").fail()?;
    let step = failed.progress.named(STEP).context("the step did not run")?;
    let (start, end) = step.interval().context("the step did not end")?;
    assert!(end - start < 10.0, "{}", end - start);
    let words = "the webdav store of the compiler cache is required: nobody answers at the address in the secret `sccache`";
    assert!(step.log.contains(words), "{}", step.log);
    assert!(!step.log.contains("running build_ext"), "{}", step.log);
    let said = format!("{:?}{}", failed.progress, failed.text);
    assert!(
        !said.contains(&password) && !said.contains(&format!(":{port}")),
        "{said}"
    );

    // Without a secret it says which one is missing.
    let failed = crate::Build::of(&lab, &project).target("train").fail()?;
    let log = failed.progress.named(STEP).map(|step| step.log.as_str());
    assert!(
        log.is_some_and(|log| log.contains("the build has no secret `sccache`")),
        "{log:?}"
    );
    Ok(())
}

#[test]
fn a_wrong_password_is_told_apart_from_a_server_that_is_gone() -> Result<()> {
    let Some(lab) = lab() else { return Ok(()) };
    let server = WebDav::start()?;
    let project = project(&lab, REQUIRED)?;
    let wrong = server.secret().replace(&server.password, "wrong");
    let failed = build(&lab, &project, &wrong)?.target("train").fail()?;
    let log = failed.progress.named(STEP).map(|step| step.log.as_str());
    let words = "it refuses the credentials in the secret `sccache`";
    assert!(log.is_some_and(|log| log.contains(words)), "{log:?}");
    Ok(())
}

#[test]
fn without_a_store_that_is_not_required_the_build_goes_on_and_says_so() -> Result<()> {
    let Some(lab) = lab() else { return Ok(()) };
    let project = project(&lab, "store = \"webdav\"")?;
    let secret = format!("SCCACHE_WEBDAV_ENDPOINT=http://127.0.0.1:{}/\n", free_port()?);
    let built = build(&lab, &project, &secret)?.target("train").succeed()?;
    let counted = counts(&built, "vecadd")?;
    assert!(
        counted["unreached"] == true && counted["store"] == "mount",
        "{counted}"
    );
    let log = built
        .progress
        .named(STEP)
        .map_or("", |step: &Vertex| step.log.as_str());
    assert!(
        log.contains("WARNING: compiles without the webdav store"),
        "{log}"
    );
    let words = "wheel `vecadd` was compiled without the store of the compiler cache";
    let warnings = &built.progress.warnings;
    assert!(
        warnings.iter().any(|warning| warning.starts_with(words)),
        "{warnings:?}"
    );
    // Without its store the mount is still a cache.
    again(&project)?;
    assert_warm(
        &sccache::build(&lab, &project, &secret)?
            .target("train")
            .succeed()?,
    )
}

/// Whether a file holds a text anywhere.
fn holds(file: &Path, text: &str) -> Result<bool> {
    let mut command = Command::new("grep");
    command
        .args(["--text", "--quiet", "--fixed-strings", "-e", text])
        .arg(file);
    let status = command.status()?;
    ensure!(matches!(status.code(), Some(0 | 1)), "grep: {status}");
    Ok(status.success())
}
