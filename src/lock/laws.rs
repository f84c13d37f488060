//! Laws that hold for every lock, checked on generated ones.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use proptest::prelude::*;

use super::tests::{parse, roots, target, wheel};
use super::{Lock, Subset};
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

/// Which packages are reached, by the plainest means.
fn reach(packages: &[Generated], names: &BTreeSet<usize>) -> BTreeSet<usize> {
    let mut nodes: BTreeSet<(usize, bool)> = names.iter().map(|index| (*index, false)).collect();
    loop {
        let mut next = nodes.clone();
        for (index, is_extra) in &nodes {
            let package = &packages[*index];
            if *is_extra {
                next.extend(package.extra.iter().map(|to| (*to, false)));
                continue;
            }
            for (to, edge) in &package.edges {
                match edge {
                    Edge::Never => {}
                    Edge::Always | Edge::Here => drop(next.insert((*to, false))),
                    Edge::WithExtra => next.extend([(*to, false), (*to, true)]),
                }
            }
        }
        if next.len() == nodes.len() {
            return nodes.into_iter().map(|(index, _)| index).collect();
        }
        nodes = next;
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn a_subset_is_the_closure(packages in packages(), root in any::<prop::sample::Index>()) {
        let names = BTreeSet::from([root.index(packages.len())]);
        let subset = subset(&parse(&in_order(&packages)), &names);
        let found: BTreeSet<String> = subset.packages.iter().map(|locked| locked.name.to_string()).collect();
        let expected: BTreeSet<String> = reach(&packages, &names).iter().map(|index| format!("p{index}")).collect();
        prop_assert_eq!(found, expected);
        for locked in &subset.packages {
            prop_assert_eq!(locked.path.last(), Some(&locked.name));
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
        prop_assert_eq!(same, !reach(&packages, &names).contains(&edited_at));
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
