//! Planning: from a reply to actions, and from results to the next request.
//!
//! Every action is named, checked by policy and stored before anything begins. The intent of a plain action
//! is committed immediately before the action: with the plan for the first one, with the result of its
//! predecessor for every later one. Therefore only an action that was about to begin can be reported as
//! unknown.

use std::collections::{BTreeMap, BTreeSet};

use super::approval::{approval_rule, undecided};
use super::intent::QuotaUnits;
use super::refusal::{Refusal, refusal};
use super::round::first_unpaid;
use super::{
    Effect, EntryWrite, InputReads, ModelReply, ReplyCall, RunMachine, RunOutcome, RunPhase, StepWrite,
    Transition, UnexpectedInput, is_open,
};
use crate::blob::BlobHash;
use crate::conversation::{Role, Usage};
use crate::key::{ActionBase, OperationId, RunKey};
use crate::policy::GateStage;
use crate::report::EventDraft;
use crate::report::payload::{ActionCancelled, AssistantRoundRecorded, ConnectionRefused, ToolExecuted};
use crate::saga::{self, Saga};
use crate::step::{
    Action, ActionStatus, CallReads, EffectClass, StepResult, StepStatus, ToolError, result_blob,
};
use crate::sub_run::START_RUN;
use crate::tool::{CallEnd, CallRecord};

/// A model reply and the actions that it requests.
pub(super) struct Plan {
    pub(super) reply: BlobHash,
    pub(super) actions: Vec<Action>,
}

impl Plan {
    /// Returns the phase that performs the plan after a wait.
    pub(super) fn acting(self, delay_ms: u64) -> RunPhase {
        let Self { reply, actions } = self;
        RunPhase::Acting {
            reply,
            actions,
            delay_ms,
        }
    }
}

impl RunMachine {
    /// The model replied: ends the run or plans the requested actions.
    pub(super) fn replied(
        mut self,
        reply: &ModelReply,
        reads: &InputReads,
    ) -> Result<Transition, UnexpectedInput> {
        if reads.calls.len() != reply.calls.len() {
            return Err(UnexpectedInput::Reads);
        }
        let request = self.requests;
        self.requests = self.requests.saturating_add(1);
        self.rounds = self.rounds.saturating_add(1);
        self.usage = self.usage.plus(reply.usage);
        let run = self.run_key;
        let mut moved = self.unmoved();
        let step = super::model_operation(&run, request);
        moved.turn.cost = moved.turn.cost.plus(reply.bill.cost.unwrap_or_default());
        let attempt = match &moved.turn.phase {
            RunPhase::Modelling { attempt, missed, .. } => {
                let newest = moved.turn.candidate.saturating_sub(1);
                moved.turn.unpaid = moved.turn.unpaid.or_else(|| first_unpaid(missed, newest));
                *attempt
            }
            RunPhase::Parked { .. } | RunPhase::Acting { .. } | RunPhase::Ended { .. } => 0,
        };
        let mut record = moved.turn.record(attempt, reply.duration_ms, reply.bill.clone());
        record.token_usage = Some(reply.usage);
        moved.settle_model(step, StepStatus::Ok, record);
        moved.entries.push(EntryWrite {
            role: Role::Assistant,
            content: reply.content,
        });
        moved.show_reply(reply);
        if reply.calls.is_empty() {
            moved.answer(reply)?;
            return Ok(moved);
        }
        let plan = Plan {
            reply: reply.content,
            actions: moved.plan(&run, &reply.calls, reads)?,
        };
        moved.advance(plan, reads)?;
        Ok(moved)
    }

    /// Records results, then continues with the next action or the next model request.
    pub(super) fn settled(
        self,
        mut plan: Plan,
        results: Vec<StepResult>,
        reads: &InputReads,
    ) -> Result<Transition, UnexpectedInput> {
        let mut moved = self.unmoved();
        let mut unknown = BTreeSet::new();
        let mut delay_ms = 0;
        for result in results {
            let intended = |action: &&mut Action| {
                let is_under_way = matches!(action.fate, ActionStatus::Intended | ActionStatus::Started(_));
                action.operation_id == result.operation_id && is_under_way
            };
            let Some(action) = plan.actions.iter_mut().find(intended) else {
                return Err(UnexpectedInput::ForeignOperation(result.operation_id));
            };
            if result.status == StepStatus::OutcomeUnknown {
                unknown.insert(action.base);
            }
            match wait_before_again(action, &result) {
                Some(wait_ms) => {
                    delay_ms = delay_ms.max(wait_ms);
                    moved.try_again(action, &result, wait_ms);
                }
                None => moved.settle(action, result),
            }
        }
        // Identical actions in the same plan were permitted before the unknown outcome was recorded.
        let is_twin = |action: &&mut Action| unknown.contains(&action.base);
        for twin in plan.actions.iter_mut().filter(is_twin) {
            match twin.fate {
                ActionStatus::Waiting => moved.cancel_action(twin, &undecided())?,
                ActionStatus::Intended => twin.doubted = true,
                // The pending request does not mention the unknown outcome, so an approval of it must not
                // count. If the model repeats the call, a new decision is requested.
                ActionStatus::AwaitingApproval => {
                    moved.withdraw(twin);
                    moved.cancel_action(twin, &undecided())?;
                }
                ActionStatus::Started(_) | ActionStatus::Settled(_) => {}
            }
        }
        // Nothing is intended before the delay is over: during it the rules may become stricter, and an intent
        // that a later driver finds might already have begun.
        let hold = reads.hold || delay_ms > 0;
        moved.advance(
            plan,
            &InputReads {
                hold,
                ..reads.clone()
            },
        )?;
        if let RunPhase::Acting { delay_ms: delay, .. } = &mut moved.turn.phase {
            *delay = delay_ms;
        }
        Ok(moved)
    }

    /// A stop arrived before any intended action began. Reverts the intents, so that the next driver
    /// neither treats the actions as begun nor omits them.
    pub(super) fn postponed(self, mut plan: Plan) -> Result<Transition, UnexpectedInput> {
        let mut moved = self.unmoved();
        let is_intended = |action: &&mut Action| action.fate == ActionStatus::Intended;
        for action in plan.actions.iter_mut().filter(is_intended) {
            if action.doubted {
                moved.cancel_action(action, &undecided())?;
                continue;
            }
            action.fate = ActionStatus::Waiting;
            moved.steps.push(StepWrite::Postpone(action.operation_id));
        }
        moved.turn.phase = plan.acting(0);
        Ok(moved)
    }

    /// A person cancelled the run between two actions. Actions that never began are settled as cancelled,
    /// so that the transcript has a result for every call. The driver settles every action that it began,
    /// or found begun, before it applies this input; an intent that is still open here was never performed.
    pub(super) fn cancelled_while_acting(
        self,
        mut actions: Vec<Action>,
    ) -> Result<Transition, UnexpectedInput> {
        let mut moved = self.unmoved();
        let not_begun = ToolError::new("cancelled", "the run was cancelled before this action began", "");
        let begun = ToolError::new(
            "cancelled",
            "the run was cancelled, and with it the one it started",
            "",
        );
        for action in actions.iter_mut().filter(|action| is_open(action)) {
            moved.withdraw(action);
            let fault = match action.fate {
                ActionStatus::Started(_) => &begun,
                ActionStatus::Waiting
                | ActionStatus::AwaitingApproval
                | ActionStatus::Intended
                | ActionStatus::Settled(_) => &not_begun,
            };
            moved.cancel_action(action, &Refusal::failed(GateStage::Decision, fault.clone()))?;
        }
        moved.close_round(&actions);
        moved.end(RunOutcome::Cancelled, None);
        Ok(moved)
    }
}

impl Transition {
    /// Names every call of a reply and checks it.
    fn plan(
        &mut self,
        run: &RunKey,
        calls: &[ReplyCall],
        reads: &InputReads,
    ) -> Result<Vec<Action>, UnexpectedInput> {
        // Identical actions are counted over the whole run: the counts of earlier rounds come from the
        // store, the calls earlier in this reply are counted here.
        let mut counts: BTreeMap<ActionBase, u64> = BTreeMap::new();
        let mut actions = Vec::with_capacity(calls.len());
        let (mut starts, mut units) = (0, QuotaUnits::new(reads, self.turn.has_external_cause));
        for (position, (call, read)) in calls.iter().zip(&reads.calls).enumerate() {
            let base = call.parts.base();
            let count = counts.entry(base).or_insert(read.seen.count);
            let operation_id = OperationId::new(run, &call.parts.stable_id(*count));
            *count = count.saturating_add(1);
            starts += usize::from(call.parts.tool == START_RUN);
            let refusal = refusal(position, read).or_else(|| units.refuse(&call.parts.tool, starts));
            let question = match &refusal {
                None => self.ask_about(operation_id, call, read),
                Some(_) => None,
            };
            let mut record = open_record(call, read);
            let (fate, status, reason) = match &refusal {
                None if question.is_some() => (
                    ActionStatus::AwaitingApproval,
                    StepStatus::WaitingForApproval,
                    approval_rule(read).to_owned(),
                ),
                None => (
                    ActionStatus::Waiting,
                    StepStatus::Planned,
                    read.verdict.rule.clone(),
                ),
                Some(refused) => {
                    let receipt = refused.fault.receipt(&call.parts.tool);
                    let blob = result_blob(&call.call_id, true, receipt)?;
                    record.end = Some(refused.end(blob.hash()));
                    let fate = ActionStatus::Settled(blob.hash());
                    self.blobs.push(blob);
                    (fate, refused.status, refused.reason(&call.parts.tool))
                }
            };
            self.show_verdict(operation_id, call, read, refusal.as_ref());
            let (tool, call_id) = (call.parts.tool.clone(), call.call_id.clone());
            let (name, class) = (tool.clone(), Some(read.class));
            self.steps.push(StepWrite::Put {
                operation_id,
                name,
                class,
                base: Some(base),
                status,
                reason,
                call: Some(record),
            });
            actions.push(Action {
                operation_id,
                call_id,
                tool,
                base,
                class: read.class,
                fate,
                doubted: false,
                question,
                retry: read.retry,
                failures: 0,
            });
        }
        Ok(actions)
    }

    /// Records the result of an action.
    fn settle(&mut self, action: &mut Action, result: StepResult) {
        let refused = result.refused.iter();
        let refused = refused.map(|one| ConnectionRefused::new(action.operation_id, &action.tool, one));
        self.events.extend(refused.map(EventDraft::new));
        self.events
            .push(EventDraft::new(ToolExecuted::new(&action.tool, &result)));
        let end = CallEnd::performed(result.status, result.code.as_deref(), result.content);
        self.write_end(action, result, end);
    }

    fn write_end(&mut self, action: &mut Action, result: StepResult, end: CallEnd) {
        if action.class == EffectClass::Saga && action.fate == ActionStatus::Intended {
            let saga = saga::saga_settlement(action.operation_id, result.code.as_deref());
            self.steps.push(StepWrite::Saga(saga));
        }
        action.fate = ActionStatus::Settled(result.content);
        self.steps.push(StepWrite::Settle {
            operation_id: result.operation_id,
            status: result.status,
            duration_ms: result.duration_ms,
            sandbox: result.sandbox,
            exit_status: result.exit_status,
            reason: result.code,
            usage: Usage::default(),
            attempt: None,
            end: Some(end),
        });
    }

    /// Schedules a retry of an action after a transient failure.
    fn try_again(&mut self, action: &mut Action, result: &StepResult, wait_ms: u64) {
        action.fate = ActionStatus::Waiting;
        action.failures = action.failures.saturating_add(1);
        self.steps.push(StepWrite::Postpone(action.operation_id));
        self.events.push(EventDraft::new(ToolExecuted {
            sandbox: None,
            attempt: Some(action.failures),
            again_in_ms: Some(wait_ms),
            ..ToolExecuted::new(&action.tool, result)
        }));
    }

    /// Ends an action that will not begin.
    pub(super) fn cancel_action(
        &mut self,
        action: &mut Action,
        refused: &Refusal,
    ) -> Result<(), UnexpectedInput> {
        let (status, fault) = (refused.status, &refused.fault);
        let blob = result_blob(&action.call_id, true, fault.receipt(&action.tool))?;
        let (operation_id, content, code) = (action.operation_id, blob.hash(), Some(fault.kind.clone()));
        self.blobs.push(blob);
        let result = StepResult {
            operation_id,
            status,
            content,
            duration_ms: 0,
            sandbox: None,
            exit_status: None,
            code,
            error: Some(fault.envelope()),
            refused: Vec::new(),
            again: None,
        };
        self.events.push(EventDraft::new(ActionCancelled {
            operation_id,
            tool: action.tool.clone(),
            status,
            duration_ms: 0,
            code: result.code.clone(),
            stage: Some(refused.stage),
            category: refused.category(),
            tool_error: result.error.clone(),
            error: Some(fault.envelope().flat()),
        }));
        let code = Some(refused.reason(&action.tool));
        self.write_end(action, StepResult { code, ..result }, refused.end(content));
        Ok(())
    }

    /// Intends the next actions, or closes the round and sends the next model request.
    pub(super) fn advance(&mut self, mut plan: Plan, reads: &InputReads) -> Result<(), UnexpectedInput> {
        let actions = &mut plan.actions;
        self.restrict_all(actions, &reads.restricted)?;
        // While an intent or a started run has no result, nothing new begins and no effect is issued twice.
        let is_idle =
            |action: &Action| !matches!(action.fate, ActionStatus::Intended | ActionStatus::Started(_));
        if !reads.hold && actions.iter().all(is_idle) {
            self.intend_within_quotas(actions, reads)?;
            self.effects = intended(actions);
            let begins = actions
                .iter()
                .filter(|action| action.fate == ActionStatus::Intended);
            self.steps.extend(
                begins
                    .clone()
                    .map(|action| StepWrite::Intend(action.operation_id)),
            );
            let sagas = begins.filter(|action| action.class == EffectClass::Saga);
            self.steps
                .extend(sagas.map(|action| StepWrite::Saga(Saga::intended(action.operation_id))));
        }
        if actions.iter().any(is_open) {
            self.turn.phase = plan.acting(0);
            return Ok(());
        }
        self.close_round(actions);
        if self.turn.rounds >= self.turn.max_rounds {
            self.end(RunOutcome::OutOfRounds, Some(plan.reply));
        } else {
            self.join(&reads.interjected);
            self.ask(1, 0, Vec::new());
        }
        Ok(())
    }

    /// Writes the result of every call to the transcript, in the order of the calls.
    fn close_round(&mut self, actions: &[Action]) {
        let results = actions.iter().filter_map(|action| match action.fate {
            ActionStatus::Settled(content) => Some(EntryWrite {
                role: Role::Tool,
                content,
            }),
            ActionStatus::Waiting
            | ActionStatus::AwaitingApproval
            | ActionStatus::Intended
            | ActionStatus::Started(_) => None,
        });
        self.entries.extend(results);
    }

    fn show_reply(&mut self, reply: &ModelReply) {
        let tools = reply.calls.iter().map(|call| call.parts.tool.clone());
        self.events.push(EventDraft::new(AssistantRoundRecorded {
            round: self.turn.rounds,
            text: reply.preview.clone(),
            tools: tools.collect(),
        }));
    }
}

/// The record of a call before its end.
fn open_record(call: &ReplyCall, read: &CallReads) -> CallRecord {
    CallRecord {
        call_id: call.call_id.clone(),
        input: call.parts.arguments,
        policy_version: read.verdict.policy_version.clone(),
        end: None,
    }
}

/// Returns the wait before an automatic retry of an action; none if its result is final.
fn wait_before_again(action: &Action, result: &StepResult) -> Option<u64> {
    let (again, policy) = (result.again?, action.retry?);
    let may = result.status == StepStatus::Failed && action.class != EffectClass::Plain && !action.doubted;
    let failures = action.failures.saturating_add(1);
    may.then(|| policy.wait_ms(failures, again.after_ms, &action.operation_id.0))
        .flatten()
}

/// Returns the effects of the actions whose intent is committed.
pub(super) fn intended(actions: &[Action]) -> Vec<Effect> {
    let open = actions
        .iter()
        .enumerate()
        .filter(|(_, action)| action.fate == ActionStatus::Intended);
    open.map(|(position, action)| Effect::Act {
        operation_id: action.operation_id,
        position,
        call_id: action.call_id.clone(),
        class: action.class,
    })
    .collect()
}
