//! The ports: what the runtime requires from its environment, as traits with plain types.
//!
//! | module | the runtime's requirement |
//! |---|---|
//! | [`model`] | replies of models |
//! | [`embedding`] | embeddings of texts |
//! | [`tool`] | actions of tools |
//! | [`journal`] | the person's records, and writes to them |
//! | [`watch`] | changes in watched sources, and their recorded entries |
//! | [`policy`] | verdicts |
//! | [`snapshot`] | states of a workspace before and after a run, and restoring them |
//! | [`clock`] | time and randomness |
//! | [`guidance`] | instructions from people for agents |
//! | [`store_error`] | why a database call failed |
//! | [`fail_point`], [`planted_bugs`] | named places where tests can kill the process or inject a bug |
//!
//! This crate contains no SQL, no HTTP and no processes. A trait describes what its callers need and not
//! how it is implemented.
#![forbid(unsafe_code)]

pub mod clock;
pub mod embedding;
pub mod fail_point;
pub mod guidance;
pub mod journal;
pub mod model;
pub mod planted_bugs;
pub mod policy;
pub mod snapshot;
pub mod store_error;
pub mod tool;
pub mod watch;
