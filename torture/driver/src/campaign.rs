//! A campaign: episodes of every kind, one after another, until the time is over.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, anyhow};
use clap::{Parser, ValueEnum};
use serde_json::{Value, json};
use wakeful_ports::planted_bugs::BUGS;

use crate::counts::Tally;
use crate::episode::{AGENTS, CLIENTS, Kind, Outcome, Plan, play};
use crate::hostile;
use crate::load::Sides;
use crate::pairs::Pairs;
use crate::rng::Rng;
use crate::test_dir::{Tools, build_disk};

/// Number of crashes in one episode of a long campaign: enough for a database with a history, and few
/// enough that a failing episode can be read.
const DEATHS: u64 = 40;
const DEATHS_ON_A_BAD_DISK: u64 = 12;

/// Number of episodes in which a planted bug must be found. Each is nearly certain to find it.
const PLANTED_TRIES: u64 = 6;
const PLANTED_DEATHS: u64 = 6;

/// Number of crashes in an episode whose bug takes time to show: a brake that is held for long, or firings
/// that pass.
const PLANTED_DEATHS_LONG: u64 = 24;

/// Crashes the program repeatedly and checks its promises afterwards.
#[derive(Debug, Clone, Parser)]
#[command(name = "wakeful-torture")]
pub(crate) struct Options {
    /// How long to run; started episodes are completed
    #[arg(long, default_value_t = 5.0)]
    minutes: f64,
    /// Random seed; the same seed plans the same crashes [default: from the clock]
    #[arg(long)]
    seed: Option<u64>,
    /// Only one kind of episode
    #[arg(long)]
    only: Option<Only>,
    /// A few episodes of every kind and all planted bugs, regardless of the time
    #[arg(long)]
    short: bool,
    /// Verify instead that the checker finds every planted bug
    #[arg(long)]
    planted: bool,
    /// Keep the folder of every episode, not only of failed ones
    #[arg(long)]
    keep: bool,
    /// The program under test, built with `--cfg fail_points`
    #[arg(long)]
    program: PathBuf,
    /// The checker program [default: the one next to this program]
    #[arg(long)]
    checker: Option<PathBuf>,
    /// A PostgreSQL database to use, as `key=value` words
    #[arg(long)]
    database: Option<String>,
}

/// Kinds of episodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Only {
    Kill,
    Points,
    Power,
    Faults,
    Hostile,
}

/// How a campaign ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// Every promise was kept.
    Sound,
    /// A promise was broken, or a planted bug was not found.
    Broken,
}

/// A campaign in progress.
struct Campaign {
    options: Options,
    tools: Tools,
    rng: Rng,
    seed: u64,
    folder: tempfile::TempDir,
    worlds: u64,
    tally: Tally,
    began: Instant,
    /// Pairs of fail points that are not yet tried.
    pairs: Pairs,
    /// Number of planted bugs that were tested.
    planted: usize,
    /// Planted bugs that cannot occur in this setup.
    not_planted: Vec<&'static str>,
    /// Failures, for the final report.
    wrong: Vec<Value>,
}

pub(crate) fn run(options: &Options) -> Result<End> {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let seed = options.seed.unwrap_or(now.map_or(1, |now| now.as_secs()));
    let folder = tempfile::Builder::new()
        .prefix("wakeful-torture-")
        .tempdir()
        .context("making a folder")?;
    let beside = std::env::current_exe()?.with_file_name("wakeful-checker");
    let tools = Tools {
        // Absolute, because the program is started from another folder.
        program: std::path::absolute(&options.program)?,
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
        pairs: Pairs::new(options.database.is_some()),
        planted: 0,
        not_planted: Vec::new(),
        wrong: Vec::new(),
    };
    if options.short {
        campaign.play_short()?;
    } else if options.planted {
        campaign.play_planted()?;
    } else {
        campaign.play_long()?;
        campaign.miss_points();
    }
    Ok(campaign.close())
}

impl Campaign {
    fn play_long(&mut self) -> Result<()> {
        let until = Instant::now() + Duration::from_secs_f64(self.options.minutes * 60.0);
        let every = [
            Only::Kill,
            Only::Points,
            Only::Power,
            Only::Kill,
            Only::Points,
            Only::Faults,
            Only::Hostile,
        ];
        let mut turn = 0;
        while Instant::now() < until && self.wrong.is_empty() {
            let next = every.get(turn % every.len()).copied().unwrap_or(Only::Kill);
            turn += 1;
            // A simulated disk does not affect PostgreSQL's files.
            let apart =
                self.tools.database.is_some() && matches!(next, Only::Power | Only::Faults | Only::Hostile);
            if !apart && self.options.only.is_none_or(|only| only == next) {
                self.play_one(next, DEATHS)?;
            }
        }
        Ok(())
    }

    /// A short campaign, for every run of the checks.
    fn play_short(&mut self) -> Result<()> {
        self.play_one(Only::Kill, 16)?;
        self.play_one(Only::Points, 20)?;
        if self.tools.database.is_none() {
            self.play_one(Only::Power, 12)?;
            self.play_one(Only::Faults, 3)?;
            self.play_hostile()?;
        }
        self.play_planted()
    }

    /// Reports fail points that a whole round of pairs never reached: they are untested, which is an error
    /// of the campaign.
    fn miss_points(&mut self) {
        let points = self.pairs.points.clone();
        let never: Vec<&str> = points
            .iter()
            .copied()
            .filter(|point| !self.tally.points.contains_key(point))
            .collect();
        if self.tally.pairs == 0 || never.is_empty() {
            return;
        }
        eprintln!("NEVER HIT: {}", never.join(", "));
        if self.tally.pairs >= points.len() as u64 {
            self.wrong
                .push(json!({"points_never_hit": never, "pairs_tried": self.tally.pairs}));
        }
    }

    /// Plays an episode whose commands attack the program.
    fn play_hostile(&mut self) -> Result<()> {
        self.worlds += 1;
        let folder = self.folder.path().join(format!("w{}", self.worlds));
        let tally = hostile::play(&folder, &self.tools, self.rng.next());
        let is_sound = tally.as_ref().is_ok_and(Tally::is_sound);
        if self.options.keep || !is_sound {
            self.folder.disable_cleanup(true);
        }
        let tally = tally.with_context(|| format!("hostile episode in {}", folder.display()))?;
        if !is_sound {
            self.wrong
                .push(json!({"folder": folder, "kind": "hostile", "broken": tally.broken}));
        }
        self.tally += tally;
        Ok(())
    }

    fn play_one(&mut self, kind: Only, deaths: u64) -> Result<()> {
        let kind = match kind {
            Only::Hostile => return self.play_hostile(),
            Only::Kill => Kind::Kill,
            Only::Points => Kind::Points(self.pairs.next(deaths / 2, &mut self.rng)),
            Only::Power => Kind::Power,
            Only::Faults => Kind::Faults,
        };
        let deaths = if matches!(kind, Kind::Faults) {
            deaths.min(DEATHS_ON_A_BAD_DISK)
        } else {
            deaths
        };
        let plan = self.plan(kind, deaths, None);
        let outcome = match play_told(&plan, &self.tools) {
            Ok(outcome) => outcome,
            Err(error) => {
                self.folder.disable_cleanup(true);
                self.close();
                return Err(error);
            }
        };
        if self.options.keep {
            self.folder.disable_cleanup(true);
            eprintln!("kept {}", plan.folder.display());
        } else if outcome.tally.is_sound() {
            // Only the folders of failed episodes are kept.
            let _ = std::fs::remove_dir_all(&plan.folder);
        }
        if !outcome.tally.is_sound() {
            self.folder.disable_cleanup(true);
            self.wrong
                .push(json!({"folder": plan.folder, "kind": plan.kind.name(), "verdict": outcome.verdict}));
        }
        if let Kind::Points(tried) = &plan.kind {
            self.pairs.put_back(tried, &outcome.tally.met);
        }
        self.tally += outcome.tally;
        Ok(())
    }

    /// Plans the next episode.
    fn plan(&mut self, kind: Kind, deaths: u64, planted: Option<&'static str>) -> Plan {
        self.worlds += 1;
        Plan {
            seed: self.rng.next(),
            sides: sides(&kind, planted),
            kind,
            deaths,
            planted,
            folder: self.folder.path().join(format!("w{}", self.worlds)),
        }
    }

    /// Each planted bug must be found, and by the promise that it breaks. Two episodes run at once, because
    /// each mostly waits.
    fn play_planted(&mut self) -> Result<()> {
        let mut cases = Vec::new();
        let on_server = self.tools.database.is_some();
        for (bug, promise) in BUGS {
            if on_server && matches!(shows(bug), Kind::Power) {
                self.not_planted.push(bug);
                continue;
            }
            let tries = (0..PLANTED_TRIES).map(|_| self.plan(shows(bug), deaths(bug), Some(bug)));
            let tries: Vec<Plan> = tries.collect();
            cases.push((*bug, *promise, tries));
        }
        self.planted = cases.len();
        let waiting = Mutex::new(cases.into_iter());
        let next = || waiting.lock().unwrap_or_else(PoisonError::into_inner).next();
        let work = || -> Result<Vec<Value>> {
            let mut missed = Vec::new();
            while let Some((bug, promise, tries)) = next() {
                if !is_found(promise, &tries, &self.tools)? {
                    missed.push(json!({"planted": bug, "not_found_by": promise}));
                }
            }
            Ok(missed)
        };
        let missed = std::thread::scope(|scope| {
            let workers = [scope.spawn(work), scope.spawn(work)];
            workers.map(|worker| worker.join().map_err(|_| anyhow!("an episode panicked"))?)
        });
        for missed in missed {
            self.wrong.extend(missed?);
        }
        Ok(())
    }

    /// Prints a one-line summary, and how to repeat the campaign after a failure.
    fn close(&self) -> End {
        let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
        let load = load.split_whitespace().next().unwrap_or_default().to_owned();
        let mut line = self.tally.json();
        line["seed"] = self.seed.into();
        line["seconds"] = self.began.elapsed().as_secs().into();
        line["database"] = if self.tools.database.is_some() {
            "postgres"
        } else {
            "sqlite"
        }
        .into();
        line["clients"] = CLIENTS.into();
        line["agents"] = AGENTS.into();
        line["machine_load"] = load.into();
        line["planted_bugs_looked_for"] = self.planted.into();
        line["planted_bugs_not_here"] = self.not_planted.clone().into();
        line["pairs_there_are"] = (self.pairs.points.len() * self.pairs.points.len()).into();
        let times = |point: &&'static str| (*point, self.tally.points.get(point).copied().unwrap_or(0));
        line["points"] = json!(self.pairs.points.iter().map(times).collect::<BTreeMap<_, _>>());
        line["points_not_here"] = self.pairs.not_here().into();
        if !self.wrong.is_empty() {
            line["wrong"] = self.wrong.clone().into();
        }
        #[expect(clippy::print_stdout, reason = "the summary is the output of the campaign")]
        {
            println!("{line}");
        }
        if self.wrong.is_empty() {
            return End::Sound;
        }
        let (seed, minutes) = (self.seed, self.options.minutes);
        eprintln!(
            "again: make torture SEED={seed} MINUTES={minutes} (the plan is the same, the timing is not)"
        );
        End::Broken
    }
}

/// Number of crashes in an episode with a planted bug.
fn deaths(bug: &str) -> u64 {
    match bug {
        "brake_ignored" | "moment_skipped" => PLANTED_DEATHS_LONG,
        _ => PLANTED_DEATHS,
    }
}

/// The kind of episode in which a planted bug shows.
fn shows(bug: &str) -> Kind {
    match bug {
        "commit_unsynced" | "blob_unsynced" => Kind::Power,
        "plain_again" | "unknown_called_failed" | "told_early" => {
            Kind::Points(vec![("act.after_perform", "transition.after_commit"); 2])
        }
        "operation_renamed" => Kind::Points(vec![("journal.after_commit", "transition.after_commit"); 2]),
        "unknown_called_ok" => Kind::Points(vec![("act.before_perform", "transition.after_commit"); 2]),
        _ => Kind::Kill,
    }
}

/// What happens beside messages: everything, except on a faulty disk, where journal writes are enough; and
/// with a planted bug only what reveals it.
fn sides(kind: &Kind, planted: Option<&str>) -> Sides {
    let none = Sides::default();
    match (planted, kind) {
        (None, Kind::Faults) => Sides { tasks: true, ..none },
        (None, Kind::Kill | Kind::Points(_) | Kind::Power) => Sides::ALL,
        (Some("brake_ignored"), _) => Sides { brakes: true, ..none },
        (Some("denied_acts"), _) => Sides { asks: 70, ..none },
        (Some("operation_renamed"), _) => Sides { tasks: true, ..none },
        (Some("change_skipped"), _) => Sides { files: true, ..none },
        (Some("moment_skipped"), _) => Sides { clock: true, ..none },
        (Some(_), _) => none,
    }
}

/// Whether a promise is found broken in one of several episodes.
fn is_found(promise: &str, tries: &[Plan], tools: &Tools) -> Result<bool> {
    for plan in tries {
        let outcome = play_told(plan, tools)?;
        let _ = std::fs::remove_dir_all(&plan.folder);
        if outcome.tally.broken(promise) > 0 {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Plays an episode and prints its result.
fn play_told(plan: &Plan, tools: &Tools) -> Result<Outcome> {
    let began = Instant::now();
    let outcome = play(plan, tools);
    let outcome =
        outcome.with_context(|| format!("{} episode in {}", plan.kind.name(), plan.folder.display()))?;
    let seconds = began.elapsed().as_secs_f64();
    let tally = &outcome.tally;
    let planted = plan.planted.map_or(String::new(), |bug| format!(" with {bug}"));
    let broken = tally.broken.iter().filter(|(_, times)| **times > 0);
    let broken: String = broken
        .map(|(promise, times)| format!(", BROKEN {promise} {times}"))
        .collect();
    eprintln!(
        "{}{planted}: {} kills, {} power cuts, {} requests on a bad disk, {} acknowledged, {} effects, {} unknown, \
         {seconds:.1} s{broken}",
        plan.kind.name(),
        tally.kills,
        tally.power_cuts,
        tally.under_faults,
        tally.acknowledged,
        tally.effects,
        tally.unknown,
    );
    Ok(outcome)
}
