//! The checks of the repository's own rules.
//!
//! A limit that is not checked does not hold, so every project rule that a program can check is checked
//! here. Each rule is a pure function over paths and text that returns the violations it found, and each
//! has unit tests in which it must find a planted one; `tests/all.rs` then applies the rules to the tree.
//!
//! - [`tree`], [`scan`] and [`metadata`] read the files, Rust text, and Cargo metadata.
//! - [`length`], [`manifest`], [`module`] and [`word`] check every file.
//! - [`edge`], [`purity`] and [`sql`] check the boundaries between the crates.
//! - [`dependency`] and [`licence`] check the dependencies.
//! - [`conformance`], [`fail_point`], [`link`], [`migration`] and [`witness`] compare one part of the tree
//!   with another.
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
