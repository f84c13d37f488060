//! Wheels: what compiler caches answer, and what moves them without a rebuild.

use crate::Group;

mod caches;
mod store;
mod stored;

pub(crate) const CLAIMS: &[Group] = &[caches::claims, store::claims, stored::claims];
