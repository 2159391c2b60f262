//! What goes wrong, and when.

use wakeful_core::step::EffectClass;
use wakeful_runtime::run::CLAIMS_MAX;
use wakeful_store::StoreError;

use super::{BEGINNING, Condition, Fate, PASSAGES_MAX, Timing, World, write};
use crate::ledger::Site;
use crate::schedule::{Mishap, What};

/// After how many passages a process dies that runs into what kills them all: it has taken up the run, and has not
/// moved it.
const LOOP_PASSAGES: u32 = 5;

impl World {
    /// Counts a passage. The mishap that is due and can strike here, which is then over.
    pub(super) fn due(&self, life: usize) -> Result<Option<What>, StoreError> {
        let (next, is_eager) = {
            let mut state = self.state();
            if let Some(life) = state.lives.get_mut(life) {
                life.passages += 1;
                if life.passages > PASSAGES_MAX {
                    life.fate = Fate::Lost;
                }
            }
            let since_last = state.since_last;
            state.since_last += 1;
            let next = state.mishaps.front().copied();
            (next.filter(|next| since_last >= next.after), state.eager > 0)
        };
        if is_eager && !self.people.pending()?.is_empty() {
            self.state().eager -= 1;
            return Ok(Some(What::Answer));
        }
        let Some(Mishap { what, .. }) = next else {
            return Ok(None);
        };
        let can_strike = match (what, self.timing) {
            (What::Crash, Timing::Harmless) => !self
                .intended()?
                .values()
                .any(|class| *class == EffectClass::Plain),
            (What::Cancel | What::Poison, _) => !self.open_runs()?.is_empty(),
            (What::Crash | What::Sleep | What::StoreFails | What::Halt, _)
            | (What::Answer | What::Brake | What::Release | What::Loop | What::Jump, _) => true,
        };
        if !can_strike {
            return Ok(None);
        }
        let mut state = self.state();
        state.mishaps.pop_front();
        state.since_last = 0;
        drop(state);
        if what == What::Answer && self.people.pending()?.is_empty() {
            self.state().eager += 1;
            return Ok(None);
        }
        Ok(Some(what))
    }

    pub(super) fn strike(&self, life: usize, site: Site, what: What) -> Result<(), StoreError> {
        self.hit(life, site, what);
        match what {
            What::Crash | What::Sleep | What::StoreFails | What::Halt | What::Loop | What::Jump => Ok(()),
            What::Cancel => self.cancel(),
            What::Answer => self.people.answer(self),
            What::Brake => {
                self.people.brake(self);
                Ok(())
            }
            What::Release => self.people.release(self, false),
            What::Poison => match self.open_runs()?.first() {
                Some(run) => self.people.poison(self, *run),
                None => Ok(()),
            },
        }
    }

    /// What a mishap does to the process itself.
    fn hit(&self, life: usize, site: Site, what: What) {
        let mut state = self.state();
        state.ledger.struck.push((what, life, site));
        let now_ms = self.time.now_ms();
        if what == What::Halt {
            state.ledger.halts.insert(life, now_ms);
        }
        if what == What::Loop {
            let again = Mishap {
                what: What::Crash,
                after: LOOP_PASSAGES,
            };
            (0..=CLAIMS_MAX).for_each(|_| state.mishaps.push_front(again));
        }
        // Up to the patience of the engine and somewhat beyond it.
        let away_ms = u64::from(state.outages.below(10_000));
        let condition = match away_ms % 2 {
            0 => Condition::FailsOnce,
            _ => Condition::AwayUntil(now_ms + away_ms),
        };
        if let Some(life) = state.lives.get_mut(life) {
            match what {
                What::Crash | What::Loop => life.fate = Fate::Dead,
                What::Sleep => (life.fate, life.slept) = (Fate::Asleep, true),
                What::StoreFails => (life.store, life.has_failed) = (condition, true),
                What::Halt => life.switch.throw(),
                What::Cancel | What::Answer | What::Brake | What::Release | What::Poison | What::Jump => {}
            }
        }
    }

    /// A person asks for the end of what is open, past every process, as another program would.
    fn cancel(&self) -> Result<(), StoreError> {
        let now_ms = self.time.now_ms();
        for run in self.open_runs()? {
            write(&self.store, move |tx| tx.request_cancel(&run, BEGINNING))?;
            self.state().ledger.cancels.entry(run).or_insert(now_ms);
        }
        Ok(())
    }
}
