//! Questions, brakes, and runs that wait or stand aside.

use wakeful_core::decision::Decision;
use wakeful_core::id::AgentId;
use wakeful_core::key::{DecisionId, RunKey};
use wakeful_core::run::RunStatus;
use wakeful_core::step::Child;
use wakeful_core::time::Millis;

use super::StoreError;
use crate::records::{AnnouncementRow, BrakeRow, DecisionFilter, Owed};

/// What is read about questions, brakes and runs that wait or stand aside.
pub trait DecidingView {
    /// When the next run that waits for a moment to come is due; none where nobody waits for one.
    fn next_due(&mut self, now: Millis) -> Result<Option<Millis>, StoreError>;
    /// Questions, oldest first.
    fn decisions(&mut self, filter: &DecisionFilter) -> Result<Vec<Decision>, StoreError>;
    /// One question.
    fn decision(&mut self, decision: &DecisionId) -> Result<Option<Decision>, StoreError>;
    /// Names of questions that begin with these hex digits: at most two.
    fn decisions_with_prefix(&mut self, hex_prefix: &str) -> Result<Vec<DecisionId>, StoreError>;
    /// Questions of a run that are closed and that it has not been told of, oldest first.
    fn rulings(&mut self, run: &RunKey) -> Result<Vec<Decision>, StoreError>;
    /// Brakes that are on; that of all first.
    fn brakes(&mut self) -> Result<Vec<BrakeRow>, StoreError>;
    /// Whether a brake holds an agent.
    fn is_braked(&mut self, agent: &AgentId) -> Result<bool, StoreError>;
    /// What waits for a person, over all agents.
    fn owed(&mut self) -> Result<Owed, StoreError>;
    /// Who was told of a question, and who could not be.
    fn announcements(&mut self, decision: &DecisionId) -> Result<Vec<AnnouncementRow>, StoreError>;
    /// The runs that one started, ended ones as well.
    fn children(&mut self, run: &RunKey) -> Result<Vec<Child>, StoreError>;
    /// The agents for whose runs an agent's own runs wait.
    fn awaited(&mut self, agent: &AgentId) -> Result<Vec<AgentId>, StoreError>;
}

/// What is written about questions, brakes and runs that wait or stand aside.
pub trait DecidingTx {
    /// Keeps a question: a new one where `expected` is 0, else the next version of the one with that version.
    fn put_decision(&mut self, decision: &Decision, expected: u32) -> Result<(), StoreError>;
    /// Notes that the run has been told how a question ended.
    fn apply_decision(&mut self, decision: &DecisionId) -> Result<(), StoreError>;
    /// Keeps that somebody was told of a question, or could not be. The last try stands; what was done stays done.
    fn put_announcement(&mut self, announcement: &AnnouncementRow) -> Result<(), StoreError>;
    /// Sets a brake. One that is on stays as it was set.
    fn put_brake(&mut self, brake: &BrakeRow) -> Result<bool, StoreError>;
    /// Releases a brake. False where there was none.
    fn lift_brake(&mut self, agent: Option<&AgentId>) -> Result<bool, StoreError>;
    /// Has a run that waits looked at again at once.
    fn rouse_run(&mut self, run: &RunKey) -> Result<(), StoreError>;
    /// Lets a run that waits rest from now on until a moment. Where the clock is set back meanwhile, it is looked at at once.
    fn rest_run(&mut self, run: &RunKey, due: Millis, now: Millis) -> Result<(), StoreError>;
    /// Counts that a run was taken up; how often it was since it last moved.
    fn count_claim(&mut self, run: &RunKey) -> Result<u32, StoreError>;
    /// Forgets how often a run was taken up: whoever had it gave it back in order.
    fn forget_claims(&mut self, run: &RunKey) -> Result<(), StoreError>;
    /// Keeps everybody else from starting runs of others until this transaction ends: two that look at once would both
    /// find nobody waiting. Taken after the heads.
    fn lock_starting(&mut self) -> Result<(), StoreError>;
    /// Moves an open run aside, or one that stands aside to its end or back into the open. The status says which.
    fn set_aside(
        &mut self,
        run: &RunKey,
        status: RunStatus,
        fault: Option<&str>,
        at: Millis,
    ) -> Result<bool, StoreError>;
    /// Writes down of the plain actions of a run that were under way that nobody knows how they ended. How many there were.
    fn leave_steps(&mut self, run: &RunKey) -> Result<u64, StoreError>;
}
