//! placeholder
pub mod diagnostic;
pub mod gateway;
pub mod llb;
pub mod platform;
pub mod proto;
pub mod spec;
