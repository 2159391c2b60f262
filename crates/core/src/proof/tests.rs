//! Tests of verification: each check rejects what it must and accepts the rest.

mod bundle;
mod chain;
mod forgery;
mod replay;
mod sample;
