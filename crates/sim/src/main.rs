//! Plays many fault plans: `wakeful-sim [--count N | --seconds S | --minutes M] [--from SEED] [--jobs J]
//! [--worlds KIND]`, or one: `wakeful-sim --seed SEED [FAULT…]`.
//!
//! Without a first seed it chooses a random one and prints it; further seeds are the following numbers. A
//! failure prints the smallest plan that still fails and the command that replays it, and exits with 1.
//!
//! `wakeful-sim injection [WORDS]` plays the attacks and honest tasks whose names contain the words, prints the table
//! on standard error and the results as JSON on standard output, and exits with 1 if an attack acted.
#![forbid(unsafe_code)]

use std::hash::{BuildHasher as _, RandomState};
use std::io::Write as _;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use wakeful_sim::injection::{self, Ending};
use wakeful_sim::search::{examine, shrink};
use wakeful_sim::{Coverage, FaultPlan, Violation, log_hash};

/// Time between two progress lines.
const PROGRESS: Duration = Duration::from_secs(10);

/// Maximum number of threads: more than any expected machine has cores.
const JOBS_MAX: u64 = 64;

const USAGE: &str =
    "\
usage: wakeful-sim [--count N | --seconds S | --minutes M] [--from SEED] [--jobs J] [--worlds run|large|alert]
       wakeful-sim --seed SEED [alert] [small] [calm | FAULT…] [asks=1] [moves=0,3]     a fault is written as crash+12
       wakeful-sim injection [WORDS]";

/// When to stop the search.
#[derive(Clone, Copy)]
enum Until {
    Count(u64),
    Time(Duration),
}

struct Args {
    until: Until,
    from: u64,
    jobs: u64,
    /// Draws the plan of a seed.
    drawn: fn(u64) -> FaultPlan,
    one: Option<FaultPlan>,
}

/// The state that the threads of a search share.
struct Search {
    began: Instant,
    next: AtomicU64,
    done: AtomicU64,
    is_over: AtomicBool,
    found: Mutex<Option<(FaultPlan, Violation)>>,
    tally: Mutex<Coverage>,
}

fn main() -> ExitCode {
    let mut words = std::env::args_os().skip(1);
    let verb = words.next();
    if verb.as_ref().is_some_and(|verb| verb == "sandbox") {
        return wakeful_tools::sandbox::enter(words);
    }
    if verb.is_some_and(|verb| verb == "injection") {
        let words: Vec<String> = words.filter_map(|word| word.into_string().ok()).collect();
        return injection(&words.join(" ")).unwrap_or_else(|error| {
            say(&format!("{error:#}"));
            ExitCode::FAILURE
        });
    }
    let args = match parse(std::env::args().skip(1)) {
        Ok(args) => args,
        Err(what) => {
            say(&format!("{what}\n{USAGE}"));
            return ExitCode::from(2);
        }
    };
    let found = match &args.one {
        Some(schedule) => one(schedule),
        None => search(&args),
    };
    let Some((schedule, violation)) = found else {
        return ExitCode::SUCCESS;
    };
    say(&format!("FAILED {schedule}\n{violation}"));
    let (small, violation) = shrink(&schedule, &violation, examine);
    say(&format!("\nsmallest failing plan: {small}\n{violation}"));
    say(&format!("\ncargo run -p wakeful-sim -- --seed {small}"));
    ExitCode::FAILURE
}

/// Plays the attacks and honest tasks whose names contain these words.
fn injection(only: &str) -> anyhow::Result<ExitCode> {
    let report = injection::play(&injection::Options {
        program: injection::Program {
            path: "/proc/self/exe".into(),
            prefix: vec!["sandbox".to_owned()],
        },
        folder: std::env::temp_dir(),
        environment: std::env::vars().collect(),
        every: 1,
        threads: std::thread::available_parallelism().map_or(1, std::num::NonZero::get),
        only: only.to_owned(),
    })?;
    writeln!(std::io::stderr(), "{}", report.table())?;
    serde_json::to_writer_pretty(std::io::stdout().lock(), &report)?;
    let has_acted = report.ended(Ending::Acted).next().is_some();
    Ok(if has_acted {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    })
}

/// Plays one plan and prints the hash of its log.
fn one(schedule: &FaultPlan) -> Option<(FaultPlan, Violation)> {
    let played = examine(schedule).and_then(|tally| Ok((tally, log_hash(schedule)?)));
    match played {
        Ok((tally, hash)) => {
            say(&format!("{schedule}\nlog {hash}"));
            tell(&tally);
            None
        }
        Err(violation) => Some((schedule.clone(), violation)),
    }
}

/// Plays one plan after another until the limit is reached or one fails.
fn search(args: &Args) -> Option<(FaultPlan, Violation)> {
    say(&format!("from seed {:#x}", args.from));
    let search = Search {
        began: Instant::now(),
        next: AtomicU64::new(0),
        done: AtomicU64::new(0),
        is_over: AtomicBool::new(false),
        found: Mutex::default(),
        tally: Mutex::default(),
    };
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..args.jobs)
            .map(|_| scope.spawn(|| search.work(args)))
            .collect();
        let mut told = Instant::now();
        while !workers.iter().all(std::thread::ScopedJoinHandle::is_finished) {
            std::thread::park_timeout(Duration::from_millis(50));
            if told.elapsed() >= PROGRESS {
                told = Instant::now();
                search.tell_progress();
            }
        }
    });
    search.tell_progress();
    let found = search.found.into_inner().unwrap_or_else(PoisonError::into_inner);
    if found.is_none() {
        tell(&search.tally.into_inner().unwrap_or_else(PoisonError::into_inner));
    }
    found
}

impl Search {
    /// Plays the next seeds until the search ends.
    fn work(&self, args: &Args) {
        let mut tally = Coverage::default();
        while !self.is_over.load(Ordering::Relaxed) {
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            let is_over = match args.until {
                Until::Count(count) => number >= count,
                Until::Time(limit) => self.began.elapsed() >= limit,
            };
            if is_over {
                break;
            }
            let schedule = (args.drawn)(args.from.wrapping_add(number));
            match examine(&schedule) {
                Ok(met) => tally.add(&met),
                Err(violation) => {
                    self.is_over.store(true, Ordering::Relaxed);
                    let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
                    found.get_or_insert((schedule, violation));
                    break;
                }
            }
            self.done.fetch_add(1, Ordering::Relaxed);
        }
        self.tally
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .add(&tally);
    }

    fn tell_progress(&self) {
        let (done, elapsed) = (self.done.load(Ordering::Relaxed), self.began.elapsed());
        let elapsed_ms = u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX).max(1);
        let rate = done.saturating_mul(1_000) / elapsed_ms;
        let seconds = elapsed.as_secs();
        say(&format!(
            "{done} plans in {seconds} s, {rate} per second, no earlier failure"
        ));
    }
}

fn tell(tally: &Coverage) {
    for (name, count) in &tally.0 {
        say(&format!("{count:>10} {name}"));
    }
}

fn parse(mut words: impl Iterator<Item = String>) -> Result<Args, String> {
    let mut args = Args {
        until: Until::Count(1_000),
        from: RandomState::new().hash_one("a fresh seed"),
        jobs: 1,
        drawn: FaultPlan::any,
        one: None,
    };
    while let Some(word) = words.next() {
        let value = words.next().ok_or_else(|| format!("{word} needs a value"))?;
        let number = || {
            value
                .parse::<u64>()
                .map_err(|_| format!("{value} is not a number"))
        };
        let seed = || value.parse::<FaultPlan>().map_err(|error| error.to_string());
        match word.as_str() {
            "--count" => args.until = Until::Count(number()?),
            "--seconds" => args.until = Until::Time(Duration::from_secs(number()?)),
            "--minutes" => args.until = Until::Time(Duration::from_secs(number()?.saturating_mul(60))),
            "--from" => args.from = seed()?.seed,
            "--jobs" => args.jobs = number()?.clamp(1, JOBS_MAX),
            "--worlds" => args.drawn = drawn(&value)?,
            "--seed" => {
                let rest: Vec<String> = words.by_ref().collect();
                let line = format!("{value} {}", rest.join(" "));
                let given: FaultPlan = line.parse().map_err(|error| format!("{error}"))?;
                let drawn = rest.is_empty().then(|| FaultPlan::any(given.seed));
                args.one = Some(drawn.unwrap_or(given));
            }
            _ => return Err(format!("unknown option {word}")),
        }
    }
    Ok(args)
}

/// How plans of one kind of scenario are drawn.
fn drawn(word: &str) -> Result<fn(u64) -> FaultPlan, String> {
    match word {
        "run" => Ok(FaultPlan::drawn_of_any_size),
        "large" => Ok(FaultPlan::drawn),
        "alert" => Ok(FaultPlan::drawn_alert),
        _ => Err(format!("unknown kind of world {word}; use run, large or alert")),
    }
}

/// Prints a line. A closed output does not stop the search.
fn say(line: &str) {
    let _ = writeln!(std::io::stdout(), "{line}");
}
