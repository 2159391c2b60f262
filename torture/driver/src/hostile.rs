//! Commands that try to harm the daemon: hostile directory trees, floods, processes, memory, a full disk, a
//! watched folder that changes constantly. The daemon must stay alive, respond, accept messages, obey the
//! brake, stay small and leave nothing behind.
//!
//! Every attack has its own bound, so that a missing limit does not affect the machine.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use serde_json::{Value, json};

use crate::counts::Tally;
use crate::daemon::{self, Circumstances, DaemonRun};
use crate::http::Api;
use crate::rng::Rng;
use crate::test_dir::{TestDir, Tools};

/// The attacks, each performed by its own agent, all at once.
const ATTACKS: [(&str, &str); 9] = [
    (
        "nest",
        "cd $TMPDIR && p=$(printf 'd/%.0s' $(seq 100)) && mkdir acc && for i in $(seq 150); do \
         mkdir -p n/$p && mv acc n/$p && mv n acc || exit 1; done",
    ),
    ("wide", "cd $TMPDIR && seq 20000 | xargs touch"),
    (
        "odd",
        "cd $TMPDIR && ln -s / root && ln -s . self && mkfifo pipe && mkdir -p a/b/c && chmod 0 a/b a",
    ),
    ("flood", "yes hostile | head -c 200000000"),
    ("forks", "for i in $(seq 200); do sleep 60 & done; wait"),
    ("memory", "head -c 300000000 /dev/zero | tail > /dev/null"),
    (
        "ignore",
        "seq 300000 | sed 's/.*/generated-&-*.log/' > watched/.gitignore; mkfifo watched/.ignore",
    ),
    (
        "hammer",
        "i=0; while [ $i -lt 3000 ]; do echo $i > watched/f$((i % 50)); i=$((i + 1)); done",
    ),
    (
        "deep_watch",
        "cd watched && p=$(printf 'd/%.0s' $(seq 500)) && mkdir -p $p",
    ),
];

/// The limits of commands here. The attacks `forks` and `memory` exceed them, the others do not.
const CONFINED: Circumstances = Circumstances::Confined {
    processes: 100,
    memory_mib: 128,
};

/// Attacks that a limit must end, and its code.
const LIMITED: [(&str, &str); 2] = [("forks", "too_many_processes"), ("memory", "memory_exceeded")];

/// Writes more than the disk of the home can hold.
const FILL: &str = "head -c 400000000 /dev/zero > $TMPDIR/fill; sleep 60";

/// Size of the disk that is filled, large enough to start a command.
const DISK: &str = "size=256m,mode=0700";

/// One write of the driver while it fills the disk itself.
static FILLER_CHUNK: [u8; 64 * 1_024] = [0; 64 * 1_024];

/// Maximum number of writes of the driver: several times the disk.
const FILLER_CHUNKS_MAX: u32 = 16_384;

/// Duration of the attacks before the brake.
const ATTACK_MAX: Duration = Duration::from_secs(6);

/// Maximum response time of the daemon under attack, on a machine under the same load.
const ANSWER_MAX: Duration = Duration::from_secs(5);

/// Maximum time until everything is idle after an attack.
const REST_MAX: Duration = Duration::from_secs(60);

/// Maximum memory of the daemon at any time.
const MEMORY_KIB_MAX: u64 = 512 * 1_024;

const LOOK: Duration = Duration::from_millis(100);

/// A disk that is unmounted on drop.
struct Disk(Option<PathBuf>);

impl Disk {
    /// Only root may mount one.
    fn mount(at: &Path) -> Result<Self> {
        std::fs::create_dir_all(at).context("making a home")?;
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", DISK, "wakeful-torture"]).arg(at);
        let is_mounted = mount.output().is_ok_and(|done| done.status.success());
        if !is_mounted {
            eprintln!("hostile: the full disk is skipped: only root can mount a small one");
        }
        Ok(Self(is_mounted.then(|| at.to_owned())))
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        if let Some(at) = &self.0 {
            let _ = Command::new("umount").arg("-l").arg(at).status();
        }
    }
}

/// The file in the workspace that shows that an attack started.
fn marker(agent: &str) -> String {
    format!("ran-{agent}")
}

/// An episode under attack.
struct HostileRun<'a> {
    place: &'a TestDir,
    api: Api,
    life: DaemonRun,
    tally: Tally,
    sent: u64,
    /// Attacks that left their marker, and runs that a limit ended.
    ran: usize,
    limited: usize,
}

/// Attacks the program once.
pub(crate) fn play(folder: &Path, tools: &Tools, seed: u64) -> Result<Tally> {
    let began = Instant::now();
    let place = TestDir::make(folder.to_owned(), tools, 1, &mut Rng::new(seed))?;
    let disk = Disk::mount(&place.home(0))?;
    let mut world = HostileRun {
        api: daemon::api(&place, 0)?,
        life: daemon::begin(&place, 0, &CONFINED, None)?,
        place: &place,
        tally: Tally::default(),
        sent: 0,
        ran: 0,
        limited: 0,
    };
    world.tally.worlds = 1;
    world.life.wait_ready(&world.api)?;
    world.set_up()?;
    world.attack()?;
    if disk.0.is_some() {
        world.fill_the_disk()?;
        world.brake_on_a_full_disk()?;
    }
    world.restart()?;
    let HostileRun {
        life,
        tally,
        ran,
        limited,
        ..
    } = world;
    life.kill()?;
    drop(disk);
    let broken: Vec<String> = tally
        .broken
        .keys()
        .map(|name| format!(", BROKEN {name}"))
        .collect();
    eprintln!(
        "hostile: {} attacks, {} proven to have run, {} ended by a limit, {} acknowledged, {:.1} s{}",
        ATTACKS.len(),
        ran,
        limited,
        tally.acknowledged,
        began.elapsed().as_secs_f64(),
        broken.concat()
    );
    Ok(tally)
}

impl HostileRun<'_> {
    fn set_up(&self) -> Result<()> {
        let watched = self.place.workspace().join("watched");
        std::fs::create_dir_all(&watched).context("making a folder")?;
        let agents = ATTACKS.iter().map(|(name, _)| *name).chain(["quiet", "disk"]);
        for agent in agents {
            let body = json!({"agent_id": agent.replace('_', "-"), "workspace": self.place.workspace()});
            self.make("/api/agents", &body)?;
        }
        let source = json!({"kind": "folder", "path": watched, "source_id": "watched"});
        self.make("/api/sources", &source)
    }

    fn make(&self, path: &str, body: &Value) -> Result<()> {
        let answer = self.api.post(path, body).context("no response")?;
        if answer.status >= 300 {
            bail!("{path}: {}", answer.body);
        }
        Ok(())
    }

    /// Checks a promise and records a violation.
    fn expect(&mut self, promise: &str, is_held: bool, what: &str) {
        if !is_held {
            eprintln!("hostile: {promise}: {what}");
            *self.tally.broken.entry(promise.to_owned()).or_default() += 1;
        }
    }

    /// Sends a message whose run performs one command. Returns its run if it was acknowledged.
    fn send(&mut self, agent: &str, cmd: &str) -> Result<Option<String>> {
        self.sent += 1;
        let key = format!("{agent}-{}", self.sent);
        let cmd = Value::from(cmd).to_string();
        let yaml =
            format!("rounds:\n  - tools: [{{name: ExecCommand, input: {{cmd: {cmd}}}}}]\n  - text: done\n");
        let model = self.place.script(&key, &yaml)?;
        let body = json!({"text": "do it", "key": key, "model": model});
        let answer = self.api.post(&format!("/api/agents/{agent}/messages"), &body);
        let answer = answer.filter(|answer| answer.status < 300);
        let run = answer.and_then(|answer| Some(answer.body["run_key"].as_str()?.to_owned()));
        self.tally.acknowledged += u64::from(run.is_some());
        Ok(run)
    }

    /// Checks that the daemon is alive, responds in time and is small.
    fn look(&mut self) -> Result<()> {
        let is_over = self.life.is_over()?;
        self.expect("lives", !is_over, "the daemon died");
        if is_over {
            bail!("the daemon died under attack");
        }
        let asked = Instant::now();
        let is_well = self
            .api
            .get("/healthz")
            .is_some_and(|answer| answer.status == 200);
        let took = asked.elapsed();
        self.expect(
            "answers",
            is_well && took < ANSWER_MAX,
            &format!("/healthz took {took:?}"),
        );
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.life.pid())).unwrap_or_default();
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let peak = peak.and_then(|rest| rest.split_whitespace().next()?.parse::<u64>().ok());
        let peak = peak.unwrap_or(0);
        self.expect("stays_small", peak < MEMORY_KIB_MAX, &format!("{peak} KiB"));
        Ok(())
    }

    fn attack(&mut self) -> Result<()> {
        let mut attacks = Vec::new();
        for (agent, cmd) in ATTACKS {
            let sent = self.send(
                &agent.replace('_', "-"),
                &format!("touch {}; {cmd}", marker(agent)),
            )?;
            self.expect("accepts", sent.is_some(), agent);
            attacks.extend(sent.map(|run| (agent, run)));
        }
        let until = Instant::now() + ATTACK_MAX;
        let mut quiet = Vec::new();
        while Instant::now() < until {
            self.look()?;
            let sent = self.send("quiet", "true")?;
            self.expect("accepts", sent.is_some(), "a message during the attacks");
            quiet.extend(sent);
            std::thread::sleep(5 * LOOK);
        }
        let all = json!({"agent_id": null});
        let asked = Instant::now();
        let braked = self
            .api
            .post("/api/brake", &all)
            .is_some_and(|answer| answer.status < 300);
        let took = asked.elapsed();
        self.expect(
            "brakes",
            braked && took < ANSWER_MAX,
            &format!("the brake took {took:?}"),
        );
        self.rest("what the commands left after the brake")?;
        self.make("/api/brake/release", &all)?;
        for (agent, _) in ATTACKS {
            self.expect_ran(agent);
        }
        for (agent, code) in LIMITED {
            let run = attacks.iter().find(|(name, _)| *name == agent);
            self.expect_limit(run.map_or("", |(_, run)| run), code);
        }
        self.expect_ended(&quiet)
    }

    /// Checks that a command started: a refused attack would prove nothing.
    fn expect_ran(&mut self, agent: &str) {
        let has_run = self.place.workspace().join(marker(agent)).exists();
        self.ran += usize::from(has_run);
        self.expect("attacks", has_run, &format!("{agent} never ran"));
    }

    /// Checks that this limit ended a step of a run.
    fn expect_limit(&mut self, run: &str, code: &str) {
        let answer = self.api.get(&format!("/api/runs/{run}"));
        let steps = answer.map(|answer| answer.body["steps"].clone());
        let steps = steps.unwrap_or_default();
        let mut reasons = steps.as_array().into_iter().flatten().map(|step| &step["reason"]);
        let is_ended = reasons.any(|reason| reason == code);
        self.limited += usize::from(is_ended);
        self.expect("limits", is_ended, &format!("{code} did not end {run}: {steps}"));
    }

    /// Checks that the commands have ended and that their folders are removed.
    fn rest(&mut self, what: &str) -> Result<()> {
        let scratch = self.place.home(0).join("scratch");
        let count = || std::fs::read_dir(&scratch).map_or(0, Iterator::count);
        let until = Instant::now() + REST_MAX;
        while count() > 0 && Instant::now() < until {
            self.look()?;
            std::thread::sleep(LOOK);
        }
        self.expect("leaves_nothing", count() == 0, what);
        Ok(())
    }

    fn expect_ended(&mut self, runs: &[String]) -> Result<()> {
        let until = Instant::now() + REST_MAX;
        for run in runs {
            let has_ended = || {
                let answer = self.api.get(&format!("/api/runs/{run}"));
                answer.is_some_and(|answer| answer.body["outcome"] == "completed")
            };
            let mut is_ended = has_ended();
            while !is_ended && Instant::now() < until {
                std::thread::sleep(LOOK);
                is_ended = has_ended();
            }
            let now = self.api.get(&format!("/api/runs/{run}"));
            let words = format!(
                "a message that came during the attacks: {:?}",
                now.map(|now| now.body)
            );
            self.expect("ended", is_ended, &words);
        }
        self.look()
    }

    /// A command that would fill the disk is ended, and the daemon always has space to continue.
    fn fill_the_disk(&mut self) -> Result<()> {
        let run = self.send("disk", &format!("touch {}; {FILL}", marker("disk")))?;
        let until = Instant::now() + Duration::from_secs(2);
        while Instant::now() < until {
            self.look()?;
            let sent = self.send("quiet", "true")?;
            self.expect("accepts", sent.is_some(), "a message while the disk is filled");
            std::thread::sleep(LOOK);
        }
        self.rest("what filled the disk")?;
        self.expect_ran("disk");
        self.expect_limit(run.as_deref().unwrap_or_default(), "disk_write_exceeded");
        let sent = self.send("quiet", "true")?;
        self.expect("accepts", sent.is_some(), "a message after the disk was full");
        self.expect_ended(&sent.into_iter().collect::<Vec<_>>())
    }

    /// Another program fills the disk completely. The brake still holds, and is released when space is
    /// available.
    fn brake_on_a_full_disk(&mut self) -> Result<()> {
        let filler = self.place.home(0).join("filler");
        let mut file = std::fs::File::create(&filler).context("making the filler")?;
        let mut chunks = 0..FILLER_CHUNKS_MAX;
        let is_full = chunks.any(|_| file.write_all(&FILLER_CHUNK).is_err());
        self.expect("fills", is_full, "the disk accepted more than its size");
        let all = json!({"agent_id": null});
        let asked = Instant::now();
        let answer = self.api.post("/api/brake", &all);
        let (took, status) = (asked.elapsed(), answer.as_ref().map(|answer| answer.status));
        let is_braked = status.is_some_and(|status| status < 300) && took < ANSWER_MAX;
        let words = format!("the brake on a full disk took {took:?}: {answer:?}");
        self.expect("brakes_when_full", is_braked, &words);
        eprintln!("hostile: the brake on a full disk was answered with {status:?} after {took:?}");
        self.look()?;
        // The space is free only when no process has the file open.
        drop(file);
        std::fs::remove_file(&filler).context("removing the filler")?;
        self.make("/api/brake/release", &all)?;
        let sent = self.send("quiet", "true")?;
        self.expect(
            "accepts",
            sent.is_some(),
            "a message after the brake on a full disk",
        );
        self.expect_ended(&sent.into_iter().collect::<Vec<_>>())
    }

    /// The next start is an ordinary one, also after a kill during a hostile directory tree.
    fn restart(&mut self) -> Result<()> {
        let nest = ATTACKS.first().map_or("true", |(_, cmd)| cmd);
        self.send("nest", &format!("{nest}; sleep 60"))?;
        std::thread::sleep(5 * LOOK);
        // The old process must have ended before the new one starts: it locks the home.
        self.life.die()?;
        self.tally.kills += 1;
        self.life = daemon::begin(self.place, 0, &CONFINED, None)?;
        self.life.wait_ready(&self.api)?;
        self.rest("what a killed daemon left")
    }
}
