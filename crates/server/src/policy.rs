//! HTTP endpoints for permission policies.

use std::sync::Arc;

use axum::http::StatusCode;
use serde_json::Value;
use wakeful_api::{
    AgentPolicy, ExplainCall, ExplainStep, ForeignTargetExplanation, GetAgentPolicy, PolicyExplanation,
    RecordedVerdict,
};
use wakeful_core::id::AgentId;
use wakeful_core::key::{Digest, RunKey};
use wakeful_core::policy::{
    ActionRules, FOREIGN_TARGET, ForeignTargetPolicy, PolicyEffect, Target, rule_words,
};
use wakeful_core::problem::Problem;
use wakeful_core::provenance::{ForeignTargets, explain_foreign_targets};
use wakeful_core::run::RunMachine;
use wakeful_core::step::TOOL_NAME_CHARS_MAX;
use wakeful_runtime::api::recorded_call::LoggedVerdict;
use wakeful_runtime::rows::StepRow;

use crate::error::ApiError;
use crate::route::{Call, Routes};

/// A call whose verdict is explained.
#[derive(Debug, Clone)]
pub struct ExplainedCall {
    pub agent_id: AgentId,
    /// The folder in which the call would be made.
    pub workspace: String,
    pub rules: ActionRules,
    pub tool: String,
    pub input: Value,
    /// The targets that a recorded call was judged on; none to find out what the call would act on now.
    pub targets: Option<Vec<Target>>,
}

pub(crate) fn routes() -> Routes {
    Routes::default().add(show).add(explain).add(explain_step)
}

async fn show(call: Call, asked: GetAgentPolicy) -> Result<AgentPolicy, ApiError> {
    let (agent, workspace, rules) = rules(&call, asked.agent_id.0, &hypothetical_run()).await?;
    let host = Arc::clone(&call.host);
    blocking(move || host.policies(&agent, &workspace, &rules)).await
}

async fn explain(call: Call, asked: ExplainCall) -> Result<PolicyExplanation, ApiError> {
    if !(1..=TOOL_NAME_CHARS_MAX).contains(&asked.tool.chars().count()) {
        let message = format!("tool: must have 1 to {TOOL_NAME_CHARS_MAX} characters");
        return Err(ApiError::bad("bad_field", message, "give the name of a tool"));
    }
    let run = RunMachine {
        is_read_only: asked.is_read_only,
        ..hypothetical_run()
    };
    let (agent_id, workspace, rules) = rules(&call, asked.agent_id.0, &run).await?;
    let explained = ExplainedCall {
        agent_id,
        workspace,
        rules,
        tool: asked.tool,
        input: asked.input,
        targets: None,
    };
    let host = Arc::clone(&call.host);
    blocking(move || host.explain_call(&explained)).await
}

async fn explain_step(call: Call, asked: ExplainStep) -> Result<PolicyExplanation, ApiError> {
    let (run, operation) = (asked.run_key.0, asked.operation_id.0);
    let runs = &call.runtime()?.runs;
    let conflict = |code, message: String, hint: &str| {
        ApiError::of(StatusCode::CONFLICT, Problem::new(code, message, hint))
    };
    let Some((step, contents)) = runs.step(run, operation).await? else {
        let message = format!("run {run} has no step {operation}");
        let hint = "retrieve the run for the list of its steps";
        return Err(ApiError::new(
            StatusCode::NOT_FOUND,
            "step_unknown",
            message,
            hint,
        ));
    };
    let input = contents.input.filter(|input| !input.is_truncated);
    let input = input.and_then(|input| serde_json::from_str(&input.text).ok());
    let Some(input) = input.filter(|_| step.class.is_some()) else {
        let message = format!("step {operation} is not a call with stored arguments");
        return Err(conflict(
            "not_explainable",
            message,
            "choose a step that called a tool",
        ));
    };
    let stored = runs.get(run).await?;
    let Some(Ok(machine)) = stored.machine else {
        let message = format!("the state of run {run} cannot be read");
        return Err(conflict(
            "not_explainable",
            message,
            "explain the call with --agent and --tool",
        ));
    };
    let sources = machine.sources.clone();
    let recorded = runs.recorded_call(run, operation).await?;
    let decided = recorded.verdict.as_ref().map(|verdict| &verdict.decided);
    let explained = ExplainedCall {
        agent_id: stored.row.agent_id,
        rules: recorded.settings.rules(&machine, &call.host.rule_defaults()),
        workspace: machine.workspace,
        tool: step.name.clone(),
        input,
        targets: decided.map(|decided| decided.targets.clone()),
    };
    let host = Arc::clone(&call.host);
    let handling = explained.rules.foreign_targets;
    let foreign = decided
        .filter(|decided| decided.rule == FOREIGN_TARGET)
        .map(|decided| explain_foreign_targets(&explained.input, &decided.targets, &sources));
    let explanation = blocking(move || host.explain_call(&explained)).await?;
    let explanation = match foreign {
        Some(foreign) => with_foreign_targets(explanation, foreign, handling),
        None => explanation,
    };
    Ok(beside_recorded(explanation, &step, recorded.verdict.as_ref()))
}

/// The explanation with the recorded verdict.
fn beside_recorded(
    explanation: PolicyExplanation,
    step: &StepRow,
    verdict: Option<&LoggedVerdict>,
) -> PolicyExplanation {
    let decided = verdict.map(|verdict| &verdict.decided);
    PolicyExplanation {
        note: verdict.and_then(|verdict| difference(verdict, &explanation)),
        recorded: Some(RecordedVerdict {
            status: step.status,
            rule: step.reason.clone(),
            effect: decided.map(|decided| decided.effect),
            reason: decided.map(|decided| decided.reason.clone()),
            targets: decided.map_or_else(Vec::new, |decided| {
                decided.targets.iter().map(ToString::to_string).collect()
            }),
            policy_version: verdict.map(|verdict| verdict.policy_version.clone()),
        }),
        ..explanation
    }
}

/// The verdict of the policies with what follows from the untrusted data that the run has read: no policy permits
/// a foreign target.
fn with_foreign_targets(
    explained: PolicyExplanation,
    foreign: ForeignTargets,
    handling: Option<ForeignTargetPolicy>,
) -> PolicyExplanation {
    let effect = match handling {
        Some(ForeignTargetPolicy::Ask) => PolicyEffect::Ask,
        Some(ForeignTargetPolicy::Deny) => PolicyEffect::Deny,
        Some(ForeignTargetPolicy::Allow) | None => return explained,
    };
    let ForeignTargets {
        targets,
        sources,
        changes,
    } = foreign;
    let explained = match explained.effect {
        PolicyEffect::Deny => explained,
        PolicyEffect::Permit | PolicyEffect::Ask => PolicyExplanation {
            effect,
            rule: FOREIGN_TARGET.to_owned(),
            reason: rule_words(FOREIGN_TARGET).unwrap_or_default().to_owned(),
            ..explained
        },
    };
    PolicyExplanation {
        foreign_targets: Some(ForeignTargetExplanation {
            targets,
            sources,
            changes,
        }),
        ..explained
    }
}

/// How the verdict on a call differs from the recorded one; none if it does not.
fn difference(recorded: &LoggedVerdict, now: &PolicyExplanation) -> Option<String> {
    let LoggedVerdict {
        decided,
        policy_version,
    } = recorded;
    let is_same = decided.effect == now.effect && decided.rule == now.rule;
    (!is_same).then(|| {
        format!(
            "the verdict was {} by {} under {policy_version}; the same call is {} by {} under {}",
            decided.effect, decided.rule, now.effect, now.rule, now.policy_version
        )
    })
}

/// The agent with its workspace and the rules for the next action of a run.
async fn rules(
    call: &Call,
    agent: AgentId,
    run: &RunMachine,
) -> Result<(AgentId, String, ActionRules), ApiError> {
    let stored = call.runtime()?.agents.settings(agent.clone()).await?;
    let rules = stored.settings.rules(run, &call.host.rule_defaults());
    Ok((agent, stored.workspace, rules))
}

/// A run that a person starts without options.
fn hypothetical_run() -> RunMachine {
    RunMachine::new(RunKey(Digest::of(b"")), String::new(), 1)
}

/// Policies are files, so they are read on a blocking thread.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Problem> + Send + 'static,
) -> Result<T, ApiError> {
    let failed = |_| {
        let message = "the policies could not be read";
        Err(Problem::new("policies_failed", message, "try again"))
    };
    let done = tokio::task::spawn_blocking(work).await.unwrap_or_else(failed);
    done.map_err(|problem| ApiError::of(StatusCode::CONFLICT, problem))
}
