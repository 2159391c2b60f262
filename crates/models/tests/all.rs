//! Tests of hosted models against local servers.
#![forbid(unsafe_code)]
#![expect(
    clippy::expect_used,
    reason = "a helper of a test fails it like the test itself; the lint only knows functions marked as tests"
)]

mod suite;
