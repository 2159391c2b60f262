//! The repository's own rules.
//!
//! A limit that nothing checks does not hold, so every rule of the house that a program can judge is judged
//! here. Each rule is a pure function over paths and text that answers with the violations it found, and
//! each has unit tests in which it must catch a planted one; `tests/all.rs` then applies them to the tree.
//!
//! - [`tree`], [`scan`] and [`metadata`] read: the files, Rust text, and what Cargo knows.
//! - [`length`], [`manifest`], [`module`] and [`word`] look at every file.
//! - [`edge`], [`purity`] and [`sql`] keep the walls between the crates.
//! - [`dependency`] and [`licence`] judge what we build on.
//! - [`conformance`], [`fail_point`], [`link`], [`migration`] and [`witness`] compare one part of the tree with another.
#![forbid(unsafe_code)]

pub mod conformance;
pub mod dependency;
pub mod edge;
pub mod fail_point;
pub mod length;
pub mod licence;
pub mod link;
pub mod manifest;
pub mod metadata;
pub mod migration;
pub mod module;
pub mod private_word;
pub mod purity;
pub mod scan;
pub mod sql;
pub mod tree;
pub mod witness;
pub mod word;
