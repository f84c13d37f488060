//! placeholder
pub mod diagnostic;
pub mod lock;
pub mod plan;
pub mod platform;
pub mod spec;
