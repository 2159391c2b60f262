//! The store's tests, as one program.
//!
//! `contract` is what every database must do, and runs on all of them: a SQLite file, SQLite in memory and
//! PostgreSQL. `group`, `sqlite` and `postgres` are about what only one of them can get wrong.
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
