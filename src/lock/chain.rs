//! Why a package is in a subset: a shortest chain of names from a root to it, and of several the first in the order of
//! the names.
//!
//! Chains are found length by length. Those of one length are in order when they are sorted by the place of what comes
//! before, and then by their last name; so a chain is two numbers, and no two are ever compared name by name.

use std::collections::BTreeSet;

use super::walk::{Node, Nodes, Start};
use super::{Lock, PackageName};

/// A chain for each package that was reached.
#[derive(Debug)]
pub(super) struct Chains<'l> {
    links: Vec<Link<'l>>,
    /// By package.
    ends: Vec<Option<usize>>,
}

/// The last name of a chain, and the chain before it.
#[derive(Debug)]
struct Link<'l> {
    before: Option<usize>,
    name: &'l PackageName,
}

impl Chains<'_> {
    /// The names from a root to a package; empty for one that was not reached.
    pub(super) fn names(&self, package: usize) -> Vec<PackageName> {
        let mut names = Vec::new();
        let mut end = self.ends.get(package).copied().flatten();
        while let Some(link) = end.and_then(|end| self.links.get(end)) {
            names.push(link.name.clone());
            end = link.before;
        }
        names.reverse();
        names
    }
}

/// A chain that may be the best one to a point.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Candidate<'l> {
    before: Option<usize>,
    /// Of the last name, among all names of the lock.
    place: usize,
    to: Point<'l>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Point<'l> {
    Node(Node<'l>),
    /// The project of a start that has one in between.
    Via(usize),
}

struct Finder<'l, 'w> {
    lock: &'l Lock,
    starts: &'w [Start<'l>],
    nodes: &'w Nodes<'l>,
    /// The place of each package's name among all names, which stand in order.
    places: Vec<usize>,
    /// Extras whose chain is found; a package's chain is its end.
    extras: BTreeSet<Node<'l>>,
    /// Chains that are one name longer than those at hand.
    next: Vec<Candidate<'l>>,
    chains: Chains<'l>,
}

/// Finds the chains to all nodes.
pub(super) fn chains<'l>(lock: &'l Lock, starts: &[Start<'l>], nodes: &Nodes<'l>) -> Chains<'l> {
    let mut places = vec![0; lock.packages.len()];
    for (place, indices) in lock.by_name.values().enumerate() {
        for index in indices {
            if let Some(of_package) = places.get_mut(*index) {
                *of_package = place;
            }
        }
    }
    let mut finder = Finder {
        lock,
        starts,
        nodes,
        places,
        extras: BTreeSet::new(),
        next: Vec::new(),
        chains: Chains {
            links: Vec::new(),
            ends: vec![None; lock.packages.len()],
        },
    };
    finder.find();
    finder.chains
}

impl<'l> Finder<'l, '_> {
    fn find(&mut self) {
        let starts = self.starts;
        for (index, start) in starts.iter().enumerate() {
            match start.via {
                Some(via) => self.note(None, via, Point::Via(index)),
                None => {
                    for node in targets(start) {
                        self.note(None, node.0, Point::Node(node));
                    }
                }
            }
        }
        while !self.next.is_empty() {
            let mut candidates = std::mem::take(&mut self.next);
            // Links are made in the order of their chains, so those of one length compare as their numbers do.
            candidates.sort_unstable();
            let mut last = None;
            for candidate in candidates {
                let Candidate { before, place, to } = candidate;
                if matches!(to, Point::Node(node) if self.is_done(node)) {
                    continue;
                }
                if last != Some((before, place)) {
                    let Some(name) = self.name(to) else { continue };
                    self.chains.links.push(Link { before, name });
                    last = Some((before, place));
                }
                self.visit(self.chains.links.len() - 1, place, to);
            }
        }
    }

    fn name(&self, point: Point<'l>) -> Option<&'l PackageName> {
        let index = match point {
            Point::Node((index, _)) => index,
            Point::Via(start) => self.starts.get(start)?.via?,
        };
        self.lock.packages.get(index).map(|package| &package.name)
    }

    /// Goes on from the end of a chain. From a package to an extra of its own the chain gets no longer.
    fn visit(&mut self, chain: usize, place: usize, point: Point<'l>) {
        let mut points = vec![point];
        while let Some(point) = points.pop() {
            let mut reach = |finder: &mut Self, node: Node<'l>| {
                if finder.places.get(node.0) == Some(&place) {
                    points.push(Point::Node(node));
                } else if !finder.is_done(node) {
                    finder.note(Some(chain), node.0, Point::Node(node));
                }
            };
            match point {
                Point::Via(start) => {
                    for node in self.starts.get(start).into_iter().flat_map(targets) {
                        reach(self, node);
                    }
                }
                Point::Node(node) => {
                    if self.is_done(node) {
                        continue;
                    }
                    match node {
                        (index, None) => {
                            if let Some(end) = self.chains.ends.get_mut(index) {
                                *end = Some(chain);
                            }
                        }
                        extra => drop(self.extras.insert(extra)),
                    }
                    let nodes = self.nodes;
                    for edge in nodes.edges(node).into_iter().flatten() {
                        reach(self, (edge.target, None));
                        for extra in &edge.extras {
                            reach(self, (edge.target, Some(extra)));
                        }
                    }
                }
            }
        }
    }

    fn is_done(&self, node: Node<'l>) -> bool {
        match node {
            (index, None) => self.chains.ends.get(index).is_none_or(Option::is_some),
            extra => self.extras.contains(&extra),
        }
    }

    fn note(&mut self, before: Option<usize>, package: usize, to: Point<'l>) {
        if let Some(&place) = self.places.get(package) {
            self.next.push(Candidate { before, place, to });
        }
    }
}

fn targets<'l>(start: &Start<'l>) -> impl Iterator<Item = Node<'l>> {
    let target = start.target;
    let extras: Vec<&'l str> = start.extras.iter().copied().collect();
    std::iter::once((target, None)).chain(extras.into_iter().map(move |extra| (target, Some(extra))))
}
