//! Tests of the scripted model: what it answers, and what it refuses to load.

mod answer;
mod refusal;
mod writing;
