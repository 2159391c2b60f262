//! What a person has to look at: failures in plain words with what to do next, and equal failures as one
//! entry.

use std::collections::BTreeMap;

use crate::attempt::AttemptRecord;
use crate::budget::{BudgetExceeded, MicroUsd};
use crate::failure::{CONTEXT_LENGTH_EXCEEDED, FailureArtifact, FailureCategory};
use crate::id::AgentId;
use crate::key::RunKey;
use crate::run::{ANSWER_NOT_VALID, BUDGET_EXCEEDED, RunMachine, RunOutcome, RunPhase, RunStatus};
use crate::time::Millis;

/// Maximum number of runs that one entry lists. The list of runs has the rest.
pub const GROUP_RUNS_MAX: usize = 20;

string_enum! {
    /// What a person can do about a run that did not succeed.
    pub enum NextStep {
        /// Run it again.
        Retry = "retry",
        /// Choose another model.
        ChangeModel = "change_model",
        /// Check the provider's API key and account.
        CheckProvider = "check_provider",
        /// Start a new conversation, because this one is too long.
        NewConversation = "new_conversation",
        /// Raise the daily cap.
        RaiseCap = "raise_cap",
        /// Resume the quarantined run.
        Resume = "resume",
        /// Abandon the quarantined run.
        Abandon = "abandon",
    }
}

/// Why a run did not succeed, in plain words, and what a person can do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunExplanation {
    /// A stable code: the kind of the failure, or the status of the run.
    pub code: String,
    /// One or two sentences.
    pub message: String,
    /// The most useful step first.
    pub next_steps: Vec<NextStep>,
}

impl RunExplanation {
    fn new(code: &str, message: impl Into<String>, next_steps: &[NextStep]) -> Self {
        Self {
            code: code.to_owned(),
            message: message.into(),
            next_steps: next_steps.to_vec(),
        }
    }

    /// A request that is larger than the cap does not fit on another day either.
    fn over_budget(exceeded: &BudgetExceeded) -> Self {
        let message = match exceeded.limit {
            None => {
                let end = if exceeded.fits_later() {
                    ", or tomorrow (UTC)"
                } else {
                    ""
                };
                format!(
                    "The next request may cost {} USD, which the daily cap of {} USD does not cover. The run \
                     continues when the cap is raised{end}.",
                    MicroUsd(exceeded.needed),
                    MicroUsd(exceeded.max)
                )
            }
            Some(_) => {
                let end = match exceeded.until {
                    Some(until) if exceeded.fits_later() => format!(", or at {}", until.rfc3339()),
                    Some(_) | None => String::new(),
                };
                format!(
                    "{}. The run continues when a person raises the limit{end}: {}.",
                    capitalized(&exceeded.words()),
                    exceeded.command()
                )
            }
        };
        Self::new(BUDGET_EXCEEDED, message, &[NextStep::RaiseCap])
    }

    /// Explains a run from its status and its state; none if there is nothing to explain.
    #[must_use]
    pub fn of_run(status: RunStatus, machine: Option<&RunMachine>) -> Option<Self> {
        let failure = match machine.map(|machine| &machine.phase) {
            Some(RunPhase::Parked { exceeded, .. }) if status == RunStatus::Open => {
                return Some(Self::over_budget(exceeded));
            }
            Some(RunPhase::Acting {
                exceeded: Some(exceeded),
                ..
            }) if status == RunStatus::Open => return Some(Self::over_budget(exceeded)),
            Some(RunPhase::Ended {
                outcome: RunOutcome::Failed(failure),
                ..
            }) => Some(failure),
            Some(
                RunPhase::Modelling { .. }
                | RunPhase::Acting { .. }
                | RunPhase::Parked { .. }
                | RunPhase::Ended { .. },
            )
            | None => None,
        };
        Self::of(status, failure)
    }

    /// Explains one failed attempt at a model request; none if it succeeded.
    #[must_use]
    pub fn of_attempt(attempt: &AttemptRecord) -> Option<Self> {
        let kind = attempt.failure_kind.as_deref()?;
        let diagnostics = attempt.transport_diagnostics.as_ref();
        let said = diagnostics.and_then(|found| found.source_chain.last());
        let status = diagnostics.and_then(|found| found.status);
        let of_kind = || kind.strip_prefix("http_")?.parse().ok();
        let failure = FailureArtifact {
            provider: Some(attempt.provider.clone()),
            model_ref: Some(attempt.model_ref.clone()),
            status: status.or_else(of_kind),
            ..FailureArtifact::new(FailureCategory::Unknown, kind, said.map_or("", String::as_str))
        };
        let mut explained = explain(&failure);
        if said.is_none() {
            // The failure of the run has what the provider said.
            let cause = explained.message.strip_suffix(NO_DETAILS);
            explained.message = match cause.map(|cause| cause.trim_end().trim_end_matches(':')) {
                Some(cause) => format!("{cause}."),
                None if explained.message == capitalized(NO_DETAILS) => {
                    format!("The request failed ({kind}).")
                }
                None => explained.message,
            };
        }
        Some(explained)
    }

    /// Explains the status of a run; none if there is nothing to explain.
    #[must_use]
    pub fn of(status: RunStatus, failure: Option<&FailureArtifact>) -> Option<Self> {
        let code = status.as_str();
        Some(match status {
            RunStatus::Failed => match failure {
                Some(failure) => explain(failure),
                None => Self::new(
                    code,
                    "The run failed. The details were removed.",
                    &[NextStep::Retry],
                ),
            },
            RunStatus::OutOfRounds => Self::new(
                code,
                "The run used all its rounds before the work was done.",
                &[NextStep::Retry, NextStep::ChangeModel],
            ),
            RunStatus::Cancelled => Self::new(code, "The run was cancelled.", &[NextStep::Retry]),
            RunStatus::Abandoned => Self::new(code, "The run was abandoned.", &[NextStep::Retry]),
            RunStatus::Quarantined => Self::new(
                code,
                "The run cannot continue by itself. Resume it, or abandon it.",
                &[NextStep::Resume, NextStep::Abandon],
            ),
            RunStatus::Queued | RunStatus::Open | RunStatus::Completed => return None,
            RunStatus::Absorbed | RunStatus::Replaced | RunStatus::Refused | RunStatus::Gone => return None,
        })
    }
}

/// Explains a failure: by its kind where one is known, then by the provider's status, then by its stage.
fn explain(failure: &FailureArtifact) -> RunExplanation {
    use NextStep::{ChangeModel, CheckProvider, NewConversation, Retry};
    let named = |what: &str, name: Option<&str>| match name {
        Some(name) => format!("the {what} {name}"),
        None => format!("the {what}"),
    };
    let name = failure.provider.as_deref();
    let provider = named("provider", name);
    let model = named("model", failure.model_ref.as_deref());
    let said = sentence(&failure.summary, name);
    let (message, steps): (String, &[NextStep]) = match (failure.kind.as_str(), failure.status) {
        ("timeout", _) => (format!("{model} did not answer in time."), &[Retry, ChangeModel]),
        ("connection_failed", _) => (
            format!("Wakeful could not connect to {provider}."),
            &[Retry, CheckProvider, ChangeModel],
        ),
        ("connection_lost" | "truncated_stream", _) => (
            format!("The connection to {provider} broke during the reply."),
            &[Retry, ChangeModel],
        ),
        (CONTEXT_LENGTH_EXCEEDED, _) => (
            format!("The conversation is longer than {model} can read."),
            &[NewConversation, ChangeModel],
        ),
        ("output_limit", _) => (
            format!("The reply of {model} exceeded its output limit."),
            &[Retry, ChangeModel],
        ),
        ("reply_withheld", _) => (format!("{provider} withheld the reply."), &[ChangeModel, Retry]),
        (ANSWER_NOT_VALID, _) => (said, &[Retry, ChangeModel]),
        ("script_exhausted", _) => (
            "The scripted model has no reply for this request.".to_owned(),
            &[ChangeModel],
        ),
        ("invalid_response" | "redirect_refused", _) => (
            format!("{provider} sent a reply that Wakeful cannot use: {said}"),
            &[Retry, ChangeModel],
        ),
        (_, Some(401 | 403)) => (
            format!("{provider} refused the API key: {said}"),
            &[CheckProvider, ChangeModel, Retry],
        ),
        (_, Some(402)) => (
            format!("{provider} asks for payment: {said}"),
            &[CheckProvider, ChangeModel],
        ),
        (_, Some(404)) => (
            format!("{provider} does not have {model}."),
            &[ChangeModel, CheckProvider],
        ),
        (_, Some(429)) => (
            format!("{provider} accepts no more requests for now: {said}"),
            &[Retry, ChangeModel],
        ),
        (_, Some(500..=599)) => (
            format!("{provider} reported an internal error: {said}"),
            &[Retry, ChangeModel],
        ),
        (kind, None) if kind.starts_with("secret") || kind.ends_with("_key_missing") => {
            (said, &[CheckProvider, ChangeModel])
        }
        (_, _) => match failure.category {
            FailureCategory::Transport | FailureCategory::Protocol => (said, &[Retry, ChangeModel]),
            FailureCategory::Runtime | FailureCategory::Task | FailureCategory::Unknown => (said, &[Retry]),
        },
    };
    RunExplanation::new(&failure.kind, sentence(&message, name), steps)
}

/// Stands for a cause without a description.
const NO_DETAILS: &str = "no details are known.";

/// Returns a text with a full stop at its end and a capital at its beginning, unless it begins with the name
/// of the provider.
fn sentence(text: &str, provider: Option<&str>) -> String {
    let text = text.trim();
    let begun = match provider {
        Some(name) if text.starts_with(name) => text.to_owned(),
        Some(_) | None => capitalized(text),
    };
    match text.chars().last() {
        None => NO_DETAILS.to_owned(),
        Some('.' | '!' | '?' | '…') => begun,
        Some(_) => format!("{begun}."),
    }
}

fn capitalized(text: &str) -> String {
    let mut chars = text.chars();
    chars
        .next()
        .map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

/// One run that did not succeed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailedRun {
    pub run_key: RunKey,
    pub agent_id: AgentId,
    pub explanation: RunExplanation,
    pub ended_at: Millis,
    /// The beginning of its message, unless it was erased.
    pub preview: Option<String>,
}

/// Equal failures of one agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailureGroup {
    pub agent_id: AgentId,
    pub explanation: RunExplanation,
    pub count: u64,
    /// The newest runs, newest first, at most [`GROUP_RUNS_MAX`].
    pub run_keys: Vec<RunKey>,
    pub first_at: Millis,
    pub last_at: Millis,
    /// The beginning of the newest run's message.
    pub preview: Option<String>,
}

/// Joins runs of one agent that failed for the same reason. The group with the newest failure comes first.
#[must_use]
pub fn group_failures(mut runs: Vec<FailedRun>) -> Vec<FailureGroup> {
    runs.sort_by_key(|run| (std::cmp::Reverse(run.ended_at), run.run_key));
    let mut groups: BTreeMap<(AgentId, String, String), FailureGroup> = BTreeMap::new();
    for run in runs {
        let key = (
            run.agent_id.clone(),
            run.explanation.code.clone(),
            run.explanation.message.clone(),
        );
        // The newest run comes first, so it determines the preview and the end of the span.
        let group = groups.entry(key).or_insert_with(|| FailureGroup {
            agent_id: run.agent_id,
            explanation: run.explanation,
            count: 0,
            run_keys: Vec::new(),
            first_at: run.ended_at,
            last_at: run.ended_at,
            preview: run.preview,
        });
        group.count = group.count.saturating_add(1);
        group.first_at = run.ended_at;
        if group.run_keys.len() < GROUP_RUNS_MAX {
            group.run_keys.push(run.run_key);
        }
    }
    let mut groups: Vec<FailureGroup> = groups.into_values().collect();
    groups.sort_by_key(|group| std::cmp::Reverse(group.last_at));
    groups
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::budget::{BudgetScope, MicroUsd, SpendTotal, UtcDay};
    use crate::key::Digest;
    use proptest::prelude::*;

    fn failed(kind: &str, status: Option<u16>) -> RunExplanation {
        let failure = FailureArtifact {
            provider: Some("openrouter".into()),
            model_ref: Some("openrouter/m".into()),
            status,
            ..FailureArtifact::new(FailureCategory::Transport, kind, "no such key")
        };
        RunExplanation::of(RunStatus::Failed, Some(&failure)).expect("explained")
    }

    #[test]
    fn a_failure_says_the_cause_and_the_next_step() {
        let shown = [
            ("timeout", None),
            ("provider_error", Some(401)),
            ("provider_error", Some(404)),
            ("provider_error", Some(503)),
            (CONTEXT_LENGTH_EXCEEDED, Some(400)),
            ("odd", None),
        ]
        .map(|(kind, status)| {
            let told = failed(kind, status);
            let steps: Vec<&str> = told.next_steps.iter().map(|step| step.as_str()).collect();
            format!("{} [{}]", told.message, steps.join(" "))
        });
        assert_eq!(
            shown,
            [
                "The model openrouter/m did not answer in time. [retry change_model]",
                "The provider openrouter refused the API key: No such key. [check_provider change_model retry]",
                "The provider openrouter does not have the model openrouter/m. [change_model check_provider]",
                "The provider openrouter reported an internal error: No such key. [retry change_model]",
                "The conversation is longer than the model openrouter/m can read. [new_conversation change_model]",
                "No such key. [retry change_model]",
            ]
        );
    }

    #[test]
    fn the_name_of_a_provider_keeps_its_case() {
        let failure = FailureArtifact {
            provider: Some("openai".into()),
            ..FailureArtifact::new(
                FailureCategory::Transport,
                "secret_unavailable",
                "openai requires a key",
            )
        };
        let told = RunExplanation::of(RunStatus::Failed, Some(&failure)).expect("explained");
        assert_eq!(told.message, "openai requires a key.");
    }

    #[test]
    fn a_request_larger_than_the_cap_is_not_promised_for_tomorrow() {
        let told = |spent: u64, needed: u64| {
            let spent = SpendTotal {
                settled: MicroUsd(spent),
                reserved: MicroUsd(0),
            };
            let (cap, needed) = (MicroUsd(5_000_000), MicroUsd(needed));
            let exceeded = BudgetExceeded::of_cap(BudgetScope::All, cap, spent, needed).on(UtcDay(0));
            RunExplanation::over_budget(&exceeded).message
        };
        assert!(told(5_000_000, 5_000_000).ends_with("when the cap is raised, or tomorrow (UTC)."));
        assert!(told(0, 5_000_001).ends_with("when the cap is raised."));
    }

    #[test]
    fn a_failed_attempt_is_explained_as_the_failure_of_its_run() {
        let attempt = |kind: Option<&str>| {
            let record = serde_json::json!({
                "provider": "openrouter", "model_ref": "openrouter/m", "attempt": 1, "max_attempts": 3,
                "duration_ms": 5, "failure_kind": kind, "outcome": "fail_fast_aborted",
            });
            let record: AttemptRecord = serde_json::from_value(record).expect("a record");
            RunExplanation::of_attempt(&record).map(|explained| explained.message)
        };
        let shown = ["http_401", "timeout", "odd"].map(|kind| attempt(Some(kind)).expect("explained"));
        assert_eq!(
            shown,
            [
                "The provider openrouter refused the API key.",
                "The model openrouter/m did not answer in time.",
                "The request failed (odd).",
            ]
        );
        assert_eq!(attempt(None), None);
    }

    #[test]
    fn every_status_without_success_has_a_next_step() {
        for status in RunStatus::ALL {
            let told = RunExplanation::of(status, None);
            let expected = matches!(
                status,
                RunStatus::Failed
                    | RunStatus::OutOfRounds
                    | RunStatus::Cancelled
                    | RunStatus::Abandoned
                    | RunStatus::Quarantined
            );
            assert_eq!(
                told.is_some_and(|told| !told.next_steps.is_empty()),
                expected,
                "{status}"
            );
        }
    }

    fn run(number: usize, agent: &str, kind: &str) -> FailedRun {
        FailedRun {
            run_key: RunKey(Digest::of(&number.to_be_bytes())),
            agent_id: AgentId::parse(agent).expect("a name"),
            explanation: failed(kind, None),
            ended_at: Millis(i64::try_from(number).expect("small")),
            preview: Some(format!("message {number}")),
        }
    }

    #[test]
    fn four_equal_failures_are_one_entry_with_a_count() {
        let runs = (1..=4).map(|n| run(n, "main", "timeout"));
        let groups = group_failures(runs.collect());
        assert_eq!(groups.len(), 1, "{groups:?}");
        assert_eq!(
            (groups[0].count, groups[0].first_at, groups[0].last_at),
            (4, Millis(1), Millis(4))
        );
        assert_eq!(groups[0].preview.as_deref(), Some("message 4"));
    }

    proptest! {
        #[test]
        fn grouping_keeps_every_run_and_never_mixes_agents_or_causes(
            of in prop::collection::vec((0..2_usize, 0..3_usize), 0..60),
        ) {
            let (agents, kinds) = (["a", "b"], ["timeout", "connection_failed", "odd"]);
            let runs: Vec<FailedRun> = of.iter().enumerate()
                .map(|(number, (agent, kind))| run(number, agents[*agent], kinds[*kind])).collect();
            let groups = group_failures(runs.clone());
            prop_assert_eq!(groups.iter().map(|group| group.count).sum::<u64>(), runs.len() as u64);
            prop_assert!(groups.is_sorted_by_key(|group| std::cmp::Reverse(group.last_at)));
            for group in groups {
                prop_assert!(group.run_keys.len() <= GROUP_RUNS_MAX);
                for key in &group.run_keys {
                    let run = runs.iter().find(|run| run.run_key == *key).expect("a run");
                    prop_assert_eq!((&run.agent_id, &run.explanation), (&group.agent_id, &group.explanation));
                }
            }
        }
    }
}
