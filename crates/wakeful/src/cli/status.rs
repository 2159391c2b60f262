//! `wakeful status`: shows an overview on one screen.

use clap::Args;
use serde::Serialize;
use serde_json::json;
use wakeful_api::{
    Activity, AgentStatus, BackupStatus, Confinement, GetRuntimeStatus, Limit, ListAgents, ListRuns,
    RuntimeStatus, SettingsProblem, StuckAgent,
};
use wakeful_core::proof::head::SignedHead;
use wakeful_core::proof::signing::{Fingerprint, PublicKey};
use wakeful_core::time::Millis;
use wakeful_ports::clock::Clock as _;

use super::GlobalArgs;
use super::brake::line;
use crate::backend::{AttentionSummary, read};
use crate::confinement_cache;
use crate::daemon::files::DaemonRecord;
use crate::device;
use crate::discover::{HomeHolder, home_holder};
use crate::failure::Failure;
use crate::home::{DEVICE_KEY, Home};
use crate::open_home::with_read_only;
use crate::policy::{POLICY_INVALID, idle_policy_problem};
use crate::show::backup::{newest_text, problem_text};
use crate::show::phrase::count as counted;
use crate::show::{DriverPresence, Out};
use crate::system::RealClock;

const RUNS_SHOWN: u32 = 5;

#[derive(Debug, Args)]
pub(crate) struct StatusArgs {}

pub(crate) async fn status(_args: &StatusArgs, shared: &GlobalArgs, out: &Out) -> Result<u8, Failure> {
    let who = home_holder(shared).await?;
    let seen = read(shared, async |backend| {
        let status = backend.call(GetRuntimeStatus {}).await?;
        let standing = AttentionSummary::from(&status);
        let backup = status.backup.clone();
        let daemon = backend.is_daemon().then_some(status);
        let runs = ListRuns {
            limit: Limit(RUNS_SHOWN),
            ..ListRuns::default()
        };
        Ok((
            daemon,
            standing,
            backup,
            backend
                .call(ListAgents {
                    include_private: false,
                })
                .await?
                .agents,
            backend.call(runs).await?,
        ))
    });
    let (seen, probed) = tokio::join!(seen, probed(&who, shared));
    let (daemon, standing, backup, agents, runs) = seen?;
    let driver = driver(daemon.as_ref(), shared)?;
    let confinement = daemon.as_ref().map_or(probed, |status| status.confinement);
    let proof = proof(shared).await?;
    let mut lines = vec![head(&who, daemon.as_ref())];
    lines.extend(needs(&standing, out));
    let stuck: &[StuckAgent] = daemon.as_ref().map_or(&[], |status| &status.stuck);
    lines.extend(doing(&agents, stuck, driver));
    // A daemon reports the parked run of an agent as the reason why the agent is stuck.
    let is_stuck = |agent: &str| stuck.iter().any(|one| one.agent_id == agent);
    let parked = runs
        .runs
        .iter()
        .filter(|run| run.parked && !is_stuck(&run.agent_id));
    lines.extend(parked.map(|run| {
        let hint = "`wakeful budget show` shows today's spending, `wakeful budget set` raises the cap";
        format!("parked   a run of {} waits for budget: {hint}", run.agent_id)
    }));
    lines.extend(stuck.iter().map(|stuck| {
        format!(
            "stuck    {}: {} — {}",
            stuck.agent_id, stuck.problem.message, stuck.problem.hint
        )
    }));
    lines.extend(match &daemon {
        Some(status) => settings_lines(status.settings_problem.as_ref(), &status.needs_restart),
        None => settings_lines(idle_policy_problem(&shared.home()?).as_ref(), &[]),
    });
    lines.extend(confined(confinement));
    lines.push(signed(&proof));
    lines.extend(backed_up(&backup, RealClock::new().now()));
    let answer = json!({
        "daemon": daemon, "agents": agents, "runs": runs.runs, "proof": proof, "backup": backup, "confinement": confinement, "brakes": standing.brakes,
        "pending_decision_count": standing.pending_decisions, "quarantined_run_count": standing.quarantined_runs,
    });
    let words = format!(
        "{}\n\n{}\n\n{}",
        lines.join("\n"),
        out.agents_text(&agents, driver),
        out.runs_text(&runs)
    );
    out.answer(&answer, &words);
    Ok(0)
}

/// The confinement of commands, determined while the database is read; none if a daemon knows it already.
async fn probed(who: &HomeHolder, shared: &GlobalArgs) -> Option<Confinement> {
    match who {
        HomeHolder::Daemon(_) => None,
        HomeHolder::None | HomeHolder::Other(_) => {
            let home = Home::open(&shared.home().ok()?).ok()?;
            confinement_cache::confinement(home.root()).await
        }
    }
}

/// Why the settings file is not in force, and which changes need a restart.
pub(super) fn settings_lines(problem: Option<&SettingsProblem>, needs_restart: &[String]) -> Vec<String> {
    let problem = problem.map(|problem| match problem.code.as_str() {
        POLICY_INVALID => format!(
            "policy   a file is invalid: {} — {}",
            problem.message, problem.hint
        ),
        _ => format!(
            "settings the file is invalid, and the last valid settings apply: {} — {}",
            problem.message, problem.hint
        ),
    });
    let restart = (!needs_restart.is_empty()).then(|| {
        let names = needs_restart.join(", ");
        format!("settings `wakeful daemon restart` applies {names}")
    });
    problem.into_iter().chain(restart).collect()
}

/// The key of this device and the newest signed head of each log. It is read from the database directly,
/// even while a daemon runs.
async fn proof(shared: &GlobalArgs) -> Result<ProofStatus, Failure> {
    let key = device::read(&shared.home()?.join(DEVICE_KEY));
    let key = key.ok().map(|key| key.public());
    let heads = with_read_only(shared, async |store| {
        Ok(store.read(|view| view.newest_heads()).await?)
    })
    .await?;
    Ok(ProofStatus {
        key: key.map(|key| key.fingerprint()),
        public_key: key,
        heads,
    })
}

/// The signed heads of the logs.
#[derive(Debug, Serialize)]
struct ProofStatus {
    key: Option<Fingerprint>,
    public_key: Option<PublicKey>,
    heads: Vec<SignedHead>,
}

fn signed(proof: &ProofStatus) -> String {
    let logs = counted(proof.heads.len(), "log");
    match &proof.key {
        Some(key) => format!("signed   {logs}; the key of this device is {key}"),
        None => format!("signed   {logs}; this device has no key yet"),
    }
}

/// Each line of the confinement of commands with its state.
fn confined(confinement: Option<Confinement>) -> Vec<String> {
    let Some(confinement) = confinement else {
        return vec!["sandbox  unknown; `wakeful doctor` checks it".to_owned()];
    };
    let lines = confinement.lines().into_iter();
    lines
        .map(|(name, state)| format!("sandbox  {name}: {}", state.text()))
        .collect()
}

fn backed_up(backup: &BackupStatus, now: Millis) -> Vec<String> {
    let mut lines = vec![format!("backup   {}", newest_text(backup, now))];
    let hint = backup.problem.as_ref().map(|failed| &failed.problem.hint);
    let problem = problem_text(backup, now).zip(hint);
    lines.extend(problem.map(|(problem, hint)| format!("backup   {problem} — {hint}")));
    lines
}

/// Active brakes, pending decisions and quarantined runs. They come first, and only if there are any.
pub(super) fn needs(standing: &AttentionSummary, out: &Out) -> Vec<String> {
    let mut lines: Vec<String> = standing.brakes.iter().map(|brake| line(brake, out)).collect();
    match standing.pending_decisions {
        0 => {}
        1 => lines.push("decide   1 decision waits for you: `wakeful decision list`".to_owned()),
        many => lines.push(format!(
            "decide   {many} decisions wait for you: `wakeful decision list`"
        )),
    }
    match standing.quarantined_runs {
        0 => {}
        1 => lines.push("blocked  1 run is quarantined: `wakeful runs list --status quarantined`".to_owned()),
        many => lines.push(format!(
            "blocked  {many} runs are quarantined: `wakeful runs list --status quarantined`"
        )),
    }
    lines
}

fn head(who: &HomeHolder, daemon: Option<&RuntimeStatus>) -> String {
    match (daemon, who) {
        (Some(status), _) => format!("daemon   http://{} (process {})", status.http_addr, status.pid),
        (None, HomeHolder::Other(record)) => {
            let DaemonRecord { http_addr, pid, .. } = record;
            format!("daemon   http://{http_addr} (process {pid}) uses another database")
        }
        (None, HomeHolder::None | HomeHolder::Daemon(_)) => {
            "daemon   not running; start it with `wakeful daemon start`".to_owned()
        }
    }
}

/// Whether a process continues open runs. With a database server this cannot be determined here, because a
/// daemon of another home may do so.
fn driver(daemon: Option<&RuntimeStatus>, shared: &GlobalArgs) -> Result<DriverPresence, Failure> {
    let alone = daemon.is_none() && shared.database().is_none();
    Ok(if alone && !Home::open(&shared.home()?)?.is_in_use() {
        DriverPresence::None
    } else {
        DriverPresence::Daemon
    })
}

fn doing(agents: &[AgentStatus], stuck: &[StuckAgent], driver: DriverPresence) -> Vec<String> {
    let those = |activity| agents.iter().filter(|agent| agent.activity == activity).count();
    let (working, read, held) = (
        those(Activity::Working),
        those(Activity::WaitingOnHuman),
        those(Activity::Waiting),
    );
    // Work held by a brake continues when the brake is released; the brake is listed above.
    let (count, listed) = (working + read, agents.len());
    let waiting: u64 = agents.iter().map(|agent| agent.pending).sum();
    let at_work = match driver {
        DriverPresence::None => 0,
        DriverPresence::Daemon => working,
    };
    // Temporary agents are not listed, but each of them that is stuck has a line below.
    let stuck = stuck.len();
    let others = [
        (read, "waiting for you"),
        (held, "held by a brake"),
        (stuck, "stuck"),
    ];
    let others: String = others
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| format!(", {count} {what}"))
        .collect();
    let messages = counted(waiting, "message");
    let mut lines = vec![format!(
        "agents   {listed} listed, {at_work} running{others}, {messages} queued"
    )];
    if driver == DriverPresence::None && count > 0 {
        let (runs, them) = (counted(count, "run"), if count == 1 { "it" } else { "them" });
        lines.push(format!(
            "open     {runs} open, no process drives {them}: `wakeful daemon start` or `wakeful run --resume`"
        ));
    }
    lines
}
