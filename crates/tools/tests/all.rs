//! Tests the tools as the runtime uses them: every command really runs, in the sandbox of this machine.
#![forbid(unsafe_code)]
#![expect(
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a helper of a test may fail like it"
)]

mod call;
mod closed;
mod ending;
mod escapes;
mod files;
mod fixture;
mod guidance;
mod limits;
mod network;
mod place;
mod walls;
