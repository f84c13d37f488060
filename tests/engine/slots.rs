//! Compiles that share the slots of a builder, and what is in no key of theirs.

use anyhow::Result;

use crate::support::build::Build;
use crate::support::engine::lab;
use crate::support::slow::{log, project, times};

#[test]
fn a_compile_waits_for_a_slot_and_says_who_has_it() -> Result<()> {
    let Some(lab) = lab() else { return Ok(()) };
    let project = project(&lab, &[2, 2], "[build]\nslots = 1")?;
    let built = Build::of(&lab, &project).target("app").succeed()?;
    let times = times(&built, 2)?;
    assert!(times[0].1 <= times[1].0, "{times:?}");
    let logs = [log(&built, 0)?, log(&built, 1)?];
    let waits = [0, 1].map(|number: usize| {
        let words = format!("waits for a slot (build.slots = 1) behind slow-{}", 1 - number);
        logs[number].matches(&words).count()
    });
    assert!(waits == [0, 1] || waits == [1, 0], "{logs:?}");
    Ok(())
}

#[test]
fn slots_and_the_memory_of_a_job_rebuild_nothing() -> Result<()> {
    let Some(lab) = lab() else { return Ok(()) };
    let project = project(&lab, &[0, 0], "")?;
    let built = Build::of(&lab, &project).target("app").succeed()?;
    assert!(!(log(&built, 0)?.to_owned() + log(&built, 1)?).contains("waits"));
    for (from, to) in [
        ("[wheels.slow-0]\n", "[build]\nslots = 1\n[wheels.slow-0]\n"),
        ("slots = 1\n", "slots = 7\n"),
        (
            "[wheels.slow-1]\n",
            "[wheels.slow-1]\njob-memory = \"2GB\"\njobs = 3\n",
        ),
    ] {
        project.spec(from, to)?;
        let built = Build::of(&lab, &project).target("app").succeed()?;
        assert_eq!(built.executed(), [""; 0], "{to}");
    }
    Ok(())
}

#[test]
fn a_compile_that_is_killed_leaves_its_slot() -> Result<()> {
    let Some(lab) = lab() else { return Ok(()) };
    let project = project(&lab, &[0], "[build]\nslots = 1")?;
    project.spec("sleep 0", "kill -9 $$")?;
    let failed = Build::of(&lab, &project).target("app").fail()?;
    assert!(failed.progress.log().contains("begins="), "{}", failed.text);
    project.spec("kill -9 $$", "sleep 0")?;
    let built = Build::of(&lab, &project).target("app").succeed()?;
    assert!(!log(&built, 0)?.contains("waits"), "{}", log(&built, 0)?);
    Ok(())
}
