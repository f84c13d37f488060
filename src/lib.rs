//! placeholder
pub mod diagnostic;
pub mod lock;
pub mod platform;
pub mod spec;
