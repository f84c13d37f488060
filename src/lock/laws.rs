//! Laws that hold for every lock, checked on generated ones.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use proptest::prelude::*;

use super::testing::{parse, roots, target, wheel};
use super::{Lock, Locked, Subset};
use crate::diagnostic::SourceFile;

/// A package of a generated lock: its version, and edges to others with and without a marker.
#[derive(Debug, Clone)]
struct Generated {
    version: u32,
    edges: Vec<(usize, Edge)>,
    extra: Vec<usize>,
}

#[derive(Debug, Clone, Copy)]
enum Edge {
    Always,
    Never,
    Here,
    WithExtra,
}

fn edge() -> impl Strategy<Value = Edge> {
    prop_oneof![
        Just(Edge::Always),
        Just(Edge::Never),
        Just(Edge::Here),
        Just(Edge::WithExtra)
    ]
}

fn packages() -> impl Strategy<Value = Vec<Generated>> {
    (2_usize..12).prop_flat_map(|count| {
        let package = (
            0_u32..3,
            prop::collection::vec((0..count, edge()), 0..4),
            prop::collection::vec(0..count, 0..3),
        )
            .prop_map(|(version, edges, extra)| Generated {
                version,
                edges,
                extra,
            });
        prop::collection::vec(package, count)
    })
}

fn write(packages: &[Generated], order: &[usize]) -> String {
    let mut text = "version = 1\nrevision = 3\n\n".to_owned();
    for &index in order {
        let package = &packages[index];
        let mut lines = "dependencies = [".to_owned();
        for (to, edge) in &package.edges {
            let more = match edge {
                Edge::Always => "",
                Edge::Never => ", marker = \"sys_platform == 'win32'\"",
                Edge::Here => ", marker = \"sys_platform == 'linux' and python_version >= '3.9'\"",
                Edge::WithExtra => ", extra = [\"x\"]",
            };
            write!(lines, "{{ name = \"p{to}\"{more} }}, ").unwrap();
        }
        lines.push_str("]\noptional-dependencies = { x = [");
        for to in &package.extra {
            write!(lines, "{{ name = \"p{to}\" }}, ").unwrap();
        }
        lines.push_str("] }");
        text.push_str(&wheel(
            &format!("p{index}"),
            &format!("1.{}", package.version),
            &lines,
        ));
    }
    text
}

fn in_order(packages: &[Generated]) -> String {
    write(packages, &(0..packages.len()).collect::<Vec<_>>())
}

fn subset(lock: &Lock, names: &BTreeSet<usize>) -> Subset {
    let names: Vec<String> = names.iter().map(|index| format!("p{index}")).collect();
    lock.subset(&roots(&names.join(" ")), &target()).unwrap()
}

fn lines(text: &str, names: &BTreeSet<usize>) -> Vec<String> {
    subset(&parse(text), names).key_lines().collect()
}

/// What a package, or its extra, leads to.
fn next(packages: &[Generated], (index, is_extra): (usize, bool)) -> Vec<(usize, bool)> {
    let package = &packages[index];
    if is_extra {
        return package.extra.iter().map(|to| (*to, false)).collect();
    }
    let edges = package.edges.iter();
    edges
        .flat_map(|(to, edge)| match edge {
            Edge::Never => vec![],
            Edge::Always | Edge::Here => vec![(*to, false)],
            Edge::WithExtra => vec![(*to, false), (*to, true)],
        })
        .collect()
}

/// Which packages are reached, each by which chain, by the plainest means: what can be bettered is, until nothing can.
fn reach(packages: &[Generated], names: &BTreeSet<usize>) -> BTreeMap<usize, Vec<String>> {
    let name = |index: usize| format!("p{index}");
    let mut best: BTreeMap<(usize, bool), Vec<String>> = names
        .iter()
        .map(|index| ((*index, false), vec![name(*index)]))
        .collect();
    loop {
        let before = best.clone();
        for (node, chain) in &before {
            for to in next(packages, *node) {
                let mut chain = chain.clone();
                if to.0 != node.0 {
                    chain.push(name(to.0));
                }
                let known = best.entry(to).or_insert_with(|| chain.clone());
                if (chain.len(), &chain) < (known.len(), known) {
                    *known = chain;
                }
            }
        }
        if best == before {
            let whole = best.into_iter().filter(|((_, is_extra), _)| !is_extra);
            return whole.map(|((index, _), chain)| (index, chain)).collect();
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn a_subset_is_the_closure(packages in packages(), roots in prop::collection::btree_set(0_usize..12, 1..3)) {
        let names = roots.iter().map(|root| root % packages.len()).collect();
        let subset = subset(&parse(&in_order(&packages)), &names);
        let chain = |locked: &Locked| locked.path.iter().map(ToString::to_string).collect::<Vec<_>>();
        let found: BTreeMap<String, Vec<String>> =
            subset.packages.iter().map(|locked| (locked.name.to_string(), chain(locked))).collect();
        let expected: BTreeMap<String, Vec<String>> =
            reach(&packages, &names).into_iter().map(|(index, chain)| (format!("p{index}"), chain)).collect();
        prop_assert_eq!(found, expected);
        for locked in &subset.packages {
            for pair in locked.path.windows(2) {
                prop_assert!(subset.get(&pair[0]).unwrap().requires.contains(&pair[1]));
            }
        }
    }

    #[test]
    fn more_roots_never_give_less(packages in packages(), few in prop::collection::btree_set(0_usize..12, 0..3), more in prop::collection::btree_set(0_usize..12, 0..3)) {
        let text = in_order(&packages);
        let clip = |names: &BTreeSet<usize>| names.iter().map(|index| index % packages.len()).collect::<BTreeSet<_>>();
        let (few, all) = (clip(&few), clip(&few.union(&more).copied().collect()));
        let small: BTreeSet<String> = lines(&text, &few).into_iter().collect();
        let large: BTreeSet<String> = lines(&text, &all).into_iter().collect();
        prop_assert!(small.is_subset(&large));
    }

    #[test]
    fn the_order_of_packages_and_roots_is_nothing(packages in packages(), seed in any::<prop::sample::Index>()) {
        let count = packages.len();
        let turn = seed.index(count);
        let order: Vec<usize> = (0..count).rev().map(|index| (index + turn) % count).collect();
        let (one, other) = (parse(&in_order(&packages)), parse(&write(&packages, &order)));
        let mut asked = roots(&format!("p0 p{turn}"));
        let expected = one.subset(&asked, &target()).unwrap();
        asked.packages.reverse();
        prop_assert_eq!(&expected, &other.subset(&asked, &target()).unwrap());
    }

    #[test]
    fn only_edits_inside_the_closure_change_the_key(packages in packages(), at in any::<prop::sample::Index>()) {
        let names = BTreeSet::from([0]);
        let edited_at = at.index(packages.len());
        let mut edited = packages.clone();
        edited[edited_at].version += 7;
        let same = lines(&in_order(&packages), &names) == lines(&in_order(&edited), &names);
        prop_assert_eq!(same, !reach(&packages, &names).contains_key(&edited_at));
    }

    #[test]
    fn no_bytes_make_it_panic(packages in packages(), cut in any::<prop::sample::Index>(), junk in "[\\[\\]{}=\"'a#\n,.@:/é]{0,8}") {
        let mut text = in_order(&packages);
        let mut at = cut.index(text.len());
        while !text.is_char_boundary(at) {
            at -= 1;
        }
        text.insert_str(at, &junk);
        if let Ok((lock, _)) = Lock::parse(&SourceFile::new("uv.lock", text)) {
            drop(lock.subset(&roots("p0 p1"), &target()));
        }
    }
}
