//! Judges what a program did under torture: `wakeful-checker HISTORY WORLD`.
//!
//! It knows nothing of the program's insides and links nothing of it. It is given what clients were told, as lines of
//! JSON, and the file in which every effect left a line; from the two it says which promises were broken. The verdict
//! is one line of JSON; the exit code is 0 when nothing was broken, 1 when something was, and 2 when it could not
//! judge.
//!
//! - [`history`] reads what clients saw.
//! - [`world`] reads what really happened.
//! - [`judge`] holds one against the other.
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
            #[expect(clippy::print_stdout, reason = "the verdict is what this program is for")]
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
    // A world in which nothing happened has no file.
    let is_there = std::fs::exists(world).map_err(|error| format!("{world}: {error}"))?;
    let lines = if is_there { read(world)? } else { String::new() };
    Ok(judge::judge(&told, &EffectFile::parse(&lines)))
}
