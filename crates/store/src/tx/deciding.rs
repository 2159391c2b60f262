//! Questions, brakes, and runs that wait or stand aside.

use std::collections::BTreeSet;

use wakeful_core::decision::Decision;
use wakeful_core::id::AgentId;
use wakeful_core::key::{DecisionId, RunKey};
use wakeful_core::step::Child;
use wakeful_core::stop::StopRequest;
use wakeful_core::time::Millis;
use wakeful_core::wake::Suspension;

use super::{Tx, View};
use crate::StoreError;
use crate::rows::{AnnouncementRow, BrakeRow, DecisionFilter, Owed};
use crate::{announcement, brake, decision, message, run, step};

impl View<'_> {
    /// When the next run that waits for a moment to come is due; none where nobody waits for one.
    pub fn next_due(&mut self, now: Millis) -> Result<Option<Millis>, StoreError> {
        run::next_due(&mut self.sql, now)
    }

    /// Questions, oldest first.
    pub fn decisions(&mut self, filter: &DecisionFilter) -> Result<Vec<Decision>, StoreError> {
        decision::list(&mut self.sql, filter)
    }

    /// One question.
    pub fn decision(&mut self, decision: &DecisionId) -> Result<Option<Decision>, StoreError> {
        decision::one(&mut self.sql, decision)
    }

    /// Names of questions that begin with these hex digits: at most two.
    pub fn decisions_with_prefix(&mut self, hex_prefix: &str) -> Result<Vec<DecisionId>, StoreError> {
        decision::with_prefix(&mut self.sql, hex_prefix)
    }

    /// Questions of a run that are closed and that it has not been told of, oldest first.
    pub fn rulings(&mut self, run: &RunKey) -> Result<Vec<Decision>, StoreError> {
        decision::rulings(&mut self.sql, run)
    }

    /// Brakes that are on; that of all first.
    pub fn brakes(&mut self) -> Result<Vec<BrakeRow>, StoreError> {
        let mut rows = brake::list(&mut self.sql)?;
        let stored: BTreeSet<Option<AgentId>> = rows.iter().map(|row| row.agent_id.clone()).collect();
        let unstored = self.stops.as_ref().map(|stops| stops.unstored_brakes(&stored));
        rows.extend(unstored.unwrap_or_default().into_iter().filter_map(brake_row));
        rows.sort_by(|one, other| one.agent_id.cmp(&other.agent_id));
        Ok(rows)
    }

    /// Whether a brake holds an agent.
    pub fn is_braked(&mut self, agent: &AgentId) -> Result<bool, StoreError> {
        let is_pending = self.stops.as_ref().is_some_and(|stops| stops.is_braked(agent));
        Ok(is_pending || brake::holds(&mut self.sql, agent)?)
    }

    /// What waits for a person, over all agents.
    pub fn owed(&mut self) -> Result<Owed, StoreError> {
        decision::owed(&mut self.sql)
    }

    /// Who was told of a question, and who could not be.
    pub fn announcements(&mut self, decision: &DecisionId) -> Result<Vec<AnnouncementRow>, StoreError> {
        announcement::of(&mut self.sql, decision)
    }

    /// The runs that one started, ended ones as well.
    pub fn children(&mut self, run: &RunKey) -> Result<Vec<Child>, StoreError> {
        message::children(&mut self.sql, run)
    }

    /// The agents for whose runs an agent's own runs wait.
    pub fn awaited(&mut self, agent: &AgentId) -> Result<Vec<AgentId>, StoreError> {
        message::awaited(&mut self.sql, agent)
    }
}

impl Tx<'_> {
    /// Keeps a question: a new one where `expected` is 0, else the next version of the one with that version.
    pub fn put_decision(&mut self, decision: &Decision, expected: u32) -> Result<(), StoreError> {
        decision::put(&mut self.sql, decision, expected)
    }

    /// Notes that the run has been told how a question ended.
    pub fn apply_decision(&mut self, decision: &DecisionId) -> Result<(), StoreError> {
        decision::apply(&mut self.sql, decision)
    }

    /// Keeps that somebody was told of a question, or could not be. The last try stands; what was done stays done.
    pub fn put_announcement(&mut self, announcement: &AnnouncementRow) -> Result<(), StoreError> {
        announcement::put(&mut self.sql, announcement)
    }

    /// Sets a brake. One that is on stays as it was set.
    pub fn put_brake(&mut self, brake: &BrakeRow) -> Result<bool, StoreError> {
        brake::put(&mut self.sql, brake)
    }

    /// Releases a brake. False where there was none.
    pub fn lift_brake(&mut self, agent: Option<&AgentId>) -> Result<bool, StoreError> {
        brake::lift(&mut self.sql, agent)
    }

    /// Keeps everybody else from starting runs of others until this transaction ends: two that look at once would both
    /// find nobody waiting. Taken after the heads.
    pub fn lock_starting(&mut self) -> Result<(), StoreError> {
        message::lock_starting(&mut self.sql)
    }

    /// Ends what a run waits for, unless that is its turn: it is looked at again at once.
    pub fn make_run_due(&mut self, run: &RunKey) -> Result<(), StoreError> {
        run::make_due(&mut self.sql, run)
    }

    /// Lets an open run wait.
    pub fn suspend_run(&mut self, run: &RunKey, suspension: Suspension) -> Result<(), StoreError> {
        run::suspend(&mut self.sql, run, suspension)
    }

    /// Counts that a run was taken up; how often it was since it last moved.
    pub fn count_claim(&mut self, run: &RunKey) -> Result<u32, StoreError> {
        run::count_claim(&mut self.sql, run)
    }

    /// Forgets how often a run was taken up: whoever had it gave it back in order.
    pub fn forget_claims(&mut self, run: &RunKey) -> Result<(), StoreError> {
        run::forget_claims(&mut self.sql, run)
    }

    /// Moves an open run aside, or one that stands aside to its end or back into the open. The status says which.
    pub fn set_aside(
        &mut self,
        run: &RunKey,
        status: &str,
        fault: Option<&str>,
        at: Millis,
    ) -> Result<bool, StoreError> {
        run::set_aside(&mut self.sql, run, (status, fault), at)
    }

    /// Writes down of the plain actions of a run that were under way that nobody knows how they ended. How many there were.
    pub fn leave_steps(&mut self, run: &RunKey) -> Result<u64, StoreError> {
        step::leave(&mut self.sql, run)
    }
}

/// A pending brake as a row; none where the request is no brake.
fn brake_row(request: StopRequest) -> Option<BrakeRow> {
    let agent_id = request.target.scope()?.cloned();
    Some(BrakeRow {
        agent_id,
        reason: request.reason,
        channel: request.channel,
        at: request.at,
    })
}
