//! `wheelbase wheels gc` on real registries: what it deletes, what it leaves, and who may.

use std::collections::BTreeSet;
use std::io::{Read as _, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, ensure};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::support::build::Build;
use crate::support::engine::{Lab, lab};
use crate::support::own_registry::{OwnRegistry, PASSWORD, USER, docker_config};
use crate::support::project::Project;
use crate::support::registry::Repository;
use crate::support::token_server::TokenServer;
use crate::support::unique;
use crate::support::wheel_store::{compiling, said, set_store, wheels, wheels_command};

/// The wheel that compiles soonest.
const WHEEL: &str = "markupsafe";

/// Pushes the wheel with a key that it had never before, and says under which tag.
fn push(
    lab: &Lab,
    project: &Project,
    repository: &Repository,
    before: &mut BTreeSet<String>,
) -> Result<String> {
    project.salt(WHEEL)?;
    wheels(lab, project, &["push", WHEEL])?;
    let spec = project.read("wheelbase.toml")?;
    // The next salt takes the place of this one.
    let kept: Vec<&str> = spec.lines().filter(|line| !line.contains("SALT")).collect();
    project.write("wheelbase.toml", &format!("{}\n", kept.join("\n")))?;
    let after = repository.tags()?;
    let new = after
        .difference(before)
        .find(|tag| tag.starts_with("markupsafe-"));
    let new = new.context("nothing was pushed")?.clone();
    *before = after;
    Ok(new)
}

/// Puts the wheel that was pushed last under another key too, as a list of its own: `gc` has something to delete after one
/// compile.
fn with_an_old_one(repository: &Repository) -> Result<String> {
    let (kind, text) = repository
        .manifest("markupsafe.linux-amd64")?
        .context("no wheel")?;
    let old = format!("markupsafe-{}", "0".repeat(64));
    // The same, and another digest.
    repository.put(&old, &kind, &format!("{text}\n"))?;
    Ok(old)
}

/// Runs a command on a terminal of its own. Once it has asked its question, what happens meanwhile happens, and the answer is
/// typed. Gives what the terminal shows, and whether the command succeeded.
fn on_terminal(
    command: &Command,
    answer: &str,
    meanwhile: impl FnOnce() -> Result<()>,
) -> Result<(String, bool)> {
    let mut terminal = Command::new("python3");
    terminal
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/support/answer.py"))
        .arg(command.get_program())
        .args(command.get_args())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    if let Some(folder) = command.get_current_dir() {
        terminal.current_dir(folder);
    }
    let mut child = terminal.spawn()?;
    let (mut input, mut output) = (
        child.stdin.take().context("no input")?,
        child.stdout.take().context("no output")?,
    );
    let mut shown = Vec::new();
    let mut piece = [0; 4096];
    while !String::from_utf8_lossy(&shown).contains("[y/N]") {
        match output.read(&mut piece)? {
            0 => break,
            length => shown.extend_from_slice(&piece[..length]),
        }
    }
    meanwhile()?;
    // A command that has asked nothing has ended.
    writeln!(input, "{answer}").ok();
    output.read_to_end(&mut shown)?;
    Ok((
        String::from_utf8_lossy(&shown).into_owned(),
        child.wait()?.success(),
    ))
}

/// The digests of all that a manifest names, its own members.
fn members(text: &str) -> Result<Vec<String>> {
    let list: Value = serde_json::from_str(text)?;
    let members = list["manifests"].as_array().context("no list")?.iter();
    Ok(members
        .filter_map(|member| Some(member["digest"].as_str()?.to_owned()))
        .collect())
}

#[test]
fn what_is_needed_stays() -> Result<()> {
    let Some(lab) = lab() else { return Ok(()) };
    let project = Project::quickstart(&lab)?;
    let name = unique();
    let repository = Repository::of(&lab.registry, &name);
    set_store(&project, &format!("{}/{name}", lab.registry), false)?;
    let mut tags = BTreeSet::new();
    let pinned = push(&lab, &project, &repository, &mut tags)?;
    let old = push(&lab, &project, &repository, &mut tags)?;
    // What the last push leaves in the spec is the spec as it is now.
    project.salt(WHEEL)?;
    wheels(&lab, &project, &["push", WHEEL])?;
    // Somebody has a name for the first one, and an image of their own beside it.
    let (kind, text) = repository.manifest(&pinned)?.context("the first one is gone")?;
    repository.put("stable", &kind, &text)?;
    let other = format!("{}/wheelbase-lab/python:3.11", lab.registry);
    let app = format!("{}/{name}:app", lab.registry);
    lab.engine()
        .output(&["buildx", "imagetools", "create", "--tag", &app, &other])?;
    let all = repository.tags()?;
    ensure!(all.len() == 6, "{all:?}");
    let below = members(&repository.manifest(&old)?.context("the second one is gone")?.1)?;
    ensure!(!below.is_empty(), "the second one is no list");

    let gc = |arguments: &[&str]| wheels(&lab, &project, &[&["gc"], arguments].concat());
    // With nothing to delete there is no question.
    let young = gc(&[])?;
    ensure!(
        young.contains("0 of 4 tags deleted") && young.contains("pushed within 30d"),
        "{young}"
    );
    let dry = gc(&["--dry-run", "--keep-within", "0s"])?;
    ensure!(dry.contains("1 of 4 tags would be deleted"), "{dry}");
    ensure!(repository.tags()? == all, "a dry run deletes");
    let dry = gc(&["--dry-run", "--force", "--keep-within", "0s"])?;
    ensure!(dry.contains("1 of 4 tags would be deleted"), "{dry}");
    ensure!(repository.tags()? == all, "a dry run with --force deletes");

    let told: Value = serde_json::from_str(&gc(&["--keep-within", "0s", "--force", "--format", "json"])?)?;
    ensure!(told["foreign"] == json!(["app", "stable"]), "{told:#}");
    let undated = told["tags"]
        .as_array()
        .into_iter()
        .flatten()
        .any(|tag| tag["pushed"].is_null());
    ensure!(!undated, "{told:#}");
    let mut left = all;
    left.remove(&old);
    ensure!(repository.tags()? == left, "{told:#}");
    // The list is gone and so is what only it named.
    for digest in told["deleted"].as_array().into_iter().flatten() {
        let digest = digest.as_str().context("no digest")?;
        ensure!(repository.manifest(digest)?.is_none(), "{digest} is still there");
    }
    for digest in &below {
        ensure!(repository.manifest(digest)?.is_none(), "{digest} is still there");
    }
    ensure!(told["freed"].as_u64() > Some(1_000), "{told:#}");
    ensure!(
        gc(&["--keep-within", "0s", "--force"])?.contains("0 of 3 tags deleted"),
        "it finds more"
    );

    // All that the list of today names is there: the builder has to pull it.
    let engine = lab.engine();
    let tag = unique();
    let built = Build::of(&lab, &project)
        .target("serve")
        .tag(&tag)
        .arguments(&["--load"])
        .succeed()?;
    let said = engine.run(
        &tag,
        &["--entrypoint", "python"],
        &["-c", "import markupsafe; print('there')"],
    );
    engine.remove_image(&tag);
    ensure!(said?.trim() == "there", "the wheel is not in the image");
    ensure!(
        !compiling(&built).contains(&"[wheel markupsafe] compile"),
        "it was compiled"
    );
    Ok(())
}

#[test]
fn nothing_is_deleted_that_nobody_has_agreed_to() -> Result<()> {
    let Some(lab) = lab() else { return Ok(()) };
    let project = Project::quickstart(&lab)?;
    let name = unique();
    let repository = Repository::of(&lab.registry, &name);
    set_store(&project, &format!("{}/{name}", lab.registry), false)?;
    wheels(&lab, &project, &["push", WHEEL])?;
    let old = with_an_old_one(&repository)?;
    let all = repository.tags()?;
    let gc = || wheels_command(&lab, &project, &["gc", "--keep-within", "0s"]);

    // Without a terminal, as in a job.
    let output = gc().stdin(Stdio::null()).output()?;
    let complaint = String::from_utf8_lossy(&output.stderr);
    let last = complaint.lines().last().unwrap_or_default();
    ensure!(
        !output.status.success() && output.stdout.is_empty(),
        "{output:?} instead of a failure"
    );
    ensure!(
        last.contains("nothing was deleted") && last.contains("1 of its tags") && last.contains("--force"),
        "{complaint}"
    );
    ensure!(repository.tags()? == all, "it was deleted without a terminal");

    // A yes that comes through a pipe is none: `yes | wheelbase wheels gc` asks nobody.
    let mut child = gc().stdin(Stdio::piped()).stderr(Stdio::null()).spawn()?;
    // It may have ended before it is told.
    child.stdin.take().context("no input")?.write_all(b"y\n").ok();
    ensure!(!child.wait()?.success(), "it took an answer from a pipe");
    ensure!(repository.tags()? == all, "it was deleted by a pipe");

    // On a terminal: what would go is shown, and the question answered.
    let (said, succeeded) = on_terminal(&gc(), "n", || Ok(()))?;
    ensure!(succeeded, "a no is no failure: {said}");
    for words in [
        "1 of 3 tags would be deleted",
        "Are you sure? [y/N]",
        "nothing was deleted",
    ] {
        ensure!(said.contains(words), "{words}: {said}");
    }
    ensure!(repository.tags()? == all, "it was deleted after a no");

    // Somebody gives it a name before the answer is there.
    let (kind, text) = repository.manifest(&old)?.context("the old one is gone")?;
    let (said, succeeded) = on_terminal(&gc(), "y", || repository.put("stable", &kind, &text))?;
    ensure!(
        !succeeded && said.contains("has changed since it was shown"),
        "{said}"
    );
    let mut all = repository.tags()?;
    ensure!(
        all.contains(&old) && all.contains("stable"),
        "it was deleted under another name: {all:?}"
    );

    let another = format!("markupsafe-{}", "1".repeat(64));
    repository.put(&another, &kind, &format!("{text}\n"))?;
    let (said, succeeded) = on_terminal(&gc(), "y", || Ok(()))?;
    ensure!(succeeded, "{said}");
    ensure!(said.contains("1 of 4 tags deleted"), "{said}");
    all.remove(&another);
    let left = all;
    ensure!(repository.tags()? == left, "it is still there: {said}");
    Ok(())
}

#[test]
fn a_registry_that_does_not_delete_says_so_before_anything_is_gone() -> Result<()> {
    let Some(lab) = lab() else { return Ok(()) };
    let project = Project::quickstart(&lab)?;
    let registry = OwnRegistry::start(&lab, false, &Value::Null)?;
    set_store(&project, &format!("{}/wheels", registry.host), false)?;
    wheels(&lab, &project, &["push", WHEEL])?;
    let repository = Repository::of(&registry.host, "wheels");
    with_an_old_one(&repository)?;
    let tags = repository.tags()?;
    let refused = wheels(&lab, &project, &["gc", "--keep-within", "0s", "--force"]).unwrap_err();
    let refused = format!("{refused:#}");
    for words in [
        "/wheels does not delete: 405 UNSUPPORTED",
        "nothing was deleted",
        "under `storage`",
    ] {
        ensure!(refused.contains(words), "{refused}");
    }
    ensure!(repository.tags()? == tags, "something was deleted");
    // A dry run asks for nothing that is refused.
    wheels(&lab, &project, &["gc", "--keep-within", "0s", "--dry-run"])?;
    Ok(())
}

#[test]
fn credentials_are_those_of_docker() -> Result<()> {
    let Some(lab) = lab() else { return Ok(()) };
    let project = Project::quickstart(&lab)?;
    let users = tempfile::tempdir()?;
    let registry = OwnRegistry::with_password(&lab, users.path())?;
    set_store(&project, &format!("{}/wheels", registry.host), false)?;
    let auth = STANDARD.encode(format!("{USER}:{PASSWORD}"));
    let config = docker_config(&json!({ "auths": { (&*registry.host): { "auth": auth } } }))?;
    let run = |arguments: &[&str], config: &Path| {
        let mut command = wheels_command(&lab, &project, arguments);
        let path = format!("{}:{}", config.display(), std::env::var("PATH")?);
        said(command.env("DOCKER_CONFIG", config).env("PATH", path))
    };
    run(&["push", WHEEL], config.path())?;
    let swept = run(&["gc", "--keep-within", "0s"], config.path())?;
    ensure!(swept.contains("0 of 2 tags deleted"), "{swept}");

    // The same from a helper.
    let folder = docker_config(&json!({ "credHelpers": { (&*registry.host): "lab" } }))?;
    let helper = folder.path().join("docker-credential-lab");
    let answer = json!({ "ServerURL": registry.host, "Username": USER, "Secret": PASSWORD });
    std::fs::write(
        &helper,
        format!(
            "#!/bin/sh\nread -r server\n[ \"$1 $server\" = 'get {}' ] && echo '{answer}'\n",
            registry.host
        ),
    )?;
    std::fs::set_permissions(&helper, std::os::unix::fs::PermissionsExt::from_mode(0o755))?;
    let swept = run(&["gc", "--keep-within", "0s"], folder.path())?;
    ensure!(swept.contains("0 of 2 tags deleted"), "{swept}");
    Ok(())
}

#[test]
fn a_token_is_asked_for_what_is_to_be_done() -> Result<()> {
    let Some(lab) = lab() else { return Ok(()) };
    let project = Project::quickstart(&lab)?;
    let server = TokenServer::start(&[
        ("builder", "password-of-builder", &["pull", "push"]),
        ("keeper", "password-of-keeper", &["pull", "push", "delete"]),
    ])?;
    let registry = OwnRegistry::start(&lab, true, &server.auth())?;
    set_store(&project, &format!("{}/team/wheels", registry.host), false)?;
    let run = |user: &str, arguments: &[&str]| {
        let auth = STANDARD.encode(format!("{user}:password-of-{user}"));
        let config = docker_config(&json!({ "auths": { (&*registry.host): { "auth": auth } } }))?;
        said(wheels_command(&lab, &project, arguments).env("DOCKER_CONFIG", config.path()))
    };
    run("builder", &["push", WHEEL])?;
    project.salt(WHEEL)?;
    run("builder", &["push", WHEEL])?;
    let gc = ["gc", "--keep-within", "0s", "--force"];
    let refused = format!("{:#}", run("builder", &gc).unwrap_err());
    for words in [
        "does not let you delete",
        "nothing was deleted",
        "docker login 127.0.0.1:",
    ] {
        ensure!(refused.contains(words), "{refused}");
    }
    ensure!(!refused.contains("password-of"), "{refused}");
    let swept = run("keeper", &gc)?;
    ensure!(swept.contains("1 of 3 tags deleted"), "{swept}");
    ensure!(
        run("builder", &gc)?.contains("0 of 2 tags deleted"),
        "it is still there"
    );
    Ok(())
}
