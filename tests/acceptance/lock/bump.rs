//! One small bump in an image of a hundred packages.

use anyhow::{Result, ensure};

use crate::Claim;
use crate::support::build::Build;
use crate::support::engine::Lab;
use crate::support::hundred::Hundred;
use crate::support::unique;

pub(crate) fn claims() -> Vec<Claim> {
    vec![Claim::new(
        "a bump of one small package of a hundred executes one layer and ships less than 5% of the image",
        small_bump,
    )]
}

fn small_bump(lab: &Lab) -> Result<String> {
    let hundred = Hundred::new(lab)?;
    let repository = format!("{}/acceptance/{}", lab.registry, unique());
    let push = |tag: &str| Build::of(lab, &hundred.project).push_gzip(&format!("{repository}:{tag}"));
    let (_, before) = push("before")?;
    let bumped = hundred.bump()?;
    let (built, after) = push("after")?;
    let executed = built.executed();
    ensure!(
        executed.len() == 1 && executed[0].starts_with("[app "),
        "{} executed: {}",
        executed.len(),
        executed.join("; ")
    );
    let (layers, bytes) = after.new_since(&before);
    ensure!(layers == 1, "{layers} new layers of {bytes} bytes");
    // The config is always new: it holds the plan.
    let (shipped, whole) = (bytes + after.config, after.size() + after.config);
    let thousandths = shipped * 1000 / whole;
    let share = format!("{}.{}%", thousandths / 10, thousandths % 10);
    ensure!(thousandths < 50, "{shipped} of {whole} bytes are new: {share}");
    Ok(format!(
        "{bumped}: 1 executed, 1 new layer of {}; {shipped} of {whole} bytes are new: {share}",
        after.layers.len()
    ))
}
