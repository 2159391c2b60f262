//! Tests of the turn machine: single cases, laws that hold in every world, and states kept from before.

mod approval;
mod case;
mod generators;
mod golden;
mod interject;
mod properties;
mod route;
mod simulated_run;
mod sub_run;
mod unexpected_input;
