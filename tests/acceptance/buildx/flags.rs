//! The same flags beside a spec and beside a Dockerfile that does the same job: what steps see, and what images say.

use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};

use crate::Claim;
use crate::support::build::Build;
use crate::support::engine::{Engine, Lab};
use crate::support::probe::{Way, project, sights};
use crate::support::project::Project;
use crate::support::unique;

/// Flags, and what a step has to see of them.
const FLAGS: [(&[&str], &str, &str); 7] = [
    (&["--ulimit", "nofile=1000:2000"], "nofile", "1000:2000"),
    (&["--shm-size", "96m"], "shm", "100663296"),
    (
        &["--build-arg", "BUILDKIT_SANDBOX_HOSTNAME=flags-builder"],
        "hostname",
        "flags-builder",
    ),
    (&["--add-host", "flags.example:10.1.2.3"], "host", "10.1.2.3"),
    (&["--network", "none"], "devices", "lo"),
    (
        &["--build-arg", "HTTP_PROXY=http://127.0.0.1:9"],
        "proxy",
        "http://127.0.0.1:9",
    ),
    (&["--build-arg", "GREETING=good day"], "greeting", "good day"),
];

pub(crate) fn claims() -> Vec<Claim> {
    let mut claims: Vec<Claim> = ["28.5", "26.1"]
        .into_iter()
        .map(|version| {
            Claim::new(
                format!(
                    "on {version} a step sees the same of ulimits, /dev/shm, host name, hosts, network, proxies and \
                     arguments as a RUN does"
                ),
                move |lab| same_sight(lab, version),
            )
        })
        .collect();
    claims.extend([
        Claim::new(
            "an image says the same as a Dockerfile's: labels, env, user, workdir, entrypoint, cmd, ports, and its time",
            same_image,
        ),
        Claim::new(
            "an argument runs again what it stands in, and nothing else; another one that nothing uses runs nothing",
            argument_keys,
        ),
        Claim::new(
            "arguments that nothing takes are warned of, those that every frontend knows are not",
            warned_of,
        ),
        Claim::new("wrong flags and wrong arguments end the build with their names and lines", wrong),
        Claim::new("the command line takes --build-arg as the build does", command_line),
    ]);
    claims
}

fn same_sight(lab: &Lab, version: &str) -> Result<String> {
    let engine = lab.engine_of(version);
    let project = project(lab)?;
    let mut seen = Vec::new();
    for (flags, name, value) in FLAGS {
        let [ours, theirs] = sights(lab, &project, &engine, flags)?;
        let of =
            |sight: &std::collections::BTreeMap<String, String>| sight.get(name).cloned().unwrap_or_default();
        let (ours, theirs) = (of(&ours), of(&theirs));
        ensure!(
            ours == value && theirs == value,
            "{}: the step saw {ours:?}, RUN {theirs:?}",
            flags.join(" ")
        );
        seen.push(format!("{name} {value}"));
    }
    Ok(seen.join(", "))
}

/// What both images say, that of the spec first.
fn both(lab: &Lab, project: &Project, engine: &Engine, flags: &[&str]) -> Result<[Value; 2]> {
    let said = |way: Way| -> Result<Value> {
        let tag = unique();
        let built = way
            .build(lab, project, engine, flags)
            .tag(&tag)
            .arguments(&["--load"])
            .succeed();
        let text = built.and_then(|_| engine.output(&["image", "inspect", &tag]));
        engine.remove_image(&tag);
        Ok(serde_json::from_str::<Value>(&text?)?[0].clone())
    };
    Ok([said(Way::Spec)?, said(Way::Dockerfile)?])
}

/// What flags and keys decide of an image, without what Wheelbase notes of itself.
fn decided(image: &Value) -> Value {
    let config = &image["Config"];
    let mut labels = config["Labels"].clone();
    if let Some(labels) = labels.as_object_mut() {
        labels.retain(|name, _| !name.starts_with("dev.wheelbase."));
    }
    let mut env: Vec<String> = config["Env"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|line| line.as_str().map(str::to_owned))
        .collect();
    env.sort();
    let mut decided = json!({ "Labels": labels, "Env": env, "Created": image["Created"] });
    for key in ["User", "WorkingDir", "Entrypoint", "Cmd", "ExposedPorts"] {
        decided[key] = config[key].clone();
    }
    decided
}

fn same_image(lab: &Lab) -> Result<String> {
    let project = project(lab)?;
    let flags = [
        "--label",
        "both=client",
        "--label",
        "org.opencontainers.image.revision=0123",
        "--build-arg",
        "GREETING=good day",
        "--build-arg",
        "PORT=9090",
        "--build-arg",
        "SOURCE_DATE_EPOCH=1700000000",
    ];
    let mut parts = 0;
    for version in ["28.5", "26.1"] {
        let [ours, theirs] =
            both(lab, &project, &lab.engine_of(version), &flags)?.map(|image| decided(&image));
        ensure!(ours == theirs, "{version}: {ours} is not {theirs}");
        ensure!(
            ours["Created"] == "2023-11-14T22:13:20Z" && ours["Labels"]["both"] == "client",
            "{ours}"
        );
        let env = ours["Env"].as_array().map_or(0, Vec::len);
        let labels = ours["Labels"].as_object().map_or(0, serde_json::Map::len);
        parts = env + labels + 6;
    }
    Ok(format!("{parts} values, 0 differences, on 28.5 and 26.1"))
}

fn argument_keys(lab: &Lab) -> Result<String> {
    let project = project(lab)?;
    let build = |salt: &str, more: &[&str]| {
        let salt = format!("SALT={salt}");
        Build::of(lab, &project)
            .arguments(&["--build-arg", &salt])
            .arguments(more)
            .succeed()
    };
    let salt = unique();
    build(&salt, &[])?;
    // The port is in the image's config alone.
    let port = build(&salt, &["--build-arg", "PORT=9090"])?;
    ensure!(port.executed().is_empty(), "PORT runs {:?}", port.executed());
    let same = build(&salt, &["--build-arg", "GREETING=hello"])?;
    ensure!(
        same.executed().is_empty(),
        "the default said runs {:?}",
        same.executed()
    );
    let other = build(&salt, &["--build-arg", "GREETING=good day"])?;
    let executed = other.executed();
    ensure!(
        executed == ["[wheel probe] compile"],
        "GREETING runs {executed:?}"
    );
    Ok("PORT 0 steps, GREETING 1 step, its default 0 steps".to_owned())
}

fn warned_of(lab: &Lab) -> Result<String> {
    let project = project(lab)?;
    let flags = [
        "--build-arg",
        "GREETNIG=bye",
        "--build-arg",
        "HTTPS_PROXY=http://127.0.0.1:9",
        "--build-arg",
        "BUILDKIT_CACHE_MOUNT_NS=flags",
        "--build-arg",
        "SOURCE_DATE_EPOCH=1700000000",
    ];
    let built = Way::Spec.build(lab, &project, &lab.engine(), &flags).succeed()?;
    let warnings = &built.progress.warnings;
    ensure!(
        *warnings == ["UndeclaredArgument: nothing takes the build argument `GREETNIG`"],
        "warnings: {warnings:?}"
    );
    Ok(warnings.join("; "))
}

/// Flags and edits that are a mistake, and what is said of it.
type Wrong = (
    &'static [&'static str],
    &'static [(&'static str, &'static str)],
    &'static [&'static str],
);

const WRONG: [Wrong; 6] = [
    (
        &["--build-arg", "PORT=http"],
        &[],
        &[
            "--build-arg PORT=http: a value of `PORT` is a whole number",
            "wheelbase.toml:20",
        ],
    ),
    (
        &["--build-arg", "GREETING=bye"],
        &[(
            "default = \"hello\"",
            "choices = [\"hello\", \"good day\"]\ndefault = \"hello\"",
        )],
        &["the argument `GREETING` cannot be \"bye\"", "wheelbase.toml:15"],
    ),
    (
        &[],
        &[("probe ${GREETING}", "probe ${GREETNIG}")],
        &[
            "there is no argument `GREETNIG`",
            "did you mean `${GREETING}`?",
            "wheelbase.toml:33",
        ],
    ),
    (
        &[],
        &[("default = \"hello\"\n", "")],
        &["the argument `GREETING` has no value", "--build-arg GREETING=..."],
    ),
    (&["--build-arg", "PORT=0"], &[], &["wheelbase.toml:38"]),
    (
        &[],
        &[("default = \"none\"", "defualt = \"none\"")],
        &["unknown key `defualt`", "did you mean `default`?"],
    ),
];

fn wrong(lab: &Lab) -> Result<String> {
    for (flags, edits, words) in WRONG {
        let project = project(lab)?;
        for (from, to) in edits {
            project.spec(from, to)?;
        }
        let built = Build::of(lab, &project).arguments(flags).fail()?;
        for word in words {
            ensure!(
                built.text.contains(word),
                "{} {edits:?}: {word:?} is not in {}",
                flags.join(" "),
                built.text
            );
        }
    }
    Ok(format!("{} mistakes, each named", WRONG.len()))
}

fn command_line(lab: &Lab) -> Result<String> {
    let project = project(lab)?;
    let run = |arguments: &[&str]| -> Result<(bool, String)> {
        let output = Command::new(env!("CARGO_BIN_EXE_wheelbase"))
            .args(arguments)
            .current_dir(&project)
            .env("GREETING", "from outside")
            .output()
            .context("failed to run wheelbase")?;
        let said = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        Ok((output.status.success(), said.concat()))
    };
    let plan = |arguments: &[&str]| -> Result<String> {
        let (success, said) = run(&[&["plan", "app", "--format", "json"], arguments].concat())?;
        ensure!(success, "{said}");
        Ok(said)
    };
    let usual = plan(&[])?;
    ensure!(
        plan(&["--build-arg", "GREETING=hello"])? == usual,
        "the default is another plan"
    );
    let other = plan(&["--build-arg", "GREETING"])?;
    ensure!(
        other.contains("probe from outside"),
        "the variable is not taken: {other}"
    );
    let (success, said) = run(&["check", "--build-arg", "PORT=http"])?;
    ensure!(!success && said.contains("is a whole number"), "{said}");
    let (success, said) = run(&["check", "--build-arg", "OTHER=1"])?;
    ensure!(
        success && said.contains("nothing takes the build argument `OTHER`"),
        "{said}"
    );
    let (success, said) = run(&["build", "--print", "--build-arg", "GREETING=a b"])?;
    ensure!(success && said.contains("--build-arg 'GREETING=a b'"), "{said}");
    Ok("check, plan and build".to_owned())
}
