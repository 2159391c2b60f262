//! Tests of the run machine: single cases, properties over simulated runs, and stored states of earlier
//! versions.

mod answer;
mod approval;
mod case;
mod generators;
mod golden;
mod interject;
mod properties;
mod quota;
mod route;
mod simulated_run;
mod start;
mod sub_run;
mod unexpected_input;
