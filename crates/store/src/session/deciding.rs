//! Questions, brakes, and runs that wait or stand aside.

use std::collections::BTreeSet;

use wakeful_core::decision::Decision;
use wakeful_core::id::AgentId;
use wakeful_core::key::{DecisionId, RunKey};
use wakeful_core::run::RunStatus;
use wakeful_core::step::Child;
use wakeful_core::stop::StopRequest;
use wakeful_core::time::Millis;
use wakeful_ports::records::{AnnouncementRow, BrakeRow, DecisionFilter, Owed};
use wakeful_ports::stops::Stops as _;
use wakeful_ports::store::{DecidingTx, DecidingView, StoreError};

use super::Session;
use crate::{announcement, brake, decision, message, run, step};

impl DecidingView for Session<'_> {
    fn next_due(&mut self, now: Millis) -> Result<Option<Millis>, StoreError> {
        run::next_due(self, now)
    }

    fn decisions(&mut self, filter: &DecisionFilter) -> Result<Vec<Decision>, StoreError> {
        decision::list(self, filter)
    }

    fn decision(&mut self, decision: &DecisionId) -> Result<Option<Decision>, StoreError> {
        decision::one(self, decision)
    }

    fn decisions_with_prefix(&mut self, hex_prefix: &str) -> Result<Vec<DecisionId>, StoreError> {
        decision::with_prefix(self, hex_prefix)
    }

    fn rulings(&mut self, run: &RunKey) -> Result<Vec<Decision>, StoreError> {
        decision::rulings(self, run)
    }

    fn brakes(&mut self) -> Result<Vec<BrakeRow>, StoreError> {
        let mut rows = brake::list(self)?;
        let stored: BTreeSet<Option<AgentId>> = rows.iter().map(|row| row.agent_id.clone()).collect();
        let unstored = self.stops.as_ref().map(|stops| stops.unstored_brakes(&stored));
        rows.extend(unstored.unwrap_or_default().into_iter().filter_map(brake_row));
        rows.sort_by(|one, other| one.agent_id.cmp(&other.agent_id));
        Ok(rows)
    }

    fn is_braked(&mut self, agent: &AgentId) -> Result<bool, StoreError> {
        let is_pending = self.stops.as_ref().is_some_and(|stops| stops.is_braked(agent));
        Ok(is_pending || brake::holds(self, agent)?)
    }

    fn owed(&mut self) -> Result<Owed, StoreError> {
        decision::owed(self)
    }

    fn announcements(&mut self, decision: &DecisionId) -> Result<Vec<AnnouncementRow>, StoreError> {
        announcement::of(self, decision)
    }

    fn children(&mut self, run: &RunKey) -> Result<Vec<Child>, StoreError> {
        message::children(self, run)
    }

    fn awaited(&mut self, agent: &AgentId) -> Result<Vec<AgentId>, StoreError> {
        message::awaited(self, agent)
    }
}

impl DecidingTx for Session<'_> {
    fn put_decision(&mut self, decision: &Decision, expected: u32) -> Result<(), StoreError> {
        decision::put(self, decision, expected)
    }

    fn apply_decision(&mut self, decision: &DecisionId) -> Result<(), StoreError> {
        decision::apply(self, decision)
    }

    fn put_announcement(&mut self, announcement: &AnnouncementRow) -> Result<(), StoreError> {
        announcement::put(self, announcement)
    }

    fn put_brake(&mut self, brake: &BrakeRow) -> Result<bool, StoreError> {
        brake::put(self, brake)
    }

    fn lift_brake(&mut self, agent: Option<&AgentId>) -> Result<bool, StoreError> {
        brake::lift(self, agent)
    }

    fn lock_starting(&mut self) -> Result<(), StoreError> {
        message::lock_starting(self)
    }

    fn rouse_run(&mut self, run: &RunKey) -> Result<(), StoreError> {
        run::rouse(self, run)
    }

    fn rest_run(&mut self, run: &RunKey, due: Millis, now: Millis) -> Result<(), StoreError> {
        run::rest(self, run, due, now)
    }

    fn count_claim(&mut self, run: &RunKey) -> Result<u32, StoreError> {
        run::count_claim(self, run)
    }

    fn forget_claims(&mut self, run: &RunKey) -> Result<(), StoreError> {
        run::forget_claims(self, run)
    }

    fn set_aside(
        &mut self,
        run: &RunKey,
        status: RunStatus,
        fault: Option<&str>,
        at: Millis,
    ) -> Result<bool, StoreError> {
        run::set_aside(self, run, (status, fault), at)
    }

    fn leave_steps(&mut self, run: &RunKey) -> Result<u64, StoreError> {
        step::leave(self, run)
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
