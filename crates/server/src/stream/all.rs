//! The event stream of all listed agents. Each agent's events arrive as in its own stream; new agents are
//! added automatically, and private agents are never included.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use axum::body::Bytes;
use serde_json::json;
use wakeful_core::id::AgentId;
use wakeful_runtime::api::{AgentView, RuntimeApi};
use wakeful_runtime::hub::HubMessage;
use wakeful_runtime::rows::{EventRow, Visibility};
use wakeful_runtime::{EngineError, TextDelta, ToolOutputDelta};

use super::agent::{NewsEffect, follows};
use super::body::{FrameSource, NextFrame};
use super::cursor::{CURSOR_AGENTS_MAX, Positions, Tag};
use super::wait::{StreamEvent, StreamWait};
use super::{LAG_EVENTS_MAX, PAGE_EVENTS, StreamGuard, TOO_MANY_AGENTS, ahead, frame, too_many_agents};
use crate::error::ApiError;
use crate::view;

/// Maximum length of a cursor that is sent with every event: about the length of an event. A longer one is
/// sent only after as many bytes of events, or after a pause, so that cursors never cost more than the
/// events.
pub(super) const CURSOR_EACH_CHARS_MAX: usize = 2_048;

/// Maximum number of private agents that a stream caches. Beyond it the cache is cleared and agents are
/// looked up again.
const PRIVATE_MAX: usize = 256;

pub(super) struct AllStream {
    runtime: Arc<RuntimeApi>,
    wait: StreamWait,
    phase: Phase,
    /// The position of each agent: the last event sent.
    positions: Positions,
    /// Cache of agents that are not listed.
    private: BTreeSet<Tag>,
    /// Agents for which the store has, or may have, more events.
    behind: VecDeque<AgentId>,
    /// The next events of one agent.
    rows: VecDeque<EventRow>,
    /// The agent of `rows`; `None` before the first page.
    rows_of: Option<AgentId>,
    /// Bytes of events sent since the last cursor.
    unplaced: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Opening,
    Running,
    Ended,
}

/// Why a stream must end.
struct StreamEnd(&'static str);

impl From<EngineError> for StreamEnd {
    fn from(_: EngineError) -> Self {
        Self("unavailable")
    }
}

/// Opens a stream after a cursor, or at the newest event of every agent.
pub(super) async fn open(
    runtime: Arc<RuntimeApi>,
    from: Option<Positions>,
    stay: StreamGuard,
) -> Result<AllStream, ApiError> {
    let ear = StreamWait::new(runtime.events.listen(), stay);
    let (positions, behind) = begin(&runtime.agents.list(false).await?, from.as_ref())?;
    Ok(AllStream {
        runtime,
        wait: ear,
        phase: Phase::Opening,
        positions,
        private: BTreeSet::new(),
        behind: behind.into(),
        rows: VecDeque::new(),
        rows_of: None,
        unplaced: 0,
    })
}

/// Determines the start position of each listed agent, and the agents with more events after it.
pub(super) fn begin(
    agents: &[AgentView],
    from: Option<&Positions>,
) -> Result<(Positions, Vec<AgentId>), ApiError> {
    if agents.len() > CURSOR_AGENTS_MAX {
        return Err(too_many_agents());
    }
    let mut positions = Positions::default();
    let mut behind = Vec::new();
    for view in agents {
        let (agent, newest) = (&view.overview.agent.agent_id, view.overview.last_seq);
        let tag = Tag::of(agent);
        // An agent that is not in the cursor was created later, or had no events at that time.
        let seq = from.map_or(newest, |from| from.get(tag).unwrap_or(0));
        if seq > newest {
            return Err(ahead());
        }
        positions.set(tag, seq);
        if seq < newest {
            behind.push(agent.clone());
        }
    }
    Ok((positions, behind))
}

impl FrameSource for AllStream {
    async fn next(mut self: Box<Self>) -> NextFrame<Self> {
        let bytes = self.frame().await?;
        self.wait.note_sent();
        Some((bytes, self))
    }
}

impl AllStream {
    async fn frame(&mut self) -> Option<Bytes> {
        if self.wait.is_over() {
            return None;
        }
        match self.phase {
            Phase::Ended => return None,
            Phase::Opening => {
                self.phase = Phase::Running;
                let cursor = self.positions.encode();
                return Some(frame::opening(&cursor, &json!({"cursor": cursor})));
            }
            Phase::Running => {}
        }
        if self.wait.was_stalled() {
            return Some(self.drop_reader(&StreamEnd("too_slow")));
        }
        match self.running().await {
            Ok(frame) => frame,
            Err(stop) => Some(self.drop_reader(&stop)),
        }
    }

    async fn running(&mut self) -> Result<Option<Bytes>, StreamEnd> {
        loop {
            if let Some(event) = self.next_event() {
                return Ok(Some(event));
            }
            if let Some(agent) = self.behind.pop_front() {
                self.read(agent).await?;
                continue;
            }
            match self.wait.next().await {
                StreamEvent::News(news) => {
                    if let Some(words) = self.take(&news).await? {
                        return Ok(Some(words));
                    }
                }
                StreamEvent::Old(news) => drop(self.take(&news).await?),
                StreamEvent::Lagged => self.look_around().await?,
                StreamEvent::Quiet => return Ok(Some(self.quiet())),
                StreamEvent::Over => return Ok(None),
            }
        }
    }

    fn next_event(&mut self) -> Option<Bytes> {
        let agent = self.rows_of.as_ref()?;
        let row = self.rows.pop_front()?;
        self.positions.set(Tag::of(agent), row.seq);
        let data = frame::one_line(&view::event(agent, &row));
        self.unplaced += data.len();
        let chars = self.positions.encoded_chars();
        if chars > CURSOR_EACH_CHARS_MAX && chars > self.unplaced {
            return Some(frame::event(None, &data));
        }
        self.unplaced = 0;
        Some(frame::event(Some(&self.positions.encode()), &data))
    }

    /// Reads the next page of an agent. A page that is not full is its last one.
    async fn read(&mut self, agent: AgentId) -> Result<(), StreamEnd> {
        let seq = self.positions.get(Tag::of(&agent)).unwrap_or(0);
        let page = self.runtime.events.after(agent.clone(), seq, PAGE_EVENTS).await?;
        if page.len() == PAGE_EVENTS as usize {
            self.behind.push_front(agent.clone());
        } else if self.behind.is_empty() {
            self.wait.caught_up();
        }
        self.rows = page.into();
        self.rows_of = Some(agent);
        Ok(())
    }

    /// Takes the events of a hub message, or returns the frame of its text or output.
    async fn take(&mut self, news: &HubMessage) -> Result<Option<Bytes>, StreamEnd> {
        match news {
            HubMessage::Events { agent_id, events } => {
                if let Some(seq) = self.position(agent_id).await? {
                    match follows(seq, events) {
                        NewsEffect::Rows(rows) => {
                            self.rows = rows;
                            self.rows_of = Some(agent_id.clone());
                        }
                        NewsEffect::Gap => self.behind.push_back(agent_id.clone()),
                    }
                }
                Ok(None)
            }
            HubMessage::Words {
                agent_id,
                run_key,
                attempt,
                chunk,
                text,
            } => {
                let listed = self.position(agent_id).await?;
                Ok(listed.map(|_| {
                    frame::delta(TextDelta {
                        agent: agent_id,
                        run: *run_key,
                        attempt: *attempt,
                        chunk: *chunk,
                        text,
                    })
                }))
            }
            HubMessage::ToolOutput {
                agent_id,
                run_key,
                operation_id,
                stream,
                chunk,
                text,
            } => {
                let listed = self.position(agent_id).await?;
                Ok(listed.map(|_| {
                    frame::tool_output(&ToolOutputDelta {
                        agent: agent_id,
                        run: *run_key,
                        operation_id: *operation_id,
                        stream: *stream,
                        chunk: *chunk,
                        text,
                    })
                }))
            }
        }
    }

    /// The position of a listed agent. A new agent starts before its first event; a private agent has none.
    async fn position(&mut self, agent: &AgentId) -> Result<Option<u64>, StreamEnd> {
        let tag = Tag::of(agent);
        if let Some(seq) = self.positions.get(tag) {
            return Ok(Some(seq));
        }
        if self.private.contains(&tag) {
            return Ok(None);
        }
        let met = self.runtime.agents.get(agent.clone()).await?;
        match met.overview.agent.visibility {
            Visibility::Public => self.join(tag).map(Some),
            Visibility::Private => {
                if self.private.len() == PRIVATE_MAX {
                    self.private.clear();
                }
                self.private.insert(tag);
                Ok(None)
            }
        }
    }

    fn join(&mut self, tag: Tag) -> Result<u64, StreamEnd> {
        if self.positions.len() == CURSOR_AGENTS_MAX {
            return Err(StreamEnd(TOO_MANY_AGENTS));
        }
        self.positions.set(tag, 0);
        Ok(0)
    }

    /// Hub messages were lost: finds agents with more events, and new agents.
    async fn look_around(&mut self) -> Result<(), StreamEnd> {
        let mut missing = 0_u64;
        for view in self.runtime.agents.list(false).await? {
            let (agent, newest) = (view.overview.agent.agent_id, view.overview.last_seq);
            let tag = Tag::of(&agent);
            let seq = match self.positions.get(tag) {
                Some(seq) => seq,
                None => self.join(tag)?,
            };
            missing = missing.saturating_add(newest.saturating_sub(seq));
            if newest > seq {
                self.behind.push_back(agent);
            }
        }
        if missing > LAG_EVENTS_MAX {
            return Err(StreamEnd("too_slow"));
        }
        Ok(())
    }

    fn quiet(&mut self) -> Bytes {
        if self.unplaced == 0 {
            return frame::ALIVE;
        }
        self.unplaced = 0;
        let cursor = self.positions.encode();
        frame::place(&cursor, &json!({"cursor": cursor}))
    }

    fn drop_reader(&mut self, stop: &StreamEnd) -> Bytes {
        self.phase = Phase::Ended;
        let cursor = self.positions.encode();
        frame::dropped(&cursor, &json!({"code": stop.0, "cursor": cursor}))
    }
}
