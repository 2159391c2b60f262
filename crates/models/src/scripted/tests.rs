//! Tests of the scripted model: its responses, and the scripts that it refuses.

mod answer;
mod refusal;
mod writing;
