//! Which steps run again although their result is known.

use std::collections::BTreeSet;

use crate::plan::{Plan, Root, Stage, StageId, Work};

/// `--no-cache` and `--no-cache-filter`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum NoCache {
    /// None.
    #[default]
    None,
    /// All of them.
    All,
    /// Those with one of these names: a stage's (`wheel flash-attn`, `layer torch`), a wheel's alone, or that of an image
    /// for the layers that are its own. Case does not matter.
    Only(Vec<String>),
}

impl NoCache {
    /// Whether a stage runs again; `image` is the image that it belongs to alone.
    pub(super) fn covers(&self, stage: &Stage, image: Option<&str>) -> bool {
        match self {
            Self::None => false,
            Self::All => true,
            Self::Only(names) => {
                let wheel = match &stage.work {
                    Work::Compile(compile) => Some(compile.name.as_str()),
                    Work::Project(project) => Some(project.name.as_str()),
                    _ => None,
                };
                let own = [Some(stage.name.as_str()), wheel, image];
                names
                    .iter()
                    .any(|name| own.iter().flatten().any(|own| name.eq_ignore_ascii_case(own)))
            }
        }
    }
}

/// The layers of an image that no wheel is built on. What a wheel is built on would compile the wheel again: in a
/// Dockerfile, too, the name of a stage does not stand for those that it copies from.
pub(super) fn own_layers(plan: &Plan, root: &Root) -> BTreeSet<StageId> {
    let stages: Vec<(StageId, &Stage)> = plan.iter().collect();
    let mut beneath = BTreeSet::new();
    for (id, stage) in stages.into_iter().rev() {
        let builds = matches!(stage.work, Work::Compile(_) | Work::Project(_));
        if builds || beneath.contains(&id) {
            beneath.extend(stage.work.stands_on(plan.uv));
        }
    }
    std::iter::once(root.base)
        .chain(root.trees.iter().copied())
        .filter(|id| !beneath.contains(id))
        .collect()
}
