//! `[matrix]`: the variants of a spec, which `wheelbase bake` makes a target of each.
//!
//! A variant is a build like any other: the same file with other values of its arguments, and perhaps for another platform. So
//! nothing but the command line looks at the matrix, and no key of a step can know that there is one.

use std::collections::BTreeMap;
use std::sync::Arc;

use toml::Spanned;
use toml::de::DeTable;

use super::args::Arguments;
use super::findings::Findings;
use super::keys::join_or;
use super::section::Section;
use super::shape;
use crate::diagnostic::{Diagnostic, Location, SourceFile, nearest};

mod decode;

pub(super) use decode::decode;

/// The most combinations that a matrix may have before any is left out. Each is planned when bake runs.
pub const MOST_COMBINATIONS: usize = 256;

/// What is left out.
const EXCLUDE: &str = "exclude";

/// `[matrix]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Matrix {
    /// What varies, in the order of the file.
    pub axes: Vec<Axis>,
    /// `exclude`: names of axes with values that do not go together.
    pub exclude: Vec<BTreeMap<String, String>>,
}

/// An argument, or `platform`, with the values that it takes in turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Axis {
    /// The name as written, with its place.
    pub name: Spanned<String>,
    /// The values as text, each once, in the order of the file. Platforms are normalised.
    pub values: Vec<Spanned<String>>,
    /// Whether a build without the matrix has a value for it.
    pub has_default: bool,
}

impl Axis {
    /// The name of the one that is no argument.
    pub const PLATFORM: &'static str = "platform";

    /// Whether it is the platform and no argument.
    pub fn is_platform(&self) -> bool {
        self.name.get_ref() == Self::PLATFORM
    }

    fn has(&self, value: &str) -> bool {
        self.values.iter().any(|known| known.get_ref() == value)
    }

    /// All values in quotes, and the one that was probably meant by another.
    pub fn instead_of(&self, value: &str) -> (String, Option<&str>) {
        let values = || self.values.iter().map(|value| value.get_ref().as_str());
        let quoted: Vec<String> = values().map(|value| format!("\"{value}\"")).collect();
        (join_or(&quoted), nearest(value, values()))
    }
}

/// One value of each axis; the default is that of a spec without a matrix.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Combination<'m>(Vec<(&'m Axis, &'m Spanned<String>)>);

impl<'m> Combination<'m> {
    /// Names of axes with values, in the order of the file; `platform` is one of them.
    pub fn values(&self) -> impl Iterator<Item = (&'m str, &'m str)> {
        self.0
            .iter()
            .map(|(axis, value)| (axis.name.get_ref().as_str(), value.get_ref().as_str()))
    }

    /// The values of arguments.
    pub fn args(&self) -> impl Iterator<Item = (&'m str, &'m str)> {
        self.values().filter(|(name, _)| *name != Axis::PLATFORM)
    }

    /// What it is built for; `None` when the platform does not vary.
    pub fn platform(&self) -> Option<&'m str> {
        self.values()
            .find(|(name, _)| *name == Axis::PLATFORM)
            .map(|(_, value)| value)
    }

    /// The same for any platform.
    #[must_use]
    pub fn of_any_platform(&self) -> Self {
        let arguments = self.0.iter().filter(|(axis, _)| !axis.is_platform());
        Self(arguments.copied().collect())
    }

    /// The values that all of some combinations have.
    pub fn shared<'a>(all: impl IntoIterator<Item = &'a Self>) -> Self
    where
        'm: 'a,
    {
        let mut all = all.into_iter();
        let mut shared = all.next().map_or_else(Vec::new, |first| first.0.clone());
        for other in all {
            shared.retain(|pair| other.0.contains(pair));
        }
        Self(shared)
    }

    /// Whether it has all values of another.
    pub fn has_all(&self, other: &Self) -> bool {
        other.0.iter().all(|pair| self.0.contains(pair))
    }

    /// As a spec writes it: `cuda = "12.8.1", python = "3.12"`.
    pub fn words(&self) -> String {
        let words: Vec<String> = self
            .values()
            .map(|(name, value)| format!("{name} = \"{value}\""))
            .collect();
        words.join(", ")
    }

    fn is_excluded_by(&self, values: &BTreeMap<String, String>) -> bool {
        values
            .iter()
            .all(|(name, value)| self.values().any(|pair| pair == (name, value)))
    }
}

impl Matrix {
    /// Reads the matrix of a file alone, and the file as it may be shown: a build needs values for its arguments, which the
    /// matrix may be what gives them. `None` when the file has none.
    ///
    /// # Errors
    ///
    /// What is wrong with the file's syntax, or with the tables `[args]` and `[matrix]`.
    pub fn read(file: &Arc<SourceFile>) -> Result<Option<(Self, Arc<SourceFile>)>, Vec<Diagnostic>> {
        let mut findings = Findings::new(file);
        let (tree, syntax) = DeTable::parse_recoverable(&file.text);
        findings.syntax(&syntax);
        if findings.failed() {
            return Err(findings.finish().err().unwrap_or_default());
        }
        let root = tree.get_ref();
        for table in ["args", "matrix"] {
            shape::check_table(root, table, &mut findings);
        }
        if findings.failed() {
            return Err(findings.finish().err().unwrap_or_default());
        }
        let root = Section::root(root);
        let arguments = Arguments::decode(&root, &BTreeMap::new(), &mut findings);
        let matrix = decode(&root, arguments.all(), &mut findings);
        let (file, _) = findings.finish()?;
        Ok(matrix.map(|matrix| (matrix, file)))
    }

    /// Every value with every value of the other axes, without what is left out. The last axis changes fastest.
    pub fn combinations(&self) -> Vec<Combination<'_>> {
        let mut all = product(&self.axes);
        all.retain(|one| !self.exclude.iter().any(|values| one.is_excluded_by(values)));
        all
    }
}

/// What was found in combinations, each thing once; what does not hold in all of them, which are `all`, names the values that it
/// goes with. `file` is the spec as it may be shown.
pub fn gather(
    file: &Arc<SourceFile>,
    all: usize,
    found: &[(Combination<'_>, Vec<Diagnostic>)],
) -> Vec<Diagnostic> {
    let mut distinct: Vec<(&Diagnostic, Vec<usize>)> = Vec::new();
    for (index, (_, findings)) in found.iter().enumerate() {
        for finding in findings {
            match distinct.iter_mut().find(|(known, _)| *known == finding) {
                Some((_, places)) if places.last() == Some(&index) => {}
                Some((_, places)) => places.push(index),
                None => distinct.push((finding, vec![index])),
            }
        }
    }
    let named = distinct.into_iter().map(|(finding, places)| {
        if places.len() == all {
            return finding.clone();
        }
        let shared = Combination::shared(places.iter().map(|index| &found[*index].0));
        let others = found.iter().filter(|(one, _)| one.has_all(&shared)).count() - places.len();
        // Only where the shared values alone decide it are they the reason.
        let (with, more) = match (others, places.as_slice()) {
            (0, _) if shared.0.is_empty() => return finding.clone(),
            (0, _) => (shared, String::new()),
            (_, [only]) => (found[*only].0.clone(), String::new()),
            (_, [first, rest @ ..]) => (found[*first].0.clone(), format!(", and {} more", rest.len())),
            (_, []) => return finding.clone(),
        };
        let mut finding = finding.clone();
        finding.message = format!("{} (with {}{more})", finding.message, with.words());
        for (_, value) in &with.0 {
            finding = finding.at(Location::new(file, value.span()), "with this value");
        }
        finding
    });
    named.collect()
}

fn product(axes: &[Axis]) -> Vec<Combination<'_>> {
    let mut all = vec![Combination(Vec::new())];
    for axis in axes {
        let longer = all.iter().flat_map(|one| {
            axis.values.iter().map(move |value| {
                let mut values = one.0.clone();
                values.push((axis, value));
                Combination(values)
            })
        });
        all = longer.collect();
    }
    all
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn axis(name: &str, values: &[String], at: usize) -> Axis {
        Axis {
            name: Spanned::new(at..at, name.to_owned()),
            values: values
                .iter()
                .map(|value| Spanned::new(at..at, value.clone()))
                .collect(),
            has_default: true,
        }
    }

    fn matrix(axes: &[(&str, &[&str])]) -> Matrix {
        let axes = axes.iter().enumerate().map(|(at, (name, values))| {
            let values: Vec<String> = values.iter().map(|value| (*value).to_owned()).collect();
            axis(name, &values, at)
        });
        Matrix {
            axes: axes.collect(),
            exclude: Vec::new(),
        }
    }

    #[test]
    fn the_last_axis_changes_fastest() {
        let mut matrix = matrix(&[
            ("cuda", &["12", "13"]),
            ("platform", &["linux/amd64", "linux/arm64"]),
        ]);
        let words = |matrix: &Matrix| -> Vec<String> {
            let all = matrix.combinations();
            all.iter()
                .map(|one| one.values().map(|(_, value)| value).collect::<Vec<_>>().join(" "))
                .collect()
        };
        assert_eq!(
            words(&matrix),
            [
                "12 linux/amd64",
                "12 linux/arm64",
                "13 linux/amd64",
                "13 linux/arm64"
            ]
        );
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        matrix.exclude = vec![BTreeMap::from([
            pair("cuda", "12"),
            pair("platform", "linux/arm64"),
        ])];
        assert_eq!(
            words(&matrix),
            ["12 linux/amd64", "13 linux/amd64", "13 linux/arm64"]
        );
        let all = matrix.combinations();
        assert_eq!(all[0].words(), "cuda = \"12\", platform = \"linux/amd64\"");
        assert_eq!(all[0].args().collect::<Vec<_>>(), [("cuda", "12")]);
        assert_eq!(all[0].platform(), Some("linux/amd64"));
    }

    #[test]
    fn a_finding_names_the_values_that_it_goes_with() {
        let file = SourceFile::new("wheelbase.toml", "name = \"a\"\n");
        let matrix = matrix(&[("cuda", &["12", "13"]), ("python", &["3.11", "3.12"])]);
        let all = matrix.combinations();
        let said = |where_: &[&[&str]]| -> Vec<String> {
            let found: Vec<_> = all
                .iter()
                .zip(where_)
                .map(|(one, messages)| {
                    let findings = messages.iter().map(|message| Diagnostic::error(*message));
                    (one.clone(), findings.collect())
                })
                .collect();
            gather(&file, 4, &found)
                .into_iter()
                .map(|finding| format!("{} {}", finding.message, finding.labels.len()))
                .collect()
        };
        // In the order of the file: 12 with 3.11 and 3.12, 13 with 3.11 and 3.12.
        assert_eq!(said(&[&["e"], &["e"], &["e"], &["e", "e"]]), ["e 0"]);
        assert_eq!(
            said(&[&["old"], &["old"], &[], &[]]),
            ["old (with cuda = \"12\") 1"]
        );
        assert_eq!(
            said(&[&[], &["new"], &[], &["new"]]),
            ["new (with python = \"3.12\") 1"]
        );
        assert_eq!(
            said(&[&[], &["one", "two"], &[], &[]]),
            [
                "one (with cuda = \"12\", python = \"3.12\") 2",
                "two (with cuda = \"12\", python = \"3.12\") 2"
            ]
        );
        // The last one could not be looked at.
        assert_eq!(said(&[&["e"], &["e"], &["e"]]), ["e 0"]);
        assert_eq!(said(&[&["old"], &["old"], &[]]), ["old (with cuda = \"12\") 1"]);
        assert_eq!(
            said(&[&["e"], &[], &["e"], &["e"]]),
            ["e (with cuda = \"12\", python = \"3.11\", and 2 more) 2"]
        );
    }

    proptest! {
        #[test]
        fn combinations_are_the_product_without_what_is_left_out(
            sizes in proptest::collection::vec(1_usize..4, 1..4),
            excluded in proptest::collection::vec(proptest::collection::vec(0_usize..4, 1..4), 0..4),
        ) {
            let names = ["a", "b", "c"];
            let axes: Vec<Axis> = sizes.iter().zip(names).enumerate().map(|(at, (size, name))| {
                let values: Vec<String> = (0..*size).map(|value| value.to_string()).collect();
                axis(name, &values, at)
            }).collect();
            let exclude: Vec<BTreeMap<String, String>> = excluded.iter().map(|values| {
                values.iter().zip(names).map(|(value, name)| (name.to_owned(), value.to_string())).collect()
            }).collect();
            let matrix = Matrix { axes, exclude: exclude.clone() };
            let all = matrix.combinations();
            let mut expected = 0;
            let mut number = 0_usize;
            for index in 0..sizes.iter().product() {
                let mut rest: usize = index;
                let mut values: Vec<(&str, String)> = Vec::new();
                for (size, name) in sizes.iter().zip(names).rev() {
                    values.insert(0, (name, (rest % size).to_string()));
                    rest /= size;
                }
                let out = exclude.iter().any(|table| table.iter().all(|(name, value)| {
                    values.iter().any(|(known, held)| known == name && held == value)
                }));
                if !out {
                    let held: Vec<(&str, &str)> = values.iter().map(|(name, value)| (*name, value.as_str())).collect();
                    prop_assert_eq!(all[number].values().collect::<Vec<_>>(), held);
                    number += 1;
                    expected += 1;
                }
            }
            prop_assert_eq!(all.len(), expected);
        }
    }
}
