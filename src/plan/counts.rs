//! What the compiler cache did for a wheel, as the step that compiled it has counted.
//!
//! A compiler cache that is set up and never answers looks like one that works: the wheel comes out either way, hours
//! later. So each compile leaves its counts beside the wheel, and a build reports those of its wheels. Counts say
//! nothing of a build's result and are in no key.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::diagnostic::{Diagnostic, Location};
use crate::rules::Rule;

/// After `frontend.`, result metadata key of the counts of an image's wheels.
pub const COUNTS: &str = "dev.wheelbase.compiler-cache";

/// Fewer calls than this are no sample: an edit of the only source of a wheel misses all of them.
const LEAST_CALLS: u64 = 8;

/// Of the calls that a cache could answer, the share that it answers at least when little has changed, in percent. An
/// edit of one source or of a header of some is far above it; paths or times in every call are far below.
const LEAST_PERCENT: u64 = 25;

/// The counts of one compile.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// `ccache`, `sccache` or `none`.
    pub tool: String,
    /// Where objects were kept: `mount`, or the kind of a store outside the builder.
    pub store: String,
    /// Whether a store was asked for that could not be used; then it was the cache mount alone.
    pub unreached: bool,
    /// Calls that the cache answered.
    pub hits: u64,
    /// Calls that it could have answered, and did not have.
    pub misses: u64,
    /// Requests to the cache's store that failed. The compiler was run instead.
    pub errors: u64,
    /// Calls that it cannot answer, by reason in the tool's words. Linking is none of them.
    pub uncacheable: BTreeMap<String, u64>,
    /// Whether this builder's cache has seen this wheel compiled by the same compilers, with the same packages,
    /// environment and command. The sources may be others.
    pub known: bool,
    /// When the step was done, in milliseconds since 1970.
    pub ended: u64,
    /// How long the step took, in seconds.
    pub seconds: u64,
}

impl Counts {
    /// Reads what a step left; `None` when it is no such file.
    pub fn read(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }

    /// Calls that the cache could answer.
    pub fn cacheable(&self) -> u64 {
        self.hits.saturating_add(self.misses)
    }

    /// Whole percent of [`Self::cacheable`] that were hits; `None` when there were no such calls.
    pub fn percent(&self) -> Option<u64> {
        self.hits.saturating_mul(100).checked_div(self.cacheable())
    }

    /// What is to be said of a compile whose store could not be used, or that the cache should have answered and did not.
    /// A cache without this wheel's objects is no reason: they are put there now.
    pub fn warning(&self, wheel: &str, location: Option<&Location>) -> Option<Diagnostic> {
        let warning = self.words(wheel)?;
        Some(match location {
            Some(location) => warning.at(location.clone(), "compiled here"),
            None => warning,
        })
    }

    fn words(&self, wheel: &str) -> Option<Diagnostic> {
        if self.unreached {
            return Some(
                Rule::CompilerCacheUnreached.warning(format!(
                    "wheel `{wheel}` was compiled without the store of the compiler cache"
                ))
                .help(
                    "the log of the step says why; `require = true` in [compiler-cache] stops before the first compile",
                ),
            );
        }
        let share = self.percent()?;
        if !self.known || self.cacheable() < LEAST_CALLS || share >= LEAST_PERCENT {
            return None;
        }
        let warning = Rule::CompilerCacheMissed.warning(format!(
            "{} answered {} of {} compiler calls of wheel `{wheel}`, which it has compiled before",
            self.tool,
            self.hits,
            self.cacheable()
        ));
        Some(warning.help(
            "after an edit of a header that most sources include this is how it should be; otherwise look for a path, a \
             time or a random name that is another one in each build, or give the cache a larger `max-size`",
        ))
    }
}

/// One wheel of a [`report`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counted {
    /// Whether it was compiled in this build; otherwise it was cached, and the counts are those of the build that
    /// compiled it.
    pub compiled: bool,
    /// The counts.
    pub counts: Counts,
}

/// The counts of an image's wheels, as the metadata of a build has them.
pub fn report(wheels: &BTreeMap<String, Counted>) -> Value {
    serde_json::json!({ "version": 1, "wheels": wheels })
}

/// Reads a [`report`]; `None` when it is none that this release understands.
pub fn read_report(report: &Value) -> Option<BTreeMap<String, Counted>> {
    if report["version"] != 1 {
        return None;
    }
    serde_json::from_value(report["wheels"].clone()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(hits: u64, misses: u64, known: bool) -> Counts {
        Counts {
            tool: "ccache".into(),
            store: "mount".into(),
            unreached: false,
            hits,
            misses,
            errors: 0,
            uncacheable: BTreeMap::from([("unsupported compiler option".into(), 2)]),
            known,
            ended: 1_800_000_000_000,
            seconds: 12,
        }
    }

    #[test]
    fn a_report_reads_back() {
        let wheels = BTreeMap::from([(
            "vecadd".to_owned(),
            Counted {
                compiled: true,
                counts: counts(3, 1, true),
            },
        )]);
        assert_eq!(read_report(&report(&wheels)), Some(wheels));
        assert_eq!(
            read_report(&serde_json::json!({ "version": 2, "wheels": {} })),
            None
        );
        assert_eq!(Counts::read("{}"), None);
    }

    #[test]
    fn only_a_cache_that_should_have_answered_is_warned_of() {
        let warned = |counts: Counts| counts.warning("vecadd", None).is_some();
        assert!(warned(counts(0, 8, true)));
        assert!(warned(counts(2, 8, true)));
        assert!(!warned(counts(0, 8, false)), "cold");
        assert!(!warned(counts(0, 7, true)), "few");
        assert!(!warned(counts(2, 6, true)), "a quarter");
        assert!(!warned(counts(0, 0, true)), "nothing to answer");
        let unreached = Counts {
            unreached: true,
            ..counts(8, 0, true)
        };
        assert!(warned(unreached));
    }
}
