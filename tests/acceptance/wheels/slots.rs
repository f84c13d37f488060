//! Wheels beside each other, and one after another where the builder has one slot.

use anyhow::{Context as _, Result, ensure};

use crate::Claim;
use crate::support::build::Build;
use crate::support::engine::Lab;
use crate::support::progress::Vertex;
use crate::support::slow::{log, project, times};

/// How long the build commands of four wheels sleep.
const SECONDS: [u32; 4] = [4, 6, 8, 10];

pub(crate) fn claims() -> Vec<Claim> {
    vec![
        Claim::new(
            "four slow wheels take less than half as long again as the slowest of them",
            at_once,
        ),
        Claim::new(
            "with slots = 1 they are compiled one after another, and each that waits says so once",
            one_by_one,
        ),
        Claim::new(
            "with slots = 2 never more than two are compiled at once, and two are",
            two_by_two,
        ),
        Claim::new(
            "another number of slots, of jobs, or memory of a job rebuilds nothing",
            outside_of_keys,
        ),
    ]
}

fn at_once(lab: &Lab) -> Result<String> {
    let project = project(lab, &SECONDS, "")?;
    let built = Build::of(lab, &project).target("app").succeed()?;
    let steps = (0..SECONDS.len())
        .map(|number| {
            let step = built.progress.named(&format!("[wheel slow-{number}] compile"));
            step.and_then(Vertex::interval)
                .context("a wheel was not compiled")
        })
        .collect::<Result<Vec<_>>>()?;
    let lengths = || steps.iter().map(|(start, end)| end - start);
    let (slowest, sum) = (lengths().fold(0.0, f64::max), lengths().sum::<f64>());
    let all = span(&steps);
    let figure = format!("all four {all:.1} s, the slowest {slowest:.1} s, one by one {sum:.1} s");
    ensure!(all < 1.5 * slowest && 1.5 * all < sum, "{figure}");
    Ok(figure)
}

fn one_by_one(lab: &Lab) -> Result<String> {
    let project = project(lab, &SECONDS, "[build]\nslots = 1")?;
    let built = Build::of(lab, &project).target("app").succeed()?;
    let times = times(&built, SECONDS.len())?;
    let gaps: Vec<f64> = times.windows(2).map(|pair| pair[1].0 - pair[0].1).collect();
    let gap = |pick: fn(f64, f64) -> f64| gaps.iter().copied().reduce(pick).unwrap_or(f64::NAN);
    let (least, most) = (gap(f64::min), gap(f64::max));
    let figure = format!(
        "{:.1} s from the first to the last; from one's end to the next one's beginning {least:.2} to {most:.2} s",
        span(&times)
    );
    ensure!(least >= 0.0, "two overlap: {figure}");
    ensure!(most < 3.0, "a free slot is not taken: {figure}");
    let waits = waits(&built)?;
    let waiting = waits.iter().filter(|count| **count == 1).count();
    ensure!(
        waiting == SECONDS.len() - 1 && waits.iter().sum::<usize>() == waiting,
        "lines that say so: {waits:?}"
    );
    Ok(format!("{figure}; {waiting} waited"))
}

fn two_by_two(lab: &Lab) -> Result<String> {
    let project = project(lab, &SECONDS, "[build]\nslots = 2")?;
    let built = Build::of(lab, &project).target("app").succeed()?;
    let times = times(&built, SECONDS.len())?;
    let most = times
        .iter()
        .map(|(start, _)| {
            times
                .iter()
                .filter(|(begins, ends)| begins <= start && start < ends)
                .count()
        })
        .max();
    ensure!(most == Some(2), "at most {most:?} at once: {times:?}");
    Ok(format!(
        "at most 2 at once, {:.1} s from the first to the last",
        span(&times)
    ))
}

fn outside_of_keys(lab: &Lab) -> Result<String> {
    let project = project(lab, &[0, 0, 0, 0], "")?;
    Build::of(lab, &project).target("app").succeed()?;
    let edits = [
        ("[wheels.slow-0]\n", "[build]\nslots = 1\n[wheels.slow-0]\n"),
        ("slots = 1\n", "slots = 3\n"),
        ("[wheels.slow-1]\n", "[wheels.slow-1]\njobs = 2\n"),
        ("jobs = 2\n", "job-memory = \"700MB\"\n"),
    ];
    for (from, to) in edits {
        project.spec(from, to)?;
        let built = Build::of(lab, &project).target("app").succeed()?;
        ensure!(built.executed().is_empty(), "{to:?}: {:?}", built.executed());
    }
    Ok(format!("{} edits, 0 executed", edits.len()))
}

/// From the first beginning to the last end.
fn span(times: &[(f64, f64)]) -> f64 {
    let start = times.iter().map(|time| time.0).fold(f64::MAX, f64::min);
    times.iter().map(|time| time.1).fold(f64::MIN, f64::max) - start
}

/// How many lines of each log say that the wheel waits.
fn waits(built: &crate::support::build::Built) -> Result<Vec<usize>> {
    (0..SECONDS.len())
        .map(|number| {
            Ok(log(built, number)?
                .matches(" waits for a slot (build.slots = 1) behind ")
                .count())
        })
        .collect()
}
