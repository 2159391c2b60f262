//! The program as a person meets it: the real binary on a real home, judged by what it prints and what it
//! left in the world.
#![forbid(unsafe_code)]
#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a helper of a test fails it like the test itself; the lint only knows functions marked as tests"
)]

mod suite;
