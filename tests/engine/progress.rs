//! The reader of BuildKit's progress, which all figures rest on.

use crate::support::progress::{Progress, Vertex, seconds};

#[test]
fn times_of_progress_are_read() {
    let near = |time: &str, expected: f64| (seconds(time) - expected).abs() < 1e-6;
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
    let (progress, text) = Progress::parse(lines);
    assert_eq!(text, "ERROR: no\n");
    assert_eq!(progress.executed(), ["y"]);
    assert!(progress.named("x").is_some_and(Vertex::cached));
}
