//! End-to-end tests: the real binary on a real home, checked by its output and its effects.
#![forbid(unsafe_code)]
#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a helper of a test fails it like the test itself; the lint only knows functions marked as tests"
)]

mod suite;
