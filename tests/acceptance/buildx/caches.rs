//! Rows of the table of options that are about caches elsewhere: what is written there, and what an emptied engine takes of it.

use anyhow::{Context as _, Result, bail, ensure};

use super::table::{self, Cell, Row, works};
use crate::Claim;
use crate::support::build::{Build, Built};
use crate::support::engine::{Engine, Lab};
use crate::support::listing;
use crate::support::probe;
use crate::support::project::Project;
use crate::support::registry::{Repository, raw};
use crate::support::unique;

const ROWS: &[Row] = &[
    Row {
        option: "`--cache-from`",
        measure: cache_from,
    },
    Row {
        option: "`--cache-to type=registry,mode=max`",
        measure: registry,
    },
    Row {
        option: "`--cache-to type=local,mode=max`",
        measure: local,
    },
    Row {
        option: "`--cache-to type=inline`",
        measure: inline,
    },
    Row {
        option: "`--cache-to type=s3`",
        measure: s3,
    },
];

pub(crate) fn claims() -> Vec<Claim> {
    table::claims(ROWS)
}

/// A wheel that no build had before.
fn wheel(lab: &Lab) -> Result<Project> {
    let project = listing::project(lab, &[])?;
    project.write("salt.txt", &unique())?;
    Ok(project)
}

/// A build of it.
fn build<'a>(lab: &'a Lab, project: &Project, engine: &Engine) -> Build<'a> {
    // An engine may have an older tier of the same tag in its own store.
    Build::of(lab, project)
        .on(engine)
        .target(listing::WHEEL)
        .arguments(&["--pull"])
}

/// Whether the client or the engine refuses a cache by its name; an error where it failed otherwise.
fn refused(built: &Built) -> Result<bool> {
    const WORDS: [&str; 2] = ["Cache export is not supported", "unknown cache exporter"];
    if built.success {
        return Ok(false);
    }
    let said = format!("{}{}", built.text, built.progress.failures());
    ensure!(
        WORDS.iter().any(|words| said.contains(words)),
        "it failed otherwise: {said}"
    );
    Ok(true)
}

/// The engine forgets everything and builds with a cache; gives what the compile said when it ran.
fn emptied(engine: &Engine, build: Build<'_>, from: &str) -> Result<Option<String>> {
    engine.output(&["builder", "prune", "--all", "--force"])?;
    let taken = build.arguments(&["--cache-from", from]).succeed()?;
    let importing = |name: &str| name.starts_with("importing cache manifest from ");
    ensure!(
        taken
            .progress
            .vertices
            .iter()
            .any(|vertex| importing(&vertex.name)),
        "the cache was not read: {:?}",
        taken.executed()
    );
    let mut vertices = taken.progress.vertices.iter();
    let ran = vertices.find(|vertex| vertex.name.ends_with("] compile") && vertex.spoke());
    Ok(ran.map(|vertex| vertex.log.clone()))
}

/// Whether the config of an image in the registry has a cache in it, as BuildKit puts it there.
fn carries_cache(lab: &Lab, reference: &str) -> Result<bool> {
    let manifest = raw(&lab.engine(), reference)?;
    let digest = manifest["config"]["digest"].as_str().context("no config")?;
    let path = reference.split_once('/').map(|(_, path)| path);
    let name = path.and_then(|path| path.rsplit_once(':')).context("no tag")?.0;
    let config = Repository::of(&lab.registry, name).json(digest)?;
    Ok(config["moby.buildkit.cache.v0"].is_string())
}

fn registry(lab: &Lab, engine: &Engine) -> Result<Cell> {
    let reference = format!("{}/flags/{}:cache", lab.registry, unique());
    let to = format!("type=registry,ref={reference},mode=max");
    let built = build(lab, &wheel(lab)?, engine)
        .arguments(&["--cache-to", &to])
        .run()?;
    if refused(&built)? {
        return Ok(Cell::SaysNo);
    }
    let manifest = raw(&lab.engine(), &reference)?;
    works(
        manifest.to_string().contains("cacheconfig"),
        &manifest.to_string(),
    )
}

fn local(lab: &Lab, engine: &Engine) -> Result<Cell> {
    let (project, folder) = (wheel(lab)?, Project::empty()?);
    let folder = folder.path().join("cache");
    let built = build(lab, &project, engine)
        .arguments(&[
            "--cache-to",
            &format!("type=local,dest={},mode=max", folder.display()),
        ])
        .run()?;
    if refused(&built)? {
        return Ok(Cell::SaysNo);
    }
    let from = format!("type=local,src={}", folder.display());
    match emptied(engine, build(lab, &project, engine), &from)? {
        Some(log) => bail!("it compiles again: {log}"),
        None => Ok(Cell::Works),
    }
}

/// The cache in an image has the steps of its layers, and not what the layers were made from; the compile of a wheel is known
/// by the layer with its files.
fn inline(lab: &Lab, engine: &Engine) -> Result<Cell> {
    let project = wheel(lab)?;
    let reference = format!("{}/flags/{}:inline", lab.registry, unique());
    let output = format!("--output=type=image,name={reference},push=true");
    let built = build(lab, &project, engine)
        .arguments(&["--cache-to", "type=inline", &output])
        .run()?;
    if refused(&built)? {
        return Ok(Cell::SaysNo);
    }
    engine.remove_image(&reference);
    if engine.name == "20.10" {
        // Emptied, it would fetch its tiers for a minute.
        return works(carries_cache(lab, &reference)?, "the image carries no cache");
    }
    let from = format!("type=registry,ref={reference}");
    match emptied(engine, build(lab, &project, engine), &from)? {
        Some(_) => Ok(Cell::FallsBack),
        None => Ok(Cell::Works),
    }
}

/// Nothing is written: an engine that has such caches looks for the bucket, and one that has none refuses the name.
fn s3(lab: &Lab, engine: &Engine) -> Result<Cell> {
    let to = "type=s3,region=a,bucket=b,endpoint_url=http://127.0.0.1:9,access_key_id=c,secret_access_key=d";
    let project = listing::project(lab, &[])?;
    let built = Build::of(lab, &project)
        .on(engine)
        .target("plain")
        .arguments(&["--cache-to", to])
        .run()?;
    let refused = refused(&built).context("the engine has such a cache, and no row measures it")?;
    ensure!(refused, "it was written");
    Ok(Cell::SaysNo)
}

/// An engine pushes its cache, forgets everything, and takes it from there. 20.10 pushes none: it reads that of another
/// engine, which has other keys for steps with cache mounts.
fn cache_from(lab: &Lab, engine: &Engine) -> Result<Cell> {
    let project = probe::project(lab)?;
    let salt = format!("SALT={}", unique());
    let is_old = engine.name == "20.10";
    let writer = if is_old {
        lab.engine_of("28.5")
    } else {
        engine.clone()
    };
    let reference = format!("{}/flags/{}:cache", lab.registry, unique());
    let build = |engine: &Engine| {
        // An engine may have an older tier of the same tag in its own store.
        Build::of(lab, &project)
            .on(engine)
            .arguments(&["--build-arg", &salt, "--pull"])
    };
    let to = format!("type=registry,ref={reference},mode=max");
    build(&writer).arguments(&["--cache-to", &to]).succeed()?;
    if !is_old {
        engine.output(&["builder", "prune", "--all", "--force"])?;
    }
    let from = format!("type=registry,ref={reference}");
    let warm = build(engine).arguments(&["--cache-from", &from]).succeed()?;
    let read = format!("importing cache manifest from {reference}");
    ensure!(
        warm.progress.named(&read).is_some(),
        "the cache was not read: {:?}",
        warm.executed()
    );
    if is_old {
        return Ok(Cell::FallsBack);
    }
    let mut vertices = warm.progress.vertices.iter();
    if let Some(compile) = vertices.find(|vertex| vertex.name.ends_with("] compile") && vertex.spoke()) {
        bail!("it runs {}: {}", compile.name, compile.log);
    }
    Ok(Cell::Works)
}
