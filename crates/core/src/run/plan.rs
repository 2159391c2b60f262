//! Planning: from a reply to actions, and from results to the next request.
//!
//! Every action is named, checked by policy and stored before anything begins. The intent of a plain action
//! is committed immediately before the action: with the plan for the first one, with the result of its
//! predecessor for every later one. Therefore only an action that was about to begin can be reported as
//! unknown.

use std::collections::{BTreeMap, BTreeSet};

use super::approval::{approval_rule, undecided};
use super::guard::blocked_output;
use super::intent::{QuotaUnits, RateDelay};
use super::refusal::{Refusal, refusal};
use super::round::first_unpaid;
use super::settlement::wait_before_again;
use super::{
    Effect, EntryWrite, InputReads, ModelReply, ReplyCall, RunMachine, RunOutcome, RunPhase, StepWrite,
    Transition, UnexpectedInput, is_open,
};
use crate::blob::BlobHash;
use crate::budget::BudgetExceeded;
use crate::conversation::Role;
use crate::key::{ActionBase, OperationId, RunKey};
use crate::policy::GateStage;
use crate::provenance::Sources;
use crate::report::EventDraft;
use crate::report::payload::AssistantRoundRecorded;
use crate::saga::Saga;
use crate::step::{
    Action, ActionStatus, CallReads, EffectClass, StepResult, StepStatus, ToolError, result_blob,
};
use crate::sub_run::START_RUN;
use crate::tool::CallRecord;

/// A model reply and the actions that it requests.
pub(super) struct Plan {
    pub(super) reply: BlobHash,
    pub(super) actions: Vec<Action>,
}

impl Plan {
    /// Returns the phase that performs the plan, or that waits for budget.
    fn parked(self, exceeded: Option<BudgetExceeded>) -> RunPhase {
        let Self { reply, actions } = self;
        RunPhase::Acting {
            reply,
            actions,
            delay_ms: 0,
            delayed_tool: None,
            exceeded,
        }
    }

    /// Returns the phase that performs the plan after a wait.
    pub(super) fn acting(self, delay_ms: u64) -> RunPhase {
        let Self { reply, actions } = self;
        RunPhase::Acting {
            reply,
            actions,
            delay_ms,
            delayed_tool: None,
            exceeded: None,
        }
    }

    /// Returns the phase in which the plan waits for the rate of a tool.
    fn delayed(self, delay: RateDelay) -> RunPhase {
        let Self { reply, actions } = self;
        RunPhase::Acting {
            reply,
            actions,
            delay_ms: delay.wait_ms,
            delayed_tool: Some(delay.tool),
            exceeded: None,
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
        self.sources.join(&reads.sources);
        self.requests = self.requests.saturating_add(1);
        self.rounds = self.rounds.saturating_add(1);
        self.usage = self.usage.plus(reply.usage);
        let run = self.run_key;
        let mut moved = self.unmoved();
        let step = super::model_operation(&run, request);
        moved.turn.sources.join(&reply.sources());
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
            sources: moved.turn.sources_of_reply(),
        });
        moved.show_reply(reply);
        if let Some(trip) = blocked_output(&reads.guardrails) {
            moved.block_reply(reply, trip)?;
            return Ok(moved);
        }
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
        for result in &results {
            moved.turn.sources.join(&result.sources);
        }
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
            *delay = delay_ms.max(*delay);
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
        let (mut starts, mut units) = (0, QuotaUnits::new(reads, self.turn.is_untrusted()));
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
            self.steps.push(StepWrite::Put {
                operation_id,
                name: tool.clone(),
                class: Some(read.class),
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
                sources: self.follow(call, read, refusal.as_ref()),
            });
        }
        Ok(actions)
    }

    /// Counts a page that a call reads because untrusted text links to it. Returns the sources of a refused call's
    /// result, which may repeat its arguments.
    fn follow(&mut self, call: &ReplyCall, read: &CallReads, refusal: Option<&Refusal>) -> Sources {
        if refusal.is_some() {
            return self.turn.sources_of_call(&call.parts.tool);
        }
        if let Some(site) = &read.linked_site {
            let reads = self.turn.linked_reads.entry(site.clone()).or_insert(0);
            *reads = reads.saturating_add(1);
        }
        Sources::none()
    }

    /// Intends the next actions, or closes the round and sends the next model request.
    pub(super) fn advance(&mut self, mut plan: Plan, reads: &InputReads) -> Result<(), UnexpectedInput> {
        let actions = &mut plan.actions;
        self.restrict_all(actions, &reads.restricted)?;
        // While an intent or a started run has no result, nothing new begins and no effect is issued twice.
        let is_idle =
            |action: &Action| !matches!(action.fate, ActionStatus::Intended | ActionStatus::Started(_));
        let (mut delay, mut exceeded) = (None, None);
        if !reads.hold && actions.iter().all(is_idle) {
            self.intend_within_quotas(actions, reads)?;
            // The budget comes first: an action that it takes back has not used up its rate.
            exceeded = self.intend_within_budget(actions, reads);
            delay = self.delay_over_rate(actions, reads);
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
            self.turn.phase = match delay {
                Some(delay) => plan.delayed(delay),
                None => plan.parked(exceeded),
            };
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
                sources: action.sources.clone(),
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
            web_searches: reply.web_searches.clone(),
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
