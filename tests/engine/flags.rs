//! Flags of the client in steps and images. The rest of them is measured by `make acceptance AREA=buildx`.

use anyhow::Result;

use crate::Tag;
use crate::support::engine::lab;
use crate::support::probe::{Way, project};

#[test]
fn flags_and_arguments_reach_a_step_and_the_image() -> Result<()> {
    let Some(lab) = lab() else { return Ok(()) };
    let project = project(&lab)?;
    let tag = Tag::new(&lab);
    let flags = [
        "--ulimit",
        "nofile=1000:2000",
        "--shm-size",
        "96m",
        "--add-host",
        "flags.example:10.1.2.3",
        "--build-arg",
        "BUILDKIT_SANDBOX_HOSTNAME=flags-builder",
        "--build-arg",
        "SOURCE_DATE_EPOCH=1700000000",
        "--build-arg",
        "GREETING=good day",
        "--build-arg",
        "GREETNIG=bye",
        "--label",
        "both=client",
        "--load",
    ];
    let built = Way::Spec
        .build(&lab, &project, &lab.engine(), &flags)
        .tag(&tag.1)
        .succeed()?;
    let sight = Way::Spec.sight(&built)?;
    for (name, value) in [
        ("nofile", "1000:2000"),
        ("shm", "100663296"),
        ("host", "10.1.2.3"),
        ("hostname", "flags-builder"),
        ("greeting", "good day"),
    ] {
        assert_eq!(sight[name], value, "{sight:?}");
    }
    let warned = ["UndeclaredArgument: nothing takes the build argument `GREETNIG`"];
    assert_eq!(built.progress.warnings, warned);
    let said = lab.engine().output(&["image", "inspect", &tag.1])?;
    let image: serde_json::Value = serde_json::from_str(&said)?;
    assert_eq!(image[0]["Created"], "2023-11-14T22:13:20Z");
    let config = &image[0]["Config"];
    assert_eq!(
        config["Labels"]["org.opencontainers.image.title"],
        "probe good day"
    );
    assert_eq!(config["Labels"]["both"], "client");
    Ok(())
}

#[test]
fn an_engine_without_limits_says_which_one_has_them() -> Result<()> {
    let Some(lab) = lab() else { return Ok(()) };
    let engine = lab.engine_of("20.10");
    let project = project(&lab)?;
    let flags = ["--ulimit", "nofile=1000", "--shm-size", "96m"];
    let built = Way::Spec.build(&lab, &project, &engine, &flags).fail()?;
    for flag in ["--ulimit", "--shm-size"] {
        assert!(
            built
                .text
                .contains(&format!("{flag} needs BuildKit 0.10 or later")),
            "{}",
            built.text
        );
    }
    Ok(())
}
