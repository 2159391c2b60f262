//! The driver: one loop that everything rests on.
//!
//! Perform the pending effects, give their results to the machine, commit what it answers in one transaction,
//! and go on with the effects of that. A crash between any two lines leaves a state whose pending effects the
//! same loop meets again.

mod transition;

use wakeful_core::conversation::{Block, Entry, ToolCall};
use wakeful_core::failure::clip;
use wakeful_core::id::AgentId;
use wakeful_core::key::RunKey;
use wakeful_core::prompt::WINDOW_ENTRIES_MAX;
use wakeful_core::run::{Effect, Input, MACHINE, MACHINE_VERSION, Moved, Reads, Turn};
use wakeful_ports::fail;
use wakeful_ports::model::Model;
use wakeful_ports::records::{Claim, EntryRow, Fence, RunRow};
use wakeful_ports::store::{Store, StoreError};
use wakeful_ports::tool::ToolHost;

pub(crate) use transition::Transition;

use crate::step::{Freshness, Performed};
use crate::{Engine, EngineError};

/// How often a transition is tried again when the run was changed behind our back. Only our own mistakes can
/// do that, so a few times are plenty.
const CONFLICTS_MAX: u32 = 3;

/// A run that this process may drive.
#[derive(Debug)]
pub struct Claimed {
    /// The run as it is stored.
    pub(crate) row: RunRow,
    pub(crate) turn: Turn,
    pub(crate) fence: Fence,
    pub(crate) effects: Vec<Effect>,
    pub(crate) freshness: Freshness,
    /// The transcript as far as the next request needs it; none until it is loaded.
    pub(crate) thread: Option<Thread>,
    /// The tool calls of the newest reply, with their arguments; empty until they are needed after a crash.
    pub(crate) asked: Vec<ToolCall>,
    opening: Option<Entry>,
}

/// The part of a transcript that requests are made of, kept in memory while the run is driven.
#[derive(Debug, Clone)]
pub(crate) struct Thread {
    pub(crate) opening: Entry,
    pub(crate) entries: Vec<Entry>,
}

impl Claimed {
    /// A run that has just been admitted by this process.
    pub(crate) fn fresh(row: RunRow, turn: Turn, fence: Fence, effects: Vec<Effect>, opening: Entry) -> Self {
        let (freshness, opening) = (Freshness::Fresh, Some(opening));
        Self {
            row,
            turn,
            fence,
            effects,
            freshness,
            thread: None,
            asked: Vec::new(),
            opening,
        }
    }

    /// The run's name.
    #[must_use]
    pub const fn run_key(&self) -> RunKey {
        self.row.run_key
    }

    /// Whose run it is.
    #[must_use]
    pub const fn agent_id(&self) -> &AgentId {
        &self.row.agent_id
    }
}

impl<S: Store, M: Model, T: ToolHost> Engine<S, M, T> {
    /// Takes over an open run, wherever a crash or a stop has left it. None when it has ended.
    pub async fn claim(&self, run: RunKey) -> Result<Option<Box<Claimed>>, EngineError> {
        let runner = self.runner.clone();
        let claimed = self.store.write(move |tx| {
            let Some(row) = tx.run(&run)? else { return Ok(None) };
            Ok(Some((tx.claim_head(&row.agent_id, &runner)?, row)))
        });
        let Some((claim, row)) = claimed.await? else {
            return Err(EngineError::UnknownRun(run));
        };
        fail::point("claim.after_commit");
        let fence = match claim {
            Claim::Won(fence) => fence,
            Claim::Held { by } => {
                return Err(EngineError::AgentBusy {
                    agent: row.agent_id,
                    by,
                });
            }
        };
        let turn = decode(&row)?;
        if turn.outcome().is_some() {
            self.release(&row.agent_id, fence).await?;
            return Ok(None);
        }
        let effects = turn.pending();
        let freshness = Freshness::Recovered;
        let (thread, asked, opening) = (None, Vec::new(), None);
        Ok(Some(Box::new(Claimed {
            row,
            turn,
            fence,
            effects,
            freshness,
            thread,
            asked,
            opening,
        })))
    }

    /// Drives a run to its end.
    pub async fn drive(&self, mut claimed: Box<Claimed>) -> Result<RunKey, EngineError> {
        let mut conflicts = 0;
        while claimed.turn.outcome().is_none() {
            let performed = self.perform(&mut claimed).await?;
            match self.transit(&mut claimed, performed).await {
                Ok(()) => conflicts = 0,
                Err(EngineError::Store(StoreError::Conflict)) if conflicts < CONFLICTS_MAX => {
                    conflicts += 1;
                    let run = claimed.run_key();
                    let Some(again) = self.claim(run).await? else {
                        return Ok(run);
                    };
                    claimed = again;
                }
                Err(error) => return Err(error),
            }
        }
        self.release(&claimed.row.agent_id, claimed.fence).await?;
        Ok(claimed.run_key())
    }

    /// Applies one input and commits everything it leads to.
    async fn transit(&self, claimed: &mut Claimed, performed: Performed) -> Result<(), EngineError> {
        let run = claimed.run_key();
        let Performed {
            input,
            contents,
            blobs,
        } = performed;
        let reads = self.reads(claimed, &input).await?;
        let moved = claimed
            .turn
            .clone()
            .apply(&reads, input.clone())
            .map_err(|e| broken(run, &e))?;
        let (turn, effects, entries) = (moved.turn.clone(), moved.effects.clone(), moved.entries.clone());
        let contents = contents_of(contents, &moved);
        let transition = self
            .next_transition(claimed, moved, (&input, &reads), blobs)
            .await?;
        let (row, events) = (transition.run.clone(), transition.events.clone());
        let fence = claimed.fence;
        fail::point("transition.before_commit");
        self.store.write(move |tx| transition.write(tx, fence)).await?;
        fail::point("transition.after_commit");
        self.observer.saw(&run, &events);
        self.extend_thread(claimed, &entries, &contents).await?;
        (claimed.row, claimed.turn, claimed.effects) = (row, turn, effects);
        claimed.freshness = Freshness::Fresh;
        Ok(())
    }

    /// Loads what the machine must know to take this input: for a reply, what is known of each call.
    async fn reads(&self, claimed: &Claimed, input: &Input) -> Result<Reads, EngineError> {
        let Input::Replied(reply) = input else {
            return Ok(Reads::default());
        };
        let run = claimed.run_key();
        let bases: Vec<_> = reply.calls.iter().map(|call| call.parts.base()).collect();
        let seen = if bases.is_empty() {
            Vec::new()
        } else {
            self.store
                .read(move |view| bases.iter().map(|base| view.seen(&run, base)).collect())
                .await?
        };
        let calls = reply.calls.iter().zip(&claimed.asked).zip(seen);
        let calls = calls.map(|((call, asked), seen)| {
            self.call_reads(&call.parts.tool, &asked.input, seen, &claimed.turn.deny_tools)
        });
        Ok(Reads {
            calls: calls.collect(),
        })
    }

    /// Loads the transcript once; afterwards it grows in memory with every commit.
    pub(crate) async fn load_thread(&self, claimed: &mut Claimed) -> Result<(), EngineError> {
        if claimed.thread.is_some() {
            return Ok(());
        }
        let (run, thread_id) = (claimed.run_key(), claimed.row.thread_id.clone());
        let newest = u32::try_from(WINDOW_ENTRIES_MAX).unwrap_or(u32::MAX);
        let (rows, bodies, opening) = self
            .store
            .read(move |view| {
                let rows = view.entries(&thread_id, newest)?;
                let bodies = rows
                    .iter()
                    .map(|row| view.blob(&row.content))
                    .collect::<Result<Vec<_>, _>>()?;
                let opening = match view.message(&run)? {
                    Some(message) => view.blob(&message.body)?,
                    None => None,
                };
                Ok((rows, bodies, opening))
            })
            .await?;
        let entries = rows
            .iter()
            .zip(bodies)
            .map(|(row, body)| decode_entry(run, row, body.as_deref()));
        let entries = entries.collect::<Result<Vec<Entry>, EngineError>>()?;
        let opening = match claimed.opening.take() {
            Some(opening) => opening,
            None => Entry {
                role: wakeful_core::conversation::Role::User,
                blocks: blocks(run, opening.as_deref())?,
            },
        };
        claimed.thread = Some(Thread { opening, entries });
        Ok(())
    }

    async fn extend_thread(
        &self,
        claimed: &mut Claimed,
        entries: &[wakeful_core::run::EntryWrite],
        contents: &[(wakeful_core::blob::BlobHash, Vec<u8>)],
    ) -> Result<(), EngineError> {
        let run = claimed.run_key();
        let Some(thread) = &mut claimed.thread else {
            return Ok(());
        };
        for entry in entries {
            let known = contents.iter().find(|(hash, _)| *hash == entry.content);
            let bytes = match known {
                Some((_, bytes)) => Some(bytes.clone()),
                None => {
                    let hash = entry.content;
                    self.store.read(move |view| view.blob(&hash)).await?
                }
            };
            thread.entries.push(Entry {
                role: entry.role,
                blocks: blocks(run, bytes.as_deref())?,
            });
        }
        let surplus = thread.entries.len().saturating_sub(WINDOW_ENTRIES_MAX);
        thread.entries.drain(..surplus);
        Ok(())
    }

    async fn release(&self, agent: &AgentId, fence: Fence) -> Result<(), EngineError> {
        let agent = agent.clone();
        Ok(self.store.write(move |tx| tx.release_head(&agent, fence)).await?)
    }
}

/// The contents that this transition names, so that the transcript in memory can grow without reading.
fn contents_of(
    mut contents: Vec<wakeful_core::blob::Blob>,
    moved: &Moved,
) -> Vec<(wakeful_core::blob::BlobHash, Vec<u8>)> {
    contents.extend(moved.blobs.iter().cloned());
    contents
        .into_iter()
        .map(|blob| (blob.hash(), blob.bytes().to_vec()))
        .collect()
}

/// Reads the state of a run, if this program has its machine.
pub fn decode(row: &RunRow) -> Result<Turn, EngineError> {
    if row.machine != MACHINE || row.machine_version != MACHINE_VERSION {
        let (run, machine, version) = (row.run_key, row.machine.clone(), row.machine_version);
        return Err(EngineError::MachineVersion {
            run,
            machine,
            version,
        });
    }
    serde_json::from_str(&row.state).map_err(|e| broken(row.run_key, &e))
}

fn decode_entry(run: RunKey, row: &EntryRow, body: Option<&[u8]>) -> Result<Entry, EngineError> {
    Ok(Entry {
        role: row.role,
        blocks: blocks(run, body)?,
    })
}

pub(crate) fn blocks(run: RunKey, body: Option<&[u8]>) -> Result<Vec<Block>, EngineError> {
    let body = body.ok_or_else(|| EngineError::Broken {
        run,
        why: "a transcript entry is missing".into(),
    })?;
    serde_json::from_slice(body).map_err(|e| broken(run, &e))
}

/// A run that cannot go on because of what is stored.
pub(crate) fn broken(run: RunKey, why: &dyn std::error::Error) -> EngineError {
    EngineError::Broken {
        run,
        why: clip(&why.to_string(), 300),
    }
}
