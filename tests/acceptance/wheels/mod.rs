//! Wheels: what compiler caches answer, and what moves them without a rebuild.

use crate::Group;

mod caches;
mod rocm;
mod store;
mod stored;

pub(crate) const CLAIMS: &[Group] = &[caches::claims, rocm::claims, store::claims, stored::claims];
