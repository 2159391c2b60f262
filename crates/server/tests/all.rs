//! Tests of the server's guards and its API contract; they use a socket only if the socket is under test.
#![forbid(unsafe_code)]
#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a helper of a test fails it like the test itself; the lint only knows functions marked as tests"
)]

mod suite;
