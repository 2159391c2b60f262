//! Plays many schedules: `wakeful-sim [--count N | --seconds S | --minutes M] [--seed S]`, or one: `wakeful-sim --replay LINE`.
//!
//! Without a seed it takes a fresh one and says which. A failure prints the line to put into `seeds.txt`, and ends
//! the program with 1.
#![forbid(unsafe_code)]

use std::hash::{BuildHasher as _, RandomState};
use std::io::Write as _;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use wakeful_sim::search::{examine, nth, shrink};
use wakeful_sim::{Schedule, Tally, Violation};

/// Between two lines about how far it has come.
const PROGRESS: Duration = Duration::from_secs(10);

const USAGE: &str =
    "usage: wakeful-sim [--count N | --seconds S | --minutes M] [--seed S] [--replay \"0x2a crash+12\"]";

/// How long to search.
enum Until {
    Count(u64),
    Time(Duration),
}

struct Args {
    until: Until,
    seed: u64,
    replay: Option<Schedule>,
}

fn main() -> ExitCode {
    let args = match parse(std::env::args().skip(1)) {
        Ok(args) => args,
        Err(what) => {
            say(&format!("{what}\n{USAGE}"));
            return ExitCode::from(2);
        }
    };
    let found = match &args.replay {
        Some(schedule) => examine(schedule)
            .err()
            .map(|violation| (schedule.clone(), violation)),
        None => search(&args),
    };
    let Some((schedule, violation)) = found else {
        return ExitCode::SUCCESS;
    };
    say(&format!("FAILED {schedule}\n{violation}"));
    let (small, violation) = shrink(&schedule, &violation, examine);
    say(&format!("\nas small as it gets: {small}\n{violation}"));
    ExitCode::FAILURE
}

/// Plays one schedule after another until the end is reached or one fails.
fn search(args: &Args) -> Option<(Schedule, Violation)> {
    say(&format!("seed {:#x}", args.seed));
    let began = Instant::now();
    let mut told = began;
    let mut tally = Tally::default();
    for number in 0_u64.. {
        let is_over = match args.until {
            Until::Count(count) => number >= count,
            Until::Time(limit) => began.elapsed() >= limit,
        };
        if is_over || told.elapsed() >= PROGRESS {
            told = Instant::now();
            let rate = rate(number, began.elapsed());
            say(&format!("{number} schedules, {rate} a second, none failed"));
        }
        if is_over {
            break;
        }
        let schedule = nth(args.seed, number);
        match examine(&schedule) {
            Ok(met) => tally.add(&met),
            Err(violation) => {
                say(&format!("schedule {number} of seed {:#x}", args.seed));
                return Some((schedule, violation));
            }
        }
    }
    for (name, count) in &tally.0 {
        say(&format!("{count:>10} {name}"));
    }
    None
}

fn rate(count: u64, elapsed: Duration) -> u64 {
    let elapsed_ms = u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX).max(1);
    count.saturating_mul(1_000) / elapsed_ms
}

fn parse(mut words: impl Iterator<Item = String>) -> Result<Args, String> {
    let mut args = Args {
        until: Until::Count(1_000),
        seed: RandomState::new().hash_one("a fresh seed"),
        replay: None,
    };
    while let Some(word) = words.next() {
        let value = words.next().ok_or_else(|| format!("{word} needs a value"))?;
        let number = || value.parse::<u64>().map_err(|_| format!("{value} is no number"));
        match word.as_str() {
            "--count" => args.until = Until::Count(number()?),
            "--seconds" => args.until = Until::Time(Duration::from_secs(number()?)),
            "--minutes" => args.until = Until::Time(Duration::from_secs(number()?.saturating_mul(60))),
            "--seed" => args.seed = value.parse::<Schedule>().map_err(|error| error.to_string())?.seed,
            "--replay" => args.replay = Some(value.parse().map_err(|error| format!("{error}"))?),
            _ => return Err(format!("there is no {word}")),
        }
    }
    Ok(args)
}

/// Says a line. Nobody who reads it may be gone by then; a search goes on all the same.
fn say(line: &str) {
    let _ = writeln!(std::io::stdout(), "{line}");
}
