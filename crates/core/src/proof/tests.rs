//! What each check must find, and what it must let pass.

mod bundle;
mod chain;
mod forgery;
mod replay;
mod sample;
