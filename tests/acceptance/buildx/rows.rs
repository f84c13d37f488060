//! Options of builds and steps, each tried on each engine: the rows of docs/reference/buildx.md that are theirs.

use anyhow::{Result, bail, ensure};
use serde_json::Value;

use super::table::{self, Cell, Row};
use crate::Claim;
use crate::support::build::{Build, Built};
use crate::support::engine::{Engine, Lab};
use crate::support::probe::{Way, project};
use crate::support::project::Project;
use crate::support::registry::raw;
use crate::support::unique;

const ROWS: &[Row] = &[
    Row {
        option: "`--build-arg`",
        measure: build_arg,
    },
    Row {
        option: "`--label`",
        measure: label,
    },
    Row {
        option: "`--annotation`",
        measure: annotation,
    },
    Row {
        option: "`--add-host`",
        measure: add_host,
    },
    Row {
        option: "`--network none`",
        measure: network_none,
    },
    Row {
        option: "`--ulimit`",
        measure: ulimit,
    },
    Row {
        option: "`--shm-size`",
        measure: shm_size,
    },
    Row {
        option: "`--cgroup-parent`",
        measure: cgroup_parent,
    },
    Row {
        option: "`--build-arg BUILDKIT_SANDBOX_HOSTNAME`",
        measure: hostname,
    },
    Row {
        option: "`--build-arg BUILDKIT_CACHE_MOUNT_NS`",
        measure: cache_namespace,
    },
    Row {
        option: "`--build-arg SOURCE_DATE_EPOCH`",
        measure: epoch,
    },
    Row {
        option: "`--build-arg BUILDKIT_MULTI_PLATFORM`",
        measure: multi_platform,
    },
    Row {
        option: "`--build-arg HTTP_PROXY` and other proxies",
        measure: proxies,
    },
    Row {
        option: "`--no-cache`",
        measure: no_cache,
    },
    Row {
        option: "`--no-cache-filter`",
        measure: no_cache_filter,
    },
    Row {
        option: "`--pull`",
        measure: pull,
    },
    Row {
        option: "`--secret`",
        measure: secret,
    },
];

pub(crate) fn claims() -> Vec<Claim> {
    table::claims(ROWS)
}

/// Builds with flags; the step has to see this value. An engine that refuses has to say which version is needed.
fn seen(lab: &Lab, engine: &Engine, flags: &[&str], name: &str, value: &str) -> Result<Cell> {
    let project = project(lab)?;
    let built = Way::Spec.build(lab, &project, engine, flags).run()?;
    if !built.success {
        return refused(&built, flags);
    }
    let sight = Way::Spec.sight(&built)?;
    let saw = sight.get(name).map_or("", String::as_str);
    ensure!(saw == value, "the step saw {name} {saw:?}, and not {value:?}");
    Ok(Cell::Works)
}

fn refused(built: &Built, flags: &[&str]) -> Result<Cell> {
    let flag = flags.first().copied().unwrap_or_default();
    ensure!(
        built.text.contains(&format!("{flag} needs BuildKit")) && built.text.contains("update Docker to"),
        "it failed otherwise: {}",
        built.text
    );
    Ok(Cell::SaysNo)
}

/// What an image in the engine's own store says of itself.
fn inspected(lab: &Lab, project: &Project, engine: &Engine, flags: &[&str]) -> Result<Value> {
    let tag = unique();
    let built = Way::Spec
        .build(lab, project, engine, flags)
        .tag(&tag)
        .arguments(&["--load"])
        .succeed();
    let text = built.and_then(|_| engine.output(&["image", "inspect", &tag]));
    engine.remove_image(&tag);
    let all: Value = serde_json::from_str(&text?)?;
    Ok(all[0].clone())
}

fn build_arg(lab: &Lab, engine: &Engine) -> Result<Cell> {
    seen(
        lab,
        engine,
        &["--build-arg", "GREETING=good day"],
        "greeting",
        "good day",
    )
}

fn label(lab: &Lab, engine: &Engine) -> Result<Cell> {
    let flags = ["--label", "both=client", "--label", "only=a=b"];
    let image = inspected(lab, &project(lab)?, engine, &flags)?;
    let labels = &image["Config"]["Labels"];
    ensure!(labels["both"] == "client" && labels["only"] == "a=b", "{labels}");
    ensure!(
        labels["org.opencontainers.image.title"] == "probe hello",
        "{labels}"
    );
    Ok(Cell::Works)
}

/// Pushes an image and gives what the registry has: an index or a manifest.
fn pushed(lab: &Lab, engine: &Engine, flags: &[&str]) -> Result<Result<Value, Built>> {
    let reference = format!("{}/flags/{}:1", lab.registry, unique());
    let output = format!("--output=type=image,name={reference},push=true");
    let built = Way::Spec
        .build(lab, &project(lab)?, engine, flags)
        .arguments(&[&output])
        .run()?;
    if !built.success {
        return Ok(Err(built));
    }
    let manifest = raw(&lab.engine(), &reference)?;
    engine.remove_image(&reference);
    Ok(Ok(manifest))
}

fn annotation(lab: &Lab, engine: &Engine) -> Result<Cell> {
    let flags = ["--annotation", "org.opencontainers.image.description=a probe"];
    match pushed(lab, engine, &flags)? {
        Ok(manifest) => {
            let note = &manifest["annotations"]["org.opencontainers.image.description"];
            if *note == "a probe" {
                return Ok(Cell::Works);
            }
            ensure!(note.is_null(), "{manifest}");
            // An engine that knows none leaves it out; that is not for a frontend to see.
            Ok(Cell::FallsBack)
        }
        Err(built) => bail!("{}", built.text),
    }
}

fn add_host(lab: &Lab, engine: &Engine) -> Result<Cell> {
    let flags = ["--add-host", "flags.example:10.1.2.3"];
    seen(lab, engine, &flags, "host", "10.1.2.3")
}

fn network_none(lab: &Lab, engine: &Engine) -> Result<Cell> {
    seen(lab, engine, &["--network", "none"], "devices", "lo")
}

fn ulimit(lab: &Lab, engine: &Engine) -> Result<Cell> {
    let flags = ["--ulimit", "nofile=1000:2000"];
    seen(lab, engine, &flags, "nofile", "1000:2000")
}

fn shm_size(lab: &Lab, engine: &Engine) -> Result<Cell> {
    let megabytes: u32 = 96 << 20;
    let flags = ["--shm-size", &megabytes.to_string()];
    seen(lab, engine, &flags, "shm", &megabytes.to_string())
}

fn cgroup_parent(lab: &Lab, engine: &Engine) -> Result<Cell> {
    let project = project(lab)?;
    let parent = format!("flags-{}", unique());
    let flags = ["--cgroup-parent", &parent];
    let built = Way::Spec.build(lab, &project, engine, &flags).run()?;
    if !built.success {
        return refused(&built, &flags);
    }
    let cgroup = Way::Spec.sight(&built)?.remove("cgroup").unwrap_or_default();
    ensure!(cgroup.contains(&parent), "the step is in {cgroup:?}");
    Ok(Cell::Works)
}

fn hostname(lab: &Lab, engine: &Engine) -> Result<Cell> {
    let flags = ["--build-arg", "BUILDKIT_SANDBOX_HOSTNAME=flags-builder"];
    seen(lab, engine, &flags, "hostname", "flags-builder")
}

fn cache_namespace(lab: &Lab, engine: &Engine) -> Result<Cell> {
    let project = project(lab)?;
    let mark = |namespace: &str| -> Result<String> {
        let argument = format!("BUILDKIT_CACHE_MOUNT_NS={namespace}");
        let built = Way::Spec
            .build(lab, &project, engine, &["--build-arg", &argument])
            .succeed()?;
        Ok(Way::Spec.sight(&built)?.remove("mark").unwrap_or_default())
    };
    let (one, other) = (unique(), unique());
    let marks = [mark(&one)?, mark(&one)?, mark(&other)?];
    ensure!(
        marks[0].is_empty() && !marks[1].is_empty() && marks[2].is_empty(),
        "marks in the cache: {marks:?}"
    );
    Ok(Cell::Works)
}

fn epoch(lab: &Lab, engine: &Engine) -> Result<Cell> {
    let flags = ["--build-arg", "SOURCE_DATE_EPOCH=1700000000"];
    let image = inspected(lab, &project(lab)?, engine, &flags)?;
    let created = image["Created"].as_str().unwrap_or_default();
    ensure!(created == "2023-11-14T22:13:20Z", "created {created:?}");
    Ok(Cell::Works)
}

fn multi_platform(lab: &Lab, engine: &Engine) -> Result<Cell> {
    let flags = ["--build-arg", "BUILDKIT_MULTI_PLATFORM=true"];
    match pushed(lab, engine, &flags)? {
        Ok(index) => {
            let Some(manifests) = index["manifests"].as_array() else {
                // The image store of old engines knows no indexes: the same image without one.
                ensure!(index["layers"].is_array(), "{index}");
                return Ok(Cell::FallsBack);
            };
            ensure!(manifests.len() == 1, "{index}");
            Ok(Cell::Works)
        }
        Err(built) => bail!("{}", built.text),
    }
}

fn proxies(lab: &Lab, engine: &Engine) -> Result<Cell> {
    let project = project(lab)?;
    let salt = format!("SALT={}", unique());
    let build = |proxy: &str| {
        let proxies = [format!("HTTP_PROXY={proxy}"), "no_proxy=localhost".to_owned()];
        let [http, none] = &proxies;
        let flags = [
            "--build-arg",
            http.as_str(),
            "--build-arg",
            none,
            "--build-arg",
            &salt,
        ];
        Build::of(lab, &project).on(engine).arguments(&flags).succeed()
    };
    let one = build("http://127.0.0.1:9")?;
    let saw = Way::Spec.sight(&one)?.remove("proxy").unwrap_or_default();
    ensure!(saw == "http://127.0.0.1:9  localhost", "the step saw {saw:?}");
    let other = build("http://127.0.0.2:9")?;
    ensure!(
        other.executed().is_empty(),
        "another proxy runs {:?}",
        other.executed()
    );
    Ok(Cell::Works)
}

/// What a build of the same files runs with further flags, once it has run.
fn again(lab: &Lab, engine: &Engine, flags: &[&str]) -> Result<Vec<String>> {
    let project = project(lab)?;
    let salt = format!("SALT={}", unique());
    let build = Build::of(lab, &project)
        .on(engine)
        .arguments(&["--build-arg", &salt]);
    build.succeed()?;
    let warm = build.succeed()?;
    ensure!(
        warm.executed().is_empty(),
        "a warm build runs {:?}",
        warm.executed()
    );
    let third = build.arguments(flags).succeed()?;
    Ok(third.executed().into_iter().map(str::to_owned).collect())
}

fn no_cache(lab: &Lab, engine: &Engine) -> Result<Cell> {
    let executed = again(lab, engine, &["--no-cache"])?;
    for step in ["[wheel probe] compile", "[app 2/4]", "[app 4/4]"] {
        ensure!(
            executed.iter().any(|name| name.starts_with(step)),
            "{step} is not among {executed:?}"
        );
    }
    Ok(Cell::Works)
}

fn no_cache_filter(lab: &Lab, engine: &Engine) -> Result<Cell> {
    let wheel = again(lab, engine, &["--no-cache-filter", "Probe"])?;
    ensure!(
        wheel == ["[wheel probe] compile"],
        "the wheel's name runs {wheel:?}"
    );
    let image = again(lab, engine, &["--no-cache-filter", "app"])?;
    ensure!(
        !image.is_empty() && image.iter().all(|name| name.starts_with("[app ")),
        "the image's name runs {image:?}"
    );
    Ok(Cell::Works)
}

/// An image of the registry and another one of the same name in the engine's own store: `--pull` takes the first.
fn pull(lab: &Lab, engine: &Engine) -> Result<Cell> {
    let project = project(lab)?;
    let reference = format!("{}/flags/{}:1", lab.registry, unique());
    let tier = |which: &str| {
        let base = format!("{}/nvidia/cuda:13.0.2-base-ubuntu22.04", lab.registry);
        project.write("tier/Dockerfile", &format!("FROM {base}\nLABEL which={which}\n"))
    };
    let make = |flag: &str| {
        Build::of(lab, project.path().join("tier"))
            .on(engine)
            .file("Dockerfile")
            .tag(&reference)
            .arguments(&[flag])
            .succeed()
    };
    tier("registry")?;
    make("--push")?;
    tier("engine")?;
    make("--load")?;
    project.spec("[gpu]\n", &format!("[gpu]\ntiers.base = \"{reference}\"\n"))?;
    let which = |flags: &[&str]| -> Result<String> {
        let image = inspected(lab, &project, engine, flags)?;
        Ok(image["Config"]["Labels"]["which"]
            .as_str()
            .unwrap_or_default()
            .to_owned())
    };
    let took = (which(&[]), which(&["--pull"]));
    engine.remove_image(&reference);
    let (usual, pulled) = (took.0?, took.1?);
    ensure!(
        usual == "engine" && pulled == "registry",
        "without --pull the image of the {usual}, with it that of the {pulled}"
    );
    Ok(Cell::Works)
}

fn secret(lab: &Lab, engine: &Engine) -> Result<Cell> {
    let project = project(lab)?;
    // The lab hands its own certificates over where it has some.
    let bytes = if let Some(ca) = &lab.ca {
        std::fs::metadata(ca)?.len()
    } else {
        project.write("ca.pem", "secret\n")?;
        7
    };
    let secret = format!("id=ca,src={}", project.path().join("ca.pem").display());
    let flags: &[&str] = if lab.ca.is_some() {
        &[]
    } else {
        &["--secret", &secret]
    };
    project.edit("probe/probe.sh", "/run/secrets/ca", "/wheelbase/ca.pem")?;
    let built = Way::Spec.build(lab, &project, engine, flags).succeed()?;
    let saw = Way::Spec.sight(&built)?.remove("secret").unwrap_or_default();
    ensure!(
        saw == bytes.to_string(),
        "the secret has {bytes} bytes, the step saw {saw}"
    );
    Ok(Cell::Works)
}
