//! Everything that whoever knows Dockerfiles looks for: options of the client, on every engine.

use crate::Group;

mod flags;
mod rows;
mod table;

pub(crate) const CLAIMS: &[Group] = &[flags::claims, rows::claims];
