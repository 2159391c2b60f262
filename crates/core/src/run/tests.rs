//! Tests of the turn machine: single cases, laws that hold in every world, and states kept from before.

mod ask;
mod case;
mod draw;
mod golden;
mod interject;
mod law;
mod misfit;
mod route;
mod start;
mod world;
