//! Which steps run again although their result is known.

use crate::plan::{Stage, Work};

/// `--no-cache` and `--no-cache-filter`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum NoCache {
    /// None.
    #[default]
    None,
    /// All of them.
    All,
    /// Those with one of these names: a stage's (`wheel flash-attn`, `layer torch`) or a wheel's alone. Case does not
    /// matter.
    Only(Vec<String>),
}

impl NoCache {
    pub(super) fn covers(&self, stage: &Stage) -> bool {
        match self {
            Self::None => false,
            Self::All => true,
            Self::Only(names) => {
                let wheel = match &stage.work {
                    Work::Compile(compile) => Some(compile.name.as_str()),
                    Work::Project(project) => Some(project.name.as_str()),
                    _ => None,
                };
                names.iter().any(|name| {
                    name.eq_ignore_ascii_case(&stage.name)
                        || wheel.is_some_and(|wheel| name.eq_ignore_ascii_case(wheel))
                })
            }
        }
    }
}
