//! Questions that are not builds, and what the command line says of images that were really built.

use std::process::Command;

use anyhow::{Context as _, Result, ensure};

use crate::support::build::{Build, Built};
use crate::support::engine::{Engine, Lab, lab};
use crate::support::project::{Project, Release, SMALL, UNUSED};
use crate::support::unique;

/// A reference in the lab's registry that nobody has used.
fn unused(lab: &Lab) -> String {
    format!("{}/calls/{}:1", lab.registry, unique())
}

/// Builds `serve`, publishes it, and leaves nothing of it in the engine's own store.
fn push(lab: &Lab, project: &Project, reference: &str) -> Result<Built> {
    let built = Build::of(lab, project)
        .target("serve")
        .tag(reference)
        .arguments(&["--push"])
        .succeed();
    lab.engine().remove_image(reference);
    built
}

fn question<'a>(lab: &'a Lab, project: &Project, engine: &Engine, previous: &str) -> Build<'a> {
    let context = format!("previous={previous}");
    Build::of(lab, project).on(engine).arguments(&[
        "--call",
        "wheelbase.explain",
        "--build-context",
        &context,
    ])
}

/// What `docker buildx build --call wheelbase.explain` prints.
fn explained(lab: &Lab, project: &Project, previous: &str) -> Result<String> {
    let image = format!("docker-image://{previous}");
    let built = question(lab, project, &lab.engine(), &image)
        .target("serve")
        .succeed()?;
    ensure!(built.executed().is_empty(), "executed: {:?}", built.executed());
    Ok(built.answer)
}

/// What `wheelbase explain serve --previous` prints of a document.
fn compared(project: &Project, document: &str) -> Result<String> {
    project.write("previous.json", document)?;
    let output = Command::new(env!("CARGO_BIN_EXE_wheelbase"))
        .args(["explain", "serve", "--previous", "previous.json"])
        .current_dir(project)
        .output()?;
    ensure!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(String::from_utf8(output.stdout)?)
}

#[test]
fn the_questions_are_listed() -> Result<()> {
    let Some(lab) = lab() else { return Ok(()) };
    let project = Project::quickstart(&lab)?;
    for engine in [lab.engine(), lab.engine_of("20.10")] {
        let built = Build::of(&lab, &project)
            .on(&engine)
            .arguments(&["--call", "subrequests.describe"])
            .succeed()?;
        let names: Vec<&str> = built
            .answer
            .lines()
            .filter_map(|line| line.split_whitespace().next())
            .collect();
        assert_eq!(
            names,
            [
                "NAME",
                "subrequests.describe",
                "outline",
                "targets",
                "lint",
                "wheelbase.plan",
                "wheelbase.schema",
                "wheelbase.explain",
                "wheelbase.wheels"
            ]
        );
    }
    Ok(())
}

#[test]
fn a_bump_is_explained_before_it_is_built() -> Result<()> {
    let Some(lab) = lab() else { return Ok(()) };
    let (project, reference) = (Project::quickstart(&lab)?, unused(&lab));
    push(&lab, &project, &reference)?;
    assert_eq!(
        explained(&lab, &project, &reference)?,
        "image serve: nothing changes\n"
    );

    project.bump(&Release::of(&lab, UNUSED))?;
    assert_eq!(
        explained(&lab, &project, &reference)?,
        "image serve: nothing changes\n"
    );

    let release = Release::new(&lab, SMALL, "3.20")?;
    project.bump(&release)?;
    let name = release
        .file
        .file_name()
        .context("no file name")?
        .to_string_lossy();
    let version = name.split('-').nth(1).context("no version")?;
    assert_eq!(
        explained(&lab, &project, &reference)?,
        format!(
            "image serve: 1 of 18 stages change\n  \
             layer packages 2/4: idna 3.10 -> {version}, needed by serve > idna\n"
        )
    );
    // And so it is.
    let built = Build::of(&lab, &project).target("serve").succeed()?;
    let executed = built.executed();
    ensure!(
        matches!(executed.as_slice(), [only] if only.contains("idna")),
        "executed: {executed:?}\n{}",
        built.progress.runs()
    );

    let image = format!("docker-image://{reference}");
    let built = question(&lab, &project, &lab.engine_of("20.10"), &image)
        .target("serve")
        .succeed()?;
    ensure!(
        built.answer.contains(&format!("idna 3.10 -> {version}")),
        "{}",
        built.answer
    );
    Ok(())
}

#[test]
fn a_tag_of_a_tier_that_moves_is_seen() -> Result<()> {
    let Some(lab) = lab() else { return Ok(()) };
    let (project, reference, tier) = (Project::quickstart(&lab)?, unused(&lab), unused(&lab));
    let engine = lab.engine();
    let point_at = |flavour: &str| {
        let source = format!("{}/nvidia/cuda:13.0.2-{flavour}-ubuntu22.04", lab.registry);
        engine.output(&["buildx", "imagetools", "create", "--tag", &tier, &source])
    };
    point_at("base")?;
    project.spec("[gpu]\n", &format!("[gpu]\ntiers.base = \"{tier}\"\n"))?;
    let built = push(&lab, &project, &reference)?;
    assert_eq!(
        explained(&lab, &project, &reference)?,
        "image serve: nothing changes\n"
    );

    point_at("runtime")?;
    let said = explained(&lab, &project, &reference)?;
    let line = said
        .lines()
        .find(|line| line.starts_with("  tier base: "))
        .with_context(|| said.clone())?;
    let digests: Vec<&str> = line["  tier base: ".len()..].split(" -> ").collect();
    ensure!(
        matches!(digests.as_slice(), [old, new] if old != new && old.len() == 16 && new.len() == 16),
        "{said}"
    );
    ensure!(said.contains("  system base: because of tier base\n"), "{said}");
    // The command line asks no registry, and says so.
    let said = compared(&project, &built.metadata.to_string())?;
    assert_eq!(
        said,
        "image serve: nothing changes\n  taken as unchanged, since one of the plans knows no digest: \
         tier base, python image, uv, tier devel\n"
    );
    Ok(())
}

#[test]
fn what_cannot_be_compared_with_is_said() -> Result<()> {
    let Some(lab) = lab() else { return Ok(()) };
    let (project, engine) = (Project::quickstart(&lab)?, lab.engine());
    let plain = format!(
        "docker-image://{}/nvidia/cuda:13.0.2-base-ubuntu22.04",
        lab.registry
    );
    let missing = unused(&lab);
    let folder = project.path().join("config").display().to_string();
    for (previous, words) in [
        (
            plain.as_str(),
            "carries no plan: it has no label `dev.wheelbase.plan`",
        ),
        (
            &format!("docker-image://{missing}"),
            &format!("the previous image {missing} cannot be resolved"),
        ),
        (&folder, "`previous` is a folder, and it has to be an image"),
    ] {
        let built = question(&lab, &project, &engine, previous).fail()?;
        ensure!(built.text.contains(words), "{}", built.text);
    }
    let ask = |arguments: &[&str]| Build::of(&lab, &project).arguments(arguments).fail();
    let built = ask(&["--call", "wheelbase.explain"])?;
    ensure!(
        built.text.contains("--build-context previous=docker-image://"),
        "{}",
        built.text
    );
    let built = ask(&["--build-context", &format!("tier={plain}")])?;
    ensure!(
        built.text.contains("nothing uses the named context `tier`"),
        "{}",
        built.text
    );
    Ok(())
}

#[test]
fn every_document_that_a_client_prints_of_an_image_is_read() -> Result<()> {
    let Some(lab) = lab() else { return Ok(()) };
    let (project, reference, engine) = (Project::quickstart(&lab)?, unused(&lab), lab.engine());
    let built = push(&lab, &project, &reference)?;
    let inspect = ["buildx", "imagetools", "inspect", "--format"];
    let config = engine.output(&[&inspect[..], &["{{json .Image}}", &reference]].concat())?;
    // With provenance the reference is that of an index.
    let attested = unused(&lab);
    Build::of(&lab, &project)
        .target("serve")
        .tag(&attested)
        .arguments(&["--push", "--provenance=mode=min"])
        .succeed()?;
    engine.remove_image(&attested);
    let index = engine.output(&[&inspect[..], &["{{json .}}", &attested]].concat())?;
    ensure!(index.contains("\"manifests\""), "{index}");
    let of_index = engine.output(&[&inspect[..], &["{{json .Image}}", &attested]].concat())?;
    assert_eq!(
        explained(&lab, &project, &attested)?,
        "image serve: nothing changes\n"
    );
    engine.output(&["pull", "--quiet", &reference])?;
    let image = engine.output(&["image", "inspect", &reference]);
    engine.remove_image(&reference);

    project.bump(&Release::of(&lab, SMALL))?;
    for document in [built.metadata.to_string(), config, index, of_index, image?] {
        let said = compared(&project, &document)?;
        assert_eq!(
            said,
            "image serve: 1 of 18 stages change\n  \
             layer packages 2/4: idna 3.10 -> 3.20, needed by serve > idna\n  \
             taken as unchanged, since one of the plans knows no digest: tier base, python image, uv, tier devel\n",
            "{document}"
        );
    }
    Ok(())
}
