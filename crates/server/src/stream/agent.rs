//! The event stream of one agent: its events in sequence order, without duplicates or gaps.
//!
//! The stream subscribes to the hub before it reads the store, so no event is missed between the two. Hub
//! messages are used as long as their sequence numbers are contiguous; otherwise the stream reads the
//! store.

use std::collections::VecDeque;
use std::sync::Arc;

use axum::body::Bytes;
use serde_json::json;
use wakeful_core::id::AgentId;
use wakeful_runtime::api::RuntimeApi;
use wakeful_runtime::hub::HubMessage;
use wakeful_runtime::rows::EventRow;
use wakeful_runtime::{EngineError, TextDelta, ToolOutputDelta};

use super::body::{FrameSource, NextFrame};
use super::wait::{StreamEvent, StreamWait};
use super::{LAG_EVENTS_MAX, PAGE_EVENTS, StreamGuard, ahead, frame};
use crate::error::ApiError;
use crate::view;

pub(super) struct AgentStream {
    runtime: Arc<RuntimeApi>,
    agent: AgentId,
    wait: StreamWait,
    phase: Phase,
    /// Sequence number of the newest event sent.
    seq: u64,
    /// The events after `seq` that are already known.
    rows: VecDeque<EventRow>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// Nothing was sent yet.
    Opening,
    /// The store has, or may have, more events.
    Reading,
    /// The stream is up to date and waits for the hub.
    Listening,
    /// The last frame was sent.
    Ended,
}

/// Opens a stream after a sequence number, or at the newest event.
pub(super) async fn open(
    runtime: Arc<RuntimeApi>,
    agent: AgentId,
    after_seq: Option<u64>,
    stay: StreamGuard,
) -> Result<AgentStream, ApiError> {
    let ear = StreamWait::new(runtime.events.listen(), stay);
    let newest = runtime.agents.get(agent.clone()).await?.overview.last_seq;
    let seq = after_seq.unwrap_or(newest);
    if seq > newest {
        return Err(ahead());
    }
    Ok(AgentStream {
        runtime,
        agent,
        wait: ear,
        phase: Phase::Opening,
        seq,
        rows: VecDeque::new(),
    })
}

impl FrameSource for AgentStream {
    async fn next(mut self: Box<Self>) -> NextFrame<Self> {
        let bytes = self.frame().await?;
        self.wait.note_sent();
        Some((bytes, self))
    }
}

impl AgentStream {
    async fn frame(&mut self) -> Option<Bytes> {
        if self.wait.is_over() || self.phase == Phase::Ended {
            return None;
        }
        if self.phase == Phase::Opening {
            self.phase = Phase::Reading;
            return Some(frame::opening(
                &self.seq.to_string(),
                &json!({"after_seq": self.seq}),
            ));
        }
        if self.wait.was_stalled() {
            return Some(self.drop_reader("too_slow"));
        }
        loop {
            if let Some(row) = self.rows.pop_front() {
                self.seq = row.seq;
                let data = frame::one_line(&view::event(&self.agent, &row));
                return Some(frame::event(Some(&row.seq.to_string()), &data));
            }
            if self.phase == Phase::Reading {
                match self.read().await {
                    Ok(()) => continue,
                    Err(_) => return Some(self.drop_reader("unavailable")),
                }
            }
            match self.wait.next().await {
                StreamEvent::News(news) => {
                    if let Some(words) = self.take(&news) {
                        return Some(words);
                    }
                }
                StreamEvent::Old(news) => drop(self.take(&news)),
                StreamEvent::Lagged => match self.is_far_behind().await {
                    Ok(false) => self.phase = Phase::Reading,
                    Ok(true) => return Some(self.drop_reader("too_slow")),
                    Err(_) => return Some(self.drop_reader("unavailable")),
                },
                StreamEvent::Quiet => return Some(frame::ALIVE),
                StreamEvent::Over => return None,
            }
        }
    }

    /// Reads the next page. A page that is not full is the last one.
    async fn read(&mut self) -> Result<(), EngineError> {
        let page = self
            .runtime
            .events
            .after(self.agent.clone(), self.seq, PAGE_EVENTS)
            .await?;
        if page.len() < PAGE_EVENTS as usize {
            self.phase = Phase::Listening;
            self.wait.caught_up();
        }
        self.rows = page.into();
        Ok(())
    }

    /// Takes the events of a hub message, or returns the frame of its text or output.
    fn take(&mut self, news: &HubMessage) -> Option<Bytes> {
        match news {
            HubMessage::Events { agent_id, events } if *agent_id == self.agent => {
                match follows(self.seq, events) {
                    NewsEffect::Rows(rows) => self.rows = rows,
                    NewsEffect::Gap => self.phase = Phase::Reading,
                }
                None
            }
            HubMessage::Words {
                agent_id,
                run_key,
                attempt,
                chunk,
                text,
            } if *agent_id == self.agent => Some(frame::delta(TextDelta {
                agent: agent_id,
                run: *run_key,
                attempt: *attempt,
                chunk: *chunk,
                text,
            })),
            HubMessage::ToolOutput {
                agent_id,
                run_key,
                operation_id,
                stream,
                chunk,
                text,
            } if *agent_id == self.agent => Some(frame::tool_output(&ToolOutputDelta {
                agent: agent_id,
                run: *run_key,
                operation_id: *operation_id,
                stream: *stream,
                chunk: *chunk,
                text,
            })),
            HubMessage::Events { .. } | HubMessage::Words { .. } | HubMessage::ToolOutput { .. } => None,
        }
    }

    async fn is_far_behind(&self) -> Result<bool, EngineError> {
        let newest = self
            .runtime
            .agents
            .get(self.agent.clone())
            .await?
            .overview
            .last_seq;
        Ok(newest.saturating_sub(self.seq) > LAG_EVENTS_MAX)
    }

    fn drop_reader(&mut self, code: &str) -> Bytes {
        self.phase = Phase::Ended;
        let farewell = json!({"code": code, "after_seq": self.seq});
        frame::dropped(&self.seq.to_string(), &farewell)
    }
}

/// What a hub message means for a stream at a given sequence number.
pub(super) enum NewsEffect {
    /// The next events; empty if all of them are known.
    Rows(VecDeque<EventRow>),
    /// Events are missing in between and must be read from the store.
    Gap,
}

/// Checks whether events continue from a sequence number. A message without events means that the store
/// must be read.
pub(super) fn follows(seq: u64, events: &[EventRow]) -> NewsEffect {
    let news: VecDeque<EventRow> = events.iter().filter(|row| row.seq > seq).cloned().collect();
    let expected = (1..).map(|step| seq.saturating_add(step));
    let unbroken = news.iter().zip(expected).all(|(row, next)| row.seq == next);
    if events.is_empty() || !unbroken {
        return NewsEffect::Gap;
    }
    NewsEffect::Rows(news)
}
