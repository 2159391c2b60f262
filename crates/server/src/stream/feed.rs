//! Pages of the events of all listed agents. Each agent is a lane, and the lanes are merged by time.

use std::collections::VecDeque;

use wakeful_api::{Event, EventFeed};
use wakeful_core::id::AgentId;
use wakeful_core::time::Millis;
use wakeful_runtime::api::{AgentView, RuntimeApi};
use wakeful_runtime::rows::EventRow;

use super::all;
use super::cursor::{Positions, Tag};
use crate::error::ApiError;
use crate::view;

/// Minimum number of events read per agent at a time; with fewer, many agents would require many reads per
/// page.
const CHUNK_EVENTS_MIN: u32 = 8;

/// Reads a page of the events of all listed agents, oldest first: after a cursor, or the newest.
pub(super) async fn read(
    runtime: &RuntimeApi,
    from: Option<Positions>,
    limit: u32,
) -> Result<EventFeed, ApiError> {
    let agents = runtime.agents.list(false).await?;
    let (positions, _) = all::begin(&agents, from.as_ref())?;
    match from {
        Some(_) => following(runtime, agents, positions, limit).await,
        None => newest(runtime, agents, &positions, limit).await,
    }
}

struct Lane {
    agent: AgentId,
    rows: VecDeque<EventRow>,
    /// Number of events in the store beyond those read.
    unread: u64,
    /// Position of the next read.
    edge: u64,
}

/// Events after the positions: by sequence number within an agent, by time between agents, so that a clock
/// that was set back does not reorder one log.
async fn following(
    runtime: &RuntimeApi,
    agents: Vec<AgentView>,
    mut positions: Positions,
    limit: u32,
) -> Result<EventFeed, ApiError> {
    let at = |agent: &AgentId| positions.get(Tag::of(agent)).unwrap_or(0);
    let mut lanes = lanes(agents, |agent, newest| {
        (at(agent), newest.saturating_sub(at(agent)))
    });
    let chunk = chunk(limit, lanes.len());
    let mut events = Vec::new();
    while events.len() < limit as usize {
        for lane in lanes
            .iter_mut()
            .filter(|lane| lane.rows.is_empty() && lane.unread > 0)
        {
            let rows = runtime.events.after(lane.agent.clone(), lane.edge, chunk).await?;
            lane.edge = rows.last().map_or(lane.edge, |row| row.seq);
            lane.refill(rows);
        }
        let ready = lanes.iter_mut().filter(|lane| !lane.rows.is_empty());
        let Some(lane) = ready.min_by(|a, b| a.key(a.rows.front()).cmp(&b.key(b.rows.front()))) else {
            break;
        };
        if let Some(row) = lane.rows.pop_front() {
            positions.set(Tag::of(&lane.agent), row.seq);
            events.push(view::event(&lane.agent, &row));
        }
    }
    let has_more = lanes.iter().any(|lane| !lane.rows.is_empty() || lane.unread > 0);
    let cursor = positions.encode();
    Ok(EventFeed {
        events,
        cursor,
        has_more,
    })
}

/// The newest events up to the positions, read from the end.
async fn newest(
    runtime: &RuntimeApi,
    agents: Vec<AgentView>,
    positions: &Positions,
    limit: u32,
) -> Result<EventFeed, ApiError> {
    let mut lanes = lanes(agents, |_, newest| (newest.saturating_add(1), newest));
    let chunk = chunk(limit, lanes.len());
    let mut events: Vec<Event> = Vec::new();
    while events.len() < limit as usize {
        for lane in lanes
            .iter_mut()
            .filter(|lane| lane.rows.is_empty() && lane.unread > 0)
        {
            let rows = runtime
                .events
                .before(lane.agent.clone(), lane.edge, chunk)
                .await?;
            lane.edge = rows.first().map_or(lane.edge, |row| row.seq);
            lane.refill(rows);
        }
        let ready = lanes.iter_mut().filter(|lane| !lane.rows.is_empty());
        let Some(lane) = ready.max_by(|a, b| a.key(a.rows.back()).cmp(&b.key(b.rows.back()))) else {
            break;
        };
        if let Some(row) = lane.rows.pop_back() {
            events.push(view::event(&lane.agent, &row));
        }
    }
    events.reverse();
    Ok(EventFeed {
        events,
        cursor: positions.encode(),
        has_more: false,
    })
}

impl Lane {
    /// Sort key of the next event, from either end; the agent id breaks ties.
    fn key<'a>(&'a self, row: Option<&EventRow>) -> (Option<Millis>, &'a AgentId) {
        (row.map(|row| row.at), &self.agent)
    }

    fn refill(&mut self, rows: Vec<EventRow>) {
        let read = u64::try_from(rows.len()).unwrap_or(u64::MAX);
        // An empty read means that the store has no more events, regardless of the earlier count.
        self.unread = if read == 0 {
            0
        } else {
            self.unread.saturating_sub(read)
        };
        self.rows = rows.into();
    }
}

/// The agents with events for the page: where to read each, and how many events it has.
fn lanes(agents: Vec<AgentView>, part: impl Fn(&AgentId, u64) -> (u64, u64)) -> Vec<Lane> {
    let lanes = agents.into_iter().map(|view| {
        let (edge, unread) = part(&view.overview.agent.agent_id, view.overview.last_seq);
        Lane {
            agent: view.overview.agent.agent_id,
            rows: VecDeque::new(),
            unread,
            edge,
        }
    });
    lanes.filter(|lane| lane.unread > 0).collect()
}

/// Number of events to read per agent at a time: its share of the page, within bounds.
fn chunk(limit: u32, lanes: usize) -> u32 {
    let share = limit.div_ceil(u32::try_from(lanes).unwrap_or(u32::MAX).max(1));
    share.max(CHUNK_EVENTS_MIN).min(limit)
}
