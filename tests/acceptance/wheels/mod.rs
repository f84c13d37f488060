//! Wheels: what compiler caches answer, what moves them without a rebuild, and what compiles take of a builder.

use crate::Group;

mod caches;
mod memory;
mod rust;
mod slots;
mod store;

pub(crate) const CLAIMS: &[Group] = &[
    caches::claims,
    store::claims,
    slots::claims,
    memory::claims,
    rust::claims,
];
