//! Wheelbase is a BuildKit frontend: it turns one TOML file and a lockfile into GPU Python images.
//!
//! A build walks one road, and every module is a room on it that knows only the rooms before:
//!
//! ```text
//! wheelbase.toml --spec--> Spec ---.
//! lockfile -------lock---> Lock ---+-- plan --> Plan -- llb --> Definition -- gateway --> BuildKit
//! platform, resolved images -------'
//! ```
//!
//! - [`spec`] reads what the user wrote, and says everything that is wrong with it at once.
//! - [`lock`] reads what the resolver decided, and cuts out the subset that a set of roots needs.
//! - [`plan`] decides: which tiers, which wheels in stages of their own, which packages share a layer, and what
//!   each of them depends on. It is a pure function.
//! - [`llb`] builds graphs that BuildKit runs, and translates a plan into one.
//! - [`gateway`] talks to the daemon that started us as its frontend.
//! - [`frontend`] tells the story once: read, plan, emit, solve, check, return.
//! - [`cli`] shows plans to people.
//!
//! [`proto`] is the wire; [`diagnostic`], [`platform`] and [`rules`] are words that all rooms share. `docs/architecture.md`
//! has each room's invariant, and `tests/architecture.rs` holds them to it.

pub mod cli;
pub mod diagnostic;
pub mod frontend;
pub mod gateway;
pub mod llb;
pub mod lock;
pub mod plan;
pub mod platform;
pub mod proto;
pub mod rules;
pub mod spec;
