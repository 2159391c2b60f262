//! A campaign: worlds of every kind, one after the other, until time is up.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use clap::{Parser, ValueEnum};
use serde_json::{Value, json};
use wakeful_ports::fail::POINTS;
use wakeful_ports::planted::BUGS;

use crate::episode::{Kind, Outcome, Plan, play};
use crate::place::{Tools, build_disk};
use crate::rng::Rng;
use crate::tally::Tally;

/// Deaths in one world of a long campaign: enough for a database that has seen something, and few enough that a world
/// which goes wrong can be read.
const DEATHS: u64 = 40;

/// Worlds that a planted bug is given to show itself. Each is nearly certain to do it.
const PLANTED_TRIES: u64 = 4;

/// Kills the program and judges what it says afterwards.
#[derive(Debug, Clone, Parser)]
#[command(name = "wakeful-torture")]
pub(crate) struct Options {
    /// How long; worlds that have begun are played to their end
    #[arg(long, default_value_t = 5.0)]
    minutes: f64,
    /// Chance; the same seed plans the same deaths [default: from the clock]
    #[arg(long)]
    seed: Option<u64>,
    /// One kind of worlds alone
    #[arg(long)]
    only: Option<Only>,
    /// A few worlds of every kind and all planted bugs, whatever the time
    #[arg(long)]
    short: bool,
    /// Shows instead that the judge finds every planted bug
    #[arg(long)]
    planted: bool,
    /// The program under torture, built with `--cfg fail_points`
    #[arg(long)]
    program: PathBuf,
    /// The judge; else the one beside this program
    #[arg(long)]
    checker: Option<PathBuf>,
    /// A PostgreSQL to work on, as `key=value` words
    #[arg(long)]
    database: Option<String>,
}

/// Kinds of worlds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Only {
    Kill,
    Points,
    Power,
    Faults,
}

/// How a campaign ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// Every promise was held.
    Sound,
    /// One was broken, or a planted bug was not found.
    Broken,
}

/// A campaign under way.
struct Campaign {
    options: Options,
    tools: Tools,
    rng: Rng,
    seed: u64,
    folder: tempfile::TempDir,
    worlds: u64,
    tally: Tally,
    began: Instant,
    /// Pairs of fail points that are still to be tried, in an order of chance.
    pairs: Vec<(&'static str, &'static str)>,
    /// What went wrong, for people.
    wrong: Vec<Value>,
}

/// Runs it.
pub(crate) fn run(options: &Options) -> Result<End> {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let seed = options.seed.unwrap_or(now.map_or(1, |now| now.as_secs()));
    let folder = tempfile::Builder::new()
        .prefix("wakeful-torture-")
        .tempdir()
        .context("making a folder")?;
    let beside = std::env::current_exe()?.with_file_name("wakeful-checker");
    let tools = Tools {
        program: options.program.clone(),
        checker: options.checker.clone().unwrap_or(beside),
        disk: build_disk(folder.path())?,
        database: options.database.clone(),
    };
    let mut campaign = Campaign {
        options: options.clone(),
        tools,
        rng: Rng::new(seed),
        seed,
        folder,
        worlds: 0,
        tally: Tally::default(),
        began: Instant::now(),
        pairs: Vec::new(),
        wrong: Vec::new(),
    };
    if options.short {
        campaign.play_short()?;
    } else if options.planted {
        campaign.play_planted()?;
    } else {
        campaign.play_long()?;
    }
    Ok(campaign.close())
}

impl Campaign {
    fn play_long(&mut self) -> Result<()> {
        let until = Instant::now() + Duration::from_secs_f64(self.options.minutes * 60.0);
        let every = [Only::Kill, Only::Points, Only::Power, Only::Kill, Only::Points, Only::Faults];
        let mut turn = 0;
        while Instant::now() < until && self.wrong.is_empty() {
            let next = every.get(turn % every.len()).copied().unwrap_or(Only::Kill);
            turn += 1;
            // A disk of ours is not PostgreSQL's.
            let apart = self.tools.database.is_some() && matches!(next, Only::Power | Only::Faults);
            if !apart && self.options.only.is_none_or(|only| only == next) {
                self.play_one(next, DEATHS)?;
            }
        }
        Ok(())
    }

    /// The same in small, for every run of the checks.
    fn play_short(&mut self) -> Result<()> {
        self.play_one(Only::Kill, 20)?;
        self.play_one(Only::Points, 20)?;
        if self.tools.database.is_none() {
            self.play_one(Only::Power, 15)?;
            self.play_one(Only::Faults, 4)?;
            self.play_planted()?;
        }
        Ok(())
    }

    fn play_one(&mut self, kind: Only, deaths: u64) -> Result<()> {
        let kind = match kind {
            Only::Kill => Kind::Kill,
            Only::Points => Kind::Points(self.next_pairs(deaths / 2)),
            Only::Power => Kind::Power,
            Only::Faults => Kind::Faults,
        };
        let deaths = if matches!(kind, Kind::Faults) { deaths.min(12) } else { deaths };
        let outcome = self.play_world(kind, deaths, None)?;
        if !outcome.tally.is_sound() {
            let folder = self.keep_folder();
            self.wrong.push(json!({"world": self.worlds, "folder": folder, "verdict": outcome.verdict}));
        }
        self.tally += outcome.tally;
        Ok(())
    }

    fn play_world(&mut self, kind: Kind, deaths: u64, planted: Option<&'static str>) -> Result<Outcome> {
        self.worlds += 1;
        let (seed, name) = (self.rng.next(), kind.name());
        let folder = self.folder.path().join(format!("w{}", self.worlds));
        let plan = Plan {
            seed,
            kind,
            deaths,
            planted,
            folder: folder.clone(),
        };
        let began = Instant::now();
        let played = play(&plan, &self.tools);
        let outcome = match played {
            Ok(outcome) => outcome,
            Err(error) => {
                let kept = self.keep_folder();
                self.close();
                return Err(error.context(format!("world {} ({name}) in {}", self.worlds, kept.display())));
            }
        };
        let seconds = began.elapsed().as_secs_f64();
        let (tally, planted) = (&outcome.tally, planted.map_or(String::new(), |bug| format!(" with {bug}")));
        eprintln!(
            "world {} {name}{planted}: {} kills, {} power cuts, {} requests on a bad disk, {} acknowledged, \
             {} effects, {} unknown, {seconds:.1} s",
            self.worlds, tally.kills, tally.power_cuts, tally.under_faults, tally.acknowledged, tally.effects, tally.unknown,
        );
        if outcome.tally.is_sound() || planted.starts_with(" with") {
            // Only what went wrong is worth its space.
            let _ = std::fs::remove_dir_all(&folder);
        }
        Ok(outcome)
    }

    /// The next pairs of fail points: every point before every point, in an order of chance, again and again.
    fn next_pairs(&mut self, count: u64) -> Vec<(&'static str, &'static str)> {
        let mut pairs = Vec::new();
        for _ in 0..count {
            if self.pairs.is_empty() {
                let all = POINTS.iter().flat_map(|first| POINTS.iter().map(|second| (*first, *second)));
                self.pairs = all.filter(|pair| is_met(pair.0) && is_met(pair.1)).collect();
                self.rng.shuffle(&mut self.pairs);
            }
            pairs.extend(self.pairs.pop());
        }
        pairs
    }

    /// Each planted bug must be found, and by the promise that it breaks.
    fn play_planted(&mut self) -> Result<()> {
        for (bug, promise) in BUGS {
            let mut found = false;
            for _ in 0..PLANTED_TRIES {
                let kind = match *bug {
                    "commit_unsynced" | "blob_unsynced" => Kind::Power,
                    "plain_again" | "unknown_called_failed" => {
                        Kind::Points(vec![("act.after_perform", "transition.after_commit"); 2])
                    }
                    "unknown_called_ok" => Kind::Points(vec![("act.before_perform", "transition.after_commit"); 2]),
                    _ => Kind::Kill,
                };
                let outcome = self.play_world(kind, 4, Some(bug))?;
                found = outcome.tally.broken(promise) > 0;
                if found {
                    break;
                }
            }
            if !found {
                self.wrong.push(json!({"planted": bug, "not_found_by": promise}));
            }
        }
        Ok(())
    }

    /// Makes the folder outlive the campaign.
    fn keep_folder(&mut self) -> PathBuf {
        self.folder.disable_cleanup(true);
        self.folder.path().join(format!("w{}", self.worlds))
    }

    /// Says in one line what was done, and how to do it again where something was wrong.
    fn close(&self) -> End {
        let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
        let load = load.split_whitespace().next().unwrap_or_default().to_owned();
        let mut line = self.tally.json();
        line["seed"] = self.seed.into();
        line["seconds"] = self.began.elapsed().as_secs().into();
        line["database"] = if self.tools.database.is_some() { "postgres" } else { "sqlite" }.into();
        line["machine_load"] = load.into();
        if !self.wrong.is_empty() {
            line["wrong"] = self.wrong.clone().into();
        }
        #[expect(clippy::print_stdout, reason = "the one line that the campaign is for")]
        {
            println!("{line}");
        }
        if self.wrong.is_empty() {
            return End::Sound;
        }
        let (seed, minutes) = (self.seed, self.options.minutes);
        eprintln!("again: make torture SEED={seed} MINUTES={minutes} (the plan is the same, the moments are not)");
        End::Broken
    }
}

/// Whether a daemon comes past a point at all: one of them stands in the way of a single run on the command line.
fn is_met(point: &str) -> bool {
    point != "end.before_report"
}
