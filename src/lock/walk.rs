//! The walk over a lock: which packages some starting points reach in one environment.
//!
//! Conflicting extras make the walk circular: an edge can depend on whether an extra is on, and an extra is turned on
//! by edges. As uv does, the walk notes every conflict item that it turns on and begins again with it on, until
//! nothing new is turned on. Items are never turned off, so it ends.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::chain::{self, Chains};
use super::conflict::{Active, ConflictItem};
use super::error::SubsetError;
use super::expression::Environment;
use super::package::MarkerId;
use super::{Dependency, Lock, PackageName};
use crate::diagnostic::Location;

/// A point from which packages are reached.
#[derive(Debug, Clone)]
pub(super) struct Start<'l> {
    /// The project whose dependency group it is of; `None` for a root itself.
    pub(super) via: Option<usize>,
    pub(super) target: usize,
    pub(super) extras: BTreeSet<&'l str>,
    /// All of them must hold.
    pub(super) markers: Vec<MarkerId>,
}

/// A package, or one of its extras.
pub(super) type Node<'l> = (usize, Option<&'l str>);

/// What was reached, with the edges that are live in the environment.
#[derive(Debug)]
pub(super) struct Reached<'l> {
    nodes: Nodes<'l>,
    /// The starts that hold in the environment.
    starts: Vec<Start<'l>>,
}

/// Nodes with their live edges. Nearly all are packages themselves, so those are found by their index.
#[derive(Debug)]
pub(super) struct Nodes<'l> {
    packages: Vec<Option<Vec<&'l Dependency>>>,
    extras: BTreeMap<(usize, &'l str), Vec<&'l Dependency>>,
}

impl<'l> Nodes<'l> {
    pub(super) fn edges(&self, node: Node<'l>) -> Option<&Vec<&'l Dependency>> {
        match node {
            (index, None) => self.packages.get(index)?.as_ref(),
            (index, Some(extra)) => self.extras.get(&(index, extra)),
        }
    }

    fn add_edge(&mut self, node: Node<'l>, edge: &'l Dependency) {
        let edges = match node {
            (index, None) => self.packages.get_mut(index).and_then(Option::as_mut),
            (index, Some(extra)) => self.extras.get_mut(&(index, extra)),
        };
        if let Some(edges) = edges {
            edges.push(edge);
        }
    }

    /// Notes a node; whether it is new.
    fn add(&mut self, node: Node<'l>) -> bool {
        match node {
            (index, None) => match self.packages.get_mut(index) {
                Some(edges @ None) => {
                    *edges = Some(Vec::new());
                    true
                }
                _ => false,
            },
            (index, Some(extra)) => {
                let count = self.extras.len();
                self.extras.entry((index, extra)).or_default();
                self.extras.len() > count
            }
        }
    }

    fn extras(&self, index: usize) -> impl Iterator<Item = (&'l str, &Vec<&'l Dependency>)> {
        let of_package = self.extras.range((index, "")..(index + 1, ""));
        of_package.map(|((_, extra), edges)| (*extra, edges))
    }
}

impl<'l> Reached<'l> {
    fn nothing(lock: &Lock) -> Self {
        Self {
            nodes: Nodes {
                packages: vec![None; lock.packages.len()],
                extras: BTreeMap::new(),
            },
            starts: Vec::new(),
        }
    }

    /// Indices of the packages that were reached, ascending.
    pub(super) fn packages(&self) -> impl Iterator<Item = usize> {
        let packages = self.nodes.packages.iter().enumerate();
        packages.filter_map(|(index, edges)| edges.as_ref().map(|_| index))
    }

    /// Whether a package was reached.
    pub(super) fn has(&self, index: usize) -> bool {
        self.nodes.edges((index, None)).is_some()
    }

    /// The extras of a package that are on.
    pub(super) fn extras(&self, index: usize) -> BTreeSet<String> {
        self.nodes
            .extras(index)
            .map(|(extra, _)| extra.to_owned())
            .collect()
    }

    /// The names that a package depends on directly.
    pub(super) fn requires(&self, index: usize) -> BTreeSet<PackageName> {
        let of_extras = self.nodes.extras(index).map(|(_, edges)| edges);
        let edges = self.nodes.edges((index, None)).into_iter().chain(of_extras);
        edges
            .flatten()
            .filter(|edge| edge.target != index)
            .map(|edge| edge.name.clone())
            .collect()
    }

    /// A shortest chain of names to each package; of several the lexicographically first.
    pub(super) fn chains(&self, lock: &'l Lock) -> Chains<'l> {
        chain::chains(lock, &self.starts, &self.nodes)
    }
}

/// Evaluates markers of a lock in an environment, each once for each state of the conflict items.
pub(super) struct Walker<'l> {
    lock: &'l Lock,
    environment: &'l Environment,
    declared: BTreeSet<&'l ConflictItem>,
    values: Vec<Option<bool>>,
}

impl<'l> Walker<'l> {
    pub(super) fn new(lock: &'l Lock, environment: &'l Environment) -> Self {
        let declared = lock.conflicts.iter().flatten().collect();
        Self {
            lock,
            environment,
            declared,
            values: vec![None; lock.markers.len()],
        }
    }

    /// Walks from some starts. `active` gains the conflict items that are turned on along the way.
    pub(super) fn walk(
        &mut self,
        starts: &[Start<'l>],
        active: &mut Active,
    ) -> Result<Reached<'l>, Vec<SubsetError>> {
        loop {
            self.forget();
            if let Some(reached) = self.pass(starts, active).map_err(|error| vec![error])? {
                return Ok(reached);
            }
        }
    }

    /// Turns an item on when it is one of a conflict; whether that is news.
    pub(super) fn activate(&self, item: ConflictItem, active: &mut Active) -> bool {
        self.declared.contains(&item) && active.insert(item)
    }

    /// One walk with fixed conflict items; `None` when it turned on another.
    fn pass(
        &mut self,
        starts: &[Start<'l>],
        active: &mut Active,
    ) -> Result<Option<Reached<'l>>, SubsetError> {
        let mut reached = Reached::nothing(self.lock);
        let mut queue: VecDeque<Node<'l>> = VecDeque::new();
        for start in starts {
            let mut holds = true;
            for &marker in &start.markers {
                holds &= self.holds(
                    Some(marker),
                    start.target,
                    &mut start.extras.iter().copied(),
                    active,
                )?;
            }
            if !holds {
                continue;
            }
            if self.turn_on(start.target, &mut start.extras.iter().copied(), active) {
                return Ok(None);
            }
            push(
                &mut reached,
                &mut queue,
                start.target,
                &mut start.extras.iter().copied(),
            );
            reached.starts.push(start.clone());
        }
        while let Some(node) = queue.pop_front() {
            let Some(package) = self.lock.packages.get(node.0) else {
                continue;
            };
            let edges = match node.1 {
                None => Some(&package.dependencies),
                Some(extra) => package.extras.get(extra),
            };
            for edge in edges.into_iter().flatten() {
                let extras = || edge.extras.iter().map(String::as_str);
                if !self.holds(edge.marker, edge.target, &mut extras(), active)? {
                    continue;
                }
                if self.turn_on(edge.target, &mut extras(), active) {
                    return Ok(None);
                }
                push(&mut reached, &mut queue, edge.target, &mut extras());
                reached.nodes.add_edge(node, edge);
            }
        }
        Ok(Some(reached))
    }

    /// Turns on the extras of an edge; whether one of them is news.
    fn turn_on(&self, target: usize, extras: &mut dyn Iterator<Item = &'l str>, active: &mut Active) -> bool {
        let Some(package) = self.lock.packages.get(target) else {
            return false;
        };
        let mut news = false;
        if !self.declared.is_empty() {
            for extra in extras {
                let item = ConflictItem::Extra(package.name.to_string(), extra.to_owned());
                news |= self.activate(item, active);
            }
        }
        news
    }

    /// Whether an edge holds. The extras that it turns on itself count as on.
    fn holds(
        &mut self,
        marker: Option<MarkerId>,
        target: usize,
        extras: &mut dyn Iterator<Item = &'l str>,
        active: &Active,
    ) -> Result<bool, SubsetError> {
        let Some(MarkerId(id)) = marker else {
            return Ok(true);
        };
        if let Some(value) = self.values.get(id).copied().flatten() {
            return Ok(value);
        }
        let Some(marker) = self.lock.markers.get(id) else {
            return Ok(true);
        };
        let (expression, has_extra) = marker.expression().map_err(|what| self.malformed(id, what))?;
        let own: Vec<String> = match self.lock.packages.get(target) {
            Some(package) if has_extra => extras
                .map(|extra| ConflictItem::Extra(package.name.to_string(), extra.to_owned()).encode())
                .collect(),
            _ => Vec::new(),
        };
        let value = expression.evaluate(self.environment, &|name| {
            active.has(name) || own.iter().any(|extra| extra == name)
        });
        if own.is_empty()
            && let Some(place) = self.values.get_mut(id)
        {
            *place = Some(value);
        }
        Ok(value)
    }

    /// Whether a marker holds with just the active items on.
    pub(super) fn marker(&mut self, id: MarkerId, active: &Active) -> Result<bool, SubsetError> {
        self.holds(Some(id), usize::MAX, &mut std::iter::empty(), active)
    }

    /// Whether a marker can hold for some choice of extras.
    pub(super) fn is_possible(&self, MarkerId(id): MarkerId) -> Result<bool, SubsetError> {
        let Some(marker) = self.lock.markers.get(id) else {
            return Ok(true);
        };
        let (expression, _) = marker.expression().map_err(|what| self.malformed(id, what))?;
        Ok(expression.is_possible(self.environment))
    }

    /// Forgets the values that depend on conflict items.
    pub(super) fn forget(&mut self) {
        for (value, marker) in self.values.iter_mut().zip(&self.lock.markers) {
            if value.is_some() && marker.expression().is_ok_and(|(_, has_extra)| has_extra) {
                *value = None;
            }
        }
    }

    fn malformed(&self, id: usize, what: &str) -> SubsetError {
        let span = self
            .lock
            .markers
            .get(id)
            .map_or(0..0, |marker| marker.span.clone());
        SubsetError::Malformed {
            what: format!("this marker cannot be read: {what}"),
            location: Location::new(&self.lock.file, span),
        }
    }
}

/// Notes a package and some extras of it, and queues what is new.
fn push<'l>(
    reached: &mut Reached<'l>,
    queue: &mut VecDeque<Node<'l>>,
    target: usize,
    extras: &mut dyn Iterator<Item = &'l str>,
) {
    for node in std::iter::once((target, None)).chain(extras.map(|extra| (target, Some(extra)))) {
        if reached.nodes.add(node) {
            queue.push_back(node);
        }
    }
}
