//! Checks the behaviour of a program under fault injection: `wakeful-checker HISTORY WORLD`.
//!
//! It links no code of the program. It reads the responses that clients received, as lines of JSON, and the
//! file in which every effect left a line, and reports which promises were broken. The result is one line
//! of JSON; the exit code is 0 if no promise was broken, 1 if one was, and 2 if the check failed.
//!
//! - [`history`] reads what clients saw.
//! - [`effect_file`] reads what really happened.
//! - [`judge`] compares the two.
#![forbid(unsafe_code)]

mod effect_file;
mod history;
mod judge;

use std::process::ExitCode;

use crate::effect_file::EffectFile;
use crate::history::History;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [history, world] = arguments.as_slice() else {
        eprintln!("usage: wakeful-checker HISTORY WORLD");
        return ExitCode::from(2);
    };
    match judged(history, world) {
        Ok(verdict) => {
            #[expect(clippy::print_stdout, reason = "the verdict is the output of this program")]
            {
                println!("{}", verdict.line());
            }
            ExitCode::from(u8::from(!verdict.faults.is_empty()))
        }
        Err(why) => {
            eprintln!("{why}");
            ExitCode::from(2)
        }
    }
}

fn judged(history: &str, world: &str) -> Result<judge::Verdict, String> {
    let read = |path: &str| std::fs::read_to_string(path).map_err(|error| format!("{path}: {error}"));
    let told = History::parse(&read(history)?).map_err(|why| format!("{history}: {why}"))?;
    // Without effects the file does not exist.
    let is_there = std::fs::exists(world).map_err(|error| format!("{world}: {error}"))?;
    let lines = if is_there { read(world)? } else { String::new() };
    Ok(judge::judge(&told, &EffectFile::parse(&lines)))
}
