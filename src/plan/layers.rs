//! Which packages share a layer.
//!
//! A big package gets a layer of its own; the rest share a fixed number of buckets, chosen by rendezvous hashing
//! of the name alone. A bucket that holds too many bytes is halved, by further bits of each name's digest, until each
//! part fits. So a new, changed or removed package moves no other package to another layer, except where it crosses
//! the size threshold, pushes another one over the largest number of layers, or brings its own bucket over or under
//! the largest size.
//!
//! Some indexes, that of torch among them, give no sizes. There a wheel with compiled code counts as big, because it
//! may be torch, and one without as small.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use sha2::{Digest, Sha256};

use crate::spec::Layers;

/// A package as far as layering is concerned.
pub(super) trait Weighed {
    /// Normalised name.
    fn name(&self) -> &str;
    /// Bytes of its wheel, when the lock says.
    fn size(&self) -> Option<u64>;
    /// Whether the wheel is Python code alone.
    fn pure(&self) -> bool;
}

/// Packages that share a layer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Group<T> {
    /// `torch`, or `packages 3/8` for a bucket, and `packages 3/8a`, `packages 3/8b` for the halves of one.
    pub(super) name: String,
    /// Sorted by name.
    pub(super) packages: Vec<T>,
    /// Whether it is a bucket of small packages.
    pub(super) bucket: bool,
}

/// Spreads packages over layers: the heavy ones first (by power of two of their size, then name, so that a
/// version bump that makes a wheel a little larger reorders nothing), then the buckets.
pub(super) fn group<T: Weighed>(packages: impl IntoIterator<Item = T>, layers: &Layers) -> Vec<Group<T>> {
    let (mut heavy, mut light): (Vec<T>, Vec<T>) = packages
        .into_iter()
        .partition(|package| weight(package, layers) >= layers.threshold);
    let order = |package: &T| {
        (
            Reverse(weight(package, layers).checked_ilog2()),
            package.name().to_owned(),
        )
    };
    heavy.sort_by_key(order);
    let most = layers.max.saturating_sub(layers.buckets).max(1) as usize;
    if heavy.len() > most {
        light.extend(heavy.drain(most..));
    }

    let mut groups: Vec<Group<T>> = heavy
        .into_iter()
        .map(|package| Group {
            name: package.name().to_owned(),
            packages: vec![package],
            bucket: false,
        })
        .collect();
    let buckets = layers.buckets.max(1);
    let mut shared: BTreeMap<u32, Vec<T>> = BTreeMap::new();
    for package in light {
        shared
            .entry(bucket(package.name(), buckets))
            .or_default()
            .push(package);
    }
    let room = (layers.max as usize).saturating_sub(groups.len());
    let mut parts: Vec<Part<T>> = shared
        .into_iter()
        .map(|(bucket, packages)| Part::new(bucket, String::new(), packages, layers))
        .collect();
    halve(&mut parts, room, layers);
    for mut part in parts {
        part.packages.sort_by(|left, right| left.name().cmp(right.name()));
        groups.push(Group {
            name: format!("packages {}/{buckets}{}", part.bucket + 1, part.path),
            packages: part.packages,
            bucket: true,
        });
    }
    groups
}

/// A bucket, or what halving it has left.
#[derive(Debug)]
struct Part<T> {
    bucket: u32,
    /// A letter for each time that it was halved: `a` or `b`.
    path: String,
    packages: Vec<T>,
    /// Of all its packages.
    bytes: u64,
}

impl<T: Weighed> Part<T> {
    fn new(bucket: u32, path: String, packages: Vec<T>, layers: &Layers) -> Self {
        let bytes = packages.iter().map(|package| weight(package, layers)).sum();
        Self {
            bucket,
            path,
            packages,
            bytes,
        }
    }

    fn is_too_large(&self, layers: &Layers) -> bool {
        self.bytes > layers.max_size && self.packages.len() > 1 && self.path.len() < MOST_HALVINGS
    }
}

/// How often a part can be halved: by each bit of a name's digest behind the number that chose its bucket.
const MOST_HALVINGS: usize = (DIGEST_BYTES - CHOSE_THE_BUCKET) * 8;
const DIGEST_BYTES: usize = 32;
const CHOSE_THE_BUCKET: usize = 8;

/// Halves parts that are larger than a layer may be, the largest first, as long as there is room for one more. A part of
/// one package stays: nothing can be taken from it.
fn halve<T: Weighed>(parts: &mut Vec<Part<T>>, room: usize, layers: &Layers) {
    while parts.len() < room {
        let largest = parts
            .iter()
            .enumerate()
            .filter(|(_, part)| part.is_too_large(layers))
            // Parts stand in order, so of equal ones the first is taken.
            .max_by_key(|(index, part)| (part.bytes, Reverse(*index)));
        let Some((index, _)) = largest else { return };
        let part = parts.remove(index);
        let depth = part.path.len();
        let (left, right): (Vec<T>, Vec<T>) = part
            .packages
            .into_iter()
            .partition(|package| is_left(package.name(), depth));
        let halves = [('a', left), ('b', right)]
            .into_iter()
            .filter(|(_, packages)| !packages.is_empty())
            .map(|(letter, packages)| {
                let path = format!("{}{letter}", part.path);
                Part::new(part.bucket, path, packages, layers)
            });
        parts.splice(index..index, halves);
    }
}

/// In which half of a part a name belongs that has been halved `depth` times before: one bit for each time, of what
/// stands in its digest behind the number that chose its bucket.
fn is_left(name: &str, depth: usize) -> bool {
    let digest = Sha256::digest(name.as_bytes());
    let byte = digest.get(CHOSE_THE_BUCKET + depth / 8).copied().unwrap_or(0);
    byte >> (depth % 8) & 1 == 0
}

/// Bytes of a wheel, or what stands for them where the lock has none.
fn weight(package: &impl Weighed, layers: &Layers) -> u64 {
    let guess = if package.pure() { 0 } else { layers.threshold };
    package.size().unwrap_or(guess)
}

/// The bucket with the highest score for a name (rendezvous hashing): with one bucket more, only the packages that
/// move into the new one move at all.
fn bucket(name: &str, buckets: u32) -> u32 {
    let digest = Sha256::digest(name.as_bytes());
    let name = digest
        .iter()
        .take(8)
        .fold(0, |number, byte| number << 8 | u64::from(*byte));
    (0..buckets)
        .max_by_key(|bucket| score(name, *bucket))
        .unwrap_or(0)
}

/// A number that looks random for every pair: the output function of `SplitMix64` (Steele, Lea, Flood 2014), one
/// step of its sequence for each bucket.
fn score(name: u64, bucket: u32) -> u64 {
    let mut mixed = name.wrapping_add(u64::from(bucket + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ mixed >> 31
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[derive(Debug, Clone, PartialEq, Eq)]
    struct Wheel(String, u64);

    impl Weighed for Wheel {
        fn name(&self) -> &str {
            &self.0
        }
        fn size(&self) -> Option<u64> {
            (self.1 != UNKNOWN).then_some(self.1)
        }
        fn pure(&self) -> bool {
            self.0.starts_with("pure-")
        }
    }

    const LAYERS: Layers = Layers {
        threshold: 20_000_000,
        buckets: 8,
        max: 40,
        max_size: u64::MAX,
    };

    fn home(groups: &[Group<Wheel>]) -> BTreeMap<String, String> {
        groups
            .iter()
            .flat_map(|group| {
                group
                    .packages
                    .iter()
                    .map(|wheel| (wheel.0.clone(), group.name.clone()))
            })
            .collect()
    }

    /// Stands for a size that the lock does not give.
    const UNKNOWN: u64 = u64::MAX;

    #[test]
    fn compiled_code_of_unknown_size_stands_alone() {
        let wheels = [
            Wheel("torch".into(), UNKNOWN),
            Wheel("pure-python".into(), UNKNOWN),
            Wheel("cudnn".into(), 700_000_000),
        ];
        let groups = group(wheels, &LAYERS);
        let names: Vec<&str> = groups.iter().map(|group| group.name.as_str()).collect();
        assert_eq!(&names[..2], ["cudnn", "torch"]);
        assert!(groups[2].bucket && groups[2].packages[0].0 == "pure-python");
    }

    #[test]
    fn heavy_packages_stand_alone_and_first() {
        let groups = group(
            [
                Wheel("idna".into(), 70_000),
                Wheel("torch".into(), 900_000_000),
                Wheel("triton".into(), 150_000_000),
            ],
            &LAYERS,
        );
        let names: Vec<&str> = groups.iter().map(|group| group.name.as_str()).collect();
        assert_eq!(&names[..2], ["torch", "triton"]);
        assert!(groups[2].bucket);
    }

    #[test]
    fn buckets_fill_evenly_and_a_new_one_takes_from_all() {
        let names: Vec<String> = (0..8000).map(|number| format!("package-{number}")).collect();
        let mut sizes = [0; 8];
        for name in &names {
            sizes[bucket(name, 8) as usize] += 1;
        }
        assert!(sizes.iter().all(|size| (850..1150).contains(size)), "{sizes:?}");
        let moved = names.iter().filter(|name| bucket(name, 9) != bucket(name, 8));
        assert!(moved.clone().all(|name| bucket(name, 9) == 8));
        assert!((700..1100).contains(&moved.count()));
    }

    /// The bucket of a layer, without the letters of its parts, and those letters.
    fn parts_of(group: &str) -> Option<(&str, &str)> {
        let at = group.find('/')?;
        let letters = group[at..]
            .find(['a', 'b'])
            .map_or(group.len(), |letter| at + letter);
        group.starts_with("packages ").then(|| group.split_at(letters))
    }

    #[test]
    fn a_part_is_named_by_its_halves() {
        let layers = Layers {
            buckets: 1,
            max_size: 100,
            ..LAYERS
        };
        let wheels = ["attrs", "click", "idna", "jinja2", "numpy", "six"].map(|name| Wheel(name.into(), 50));
        let groups = group(wheels.clone(), &layers);
        let names: Vec<&str> = groups.iter().map(|group| group.name.as_str()).collect();
        assert!(names.len() > 2 && names.is_sorted(), "{names:?}");
        assert!(
            names.iter().all(|name| name.starts_with("packages 1/1")),
            "{names:?}"
        );
        assert!(groups.iter().all(|group| group.packages.len() <= 2), "{groups:?}");
        // One that is too large by itself is a layer, and not an endless search for its halves.
        let alone = group(
            wheels,
            &Layers {
                max_size: 1,
                ..layers
            },
        );
        assert_eq!(alone.len(), 6);
    }

    #[test]
    fn what_no_bit_tells_apart_stays_together() {
        let layers = Layers {
            max_size: 1,
            ..LAYERS
        };
        let twice = [Wheel("torch".into(), 50), Wheel("torch".into(), 60)];
        assert_eq!(group(twice, &layers).len(), 1);
    }

    proptest! {
        #[test]
        fn no_shared_layer_is_too_large(
            sizes in prop::collection::vec(0u64..20_000_000, 0..120),
            max_size in 1_000_000u64..60_000_000,
        ) {
            let layers = Layers { max: 1000, max_size, ..LAYERS };
            let wheels = sizes.iter().enumerate().map(|(index, size)| Wheel(format!("p{index}"), *size));
            for group in group(wheels, &layers) {
                let bytes: u64 = group.packages.iter().map(|wheel| wheel.1).sum();
                prop_assert!(bytes <= max_size || group.packages.len() == 1, "{} bytes in {:?}", bytes, group);
            }
        }

        #[test]
        fn a_size_that_no_bucket_reaches_changes_nothing(sizes in prop::collection::vec(0u64..40_000_000, 0..60)) {
            let wheels: Vec<Wheel> =
                sizes.iter().enumerate().map(|(index, size)| Wheel(format!("p{index}"), *size)).collect();
            let layers = Layers { max_size: sizes.iter().sum(), ..LAYERS };
            prop_assert_eq!(group(wheels.clone(), &layers), group(wheels, &LAYERS));
        }

        #[test]
        fn a_new_package_moves_others_at_most_within_its_own_part(
            names in prop::collection::btree_set("[a-z]{1,8}", 1..60),
            sizes in prop::collection::vec(0u64..19_000_000, 60),
            new in "[A-Z]{1,8}",
            size in 0u64..40_000_000,
        ) {
            let layers = Layers { max: 1000, buckets: 3, max_size: 50_000_000, ..LAYERS };
            let wheels: Vec<Wheel> =
                names.into_iter().zip(sizes).map(|(name, size)| Wheel(name, size)).collect();
            let before = home(&group(wheels.clone(), &layers));
            let mut more = wheels;
            more.push(Wheel(new.clone(), size));
            let mut after = home(&group(more, &layers));
            let place = after.remove(&new).unwrap();
            for (name, old) in &before {
                let now = &after[name];
                if old != now {
                    // Its part was halved, because the new package is in it.
                    let (bucket, letters) = parts_of(old).unwrap();
                    let (new_bucket, new_letters) = parts_of(now).unwrap();
                    prop_assert_eq!(bucket, new_bucket);
                    prop_assert!(new_letters.starts_with(letters), "{} to {}", old, now);
                    let of_new = parts_of(&place).unwrap();
                    prop_assert_eq!(of_new.0, bucket);
                    prop_assert!(of_new.1.starts_with(letters), "{} moved for {}", name, place);
                }
            }
        }

        #[test]
        fn a_new_package_moves_no_other(
            names in prop::collection::btree_set("[a-z]{1,8}", 1..30),
            sizes in prop::collection::vec(0u64..40_000_000, 30),
            new in "[A-Z]{1,8}",
            size in 0u64..40_000_000,
        ) {
            let layers = Layers { max: 1000, ..LAYERS };
            let wheels: Vec<Wheel> =
                names.into_iter().zip(sizes).map(|(name, size)| Wheel(name, size)).collect();
            let before = home(&group(wheels.clone(), &layers));
            let order_before: Vec<String> = group(wheels.clone(), &layers).into_iter().map(|group| group.name).collect();
            let mut more = wheels;
            more.push(Wheel(new.clone(), size));
            let after_groups = group(more, &layers);
            let order_after: Vec<String> = after_groups.iter().map(|group| group.name.clone())
                .filter(|name| order_before.contains(name)).collect();
            let mut after = home(&after_groups);
            after.remove(&new);
            prop_assert_eq!(before, after);
            prop_assert_eq!(order_before, order_after);
        }

        #[test]
        fn never_more_layers_than_allowed(sizes in prop::collection::vec(0u64..90_000_000, 0..80)) {
            let wheels = sizes.iter().enumerate().map(|(index, size)| Wheel(format!("p{index}"), *size));
            prop_assert!(group(wheels.clone(), &LAYERS).len() <= LAYERS.max as usize);
            let tight = Layers { max_size: 1, ..LAYERS };
            prop_assert!(group(wheels, &tight).len() <= LAYERS.max as usize);
        }
    }
}
