//! What `docker buildx` offers, measured on every engine, and the table of it in docs/reference/buildx.md.

use crate::Group;

mod calls;
mod progress;
mod table;

pub(crate) const CLAIMS: &[Group] = &[calls::claims, progress::claims];
