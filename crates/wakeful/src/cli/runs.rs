//! `wakeful runs`: what ran, how it ended, and ending one.

mod abandon;
mod cancel;

use clap::{Subcommand, ValueEnum};
use wakeful_api::{GetAgentState, GetRun, Limit, ListAgents, ListRuns, ResumeRun, Run, RunState, Text};
use wakeful_core::id::AgentId;

use super::GlobalArgs;
use crate::backend::{Backend, read, write_existing};
use crate::failure::Failure;
use crate::show::{Out, QueuedView};

/// Runs shown unless asked otherwise.
const LIST_DEFAULT: u32 = 20;

#[derive(Debug, Subcommand)]
pub(crate) enum RunsVerb {
    /// List runs, newest first
    List {
        /// Only this agent's runs
        #[arg(long, value_name = "ID")]
        agent: Option<String>,
        /// Only runs that have not ended; the same as `--state open`
        #[arg(long, conflicts_with = "state")]
        open: bool,
        /// Only runs that stand like this
        #[arg(long, value_name = "STATE", value_enum, default_value_t = RunStateArg::Any)]
        state: RunStateArg,
        /// Show at most this many
        #[arg(long, value_name = "N", default_value_t = LIST_DEFAULT, value_parser = clap::value_parser!(u32).range(1..=500))]
        limit: u32,
    },
    /// Show a run with every step
    Show {
        /// The run's key, or the first digits of it
        run: String,
    },
    /// Let a run that stands aside go on where it stood
    Resume {
        /// The run's key, or the first digits of it
        run: String,
    },
    /// Give up a run that stands aside; what it finished stays, what it was writing to the journal is taken back
    Abandon {
        /// The run's key, or the first digits of it
        run: String,
    },
    /// End a run: what is under way is stopped, nothing else begins
    Cancel {
        /// The run's key, or the first digits of it
        run: String,
    },
}

/// How runs stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum RunStateArg {
    /// All of them
    Any,
    /// Those that have not ended
    Open,
    /// Those that cannot go on until you say so
    Quarantined,
}

/// Runs the verb.
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
                    "no daemon runs here: `wakeful run --resume` goes on with the run, and so does a daemon",
                );
            }
        }
        RunsVerb::Abandon { run } => abandon::abandon(run, shared, out).await?,
        RunsVerb::Cancel { run } => cancel::cancel(run, shared, out).await?,
    }
    Ok(0)
}

/// What has not begun: message by message of one agent, and of all agents only how many.
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

/// Shows a run with every step. One whose state cannot be read is shown as far as its rows go.
fn show(run: &Run, out: &Out) {
    if let Some(code) = &run.unreadable {
        out.note(&format!(
            "only the rows of this run can be shown: its state cannot be read ({code})"
        ));
    }
    out.run_in_full(run);
}
