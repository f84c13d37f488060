//! The wheel store: compiled once, pulled everywhere else.

use anyhow::{Result, ensure};

use crate::Claim;
use crate::support::build::Build;
use crate::support::engine::Lab;
use crate::support::unique;
use crate::support::wheel_store::{compiling, project, set_store, wheels};

pub(crate) fn claims() -> Vec<Claim> {
    vec![
        Claim::new(
            "with what engine 28.5 compiled and pushed to the wheel store, 26.1 and 20.10 build without a compile or \
             the devel tier",
            elsewhere,
        ),
        Claim::new(
            "a required wheel store that nobody answers for ends the build in less than 15 seconds, before the first compile",
            gone,
        ),
    ]
}

fn elsewhere(lab: &Lab) -> Result<String> {
    let project = project(lab)?;
    wheels(lab, &project, &["push"])?;
    let mut figures = Vec::new();
    for version in ["26.1", "20.10"] {
        let engine = lab.engine_of(version);
        // Nothing that this engine knows from before may stand in for the store, nor an older tier of the same tag.
        engine.output(&["builder", "prune", "--all", "--force"])?;
        let tag = unique();
        let built = Build::of(lab, &project)
            .on(&engine)
            .target("serve")
            .tag(&tag)
            .arguments(&["--load", "--pull"])
            .succeed()?;
        let code = "import rowmax; print(rowmax.__name__)";
        let said = engine.run(&tag, &["--entrypoint", "python"], &["-c", code]);
        engine.remove_image(&tag);
        ensure!(said?.trim() == "rowmax", "the kernel is not in the image");
        let compiling = compiling(&built);
        ensure!(compiling.is_empty(), "engine {version}: {compiling:?}");
        figures.push(format!(
            "{version}: {:.0} s with an empty cache, 0 of {} vertices compile or are the devel tier",
            built.seconds,
            built.progress.vertices.len()
        ));
    }
    Ok(figures.join("; "))
}

fn gone(lab: &Lab) -> Result<String> {
    let project = project(lab)?;
    set_store(&project, "127.0.0.1:9/wheels", true)?;
    let built = Build::of(lab, &project).target("serve").fail()?;
    let compiling = compiling(&built);
    ensure!(compiling.is_empty(), "{compiling:?}");
    ensure!(
        built
            .text
            .contains("the wheel store 127.0.0.1:9/wheels cannot be asked"),
        "{}",
        built.text
    );
    ensure!(built.seconds < 15.0, "after {:.0} s", built.seconds);
    Ok(format!("{:.1} s", built.seconds))
}
