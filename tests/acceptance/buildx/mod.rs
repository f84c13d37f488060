//! What people who know `docker buildx` expect.

use crate::Group;

mod bake;
mod contexts;
mod ignore;
mod rows;

pub(crate) const CLAIMS: &[Group] = &[contexts::claims, ignore::claims, bake::claims];
