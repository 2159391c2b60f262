//! Measures the size of the shipped program.

use anyhow::Result;

use crate::Setting;
use crate::measure::{Measure, Target};

pub(crate) const NAME: &str = "binary_mb";

pub(crate) fn take(setting: &Setting) -> Result<Vec<Measure>> {
    let bytes = setting.program.path().metadata()?.len();
    Ok(vec![Measure::median(
        NAME,
        "MB",
        &[bytes as f64 / 1e6],
        Target::AtMost(20.0),
    )])
}
