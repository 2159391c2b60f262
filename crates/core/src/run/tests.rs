//! Tests of the run machine: single cases, properties over simulated runs, and stored states of earlier
//! versions.

mod answer;
mod approval;
mod budget;
mod case;
mod generators;
mod golden;
mod guard;
mod interject;
mod properties;
mod quota;
mod rate;
mod route;
mod simulated_run;
mod start;
mod sub_run;
mod unexpected_input;
