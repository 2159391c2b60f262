//! `wakeful runs`: lists, shows, resumes, abandons and cancels runs.

mod abandon;
mod cancel;

use clap::{Subcommand, ValueEnum};
use wakeful_api::{GetAgentState, GetRun, Limit, ListAgents, ListRuns, ResumeRun, Run, RunState, Text};
use wakeful_core::id::AgentId;

use super::GlobalArgs;
use crate::backend::{Backend, read, write_existing};
use crate::failure::Failure;
use crate::show::{Out, QueuedView};

/// Runs shown by default.
const LIST_DEFAULT: u32 = 20;

#[derive(Debug, Subcommand)]
pub(crate) enum RunsVerb {
    /// List runs, newest first
    List {
        /// Show only runs of this agent
        #[arg(long, value_name = "ID")]
        agent: Option<String>,
        /// Show only runs that have not ended; same as `--state open`
        #[arg(long, conflicts_with = "state")]
        open: bool,
        /// Show only runs in this state
        #[arg(long, value_name = "STATE", value_enum, default_value_t = RunStateArg::Any)]
        state: RunStateArg,
        /// Maximum number of runs to show
        #[arg(long, value_name = "N", default_value_t = LIST_DEFAULT, value_parser = clap::value_parser!(u32).range(1..=500))]
        limit: u32,
    },
    /// Show a run with all its steps
    Show {
        /// Run key or a unique prefix of it
        run: String,
    },
    /// Resume a quarantined run
    Resume {
        /// Run key or a unique prefix of it
        run: String,
    },
    /// Abandon a quarantined run; completed actions remain, and unfinished writes to the journal are undone
    Abandon {
        /// Run key or a unique prefix of it
        run: String,
    },
    /// Cancel a run; current work is stopped, and nothing else starts
    Cancel {
        /// Run key or a unique prefix of it
        run: String,
    },
}

/// Filter by the state of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum RunStateArg {
    /// All runs
    Any,
    /// Runs that have not ended
    Open,
    /// Runs that wait until you resume or abandon them
    Quarantined,
}

pub(crate) async fn runs(verb: &RunsVerb, shared: &GlobalArgs, out: &Out) -> Result<u8, Failure> {
    match verb {
        RunsVerb::List {
            agent,
            open,
            state,
            limit,
        } => {
            let state = match (open, state) {
                (true, _) | (_, RunStateArg::Open) => RunState::Open,
                (false, RunStateArg::Quarantined) => RunState::Quarantined,
                (false, RunStateArg::Any) => RunState::Any,
            };
            let agent = agent.as_deref().map(AgentId::parse).transpose()?;
            let wanted = ListRuns {
                agent_id: agent.clone().map(Text),
                state,
                limit: Limit(*limit),
                ..ListRuns::default()
            };
            let listed = read(shared, async |backend| {
                let waits = waits(backend, agent).await?;
                Ok((backend.call(wanted).await?, waits))
            });
            let (list, waits) = listed.await?;
            out.runs(&list, state, &waits);
        }
        RunsVerb::Show { run } => {
            let found = read(shared, async |backend| {
                let run_key = Text(backend.find_run(run).await?);
                backend.call(GetRun { run_key }).await
            })
            .await?;
            show(&found, out);
        }
        RunsVerb::Resume { run } => {
            let told = write_existing(shared, out, async |backend| {
                let run_key = Text(backend.find_run(run).await?);
                let run = backend.call(ResumeRun { run_key }).await?;
                Ok((run, !backend.is_daemon()))
            });
            let (run, alone) = told.await?;
            show(&run, out);
            if alone {
                out.note(
                    "no daemon is running here; continue the run with `wakeful run --resume` or `wakeful daemon start`",
                );
            }
        }
        RunsVerb::Abandon { run } => abandon::abandon(run, shared, out).await?,
        RunsVerb::Cancel { run } => cancel::cancel(run, shared, out).await?,
    }
    Ok(0)
}

/// Queued messages: listed for one agent, only counted for all agents.
async fn waits(backend: &Backend, agent: Option<AgentId>) -> Result<QueuedView, Failure> {
    let Some(agent) = agent else {
        let list = backend
            .call(ListAgents {
                include_private: false,
            })
            .await?;
        let counts = list
            .agents
            .into_iter()
            .map(|agent| (agent.agent_id, agent.pending));
        return Ok(QueuedView::Counts(
            counts.filter(|(_, pending)| *pending > 0).collect(),
        ));
    };
    let agent_id = Text(agent.clone());
    let state = backend.call(GetAgentState { agent_id }).await?;
    Ok(QueuedView::Queue(agent, state.queue))
}

/// Shows a run with all its steps. If its state cannot be read, only its rows are shown.
fn show(run: &Run, out: &Out) {
    if let Some(code) = &run.unreadable {
        out.note(&format!(
            "the state of this run cannot be read ({code}), so only its rows are shown"
        ));
    }
    out.run_in_full(run);
}
