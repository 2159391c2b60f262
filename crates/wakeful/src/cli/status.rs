//! `wakeful status`: how everything stands, on one screen.

use clap::Args;
use serde_json::json;
use wakeful_api::{Activity, RuntimeStatus};

use super::Shared;
use crate::failure::Failure;
use crate::front::{Front, Runs, asking};
use crate::show::Out;

/// Runs that are shown.
const RUNS_SHOWN: u32 = 5;

#[derive(Debug, Args)]
pub(crate) struct StatusArgs {}

/// Runs the verb.
pub(crate) async fn status(_args: &StatusArgs, shared: &Shared, out: &Out) -> Result<u8, Failure> {
    let seen = asking(shared, async |front| {
        let daemon: Option<RuntimeStatus> = match front {
            Front::Daemon(client) => Some(client.get("/api/runtime/status").await?),
            Front::Here(_) => None,
        };
        let runs = Runs {
            limit: RUNS_SHOWN,
            ..Runs::default()
        };
        Ok((daemon, front.agents(false).await?, front.runs(runs).await?))
    });
    let (daemon, agents, runs) = seen.await?;
    let at_work = agents
        .iter()
        .filter(|agent| agent.activity == Activity::Working)
        .count();
    let head = match &daemon {
        Some(status) => format!("daemon   http://{} (process {})", status.http_addr, status.pid),
        None => "daemon   not running: `wakeful daemon start` starts it".to_owned(),
    };
    let mut lines = vec![
        head,
        format!("agents   {} listed, {at_work} at work", agents.len()),
    ];
    let stuck = daemon.iter().flat_map(|status| &status.stuck);
    lines.extend(
        stuck.map(|stuck| format!("stuck    {}: {} — {}", stuck.agent_id, stuck.message, stuck.hint)),
    );
    let answer = json!({"daemon": daemon, "agents": agents, "runs": runs.runs});
    let words = format!(
        "{}\n\n{}\n\n{}",
        lines.join("\n"),
        out.agents_text(&agents),
        out.runs_text(&runs)
    );
    out.answer(&answer, &words);
    Ok(0)
}
