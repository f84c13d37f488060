//! sccache in a cache mount, and over a server that moves, changes its password and goes away.

use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, ensure};

use crate::support::build::Built;
use crate::support::engine::lab;
use crate::support::progress::Vertex;
use crate::support::sccache::{again, build, counts, hits, project};
use crate::support::store::Store;

const STEP: &str = "[wheel vecadd] compile";

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

/// A store that moves and whose password changes rebuilds nothing, and what it held is found at its new place.
fn moves(kind: &'static str) -> Result<()> {
    let Some(lab) = lab() else { return Ok(()) };
    let mut store = Store::start(kind)?;
    let project = project(&lab, &store.required())?;
    let cold = build(&lab, &project, &store.secret())?
        .target("train")
        .succeed()?;
    let counted = counts(&cold, "vecadd")?;
    assert!(counted["store"] == kind && counted["hits"] == 0, "{counted}");
    let before = store.secret();
    store.move_away()?;
    assert_ne!(before, store.secret());
    let moved = build(&lab, &project, &store.secret())?
        .target("train")
        .succeed()?;
    assert_eq!(moved.executed(), [""; 0]);
    again(&project)?;
    assert_warm(
        &build(&lab, &project, &store.secret())?
            .target("train")
            .succeed()?,
    )
}

#[test]
fn a_webdav_store_may_move_and_change_its_password_and_nothing_is_built_again() -> Result<()> {
    moves("webdav")
}

#[test]
fn a_redis_store_may_move_and_change_its_password_and_nothing_is_built_again() -> Result<()> {
    moves("redis")
}

#[test]
fn an_s3_store_may_move_and_change_its_key_and_nothing_is_built_again() -> Result<()> {
    moves("s3")
}

/// nvcc is split into its steps, and those of an architecture are their own.
#[test]
fn one_architecture_of_two_is_answered() -> Result<()> {
    let Some(lab) = lab() else { return Ok(()) };
    let project = project(&lab, "")?;
    let train = || crate::Build::of(&lab, &project).target("train");
    train().succeed()?;
    project.spec("[\"8.0\", \"9.0\"]", "[\"9.0\"]")?;
    let built = train().succeed()?;
    assert!(built.executed().contains(&STEP), "{:?}", built.executed());
    let (hits, calls) = hits(&built, "vecadd")?;
    // All but the host's part of each of two sources, which holds the code of all architectures.
    assert!(calls >= 8 && calls - hits <= 2, "{hits} of {calls} are hits");
    Ok(())
}

#[test]
fn nothing_of_a_store_is_in_the_image_or_in_what_is_said() -> Result<()> {
    let Some(lab) = lab() else { return Ok(()) };
    let store = Store::start("webdav")?;
    let project = project(&lab, &store.required())?;
    project.salt("rowmax")?;
    let folder = tempfile::tempdir()?;
    let image = folder.path().join("image.tar");
    // Uncompressed, so that a look at the bytes sees what layers hold, and with all that the builder can attest.
    let output = format!(
        "--output=type=oci,compression=uncompressed,force-compression=true,dest={}",
        image.display()
    );
    let built = build(&lab, &project, &store.secret())?
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
    for secret in [store.password.as_str(), &format!("127.0.0.1:{}", store.port)] {
        assert!(!holds(&image, secret)?, "the image holds {secret}");
        assert!(!said.contains(secret), "{said}");
    }
    Ok(())
}

#[test]
fn a_required_store_that_is_gone_ends_the_build_before_the_first_compile() -> Result<()> {
    let Some(lab) = lab() else { return Ok(()) };
    for kind in ["webdav", "s3", "redis", "gha"] {
        let store = Store::gone(kind)?;
        let project = project(&lab, &store.required())?;
        let failed = build(&lab, &project, &store.secret())?.target("train").fail()?;
        let step = failed.progress.named(STEP).context("the step did not run")?;
        let (start, end) = step.interval().context("the step did not end")?;
        // sccache waits 10 seconds for a Redis.
        assert!(end - start < 15.0, "{kind}: {} s", end - start);
        let words = format!("the {kind} store of the compiler cache is required: nobody answers ");
        assert!(step.log.contains(&words), "{}", step.log);
        assert!(!step.log.contains("running build_ext"), "{}", step.log);
        let said = format!("{:?}{}", failed.progress, failed.text);
        let place = format!(":{}", store.port);
        assert!(
            !said.contains(&store.password) && !said.contains(&place),
            "{said}"
        );
    }
    Ok(())
}

#[test]
fn a_required_store_without_its_secret_says_which_one_is_missing() -> Result<()> {
    let Some(lab) = lab() else { return Ok(()) };
    let project = project(&lab, &Store::gone("webdav")?.required())?;
    let failed = crate::Build::of(&lab, &project).target("train").fail()?;
    let log = failed.progress.named(STEP).map(|step| step.log.as_str());
    let words = "the build has no secret `sccache`";
    assert!(log.is_some_and(|log| log.contains(words)), "{log:?}");
    // What is no variable of the store is named by its line, and not repeated.
    let secret = "SCCACHE_WEBDAV_ENDPOINT=http://127.0.0.1:1/\nPASSWORD=hidden\n";
    let failed = build(&lab, &project, secret)?.target("train").fail()?;
    let log = failed.progress.named(STEP).map_or("", |step| step.log.as_str());
    let words = "line 2 of the secret `sccache` is no variable of a webdav store";
    assert!(log.contains(words) && !log.contains("hidden"), "{log}");
    Ok(())
}

#[test]
fn a_wrong_password_is_told_apart_from_a_store_that_is_gone() -> Result<()> {
    let Some(lab) = lab() else { return Ok(()) };
    // sccache does not tell what Redis says when it refuses.
    for (kind, words) in [
        ("webdav", "it refuses the credentials in the secret `sccache`"),
        ("s3", "it refuses the credentials in the secret `sccache`"),
        (
            "redis",
            "nobody answers in time at the address in the secret `sccache`, or not to its credentials",
        ),
    ] {
        let store = Store::start(kind)?;
        let project = project(&lab, &store.required())?;
        let wrong = store.secret().replace(&store.password, "wrong");
        let failed = build(&lab, &project, &wrong)?.target("train").fail()?;
        let log = failed.progress.named(STEP).map(|step| step.log.as_str());
        assert!(log.is_some_and(|log| log.contains(words)), "{kind}: {log:?}");
    }
    Ok(())
}

/// There is no server of Actions' cache here; nginx refuses any token, and notes what it was asked for.
#[test]
fn the_cache_of_actions_is_asked_in_the_protocol_of_its_address() -> Result<()> {
    let Some(lab) = lab() else { return Ok(()) };
    let server = Store::start("webdav")?;
    let project = project(&lab, "store = \"gha\"\nrequire = true")?;
    for (variable, asked) in [
        (
            "ACTIONS_RESULTS_URL",
            "POST /twirp/github.actions.results.api.v1.CacheService/GetCacheEntryDownloadURL HTTP",
        ),
        (
            "ACTIONS_CACHE_URL",
            "GET /_apis/artifactcache/cache?keys=sccache/.sccache_check&version=sccache-v0.16.0-",
        ),
    ] {
        assert!(!server.answered(&lab)?.contains(asked));
        let token = &server.password;
        let secret = format!(
            "{variable}=http://127.0.0.1:{}/\nACTIONS_RUNTIME_TOKEN={token}\n",
            server.port
        );
        let failed = build(&lab, &project, &secret)?.target("train").fail()?;
        let log = failed.progress.named(STEP).map_or("", |step| step.log.as_str());
        let words = "the gha store of the compiler cache is required: it refuses the credentials";
        assert!(log.contains(words) && !log.contains(token), "{log}");
        let answered = server.answered(&lab)?;
        assert!(answered.contains(asked), "{answered}");
    }
    Ok(())
}

#[test]
fn without_a_store_that_is_not_required_the_build_goes_on_and_says_so() -> Result<()> {
    let Some(lab) = lab() else { return Ok(()) };
    let project = project(&lab, "store = \"webdav\"")?;
    let secret = Store::gone("webdav")?.secret();
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
    let words = "CompilerCacheUnreached: wheel `vecadd` was compiled without the store of the compiler cache";
    let warnings = &built.progress.warnings;
    assert!(
        warnings.iter().any(|warning| warning.starts_with(words)),
        "{warnings:?}"
    );
    // Without its store the mount is still a cache.
    again(&project)?;
    assert_warm(&build(&lab, &project, &secret)?.target("train").succeed()?)
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
