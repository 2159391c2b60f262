//! Words for the state of a run and its actions: what it waits for, how an action ended, what to do next.

use wakeful_api::{Run, RunExplanation};
use wakeful_core::attention::NextStep;
use wakeful_core::run::WaitingFor;
use wakeful_core::step::StepStatus;

use super::phrase::short;

/// What an open run waits for, after its status.
pub(super) fn waiting(run: &Run) -> String {
    let waiting = run.waiting_for.map(|waiting| match waiting {
        WaitingFor::Budget => "waiting for budget",
        WaitingFor::SubRuns => "waiting for its sub-runs",
        WaitingFor::Approval | WaitingFor::Time | WaitingFor::Turn | WaitingFor::Brake | WaitingFor::Rate => {
            waits_for(waiting).unwrap_or_default()
        }
    });
    waiting.map_or_else(String::new, |waiting| format!(", {waiting}"))
}

/// What a person can do about a run, as commands.
pub(super) fn next_steps(run: &Run) -> Option<String> {
    next_steps_of(&run.run_key, &run.agent_id, run.explanation.as_ref()?)
}

/// What a person can do about a run of an agent with this explanation.
pub(super) fn next_steps_of(key: &str, agent: &str, explanation: &RunExplanation) -> Option<String> {
    let key = short(key);
    let steps = explanation.next_steps.iter();
    let steps: Vec<String> = steps
        .map(|step| match step {
            NextStep::Retry => format!("`wakeful runs retry {key}` runs it again"),
            NextStep::ChangeModel => format!("`wakeful runs retry {key} --model REF` uses another model"),
            NextStep::CheckProvider => "`wakeful models doctor` checks the provider".to_owned(),
            NextStep::NewConversation => format!(
                "`wakeful chat {agent} --new` starts a new conversation, because this one is too long"
            ),
            NextStep::RaiseCap => "`wakeful budget set USD` raises the cap".to_owned(),
            NextStep::Resume => format!("`wakeful runs resume {key}` resumes it"),
            NextStep::Abandon => format!("`wakeful runs abandon {key}` abandons it"),
        })
        .collect();
    (!steps.is_empty()).then(|| steps.join("; "))
}

/// The result of an action: a command that ran and reported an error is not `ok`.
pub(crate) fn result(status: StepStatus, exit_status: Option<i32>) -> String {
    match (status, exit_status) {
        (StepStatus::Ok, Some(exit)) if exit != 0 => format!("exit {exit}"),
        (status, _) => status.to_string().replace('_', " "),
    }
}

/// What a run waits for, unless the list shows it in another way.
pub(super) const fn waits_for(waiting: WaitingFor) -> Option<&'static str> {
    match waiting {
        WaitingFor::Approval => Some("waiting for your approval"),
        WaitingFor::Time => Some("waiting for its next attempt"),
        WaitingFor::Turn => Some("waiting for another run of the agent"),
        WaitingFor::Brake => Some("held by a brake"),
        WaitingFor::Rate => Some("waiting because a tool was called too often within a minute"),
        WaitingFor::Budget | WaitingFor::SubRuns => None,
    }
}
