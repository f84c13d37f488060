//! placeholder
mod model;
pub use model::*;
