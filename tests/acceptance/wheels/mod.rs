//! Wheels: what compiler caches answer, what moves them without a rebuild, and what compiles take of a builder.

use crate::Group;

mod caches;
mod memory;
mod rocm;
mod rust;
mod slots;
mod store;
mod stored;

pub(crate) const CLAIMS: &[Group] = &[
    caches::claims,
    rocm::claims,
    store::claims,
    stored::claims,
    slots::claims,
    memory::claims,
    rust::claims,
];
