//! The store's tests, as one program.
//!
//! `contract` tests what every database must do, on all of them: a SQLite file, SQLite in memory and
//! PostgreSQL. `group`, `sqlite` and `postgres` test what is specific to one of them.
#![forbid(unsafe_code)]
#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a helper of a test fails it like the test itself; the lint only knows functions marked as tests"
)]

mod contract;
mod fixture;
mod group;
mod postgres;
mod sqlite;
