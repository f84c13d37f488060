//! Locks: what is read from them, which layers they become, and what an edit of one costs.

use crate::Group;

mod bump;
mod corpus;
mod digests;
mod laws;

pub(crate) const CLAIMS: &[Group] = &[corpus::claims, laws::claims, bump::claims, digests::claims];
