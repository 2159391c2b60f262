//! The end of watching a run whose agent cannot work: the daemon knows the cause, and the run would not end by
//! itself.

use std::time::Duration;

use wakeful_api::{Activity, CancelRun, GetAgentStatus, GetRuntimeStatus, Text};
use wakeful_core::id::AgentId;
use wakeful_core::problem::Problem;
use wakeful_core::run::BUDGET_EXCEEDED;

use super::remote::WatchedRun;
use crate::backend::Backend;
use crate::failure::Failure;

/// How often the status of the agent is read.
const POLL: Duration = Duration::from_secs(1);

/// An agent is stuck if it was so this many times in succession, because the daemon tries again soon.
const SEEN_MIN: u32 = 2;

/// Waits until the agent is stuck, and returns why. Waiting for budget has an event of its own.
pub(super) async fn problem_of(backend: &Backend, agent: &AgentId) -> Problem {
    let mut seen = 0_u32;
    loop {
        tokio::time::sleep(POLL).await;
        // A daemon that does not answer now is waited for by the watcher of the events.
        match problem_now(backend, agent).await {
            Ok(Some(problem)) if seen + 1 >= SEEN_MIN => return problem,
            Ok(Some(_)) => seen += 1,
            Ok(None) | Err(_) => seen = 0,
        }
    }
}

async fn problem_now(backend: &Backend, agent: &AgentId) -> Result<Option<Problem>, Failure> {
    let agent_id = Text(agent.clone());
    if backend.call(GetAgentStatus { agent_id }).await?.activity != Activity::Stuck {
        return Ok(None);
    }
    let stuck = backend.call(GetRuntimeStatus {}).await?.stuck.into_iter();
    let mut own = stuck.filter(|one| one.agent_id == agent.as_str() && one.problem.code != BUDGET_EXCEEDED);
    Ok(own.next().map(|one| one.problem))
}

/// The failure of a run whose agent is stuck. The message of a temporary agent is cancelled, because
/// its agent is used for nothing else.
pub(super) async fn end(backend: &Backend, watched: &WatchedRun, problem: Problem) -> Failure {
    let (run, Problem { code, message, hint }) = (watched.run, problem);
    let cancel = CancelRun { run_key: Text(run) };
    if watched.is_temporary && backend.call(cancel).await.is_ok() {
        return Failure::new(code, format!("{message}; run {run} was cancelled"), hint);
    }
    let hint = format!("{hint}; the daemon then continues, or cancel it with `wakeful runs cancel {run}`");
    Failure::new(code, format!("run {run} cannot continue: {message}"), hint)
}
