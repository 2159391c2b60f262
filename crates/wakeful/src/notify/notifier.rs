//! Notifies people of pending decisions, because a decision that no person sees blocks its run.
//!
//! Each target has its own loop, so that a target that hangs does not delay the others. A loop wakes when a
//! decision is created or escalated and when an attempt is due; otherwise it sleeps without a timer.

use std::sync::Arc;

use tokio::sync::broadcast::error::RecvError;
use tokio::task::JoinSet;
use wakeful_core::agent_settings::ALL_CATEGORIES;
use wakeful_core::decision::{Decision, sort_by_urgency};
use wakeful_core::failure::truncate_chars;
use wakeful_core::report::EventKind;
use wakeful_core::time::Millis;
use wakeful_ports::clock::Clock;
use wakeful_runtime::Halt;
use wakeful_runtime::hub::{Hub, HubMessage, Listener};
use wakeful_store::rows::{DecisionFilter, DecisionNotificationRow};
use wakeful_store::{Store, StoreError};

use super::{NotificationPayload, NotifyTarget};
use crate::config::LiveSettings;

/// Maximum attempts for one decision, target and severity. The last is made about an hour after the first.
const ATTEMPTS_MAX: u32 = 8;

/// The delay after the first failed attempt; it doubles each time.
const BACKOFF_MS: u64 = 30_000;

/// The delay before pending decisions are read again after a read error.
const RETRY_MS: u64 = 60_000;

/// Maximum decisions that are read at a time, most urgent first.
const PENDING_MAX: u32 = 1_000;

/// Maximum length of a stored error.
const ERROR_CHARS_MAX: usize = 300;

/// Sends each pending decision to every target at least once, with bounded retries.
#[derive(Clone)]
pub(crate) struct Notifier {
    pub(crate) store: Store,
    /// Publishes new decisions.
    pub(crate) hub: Arc<Hub>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) page_url: Option<String>,
    /// Which fields may leave, by category of data.
    pub(crate) settings: LiveSettings,
}

impl Notifier {
    /// Sends notifications to every target until a stop is requested.
    pub(crate) async fn run(self, targets: Vec<NotifyTarget>, halt: Halt) {
        let mut loops = JoinSet::new();
        for target in targets {
            // Subscribed before the first read, so that no decision is missed in between.
            let listener = self.hub.listen();
            let notifier = self.clone();
            let halt = halt.clone();
            loops.spawn(async move { notifier.run_target(&target, listener, &halt).await });
        }
        while loops.join_next().await.is_some() {}
    }

    async fn run_target(&self, target: &NotifyTarget, mut listener: Listener, halt: &Halt) {
        loop {
            let round = async {
                self.round(target).await.unwrap_or_else(|error| {
                    tracing::warn!(%error, "pending decisions cannot be read");
                    Some(RETRY_MS)
                })
            };
            let again = tokio::select! {
                biased;
                () = halt.wait_until_set() => return,
                again = round => again,
            };
            let pause = async {
                match again {
                    Some(ms) => self.clock.sleep(ms).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                () = halt.wait_until_set() => return,
                is_open = wait_for_decision_event(&mut listener) => if !is_open { return },
                () = pause => {}
            }
        }
    }

    /// Makes every due attempt. Returns how long to wait for the next one.
    async fn round(&self, target: &NotifyTarget) -> Result<Option<u64>, StoreError> {
        let filter = DecisionFilter {
            pending_only: true,
            limit: PENDING_MAX,
            ..DecisionFilter::default()
        };
        let pending = self.store.read(move |view| view.decisions(&filter)).await?;
        let mut again: Option<u64> = None;
        for decision in sort_by_urgency(pending) {
            if let Some(wait) = self.notify(target, &decision).await? {
                again = Some(again.map_or(wait, |again| again.min(wait)));
            }
        }
        Ok(again)
    }

    /// Sends one decision if an attempt is due. Returns how long to wait for the next attempt, if there is
    /// one.
    async fn notify(&self, target: &NotifyTarget, decision: &Decision) -> Result<Option<u64>, StoreError> {
        let (id, severity) = (decision.inquiry.decision_id, decision.inquiry.severity);
        let rows = self.store.read(move |view| view.announcements(&id)).await?;
        let before = rows
            .into_iter()
            .find(|row| row.target == target.name() && row.severity == severity);
        match next_attempt(before.as_ref(), self.clock.now()) {
            NextAttempt::Never => return Ok(None),
            NextAttempt::In(wait) => return Ok(Some(wait)),
            NextAttempt::Now => {}
        }
        let payload = NotificationPayload::new(decision, self.page_url.as_deref());
        let sent = match self.check(target, decision, &payload).await? {
            Ok(()) => target.send(&payload).await,
            Err(refused) => Err(refused),
        };
        let row = DecisionNotificationRow {
            decision_id: id,
            severity,
            target: target.name().to_owned(),
            tries: before.map_or(0, |row| row.tries).saturating_add(1),
            is_done: sent.is_ok(),
            error: sent.err().map(|why| truncate_chars(&why, ERROR_CHARS_MAX)),
            at: self.clock.now(),
        };
        if let Some(error) = &row.error {
            tracing::warn!(decision = %id, to = target.name(), error, "the notification could not be sent");
        }
        let next = next_attempt(Some(&row), row.at);
        // Stored after sending: a crash in between sends a duplicate, but never loses a notification.
        self.store.write(move |tx| tx.put_announcement(&row)).await?;
        Ok(match next {
            NextAttempt::Now => Some(0),
            NextAttempt::In(wait) => Some(wait),
            NextAttempt::Never => None,
        })
    }
}

impl Notifier {
    /// Checks that every field of a notification may leave for its target.
    async fn check(
        &self,
        target: &NotifyTarget,
        decision: &Decision,
        payload: &NotificationPayload,
    ) -> Result<Result<(), String>, StoreError> {
        let agent_id = decision.agent_id.clone();
        let agent = self.store.read(move |view| view.agent(&agent_id)).await?;
        // Every rule applies to an agent whose categories are not known.
        let all = || [ALL_CATEGORIES.to_owned()].into();
        let categories = agent.map_or_else(all, |agent| agent.settings.allowed_category_ids);
        let rules = self
            .settings
            .current()
            .permissions(&decision.agent_id)
            .need_to_know;
        Ok(payload.check(&rules, target.boundary(), &categories))
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum NextAttempt {
    Now,
    /// After this many milliseconds.
    In(u64),
    /// An attempt succeeded, or all attempts were made.
    Never,
}

fn next_attempt(before: Option<&DecisionNotificationRow>, now: Millis) -> NextAttempt {
    let Some(row) = before else {
        return NextAttempt::Now;
    };
    if row.is_done || row.tries >= ATTEMPTS_MAX {
        return NextAttempt::Never;
    }
    let wait = BACKOFF_MS.saturating_mul(1 << row.tries.saturating_sub(1).min(ATTEMPTS_MAX));
    // An attempt in the future was made before the clock was set back.
    let passed = if row.at > now { wait } else { now.since(row.at) };
    match wait.saturating_sub(passed) {
        0 => NextAttempt::Now,
        left => NextAttempt::In(left),
    }
}

/// Waits until a decision may have been created or escalated. Returns false when the hub is closed.
async fn wait_for_decision_event(listener: &mut Listener) -> bool {
    let is_decision = |kind: &str| {
        [EventKind::DecisionAsked, EventKind::DecisionEscalated]
            .map(EventKind::as_str)
            .contains(&kind)
    };
    loop {
        match listener.recv().await {
            Ok(news) => match &*news {
                HubMessage::Events { events, .. } if events.is_empty() => return true,
                HubMessage::Events { events, .. } if events.iter().any(|event| is_decision(&event.kind)) => {
                    return true;
                }
                HubMessage::Events { .. } | HubMessage::Words { .. } | HubMessage::ToolOutput { .. } => {}
            },
            Err(RecvError::Lagged(_)) => return true,
            Err(RecvError::Closed) => return false,
        }
    }
}

#[cfg(test)]
mod tests {
    use wakeful_core::decision::Severity;
    use wakeful_core::key::{DecisionId, Digest};

    use super::*;

    fn row(tries: u32, at: i64) -> DecisionNotificationRow {
        DecisionNotificationRow {
            decision_id: DecisionId(Digest::of(b"decision")),
            severity: Severity::High,
            target: "webhook".to_owned(),
            tries,
            is_done: false,
            error: Some("nobody".to_owned()),
            at: Millis(at),
        }
    }

    // Conformance: A-45
    #[test]
    fn failed_attempts_are_repeated_with_growing_delays_up_to_a_limit() {
        assert_eq!(next_attempt(None, Millis(0)), NextAttempt::Now);
        assert_eq!(next_attempt(Some(&row(1, 0)), Millis(0)), NextAttempt::In(30_000));
        assert_eq!(
            next_attempt(Some(&row(2, 0)), Millis(10_000)),
            NextAttempt::In(50_000)
        );
        assert_eq!(next_attempt(Some(&row(1, 0)), Millis(30_000)), NextAttempt::Now);
        assert_eq!(
            next_attempt(Some(&row(ATTEMPTS_MAX, 0)), Millis(i64::MAX)),
            NextAttempt::Never
        );
        let whole: u64 = (1..ATTEMPTS_MAX)
            .map(|tries| match next_attempt(Some(&row(tries, 0)), Millis(0)) {
                NextAttempt::In(wait) => wait,
                NextAttempt::Now | NextAttempt::Never => 0,
            })
            .sum();
        assert_eq!(whole, 3_810_000);
    }

    #[test]
    fn a_clock_set_back_ten_years_does_not_stop_notifications() {
        let ten_years = 315_576_000_000;
        assert_eq!(
            next_attempt(Some(&row(3, ten_years)), Millis(0)),
            NextAttempt::Now
        );
    }

    #[test]
    fn a_sent_notification_is_not_repeated() {
        let told = DecisionNotificationRow {
            is_done: true,
            ..row(1, 0)
        };
        assert_eq!(next_attempt(Some(&told), Millis(i64::MAX)), NextAttempt::Never);
    }
}
