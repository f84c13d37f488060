//! Wheels that need each other in a circle, which no order of compiling can satisfy.

use std::collections::{BTreeMap, BTreeSet};

use super::findings::Findings;
use super::model::{Wheel, wheel_of};
use crate::diagnostic::Diagnostic;

/// A wheel on the way from the start of the search, and how many of its needs were followed.
struct Step<'w> {
    name: &'w str,
    followed: usize,
}

/// Reports each circle with all its places: a depth-first search, without recursion since the file decides how deep
/// it goes.
pub(super) fn check(wheels: &BTreeMap<String, Wheel>, findings: &mut Findings) {
    let mut done: BTreeSet<&str> = BTreeSet::new();
    for start in wheels.keys().map(String::as_str) {
        if done.contains(start) {
            continue;
        }
        let mut path = vec![Step {
            name: start,
            followed: 0,
        }];
        let mut places = BTreeMap::from([(start, 0)]);
        while let Some(step) = path.last_mut() {
            let need = wheels
                .get(step.name)
                .and_then(|wheel| wheel.needs.get(step.followed));
            let Some(need) = need else {
                done.insert(step.name);
                places.remove(step.name);
                path.pop();
                continue;
            };
            step.followed += 1;
            let Some(name) = wheel_of(wheels, &need.get_ref().name) else {
                continue;
            };
            if let Some(place) = places.get(name) {
                report(&path[*place..], wheels, findings);
            } else if !done.contains(name) {
                places.insert(name, path.len());
                path.push(Step { name, followed: 0 });
            }
        }
    }
}

fn report(circle: &[Step<'_>], wheels: &BTreeMap<String, Wheel>, findings: &mut Findings) {
    let names: Vec<&str> = circle
        .iter()
        .chain(circle.first())
        .map(|step| step.name)
        .collect();
    let mut diagnostic = match names.as_slice() {
        [only, _] => Diagnostic::error(format!("wheel `{only}` needs itself")),
        _ => Diagnostic::error(format!(
            "wheels need each other in a circle: {}",
            names.join(" -> ")
        )),
    };
    for (step, next) in circle.iter().zip(names.iter().skip(1)) {
        let needs = wheels
            .get(step.name)
            .map(|wheel| wheel.needs.as_slice())
            .unwrap_or_default();
        if let Some(need) = needs.get(step.followed - 1) {
            diagnostic = diagnostic.at(
                findings.place(need.span()),
                format!("`{}` needs `{next}`", step.name),
            );
        }
    }
    findings.push(diagnostic.help("remove one of these needs: a wheel is compiled after all that it needs"));
}
