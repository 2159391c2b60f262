//! The seams: what the runtime asks of the world, as traits in plain types.
//!
//! | module | the runtime asks for |
//! |---|---|
//! | [`model`] | a model's reply |
//! | [`embedding`] | texts as directions |
//! | [`tool`] | actions in the world |
//! | [`journal`] | what people wrote, and writes to it |
//! | [`outside`] | what changed outside, and what was seen of it |
//! | [`policy`] | verdicts |
//! | [`clock`] | time and chance |
//! | [`guidance`] | what people wrote down for agents |
//! | [`store_error`] | why a database call failed |
//! | [`fail`], [`planted`] | named places where tests may stop the process or make it err |
//!
//! No SQL, no HTTP and no process is known here. A trait names what its callers need and nothing of how it is done.
#![forbid(unsafe_code)]

pub mod clock;
pub mod embedding;
pub mod fail_point;
pub mod guidance;
pub mod journal;
pub mod model;
pub mod planted_bugs;
pub mod policy;
pub mod store_error;
pub mod tool;
pub mod watch;
