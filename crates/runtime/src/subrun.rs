//! Runs that start others. A start is a message to another agent, kept in the transition that lets the run wait; an end
//! rouses the one that waits in the transaction that ends. So neither can be lost, and neither happens twice.

use std::collections::{BTreeMap, BTreeSet};

use wakeful_core::blob::Blob;
use wakeful_core::conversation::{Block, text_of};
use wakeful_core::id::AgentId;
use wakeful_core::key::{OperationId, RunKey};
use wakeful_core::message::{Message, Parent, QUEUE_MAX};
use wakeful_core::report::{Head, Sealed};
use wakeful_core::run::{Effect, Input, Outcome, Phase, Start};
use wakeful_core::step::{Child, EffectClass, Fault};
use wakeful_core::subrun::{Ending, GONE, Order, Standing, hindrance};
use wakeful_core::wake::{Control, Lifecycle, Refusal};
use wakeful_ports::model::Model;
use wakeful_ports::records::{Admission, Agent, Fence, PackedBlob, RUN_CANCELLED, RUN_OPEN, RUN_QUARANTINED};
use wakeful_ports::store::{Store, StoreError, Tx, View};
use wakeful_ports::tool::{Done, ToolHost};

use crate::cause::depth_of;
use crate::run::{Claimed, broken, decode};
use crate::step::{Next, Performed, Rest};
use crate::wake::{admitted_event, opening};
use crate::{Engine, EngineError};

/// Most agents that are looked at to find out whether one waits for another: more than can ever wait at once.
const AWAITED_MAX: usize = 10_000;

/// A message to another agent, made ready before the transaction that keeps it.
#[derive(Debug, Clone)]
pub(crate) struct StartWrite {
    pub(crate) message: Message,
    body: PackedBlob,
    admitted: Sealed,
}

/// Heads that one transaction holds, locked in the order of their agents: two who lock in two orders wait for each
/// other.
pub(crate) struct Heads {
    pub(crate) own: Head,
    others: BTreeMap<AgentId, Head>,
}

impl Heads {
    /// Locks the head of a run's own agent by its fence, and those of others. Others that are not there are left out.
    pub(crate) fn lock(
        tx: &mut dyn Tx,
        (own, fence): (&AgentId, Fence),
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

/// Locks an agent's head for what changes its runs from outside, and that of whoever waits for one of them.
pub(crate) fn lock_with_parent(
    tx: &mut dyn Tx,
    own: &AgentId,
    parent: Option<&Parent>,
) -> Result<Option<Head>, StoreError> {
    let other = parent
        .map(|parent| &parent.agent_id)
        .filter(|other| *other != own);
    if let Some(other) = other.filter(|other| *other < own) {
        tx.lock_head_to_announce(other)?;
    }
    let head = tx.lock_head_to_announce(own)?;
    if let Some(other) = other.filter(|other| *other > own) {
        tx.lock_head_to_announce(other)?;
    }
    Ok(head)
}

/// Whose heads a transition needs beside its own.
pub(crate) fn concerned(
    tx: &mut dyn Tx,
    (run, status): (&RunKey, &str),
    starts: &[StartWrite],
) -> Result<BTreeSet<AgentId>, StoreError> {
    let mut agents: BTreeSet<AgentId> = starts
        .iter()
        .map(|start| start.message.agent_id.clone())
        .collect();
    if status != RUN_OPEN {
        agents.extend(parent_of(tx, run)?.map(|parent| parent.agent_id));
    }
    if status == RUN_CANCELLED {
        agents.extend(tx.children(run)?.into_iter().map(|child| child.agent_id));
    }
    Ok(agents)
}

/// The run that waits for this one.
pub(crate) fn parent_of(view: &mut dyn View, run: &RunKey) -> Result<Option<Parent>, StoreError> {
    Ok(view.message(run)?.and_then(|message| message.parent))
}

/// A run has ended: whoever waits for it is looked at, and what it started and was not told of ends with it where a
/// person ended it. With the heads of all of them.
pub(crate) fn ended(
    tx: &mut dyn Tx,
    (run, status): (&RunKey, &str),
    at: wakeful_core::time::Millis,
) -> Result<(), StoreError> {
    if let Some(parent) = parent_of(tx, run)? {
        tx.rouse_run(&parent.run_key)?;
    }
    if status == RUN_CANCELLED {
        for child in tx.children(run)? {
            // One whose turn has not come ends as soon as it begins.
            if !has_ended(tx, &child.run_key)? {
                tx.request_cancel(&child.run_key, at)?;
            }
        }
    }
    Ok(())
}

/// Keeps the messages of a transition that starts runs. What stands in the way since it was looked at is a conflict:
/// the run is looked at again, and is told.
pub(crate) fn start_in(
    tx: &mut dyn Tx,
    (agent, run): (&AgentId, &RunKey),
    heads: &mut Heads,
    starts: &[StartWrite],
) -> Result<(), StoreError> {
    if starts.is_empty() {
        return Ok(());
    }
    tx.lock_starting()?;
    if tx.is_braked(agent)? {
        return Err(StoreError::Conflict);
    }
    for start in starts {
        let other = &start.message.agent_id;
        if hindered(tx, (agent, run), other)?.is_some() {
            return Err(StoreError::Conflict);
        }
        let head = heads.others.get_mut(other).ok_or(StoreError::Conflict)?;
        match tx.admit_message(&start.message)? {
            Admission::New => {}
            Admission::Same | Admission::Differs => return Err(StoreError::Conflict),
        }
        tx.enqueue(&start.message, head.next_seq, None)?;
        tx.put_blob(&start.body)?;
        let event = head.chain(other, start.admitted.clone());
        tx.append_event(other, &event)?;
        tx.put_head(other, head)?;
    }
    Ok(())
}

/// Why a run may not start one of another agent, if there is a reason.
fn hindered(
    view: &mut dyn View,
    (agent, run): (&AgentId, &RunKey),
    other: &AgentId,
) -> Result<Option<Fault>, StoreError> {
    let overview = view.overview(other)?;
    let standing = Standing {
        is_itself: agent == other,
        is_there: overview.is_some(),
        shut: overview.as_ref().and_then(|overview| shut(&overview.agent)),
        waits_for_us: waits_for(view, other, agent)?,
        is_full: overview.is_some_and(|overview| overview.queued >= QUEUE_MAX),
        depth: depth_below(view, run)?,
    };
    Ok(hindrance(other, &standing))
}

/// Why an agent takes nothing in, whoever asks.
const fn shut(agent: &Agent) -> Option<Refusal> {
    match (agent.lifecycle, agent.control) {
        (Lifecycle::Destroyed, _) => Some(Refusal::Destroyed),
        (_, Control::Stopped) => Some(Refusal::Stopped),
        (_, Control::Running | Control::Paused) => None,
    }
}

/// How many causes made by agents precede one that this run starts: runs above it, and changes that woke them.
fn depth_below(view: &mut dyn View, run: &RunKey) -> Result<u32, StoreError> {
    Ok(depth_of(view, run)?.saturating_add(1))
}

/// Whether an agent waits for another, itself or through those that it waits for.
fn waits_for(view: &mut dyn View, who: &AgentId, whom: &AgentId) -> Result<bool, StoreError> {
    let mut seen = BTreeSet::from([who.clone()]);
    let mut left = vec![who.clone()];
    while let Some(agent) = left.pop() {
        for awaited in view.awaited(&agent)? {
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

/// Whether a run that was started has come to an end, or never will begin.
pub(crate) fn has_ended(view: &mut dyn View, run: &RunKey) -> Result<bool, StoreError> {
    match view.run(run)? {
        Some(row) => Ok(row.status != RUN_OPEN && row.status != RUN_QUARANTINED),
        None => Ok(!view.is_queued(run)?),
    }
}

/// Whether none of these has come to an end.
pub(crate) fn all_under_way(view: &mut dyn View, runs: &[RunKey]) -> Result<bool, StoreError> {
    for run in runs {
        if has_ended(view, run)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// How a run that was started ended, and how long it took; none while it has not.
fn ending(view: &mut dyn View, child: &Child) -> Result<Option<(Ending, u64)>, StoreError> {
    if !has_ended(view, &child.run_key)? {
        return Ok(None);
    }
    let (run_key, agent_id) = (child.run_key, child.agent_id.clone());
    let Some(row) = view.run(&run_key)? else {
        let verdict = view.wake(&run_key)?.map(|wake| wake.verdict);
        let outcome = verdict.unwrap_or_else(|| GONE.to_owned());
        let ending = Ending {
            agent_id,
            run_key,
            outcome,
            failure: None,
            text: String::new(),
        };
        return Ok(Some((ending, 0)));
    };
    // A state that cannot be read is one of a run that was given up: there are no last words.
    let (failure, reply) = match decode(&row).map(|turn| turn.phase) {
        Ok(Phase::Ended { outcome, reply }) => (failure_kind(&outcome), reply),
        Ok(Phase::Modelling { .. } | Phase::Parked { .. } | Phase::Acting { .. }) | Err(_) => (None, None),
    };
    let body = reply.map(|hash| view.blob(&hash)).transpose()?.flatten();
    let blocks = body.and_then(|body| serde_json::from_slice::<Vec<Block>>(&body).ok());
    let since = view
        .message(&run_key)?
        .map_or(row.started_at, |message| message.admitted_at);
    let duration_ms = row.ended_at.map_or(0, |ended| ended.since(since));
    let ending = Ending {
        agent_id,
        run_key,
        outcome: row.status,
        failure,
        text: blocks.map(|blocks| text_of(&blocks)).unwrap_or_default(),
    };
    Ok(Some((ending, duration_ms)))
}

fn failure_kind(outcome: &Outcome) -> Option<String> {
    match outcome {
        Outcome::Failed(artifact) => Some(artifact.kind.clone()),
        Outcome::Completed | Outcome::OutOfRounds | Outcome::Cancelled => None,
    }
}

/// A start as the plan has it.
#[derive(Debug, Clone)]
struct Planned {
    operation_id: OperationId,
    call_id: String,
    order: Order,
}

/// What a look at the starts of a plan found.
enum Looked {
    Braked,
    Found(u32, Vec<Option<Fault>>),
}

impl<S: Store, M: Model, T: ToolHost> Engine<S, M, T> {
    /// Starts what the plan begins with. What may not be started is told at once; the rest is kept with the state that
    /// waits for it.
    pub(crate) async fn start_runs(&self, claimed: &mut Claimed) -> Result<Next, EngineError> {
        let run = claimed.run_key();
        let planned = self.planned(claimed).await?;
        let agent = claimed.row.agent_id.clone();
        let others: Vec<AgentId> = planned.iter().map(|one| one.order.agent_id.clone()).collect();
        let looked = self.store.read(move |view| {
            if view.is_braked(&agent)? {
                return Ok(Looked::Braked);
            }
            let found = others.iter().map(|other| hindered(view, (&agent, &run), other));
            let found = found.collect::<Result<Vec<_>, StoreError>>()?;
            Ok(Looked::Found(depth_below(view, &run)?, found))
        });
        let (depth, found) = match looked.await? {
            Looked::Braked => return Ok(Next::Rest(Rest::Braked)),
            Looked::Found(depth, found) => (depth, found),
        };
        let told = planned.iter().zip(&found);
        let refused: Vec<_> = told
            .filter_map(|(one, fault)| Some((one, fault.as_ref()?)))
            .map(|(one, fault)| {
                let done = Done {
                    content: fault.receipt(wakeful_core::subrun::START_RUN),
                    code: Some(fault.kind.clone()),
                    sandbox: None,
                    blobs: Vec::new(),
                    again: None,
                };
                ((one.operation_id, one.call_id.clone()), done, 0)
            })
            .collect();
        if !refused.is_empty() {
            return self.told(run, refused);
        }
        let mut starts = Vec::with_capacity(planned.len());
        claimed.starts.clear();
        for one in planned {
            let write = self.start(claimed, &one, depth).await?;
            let child = Child {
                agent_id: one.order.agent_id,
                run_key: write.message.run_key,
            };
            starts.push(Start {
                operation_id: one.operation_id,
                child,
                depth,
            });
            claimed.starts.push(write);
        }
        Ok(Next::just(Input::Started { starts }))
    }

    /// The starts that the plan begins with.
    async fn planned(&self, claimed: &mut Claimed) -> Result<Vec<Planned>, EngineError> {
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
            // It was checked before it was planned.
            let order = Order::read(&call.input).map_err(|fault| EngineError::Broken {
                run,
                why: fault.message,
            })?;
            planned.push(Planned {
                operation_id,
                call_id,
                order,
            });
        }
        Ok(planned)
    }

    /// Makes the message of a start ready.
    async fn start(&self, claimed: &Claimed, one: &Planned, depth: u32) -> Result<StartWrite, EngineError> {
        let (run_key, now) = (claimed.run_key(), self.clock.now());
        let agent_id = claimed.row.agent_id.clone();
        let words = one.order.words(&agent_id);
        let (_, body) = opening(&words, Vec::new());
        let parent = Parent {
            run_key,
            agent_id,
            operation_id: one.operation_id,
            depth,
        };
        let message = Message::from_run(one.order.agent_id.clone(), parent, body.hash(), now);
        let draft = admitted_event(&message, &words);
        let admitted = Sealed::new(draft, now, Some(message.run_key), self.entropy.bytes32());
        Ok(StartWrite {
            admitted: admitted.map_err(|e| broken(run_key, &e))?,
            body: self.store.pack(body).await?,
            message,
        })
    }

    /// What a run does that waits for runs it started: it takes the ends that there are, or rests.
    pub(crate) async fn look_for_runs(&self, claimed: &Claimed) -> Result<Next, EngineError> {
        let children = claimed.turn.children();
        let looked = self.store.read(move |view| {
            let mut ended = Vec::new();
            for (operation_id, child) in &children {
                ended.extend(ending(view, child)?.map(|found| (*operation_id, found)));
            }
            Ok(ended)
        });
        let ended = looked.await?;
        if ended.is_empty() {
            return Ok(Next::Rest(Rest::Waits));
        }
        let told = ended
            .into_iter()
            .filter_map(|(operation_id, (ending, duration_ms))| {
                let call_id = claimed.turn.call_id(operation_id)?.to_owned();
                let done = Done {
                    content: ending.told(),
                    code: ending.code(),
                    sandbox: None,
                    blobs: Vec::new(),
                    again: None,
                };
                Some(((operation_id, call_id), done, duration_ms))
            });
        self.told(claimed.run_key(), told.collect())
    }

    /// Results of starts, as an input.
    fn told(&self, run: RunKey, told: Vec<((OperationId, String), Done, u64)>) -> Result<Next, EngineError> {
        let (mut results, mut contents): (Vec<_>, Vec<Blob>) = (Vec::new(), Vec::new());
        for ((operation_id, call_id), done, duration_ms) in told {
            let ended = self.ended((operation_id, &call_id), done, duration_ms);
            let (result, content, _) = ended.map_err(|e| broken(run, &e))?;
            results.push(result);
            contents.push(content);
        }
        Ok(Next::Input(Box::new(Performed {
            input: Input::Settled { results },
            blobs: contents.clone(),
            contents,
        })))
    }
}
