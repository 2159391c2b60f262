//! Decides which fault is due, and injects it.

use wakeful_core::step::EffectClass;
use wakeful_runtime::run::CLAIMS_MAX;
use wakeful_store::StoreError;

use super::{BEGINNING, Condition, Environment, PASSAGES_MAX, ProcessState, Timing, write};
use crate::fault_plan::{Fault, FaultKind};
use crate::ledger::Site;

/// Number of port calls after which a process in a crash loop dies: it has claimed the run and has not
/// advanced it.
const LOOP_PASSAGES: u32 = 5;

impl Environment {
    /// Counts a port call. Returns the fault that is due and possible here, and removes it from the plan.
    pub(super) fn due(&self, life: usize) -> Result<Option<FaultKind>, StoreError> {
        let (next, is_eager) = {
            let mut state = self.state();
            if let Some(life) = state.lives.get_mut(life) {
                life.passages += 1;
                if life.passages > PASSAGES_MAX {
                    life.fate = ProcessState::Lost;
                }
            }
            let since_last = state.since_last;
            state.since_last += 1;
            let next = state.mishaps.front().copied();
            (next.filter(|next| since_last >= next.after), state.eager > 0)
        };
        if is_eager && !self.people.pending()?.is_empty() {
            self.state().eager -= 1;
            return Ok(Some(FaultKind::Answer));
        }
        let Some(Fault { what, .. }) = next else {
            return Ok(None);
        };
        let can_strike = match (what, self.timing) {
            (FaultKind::Crash, Timing::Harmless) => !self
                .intended()?
                .values()
                .any(|class| *class == EffectClass::Plain),
            (FaultKind::Cancel | FaultKind::Poison, _) => !self.open_runs()?.is_empty(),
            (FaultKind::Crash | FaultKind::Sleep | FaultKind::StoreFails | FaultKind::Halt, _)
            | (
                FaultKind::Answer | FaultKind::Brake | FaultKind::Release | FaultKind::Loop | FaultKind::Jump,
                _,
            ) => true,
        };
        if !can_strike {
            return Ok(None);
        }
        let mut state = self.state();
        state.mishaps.pop_front();
        state.since_last = 0;
        drop(state);
        if what == FaultKind::Answer && self.people.pending()?.is_empty() {
            self.state().eager += 1;
            return Ok(None);
        }
        Ok(Some(what))
    }

    pub(super) fn strike(&self, life: usize, site: Site, what: FaultKind) -> Result<(), StoreError> {
        self.hit(life, site, what);
        match what {
            FaultKind::Crash
            | FaultKind::Sleep
            | FaultKind::StoreFails
            | FaultKind::Halt
            | FaultKind::Loop
            | FaultKind::Jump => Ok(()),
            FaultKind::Cancel => self.cancel(),
            FaultKind::Answer => self.people.answer(self),
            FaultKind::Brake => {
                self.people.brake(self);
                Ok(())
            }
            FaultKind::Release => self.people.release(self, false),
            FaultKind::Poison => match self.open_runs()?.first() {
                Some(run) => self.people.poison(self, *run),
                None => Ok(()),
            },
        }
    }

    /// Applies a fault to the process.
    fn hit(&self, life: usize, site: Site, what: FaultKind) {
        let mut state = self.state();
        state.ledger.struck.push((what, life, site));
        let now_ms = self.time.now_ms();
        if what == FaultKind::Halt {
            state.ledger.halts.insert(life, now_ms);
        }
        if what == FaultKind::Loop {
            let again = Fault {
                what: FaultKind::Crash,
                after: LOOP_PASSAGES,
            };
            (0..=CLAIMS_MAX).for_each(|_| state.mishaps.push_front(again));
        }
        // Up to the engine's retry limit and somewhat beyond it.
        let away_ms = u64::from(state.outages.below(10_000));
        let condition = match away_ms % 2 {
            0 => Condition::FailsOnce,
            _ => Condition::AwayUntil(now_ms + away_ms),
        };
        if let Some(life) = state.lives.get_mut(life) {
            match what {
                FaultKind::Crash | FaultKind::Loop => life.fate = ProcessState::Dead,
                FaultKind::Sleep => (life.fate, life.slept) = (ProcessState::Asleep, true),
                FaultKind::StoreFails => (life.store, life.has_failed) = (condition, true),
                FaultKind::Halt => life.switch.set(),
                FaultKind::Cancel
                | FaultKind::Answer
                | FaultKind::Brake
                | FaultKind::Release
                | FaultKind::Poison
                | FaultKind::Jump => {}
            }
        }
    }

    /// Cancels the open run without a process, as another program would.
    fn cancel(&self) -> Result<(), StoreError> {
        let now_ms = self.time.now_ms();
        for run in self.open_runs()? {
            write(&self.store, move |tx| tx.request_cancel(&run, BEGINNING))?;
            self.state().ledger.cancels.entry(run).or_insert(now_ms);
        }
        Ok(())
    }
}
