//! Building on real engines: the same files everywhere, stages side by side, and what an image carries.

use anyhow::{Context as _, Result, ensure};

use crate::Claim;
use crate::support::build::Build;
use crate::support::engine::Lab;
use crate::support::progress::Vertex;
use crate::support::project::Project;
use crate::support::unique;

pub(crate) fn claims() -> Vec<Claim> {
    let mut claims: Vec<Claim> = ["serve", "train"]
        .into_iter()
        .map(|target| {
            Claim::new(
                format!(
                    "{target} builds on engines 28.5, 26.1 and 20.10, and /opt/venv holds the same files"
                ),
                move |lab| same_files(lab, target),
            )
        })
        .collect();
    claims.push(Claim::new(
        "two wheel stages compile at the same time, and are cached on a warm rebuild",
        side_by_side,
    ));
    claims.push(Claim::new(
        "the metadata file and the image carry the compact plan",
        carried_plan,
    ));
    claims
}

fn same_files(lab: &Lab, target: &str) -> Result<String> {
    let project = Project::quickstart(lab)?;
    let mut first = None;
    let mut files = 0;
    for version in ["28.5", "26.1", "20.10"] {
        let engine = lab.engine_of(version);
        let (_, tree) = Build::of(lab, &project).on(&engine).target(target).export()?;
        let venv = tree.below("opt/venv");
        files = venv.files();
        ensure!(files > 100, "engine {version}: /opt/venv has {files} files");
        match &first {
            None => first = Some(venv),
            Some(first) => {
                let differences = first.differences(&venv);
                ensure!(
                    differences.is_empty(),
                    "28.5 and {version} differ in {} places: {}",
                    differences.len(),
                    differences.iter().take(5).cloned().collect::<Vec<_>>().join("; ")
                );
            }
        }
    }
    Ok(format!("{files} files, 0 differences"))
}

fn side_by_side(lab: &Lab) -> Result<String> {
    let project = Project::quickstart(lab)?;
    project.spec(
        "[\"markupsafe\", \"rowmax\"]",
        "[\"markupsafe\", \"rowmax\", \"vecadd\"]",
    )?;
    project.spec(
        "[layers]",
        &format!("[compiler-cache]\nscope = \"{}\"\n\n[layers]", unique()),
    )?;
    project.salt("rowmax")?.salt("vecadd")?;
    let steps = ["[wheel rowmax] compile", "[wheel vecadd] compile"];

    let cold = Build::of(lab, &project).target("serve").succeed()?;
    let intervals = steps
        .iter()
        .map(|step| {
            cold.progress
                .named(step)
                .and_then(Vertex::interval)
                .with_context(|| format!("{step} did not run"))
        })
        .collect::<Result<Vec<_>>>()?;
    let start = intervals
        .iter()
        .map(|interval| interval.0)
        .fold(f64::MIN, f64::max);
    let end = intervals
        .iter()
        .map(|interval| interval.1)
        .fold(f64::MAX, f64::min);
    let seconds: Vec<String> = intervals
        .iter()
        .map(|(start, end)| format!("{:.1} s", end - start))
        .collect();
    ensure!(
        end > start,
        "no overlap: {} apart, stages of {}",
        start - end,
        seconds.join(" and ")
    );

    let warm = Build::of(lab, &project).target("serve").succeed()?;
    for step in steps {
        let vertex = warm.progress.named(step);
        // A vertex that BuildKit need not even look at is not in the progress.
        ensure!(vertex.is_none_or(Vertex::cached), "{step} ran again");
    }
    ensure!(
        warm.executed().is_empty(),
        "a warm rebuild runs {:?}",
        warm.executed()
    );
    Ok(format!(
        "stages of {} overlap by {:.1} s; warm: 0 executed",
        seconds.join(" and "),
        end - start
    ))
}

fn carried_plan(lab: &Lab) -> Result<String> {
    let project = Project::quickstart(lab)?;
    let tag = unique();
    let engine = lab.engine();
    let built = Build::of(lab, &project)
        .target("serve")
        .tag(&tag)
        .arguments(&["--load"])
        .succeed()?;
    let config = engine.image_config(&tag);
    engine.remove_image(&tag);
    let label = config?["Labels"]["dev.wheelbase.plan"]
        .as_str()
        .context("the image has no label")?
        .to_owned();
    let label: serde_json::Value = serde_json::from_str(&label)?;
    let told = built
        .metadata
        .get("frontend.dev.wheelbase.plan")
        .context("the metadata file has no plan")?;
    // The client writes JSON as JSON, or as a string where it takes it for one.
    let told = match told.as_str() {
        Some(text) => serde_json::from_str(text)?,
        None => told.clone(),
    };
    ensure!(told == label, "they differ");
    let stages = label["stages"].as_array().context("no stages")?.len();
    ensure!(label["image"] == "serve" && stages > 5, "{label}");
    Ok(format!(
        "{stages} stages, {} bytes, the same in both",
        label.to_string().len()
    ))
}
