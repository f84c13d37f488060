//! Everything that whoever knows Dockerfiles looks for, measured on every engine; docs/reference/buildx.md has the table.

use crate::Group;

mod bake;
mod called;
mod calls;
mod contexts;
mod flags;
mod ignore;
mod platforms;
mod progress;
mod rows;
mod table;
mod variants;

pub(crate) const CLAIMS: &[Group] = &[
    flags::claims,
    rows::claims,
    calls::claims,
    progress::claims,
    platforms::claims,
    contexts::claims,
    ignore::claims,
    bake::claims,
    variants::claims,
];
