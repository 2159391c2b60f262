//! Measures the start of the program: the fixed cost of every call.

use std::process::Command;

use anyhow::Result;

use crate::Setting;
use crate::measure::{Measure, Target};
use crate::program::wall_ms;

pub(crate) const NAME: &str = "version_ms";

pub(crate) fn take(setting: &Setting) -> Result<Vec<Measure>> {
    let (mut here, mut bare) = (Vec::new(), Vec::new());
    for _ in 0..setting.effort.pick(10, 50) {
        here.push(wall_ms(&mut setting.program.version())?);
        bare.push(wall_ms(&mut Command::new("true"))?);
    }
    let measure = Measure::median(NAME, "ms", &here, Target::Below(10.0));
    Ok(vec![
        measure.beside("a process that does nothing (`true`)", &bare),
    ])
}
