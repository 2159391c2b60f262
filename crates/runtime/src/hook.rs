//! Hooks of the operator in a run: when they run, and what they lead to.
//!
//! Hooks before a call run between the reply of the model and its commit, so that the run log has the changed
//! arguments and a replay needs no hook. After a crash they may run again. What ran is recorded with the next
//! input, because a hook that observes a denial runs after its commit.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use serde_json::{Map, Value, json};
use wakeful_core::blob::Blob;
use wakeful_core::conversation::{Block, Role, ToolCall, text_of};
use wakeful_core::failure::{ModelFailure, truncate_chars};
use wakeful_core::guardrail::{GUARDRAIL, blocking};
use wakeful_core::hook::{HookEvent, REPLY_HOOKS_MS_MAX};
use wakeful_core::key::OperationId;
use wakeful_core::policy::{PolicyEffect, PolicyVerdict};
use wakeful_core::report::EventDraft;
use wakeful_core::report::payload::{HookExecuted, Payload};
use wakeful_core::run::{HOOK_BLOCKED, ModelReply, RunPhase, blocked_message};
use wakeful_core::step::{CallReads, OUTCOME_UNKNOWN, PriorActions, StepStatus, ToolError};
use wakeful_core::tool::gate::GateStop;
use wakeful_core::tool::with_connections_of;
use wakeful_ports::model::Model;
use wakeful_ports::tool::{HookRequest, HookRun, TOOL_INPUT, ToolHost, ToolOutcome};

use crate::Engine;
use crate::run::ClaimedRun;
use crate::step::{EarlyEnd, JudgedCall};
use crate::tool_call::Intent;

/// Maximum length of a hook's command in an event, in characters.
const SHOWN_CHARS_MAX: usize = 120;

/// Why a call is blocked that was denied when the hooks before it would have run, and is permitted now.
const HOOKS_SKIPPED: &str =
    "the rules changed while the model wrote, so the hooks before the call did not run";

/// The code of a result that a hook withholds.
const RESULT_WITHHELD: &str = "result_withheld";

/// What the hooks before a call led to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) enum HookEffect {
    #[default]
    None,
    /// They did not run, because the call was denied when the reply came.
    Skipped,
    /// The call needs an approval.
    Ask,
    /// The call is denied, for this reason.
    Block(String),
}

impl HookEffect {
    /// The stop of a call that was denied when its hooks would have run, unless it is denied now as well.
    pub(crate) fn stop_unless_denied(&self, reads: &CallReads) -> Option<GateStop> {
        let is_denied = reads.fault.is_some() || reads.verdict.effect == PolicyEffect::Deny;
        (*self == Self::Skipped && !is_denied).then(|| GateStop::of_hook(HOOKS_SKIPPED))
    }

    pub(crate) fn stop(&self) -> Option<GateStop> {
        match self {
            Self::Block(reason) => Some(GateStop::of_hook(reason)),
            Self::None | Self::Skipped | Self::Ask => None,
        }
    }

    /// The verdict of the policy, at least as strict as the hooks require.
    pub(crate) fn applied(&self, verdict: PolicyVerdict) -> PolicyVerdict {
        match self {
            Self::Ask => verdict.asked_by_hook(),
            Self::None | Self::Skipped | Self::Block(_) => verdict,
        }
    }
}

/// A denied call, as hooks that observe denials see it.
#[derive(Debug, Clone)]
pub(crate) struct Denial {
    operation_id: OperationId,
    tool: String,
    reason: String,
}

/// What hooks did since the last input of a run.
#[derive(Debug, Default)]
pub(crate) struct HookState {
    /// A lock, because actions that run side by side have hooks too.
    executed: Mutex<Vec<HookExecuted>>,
    /// By the position of the call in the newest reply.
    effects: BTreeMap<usize, HookEffect>,
    /// The arguments as the model wrote them, by the position of the call.
    originals: BTreeMap<usize, Blob>,
    /// The denials of the last transition.
    pub(crate) denials: Vec<Denial>,
}

impl HookState {
    pub(crate) fn take_executed(&self) -> Vec<HookExecuted> {
        std::mem::take(&mut *self.executed.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn add(&self, ran: impl IntoIterator<Item = HookExecuted>) {
        let mut executed = self.executed.lock().unwrap_or_else(PoisonError::into_inner);
        executed.extend(ran);
    }

    pub(crate) fn effect(&self, position: usize) -> &HookEffect {
        self.effects.get(&position).unwrap_or(&HookEffect::None)
    }

    /// Names the original arguments of changed calls in the reply, and returns them.
    pub(crate) fn name_originals(&mut self, reply: &mut ModelReply) -> Vec<Blob> {
        let originals = std::mem::take(&mut self.originals);
        for (position, blob) in &originals {
            if let Some(call) = reply.calls.get_mut(*position) {
                call.original_input = Some(blob.hash());
            }
        }
        originals.into_values().collect()
    }
}

/// The denials among these events.
pub(crate) fn denials(events: &[EventDraft]) -> Vec<Denial> {
    let denied = events.iter().filter_map(|event| {
        let Payload::PolicyDecided(decided) = &event.body.payload else {
            return None;
        };
        (decided.status == Some(StepStatus::Denied)).then(|| Denial {
            operation_id: decided.operation_id,
            tool: decided.tool.clone(),
            reason: decided.reason.clone(),
        })
    });
    denied.collect()
}

/// Whether the newest messages may be sent to the model.
pub(crate) enum MessageCheck {
    Passed,
    /// They may, and time has passed.
    PassedAfterWait,
    Blocked(Box<ModelFailure>),
    Ended(EarlyEnd),
}

impl<M: Model, T: ToolHost> Engine<M, T> {
    /// Compares the newest messages with the guardrails, and runs the hooks for them before the first request of
    /// the run.
    pub(crate) async fn check_messages(&self, claimed: &mut ClaimedRun) -> MessageCheck {
        let Some(thread) = &claimed.thread else {
            return MessageCheck::Passed;
        };
        let trips = claimed.settings.guardrails.input_trips(&thread.entries);
        let blocked = blocking(&trips).map(|trip| blocked_message(GUARDRAIL, &trip.words()));
        if is_first_attempt(claimed) {
            claimed.tripped.extend(trips);
        }
        if let Some(failure) = blocked {
            return MessageCheck::Blocked(Box::new(failure));
        }
        let is_first_request = claimed.machine.requests == 0 && is_first_attempt(claimed);
        let has_hooks = |event| self.tools.has_hooks(&claimed.row.agent_id, event);
        if !is_first_request
            || !(has_hooks(HookEvent::SessionStart) || has_hooks(HookEvent::UserPromptSubmit))
        {
            return MessageCheck::Passed;
        }
        let is_new = thread.entries.iter().all(|entry| entry.role != Role::Assistant);
        let prompt = text_of(&thread.opening.blocks);
        let mut waited = false;
        for (event, extra) in [
            (HookEvent::SessionStart, json!({"source": "startup"})),
            (HookEvent::UserPromptSubmit, json!({ "prompt": prompt })),
        ] {
            if event == HookEvent::SessionStart && !is_new {
                continue;
            }
            let request = self.hook_request(claimed, event, extra);
            let ran = match self.until_interrupted(claimed, request).await {
                Ok(ran) => ran,
                Err(early) => return MessageCheck::Ended(early),
            };
            waited |= !ran.is_empty();
            let blocks = ran.iter().find(|run| run.verdict.is_blocking);
            let failure = blocks.map(|run| {
                let summary = format!(
                    "a hook of the operator blocks the message: {}",
                    run.verdict.reason
                );
                blocked_message(HOOK_BLOCKED, &self.clean(&summary))
            });
            self.record_hooks(claimed, ran, &HookedCall::of(event));
            if let Some(failure) = failure {
                return MessageCheck::Blocked(Box::new(failure));
            }
        }
        match waited {
            true => MessageCheck::PassedAfterWait,
            false => MessageCheck::Passed,
        }
    }

    /// Runs the hooks for a reply: before each call that the policy does not deny, or for an answer. Changed
    /// arguments replace those in the reply, and are judged afterwards like any others.
    pub(crate) async fn run_reply_hooks(
        &self,
        claimed: &mut ClaimedRun,
        blocks: &mut [Block],
    ) -> Result<(), EarlyEnd> {
        claimed.hooks.effects.clear();
        claimed.hooks.originals.clear();
        let has_hooks = |event| self.tools.has_hooks(&claimed.row.agent_id, event);
        if !has_hooks(HookEvent::PreToolUse) && !has_hooks(HookEvent::Stop) {
            return Ok(());
        }
        let mut left_ms = REPLY_HOOKS_MS_MAX;
        let text = text_of(blocks);
        let calls = blocks.iter_mut().filter_map(|block| {
            let Block::ToolUse(call) = block else { return None };
            Some(call)
        });
        let mut has_calls = false;
        for (position, call) in calls.enumerate() {
            has_calls = true;
            let began = self.clock.monotonic_ms();
            self.run_call_hooks(claimed, position, call, left_ms).await?;
            left_ms = left_ms.saturating_sub(self.clock.monotonic_ms().saturating_sub(began));
        }
        if !has_calls {
            let request =
                self.hook_request(claimed, HookEvent::Stop, json!({"last_assistant_message": text}));
            let ran = self.until_interrupted(claimed, request).await?;
            self.record_hooks(claimed, ran, &HookedCall::of(HookEvent::Stop));
        }
        Ok(())
    }

    async fn run_call_hooks(
        &self,
        claimed: &mut ClaimedRun,
        position: usize,
        call: &mut ToolCall,
        left_ms: u64,
    ) -> Result<(), EarlyEnd> {
        if self.is_denied(claimed, call) {
            claimed.hooks.effects.insert(position, HookEffect::Skipped);
            return Ok(());
        }
        let event = HookEvent::PreToolUse;
        let mut request = self.hook_request(claimed, event, call_payload(&call.call_id, call));
        request.tool = Some(call.name.clone());
        request.time_ms = left_ms;
        let ran = self.until_interrupted(claimed, request).await?;
        if let Some(run) = ran.iter().find(|run| run.verdict.is_blocking) {
            let effect = HookEffect::Block(self.clean(&run.verdict.reason));
            claimed.hooks.effects.insert(position, effect);
        } else {
            let changed = ran.iter().rev().find_map(|run| run.verdict.changed_input.clone());
            if let Some(changed) = changed
                .map(|input| self.clean_input(input))
                .filter(|new| *new != call.input)
            {
                let original = std::mem::replace(&mut call.input, changed);
                let original = Blob::new(original.to_string().into_bytes());
                claimed.hooks.originals.insert(position, original);
            }
            if ran.iter().any(|run| run.verdict.asks) {
                claimed.hooks.effects.insert(position, HookEffect::Ask);
            }
        }
        let hooked = HookedCall {
            event,
            tool: Some(&call.name),
            call_id: Some(&call.call_id),
            operation_id: None,
        };
        self.record_hooks(claimed, ran, &hooked);
        Ok(())
    }

    /// Whether the policy denies a call, or its arguments are invalid. Hooks do not run before such a call.
    fn is_denied(&self, claimed: &ClaimedRun, call: &ToolCall) -> bool {
        let rules = claimed.settings.rules(&claimed.machine, &self.policy.defaults());
        let history = Some(claimed.read_history());
        let judged = JudgedCall {
            agent_id: &claimed.row.agent_id,
            tool: &call.name,
            input: &call.input,
            rules: &rules,
            hook: &HookEffect::None,
            history: history.as_ref(),
        };
        let read = self.call_reads(&judged, PriorActions::default());
        read.fault.is_some() || read.verdict.effect == PolicyEffect::Deny
    }

    /// Runs the hooks for the result of an action, which is not recorded yet. A hook may withhold it from the
    /// model; the action itself is done.
    pub(crate) async fn run_result_hooks(
        &self,
        claimed: &ClaimedRun,
        intent: &Intent,
        outcome: ToolOutcome,
    ) -> ToolOutcome {
        let event = HookEvent::PostToolUse;
        let is_unknown = outcome.code.as_deref() == Some(OUTCOME_UNKNOWN);
        if is_unknown || !self.tools.has_hooks(&claimed.row.agent_id, event) {
            return outcome;
        }
        let mut payload = call_payload(&intent.call_id, &intent.call);
        if let Some(fields) = payload.as_object_mut() {
            let outcome = self.without_keys(outcome.clone());
            fields.insert("tool_response".to_owned(), Value::String(outcome.content));
        }
        let mut request = self.hook_request(claimed, event, payload);
        request.tool = Some(intent.call.name.clone());
        let (ran, stopped) = match self.until_interrupted(claimed, request).await {
            Ok(ran) => (ran, false),
            Err(_) => (Vec::new(), true),
        };
        let blocks = ran.iter().find(|run| run.verdict.is_blocking);
        let reason = blocks.map(|run| self.clean(&run.verdict.reason));
        let reason = reason.or_else(|| stopped.then(|| "the hook was interrupted".to_owned()));
        let hooked = HookedCall {
            event,
            tool: Some(&intent.call.name),
            call_id: Some(&intent.call_id),
            operation_id: Some(intent.operation_id),
        };
        self.record_hooks(claimed, ran, &hooked);
        let Some(reason) = reason else { return outcome };
        let tool = &intent.call.name;
        let message =
            format!("{tool} was performed, and a hook of the operator withholds its result: {reason}");
        let fault = ToolError::new(RESULT_WITHHELD, &message, "do not repeat the call; ask a person");
        ToolOutcome {
            content: with_connections_of(&outcome.content, fault.receipt(tool)),
            // An error or an unknown outcome stays what it is.
            code: outcome.code.or(Some(fault.kind)),
            blobs: Vec::new(),
            images: Vec::new(),
            retry_after: None,
            ..outcome
        }
    }

    /// Runs the hooks that observe denials, after the denials are committed.
    pub(crate) async fn run_denial_hooks(&self, claimed: &mut ClaimedRun) {
        let event = HookEvent::PermissionDenied;
        let mut left_ms = REPLY_HOOKS_MS_MAX;
        let denials = std::mem::take(&mut claimed.hooks.denials);
        if denials.is_empty() || !self.tools.has_hooks(&claimed.row.agent_id, event) {
            return;
        }
        for denial in denials {
            let began = self.clock.monotonic_ms();
            let payload = json!({"tool_name": denial.tool, "reason": denial.reason});
            let mut request = self.hook_request(claimed, event, payload);
            request.tool = Some(denial.tool.clone());
            request.time_ms = left_ms;
            let Ok(ran) = self.until_interrupted(claimed, request).await else {
                // The driver handles the interruption.
                return;
            };
            let hooked = HookedCall {
                event,
                tool: Some(&denial.tool),
                call_id: None,
                operation_id: Some(denial.operation_id),
            };
            self.record_hooks(claimed, ran, &hooked);
            left_ms = left_ms.saturating_sub(self.clock.monotonic_ms().saturating_sub(began));
        }
    }

    fn hook_request(&self, claimed: &ClaimedRun, event: HookEvent, extra: Value) -> HookRequest {
        let mut payload = Map::new();
        for (name, value) in [
            ("session_id", claimed.row.thread_id.as_str()),
            ("run_key", &claimed.run_key().to_string()),
            ("agent_id", claimed.row.agent_id.as_str()),
            ("hook_event_name", event.as_str()),
            ("cwd", &claimed.machine.workspace),
            ("permission_mode", claimed.settings.permission_mode.as_str()),
        ] {
            payload.insert(name.to_owned(), Value::String(value.to_owned()));
        }
        if let Value::Object(extra) = extra {
            payload.extend(extra);
        }
        HookRequest {
            agent_id: claimed.row.agent_id.clone(),
            event,
            tool: None,
            payload,
            time_ms: REPLY_HOOKS_MS_MAX,
        }
    }

    /// Runs hooks until the run must end early. Dropping them ends their processes.
    async fn until_interrupted(
        &self,
        claimed: &ClaimedRun,
        request: HookRequest,
    ) -> Result<Vec<HookRun>, EarlyEnd> {
        tokio::select! {
            biased;
            ran = self.tools.run_hooks(request) => Ok(ran),
            early = self.wait_for_early_end(claimed) => Err(early),
        }
    }

    fn record_hooks(&self, claimed: &ClaimedRun, ran: Vec<HookRun>, call: &HookedCall<'_>) {
        let executed = ran.into_iter().map(|run| HookExecuted {
            hook_event: call.event,
            hook: truncate_chars(&self.clean(&run.hook), SHOWN_CHARS_MAX),
            source: run.source,
            result: run.verdict.result,
            reason: self.clean(&run.verdict.reason),
            duration_ms: run.duration_ms,
            tool: call.tool.map(str::to_owned),
            call_id: call.call_id.map(str::to_owned),
            operation_id: call.operation_id,
        });
        claimed.hooks.add(executed.collect::<Vec<_>>());
    }

    /// A text of a hook without keys and secrets.
    fn clean(&self, text: &str) -> String {
        let redacted = self.redacted(text.as_bytes());
        redacted.map_or_else(
            || text.to_owned(),
            |bytes| String::from_utf8_lossy(&bytes).into_owned(),
        )
    }

    /// Changed arguments without keys and secrets.
    fn clean_input(&self, input: Value) -> Value {
        let redacted = self.redacted(input.to_string().as_bytes());
        redacted.map_or(input, |bytes| {
            serde_json::from_slice(&bytes).unwrap_or(Value::Null)
        })
    }
}

/// The call for which hooks ran.
struct HookedCall<'a> {
    event: HookEvent,
    tool: Option<&'a str>,
    call_id: Option<&'a str>,
    operation_id: Option<OperationId>,
}

impl HookedCall<'_> {
    const fn of(event: HookEvent) -> Self {
        Self {
            event,
            tool: None,
            call_id: None,
            operation_id: None,
        }
    }
}

fn call_payload(call_id: &str, call: &ToolCall) -> Value {
    json!({"tool_name": call.name, TOOL_INPUT: call.input, "tool_use_id": call_id})
}

/// Whether this is the first attempt of a round, so that what happens before it is recorded once.
fn is_first_attempt(claimed: &ClaimedRun) -> bool {
    match &claimed.machine.phase {
        RunPhase::Modelling { attempt, missed, .. } => *attempt == 1 && missed.is_empty(),
        RunPhase::Parked { .. } | RunPhase::Acting { .. } | RunPhase::Ended { .. } => false,
    }
}
