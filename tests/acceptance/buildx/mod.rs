//! What people know of `docker buildx build` is where they expect it.

use crate::Group;

mod platforms;

pub(crate) const CLAIMS: &[Group] = &[platforms::claims];
