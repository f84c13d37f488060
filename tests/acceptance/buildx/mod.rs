//! Everything that whoever knows Dockerfiles looks for, measured on every engine; docs/reference/buildx.md has the table.

use crate::Group;

mod bake;
mod caches;
mod called;
mod calls;
mod checks;
mod contexts;
mod flags;
mod ignore;
mod outputs;
mod platforms;
mod progress;
mod rows;
mod ssh;
mod table;
mod targets;
mod variants;

pub(crate) const CLAIMS: &[Group] = &[
    flags::claims,
    targets::claims,
    rows::claims,
    outputs::claims,
    caches::claims,
    ssh::claims,
    calls::claims,
    checks::claims,
    progress::claims,
    platforms::claims,
    contexts::claims,
    ignore::claims,
    bake::claims,
    variants::claims,
];
