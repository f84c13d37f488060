//! Which stage of one plan is which stage of another.
//!
//! A stage is known by its name. Where a plan has several of one name it numbers them (`layer packages 1/8 #2`), and
//! the numbers depend on which images were planned beside; so among those of one name the content decides.

use std::collections::BTreeMap;

use super::super::compact::{CompactPlan, CompactStage};

/// Stages of two plans, matched.
#[derive(Debug)]
pub(super) struct Pairs {
    /// For each stage of the plan before, the same one after.
    pub(super) after: Vec<Option<usize>>,
    /// For each stage of the plan after, the same one before.
    pub(super) before: Vec<Option<usize>>,
}

/// Matches the stages of two plans.
pub(super) fn pair(before: &CompactPlan, after: &CompactPlan) -> Pairs {
    let mut pairs = Pairs {
        after: vec![None; before.stages.len()],
        before: vec![None; after.stages.len()],
    };
    let (old, new) = (by_name(before), by_name(after));
    for (name, news) in &new {
        let mut olds = old.get(name).cloned().unwrap_or_default();
        let mut news = news.clone();
        while let Some((left, right)) = best(before, after, &olds, &news) {
            pairs.after[left] = Some(right);
            pairs.before[right] = Some(left);
            olds.retain(|index| *index != left);
            news.retain(|index| *index != right);
        }
    }
    pairs
}

/// The two that are most alike; of equals the first.
fn best(before: &CompactPlan, after: &CompactPlan, olds: &[usize], news: &[usize]) -> Option<(usize, usize)> {
    let mut best: Option<(Likeness, (usize, usize))> = None;
    for &left in olds {
        for &right in news {
            let likeness = likeness(&before.stages[left], &after.stages[right]);
            if best.as_ref().is_none_or(|(most, _)| likeness > *most) {
                best = Some((likeness, (left, right)));
            }
        }
    }
    best.map(|(_, pair)| pair)
}

/// Equal keys, then the number of equal inputs, then of inputs that have the same name, then the fewest in all.
type Likeness = (bool, usize, usize, std::cmp::Reverse<usize>);

fn likeness(left: &CompactStage, right: &CompactStage) -> Likeness {
    let equal = left
        .inputs
        .iter()
        .filter(|input| {
            right
                .inputs
                .iter()
                .any(|other| other.name == input.name && other.value == input.value)
        })
        .count();
    let named = left
        .inputs
        .iter()
        .filter(|input| right.inputs.iter().any(|other| other.name == input.name))
        .count();
    let all = left.inputs.len() + right.inputs.len();
    (left.key == right.key, equal, named, std::cmp::Reverse(all))
}

fn by_name(plan: &CompactPlan) -> BTreeMap<&str, Vec<usize>> {
    let mut names: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (index, stage) in plan.stages.iter().enumerate() {
        names.entry(base_name(&stage.name)).or_default().push(index);
    }
    names
}

/// A stage's name without the number that tells it from others of that name.
pub(in crate::plan) fn base_name(name: &str) -> &str {
    match name.rsplit_once(" #") {
        Some((base, number)) if !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()) => {
            base
        }
        _ => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_no_part_of_a_name() {
        assert_eq!(base_name("layer packages 1/8 #12"), "layer packages 1/8");
        assert_eq!(base_name("layer torch"), "layer torch");
        assert_eq!(base_name("copy a #b to /c"), "copy a #b to /c");
        assert_eq!(base_name("copy a # to /c"), "copy a # to /c");
    }
}
