//! Runs that start other runs. A start is a message to another agent, stored in the transition after which
//! the run waits; the end of a sub-run makes its parent due in the same transaction. So neither can be lost
//! or happen twice.

mod end;
mod scope;

use std::collections::{BTreeMap, BTreeSet};
use wakeful_core::wake::WakeOutcome;

use wakeful_core::blob::Blob;
use wakeful_core::id::{AgentId, TraceId};
use wakeful_core::key::{OperationId, RunKey};
use wakeful_core::message::{Message, NewMessage, ParentRun, QUEUE_MAX, RunOptions};
use wakeful_core::provenance::Sources;
use wakeful_core::report::{LogHead, SealedEvent};
use wakeful_core::run::{Effect, RunInput, SubRunStart};
use wakeful_core::step::{ChildRun, EffectClass, StepResult, ToolError};
use wakeful_core::sub_run::{START_RUN, SubRunFacts, SubRunRequest, start_refusal};
use wakeful_core::time::Millis;
use wakeful_core::wake::{AdmissionResult, CauseFacts, Gate, Suspension, Wait, admit};
use wakeful_ports::model::Model;
use wakeful_ports::tool::{ToolHost, ToolOutcome};
use wakeful_store::rows::{Fence, PackedBlob, RunRow, WakeRow};
use wakeful_store::{StoreError, Tx, View};

use self::end::ending;
pub(crate) use self::end::{Withdrawal, agents_to_lock, all_under_way, end_children, ended, parent_of};
pub(crate) use self::scope::{restricted, settings_of_run};
use crate::admission::{AdmissionOutcome, QueueEntry, depth_of, wake_row};
use crate::run::{ClaimedRun, broken};
use crate::step::{EffectResult, NextAction};
use crate::wake::{admitted_event, opening};
use crate::{Engine, EngineError};

/// Maximum number of agents that are checked for a circular wait: more than can ever wait at once.
const AWAITED_MAX: usize = 10_000;

/// A message to another agent, prepared before the transaction that stores it.
#[derive(Debug, Clone)]
pub(crate) struct SubRunMessage {
    pub(crate) message: Message,
    body: PackedBlob,
    admitted: SealedEvent,
}

/// Heads locked by one transaction, in the order of their agents, so that concurrent transactions do not
/// deadlock.
pub(crate) struct LockedHeads {
    pub(crate) own: LogHead,
    pub(crate) others: BTreeMap<AgentId, LogHead>,
}

impl LockedHeads {
    /// Locks the head of a run's own agent under its fence, and the heads of other agents. Agents that do
    /// not exist are skipped.
    pub(crate) fn lock(
        tx: &mut Tx<'_>,
        own: &AgentId,
        fence: Fence,
        others: &BTreeSet<AgentId>,
    ) -> Result<Self, StoreError> {
        let mut locked = BTreeMap::new();
        for agent in others.range(..own.clone()) {
            locked.extend(tx.lock_head_to_announce(agent)?.map(|head| (agent.clone(), head)));
        }
        let head = tx.lock_head(own, fence)?;
        for agent in others.range(own.clone()..).filter(|agent| *agent != own) {
            locked.extend(tx.lock_head_to_announce(agent)?.map(|head| (agent.clone(), head)));
        }
        Ok(Self {
            own: head,
            others: locked,
        })
    }
}

/// Locks heads in the order of their agents, for transactions that are not transitions of the run. Agents
/// that do not exist are skipped.
pub(crate) fn lock_all(
    tx: &mut Tx<'_>,
    agents: &BTreeSet<AgentId>,
) -> Result<BTreeMap<AgentId, LogHead>, StoreError> {
    let mut heads = BTreeMap::new();
    for agent in agents {
        heads.extend(tx.lock_head_to_announce(agent)?.map(|head| (agent.clone(), head)));
    }
    Ok(heads)
}

/// Stores the messages of a transition that starts runs. An obstacle that arose since the check is a
/// conflict: the run is loaded again, and the start is refused.
pub(crate) fn start_in(
    tx: &mut Tx<'_>,
    run: &RunRow,
    heads: &mut LockedHeads,
    starts: &[SubRunMessage],
) -> Result<(), StoreError> {
    if starts.is_empty() {
        return Ok(());
    }
    tx.lock_sub_run_starts()?;
    // This decides not whether the run may continue but whether it may start others: a brake may have been
    // set since the check.
    if tx.is_braked(&run.agent_id)? {
        return Err(StoreError::Conflict);
    }
    for start in starts {
        let other = &start.message.agent_id;
        let look = check_start(tx, &run.agent_id, &run.run_key, &start.message)?;
        if look.fault.is_some() {
            return Err(StoreError::Conflict);
        }
        let head = heads.others.get_mut(other).ok_or(StoreError::Conflict)?;
        let entry = QueueEntry {
            message: &start.message,
            body: &start.body,
            sealed: &start.admitted,
            gates: &look.gates,
            not_before: look.not_before,
        };
        let AdmissionOutcome::New(_) = entry.write(tx, head)? else {
            return Err(StoreError::Conflict);
        };
    }
    Ok(())
}

/// The result of checking a start.
struct StartCheck {
    /// Why the start is refused, if it is.
    fault: Option<ToolError>,
    /// The recorded outcome of the refusal.
    verdict: WakeOutcome,
    /// When the other agent may start; none for at once.
    not_before: Option<Millis>,
    /// Every gate that was evaluated.
    gates: Vec<Gate>,
}

/// Checks a start: the gates of every message, and the additional rules for a message whose sender waits.
fn check_start(
    view: &mut View<'_>,
    agent: &AgentId,
    run: &RunKey,
    message: &Message,
) -> Result<StartCheck, StoreError> {
    let other = &message.agent_id;
    let overview = view.overview(other)?;
    let facts = CauseFacts::of(&message.cause, other);
    let judged = overview
        .as_ref()
        .map(|overview| admit(&overview.agent.availability(), &facts, message.admitted_at));
    let (shut, not_before, mut gates) = match judged {
        Some((AdmissionResult::Refused(refusal), gates)) => (Some(refusal), None, gates),
        Some((AdmissionResult::Queued { not_before }, gates)) => (None, not_before, gates),
        None => (None, None, Vec::new()),
    };
    let found = SubRunFacts {
        is_itself: agent == other,
        is_there: overview.is_some(),
        waits_for_us: waits_for(view, other, agent)?,
        is_full: overview.is_some_and(|overview| overview.queued >= QUEUE_MAX),
        depth: depth_below(view, run)?,
        refusal: shut,
    };
    let fault = start_refusal(other, &found);
    let verdict = match (&found.refusal, &fault) {
        (Some(refusal), _) => refusal.outcome(),
        (None, Some(fault)) => WakeOutcome::parse(&fault.kind).unwrap_or(WakeOutcome::AgentUnknown),
        (None, None) => WakeOutcome::Queued,
    };
    // An agent that does not exist has no gates.
    if let (true, None, Some(fault)) = (found.is_there, &found.refusal, &fault) {
        gates.push(Gate::new("start", false).with(fault.message.clone()));
    }
    Ok(StartCheck {
        fault,
        verdict,
        not_before,
        gates,
    })
}

/// The causal depth of a sub-run: the runs above it, and the changes that woke them.
fn depth_below(view: &mut View<'_>, run: &RunKey) -> Result<u32, StoreError> {
    Ok(depth_of(view, run)?.saturating_add(1))
}

/// Whether an agent waits for another, directly or indirectly.
fn waits_for(view: &mut View<'_>, who: &AgentId, whom: &AgentId) -> Result<bool, StoreError> {
    let mut seen = BTreeSet::from([who.clone()]);
    let mut left = vec![who.clone()];
    while let Some(agent) = left.pop() {
        for awaited in view.agents_awaited_by(&agent)? {
            if awaited == *whom || seen.len() >= AWAITED_MAX {
                return Ok(true);
            }
            if seen.insert(awaited.clone()) {
                left.push(awaited);
            }
        }
    }
    Ok(false)
}

/// A start from the plan.
#[derive(Debug, Clone)]
struct PlannedStart {
    operation_id: OperationId,
    call_id: String,
    order: SubRunRequest,
}

impl<M: Model, T: ToolHost> Engine<M, T> {
    /// Starts the sub-runs at the beginning of the plan. Refused starts are reported at once and recorded
    /// with the target agent; the others are stored together with the state that waits for them.
    pub(crate) async fn start_runs(&self, claimed: &mut ClaimedRun) -> Result<NextAction, EngineError> {
        let run = claimed.run_key();
        let planned = self.planned(claimed).await?;
        let agent = claimed.row.agent_id.clone();
        // The causal depth of the sub-runs, and their correlation.
        let before = self.store.read(move |view| {
            let cause = view
                .message(&run)?
                .map(|message| message.cause)
                .unwrap_or_default();
            Ok((depth_below(view, &run)?, cause.correlation_of(&run)))
        });
        let (depth, correlation) = before.await?;
        let starts = planned
            .iter()
            .map(|one| self.message_of(claimed, one, depth, &correlation));
        let starts: Vec<(Message, Blob, String)> = starts.collect();
        let messages: Vec<Message> = starts.iter().map(|(message, _, _)| message.clone()).collect();
        let looks = self.store.read(move |view| {
            let looks = messages
                .iter()
                .map(|message| check_start(view, &agent, &run, message));
            looks.collect::<Result<Vec<_>, StoreError>>()
        });
        let looks = looks.await?;
        (claimed.starts, claimed.refused) = (Vec::new(), refusals(&starts, &looks));
        let told = planned.iter().zip(&looks);
        let told = told.filter_map(|(one, look)| Some((one, look.fault.as_ref()?)));
        let refused: Vec<_> = told
            .map(|(one, fault)| StartResult {
                sources: claimed.machine.sources_of_call(START_RUN),
                ..refused(one, fault)
            })
            .collect();
        if !refused.is_empty() {
            return self.children_input(run, refused);
        }
        let mut kept = Vec::with_capacity(planned.len());
        for (one, (message, body, words)) in planned.into_iter().zip(starts) {
            let child = ChildRun {
                agent_id: one.order.agent_id,
                run_key: message.run_key,
            };
            kept.push(SubRunStart {
                operation_id: one.operation_id,
                child,
                depth,
            });
            let write = self.start(run, message, body, &words).await?;
            claimed.starts.push(write);
        }
        Ok(NextAction::just(RunInput::Started { starts: kept }))
    }

    /// The starts at the beginning of the plan.
    async fn planned(&self, claimed: &mut ClaimedRun) -> Result<Vec<PlannedStart>, EngineError> {
        let run = claimed.run_key();
        let mut planned = Vec::new();
        for effect in claimed.effects.clone() {
            let Effect::Act {
                operation_id,
                position,
                call_id,
                class: EffectClass::Internal,
            } = effect
            else {
                break;
            };
            let call = self.call_at(claimed, position).await?;
            // The arguments were validated before the plan was stored.
            let order = SubRunRequest::read(&call.input).map_err(|fault| EngineError::InvalidState {
                run,
                why: fault.message,
            })?;
            planned.push(PlannedStart {
                operation_id,
                call_id,
                order,
            });
        }
        Ok(planned)
    }

    /// The message of a start, its body, and its text.
    fn message_of(
        &self,
        claimed: &ClaimedRun,
        one: &PlannedStart,
        depth: u32,
        correlation: &TraceId,
    ) -> (Message, Blob, String) {
        let agent_id = claimed.row.agent_id.clone();
        let words = one.order.words(&agent_id);
        let (_, body) = opening(&words, Vec::new());
        let parent = ParentRun {
            run_key: claimed.run_key(),
            agent_id,
            operation_id: one.operation_id,
            depth,
        };
        let new = NewMessage {
            agent_id: one.order.agent_id.clone(),
            body: body.hash(),
            admitted_at: self.clock.now(),
        };
        let message = Message::from_run(new, parent, correlation.clone()).with_sources_of(&claimed.machine);
        let message = Message {
            options: RunOptions {
                is_read_only: claimed.machine.is_read_only,
                ..message.options
            },
            ..message
        };
        (message, body, words)
    }

    /// Prepares the message of a start.
    async fn start(
        &self,
        run: RunKey,
        message: Message,
        body: Blob,
        words: &str,
    ) -> Result<SubRunMessage, EngineError> {
        let draft = admitted_event(&message, words);
        let salt = self.entropy.random_bytes();
        let admitted = SealedEvent::new(draft, message.admitted_at, Some(message.run_key), salt);
        Ok(SubRunMessage {
            admitted: admitted.map_err(|e| broken(run, &e))?,
            body: self.store.pack(body).await?,
            message,
        })
    }

    /// Checks a run that waits for sub-runs: it receives the available results, or keeps waiting.
    pub(crate) async fn check_children(&self, claimed: &ClaimedRun) -> Result<NextAction, EngineError> {
        let children = claimed.machine.children();
        let looked = self.store.read(move |view| {
            let mut ended = Vec::new();
            for (operation_id, child) in &children {
                ended.extend(ending(view, child)?.map(|found| (*operation_id, found)));
            }
            Ok(ended)
        });
        let ended = looked.await?;
        if ended.is_empty() {
            let (wait, since) = (Wait::Children, self.clock.now());
            return Ok(NextAction::Wait(Suspension { wait, since }));
        }
        let told = ended.into_iter().filter_map(|(operation_id, ending)| {
            let call_id = claimed.machine.call_id(operation_id)?.to_owned();
            let done = ToolOutcome {
                content: ending.result.describe(),
                code: ending.result.code(),
                exit_status: None,
                sandbox: None,
                blobs: Vec::new(),
                images: Vec::new(),
                changed: Vec::new(),
                retry_after: None,
            };
            let echoed = claimed.machine.sources_of_call(START_RUN);
            Some(StartResult {
                operation_id,
                call_id,
                done,
                duration_ms: ending.duration_ms,
                sources: ending.sources.joined(&echoed),
            })
        });
        self.children_input(claimed.run_key(), told.collect())
    }

    /// The results of starts, as an input.
    fn children_input(&self, run: RunKey, told: Vec<StartResult>) -> Result<NextAction, EngineError> {
        let (mut results, mut contents): (Vec<_>, Vec<Blob>) = (Vec::new(), Vec::new());
        for one in told {
            let ended = self.ended(one.operation_id, &one.call_id, one.done, one.duration_ms);
            let (result, content, _) = ended.map_err(|e| broken(run, &e))?;
            results.push(StepResult {
                sources: one.sources,
                ..result
            });
            contents.push(content);
        }
        Ok(NextAction::Input(Box::new(EffectResult {
            input: RunInput::Settled { results },
            blobs: contents.clone(),
            contents,
        })))
    }
}

/// The records of refused starts. An agent that does not exist has none.
fn refusals(starts: &[(Message, Blob, String)], looks: &[StartCheck]) -> Vec<WakeRow> {
    let refused = starts.iter().zip(looks).filter(|(_, look)| {
        // No gates were evaluated for an agent that does not exist.
        look.fault.is_some() && !look.gates.is_empty()
    });
    refused
        .map(|((message, _, _), look)| wake_row(message, look.verdict, &look.gates, message.admitted_at))
        .collect()
}

/// The result that a run receives for a start.
struct StartResult {
    operation_id: OperationId,
    call_id: String,
    done: ToolOutcome,
    duration_ms: u64,
    /// The untrusted sources of its content.
    sources: Sources,
}

/// The result that a run receives for a refused start.
fn refused(one: &PlannedStart, fault: &ToolError) -> StartResult {
    let done = ToolOutcome {
        content: fault.receipt(START_RUN),
        code: Some(fault.kind.clone()),
        exit_status: None,
        sandbox: None,
        blobs: Vec::new(),
        images: Vec::new(),
        changed: Vec::new(),
        retry_after: None,
    };
    StartResult {
        operation_id: one.operation_id,
        call_id: one.call_id.clone(),
        done,
        duration_ms: 0,
        sources: Sources::none(),
    }
}
