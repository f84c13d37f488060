//! The combinations of `[matrix]`: which are asked for, and what their specs have to say.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::Input;
use super::load::{self, Loaded, Reading};
use crate::diagnostic::{Diagnostic, SourceFile};
use crate::platform::Platform;
use crate::spec::{Combination, Matrix, gather};

/// The matrix of a spec.
pub(super) struct Variants {
    matrix: Matrix,
    /// The spec as it may be shown.
    file: Arc<SourceFile>,
}

/// What came of planning combinations.
#[derive(Default)]
pub(super) struct Planned {
    /// What probably is not meant, each thing once.
    pub(super) warnings: Vec<Diagnostic>,
    /// What cannot be built, each thing once.
    pub(super) errors: Vec<Diagnostic>,
    /// The spec of the first combination that could be read.
    pub(super) first: Option<Loaded>,
}

impl Variants {
    /// Reads the matrix; `None` when the spec has none.
    pub(super) fn read(input: &Input) -> Reading<Option<Self>> {
        match Matrix::read(&load::spec(&input.file)?) {
            Ok(matrix) => Ok(Ok(matrix.map(|(matrix, file)| Self { matrix, file }))),
            // What else is wrong is said at the same time, unless it is that the matrix has to give values.
            Err(errors) => {
                let all = input.load()?.err().unwrap_or_default();
                let has_all = errors.iter().all(|error| all.contains(error));
                Ok(Err(if has_all { all } else { errors }))
            }
        }
    }

    /// Whether the spec can be read without a combination: nothing that varies lacks a value then.
    pub(super) fn have_defaults(&self, given: &BTreeMap<String, String>) -> bool {
        let axes = &self.matrix.axes;
        axes.iter()
            .all(|axis| axis.has_default || given.contains_key(axis.name.get_ref()))
    }

    /// The combinations with the values and platforms that a build gives; no platforms stand for any.
    pub(super) fn chosen(
        &self,
        given: &BTreeMap<String, String>,
        platforms: &[Platform],
    ) -> Vec<Combination<'_>> {
        let mut all = self.matrix.combinations();
        all.retain(|one| {
            one.args()
                .all(|(name, value)| given.get(name).is_none_or(|given| given == value))
                && one.platform().is_none_or(|value| {
                    platforms.is_empty() || platforms.iter().any(|given| given.to_string() == value)
                })
        });
        all
    }

    /// Why nothing is [chosen](Self::chosen).
    pub(super) fn refusal(&self, given: &BTreeMap<String, String>, platforms: &[Platform]) -> String {
        let mut asked = Vec::new();
        for axis in &self.matrix.axes {
            let name = axis.name.get_ref();
            let values: Vec<String> = if axis.is_platform() {
                platforms.iter().map(ToString::to_string).collect()
            } else {
                given.get(name).cloned().into_iter().collect()
            };
            let has = |value: &String| axis.values.iter().any(|known| known.get_ref() == value);
            if let Some(value) = values.first().filter(|_| !values.iter().any(has)) {
                let (all, near) = axis.instead_of(value);
                return match near {
                    Some(near) => {
                        format!("`{name}` of [matrix] is never \"{value}\"; did you mean \"{near}\"?")
                    }
                    None => format!("`{name}` of [matrix] is never \"{value}\"; it is {all}"),
                };
            }
            asked.extend(values.iter().map(|value| format!("{name} = \"{value}\"")));
        }
        format!("[matrix] leaves out what is asked for: {}", asked.join(", "))
    }

    /// Reads and plans the spec in each combination, for `platforms` where the platform does not vary. `say` gives the
    /// warnings of one.
    pub(super) fn plan(
        &self,
        combinations: &[Combination<'_>],
        input: &Input,
        platforms: &[Platform],
        say: impl Fn(&Loaded) -> Vec<Diagnostic>,
    ) -> anyhow::Result<Planned> {
        let mut planned = Planned::default();
        // What is read alone can be planned, so that the others say nothing of it.
        let (mut unread, mut warnings, mut unplanned) = (Vec::new(), Vec::new(), Vec::new());
        for one in combinations {
            let platforms: Vec<Platform> = match one.platform().map(str::parse) {
                Some(platform) => vec![platform?],
                None => platforms.to_vec(),
            };
            let (mut said, mut wrong) = (Vec::new(), Vec::new());
            for platform in platforms {
                match input.of(one, platform).load()? {
                    Ok(loaded) => {
                        said.extend(say(&loaded));
                        wrong.extend(loaded.plan().err().unwrap_or_default());
                        planned.first.get_or_insert(loaded);
                    }
                    // No platform decides that.
                    Err(errors) => {
                        unread.push((one.clone(), errors));
                        break;
                    }
                }
            }
            if unread.last().is_none_or(|(last, _)| last != one) {
                warnings.push((one.clone(), said));
                unplanned.push((one.clone(), wrong));
            }
        }
        let all = combinations.len();
        let gather = |found: &[_]| gather(&self.file, all, found);
        planned.warnings = gather(&warnings);
        planned.errors = gather(&unread);
        planned.errors.extend(gather(&unplanned));
        Ok(planned)
    }
}

impl Input {
    /// The same with the values of a combination.
    pub(super) fn of(&self, combination: &Combination<'_>, platform: Platform) -> Self {
        let mut input = self.clone();
        let arguments = combination.args().map(|(name, value)| format!("{name}={value}"));
        input.build_arg.extend(arguments);
        input.platform = platform;
        input
    }
}
