//! Admission: a message, its wake record and the first state of its run commit together or not at all.

use wakeful_core::blob::Blob;
use wakeful_core::conversation::{Attachment, Block, Entry, Role};
use wakeful_core::id::{AgentId, RunnerId, SessionId, TurnId};
use wakeful_core::key::RunKey;
use wakeful_core::message::{Message, Wishes};
use wakeful_core::policy::OutsideRuns;
use wakeful_core::proof::record::attach;
use wakeful_core::report::payload::{MessageAdmitted, WakeDecided};
use wakeful_core::report::{Draft, Event, Sealed};
use wakeful_core::run::{Input, Reads, Turn};
use wakeful_core::time::Millis;
use wakeful_core::wake::WakeOutcome;
use wakeful_core::wake::{Control, Gate, Lifecycle, MessageFacts, Mode, Refusal, Verdict, decide};
use wakeful_ports::fail;
use wakeful_ports::model::Model;
use wakeful_ports::tool::ToolHost;
use wakeful_store::rows::{Admission, Agent, Claim, Fence, PackedBlob, RunFilter, RunState, Visibility};
use wakeful_store::{StoreError, Tx};

use crate::absorb::{Opening, all_wait, known_gates, take_up};
use crate::cause::{AdmissionOutcome, QueueEntry, wake_row};
use crate::run::{Claimed, Transition, broken};
use crate::{Engine, EngineError};

/// What a person asks for.
#[derive(Debug, Clone)]
pub struct Ask {
    /// Whose turn it is.
    pub agent: AgentId,
    /// What to do when there is no such agent yet.
    pub when_missing: WhenMissing,
    /// The conversation.
    pub session: SessionId,
    /// The turn: fresh, or the caller's idempotency key.
    pub turn: TurnId,
    /// What was said.
    pub prompt: String,
    /// Pictures and documents that come with it, checked before.
    pub attachments: Vec<Attachment>,
    /// How the run is limited.
    pub limits: Limits,
}

/// How a run is limited.
#[derive(Debug, Clone)]
pub struct Limits {
    /// The model.
    pub model_ref: String,
    /// Models that are asked when it fails for good, in this order.
    pub fallbacks: Vec<String>,
    /// Most rounds.
    pub max_rounds: u32,
    /// The folder its commands run in.
    pub workspace: String,
    /// Tools it may not use.
    pub deny_tools: std::collections::BTreeSet<String>,
    /// Tools that it may use only after a person said so.
    pub ask_tools: std::collections::BTreeSet<String>,
    /// Agents of which it may start runs.
    pub may_start: std::collections::BTreeSet<String>,
    /// What its plain actions need if something other than the operator caused it.
    pub outside_runs: OutsideRuns,
}

impl Limits {
    /// The limits under which a run was begun.
    pub(crate) fn of(turn: &Turn) -> Self {
        Self {
            model_ref: turn.model_ref.clone(),
            fallbacks: turn.fallbacks.clone(),
            max_rounds: turn.max_rounds,
            workspace: turn.workspace.clone(),
            deny_tools: turn.deny_tools.clone(),
            ask_tools: turn.ask_tools.clone(),
            may_start: turn.may_start.clone(),
            outside_runs: turn.outside.unwrap_or_default(),
        }
    }
}

/// What to do when there is no such agent yet.
#[derive(Debug, Clone)]
pub enum WhenMissing {
    /// Refuse: a typing error must not make a new agent.
    Refuse,
    /// Make it, bound to the workspace of this ask.
    Create(Visibility),
}

/// What became of an ask.
#[derive(Debug)]
pub enum Admitted {
    /// A new run, ready to be driven.
    New(Box<Claimed>),
    /// The same ask was made before; this is its run.
    Before(RunKey),
}

/// What the admitting transaction found.
enum Found {
    Claimed(Fence, Vec<Event>),
    Before,
    Waits,
    KeyReused,
    Unknown,
    Refused(Refusal),
    /// A brake is on: the message is kept, and this tells of it.
    Kept(Vec<Event>),
    Held(RunnerId),
}

/// Where the message of a wake comes from.
enum Source {
    /// From whoever waits for the answer: it is admitted in the same transaction.
    Caller {
        create: Option<Box<Agent>>,
        body: PackedBlob,
        /// How its run is limited, for whoever begins it where a brake keeps this process from it.
        wishes: Box<Wishes>,
        /// The event that tells of it there.
        kept: Box<Sealed>,
    },
    /// From the queue, where it has waited since its own admission.
    Queue,
}

/// Everything the transaction writes, prepared before it: the closure may run more than once.
struct Admit {
    message: Message,
    source: Source,
    /// What the run takes up beside its own message.
    absorbs: Vec<Message>,
    transition: Transition,
    runner: RunnerId,
}

/// What is to be begun: a message, what it says, how its run is limited, and the events before the run's own.
struct Beginning {
    message: Message,
    source: Source,
    opening: Opening,
    limits: Limits,
    before: Vec<Draft>,
}

impl<M: Model, T: ToolHost> Engine<M, T> {
    /// Admits what a person asked for, and begins its run. Under a brake the message is kept and waits in line; the same
    /// ask begins its run when the brake is released, and so does whoever goes on with what waits.
    pub async fn admit(&self, ask: Ask) -> Result<Admitted, EngineError> {
        let now = self.clock.now();
        let limits = ask.limits.clone();
        let (opening, body) = opening(&ask.prompt, ask.attachments);
        let message = Message::from_operator(ask.agent.clone(), &ask.session, &ask.turn, body.hash(), now);
        let source = Source::Caller {
            create: new_agent(&ask.when_missing, &ask.agent, &ask.limits.workspace, now),
            body: self.store.pack(body).await?,
            kept: Box::new(self.kept_event(&message, &limits, &ask.prompt)?),
            wishes: Box::new(wishes(&limits)),
        };
        let beginning = Beginning {
            before: vec![admitted_event(&message, &ask.prompt), woken_event(&message, 0)],
            message,
            source,
            opening: Opening::plain(opening),
            limits: ask.limits,
        };
        match self.begin(beginning, now).await {
            Err(EngineError::Waits { run }) => self.take_up(run, limits).await,
            begun => begun,
        }
    }

    /// The event of a message that a brake keeps: it is kept with the limits of its run.
    fn kept_event(&self, message: &Message, limits: &Limits, prompt: &str) -> Result<Sealed, EngineError> {
        let kept = Message {
            wishes: wishes(limits),
            ..message.clone()
        };
        let (draft, salt) = (admitted_event(&kept, prompt), self.entropy.bytes32());
        let sealed = Sealed::new(draft, kept.admitted_at, Some(kept.run_key), salt);
        sealed.map_err(|error| broken(kept.run_key, &error))
    }

    /// Begins the run of a message that a brake kept from its turn. What came in by another door waits for a daemon.
    pub async fn take_up(&self, run: RunKey, limits: Limits) -> Result<Admitted, EngineError> {
        let found = self.store.read(move |view| {
            let message = view.message(&run)?.filter(Message::is_of_run_once);
            let body = message.as_ref().map(|message| view.blob(&message.body));
            Ok((message, body.transpose()?.flatten()))
        });
        let (Some(message), body) = found.await? else {
            return Err(EngineError::Waits { run });
        };
        let opening = Opening::of(&message, body.as_deref(), Vec::new())?;
        match self.wake_queued(message, opening, limits).await {
            Err(EngineError::Refused(Refusal::Braked)) => Err(EngineError::Kept { run }),
            begun => begun,
        }
    }

    /// Begins the run of a message that has waited in the queue. `opening` is what it says, and what else is taken up.
    pub(crate) async fn wake_queued(
        &self,
        message: Message,
        opening: Opening,
        limits: Limits,
    ) -> Result<Admitted, EngineError> {
        let beginning = Beginning {
            before: vec![woken_event(&message, opening.absorbs.len())],
            message,
            source: Source::Queue,
            opening,
            limits,
        };
        self.begin(beginning, self.clock.now()).await
    }

    async fn begin(&self, beginning: Beginning, now: Millis) -> Result<Admitted, EngineError> {
        let Beginning {
            message,
            source,
            opening,
            limits,
            before,
        } = beginning;
        let (run, agent) = (message.run_key, message.agent_id.clone());
        let turn = Turn::new(run, limits.model_ref, limits.max_rounds)
            .falling_back(limits.fallbacks)
            .in_workspace(limits.workspace)
            .denying(limits.deny_tools)
            .asking(limits.ask_tools)
            .starting(limits.may_start);
        let Opening { entry, body, absorbs } = opening;
        let taken_up = absorbs.iter().map(|message| &message.cause);
        let turn = turn.caused_by([&message.cause].into_iter().chain(taken_up), limits.outside_runs);
        let input = Input::Admitted {
            body: body.as_ref().map_or(message.body, Blob::hash),
        };
        let mut moved = turn
            .apply(&Reads::default(), input.clone())
            .map_err(|e| broken(run, &e))?;
        moved.events.splice(0..0, before);
        let (turn, effects) = (moved.turn.clone(), moved.effects.clone());
        let transition = self
            .first_transition(&message, moved, &input, (now, body))
            .await?;
        let row = transition.run.clone();
        let admit = Admit {
            message,
            source,
            absorbs,
            transition,
            runner: self.runner.clone(),
        };
        fail::point("admit.before_commit");
        let found = self.store.write(move |tx| admit.commit(tx)).await?;
        fail::point("admit.after_commit");
        match found {
            Found::Claimed(fence, events) => {
                self.observer.saw(&agent, &events);
                Ok(Admitted::New(Box::new(Claimed::fresh(
                    row, turn, fence, effects, entry,
                ))))
            }
            Found::Before => Ok(Admitted::Before(run)),
            Found::Waits => Err(EngineError::Waits { run }),
            Found::KeyReused => Err(EngineError::KeyReused { run }),
            Found::Unknown => Err(EngineError::UnknownAgent(agent)),
            Found::Refused(refusal) => Err(refusal.into()),
            Found::Kept(events) => {
                self.observer.saw(&agent, &events);
                Err(EngineError::Kept { run })
            }
            Found::Held(by) => Err(EngineError::AgentBusy { agent, by }),
        }
    }
}

impl Admit {
    fn commit(&self, tx: &mut Tx<'_>) -> Result<Found, StoreError> {
        let agent_id = &self.message.agent_id;
        if let Source::Caller {
            create: Some(agent), ..
        } = &self.source
        {
            tx.create_agent(agent)?;
        }
        if tx.agent(agent_id)?.is_none() {
            return Ok(Found::Unknown);
        }
        if let Some(found) = self.known(tx)? {
            return Ok(found);
        }
        let fence = match tx.claim_head(agent_id, &self.runner)? {
            Claim::Held { by } => return Ok(Found::Held(by)),
            Claim::Won(fence) => fence,
        };
        // Only now does nobody else move the agent or its queue: what was seen before the claim may be old.
        let (Some(agent), None, true) = (tx.agent(agent_id)?, self.known(tx)?, all_wait(tx, &self.absorbs)?)
        else {
            tx.release_head(agent_id, fence)?;
            return Ok(Found::Before);
        };
        let open = RunFilter {
            agent_id: Some(agent_id.clone()),
            state: RunState::Open,
            limit: 1,
            ..RunFilter::default()
        };
        let open_run = tx.runs(&open)?.first().map(|run| run.run_key);
        let facts = MessageFacts {
            delay: None,
            is_braked: tx.is_braked(agent_id)?,
            open_run,
        };
        let at = self.transition.run.started_at;
        let (verdict, gates) = decide(&agent.availability(), &facts, at);
        let gates = known_gates(tx, &self.message, &gates)?;
        let outcome = match &verdict {
            Verdict::Run => WakeOutcome::Run,
            Verdict::Refused(refusal) => refusal.outcome(),
        };
        let kept = match &verdict {
            Verdict::Refused(Refusal::Braked) => self.keep(tx, fence, &gates)?,
            Verdict::Refused(_) | Verdict::Run => None,
        };
        if kept.is_none() {
            tx.put_wake(&wake_row(&self.message, outcome, &gates, at))?;
        }
        let refused = match verdict {
            Verdict::Refused(refusal) => kept.or(Some(Found::Refused(refusal))),
            Verdict::Run => self.take_in(tx)?,
        };
        if let Some(refused) = refused {
            tx.release_head(agent_id, fence)?;
            return Ok(refused);
        }
        let run = &self.transition.run;
        take_up(tx, &self.absorbs, run.run_key, run.started_at)?;
        tx.create_run(run)?;
        let events = self.transition.write_rest(tx, fence)?;
        Ok(Found::Claimed(fence, events))
    }

    /// Looked at before the claim: asking for what is already there must not disturb whoever drives the agent.
    fn known(&self, tx: &mut Tx<'_>) -> Result<Option<Found>, StoreError> {
        Ok(match &self.source {
            // Whoever else looked at the queue may have taken it first, or a person may have called it off.
            Source::Queue => (!tx.is_queued(&self.message.run_key)?).then_some(Found::Before),
            Source::Caller { .. } => match tx.message(&self.message.run_key)? {
                None => None,
                Some(known) if !self.is(&known) => Some(Found::KeyReused),
                Some(_) if tx.is_queued(&self.message.run_key)? => Some(Found::Waits),
                Some(_) => Some(Found::Before),
            },
        })
    }

    /// Whether a message that is there is this one. How its run is limited stands in it where a brake kept it, and is no part
    /// of what was said.
    fn is(&self, known: &Message) -> bool {
        let wishes = known.wishes.clone();
        known.is_same_as(&Message {
            wishes,
            ..self.message.clone()
        })
    }

    /// Keeps what a brake holds: it is announced and queued, as it would have been by a daemon. None for what is
    /// queued already, which stays queued.
    fn keep(&self, tx: &mut Tx<'_>, fence: Fence, gates: &[Gate]) -> Result<Option<Found>, StoreError> {
        let Source::Caller {
            body, wishes, kept, ..
        } = &self.source
        else {
            return Ok(None);
        };
        let message = Message {
            wishes: (**wishes).clone(),
            ..self.message.clone()
        };
        let entry = QueueEntry {
            message: &message,
            body,
            sealed: kept,
            verdict: Refusal::Braked.outcome(),
            gates,
            not_before: None,
        };
        let mut head = tx.lock_head(&message.agent_id, fence)?;
        Ok(Some(match entry.write(tx, &mut head)? {
            AdmissionOutcome::New(event) => Found::Kept(vec![event]),
            AdmissionOutcome::KeyReused => Found::KeyReused,
            AdmissionOutcome::Known | AdmissionOutcome::Unknown => Found::Before,
            AdmissionOutcome::Refused(refusal) => Found::Refused(refusal),
        }))
    }

    /// The message becomes this run's: out of the queue, or straight from the caller.
    fn take_in(&self, tx: &mut Tx<'_>) -> Result<Option<Found>, StoreError> {
        Ok(match &self.source {
            Source::Queue => {
                tx.dequeue(&self.message.agent_id, &self.message.run_key)?;
                None
            }
            Source::Caller { body, .. } => match tx.admit_message(&self.message)? {
                Admission::New => {
                    tx.put_blob(body)?;
                    None
                }
                // Somebody else admitted it while we waited for the claim.
                Admission::Same => Some(Found::Before),
                Admission::Differs => Some(Found::KeyReused),
            },
        })
    }
}

/// The limits of a run as the wishes of its message.
fn wishes(limits: &Limits) -> Wishes {
    Wishes {
        model_ref: Some(limits.model_ref.clone()),
        max_rounds: Some(limits.max_rounds),
        workspace: Some(limits.workspace.clone()),
        deny_tools: limits.deny_tools.clone(),
        ask_tools: limits.ask_tools.clone(),
    }
}

fn new_agent(
    when_missing: &WhenMissing,
    agent_id: &AgentId,
    workspace: &str,
    now: Millis,
) -> Option<Box<Agent>> {
    let WhenMissing::Create(visibility) = when_missing else {
        return None;
    };
    Some(Box::new(Agent {
        model_ref: None,
        agent_id: agent_id.clone(),
        visibility: *visibility,
        lifecycle: Lifecycle::Active,
        control: Control::Running,
        mode: Mode::default(),
        sleep_until: None,
        workspace: workspace.to_owned(),
        created_at: now,
        usage: wakeful_core::conversation::Usage::default(),
        model_rounds: 0,
    }))
}

/// What a person said, as the first entry of a run and as the blob that keeps it.
/// Attachments stand before the words that speak of them, where models read them best.
pub(crate) fn opening(prompt: &str, attachments: Vec<Attachment>) -> (Entry, Blob) {
    let words = Block::Text {
        text: prompt.to_owned(),
    };
    let blocks: Vec<Block> = attachments
        .into_iter()
        .map(Block::Attachment)
        .chain([words])
        .collect();
    // Text always has a JSON form.
    let body = Blob::new(serde_json::to_vec(&blocks).unwrap_or_default());
    let role = Role::User;
    (Entry { role, blocks }, body)
}

/// A message entered the queue.
pub(crate) fn admitted_event(message: &Message, prompt: &str) -> Draft {
    let cause = &message.cause;
    let mut draft = Draft::new(MessageAdmitted {
        run_key: message.run_key,
        kind: message.kind,
        authority: message.authority,
        surface: message.surface,
        context: message.context,
        text: wakeful_core::run::preview(prompt),
        origin: cause.origin.kind(),
        priority: cause.priority,
        correlation_id: Some(cause.correlation_of(&message.run_key)),
        causation_id: cause.causation.clone(),
        source_refs: cause.origin.source_refs(),
    });
    attach(&mut draft, message);
    draft
}

/// Its turn has come.
fn woken_event(message: &Message, absorbed: usize) -> Draft {
    Draft::new(WakeDecided {
        reason: Some(message.kind),
        absorbed: (absorbed > 0).then_some(absorbed),
        ..WakeDecided::new(message.run_key, WakeOutcome::Run)
    })
}
