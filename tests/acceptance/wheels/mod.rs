//! Wheels: what compiler caches answer, what moves them without a rebuild, and what compiles take of a builder.

use crate::Group;

mod caches;
mod elsewhere;
mod gc;
mod memory;
mod rocm;
mod rust;
mod secrets;
mod slots;
mod store;
mod stored;
mod torch;

pub(crate) const CLAIMS: &[Group] = &[
    caches::claims,
    rocm::claims,
    store::claims,
    stored::claims,
    elsewhere::claims,
    gc::claims,
    slots::claims,
    memory::claims,
    rust::claims,
    secrets::claims,
    torch::claims,
];
