//! `wakeful runs`: lists, shows, retries, resumes, abandons and cancels runs.

mod abandon;
mod cancel;
mod change;
mod retry;

use std::collections::BTreeMap;

use clap::builder::PossibleValuesParser;
use clap::{Args, Subcommand};
use wakeful_api::{
    GetAgentState, GetRun, GetRunStep, Limit, ListAgents, ListRuns, ResumeRun, Run, RunList, StatusFilter,
    Statuses, StepText, Text,
};
use wakeful_core::id::AgentId;
use wakeful_core::key::{Digest, OperationId};
use wakeful_core::message::MessageKind;
use wakeful_core::time::Millis;
use wakeful_ports::clock::Clock as _;

use super::GlobalArgs;
use super::why::past;
use crate::backend::{Backend, read, write_existing};
use crate::failure::Failure;
use crate::show::{Detail, Out, QueuedView, RunSelection};
use crate::system::RealClock;

/// Runs shown by default.
const LIST_DEFAULT: u32 = 20;

#[derive(Debug, Subcommand)]
pub(crate) enum RunsVerb {
    /// List runs, newest first
    List {
        /// Show only runs of this agent
        #[arg(long, value_name = "ID")]
        agent: Option<String>,
        #[command(flatten)]
        filter: RunFilterArgs,
        /// Maximum number of runs to show
        #[arg(long, value_name = "N", default_value_t = LIST_DEFAULT, value_parser = clap::value_parser!(u32).range(1..=500))]
        limit: u32,
    },
    /// Show a run: its prompt, each step with its command and output, and the answer
    Show {
        /// Run key, or the id of one of its decisions or steps; a unique prefix is enough
        run: String,
        /// Show all output, not only the last 40 lines of each step
        #[arg(long)]
        full: bool,
    },
    /// Run an ended run again: same agent, conversation, text and options, linked to the first run
    Retry {
        /// Run key or a unique prefix of it
        run: String,
        /// Another text; attachments and options are kept
        #[arg(long, value_name = "TEXT", conflicts_with = "from")]
        text: Option<String>,
        /// Begin with the conversation before this step, in a conversation of its own, and ask the model again;
        /// nothing that happened before is repeated. Number of the step in `wakeful runs show`, or a unique
        /// prefix of its id
        #[arg(long, value_name = "STEP")]
        from: Option<String>,
        /// Message to add after that conversation
        #[arg(long, value_name = "TEXT", requires = "from")]
        message: Option<String>,
        /// Another model
        #[arg(long, value_name = "REF")]
        model: Option<String>,
    },
    /// Show what a run changed in its workspace
    Diff(change::DiffArgs),
    /// Restore the files of an ended run to their state before it; files changed since are skipped
    Undo(change::UndoArgs),
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

/// Which runs to list.
#[derive(Debug, Args)]
pub(crate) struct RunFilterArgs {
    /// Show only runs that have not ended; same as `--status open`
    #[arg(long, conflicts_with = "status")]
    open: bool,
    /// Show only runs with one of these statuses, separated by commas
    #[arg(long, value_name = "STATUS", value_delimiter = ',', value_parser = PossibleValuesParser::new(status_words()))]
    status: Vec<String>,
    /// Show only runs started by this kind of message
    #[arg(long, value_name = "KIND", value_parser = PossibleValuesParser::new(MessageKind::WORDS))]
    cause: Option<String>,
    /// Show only runs that started at this time or later: an RFC 3339 time, or a duration such as 1h before now
    #[arg(long, value_name = "TIME|DURATION")]
    since: Option<String>,
    /// Show only runs that started at this time or earlier: an RFC 3339 time, or a duration before now
    #[arg(long, value_name = "TIME|DURATION")]
    until: Option<String>,
    /// Show only runs whose message contains this text, or whose key begins with it
    #[arg(long, value_name = "TEXT")]
    search: Option<String>,
}

/// The status of a message in the queue, which is listed with the runs.
const QUEUED: &str = "queued";

fn status_words() -> Vec<&'static str> {
    std::iter::once(QUEUED).chain(StatusFilter::WORDS).collect()
}

impl RunFilterArgs {
    fn is_only_queued(&self) -> bool {
        !self.status.is_empty() && self.status.iter().all(|word| word == QUEUED)
    }

    /// Whether queued messages are listed: always without a choice of statuses.
    fn wants_queued(&self) -> bool {
        self.status.is_empty() || self.status.iter().any(|word| word == QUEUED)
    }

    fn query(&self) -> Result<ListRuns, Failure> {
        let mut statuses: Vec<StatusFilter> = self
            .status
            .iter()
            .filter_map(|word| StatusFilter::parse(word))
            .collect();
        if self.is_only_queued() {
            // Queued messages have no run yet, so no run matches.
            return Ok(ListRuns {
                until: Some(Text(Millis(0))),
                ..ListRuns::default()
            });
        }
        if self.open {
            statuses.push(StatusFilter::Open);
        }
        Ok(ListRuns {
            status: (!statuses.is_empty()).then_some(Text(Statuses(statuses))),
            cause: self.cause.as_deref().and_then(MessageKind::parse),
            since: time("--since", self.since.as_deref())?,
            until: time("--until", self.until.as_deref())?,
            search: self.search.clone().filter(|text| !text.is_empty()),
            ..ListRuns::default()
        })
    }
}

pub(super) fn time(option: &str, given: Option<&str>) -> Result<Option<Text<Millis>>, Failure> {
    let Some(given) = given else { return Ok(None) };
    let time = past(given, RealClock::new().now()).map_err(|failure| failure.about(option))?;
    Ok(Some(Text(time)))
}

pub(crate) async fn runs(verb: &RunsVerb, shared: &GlobalArgs, out: &Out) -> Result<u8, Failure> {
    match verb {
        RunsVerb::List { agent, filter, limit } => {
            let agent = agent.as_deref().map(AgentId::parse).transpose()?;
            let wanted = ListRuns {
                agent_id: agent.clone().map(Text),
                limit: Limit(*limit),
                ..filter.query()?
            };
            let is_filtered = wanted
                != ListRuns {
                    agent_id: wanted.agent_id.clone(),
                    limit: wanted.limit,
                    ..ListRuns::default()
                };
            let listed = read(shared, async |backend| {
                let waits = match filter.wants_queued() {
                    true => waits(backend, agent).await?,
                    false => QueuedView::Counts(BTreeMap::new()),
                };
                Ok((backend.call(wanted).await?, waits))
            });
            let (mut list, waits) = listed.await?;
            let waits = within(&mut list, waits, usize::try_from(*limit).unwrap_or(usize::MAX));
            let selection = if is_filtered {
                RunSelection::Filtered
            } else {
                RunSelection::All
            };
            out.runs(&list, selection, &waits);
        }
        RunsVerb::Retry {
            run,
            text,
            from,
            message,
            model,
        } => {
            let changes = retry::RetryChanges {
                text: text.clone(),
                from: from.clone(),
                message: message.clone(),
                model: model.clone(),
            };
            retry::retry(run, changes, shared, out).await?;
        }
        RunsVerb::Show { run, full } => {
            let detail = match full {
                true => Detail::Full,
                false => Detail::Short,
            };
            let found = read(shared, async |backend| load(backend, run, detail).await).await?;
            show_in(detail, &found, out);
        }
        RunsVerb::Resume { run } => resume(run, shared, out).await?,
        RunsVerb::Diff(wanted) => change::diff(wanted, shared, out).await?,
        RunsVerb::Undo(wanted) => change::undo(wanted, shared, out).await?,
        RunsVerb::Abandon { run } => abandon::abandon(run, shared, out).await?,
        RunsVerb::Cancel { run } => cancel::cancel(run, shared, out).await?,
    }
    Ok(0)
}

async fn resume(run: &str, shared: &GlobalArgs, out: &Out) -> Result<(), Failure> {
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
    Ok(())
}

/// Limits queued messages and runs together, newest first: queued messages come before the runs.
fn within(list: &mut RunList, waits: QueuedView, limit: usize) -> QueuedView {
    match waits {
        QueuedView::Queue(agent, mut queued) => {
            // A message may have become a run between the two requests.
            queued.retain(|one| list.runs.iter().all(|run| run.run_key != one.run_key));
            queued.drain(..queued.len().saturating_sub(limit));
            list.runs.truncate(limit - queued.len());
            QueuedView::Queue(agent, queued)
        }
        QueuedView::Counts(counts) => QueuedView::Counts(counts),
    }
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

/// Reads a run; in full detail, each truncated step is read on its own.
async fn load(backend: &Backend, run: &str, detail: Detail) -> Result<Run, Failure> {
    let run_key = Text(backend.find_run(run).await?);
    let mut found = backend.call(GetRun { run_key }).await?;
    let is_cut = |text: &Option<StepText>| text.as_ref().is_some_and(|text| text.truncated);
    for step in found.steps.iter_mut().filter(|_| detail == Detail::Full) {
        let operation = Digest::from_hex(&step.operation_id).map(OperationId);
        if let Some(operation) = operation
            && [&step.input, &step.output, &step.error_output]
                .into_iter()
                .any(is_cut)
        {
            let operation_id = Text(operation);
            *step = backend
                .call(GetRunStep {
                    run_key,
                    operation_id,
                })
                .await?;
        }
    }
    Ok(found)
}

/// Shows a run with all its steps.
fn show(run: &Run, out: &Out) {
    show_in(Detail::Short, run, out);
}

/// Shows a run. If its state cannot be read, only its rows are shown.
fn show_in(detail: Detail, run: &Run, out: &Out) {
    if let Some(code) = &run.unreadable {
        out.note(&format!(
            "the state of this run cannot be read ({code}), so only its rows are shown"
        ));
    }
    out.run_in_full(run, detail);
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn queued(count: usize) -> QueuedView {
        let one =
            |seq: usize| json!({"run_key": seq.to_string(), "seq": seq, "admitted_at": "", "preview": ""});
        let queue: Vec<Value> = (0..count).map(one).collect();
        let agent = AgentId::parse("main").expect("a name");
        QueuedView::Queue(agent, serde_json::from_value(json!(queue)).expect("messages"))
    }

    #[test]
    fn a_limit_counts_queued_messages_and_runs_together() {
        for (waiting, runs, limit, shown) in [(3, 3, 4, (3, 1)), (3, 3, 2, (2, 0)), (1, 3, 9, (1, 3))] {
            let run = json!({"run_key": "a", "agent_id": "main", "status": "completed", "transitions": 1, "started_at": ""});
            let list = json!({"runs": vec![run; runs]});
            let mut list: RunList = serde_json::from_value(list).expect("a list");
            let QueuedView::Queue(_, kept) = within(&mut list, queued(waiting), limit) else {
                unreachable!("a queue");
            };
            assert_eq!((kept.len(), list.runs.len()), shown);
            assert_eq!(
                kept.last().map(|one| one.seq),
                Some(waiting as u64 - 1),
                "the newest"
            );
        }
    }

    #[test]
    fn a_message_that_became_a_run_is_listed_once() {
        let run =
            json!({"run_key": "1", "agent_id": "main", "status": "open", "transitions": 1, "started_at": ""});
        let list = json!({"runs": [run]});
        let mut list: RunList = serde_json::from_value(list).expect("a list");
        let QueuedView::Queue(_, kept) = within(&mut list, queued(2), 9) else {
            unreachable!("a queue");
        };
        let keys: Vec<&str> = kept.iter().map(|one| one.run_key.as_str()).collect();
        assert_eq!((keys, list.runs.len()), (vec!["0"], 1));
    }

    #[test]
    fn a_time_of_a_filter_may_be_a_duration() {
        let hour = time("--since", Some("1h"))
            .expect("a duration")
            .expect("a time")
            .0;
        let passed = RealClock::new().now().0 - hour.0;
        assert!((3_600_000..3_660_000).contains(&passed), "{passed}");
        let bad = time("--since", Some("soon")).expect_err("refused");
        assert!(
            bad.code() == "bad_time" && bad.message().starts_with("--since: "),
            "{bad}"
        );
    }
}
