//! Finds the agents that may start or continue work. SQL preselects candidates through indexed columns and
//! reads their facts, page by page until enough are found; [`wakeful_core::wake::eligibility`] decides.

use std::collections::BTreeSet;

use wakeful_core::budget::{Caps, DaySpend, MicroUsd, SpendTotal, UtcDay, room};
use wakeful_core::id::AgentId;
use wakeful_core::key::RunKey;
use wakeful_core::time::Millis;
use wakeful_core::wake::{
    AgentAvailability, AgentControl, Candidate, Delay, InteractionMode, Lifecycle, MessageFacts, RunFacts,
    SET_BACK_MS, may_begin,
};

use crate::queue::QueuedAt;
use crate::rows::{AgentOverview, QueueRow};
use crate::run::suspension;
use crate::sql::{Param, Row, Sql as _, limit, records};
use crate::{ROWS_MAX, Result, View};

/// Candidates read per query. Few are ineligible, so one page is usually enough for a home of typical size.
const PAGE: u32 = 1_000;

/// The time of the search, and the defaults for settings that the database does not contain.
#[derive(Debug, Clone, Copy)]
pub struct WorkQuery {
    pub now: Millis,
    /// The daily cap for all agents together, until a person sets one.
    pub daily_cap: MicroUsd,
}

/// Runs that wait for a later time, a person, other runs or unavailable budget are not read at all. The
/// branches by time return few rows; they spell the agent as an expression, because SQLite would otherwise
/// scan all open runs in agent order instead of searching by time.
pub(crate) const RUNS: &str = "
    SELECT run.agent_id, run.run_key, run.wait_kind, run.wait_until_ms, run.wait_amount, run.wait_limit_id, run.suspended_at_ms,
        (SELECT COUNT(*) FROM run_cancel WHERE run_cancel.run_key = run.run_key),
        (SELECT COUNT(*) FROM brake WHERE brake.agent_id = '' OR brake.agent_id = run.agent_id),
        (SELECT COUNT(*) FROM run AS other WHERE other.agent_id = run.agent_id AND other.status = 'open'
            AND other.run_key <> run.run_key AND (other.wait_kind IS NULL OR other.wait_kind <> 'turn')),
        (SELECT daily_microusd FROM cap WHERE cap.agent_id = run.agent_id),
        (SELECT reserved_microusd + settled_microusd FROM spend_day
            WHERE spend_day.agent_id = run.agent_id AND spend_day.day = ?6),
        (SELECT CASE WHEN max > reserved + settled THEN max - reserved - settled ELSE 0 END FROM budget_limit
            WHERE budget_limit.limit_id = run.wait_limit_id)
    FROM (
        SELECT agent_id, run_key FROM run WHERE status = 'open' AND wait_kind IS NULL AND (agent_id, run_key) > (?2, ?3)
        UNION ALL
        SELECT agent_id, run_key FROM run WHERE status = 'open' AND wait_kind = 'budget'
            AND (agent_id, run_key) > (?2, ?3) AND wait_limit_id IS NULL AND wait_amount <= ?7
            AND NOT EXISTS (SELECT 1 FROM cap
                LEFT JOIN spend_day ON spend_day.agent_id = cap.agent_id AND spend_day.day = ?6
                WHERE cap.agent_id = run.agent_id AND cap.daily_microusd <
                    run.wait_amount + COALESCE(spend_day.reserved_microusd + spend_day.settled_microusd, 0))
        UNION ALL
        SELECT agent_id, run_key FROM run WHERE status = 'open' AND wait_kind = 'budget'
            AND (agent_id, run_key) > (?2, ?3) AND wait_limit_id IS NOT NULL
            AND NOT EXISTS (SELECT 1 FROM budget_limit WHERE budget_limit.limit_id = run.wait_limit_id
                AND budget_limit.max < run.wait_amount + budget_limit.reserved + budget_limit.settled)
        UNION ALL
        SELECT agent_id, run_key FROM run WHERE status = 'open' AND wait_kind = 'turn' AND (agent_id, run_key) > (?2, ?3)
        UNION ALL
        SELECT agent_id || '' AS agent_id, run_key FROM run WHERE status = 'open' AND wait_until_ms IS NOT NULL
            AND wait_until_ms <= ?4 AND (agent_id || '', run_key) > (?2, ?3)
        UNION ALL
        SELECT agent_id || '' AS agent_id, run_key FROM run WHERE status = 'open' AND wait_until_ms IS NOT NULL
            AND wait_until_ms > ?4 AND suspended_at_ms > ?5 AND (agent_id || '', run_key) > (?2, ?3)
        ORDER BY agent_id, run_key LIMIT ?1) AS page
    JOIN run ON run.run_key = page.run_key
    ORDER BY run.agent_id, run.run_key";

/// One message per agent that is not delayed, found through the counters because the queue itself may be
/// long; and every message that was delayed before the clock was set back.
pub(crate) const MESSAGES: &str = "
    SELECT queue.agent_id, queue.seq, queue.due_at_ms, queue.admitted_at_ms,
        agent.lifecycle, agent.control, agent.mode, agent.sleep_until_ms,
        (SELECT COUNT(*) FROM brake WHERE brake.agent_id = '' OR brake.agent_id = queue.agent_id),
        (SELECT run_key FROM run WHERE run.agent_id = queue.agent_id AND run.status = 'open' LIMIT 1)
    FROM (
        SELECT agent_head.agent_id, queue.seq
        FROM agent_head JOIN queue ON queue.agent_id = agent_head.agent_id AND queue.seq = COALESCE(
            (SELECT seq FROM queue WHERE queue.agent_id = agent_head.agent_id AND due_at_ms IS NULL LIMIT 1),
            (SELECT seq FROM queue WHERE queue.agent_id = agent_head.agent_id AND due_at_ms <= ?4 LIMIT 1))
        WHERE agent_head.queued_count > 0 AND agent_head.agent_id >= ?2
            AND NOT EXISTS (SELECT 1 FROM run WHERE run.agent_id = agent_head.agent_id AND run.status = 'open')
            AND EXISTS (SELECT 1 FROM agent WHERE agent.agent_id = agent_head.agent_id AND agent.control = 'running')
            AND NOT EXISTS (SELECT 1 FROM brake WHERE brake.agent_id = '' OR brake.agent_id = agent_head.agent_id)
            AND (agent_head.agent_id || '', queue.seq) > (?2, ?3)
        UNION ALL
        SELECT agent_id || '' AS agent_id, seq FROM queue WHERE due_at_ms IS NOT NULL AND due_at_ms > ?4
            AND admitted_at_ms > ?5 AND (agent_id || '', seq) > (?2, ?3)
        ORDER BY agent_id, seq LIMIT ?1) AS page
    JOIN queue ON queue.agent_id = page.agent_id AND queue.seq = page.seq
    JOIN agent ON agent.agent_id = page.agent_id
    ORDER BY queue.agent_id, queue.seq";

impl View<'_> {
    /// Returns the agents that may continue an open run or start the run of a message, by name, at most
    /// [`ROWS_MAX`].
    pub fn agents_with_work(&mut self, query: WorkQuery) -> Result<Vec<AgentId>> {
        let now = query.now;
        let wanted = usize::try_from(ROWS_MAX).unwrap_or(usize::MAX);
        let (page, back) = (limit(PAGE), set_back(now));
        let budget = self.budget(query)?;
        let mut found = BTreeSet::new();
        let (mut agent, mut run) = (String::new(), Vec::new());
        loop {
            let after = [
                page,
                agent.as_str().into(),
                run.as_slice().into(),
                now.into(),
                back,
                budget.day.0.into(),
                budget.room().0.into(),
            ];
            let rows = self.run_candidates(RUNS, &after, &budget)?;
            let eligible = rows.iter().filter(|row| row.may_begin(now));
            found.extend(eligible.map(|row| row.agent_id.clone()));
            match rows.last() {
                Some(last) if is_full(rows.len()) && found.len() < wanted => {
                    (agent, run) = (last.agent_id.to_string(), last.run_key.0.as_bytes().to_vec());
                }
                Some(_) | None => break,
            }
        }
        let (mut agent, mut seq) = (String::new(), 0);
        while found.len() < wanted {
            let after = [page, agent.as_str().into(), seq.into(), now.into(), back];
            let mut rows = records(self.sql.query(MESSAGES, &after)?, read_message)?;
            for row in &mut rows {
                row.facts.is_braked |= self.is_brake_pending(&row.agent_id);
            }
            let eligible = rows.iter().filter(|row| row.may_begin(now));
            found.extend(eligible.map(|row| row.agent_id.clone()));
            match rows.last() {
                Some(last) if is_full(rows.len()) => (agent, seq) = (last.agent_id.to_string(), last.seq),
                Some(_) | None => break,
            }
        }
        Ok(found.into_iter().take(wanted).collect())
    }

    /// Returns what all agents together have spent, and may spend, on the budget's day.
    fn budget(&mut self, query: WorkQuery) -> Result<DayBudget> {
        let day = UtcDay::of(query.now).not_before(self.latest_spend_day()?);
        Ok(DayBudget {
            day,
            cap: self.cap(None)?.unwrap_or(query.daily_cap),
            spent: self.spent_by_all(day)?,
        })
    }

    fn run_candidates(
        &mut self,
        sql: &'static str,
        params: &[Param<'_>],
        budget: &DayBudget,
    ) -> Result<Vec<RunCandidate>> {
        let mut rows = records(self.sql.query(sql, params)?, |row| read_run(row, budget))?;
        for row in &mut rows {
            row.facts.is_braked |= self.is_brake_pending(&row.agent_id);
        }
        Ok(rows)
    }
}

/// A stored time later than this was measured by a clock that has been set back since.
fn set_back(now: Millis) -> Param<'static> {
    now.0.saturating_add(SET_BACK_MS).into()
}

fn is_full(rows: usize) -> bool {
    u32::try_from(rows).is_ok_and(|rows| rows >= PAGE)
}

/// What all agents together have spent, and may spend, on one day.
struct DayBudget {
    day: UtcDay,
    cap: MicroUsd,
    spent: SpendTotal,
}

impl DayBudget {
    /// The maximum cost of a request by an agent without its own cap.
    fn room(&self) -> MicroUsd {
        self.room_of(None, MicroUsd(0))
    }

    /// The maximum cost of a request by an agent with this cap that has already spent and reserved `spent`.
    fn room_of(&self, agent: Option<MicroUsd>, spent: MicroUsd) -> MicroUsd {
        let caps = Caps { agent, all: self.cap };
        let by_agent = SpendTotal {
            settled: spent,
            reserved: MicroUsd(0),
        };
        room(
            caps,
            DaySpend {
                agent: by_agent,
                all: self.spent,
            },
        )
    }
}

struct RunCandidate {
    agent_id: AgentId,
    run_key: RunKey,
    facts: RunFacts,
}

impl RunCandidate {
    fn may_begin(&self, now: Millis) -> bool {
        may_begin(&Candidate::Run(&self.facts), now)
    }
}

fn read_run(mut row: Row, budget: &DayBudget) -> Result<RunCandidate> {
    let (agent_id, run_key) = (row.agent_id("run.agent_id")?, RunKey(row.digest("run.run_key")?));
    let suspension = suspension(&mut row)?;
    let is_cancel_requested = row.count("run_cancel.run_key")? > 0;
    let is_braked = row.count("brake.agent_id")? > 0;
    let is_other_under_way = row.count("run.wait_kind")? > 0;
    let cap = row.optional_count("cap.daily_microusd")?.map(MicroUsd);
    let spent = MicroUsd(row.optional_count("spend_day.settled_microusd")?.unwrap_or(0));
    let left = row.optional_count("budget_limit.max")?;
    let room = match suspension.and_then(|suspension| suspension.wait.limit()) {
        // A limit that a person removed holds nothing.
        Some(_) => left.unwrap_or(u64::MAX),
        None => budget.room_of(cap, spent).0,
    };
    Ok(RunCandidate {
        agent_id,
        run_key,
        facts: RunFacts {
            suspension,
            is_cancel_requested,
            is_braked,
            is_other_under_way,
            room,
        },
    })
}

struct MessageCandidate {
    agent_id: AgentId,
    seq: u64,
    agent: AgentAvailability,
    facts: MessageFacts,
}

impl MessageCandidate {
    fn may_begin(&self, now: Millis) -> bool {
        may_begin(&Candidate::Message(&self.agent, &self.facts), now)
    }
}

fn read_message(mut row: Row) -> Result<MessageCandidate> {
    let (agent_id, seq) = (row.agent_id("queue.agent_id")?, row.count("queue.seq")?);
    let (until, admitted_at) = (
        row.optional_millis("queue.due_at_ms")?,
        row.millis("queue.admitted_at_ms")?,
    );
    let agent = AgentAvailability {
        lifecycle: row.word("agent.lifecycle", Lifecycle::parse)?,
        control: row.word("agent.control", AgentControl::parse)?,
        mode: row.word("agent.mode", InteractionMode::parse)?,
        sleep_until: row.optional_millis("agent.sleep_until_ms")?,
    };
    let facts = MessageFacts {
        delay: until.map(|until| Delay { until, admitted_at }),
        is_braked: row.count("brake.agent_id")? > 0,
        open_run: row.optional_digest("run.run_key")?.map(RunKey),
    };
    Ok(MessageCandidate {
        agent_id,
        seq,
        agent,
        facts,
    })
}

pub(crate) const RUNS_OF_AGENT: &str = "
    SELECT run.agent_id, run.run_key, run.wait_kind, run.wait_until_ms, run.wait_amount, run.wait_limit_id, run.suspended_at_ms,
        (SELECT COUNT(*) FROM run_cancel WHERE run_cancel.run_key = run.run_key),
        (SELECT COUNT(*) FROM brake WHERE brake.agent_id = '' OR brake.agent_id = run.agent_id),
        (SELECT COUNT(*) FROM run AS other WHERE other.agent_id = run.agent_id AND other.status = 'open'
            AND other.run_key <> run.run_key AND (other.wait_kind IS NULL OR other.wait_kind <> 'turn')),
        (SELECT daily_microusd FROM cap WHERE cap.agent_id = run.agent_id),
        (SELECT reserved_microusd + settled_microusd FROM spend_day
            WHERE spend_day.agent_id = run.agent_id AND spend_day.day = ?3),
        (SELECT CASE WHEN max > reserved + settled THEN max - reserved - settled ELSE 0 END FROM budget_limit
            WHERE budget_limit.limit_id = run.wait_limit_id)
    FROM run WHERE run.agent_id = ?1 AND run.status = 'open' ORDER BY +run.started_at_ms, run.run_key LIMIT ?2";

impl View<'_> {
    /// Returns the run that an agent continues: the oldest eligible one, but first one with a pending
    /// cancellation, because that does not wait for anything.
    pub fn due_run(&mut self, agent: &AgentId, query: WorkQuery) -> Result<Option<RunKey>> {
        let budget = self.budget(query)?;
        let params = [agent.into(), limit(ROWS_MAX), budget.day.0.into()];
        let runs = self.run_candidates(RUNS_OF_AGENT, &params, &budget)?;
        let due = runs.into_iter().filter(|run| run.may_begin(query.now));
        let first = due.min_by_key(|run| !run.facts.is_cancel_requested);
        Ok(first.map(|run| run.run_key))
    }
}

/// Minimum number of messages of an agent read per query, even if fewer are wanted, because many of them
/// may be ineligible.
const QUEUE_PAGE_MIN: u32 = 64;

const QUEUED: &str = "
    SELECT seq, run_key, due_at_ms, rank, admitted_at_ms FROM queue
    WHERE agent_id = ?1 AND (due_at_ms IS NULL OR due_at_ms <= ?2 OR admitted_at_ms > ?3) AND (rank, seq) > (?4, ?5)
    ORDER BY rank, seq LIMIT ?6";

impl View<'_> {
    /// Returns the messages of an agent that may start now, in queue order.
    fn messages(&mut self, agent: &AgentOverview, now: Millis, at_most: u32) -> Result<Vec<QueueRow>> {
        let (agent_id, availability, facts) = (
            &agent.agent.agent_id,
            agent.agent.availability(),
            agent.message_facts(),
        );
        let begins = |delay: Option<Delay>| {
            let facts = MessageFacts { delay, ..facts };
            may_begin(&Candidate::Message(&availability, &facts), now)
        };
        let wanted = usize::try_from(at_most).unwrap_or(usize::MAX);
        let (mut found, mut rank, mut seq) = (Vec::new(), i64::MIN, 0);
        // Skip reading the queue if the agent itself is held.
        while begins(None) && found.len() < wanted {
            let after = [
                agent_id.into(),
                now.into(),
                set_back(now),
                rank.into(),
                seq.into(),
                limit(at_most.max(QUEUE_PAGE_MIN)),
            ];
            let rows = records(self.sql.query(QUEUED, &after)?, |mut row| {
                let place = QueuedAt::read(&mut row)?;
                Ok((place, row.int("queue.rank")?, row.millis("queue.admitted_at_ms")?))
            })?;
            let Some((last, last_rank, _)) = rows.last() else {
                break;
            };
            (rank, seq) = (*last_rank, last.seq);
            let eligible = rows.into_iter().filter(|(place, _, admitted_at)| {
                begins(place.not_before.map(|until| Delay {
                    until,
                    admitted_at: *admitted_at,
                }))
            });
            found.extend(eligible.map(|(place, _, _)| place));
        }
        found.truncate(wanted);
        self.with_messages(found)
    }

    /// Returns the next message of an agent that may start now.
    pub fn next_message(&mut self, agent: &AgentOverview, now: Millis) -> Result<Option<QueueRow>> {
        Ok(self.messages(agent, now, 1)?.pop())
    }

    /// Returns the messages that may start now and that one run may absorb together, in queue order.
    pub fn absorbable_messages(
        &mut self,
        agent: &AgentOverview,
        now: Millis,
        at_most: u32,
    ) -> Result<Vec<QueueRow>> {
        let mut rows = self.messages(agent, now, at_most)?;
        rows.retain(|row| row.message.is_absorbed());
        Ok(rows)
    }
}
