//! The quickstart, run: kernels are called, configs are what the spec says, nothing of the build is left.

use anyhow::{Context as _, Result};

use crate::support::build::Build;
use crate::support::engine::lab;
use crate::support::project::Project;
use crate::{Tag, image, serve};

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
fn nothing_of_the_build_is_left_in_the_image() -> Result<()> {
    let Some(lab) = lab() else { return Ok(()) };
    let tree = serve(&lab)?;
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
        .filter(|path| path.starts_with("opt/") && path.contains("/__pycache__/"))
        .collect();
    assert!(bytecode.is_empty(), "{bytecode:?}");
    for name in ["direct_url.json", "uv_cache.json"] {
        let left: Vec<&String> = tree.entries.keys().filter(|path| path.ends_with(name)).collect();
        assert!(left.is_empty(), "{left:?}");
    }
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
    let differences = serve(&lab)?.below("opt/venv").differences(&old.below("opt/venv"));
    assert!(differences.is_empty(), "{differences:#?}");
    Ok(())
}
