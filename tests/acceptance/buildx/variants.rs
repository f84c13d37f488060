//! `[matrix]`: the variants that `wheelbase bake` prints, built by `docker buildx bake`.

use std::collections::BTreeSet;

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

use super::bake::{on_the_host, printed, store_arguments};
use crate::Claim;
use crate::support::buildx::bake;
use crate::support::engine::Lab;
use crate::support::listing;
use crate::support::project::Project;
use crate::support::unique;
use crate::support::wheel_store;

pub(super) fn claims() -> Vec<Claim> {
    vec![
        Claim::new(
            "bake builds the variants of a matrix, each with its own tier, variables and tag",
            builds_variants,
        ),
        Claim::new(
            "a wheel that several variants have is in the wheel store once, and one for each that differ",
            fills_store,
        ),
    ]
}

/// Tier, variable and label of `plain` are arguments, of which three combinations are built.
fn builds_variants(lab: &Lab) -> Result<String> {
    let project = listing::project(lab, &[])?;
    project.spec(
        "[gpu]\n",
        "[args.tier]\nchoices = [\"base\", \"runtime\"]\ndefault = \"base\"\n[args.flavour]\ndefault = \"none\"\n\
         [matrix]\ntier = [\"base\", \"runtime\"]\nflavour = [\"plain\", \"spicy $5 ${x}\"]\n\
         exclude = [{ tier = \"runtime\", flavour = \"plain\" }]\n[gpu]\n",
    )?;
    let salt = unique();
    project.spec(
        "[images.plain]\ntier = \"base\"\n",
        &format!(
            "[images.plain]\ntier = \"${{tier}}\"\nenv = {{ FLAVOUR = \"${{flavour}}\", SALT = \"{salt}\" }}\n\
             labels = {{ flavour = \"${{flavour}}\" }}\n"
        ),
    )?;
    let repo = format!("{}/variants/{}", lab.registry, unique());
    let file = on_the_host(&printed(&project, &["plain", "--tag", &format!("{repo}:1.2")])?)?;
    bake(lab, &lab.engine(), project.path(), &file, &["plain", "--push"])?.succeeded()?;
    let mut digests = BTreeSet::new();
    for (tag, is_runtime, flavour) in [
        ("1.2-tier-base-flavour-plain", false, "plain"),
        ("1.2-tier-base-flavour-spicy-5-x", false, "spicy $5 ${x}"),
        ("1.2-tier-runtime-flavour-spicy-5-x", true, "spicy $5 ${x}"),
    ] {
        let image = image(lab, &format!("{repo}:{tag}"))?;
        let config = &image["config"];
        let env: Vec<&str> = config["Env"]
            .as_array()
            .context("no variables")?
            .iter()
            .filter_map(Value::as_str)
            .collect();
        // What the stand-in of the runtime tier has beside that of the base tier.
        ensure!(
            env.contains(&"NVIDIA_PRODUCT_NAME=CUDA") == is_runtime,
            "{tag} stands on another tier: {env:?}"
        );
        ensure!(
            env.contains(&format!("FLAVOUR={flavour}").as_str()) && config["Labels"]["flavour"] == flavour,
            "{tag}: {config}"
        );
        digests.insert(image["rootfs"]["diff_ids"].to_string());
    }
    ensure!(digests.len() == 2, "layers are those of the tiers: {digests:?}");
    let tags = lab
        .engine()
        .output(&["buildx", "imagetools", "inspect", &format!("{repo}:1.2")]);
    ensure!(tags.is_err(), "a tag without a variant was pushed");
    Ok("3 variants on 2 tiers, under tags of their own".to_owned())
}

/// The config of an image in the registry.
fn image(lab: &Lab, reference: &str) -> Result<Value> {
    let arguments = [
        "buildx",
        "imagetools",
        "inspect",
        "--format",
        "{{json .Image}}",
        reference,
    ];
    Ok(serde_json::from_str(&lab.engine().output(&arguments)?)?)
}

/// One kernel of the quickstart is compiled with an argument, the other wheels are not.
fn fills_store(lab: &Lab) -> Result<String> {
    let project = Project::quickstart(lab)?;
    wheel_store::set_store(&project, &format!("{}/{}", lab.registry, unique()), false)?;
    project.spec(
        "[wheels.rowmax]\n",
        &format!(
            "[args.level]\ndefault = 1\n[args.revision]\ndefault = \"none\"\n\
             [matrix]\nlevel = [1, 2]\nrevision = [\"a\", \"b\"]\n\
             [wheels.rowmax]\nenv = {{ LEVEL = \"${{level}}\", SALT = \"{}\" }}\n",
            unique()
        ),
    )?;
    project.spec("labels     = {", "labels     = { revision = \"${revision}\",")?;
    let arguments = store_arguments(lab);
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let file = printed(&project, &arguments)?;
    let read: Value = serde_json::from_str(&file)?;
    let targets = read["group"]["wheel-store"]["targets"].to_string();
    let expected = r#"["wheel-markupsafe","wheel-rowmax-level-1","wheel-rowmax-level-2","wheel-vecadd"]"#;
    ensure!(targets == expected, "{targets}");
    let file = on_the_host(&file)?;
    bake(lab, &lab.engine(), project.path(), &file, &["wheel-store"])?.succeeded()?;
    for level in ["level=1", "level=2"] {
        let list = wheel_store::wheels(lab, &project, &["list", "--build-arg", level])?;
        ensure!(
            list.matches(" stored ").count() == 3 && !list.contains("missing"),
            "{level}: {list}"
        );
    }
    Ok("4 wheels of 4 variants with 3 wheels each, all found under their keys".to_owned())
}
