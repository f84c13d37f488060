//! Targets that fill the wheel store: one for each wheel that there is, whichever variants have it.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::bail;
use serde_json::{Value, json};

use super::super::wheels::{Answer, OUTPUT};
use super::{Bake, names};
use crate::spec::Combination;

/// A wheel with the combinations that have it.
struct Compiled<'a, 'm> {
    answer: &'a Answer,
    of: Vec<&'a Combination<'m>>,
}

impl Bake {
    /// The compiled wheels of each combination. Combinations that differ in their platform alone are asked for at once.
    pub(super) fn ask_wheels<'a, 'm>(
        &self,
        combinations: &'a [Combination<'m>],
    ) -> anyhow::Result<Vec<(&'a Combination<'m>, Vec<Answer>)>> {
        let mut answers: Vec<(Combination<'m>, Vec<Answer>)> = Vec::new();
        let mut asked = Vec::with_capacity(combinations.len());
        for combination in combinations {
            let build = combination.of_any_platform();
            let known = answers.iter().find(|(known, _)| *known == build);
            let all = if let Some((_, all)) = known {
                all.clone()
            } else {
                let of_build = combinations.iter().filter(|other| other.has_all(&build));
                let platforms: Vec<&str> = of_build.filter_map(Combination::platform).collect();
                let mut common = self.build.clone();
                if !platforms.is_empty() {
                    common.platform = Some(platforms.join(","));
                }
                let arguments = combination.args().map(|(name, value)| format!("{name}={value}"));
                common.build_arg.extend(arguments);
                let all = common.wheels()?;
                answers.push((build, all.clone()));
                all
            };
            let own = |answer: &Answer| {
                combination
                    .platform()
                    .is_none_or(|platform| answer.platform == platform)
            };
            asked.push((combination, all.into_iter().filter(own).collect()));
        }
        Ok(asked)
    }

    /// A target for each compiled wheel, which has a key of its own for each platform.
    pub(super) fn wheel_targets(
        &self,
        asked: &[(&Combination<'_>, Vec<Answer>)],
    ) -> anyhow::Result<BTreeMap<String, Value>> {
        let answers = || asked.iter().flat_map(|(_, answers)| answers);
        let several = answers()
            .next()
            .is_some_and(|first| answers().any(|other| other.platform != first.platform));
        let mut wheels: BTreeMap<(&str, &str), Vec<Compiled<'_, '_>>> = BTreeMap::new();
        for (combination, answers) in asked {
            let mut done = BTreeSet::new();
            for answer in answers {
                let which = (answer.wheel.as_str(), answer.platform.as_str());
                // Images may need it in several resolutions of the lock; the target builds it in the first image's.
                if !done.insert(which) {
                    continue;
                }
                let all = wheels.entry(which).or_default();
                match all
                    .iter_mut()
                    .find(|known| known.answer.reference == answer.reference)
                {
                    Some(known) => known.of.push(combination),
                    None => all.push(Compiled {
                        answer,
                        of: vec![combination],
                    }),
                }
            }
        }
        let mut targets = BTreeMap::new();
        for ((wheel, platform), all) in wheels {
            let of_platform = if several {
                format!("-{}", platform.replace('/', "-"))
            } else {
                String::new()
            };
            let name = names::name(&format!("wheel-{wheel}{of_platform}"));
            for (index, (name, wheel)) in named(&name, &all).into_iter().zip(&all).enumerate() {
                let Some(first) = wheel.of.first() else { continue };
                let mut target = self.target(&wheel.answer.wheel, first)?;
                // The tag of the last one that was pushed is moved by one target alone.
                target["tags"] = if index == 0 {
                    json!([wheel.answer.reference, wheel.answer.newest])
                } else {
                    json!([wheel.answer.reference])
                };
                target["platforms"] = json!([wheel.answer.platform]);
                target["output"] = json!([OUTPUT]);
                if targets.insert(name.clone(), target).is_some() {
                    bail!("two wheels both are the target `{name}`; rename one");
                }
            }
        }
        Ok(targets)
    }
}

/// Names for what a wheel is in several combinations: those of the values that decide it, where they tell all apart.
fn named(name: &str, all: &[Compiled<'_, '_>]) -> Vec<String> {
    if all.len() == 1 {
        return vec![name.to_owned()];
    }
    let shared: Vec<String> = all
        .iter()
        .map(|wheel| {
            let shared = Combination::shared(wheel.of.iter().copied());
            names::target(name, &shared.of_any_platform())
        })
        .collect();
    let distinct: BTreeSet<&String> = shared.iter().collect();
    if distinct.len() == all.len() && !distinct.contains(&name.to_owned()) {
        return shared;
    }
    let first = all.iter().filter_map(|wheel| wheel.of.first());
    first
        .map(|first| names::target(name, &first.of_any_platform()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::tests::{bake, matrix};
    use super::*;

    /// What the builder says of a wheel whose key is this.
    fn answer(platform: &str, key: &str) -> Answer {
        let of = platform.replace('/', "-");
        serde_json::from_value(json!({
            "wheel": "kernel",
            "platform": platform,
            "reference": format!("zot.example/wheels:kernel-{key}"),
            "newest": format!("zot.example/wheels:kernel.{of}"),
            "image": null,
            "notes": {},
            "since": null,
        }))
        .unwrap()
    }

    #[test]
    fn each_wheel_is_a_target_for_its_own_platform() {
        let bake = bake(&[]);
        let none = Combination::default();
        let targets = |answers: Vec<Answer>| bake.wheel_targets(&[(&none, answers)]).unwrap();
        let one = targets(vec![answer("linux/amd64", "a")]);
        assert_eq!(one.keys().collect::<Vec<_>>(), ["wheel-kernel"]);
        let both = targets(vec![
            answer("linux/amd64", "a"),
            answer("linux/arm64", "b"),
            answer("linux/arm64", "of another image"),
        ]);
        assert_eq!(
            both.keys().collect::<Vec<_>>(),
            ["wheel-kernel-linux-amd64", "wheel-kernel-linux-arm64"]
        );
        let arm = &both["wheel-kernel-linux-arm64"];
        assert_eq!(arm["platforms"], json!(["linux/arm64"]));
        assert_eq!(
            arm["tags"],
            json!([
                "zot.example/wheels:kernel-b",
                "zot.example/wheels:kernel.linux-arm64"
            ])
        );
    }

    #[test]
    fn a_wheel_of_several_variants_stands_once() {
        let bake = bake(&[]);
        let matrix = matrix("cuda = [\"12.8.1\", \"13.0.2\"]\npython = [\"3.11\", \"3.12\"]");
        let all = matrix.combinations();
        let targets = |keys: [&str; 4]| {
            let asked: Vec<_> = all
                .iter()
                .zip(keys)
                .map(|(one, key)| (one, vec![answer("linux/amd64", key)]))
                .collect();
            bake.wheel_targets(&asked).unwrap()
        };
        let same = targets(["a", "a", "a", "a"]);
        assert_eq!(same.keys().collect::<Vec<_>>(), ["wheel-kernel"]);
        assert_eq!(same["wheel-kernel"]["args"]["cuda"], "12.8.1");
        let by_cuda = targets(["a", "a", "b", "b"]);
        assert_eq!(
            by_cuda.keys().collect::<Vec<_>>(),
            ["wheel-kernel-cuda-12-8-1", "wheel-kernel-cuda-13-0-2"]
        );
        let tags = |target: &Value| target["tags"].as_array().unwrap().len();
        assert_eq!(
            by_cuda.values().map(tags).collect::<Vec<_>>(),
            [2, 1],
            "one target moves the tag of the last one"
        );
        assert_eq!(by_cuda["wheel-kernel-cuda-13-0-2"]["args"]["cuda"], "13.0.2");
        // No value alone decides it.
        let across = targets(["a", "b", "b", "a"]);
        assert_eq!(
            across.keys().collect::<Vec<_>>(),
            [
                "wheel-kernel-cuda-12-8-1-python-3-11",
                "wheel-kernel-cuda-12-8-1-python-3-12"
            ]
        );
    }

    #[test]
    fn platforms_that_vary_are_in_names_once() {
        let bake = bake(&[]);
        let matrix = matrix("platform = [\"linux/amd64\", \"linux/arm64\"]");
        let all = matrix.combinations();
        let asked: Vec<_> = all
            .iter()
            .map(|one| {
                let platform = one.platform().unwrap();
                (one, vec![answer(platform, &platform.replace('/', ""))])
            })
            .collect();
        let targets = bake.wheel_targets(&asked).unwrap();
        assert_eq!(
            targets.keys().collect::<Vec<_>>(),
            ["wheel-kernel-linux-amd64", "wheel-kernel-linux-arm64"]
        );
    }
}
