//! placeholder
pub mod diagnostic;
pub mod platform;
pub mod spec;
