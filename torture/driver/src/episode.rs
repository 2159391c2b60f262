//! One episode from start to verdict: clients send, the program crashes repeatedly, then everything becomes
//! idle and the checker runs.

use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock};
use std::time::{Duration, SystemTime};

use anyhow::{Context as _, Result, bail};
use serde_json::{Value, json};

use crate::counts::Tally;
use crate::daemon::{self, Circumstances, DaemonRun};
use crate::fault::{self, Fault};
use crate::history::{History, told};
use crate::load::{Counts, Load, Sent, Sides};
use crate::moment;
use crate::orphans;
use crate::power::{self, Cut};
use crate::rng::Rng;
use crate::script::Weight;
use crate::server;
use crate::test_dir::{TestDir, Tools};

/// Number of clients of one episode, and of the agents that they address.
pub(crate) const CLIENTS: usize = 6;
pub(crate) const AGENTS: usize = 5;

/// Time without progress, once crashes have stopped, after which an episode counts as idle. With a planted
/// bug progress may stop forever, which the checker must find.
const REST: Duration = Duration::from_secs(60);
const REST_PLANTED: Duration = Duration::from_millis(2_500);

/// A program that does not reach its fail point in this time is killed.
const ARMED: Duration = Duration::from_millis(3_000);

/// Fail points that every message passes: the first crash may wait for a later passage. Others are rare.
const OFTEN: [&str; 6] = ["admit.", "claim.", "model.", "transition.", "store.", "act."];
const PASSAGES_MAX: u64 = 4;

/// How the program crashes in an episode.
#[derive(Debug, Clone)]
pub(crate) enum Kind {
    /// By `kill -9` at random times.
    Kill,
    /// At a fail point, and at another one during recovery.
    Points(Vec<(&'static str, &'static str)>),
    /// By a power cut.
    Power,
    /// On a faulty disk.
    Faults,
}

impl Kind {
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Kill => "kill",
            Self::Points(_) => "points",
            Self::Power => "power",
            Self::Faults => "faults",
        }
    }
}

/// The plan of an episode.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    pub(crate) seed: u64,
    pub(crate) kind: Kind,
    /// Number of crashes, unless the kind determines it.
    pub(crate) deaths: u64,
    /// What happens beside messages.
    pub(crate) sides: Sides,
    /// A bug that is planted in the program.
    pub(crate) planted: Option<&'static str>,
    pub(crate) folder: PathBuf,
}

/// The result of an episode.
#[derive(Debug)]
pub(crate) struct Outcome {
    pub(crate) tally: Tally,
    /// The checker's verdict.
    pub(crate) verdict: Value,
}

/// An episode in progress.
struct EpisodeRun<'a> {
    plan: &'a Plan,
    place: &'a TestDir,
    history: &'a History,
    load: &'a Load<'a>,
    rng: Rng,
    tally: Tally,
    /// Start and end of each process that was killed.
    lives: Vec<(SystemTime, SystemTime)>,
    /// The processes that keep running after the last crash.
    last: Vec<DaemonRun>,
}

/// Plays an episode and checks it. On PostgreSQL it has its own database.
pub(crate) fn play(plan: &Plan, tools: &Tools) -> Result<Outcome> {
    let Some(server) = &tools.database else {
        return play_in(plan, tools);
    };
    let name = format!("torture_{:x}", plan.seed);
    let database = Some(server::create(server, &name)?);
    let outcome = play_in(
        plan,
        &Tools {
            database,
            ..tools.clone()
        },
    );
    server::drop(server, &name)?;
    outcome
}

fn play_in(plan: &Plan, tools: &Tools) -> Result<Outcome> {
    let mut rng = Rng::new(plan.seed);
    let homes = if tools.database.is_some() { 2 } else { 1 };
    let place = TestDir::make(plan.folder.clone(), tools, homes, &mut rng)?;
    let history = History::create(&place.history())?;
    // On a faulty disk few messages end, and writes are what is tested: so many small messages are sent at
    // once.
    let (weight, window) = match plan.kind {
        Kind::Faults => (Weight::Light, 20),
        Kind::Kill | Kind::Points(_) | Kind::Power => (Weight::Heavy, 3),
    };
    let load = Load {
        place: &place,
        apis: (0..homes)
            .map(|home| daemon::api(&place, home))
            .collect::<Result<_>>()?,
        agents: (0..AGENTS).map(|agent| format!("w-{agent}")).collect(),
        history: &history,
        weight,
        sides: plan.sides,
        shared: OnceLock::new(),
        questions: Mutex::default(),
        clock_from: OnceLock::new(),
        files: AtomicU64::new(0),
        done: AtomicBool::new(false),
        window,
        ending: Mutex::new(None),
        faulty: AtomicBool::new(false),
        counts: Counts::default(),
    };
    let mut world = EpisodeRun {
        plan,
        place: &place,
        history: &history,
        load: &load,
        rng: rng.branch(1),
        tally: Tally::default(),
        lives: Vec::new(),
        last: Vec::new(),
    };
    history.note(&json!({"seed": plan.seed, "kind": plan.kind.name(), "planted": plan.planted}));
    world.prepare()?;
    let sent = world.torment(&rng)?;
    world.finish(&sent)?;
    let verdict = judged(&place)?;
    world.tally.add_verdict(&verdict);
    let tally = world.tally;
    Ok(Outcome { tally, verdict })
}

impl EpisodeRun<'_> {
    /// Creates homes and agents before faults are injected.
    fn prepare(&mut self) -> Result<()> {
        for home in 0..self.load.apis.len() {
            // The creator of a home's folder must sync it; the program syncs its own folders.
            std::fs::create_dir_all(self.place.home(home)).context("making a home")?;
        }
        // A bug that loses everything would lose the agents first, and nothing would be left to check.
        let how = if self.plan.planted.is_some() {
            Circumstances::Healthy
        } else {
            self.usual()
        };
        let mut life = self.begin(0, &how)?;
        let api = daemon::api(self.place, 0)?;
        life.wait_ready(&api)?;
        self.load.set_up(&api)?;
        self.end(0, life, "prepared")
    }

    /// The conditions of a process that runs without faults until its end.
    fn usual(&self) -> Circumstances {
        match self.plan.kind {
            Kind::Kill | Kind::Points(_) | Kind::Faults => Circumstances::Healthy,
            Kind::Power => Circumstances::Journaled,
        }
    }

    fn begin(&self, home: usize, how: &Circumstances) -> Result<DaemonRun> {
        daemon::begin(self.place, home, how, self.plan.planted)
    }

    /// Ends a process, with a power cut if this episode tests that.
    fn end(&mut self, home: usize, life: DaemonRun, why: &str) -> Result<()> {
        let began = life.began;
        life.kill()?;
        self.lives.push((began, SystemTime::now()));
        let journal = self.place.journal(home);
        let mut what = json!({"died": why});
        if journal.exists() {
            orphans::end(&self.place.home(home))?;
            let cut = power::cut(&self.place.home(home), &journal, &mut self.rng)?;
            self.tally.power_cuts += 1;
            self.tally.cuts_felt += u64::from(cut.changed + cut.undone > 0);
            let Cut {
                unsynced,
                changed,
                undone,
            } = cut;
            what = json!({"died": why, "unsynced": unsynced, "changed": changed, "undone": undone});
        } else {
            self.tally.kills += 1;
        }
        self.history.note(&what);
        Ok(())
    }

    /// Clients send while the program crashes; at the end it runs until they have finished.
    fn torment(&mut self, rng: &Rng) -> Result<Vec<Sent>> {
        std::thread::scope(|scope| {
            let clients: Vec<_> = (0..CLIENTS)
                .map(|client| {
                    let (load, rng) = (self.load, rng.branch(100 + client as u64));
                    scope.spawn(move || load.client(&format!("c{client}"), rng))
                })
                .collect();
            let sides = self.load.sides;
            let mut asides = Vec::new();
            let mut aside = |label: u64, is_on: bool, what: fn(&Load<'_>, Rng) -> Result<Vec<Sent>>| {
                let (load, rng) = (self.load, rng.branch(200 + label));
                asides.extend(is_on.then(|| scope.spawn(move || what(load, rng))));
            };
            let answering = |load: &Load<'_>, rng| {
                load.answer(rng);
                Ok(Vec::new())
            };
            aside(0, sides.asks > 0, answering);
            aside(1, sides.asks > 0, answering);
            aside(2, sides.brakes, |load, rng| {
                load.brake(rng);
                Ok(Vec::new())
            });
            aside(3, sides.files, |load, rng| {
                load.put_files(rng).map(|()| Vec::new())
            });
            aside(4, sides.changes, |load, rng| load.cancel(&load.side("x"), rng));
            let died = self.die_often().and_then(|()| self.live_on());
            // Also after an error: otherwise the clients would never stop.
            if died.is_err() {
                self.load.wind_down(Duration::ZERO);
            }
            let mut sent = Vec::new();
            let mut done: Vec<_> = clients.into_iter().map(|client| client.join()).collect();
            self.load.done.store(true, Ordering::Relaxed);
            done.extend(asides.into_iter().map(|aside| aside.join()));
            died?;
            for result in done {
                let result = result.map_err(|_| anyhow::anyhow!("a client panicked"))?;
                sent.extend(result?);
            }
            Ok(sent)
        })
    }

    fn die_often(&mut self) -> Result<()> {
        match self.plan.kind.clone() {
            Kind::Points(pairs) => pairs.into_iter().try_for_each(|pair| self.die_at(pair)),
            Kind::Faults => (0..self.plan.deaths).try_for_each(|_| self.suffer()),
            Kind::Kill if self.load.apis.len() > 1 => self.die_in_turns(),
            Kind::Kill | Kind::Power => (0..self.plan.deaths).try_for_each(|_| {
                let mut life = self.begin(0, &self.usual())?;
                self.live(0, &mut life)?;
                self.end(0, life, "killed")
            }),
        }
    }

    /// Lets the program run for a random time: mostly into its work, sometimes only into its start.
    fn live(&mut self, home: usize, life: &mut DaemonRun) -> Result<()> {
        if self.rng.percent(10) {
            std::thread::sleep(Duration::from_millis(self.rng.between(0, 60)));
            return Ok(());
        }
        // A busy machine starts a program slowly. If it never becomes ready, the checker finds what is
        // missing.
        let _ = life.wait_ready(&daemon::api(self.place, home)?);
        let most = if self.rng.percent(75) { 200 } else { 450 };
        std::thread::sleep(Duration::from_millis(self.rng.between(0, most)));
        Ok(())
    }

    /// Two programs on one database: one crashes while the other runs, in turns.
    fn die_in_turns(&mut self) -> Result<()> {
        let mut other = self.begin(1, &Circumstances::Healthy)?;
        for turn in 0..self.plan.deaths {
            let home = usize::from(turn % 2 == 1);
            let mut life = self.begin(home, &Circumstances::Healthy)?;
            self.live(home, &mut life)?;
            let dying = std::mem::replace(&mut other, life);
            self.end(0, dying, "killed")?;
        }
        self.end(0, other, "killed")
    }

    /// Crashes at one fail point, and at another after the restart.
    fn die_at(&mut self, (first, second): (&'static str, &'static str)) -> Result<()> {
        let mut depth = 0;
        for (point, is_first) in [(first, true), (second, false)] {
            let is_often = OFTEN.iter().any(|often| point.starts_with(often));
            let most = if is_first && is_often { PASSAGES_MAX } else { 1 };
            let passage = self.rng.between(1, most);
            let mut life = self.begin(0, &Circumstances::Armed { point, passage })?;
            // It may crash before it is ready, which is equally valid.
            let _ = life.wait_ready(&daemon::api(self.place, 0)?);
            life.wait(ARMED)?;
            let is_met = life.is_aborted()?;
            if is_met {
                self.tally.reached(point);
                depth += 1;
            }
            let missed = if is_met { "" } else { " missed" };
            self.end(0, life, &format!("{point}:{passage}{missed}"))?;
        }
        self.tally.pairs += 1;
        if depth == 2 {
            self.tally.pairs_deep += 1;
            self.tally.met.insert((first, second));
        }
        Ok(())
    }

    /// Runs on a disk that fails from the start or at times, and crashes with it.
    fn suffer(&mut self) -> Result<()> {
        self.history.put(&json!({"event": "faults"}));
        let always = if self.rng.percent(30) {
            fault::rare(&mut self.rng)
        } else {
            Vec::new()
        };
        let orders: Vec<String> = always.iter().map(Fault::begin).collect();
        self.history.note(&json!({"orders": orders}));
        let mut life = self.begin(0, &Circumstances::Faulty { orders })?;
        if always.is_empty() {
            self.suffer_now_and_then(&mut life)?;
        } else {
            let ms = self.rng.between(300, 3_000);
            self.suffer_for(&mut life, ms)?;
        }
        let over = life.is_over()?;
        self.end(
            0,
            life,
            if over {
                "gave up on its disk"
            } else {
                "killed on a faulty disk"
            },
        )?;
        self.tally.kills -= 1;
        self.tally.fault_lives += 1;
        Ok(())
    }

    /// The disk works, fails and works again without a restart.
    fn suffer_now_and_then(&mut self, life: &mut DaemonRun) -> Result<()> {
        if life.wait_ready(&daemon::api(self.place, 0)?).is_err() {
            return Ok(());
        }
        for _ in 0..self.rng.between(1, 3) {
            let faults = fault::often(&mut self.rng);
            let begin: Vec<String> = faults.iter().map(Fault::begin).collect();
            let end: Vec<String> = faults.iter().map(Fault::end).collect();
            self.history.note(&json!({"orders": begin}));
            fault::tell(&self.place.pipes(), life.pid(), &begin);
            let ms = self.rng.between(200, 1_500);
            self.suffer_for(life, ms)?;
            fault::tell(&self.place.pipes(), life.pid(), &end);
            std::thread::sleep(Duration::from_millis(self.rng.between(50, 300)));
        }
        Ok(())
    }

    fn suffer_for(&mut self, life: &mut DaemonRun, ms: u64) -> Result<()> {
        self.load.faulty.store(true, Ordering::Relaxed);
        let over = life.wait(Duration::from_millis(ms));
        self.load.faulty.store(false, Ordering::Relaxed);
        over.map(drop)
    }

    /// The last process, in which all work finishes.
    fn live_on(&mut self) -> Result<()> {
        for (home, api) in self.load.apis.iter().enumerate() {
            let mut life = self.begin(home, &Circumstances::Healthy)?;
            if let Err(error) = life.wait_ready(api) {
                // The program cannot be asked any more, and the checker reports that.
                self.history.note(&json!({"dead": format!("{error:#}")}));
                self.load.wind_down(Duration::ZERO);
                return Ok(());
            }
            self.last.push(life);
        }
        self.load.wind_down(self.patience());
        Ok(())
    }

    /// Maximum time without progress at the end.
    fn patience(&self) -> Duration {
        if self.plan.planted.is_some() {
            REST_PLANTED
        } else {
            REST
        }
    }

    /// Records what the program reports at the end about every message and about reservations.
    fn finish(&mut self, sent: &[Sent]) -> Result<()> {
        let api = daemon::api(self.place, 0)?;
        let mut cut = std::collections::BTreeSet::new();
        for Sent { message, run } in sent {
            let Some(answer) = api.get(&format!("/api/runs/{run}")) else {
                continue;
            };
            let is_run = answer.status == 200;
            let steps = answer.body["steps"].as_array().filter(|_| is_run);
            let unknown = steps
                .into_iter()
                .flatten()
                .filter(|step| step["status"] == "outcome_unknown");
            cut.extend(unknown.filter_map(|step| self.killed_in(step["at"].as_str()?)));
            let told = is_run.then(|| told(&answer.body));
            self.history
                .put(&json!({"event": "final", "message": message, "status": answer.status, "answer": told}));
        }
        self.tally.kills_between = cut.len() as u64;
        let patience = self.patience();
        self.load.account(&api, patience, &mut self.rng);
        let budget = api.get("/api/budget").map(|budget| budget.body["agents"].clone());
        for agent in budget.as_ref().and_then(Value::as_array).into_iter().flatten() {
            let is_ours = |name: &str| self.load.agents.iter().any(|ours| ours == name);
            if agent["agent_id"].as_str().is_some_and(is_ours) {
                let (agent, usd) = (&agent["agent_id"], &agent["reserved_usd"]);
                self.history
                    .put(&json!({"event": "rest", "agent": agent, "reserved_usd": usd}));
            }
        }
        self.tally.under_faults = self.load.counts.under_faults.load(Ordering::Relaxed);
        self.tally.sent_under_faults = self.load.counts.sent_under_faults.load(Ordering::Relaxed);
        self.tally.retried = self.load.counts.retried.load(Ordering::Relaxed);
        self.tally.refused = self.load.counts.refused.load(Ordering::Relaxed);
        self.last.clear();
        self.history.close()
    }

    /// The process that was killed between the intent at this time and its result.
    fn killed_in(&self, at: &str) -> Option<usize> {
        let at = moment::parse(at)?;
        self.lives
            .iter()
            .position(|(began, ended)| (*began..=*ended).contains(&at))
    }
}

/// Runs the checker: a separate program that reads only the history and the effect file.
fn judged(place: &TestDir) -> Result<Value> {
    let done = Command::new(&place.tools.checker)
        .arg(place.history())
        .arg(place.world())
        .output()
        .context("starting the checker")?;
    if !matches!(done.status.code(), Some(0 | 1)) {
        bail!("the checker failed: {}", String::from_utf8_lossy(&done.stderr));
    }
    serde_json::from_slice(&done.stdout).context("reading the verdict")
}
