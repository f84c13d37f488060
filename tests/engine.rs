//! The main job on a real engine: specs go in through `docker buildx build`, images come out and are run.
//!
//! Without the lab's environment these tests say that they are skipped, except with `CI=true`, where they fail.
//! `tests/run` starts the lab.

use std::sync::OnceLock;

use anyhow::{Context as _, Result, bail, ensure};

use support::build::{Build, Built};
use support::engine::{Lab, lab};
use support::errors::{MISTAKES, points_at};
use support::project::Project;
use support::tree::Tree;
use support::unique;

mod support;

/// The image `serve` of the untouched quickstart, built and exported once for all tests.
fn serve(lab: &Lab) -> &'static Tree {
    static TREE: OnceLock<Tree> = OnceLock::new();
    TREE.get_or_init(|| {
        let project = Project::quickstart(lab).expect("a copy of the quickstart");
        Build::of(lab, &project)
            .target("serve")
            .export()
            .expect("the quickstart builds")
            .1
    })
}

/// A tag that is removed from the engine when it goes out of scope.
struct Tag<'a>(&'a Lab, String);

impl<'a> Tag<'a> {
    fn new(lab: &'a Lab) -> Self {
        Self(lab, unique())
    }
}

impl Drop for Tag<'_> {
    fn drop(&mut self) {
        self.0.engine().remove_image(&self.1);
    }
}

fn image(lab: &Lab, project: &Project, target: &str, tag: &Tag<'_>) -> Result<Built> {
    Build::of(lab, project)
        .target(target)
        .tag(&tag.1)
        .arguments(&["--load"])
        .succeed()
}

const CALL_ROWMAX: &str = "\
import numpy, rowmax
values, columns = rowmax.rowmax(numpy.array([[1.0, 3.0, 2.0], [4.0, 0.0, 4.0]]), device='cpu')
print(values.tolist(), columns.tolist(), rowmax.cuda_available())";

#[test]
fn serve_runs_and_calls_its_kernel() -> Result<()> {
    let Some(lab) = lab() else { return Ok(()) };
    let (project, tag) = (Project::quickstart(&lab)?, Tag::new(&lab));
    image(&lab, &project, "serve", &tag)?;
    let engine = lab.engine();
    let said = engine.run(&tag.1, &["--entrypoint", "python"], &["-c", CALL_ROWMAX])?;
    assert_eq!(said.trim(), "[3.0, 4.0] [1, 0] False");

    let said = engine.run(
        &tag.1,
        &["--entrypoint", "/bin/sh"],
        &["-c", "id -u; id -un; pwd; echo $SERVE_CONFIG"],
    )?;
    assert_eq!(
        said.lines().collect::<Vec<_>>(),
        ["10001", "app", "/app", "/etc/serve/serve.toml"]
    );
    let said = engine.run(
        &tag.1,
        &["--entrypoint", "python"],
        &[
            "-c",
            "
import urllib.request, threading, serve
server = serve.server('/etc/serve/serve.toml')
threading.Thread(target=server.serve_forever, daemon=True).start()
print(urllib.request.urlopen('http://127.0.0.1:8080/').read().decode())
request = urllib.request.Request('http://127.0.0.1:8080/', data=b'[[1, 5, 2]]')
print(urllib.request.urlopen(request).read().decode())",
        ],
    )?;
    assert!(
        said.contains("Largest &amp; first") && said.contains("\"value\": 5.0, \"column\": 1"),
        "{said}"
    );
    Ok(())
}

#[test]
fn train_runs_and_has_a_compiler() -> Result<()> {
    let Some(lab) = lab() else { return Ok(()) };
    let (project, tag) = (Project::quickstart(&lab)?, Tag::new(&lab));
    image(&lab, &project, "train", &tag)?;
    let engine = lab.engine();
    let said = engine.run(&tag.1, &[], &["--steps", "50"])?;
    assert!(
        said.starts_with("y = 3.0") && said.trim().ends_with("on cpu"),
        "{said}"
    );
    let said = engine.run(&tag.1, &["--entrypoint", "nvcc"], &["--version"])?;
    assert!(said.contains("release 13.0"), "{said}");
    Ok(())
}

#[test]
fn config_is_what_the_spec_says() -> Result<()> {
    let Some(lab) = lab() else { return Ok(()) };
    let (project, tag) = (Project::quickstart(&lab)?, Tag::new(&lab));
    let built = Build::of(&lab, &project)
        .target("serve")
        .tag(&tag.1)
        .arguments(&["--load", "--label", "from.client=yes"])
        .succeed()?;
    let config = lab.engine().image_config(&tag.1)?;
    assert_eq!(config["User"], "app");
    assert_eq!(config["WorkingDir"], "/app");
    assert_eq!(config["Entrypoint"], serde_json::json!(["python", "-m", "serve"]));
    assert!(config["Cmd"].is_null(), "{config}");
    assert!(config["ExposedPorts"]["8080/tcp"].is_object(), "{config}");
    assert_eq!(
        config["Labels"]["org.opencontainers.image.title"],
        "quickstart serve"
    );
    assert_eq!(config["Labels"]["from.client"], "yes");
    let env: Vec<&str> = config["Env"]
        .as_array()
        .context("no Env")?
        .iter()
        .filter_map(|entry| entry.as_str())
        .collect();
    for entry in [
        "SERVE_CONFIG=/etc/serve/serve.toml",
        "VIRTUAL_ENV=/opt/venv",
        "NVIDIA_VISIBLE_DEVICES=all",
    ] {
        assert!(env.contains(&entry), "{env:?}");
    }
    assert!(
        env.iter()
            .any(|entry| entry.starts_with("PATH=/opt/venv/bin:") && entry.contains("cuda")),
        "{env:?}"
    );

    let label: serde_json::Value = serde_json::from_str(
        config["Labels"]["dev.wheelbase.plan"]
            .as_str()
            .context("no plan")?,
    )?;
    assert_eq!(label["image"], "serve");
    let told = &built.metadata["frontend.dev.wheelbase.plan"];
    assert!(!told.is_null(), "{}", built.metadata);
    Ok(())
}

#[test]
fn mistakes_are_explained_and_leave_no_image() -> Result<()> {
    let Some(lab) = lab() else { return Ok(()) };
    for mistake in MISTAKES {
        mistake.check(&lab)?;
    }
    Ok(())
}

#[test]
fn all_mistakes_are_reported_at_once() -> Result<()> {
    let Some(lab) = lab() else { return Ok(()) };
    let project = Project::quickstart(&lab)?;
    project.spec("buckets   = 4", "buckets   = \"four\"")?;
    project.spec("packages   = [\"serve\"]", "packges    = [\"serve\"]")?;
    let built = Build::of(&lab, &project).target("serve").fail()?;
    assert!(
        built.text.contains("packges") && built.text.contains("buckets"),
        "{}",
        built.text
    );
    Ok(())
}

#[test]
fn a_forbidden_file_stops_the_build() -> Result<()> {
    let Some(lab) = lab() else { return Ok(()) };
    let project = Project::quickstart(&lab)?;
    project.spec("tier       = \"base\"", "tier       = \"devel\"")?;
    let built = Build::of(&lab, &project).target("serve").fail()?;
    let spec = project.read("wheelbase.toml")?;
    let line = spec
        .lines()
        .position(|line| line.starts_with("paths = [\"**/bin/nvcc\""))
        .context("no forbid")?
        + 1;
    points_at(&built.text, "wheelbase.toml", line)?;
    assert!(
        built.text.contains("bin/nvcc") && built.text.contains("/usr/local/cuda"),
        "{}",
        built.text
    );
    Ok(())
}

#[test]
fn an_unknown_target_is_guessed() -> Result<()> {
    let Some(lab) = lab() else { return Ok(()) };
    let built = Build::of(&lab, &Project::quickstart(&lab)?)
        .target("sreve")
        .fail()?;
    assert!(
        built.text.contains("did you mean --target serve?"),
        "{}",
        built.text
    );
    Ok(())
}

#[test]
fn nothing_of_the_build_is_left_in_the_image() -> Result<()> {
    let Some(lab) = lab() else { return Ok(()) };
    let tree = serve(&lab);
    for path in [
        "wheelbase",
        "src",
        "wheels",
        "opt/.wheelbase-cache",
        "root/.cache",
    ] {
        assert!(!tree.has(path), "{path} is left");
    }
    assert!(tree.has("opt/venv/bin/python") && tree.has("opt/python/bin/python3.11"));
    assert!(tree.has("etc/serve/serve.toml"));
    let bytecode: Vec<&String> = tree
        .entries
        .keys()
        .filter(|path| path.starts_with("opt/") && path.ends_with(".pyc"))
        .collect();
    assert!(bytecode.is_empty(), "{bytecode:?}");
    for name in ["direct_url.json", "uv_cache.json"] {
        let left: Vec<&String> = tree.entries.keys().filter(|path| path.ends_with(name)).collect();
        assert!(left.is_empty(), "{left:?}");
    }
    Ok(())
}

#[test]
fn an_ignored_file_is_neither_copied_nor_in_a_key() -> Result<()> {
    let Some(lab) = lab() else { return Ok(()) };
    let project = Project::quickstart(&lab)?;
    project.write(".dockerignore", "**/*.log\n")?;
    project.write("config/debug.log", "one")?;
    project.write("kernels/rowmax/build.log", "one")?;
    let (_, tree) = Build::of(&lab, &project).target("serve").export()?;
    assert!(tree.has("etc/serve/serve.toml") && !tree.has("etc/serve/debug.log"));
    project.write("config/debug.log", "two")?;
    project.write("kernels/rowmax/build.log", "two")?;
    let built = Build::of(&lab, &project).target("serve").succeed()?;
    assert_eq!(built.executed(), [""; 0]);
    Ok(())
}

/// Only what a test of another road needs: no kernels, packages from wheels.
fn small_spec(lab: &Lab, gpu: &str, python: &str, uv: &str) -> String {
    let Lab {
        registry, frontend, ..
    } = lab;
    let gpu = gpu.replace("REGISTRY", registry);
    format!(
        "# syntax={frontend}\nname = \"small\"\n[gpu]\n{gpu}\n[python]\nversion = \"3.11\"\n{python}\n\
         [uv]\n{uv}\n[images.app]\ntier = \"base\"\npackages = [\"idna\", \"attrs\"]\nentrypoint = [\"python\"]\n"
    )
}

const CUDA: &str = "cuda = \"13.0.2\"\nos = \"ubuntu22.04\"\nmirror = \"REGISTRY\"";

fn python_image(lab: &Lab) -> String {
    format!(
        "provider = {{ image = \"{}/wheelbase-lab/python:3.11\" }}",
        lab.registry
    )
}

fn uv_image(lab: &Lab) -> String {
    format!("image = \"{}/astral-sh/uv:0.13.9\"", lab.registry)
}

fn imports(lab: &Lab, project: &Project) -> Result<(Built, Tree)> {
    let tag = Tag::new(lab);
    let built = image(lab, project, "app", &tag)?;
    let said = lab.engine().run(
        &tag.1,
        &[],
        &[
            "-c",
            "import idna, attrs; print(idna.encode('b\\xfccher').decode())",
        ],
    )?;
    ensure!(said.trim() == "xn--bcher-kva", "{said}");
    let (_, tree) = Build::of(lab, project).target("app").export()?;
    Ok((built, tree))
}

#[test]
fn a_private_index_is_read_with_a_secret_that_stays_secret() -> Result<()> {
    let Some(lab) = lab() else { return Ok(()) };
    let project = Project::quickstart(&lab)?;
    let private = format!("{}/private/simple", lab.index);
    project.edit("uv.lock", &format!("{}/simple", lab.index), &private)?;
    let python = format!("{}\nfetch = \"index\"", python_image(&lab));
    project.write(
        "wheelbase.toml",
        &small_spec(&lab, CUDA, &python, &uv_image(&lab)),
    )?;
    let host = lab
        .index
        .trim_start_matches("http://")
        .split(':')
        .next()
        .unwrap_or_default();
    project.write("netrc", &format!("machine {host} login reader password secret\n"))?;
    let secret = format!("id=netrc,src={}", project.path().join("netrc").display());

    let tag = Tag::new(&lab);
    let built = Build::of(&lab, &project)
        .target("app")
        .tag(&tag.1)
        .arguments(&["--load", "--secret", &secret])
        .succeed()?;
    let said = lab
        .engine()
        .run(&tag.1, &[], &["-c", "import idna; print(idna.__version__)"])?;
    assert_eq!(said.trim(), "3.10");
    assert!(
        !built.progress.log().contains("reader"),
        "{}",
        built.progress.log()
    );

    let (_, tree) = Build::of(&lab, &project)
        .target("app")
        .arguments(&["--secret", &secret])
        .export()?;
    let told: Vec<&String> = tree
        .entries
        .iter()
        .filter(|(_, entry)| {
            entry
                .text
                .as_deref()
                .is_some_and(|text| text.contains("login reader"))
        })
        .map(|(path, _)| path)
        .collect();
    assert!(told.is_empty(), "{told:?}");
    assert!(!tree.has("wheelbase") && !tree.has("root/.netrc"));
    let everything = lab.engine().output(&["image", "inspect", &tag.1])?
        + &lab.engine().output(&["history", "--no-trunc", &tag.1])?;
    assert!(
        !everything.contains("reader:") && !everything.contains("login reader"),
        "{everything}"
    );
    Ok(())
}

#[test]
fn both_roads_to_a_package_leave_the_same_files() -> Result<()> {
    let Some(lab) = lab() else { return Ok(()) };
    let project = Project::quickstart(&lab)?;
    project.write(
        "wheelbase.toml",
        &small_spec(&lab, CUDA, &python_image(&lab), &uv_image(&lab)),
    )?;
    let (_, files) = imports(&lab, &project)?;
    let python = format!("{}\nfetch = \"index\"", python_image(&lab));
    project.write(
        "wheelbase.toml",
        &small_spec(&lab, CUDA, &python, &uv_image(&lab)),
    )?;
    let (_, index) = imports(&lab, &project)?;
    let differences = files.below("opt/venv").differences(&index.below("opt/venv"));
    assert!(differences.is_empty(), "{differences:#?}");
    Ok(())
}

/// A file of the lab, served by its index beside the packages.
fn serve_file(lab: &Lab, path: &std::path::Path) -> Result<(String, String)> {
    let name = path
        .file_name()
        .context("no file name")?
        .to_string_lossy()
        .into_owned();
    let bytes = std::fs::read(path).with_context(|| path.display().to_string())?;
    let folder = std::path::PathBuf::from(std::env::var("WHEELBASE_LAB")?).join("index/static");
    if !folder.join(&name).exists() {
        let new = folder.join(format!(".{name}.{}", unique()));
        std::fs::write(&new, &bytes)?;
        std::fs::rename(&new, folder.join(&name))?;
    }
    Ok((
        format!("{}/files/{name}", lab.index),
        support::tree::sha256(&bytes),
    ))
}

fn lab_file(folder: &str, prefix: &str) -> Result<std::path::PathBuf> {
    let folder = std::path::PathBuf::from(std::env::var("WHEELBASE_LAB")?).join(folder);
    for entry in std::fs::read_dir(&folder)? {
        let path = entry?.path();
        if path
            .file_name()
            .is_some_and(|name| name.to_string_lossy().starts_with(prefix))
        {
            return Ok(path);
        }
    }
    bail!("{} has no {prefix}*", folder.display())
}

#[test]
fn python_from_an_archive_and_uv_from_a_wheel() -> Result<()> {
    let Some(lab) = lab() else { return Ok(()) };
    let (url, sha256) = serve_file(&lab, &lab_file("index/static", "cpython-3.11")?)?;
    let python = format!("provider = {{ url = \"{url}\", sha256 = \"{sha256}\" }}");
    let (url, sha256) = serve_file(&lab, &lab_file("wheels", "uv-")?)?;
    let uv = format!("url = \"{url}\"\nsha256 = \"{sha256}\"");
    let project = Project::quickstart(&lab)?;
    project.write("wheelbase.toml", &small_spec(&lab, CUDA, &python, &uv))?;
    let (_, other) = imports(&lab, &project)?;
    project.write(
        "wheelbase.toml",
        &small_spec(&lab, CUDA, &python_image(&lab), &uv_image(&lab)),
    )?;
    let (_, usual) = imports(&lab, &project)?;
    let differences = usual.below("opt/venv").differences(&other.below("opt/venv"));
    assert!(differences.is_empty(), "{differences:#?}");

    project.edit("wheelbase.toml", "[uv]\nimage", "[uv]\n#")?;
    let wrong = "0".repeat(64);
    project.write(
        "wheelbase.toml",
        &small_spec(&lab, CUDA, &python, &uv.replace(&sha256, &wrong)),
    )?;
    let built = Build::of(&lab, &project).target("app").fail()?;
    assert!(
        built.text.contains("digest") || built.text.contains("checksum"),
        "{}",
        built.text
    );
    Ok(())
}

#[test]
fn tiers_by_name_with_the_python_of_the_system() -> Result<()> {
    let Some(lab) = lab() else { return Ok(()) };
    let gpu = "tiers.devel = \"REGISTRY/nvidia/pytorch:25.09-py3\"";
    let project = Project::quickstart(&lab)?;
    let spec = small_spec(&lab, gpu, "provider = \"system\"", &uv_image(&lab));
    project.write(
        "wheelbase.toml",
        &spec.replace("tier = \"base\"", "tier = \"devel\""),
    )?;
    let (_, tree) = imports(&lab, &project)?;
    let python = &tree.entries["opt/venv/bin/python"];
    assert_eq!(python.target.as_deref(), Some("/usr/bin/python3.11"));
    assert!(!tree.has("opt/python"));
    Ok(())
}

#[test]
fn a_warm_compiler_cache_answers_every_compile() -> Result<()> {
    let Some(lab) = lab() else { return Ok(()) };
    let project = Project::quickstart(&lab)?;
    project.spec(
        "[wheels.vecadd]\n",
        &format!("[compiler-cache]\nscope = \"{}\"\n[wheels.vecadd]\n", unique()),
    )?;
    project.salt("vecadd")?;
    let count = |built: &Built, word: &str| -> Result<u32> {
        let log = &built
            .progress
            .named("[wheel vecadd] compile")
            .context("no compile")?
            .log;
        let line = log
            .lines()
            .find(|line| line.contains("ccache hits="))
            .with_context(|| log.clone())?;
        let value = line
            .split(word)
            .nth(1)
            .and_then(|rest| rest.split_whitespace().next());
        value
            .and_then(|value| value.parse().ok())
            .with_context(|| line.to_owned())
    };
    let cold = Build::of(&lab, &project).target("train").succeed()?;
    assert_eq!(count(&cold, "hits=")?, 0, "{}", cold.progress.log());
    let calls = count(&cold, "misses=")?;
    assert!(calls >= 4, "{}", cold.progress.log());
    // Another variable runs the step again. (`--no-cache-filter` would: BuildKit empties its cache mounts then.)
    project.edit("wheelbase.toml", "SALT", "OTHER_SALT")?;
    let warm = Build::of(&lab, &project).target("train").succeed()?;
    assert_eq!(count(&warm, "misses=")?, 0, "{}", warm.progress.log());
    assert_eq!(count(&warm, "hits=")?, calls, "{}", warm.progress.log());
    // The same wheel came out again, so nothing was installed again.
    assert_eq!(warm.executed(), ["[wheel vecadd] compile"]);
    Ok(())
}

#[test]
fn an_engine_without_merge_gives_the_same_files() -> Result<()> {
    let Some(lab) = lab() else { return Ok(()) };
    let project = Project::quickstart(&lab)?;
    let (_, old) = Build::of(&lab, &project)
        .on(&lab.engine_of("20.10"))
        .target("serve")
        .export()?;
    let differences = serve(&lab).below("opt/venv").differences(&old.below("opt/venv"));
    assert!(differences.is_empty(), "{differences:#?}");
    Ok(())
}

#[test]
fn times_of_progress_are_read() {
    let near = |time: &str, expected: f64| (support::progress::seconds(time) - expected).abs() < 1e-6;
    assert!(near("1970-01-01T00:00:01.5Z", 1.5));
    assert!(near("2000-03-01T00:00:00Z", 951_868_800.0));
    assert!(near("2000-03-01T02:00:00+02:00", 951_868_800.0));
    assert!(near("2000-02-29T23:30:00-00:30", 951_868_800.0));
}

#[test]
fn a_step_that_turns_out_cached_counts_as_not_executed() {
    let lines = concat!(
        r#"{"vertexes":[{"digest":"a","name":"x","inputs":["b"],"started":"2026-01-01T00:00:00Z"}]}"#,
        "\nERROR: no\n",
        r#"{"vertexes":[{"digest":"a","started":"2026-01-01T00:00:00Z","completed":"2026-01-01T00:00:01Z","cached":true},"#,
        r#"{"digest":"c","name":"y","inputs":["a"],"started":"2026-01-01T00:00:00Z","completed":"2026-01-01T00:00:02Z"}]}"#,
    );
    let (progress, text) = support::progress::Progress::parse(lines);
    assert_eq!(text, "ERROR: no\n");
    assert_eq!(progress.executed(), ["y"]);
    assert!(progress.named("x").is_some_and(support::progress::Vertex::cached));
}
