//! The daemon's loop: each way by itself, so that one that hangs is in nobody else's way. It looks when something was
//! asked, and when a try is due again; else it sleeps without a timer.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::broadcast::error::RecvError;
use tokio::task::JoinSet;
use wakeful_core::decision::{Decision, in_order};
use wakeful_core::failure::clip;
use wakeful_core::report::Kind;
use wakeful_core::time::Millis;
use wakeful_ports::clock::Clock;
use wakeful_runtime::Halt;
use wakeful_runtime::hub::{Hub, Listener, News};
use wakeful_store::rows::{AnnouncementRow, DecisionFilter};
use wakeful_store::{Store, StoreError};

use super::note::Note;
use super::way::Way;
use crate::daemon::life::log;

/// Most tries of one question by one way, at one severity. The last comes about an hour after the first.
const TRIES_MAX: u32 = 8;

/// The wait after the first try that failed; it doubles.
const BACKOFF_MS: u64 = 30_000;

/// The wait before the questions are looked for again when that failed.
const LOOK_AGAIN_MS: u64 = 60_000;

/// Questions that are told of at a time, most urgent first.
const PENDING_MAX: u32 = 1_000;

/// Longest error that is kept.
const ERROR_CHARS_MAX: usize = 300;

/// Tells of every question by every way until a stop is asked for. `url` is where the page is.
pub(crate) async fn watch(
    (ways, url): (Vec<Way>, Option<String>),
    (store, hub): (Store, &Hub),
    clock: Arc<dyn Clock>,
    halt: Halt,
) {
    let mut watching = JoinSet::new();
    for way in ways {
        // Before the first look, so that nothing falls between.
        let listener = hub.listen();
        let crier = Crier {
            way,
            url: url.clone(),
            store: store.clone(),
            clock: Arc::clone(&clock),
        };
        watching.spawn(crier.cry(listener, halt.clone()));
    }
    while watching.join_next().await.is_some() {}
}

/// One way with what it needs.
struct Crier {
    way: Way,
    url: Option<String>,
    store: Store,
    clock: Arc<dyn Clock>,
}

impl Crier {
    async fn cry(self, mut listener: Listener, halt: Halt) {
        loop {
            let round = async {
                self.round().await.unwrap_or_else(|error| {
                    log(&format!("announcements cannot be looked for: {error}"));
                    Some(LOOK_AGAIN_MS)
                })
            };
            let again = tokio::select! {
                biased;
                () = halt.asked() => return,
                again = round => again,
            };
            let pause = async {
                match again {
                    Some(ms) => tokio::time::sleep(Duration::from_millis(ms)).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                () = halt.asked() => return,
                alive = heard(&mut listener) => if !alive { return },
                () = pause => {}
            }
        }
    }

    /// Tries everything that is due. How long to wait for what is not.
    async fn round(&self) -> Result<Option<u64>, StoreError> {
        let filter = DecisionFilter {
            pending_only: true,
            limit: PENDING_MAX,
            ..DecisionFilter::default()
        };
        let pending = self.store.read(move |view| view.decisions(&filter)).await?;
        let mut again: Option<u64> = None;
        for decision in in_order(pending) {
            if let Some(wait) = self.announce(&decision).await? {
                again = Some(again.map_or(wait, |again| again.min(wait)));
            }
        }
        Ok(again)
    }

    /// Tries one question, if it is due. How long to wait for the next try, where there may be one.
    async fn announce(&self, decision: &Decision) -> Result<Option<u64>, StoreError> {
        let (id, severity, way) = (
            decision.inquiry.decision_id,
            decision.inquiry.severity,
            self.way.word(),
        );
        let rows = self.store.read(move |view| view.announcements(&id)).await?;
        let before = rows
            .into_iter()
            .find(|row| row.way == way && row.severity == severity);
        match due(before.as_ref(), self.clock.now()) {
            Due::Never => return Ok(None),
            Due::In(wait) => return Ok(Some(wait)),
            Due::Now => {}
        }
        let told = self.way.tell(&Note::of(decision, self.url.as_deref())).await;
        let row = AnnouncementRow {
            decision_id: id,
            severity,
            way: way.to_owned(),
            tries: before.map_or(0, |row| row.tries).saturating_add(1),
            is_done: told.is_ok(),
            error: told.err().map(|why| clip(&why, ERROR_CHARS_MAX)),
            at: self.clock.now(),
        };
        if let Some(error) = &row.error {
            log(&format!("a decision could not be announced by {way}: {error}"));
        }
        let next = due(Some(&row), row.at);
        // Kept after it was done: who dies in between tells twice, and nobody is told never.
        self.store.write(move |tx| tx.put_announcement(&row)).await?;
        Ok(match next {
            Due::Now => Some(0),
            Due::In(wait) => Some(wait),
            Due::Never => None,
        })
    }
}

/// When a question is to be told of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Due {
    Now,
    /// In so many milliseconds.
    In(u64),
    /// It was, or it was tried often enough.
    Never,
}

fn due(before: Option<&AnnouncementRow>, now: Millis) -> Due {
    let Some(row) = before else {
        return Due::Now;
    };
    if row.is_done || row.tries >= TRIES_MAX {
        return Due::Never;
    }
    let wait = BACKOFF_MS.saturating_mul(1 << row.tries.saturating_sub(1).min(TRIES_MAX));
    // A try in the future was made before the clock was set back.
    let passed = if row.at > now { wait } else { now.since(row.at) };
    match wait.saturating_sub(passed) {
        0 => Due::Now,
        left => Due::In(left),
    }
}

/// Waits until a question was asked or grew more severe, or may have been. False when nobody will ever say so.
async fn heard(listener: &mut Listener) -> bool {
    let asks = |kind: &str| [Kind::DecisionAsked.as_str(), Kind::DecisionEscalated.as_str()].contains(&kind);
    loop {
        match listener.recv().await {
            Ok(news) => match &*news {
                News::Events { events, .. } if events.is_empty() => return true,
                News::Events { events, .. } if events.iter().any(|event| asks(&event.kind)) => return true,
                News::Events { .. } | News::Words { .. } => {}
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

    fn row(tries: u32, at: i64) -> AnnouncementRow {
        AnnouncementRow {
            decision_id: DecisionId(Digest::of(b"decision")),
            severity: Severity::High,
            way: "webhook".to_owned(),
            tries,
            is_done: false,
            error: Some("nobody".to_owned()),
            at: Millis(at),
        }
    }

    #[test]
    fn a_try_that_failed_is_made_again_later_and_later_and_not_for_ever() {
        assert_eq!(due(None, Millis(0)), Due::Now);
        assert_eq!(due(Some(&row(1, 0)), Millis(0)), Due::In(30_000));
        assert_eq!(due(Some(&row(2, 0)), Millis(10_000)), Due::In(50_000));
        assert_eq!(due(Some(&row(1, 0)), Millis(30_000)), Due::Now);
        assert_eq!(due(Some(&row(TRIES_MAX, 0)), Millis(i64::MAX)), Due::Never);
        let whole: u64 = (1..TRIES_MAX)
            .map(|tries| match due(Some(&row(tries, 0)), Millis(0)) {
                Due::In(wait) => wait,
                Due::Now | Due::Never => 0,
            })
            .sum();
        assert_eq!(whole, 3_810_000);
    }

    #[test]
    fn a_clock_that_was_set_back_ten_years_silences_nobody() {
        let ten_years = 315_576_000_000;
        assert_eq!(due(Some(&row(3, ten_years)), Millis(0)), Due::Now);
    }

    #[test]
    fn what_was_told_is_not_told_again() {
        let told = AnnouncementRow {
            is_done: true,
            ..row(1, 0)
        };
        assert_eq!(due(Some(&told), Millis(i64::MAX)), Due::Never);
    }
}
