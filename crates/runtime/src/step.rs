//! Performs effects: a model request, or the intended actions of a plan.

use serde_json::{Value, json};
use wakeful_core::blob::Blob;
use wakeful_core::budget::BudgetExceeded;
use wakeful_core::conversation::{Block, ToolCall, calls_of};
use wakeful_core::guardrail::{GuardrailTrip, blocking};
use wakeful_core::id::AgentId;
use wakeful_core::key::RunKey;
use wakeful_core::need_to_know::{Boundary, Crossing};
use wakeful_core::policy::{ActionRules, CallFacts, PolicyEffect, PolicyQuery, PolicyVerdict, unsafe_target};
use wakeful_core::run::{Effect, RunInput, RunPhase};
use wakeful_core::step::{CallReads, EffectClass, PriorActions, ToolError};
use wakeful_core::sub_run::{START_RUN, SubRunRequest};
use wakeful_core::tool::gate::{self, GateQuery, GateStop};
use wakeful_core::tool::risk::{self, RiskFields, ToolRisk};
use wakeful_core::wake::Suspension;
use wakeful_ports::model::Model;
use wakeful_ports::tool::ToolHost;
use wakeful_store::Store;

use crate::hook::HookEffect;
use crate::provenance::{ReadHistory, SourcedVerdict};
use crate::run::ClaimedRun;
use crate::{Engine, EngineError};

/// How often a running effect checks whether it must end early. Short, so that a cancellation is visible at
/// once.
pub(crate) const INTERRUPT_POLL_MS: u64 = 50;

/// How long a running effect continues although the brake cannot be read from the database. Equal to the time
/// for which a process trusts its lease (`LEASE_TRUST_MS` of the store): another process may claim the agent
/// soon afterwards, so this one must have stopped.
pub(crate) const INTERRUPT_UNREADABLE_MS_MAX: u64 = 10_000;

/// Whether this process has just committed the intent of an effect, or found it without a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Freshness {
    /// This process has just committed the intent; the effect has not started.
    Fresh,
    /// The intent was found without a result: the effect may have started in an earlier process.
    Recovered,
}

/// Conditions against the next effect at the time of reading. They must be read again after a wait.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Interrupts {
    pub(crate) is_cancelled: bool,
    pub(crate) is_braked: bool,
}

/// The result of an effect: the next input, contents for the transcript, and blobs to store.
pub(crate) struct EffectResult {
    pub(crate) input: RunInput,
    pub(crate) contents: Vec<Blob>,
    pub(crate) blobs: Vec<Blob>,
}

impl EffectResult {
    pub(crate) fn just(input: RunInput) -> Self {
        Self {
            input,
            contents: Vec::new(),
            blobs: Vec::new(),
        }
    }
}

/// What a run does next.
pub(crate) enum NextAction {
    /// Apply this input.
    Input(Box<EffectResult>),
    /// The process halts; the run is unchanged.
    Stop,
    /// A brake holds the run; it is unchanged.
    Brake,
    Wait(Suspension),
    /// The budget does not cover the next request.
    OverBudget(BudgetExceeded),
}

impl NextAction {
    pub(crate) fn just(input: RunInput) -> Self {
        Self::Input(Box::new(EffectResult::just(input)))
    }
}

/// Why a running effect should end early.
#[derive(Debug, Clone, Copy)]
pub(crate) enum EarlyEnd {
    /// A person cancelled the run.
    Cancelled,
    /// This process may no longer act for the agent.
    LeaseLost,
    /// The process is halting.
    Halted,
    /// A brake was set.
    Braked,
}

impl<M: Model, T: ToolHost> Engine<M, T> {
    /// Performs the pending effects, and returns the result or the reason why the run is unchanged.
    pub(crate) async fn perform(&self, claimed: &mut ClaimedRun) -> Result<NextAction, EngineError> {
        let run = claimed.run_key();
        let acting = matches!(claimed.machine.phase, RunPhase::Acting { .. });
        let unknown = claimed.freshness == Freshness::Recovered && acting && may_have_begun(&claimed.effects);
        let mut look = self.refresh(claimed).await?;
        // An interrupted action is settled first, so that neither a halt nor a cancellation hides an
        // unknown outcome.
        if let Some(next) = self.on_interrupts(claimed, look).filter(|_| !unknown) {
            return Ok(next);
        }
        if claimed.thread.is_none() {
            if let Some(next) = self.check_estimate(claimed).await? {
                return Ok(next);
            }
            self.load_thread(claimed).await?;
            look = self.refresh(claimed).await?;
            if let Some(next) = self.on_interrupts(claimed, look).filter(|_| !unknown) {
                return Ok(next);
            }
        }
        if let RunPhase::Parked { .. } = claimed.machine.phase {
            return self.recheck_budget(claimed).await;
        }
        match claimed.effects.first().cloned() {
            Some(Effect::CallModel {
                operation_id,
                delay_ms,
                ..
            }) => self.call_model(claimed, operation_id, delay_ms, look).await,
            Some(Effect::Act {
                class: EffectClass::Internal,
                ..
            }) => self.start_runs(claimed).await,
            Some(Effect::Act { .. }) => self.act(claimed, look).await,
            // Nothing is intended: a decision is pending, or a halt or brake withdrew the intents; without
            // results the machine intends them again.
            None if claimed.machine.waits_on_runs() => self.check_children(claimed).await,
            None if claimed.machine.phase.exceeded().is_some() => self.recheck_limits(claimed).await,
            None if acting => self.check_approval(claimed).await,
            None => Err(EngineError::InvalidState {
                run,
                why: "it waits, but its state names no reason".into(),
            }),
        }
    }

    /// Reads the conditions against the next effect.
    pub(crate) async fn read_interrupts(&self, claimed: &ClaimedRun) -> Result<Interrupts, EngineError> {
        read_interrupts(&self.store, claimed.run_key(), &claimed.row.agent_id).await
    }

    /// What a run does instead of its next effect, if a condition prevents it.
    pub(crate) fn on_interrupts(&self, claimed: &ClaimedRun, look: Interrupts) -> Option<NextAction> {
        let rest = match (self.halt.is_set(), look.is_cancelled, look.is_braked) {
            (true, _, _) => NextAction::Stop,
            (false, true, _) => return Some(NextAction::just(RunInput::Cancelled)),
            (false, false, true) => NextAction::Brake,
            (false, false, false) => return None,
        };
        // Withdraw the intents of actions that did not begin. Otherwise the next driver would treat them as
        // begun: it would not judge them again, and it would report an unknown outcome for a plain one.
        if begins_action(&claimed.effects) {
            return Some(NextAction::just(RunInput::Postponed));
        }
        Some(rest)
    }

    /// Resolves when a running effect should end early. Failed or hanging reads are tolerated for
    /// [`INTERRUPT_UNREADABLE_MS_MAX`], so that a short database outage does not interrupt the effect. The
    /// stop requests in memory are checked meanwhile, without waiting.
    pub(crate) async fn wait_for_early_end(&self, claimed: &ClaimedRun) -> EarlyEnd {
        let watch = async {
            let mut unread_ms = 0;
            loop {
                self.clock.sleep(INTERRUPT_POLL_MS).await;
                let look = self.read_interrupts(claimed);
                tokio::pin!(look);
                let seen = loop {
                    if let Some(early) = self.early_by_memory(claimed) {
                        return early;
                    }
                    tokio::select! {
                        biased;
                        seen = &mut look => break seen,
                        () = self.clock.sleep(INTERRUPT_POLL_MS) => unread_ms += INTERRUPT_POLL_MS,
                    }
                    if unread_ms >= INTERRUPT_UNREADABLE_MS_MAX {
                        return EarlyEnd::LeaseLost;
                    }
                };
                match seen {
                    Ok(look) if look.is_cancelled => return EarlyEnd::Cancelled,
                    Ok(look) if look.is_braked => return EarlyEnd::Braked,
                    Ok(_) => unread_ms = 0,
                    Err(_) => unread_ms += INTERRUPT_POLL_MS,
                }
                if unread_ms >= INTERRUPT_UNREADABLE_MS_MAX {
                    return EarlyEnd::LeaseLost;
                }
            }
        };
        tokio::select! {
            biased;
            early = watch => early,
            () = self.halt.wait_until_set() => EarlyEnd::Halted,
        }
    }

    /// Why a running effect should end early, according to the memory of this process alone.
    fn early_by_memory(&self, claimed: &ClaimedRun) -> Option<EarlyEnd> {
        if !self.store.holds_lease() {
            return Some(EarlyEnd::LeaseLost);
        }
        let pending = pending_stops(&self.store, claimed.run_key(), &claimed.row.agent_id)?;
        Some(if pending.is_cancelled {
            EarlyEnd::Cancelled
        } else {
            EarlyEnd::Braked
        })
    }

    /// The known facts about one call, before the machine decides on it.
    pub(crate) fn call_reads(&self, call: &JudgedCall<'_>, seen: PriorActions) -> CallReads {
        let reads = self.judged_reads(call, seen, call.hook.stop());
        match call.hook.stop_unless_denied(&reads) {
            Some(stop) => self.judged_reads(call, seen, Some(stop)),
            None => reads,
        }
    }

    /// The facts about a call that the hooks before it passed or stopped.
    fn judged_reads(
        &self,
        call: &JudgedCall<'_>,
        seen: PriorActions,
        stop_of_hooks: Option<GateStop>,
    ) -> CallReads {
        let JudgedCall {
            agent_id,
            tool,
            input,
            rules,
            hook,
            ..
        } = *call;
        let starts = (tool == START_RUN).then(|| SubRunRequest::read(input));
        let known = self.tools.class(tool);
        let checked = known.map(|_| self.tools.check(tool, input));
        let facts = self.facts_of(call, starts.as_ref(), checked.as_ref());
        let class = starts.as_ref().map(|_| EffectClass::Internal).or(known);
        let class = class.unwrap_or(EffectClass::Plain);
        let stop = self.gate(call).or(stop_of_hooks);
        let risk = self.risk_of(tool);
        let verdict = match &stop {
            // The policy is not asked about a call that an earlier gate stopped.
            Some(stop) => PolicyVerdict {
                effect: PolicyEffect::Deny,
                rule: stop.code.clone(),
                policy_version: self.policy.version(agent_id, rules),
            },
            None => hook.applied(self.decide(call, &facts, class).escalated(risk.is_classified)),
        };
        let SourcedVerdict {
            verdict,
            evidence,
            linked_site,
        } = self.sourced(call, &facts, class, verdict);
        let fault: Option<ToolError> = match starts {
            // A run that may start no sub-runs was not offered this tool, so its arguments do not matter.
            Some(order) => order.err().filter(|_| !rules.may_start.is_empty()),
            None => checked.and_then(Result::err),
        };
        let guardrails = match &fault {
            None => rules.guardrails.tool_trips(tool, input),
            Some(_) => Vec::new(),
        };
        let verdict = verdict.guarded(&guardrails);
        let may_repeat = !matches!(class, EffectClass::Plain | EffectClass::Internal);
        // Computed only if a person will read it, because it reads files.
        let asks = fault.is_none() && (verdict.effect == PolicyEffect::Ask || seen.unknown);
        let diff = asks.then(|| self.diff(call)).flatten();
        CallReads {
            class,
            fault,
            stop,
            verdict,
            risk: Some(risk.into()),
            retry: self.tools.retry(tool).filter(|_| may_repeat),
            seen,
            diff,
            constraint: self.constraint(call, &facts, &guardrails),
            targets: facts.targets,
            guardrails,
            evidence,
            linked_site,
        }
    }

    /// The verdict of the policy on a call.
    pub(crate) fn decide(
        &self,
        call: &JudgedCall<'_>,
        facts: &CallFacts,
        class: EffectClass,
    ) -> PolicyVerdict {
        self.policy.decide(&PolicyQuery {
            agent_id: call.agent_id,
            tool: call.tool,
            rules: call.rules,
            facts,
            class,
            risk: self.tools.risk(call.tool),
            sandbox_level: self.tools.sandbox_level(),
        })
    }

    /// What a call acts on; nothing if its arguments are invalid.
    fn facts_of(
        &self,
        call: &JudgedCall<'_>,
        starts: Option<&Result<SubRunRequest, ToolError>>,
        checked: Option<&Result<(), ToolError>>,
    ) -> CallFacts {
        match (starts, checked) {
            (Some(Ok(order)), _) => order.facts(),
            (None, Some(Ok(()))) => self.tools.facts(call.tool, call.input, &call.rules.sandbox),
            (Some(Err(_)), _) | (None, Some(Err(_)) | None) => CallFacts::default(),
        }
    }

    /// Why a target of a call is excluded, or which guardrail blocks the call.
    fn constraint(
        &self,
        call: &JudgedCall<'_>,
        facts: &CallFacts,
        tripped: &[GuardrailTrip],
    ) -> Option<String> {
        let excluded = unsafe_target(facts)
            .and_then(|_| self.tools.constraint(call.tool, call.input, &call.rules.sandbox));
        excluded.or_else(|| blocking(tripped).map(GuardrailTrip::words))
    }

    /// The gate before the policy that stops a call, if any.
    fn gate(&self, call: &JudgedCall<'_>) -> Option<GateStop> {
        let JudgedCall { tool, rules, .. } = *call;
        let contract = self.tools.contract(tool);
        let query = GateQuery {
            contract: contract.as_ref(),
            access: &rules.access,
            wake_reason: rules.wake_reason,
        };
        gate::check(query).and_then(|()| self.need_to_know(call)).err()
    }

    /// Checks that the agent may give the tool all of these arguments.
    fn need_to_know(&self, call: &JudgedCall<'_>) -> Result<(), GateStop> {
        let (permissions, _) = self.policy.inference(call.agent_id);
        let crossing = Crossing {
            boundary: Boundary::Tool,
            operation: call.tool,
            categories: &call.rules.access.allowed_category_ids,
            // The arguments were checked against the schema of the tool.
            wire: None,
        };
        let projected = permissions.need_to_know.project(&crossing, call.input.clone());
        projected
            .map(drop)
            .map_err(|overshared| GateStop::overshared(&overshared))
    }

    /// The risk of a call. Calls do not state any of it themselves.
    fn risk_of(&self, tool: &str) -> ToolRisk {
        let found = self.tools.risk_classification(tool);
        risk::fill(found.as_ref(), RiskFields::default())
    }
}

impl<M: Model, T: ToolHost> Engine<M, T> {
    /// What a call would change in files, without keys and secrets.
    fn diff(&self, call: &JudgedCall<'_>) -> Option<String> {
        let diff = self.tools.preview(call.tool, call.input, &call.rules.sandbox)?;
        let redacted = self.redacted(diff.as_bytes());
        Some(
            redacted
                .and_then(|bytes| String::from_utf8(bytes).ok())
                .unwrap_or(diff),
        )
    }
}

/// A call to judge, with the rules that apply to its run.
pub(crate) struct JudgedCall<'a> {
    pub(crate) agent_id: &'a AgentId,
    pub(crate) tool: &'a str,
    pub(crate) input: &'a Value,
    pub(crate) rules: &'a ActionRules,
    /// What the hooks before the call led to.
    pub(crate) hook: &'a HookEffect,
    /// What the run has read; none for a run without untrusted data.
    pub(crate) history: Option<&'a ReadHistory<'a>>,
}

/// The stop requests against a run that are pending in memory, if any. Accesses neither the database nor
/// the disk, so it works while those hang.
pub(crate) fn pending_stops(store: &Store, run: RunKey, agent: &AgentId) -> Option<Interrupts> {
    let stops = store.stops();
    let pending = Interrupts {
        is_cancelled: stops.is_cancelled(&run),
        is_braked: stops.is_braked(agent),
    };
    (pending.is_cancelled || pending.is_braked).then_some(pending)
}

/// Reads whether a run is cancelled or braked: from memory, then from the database.
pub(crate) async fn read_interrupts(
    store: &Store,
    run: RunKey,
    agent: &AgentId,
) -> Result<Interrupts, EngineError> {
    if let Some(pending) = pending_stops(store, run, agent) {
        return Ok(pending);
    }
    let agent = agent.clone();
    let look = store.read(move |view| {
        Ok(Interrupts {
            is_cancelled: view.cancel_requested(&run)?,
            is_braked: view.is_braked(&agent)?,
        })
    });
    Ok(look.await?)
}

/// Whether an effect outside the engine may have started. The engine's own writes are either committed or
/// not started.
fn may_have_begun(effects: &[Effect]) -> bool {
    effects.iter().any(|effect| match effect {
        Effect::Act { class, .. } => *class != EffectClass::Internal,
        Effect::CallModel { .. } => true,
    })
}

/// Whether the intent of an action outside the engine is committed.
fn begins_action(effects: &[Effect]) -> bool {
    let is_outside = |effect: &Effect| match effect {
        Effect::Act { class, .. } => *class != EffectClass::Internal,
        Effect::CallModel { .. } => false,
    };
    effects.iter().any(is_outside)
}

pub(crate) fn asked(blocks: &[Block]) -> Vec<ToolCall> {
    calls_of(blocks).into_iter().cloned().collect()
}

/// The scope of an action's identity, in addition to tool and arguments.
pub(crate) fn scope_of(workspace: &str) -> Value {
    json!({"workspace": workspace})
}
