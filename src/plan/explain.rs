//! Why one plan differs from another: for every stage that changes, the inputs that changed it.
//!
//! A key is a digest of inputs and of other keys, so one bump changes many of them. A stage of which nothing but
//! another stage's key has changed is a consequence; it is told with the stage that is at the root of it. What is
//! compared is never a key alone: an image that a registry has not been asked about has no digest, and that is no
//! change.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::compact::{CompactPlan, CompactStage};
use super::key::Input;

pub(super) mod pair;
mod words;

use pair::{Pairs, pair};

/// What changes from one plan of an image to another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Explanation {
    /// Name of the image.
    pub image: String,
    /// What the later plan is for, such as `linux/amd64`.
    pub platform: String,
    /// How many stages the later plan has.
    pub stages: usize,
    /// The stages that change, dependencies first, then those that are gone.
    pub changes: Vec<Change>,
    /// What changes in the image config, such as `Entrypoint` or `Env CC`; no layer depends on it.
    pub config: Vec<String>,
    /// Images of which one plan knows a digest and the other does not. They are taken as unchanged.
    pub unknown: Vec<String>,
}

/// What happens to a stage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ChangeKind {
    /// The plan before has no such stage.
    Added,
    /// Both have it, with other inputs.
    Changed,
    /// The plan after has no such stage.
    Removed,
}

/// A stage that changes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Change {
    /// The stage's name in the later plan; in the earlier one if it is gone.
    pub stage: String,
    /// What happens to it.
    pub kind: ChangeKind,
    /// Its own inputs that changed. Of a stage that was added, the packages that it brings.
    pub causes: Vec<Cause>,
    /// Stages with causes of their own that it stands on: the reasons why it changes, if it has no causes itself.
    pub because_of: Vec<Root>,
}

/// A stage at the root of a consequence.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Root {
    /// Its name.
    pub stage: String,
    /// The stages between, from the root on; empty when the consequence stands on the root directly.
    pub through: Vec<String>,
}

/// An input that changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Cause {
    /// The input's name: that of a package, `env CC`, `digest`.
    pub input: String,
    /// Its value before; `None` when it was not there.
    pub before: Option<String>,
    /// Its value now; `None` when it is not there any more.
    pub after: Option<String>,
    /// The chain of requirements that brings it.
    pub because: Option<String>,
    /// The stage that it has come from (with `after`) or gone to (without).
    pub moved: Option<String>,
}

/// What is said of a stage of which only the order of the inputs has changed.
const ORDER: &str = "the order of its inputs";
/// The same inputs in the same order, and yet another key.
const RELEASE: &str = "the way a release of Wheelbase makes keys";
/// A stage that it stands on now, or does not stand on any more.
const STANDS_ON: &str = "stands on";

/// Says what changes from `before` to `after`.
pub fn explain(before: &CompactPlan, after: &CompactPlan) -> Explanation {
    Comparison {
        before,
        after,
        pairs: pair(before, after),
        moves: BTreeMap::new(),
    }
    .explain()
}

struct Comparison<'a> {
    before: &'a CompactPlan,
    after: &'a CompactPlan,
    pairs: Pairs,
    /// Packages that one stage has lost and another has gained.
    moves: BTreeMap<&'a str, Move<'a>>,
}

struct Move<'a> {
    /// Index of the stage before, and the value there.
    from: (usize, &'a str),
    /// Index of the stage after, and the value there.
    to: (usize, &'a str),
}

/// What is known of a stage while the plan is walked.
#[derive(Default)]
struct State {
    /// Whether it has causes of its own.
    is_root: bool,
    /// Roots below it with the stages between, nearest to the root first.
    roots: BTreeMap<usize, Vec<usize>>,
    /// Whether its key depends on an image that one plan knows no digest of.
    unknown: bool,
}

impl<'a> Comparison<'a> {
    fn explain(mut self) -> Explanation {
        self.moves = self.moves();
        let mut states: Vec<State> = Vec::with_capacity(self.after.stages.len());
        let mut changes = Vec::new();
        let mut unknown = Vec::new();
        let (parents_before, parents) = (parents(self.before), parents(self.after));
        for (index, stage) in self.after.stages.iter().enumerate() {
            let mut state = State::default();
            let counterpart = self.pairs.before[index];
            let old = counterpart.map(|old| &self.before.stages[old]);
            if old.is_some_and(|old| old.key == stage.key) {
                states.push(state);
                continue;
            }
            let unresolved = old.is_some_and(|old| is_unknown(old, stage));
            if unresolved {
                unknown.push(stage.name.clone());
                state.unknown = true;
            }
            let known_parents: BTreeSet<usize> = counterpart
                .into_iter()
                .flat_map(|old| parents_before[old].iter())
                .filter_map(|parent| self.pairs.after[*parent])
                .collect();
            let mut causes = Vec::new();
            for &parent in &parents[index] {
                state.unknown |= states[parent].unknown;
                for (root, path) in inherited(&states[parent], parent) {
                    let shorter = state
                        .roots
                        .get(&root)
                        .is_none_or(|known| path.len() < known.len());
                    if shorter {
                        state.roots.insert(root, path);
                    }
                }
                // A stage that is new itself is a root already.
                if old.is_some() && !known_parents.contains(&parent) && self.pairs.before[parent].is_some() {
                    causes.push(stands_on(None, Some(&self.after.stages[parent].name)));
                }
            }
            match (counterpart, old) {
                (Some(counterpart), Some(old)) => {
                    let parents: BTreeSet<usize> = parents[index].iter().copied().collect();
                    for &parent in &parents_before[counterpart] {
                        let still = self.pairs.after[parent].is_some_and(|parent| parents.contains(&parent));
                        if !still {
                            causes.push(stands_on(Some(&self.before.stages[parent].name), None));
                        }
                    }
                    if !unresolved {
                        causes.extend(self.causes(counterpart, index));
                    }
                    if causes.is_empty() && state.roots.is_empty() && !state.unknown {
                        causes.push(unseen(old, stage));
                    }
                }
                _ => causes.extend(self.brought(index)),
            }
            state.is_root = old.is_none() || !causes.is_empty();
            if state.is_root || !state.roots.is_empty() {
                changes.push(Change {
                    stage: stage.name.clone(),
                    kind: if old.is_none() {
                        ChangeKind::Added
                    } else {
                        ChangeKind::Changed
                    },
                    causes,
                    because_of: self.named(&state.roots),
                });
            }
            states.push(state);
        }
        changes.extend(self.removed());
        Explanation {
            image: self.after.image.clone(),
            platform: self.after.platform.clone(),
            stages: self.after.stages.len(),
            changes,
            config: if unknown.is_empty() {
                self.config()
            } else {
                Vec::new()
            },
            unknown,
        }
    }

    /// Names for roots; those that are nearest first.
    fn named(&self, roots: &BTreeMap<usize, Vec<usize>>) -> Vec<Root> {
        let name = |index: &usize| self.after.stages[*index].name.clone();
        let mut named: Vec<(usize, Root)> = roots
            .iter()
            .map(|(root, path)| {
                let through = path.iter().map(name).collect();
                (
                    path.len(),
                    Root {
                        stage: name(root),
                        through,
                    },
                )
            })
            .collect();
        named.sort_by_key(|(distance, _)| *distance);
        named.into_iter().map(|(_, root)| root).collect()
    }

    /// Own inputs of a stage that differ, stages that it stands on left out.
    fn causes(&self, before: usize, after: usize) -> Vec<Cause> {
        let (old, new) = (own(self.before, before), own(self.after, after));
        let mut left: BTreeMap<&str, Vec<&Input>> = BTreeMap::new();
        for &input in &old {
            left.entry(&input.name).or_default().push(input);
        }
        let mut right: BTreeMap<&str, Vec<&Input>> = BTreeMap::new();
        for &input in &new {
            let olds = left.entry(&input.name).or_default();
            match olds.iter().position(|old| old.value == input.value) {
                Some(equal) => {
                    olds.remove(equal);
                }
                None => right.entry(&input.name).or_default().push(input),
            }
        }
        let mut causes = Vec::new();
        for (name, inputs) in &right {
            let olds = left.get(name).map_or(&[][..], Vec::as_slice);
            match (olds, inputs.as_slice()) {
                ([old], [new]) => causes.push(cause(new, Some(&old.value))),
                (_, inputs) => causes.extend(inputs.iter().map(|input| self.gained(input, after))),
            }
        }
        for (name, inputs) in &left {
            let is_one = inputs.len() == 1 && right.get(name).is_some_and(|news| news.len() == 1);
            if !is_one {
                causes.extend(inputs.iter().map(|input| self.lost(input, before)));
            }
        }
        // In the order of the names that people read: before and after of one package together.
        causes.sort_by(|one, other| one.input.cmp(&other.input));
        causes
    }

    fn gained(&self, input: &Input, stage: usize) -> Cause {
        let mut cause = cause(input, None);
        if let Some(moved) = self.moves.get(input.name.as_str())
            && moved.to == (stage, input.value.as_str())
        {
            cause.before = Some(moved.from.1.to_owned());
            cause.moved = Some(self.before.stages[moved.from.0].name.clone());
        }
        cause
    }

    fn lost(&self, input: &Input, stage: usize) -> Cause {
        let mut cause = Cause {
            input: input.name.clone(),
            before: Some(input.value.clone()),
            after: None,
            because: input.because.clone(),
            moved: None,
        };
        if let Some(moved) = self.moves.get(input.name.as_str())
            && moved.from == (stage, input.value.as_str())
        {
            cause.moved = Some(self.after.stages[moved.to.0].name.clone());
        }
        cause
    }

    /// The packages of a stage that was added.
    fn brought(&self, stage: usize) -> Vec<Cause> {
        own(self.after, stage)
            .into_iter()
            .filter(|input| words::package(&input.value).is_some())
            .map(|input| self.gained(input, stage))
            .collect()
    }

    fn removed(&self) -> Vec<Change> {
        let gone = self.before.stages.iter().enumerate();
        gone.filter(|(index, _)| self.pairs.after[*index].is_none())
            .map(|(index, stage)| Change {
                stage: stage.name.clone(),
                kind: ChangeKind::Removed,
                causes: own(self.before, index)
                    .into_iter()
                    .filter(|input| words::package(&input.value).is_some())
                    .map(|input| self.lost(input, index))
                    .collect(),
                because_of: Vec::new(),
            })
            .collect()
    }

    /// Packages that stand in another stage than before. One that several stages have, such as those which wheels
    /// are compiled against, is followed only where one stage lost it and one gained it.
    fn moves(&self) -> BTreeMap<&'a str, Move<'a>> {
        let homes = |plan: &'a CompactPlan| {
            let mut homes: BTreeMap<&'a str, Vec<(usize, &'a str)>> = BTreeMap::new();
            for (index, stage) in plan.stages.iter().enumerate() {
                for input in stage
                    .inputs
                    .iter()
                    .filter(|input| words::package(&input.value).is_some())
                {
                    homes
                        .entry(&input.name)
                        .or_default()
                        .push((index, input.value.as_str()));
                }
            }
            homes
        };
        let (old, new) = (homes(self.before), homes(self.after));
        let mut moves = BTreeMap::new();
        for (name, from) in old {
            let to = new.get(name).map_or(&[][..], Vec::as_slice);
            let is_there = |old: usize| to.iter().any(|(index, _)| self.pairs.before[*index] == Some(old));
            let was_there = |new: usize| {
                from.iter()
                    .any(|(index, _)| self.pairs.after[*index] == Some(new))
            };
            let lost: Vec<_> = from.iter().filter(|(index, _)| !is_there(*index)).collect();
            let gained: Vec<_> = to.iter().filter(|(index, _)| !was_there(*index)).collect();
            if let ([from], [to]) = (lost.as_slice(), gained.as_slice()) {
                moves.insert(
                    name,
                    Move {
                        from: **from,
                        to: **to,
                    },
                );
            }
        }
        moves
    }

    fn config(&self) -> Vec<String> {
        let (Some(before), Some(after)) = (&self.before.config, &self.after.config) else {
            return Vec::new();
        };
        let names: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
        names
            .into_iter()
            .filter(|name| before.get(*name) != after.get(*name))
            .cloned()
            .collect()
    }
}

/// The roots that a stage hands on to one that stands on it.
fn inherited(state: &State, index: usize) -> Vec<(usize, Vec<usize>)> {
    let mut roots: Vec<(usize, Vec<usize>)> = state
        .roots
        .iter()
        .map(|(root, path)| {
            let mut path = path.clone();
            path.push(index);
            (*root, path)
        })
        .collect();
    if state.is_root {
        roots.push((index, Vec::new()));
    }
    roots
}

/// For each stage the stages that it stands on, in the order of its inputs.
fn parents(plan: &CompactPlan) -> Vec<Vec<usize>> {
    let names: BTreeMap<&str, usize> = plan
        .stages
        .iter()
        .enumerate()
        .map(|(index, stage)| (stage.name.as_str(), index))
        .collect();
    plan.stages
        .iter()
        .enumerate()
        .map(|(index, stage)| {
            stage
                .inputs
                .iter()
                .filter_map(|input| {
                    let parent = *names.get(input.name.as_str())?;
                    // A package may have the name of a stage, such as `uv`; a stage's value is its key. A plan that
                    // was read from a file may say anything, so a circle is cut here.
                    (parent < index && is_key(&input.value, &plan.stages[parent].key)).then_some(parent)
                })
                .collect()
        })
        .collect()
}

fn is_key(value: &str, key: &str) -> bool {
    !key.is_empty() && value.starts_with(key)
}

/// The inputs of a stage that are no other stages.
fn own(plan: &CompactPlan, index: usize) -> Vec<&Input> {
    let stage = &plan.stages[index];
    stage
        .inputs
        .iter()
        .filter(|input| {
            !plan.stages[..index]
                .iter()
                .any(|parent| parent.name == input.name && is_key(&input.value, &parent.key))
        })
        .collect()
}

/// Whether one plan knows a digest and the other does not.
fn is_unknown(before: &CompactStage, after: &CompactStage) -> bool {
    let digest = |stage: &CompactStage| match stage.inputs.as_slice() {
        [only] if only.name == "digest" => Some(only.value.starts_with(words::UNRESOLVED)),
        _ => None,
    };
    matches!((digest(before), digest(after)), (Some(old), Some(new)) if old != new)
}

fn cause(input: &Input, before: Option<&str>) -> Cause {
    Cause {
        input: input.name.clone(),
        before: before.map(str::to_owned),
        after: Some(input.value.clone()),
        because: input.because.clone(),
        moved: None,
    }
}

fn stands_on(before: Option<&str>, after: Option<&str>) -> Cause {
    Cause {
        input: STANDS_ON.to_owned(),
        before: before.map(str::to_owned),
        after: after.map(str::to_owned),
        because: None,
        moved: None,
    }
}

/// The cause when no input has another value.
fn unseen(before: &CompactStage, after: &CompactStage) -> Cause {
    let names = |stage: &CompactStage| -> Vec<String> {
        stage
            .inputs
            .iter()
            .map(|input| pair::base_name(&input.name).to_owned())
            .collect()
    };
    let same_order = names(before) == names(after);
    Cause {
        input: if same_order { RELEASE } else { ORDER }.to_owned(),
        before: None,
        after: None,
        because: None,
        moved: None,
    }
}

#[cfg(test)]
#[path = "explain/tests.rs"]
mod tests;
