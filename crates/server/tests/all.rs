//! The server's guards and its contract, without a socket but where the socket is the point.
#![forbid(unsafe_code)]
#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a helper of a test fails it like the test itself; the lint only knows functions marked as tests"
)]

mod suite;
