//! Admission: a message, its wake record and the first state of its run commit together or not at all.

use wakeful_core::blob::Blob;
use wakeful_core::conversation::{Block, Entry, Role};
use wakeful_core::id::{AgentId, RunnerId, SessionId, TurnId};
use wakeful_core::key::RunKey;
use wakeful_core::message::Message;
use wakeful_core::report::{Draft, Kind};
use wakeful_core::run::{Input, Moved, Reads, Turn};
use wakeful_core::time::Millis;
use wakeful_core::wake::{Candidate, Gate, Lifecycle, Refusal, Verdict, decide};
use wakeful_ports::fail;
use wakeful_ports::model::Model;
use wakeful_ports::records::{Admission, Agent, Claim, Fence, PackedBlob, RunFilter, Visibility, WakeRow};
use wakeful_ports::store::{Store, StoreError, Tx};
use wakeful_ports::tool::ToolHost;

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
    /// How the run is limited.
    pub limits: Limits,
}

/// How a run is limited.
#[derive(Debug, Clone)]
pub struct Limits {
    /// The model.
    pub model_ref: String,
    /// Most rounds.
    pub max_rounds: u32,
    /// The folder its commands run in.
    pub workspace: String,
    /// Tools it may not use.
    pub deny_tools: std::collections::BTreeSet<String>,
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
    Claimed(Fence),
    Before,
    KeyReused,
    Unknown,
    Refused(Refusal),
    Held(RunnerId),
}

/// Everything the transaction writes, prepared before it: the closure may run more than once.
struct Admit {
    message: Message,
    body: PackedBlob,
    create: Option<Agent>,
    transition: Transition,
    runner: RunnerId,
}

impl<S: Store, M: Model, T: ToolHost> Engine<S, M, T> {
    /// Admits what a person asked for, and begins its run.
    pub async fn admit(&self, ask: Ask) -> Result<Admitted, EngineError> {
        let now = self.clock.now();
        let opening = Entry {
            role: Role::User,
            blocks: vec![Block::Text {
                text: ask.prompt.clone(),
            }],
        };
        // Text always has a JSON form.
        let body = Blob::new(serde_json::to_vec(&opening.blocks).unwrap_or_default());
        let message = Message::from_operator(ask.agent.clone(), &ask.session, &ask.turn, body.hash(), now);
        let run = message.run_key;
        let Limits {
            model_ref,
            max_rounds,
            workspace,
            deny_tools,
        } = ask.limits;
        let create = new_agent(&ask.when_missing, &ask.agent, &workspace, now);
        let turn = Turn::new(run, model_ref, max_rounds)
            .in_workspace(workspace)
            .denying(deny_tools);
        let input = Input::Admitted { body: body.hash() };
        let mut moved = turn
            .apply(&Reads::default(), input.clone())
            .map_err(|e| broken(run, &e))?;
        announce(&mut moved, &message, &ask.prompt);
        let (turn, effects) = (moved.turn.clone(), moved.effects.clone());
        let transition = self.first_transition(&message, moved, &input).await?;
        let (row, events) = (transition.run.clone(), transition.events.clone());
        let body = self.store.pack(body).await?;
        let admit = Admit {
            message,
            body,
            create,
            transition,
            runner: self.runner.clone(),
        };
        fail::point("admit.before_commit");
        let found = self.store.write(move |tx| admit.commit(tx)).await?;
        fail::point("admit.after_commit");
        match found {
            Found::Claimed(fence) => {
                self.observer.saw(&run, &events);
                Ok(Admitted::New(Box::new(Claimed::fresh(
                    row, turn, fence, effects, opening,
                ))))
            }
            Found::Before => Ok(Admitted::Before(run)),
            Found::KeyReused => Err(EngineError::KeyReused { run }),
            Found::Unknown => Err(EngineError::UnknownAgent(ask.agent)),
            Found::Refused(refusal) => Err(refusal.into()),
            Found::Held(by) => Err(EngineError::AgentBusy { agent: ask.agent, by }),
        }
    }
}

impl Admit {
    fn commit(&self, tx: &mut dyn Tx) -> Result<Found, StoreError> {
        let agent_id = &self.message.agent_id;
        if let Some(agent) = &self.create {
            tx.create_agent(agent)?;
        }
        let Some(agent) = tx.agent(agent_id)? else {
            return Ok(Found::Unknown);
        };
        // Looked at before the claim: asking for what is already there must not disturb whoever drives the agent.
        if let Some(known) = tx.message(&self.message.run_key)? {
            return Ok(if known.is_same_as(&self.message) {
                Found::Before
            } else {
                Found::KeyReused
            });
        }
        let fence = match tx.claim_head(agent_id, &self.runner)? {
            Claim::Held { by } => return Ok(Found::Held(by)),
            Claim::Won(fence) => fence,
        };
        let open = RunFilter {
            agent_id: Some(agent_id.clone()),
            open_only: true,
            limit: 1,
        };
        let open_run = tx.runs(&open)?.first().map(|run| run.run_key);
        let (verdict, gates) = decide(&Candidate {
            lifecycle: agent.lifecycle,
            open_run,
        });
        tx.put_wake(&self.wake_row(&verdict, &gates))?;
        let found = match verdict {
            Verdict::Refused(refusal) => Found::Refused(refusal),
            Verdict::Run => match tx.admit_message(&self.message)? {
                Admission::New => Found::Claimed(fence),
                // Somebody else admitted it while we waited for the claim.
                Admission::Same => Found::Before,
                Admission::Differs => Found::KeyReused,
            },
        };
        if let Found::Claimed(fence) = found {
            tx.put_blob(&self.body)?;
            tx.create_run(&self.transition.run)?;
            self.transition.write_rest(tx, fence)?;
        } else {
            tx.release_head(agent_id, fence)?;
        }
        Ok(found)
    }

    fn wake_row(&self, verdict: &Verdict, gates: &[Gate]) -> WakeRow {
        let verdict = match verdict {
            Verdict::Run => "run".to_owned(),
            Verdict::Refused(refusal) => refusal.code().to_owned(),
        };
        let gates = serde_json::to_string(gates).unwrap_or_default();
        let Message {
            run_key,
            agent_id,
            admitted_at,
            ..
        } = &self.message;
        WakeRow {
            run_key: *run_key,
            agent_id: agent_id.clone(),
            verdict,
            gates,
            at: *admitted_at,
        }
    }
}

fn new_agent(when_missing: &WhenMissing, agent_id: &AgentId, workspace: &str, now: Millis) -> Option<Agent> {
    let WhenMissing::Create(visibility) = when_missing else {
        return None;
    };
    Some(Agent {
        agent_id: agent_id.clone(),
        visibility: *visibility,
        lifecycle: Lifecycle::Active,
        workspace: workspace.to_owned(),
        created_at: now,
        usage: wakeful_core::conversation::Usage::default(),
        model_rounds: 0,
    })
}

/// Puts admission and wake before what the machine itself has to show.
fn announce(moved: &mut Moved, message: &Message, prompt: &str) {
    let admitted = serde_json::json!({
        "run_key": message.run_key, "kind": message.kind, "authority": message.authority,
        "surface": message.surface, "text": wakeful_core::run::preview(prompt),
    });
    let woken = serde_json::json!({"run_key": message.run_key, "verdict": "run", "reason": message.kind});
    let before = [
        Draft::new(Kind::MessageAdmitted, admitted),
        Draft::new(Kind::WakeDecided, woken),
    ];
    moved.events.splice(0..0, before);
}
