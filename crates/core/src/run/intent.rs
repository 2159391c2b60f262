//! Which planned actions begin next, which calls the quotas of their tools deny, and which wait for budget.

use std::collections::BTreeMap;

use super::approval::has_approval_expired;
use super::refusal::{Refusal, too_many_starts};
use super::{BUDGET_EXCEEDED, InputReads, Transition, UnexpectedInput};
use crate::budget::BudgetExceeded;
use crate::policy::GateStage;
use crate::rate::take_call;
use crate::report::EventDraft;
use crate::report::payload::{ParkedAction, RunParked};
use crate::step::{Action, ActionStatus, EffectClass};
use crate::time::Millis;
use crate::tool::QuotaReads;
use crate::tool::quota::{TOOL_QUOTA_EXCEEDED, quota_reason};

/// The uses that are left while calls are planned or intended one after another.
pub(super) struct QuotaUnits<'a> {
    quotas: &'a BTreeMap<String, QuotaReads>,
    taken: BTreeMap<String, u64>,
    is_untrusted: bool,
}

impl<'a> QuotaUnits<'a> {
    pub(super) const fn new(reads: &'a InputReads, is_untrusted: bool) -> Self {
        Self {
            quotas: &reads.quotas,
            taken: BTreeMap::new(),
            is_untrusted,
        }
    }

    /// Takes one use of a tool for a planned call, or returns why the call may not begin.
    pub(super) fn refuse(&mut self, tool: &str, starts: usize) -> Option<Refusal> {
        too_many_starts(tool, starts).or_else(|| self.take(tool))
    }

    /// Takes one use of a tool, or returns why there is none left.
    fn take(&mut self, tool: &str) -> Option<Refusal> {
        let reads = self.quotas.get(tool)?;
        let taken = self.taken.entry(tool.to_owned()).or_insert(0);
        if let Some(exceeded) = reads.exceeded(*taken) {
            let fault = exceeded.fault(tool, self.is_untrusted);
            return Some(Refusal::denied(GateStage::Quota, fault));
        }
        *taken = taken.saturating_add(1);
        None
    }
}

impl Refusal {
    /// The reason that the step and its audit record have: the code, which for a quota names the tool.
    pub(super) fn reason(&self, tool: &str) -> String {
        if self.fault.kind == TOOL_QUOTA_EXCEEDED {
            quota_reason(tool)
        } else {
            self.fault.kind.clone()
        }
    }
}

/// The wait of a plan for the rate of a tool.
pub(super) struct RateDelay {
    pub(super) tool: String,
    pub(super) wait_ms: u64,
}

impl Transition {
    /// Withdraws the actions whose tools were called too often within this minute, before anything is committed. The
    /// later ones wait with the first, because the model requested them in this order. Returns the wait if no action
    /// is left that can begin.
    pub(super) fn delay_over_rate(
        &mut self,
        actions: &mut [Action],
        reads: &InputReads,
    ) -> Option<RateDelay> {
        let rates = reads.rates.as_ref()?;
        let mut delay = None;
        let mut has_intent = false;
        for action in actions {
            if action.fate != ActionStatus::Intended {
                continue;
            }
            if delay.is_none()
                && let Err(wait_ms) = take_call(&mut self.turn.tool_rates, &action.tool, rates)
            {
                let tool = action.tool.clone();
                delay = Some(RateDelay { tool, wait_ms });
            }
            match delay {
                Some(_) => action.fate = ActionStatus::Waiting,
                None => has_intent = true,
            }
        }
        delay.filter(|_| !has_intent)
    }

    /// Marks the actions that begin next, and denies those whose quota was used up since they were planned:
    /// while an approval was open, another run of the agent may have used the tool.
    pub(super) fn intend_within_quotas(
        &mut self,
        actions: &mut [Action],
        reads: &InputReads,
    ) -> Result<(), UnexpectedInput> {
        let mut units = QuotaUnits::new(reads, self.turn.is_untrusted());
        loop {
            intend_next(actions, reads.now);
            let mut has_denied = false;
            // A retried action took its use with its first intent.
            let begins = |action: &&mut Action| action.fate == ActionStatus::Intended && action.failures == 0;
            for action in actions.iter_mut().filter(begins) {
                if let Some(refused) = units.take(&action.tool) {
                    // It has not begun.
                    action.fate = ActionStatus::Waiting;
                    self.cancel_action(action, &refused)?;
                    has_denied = true;
                }
            }
            let is_intended = |action: &Action| action.fate == ActionStatus::Intended;
            if !has_denied || actions.iter().any(is_intended) {
                return Ok(());
            }
        }
    }
}

impl Transition {
    /// Takes back the intents that the budget does not cover. Returns the exceeded limit if none is left, so that the
    /// run waits.
    pub(super) fn intend_within_budget(
        &mut self,
        actions: &mut [Action],
        reads: &InputReads,
    ) -> Option<BudgetExceeded> {
        let stop = reads.budget?;
        let covered = usize::try_from(stop.covered).unwrap_or(usize::MAX);
        let intended = actions
            .iter_mut()
            .filter(|action| action.fate == ActionStatus::Intended);
        let mut first = None;
        for action in intended.skip(covered) {
            action.fate = ActionStatus::Waiting;
            first.get_or_insert_with(|| ParkedAction {
                operation_id: action.operation_id,
                tool: action.tool.clone(),
            });
        }
        let first = first.filter(|_| covered == 0)?;
        self.events.push(EventDraft::new(RunParked {
            code: BUDGET_EXCEEDED.to_owned(),
            exceeded: stop.exceeded,
            action: Some(first),
        }));
        Some(stop.exceeded)
    }
}

/// Marks the actions that begin next: consecutive repeatable actions, or a single plain action. A plain
/// action shares its commit with no action that has to be performed before it, because a crash during that
/// one would make a plain action unknown that had not begun.
///
/// An action that needs approval blocks all later ones, because the model requested them in this order.
fn intend_next(actions: &mut [Action], now: Option<Millis>) {
    let open = |action: &&mut Action| {
        matches!(
            action.fate,
            ActionStatus::Waiting | ActionStatus::AwaitingApproval
        )
    };
    let may = |action: &Action| action.fate == ActionStatus::Waiting && !has_approval_expired(action, now);
    let mut waiting = actions.iter_mut().filter(open);
    let Some(first) = waiting.next().filter(|first| may(first)) else {
        return;
    };
    first.fate = ActionStatus::Intended;
    if first.class != EffectClass::Plain {
        let repeatable = waiting.take_while(|action| action.class != EffectClass::Plain && may(action));
        repeatable.for_each(|action| action.fate = ActionStatus::Intended);
    }
}
