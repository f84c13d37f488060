//! The one shape of what is known about a vendor's compilers: which of them compiles for which GPU.
//!
//! A vendor adds GPUs to its compiler and drops others, release by release, and a build learns of it as an error of the
//! compiler after minutes. The tables ([`super::archs`] for CUDA, [`super::gfx`] for ROCm) say it before. What a table does
//! not know yet is the user's to say, with `gpu.compiler-archs`.

/// Major and minor version of a toolkit.
pub(super) type Toolkit = (u32, u32);

/// What the compilers of one vendor compile for.
#[derive(Debug)]
pub(super) struct Table<T: 'static> {
    /// The toolkits that changed what is compiled for, oldest first, each with the month of its release: `2024-08`. Those
    /// before the first one are not known.
    pub(super) releases: &'static [(Toolkit, &'static str)],
    /// All targets, in the order in which they are listed for people.
    pub(super) targets: &'static [Row<T>],
}

/// A target, and which toolkits compile for it.
#[derive(Debug)]
pub(super) struct Row<T> {
    /// The target.
    pub(super) target: T,
    /// The first toolkit that compiles for it.
    pub(super) first: Toolkit,
    /// The first toolkit after that which does not.
    pub(super) dropped: Option<Toolkit>,
}

impl<T> Row<T> {
    /// A target that is still compiled for.
    pub(super) const fn since(first: Toolkit, target: T) -> Self {
        Self {
            target,
            first,
            dropped: None,
        }
    }

    /// A target that was dropped.
    pub(super) const fn between(first: Toolkit, dropped: Toolkit, target: T) -> Self {
        Self {
            target,
            first,
            dropped: Some(dropped),
        }
    }

    fn has(&self, toolkit: Toolkit) -> bool {
        self.first <= toolkit && self.dropped.is_none_or(|dropped| toolkit < dropped)
    }
}

impl<T> Table<T> {
    /// Whether a toolkit is not older than the table.
    pub(super) fn reaches(&self, toolkit: Toolkit) -> bool {
        self.releases.first().is_some_and(|(first, _)| *first <= toolkit)
    }

    /// What a toolkit compiles for.
    pub(super) fn emits(&self, toolkit: Toolkit) -> impl Iterator<Item = &'static T> + use<T> {
        let rows = self.targets.iter().filter(move |row| row.has(toolkit));
        rows.map(|row| &row.target)
    }

    /// Whether the newest release that changed anything is not newer than a toolkit.
    pub(super) fn is_last(&self, toolkit: Toolkit) -> bool {
        self.releases.last().is_some_and(|(last, _)| *last <= toolkit)
    }
}

/// That a table contradicts itself, in words; `None` when it does not.
#[cfg(test)]
pub(super) fn contradiction<T: std::fmt::Debug + PartialEq>(table: &Table<T>) -> Option<String> {
    if !table
        .releases
        .windows(2)
        .all(|pair| pair[0].0 < pair[1].0 && pair[0].1 < pair[1].1)
    {
        return Some("the releases are not in order".to_owned());
    }
    let released = |toolkit: Toolkit| table.releases.iter().any(|(known, _)| *known == toolkit);
    for (index, row) in table.targets.iter().enumerate() {
        let dates = std::iter::once(row.first).chain(row.dropped);
        if !dates.clone().all(released) || !dates.is_sorted_by(|a, b| a < b) {
            return Some(format!("{row:?} is of no release"));
        }
        if table.targets[..index]
            .iter()
            .any(|other| other.target == row.target)
        {
            return Some(format!("{:?} is there twice", row.target));
        }
    }
    for (release, _) in &table.releases[1..] {
        let changes = |row: &Row<T>| row.first == *release || row.dropped == Some(*release);
        if !table.targets.iter().any(changes) {
            return Some(format!("{release:?} changes nothing"));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: Table<u32> = Table {
        releases: &[((1, 0), "2024-01"), ((1, 5), "2024-06"), ((2, 0), "2025-01")],
        targets: &[
            Row::between((1, 0), (2, 0), 1),
            Row::since((1, 0), 2),
            Row::since((1, 5), 3),
        ],
    };

    #[test]
    fn targets_come_and_go() {
        let emits = |toolkit| TABLE.emits(toolkit).copied().collect::<Vec<_>>();
        assert_eq!(emits((1, 0)), [1, 2]);
        assert_eq!(emits((1, 4)), [1, 2]);
        assert_eq!(emits((1, 9)), [1, 2, 3]);
        assert_eq!(emits((3, 0)), [2, 3]);
        assert!(!TABLE.reaches((0, 9)) && TABLE.reaches((1, 0)));
        assert!(!TABLE.is_last((1, 9)) && TABLE.is_last((2, 1)));
        assert_eq!(contradiction(&TABLE), None);
    }
}
