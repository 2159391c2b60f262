//! What a stream waits for: news, the end of the daemon, or silence that has lasted too long.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::broadcast::error::RecvError;
use tokio::sync::watch;
use tokio::time::Instant;
use wakeful_runtime::hub::{HubMessage, Listener};

use super::{KEEPALIVE_MS, STALL_MS_MAX, StreamGuard};
use crate::app::DaemonStage;
use crate::login::LoginSession;

/// A listener with its patience.
pub(super) struct StreamWait {
    listener: Listener,
    stay: StreamGuard,
    /// When the newest frame was handed over.
    spoke_at: Instant,
    /// How many of the next news were there before the stream had caught up. What was said in them is in the events.
    stale: usize,
}

/// What was heard.
pub(super) enum StreamEvent {
    /// Something happened.
    News(Arc<HubMessage>),
    /// Something happened before the stream had caught up: its events may be known already, its words are no longer
    /// being said.
    Old(Arc<HubMessage>),
    /// So much happened that some of it was lost here. The store knows.
    Lagged,
    /// Nothing, for a while.
    Quiet,
    /// There will be no more.
    Over,
}

impl StreamWait {
    pub(super) fn new(listener: Listener, stay: StreamGuard) -> Self {
        Self {
            listener,
            stay,
            spoke_at: Instant::now(),
            stale: 0,
        }
    }

    /// Waits.
    pub(super) async fn next(&mut self) -> StreamEvent {
        let quiet_at = self.spoke_at + Duration::from_millis(KEEPALIVE_MS);
        tokio::select! {
            // In this order: the end goes before everything, and silence is what is left.
            biased;
            () = stopping(&mut self.stay.stage) => StreamEvent::Over,
            () = logged_out(self.stay.session.as_mut()) => StreamEvent::Over,
            news = self.listener.recv() => self.heard(news),
            () = tokio::time::sleep_until(quiet_at) => StreamEvent::Quiet,
        }
    }

    fn heard(&mut self, news: Result<Arc<HubMessage>, RecvError>) -> StreamEvent {
        match news {
            Ok(news) if self.stale > 0 => {
                self.stale -= 1;
                StreamEvent::Old(news)
            }
            Ok(news) => StreamEvent::News(news),
            Err(RecvError::Lagged(_)) => StreamEvent::Lagged,
            Err(RecvError::Closed) => StreamEvent::Over,
        }
    }

    /// The stream has read the store to its end: whatever waits here is older than that.
    pub(super) fn caught_up(&mut self) {
        self.stale = self.listener.len();
    }

    /// Whether the daemon is stopping, or the reader's login has ended.
    pub(super) fn is_over(&self) -> bool {
        let is_stopping = matches!(&*self.stay.stage.borrow(), DaemonStage::Stopping);
        is_stopping || self.stay.session.as_ref().is_some_and(LoginSession::is_over)
    }

    /// A frame is handed over.
    pub(super) fn speak(&mut self) {
        self.spoke_at = Instant::now();
    }

    /// Whether the reader took longer for the newest frame than anybody may. A stream is only asked for the next frame
    /// once the one before has left, so the time since then is the reader's.
    pub(super) fn was_stalled(&self) -> bool {
        self.spoke_at.elapsed() > Duration::from_millis(STALL_MS_MAX)
    }
}

/// Waits for the end of a reader's login; for ever where a program reads.
async fn logged_out(session: Option<&mut LoginSession>) {
    match session {
        Some(session) => session.over().await,
        None => std::future::pending().await,
    }
}

async fn stopping(stage: &mut watch::Receiver<DaemonStage>) {
    // An error means that whoever tells the stage is gone, which is an end as well.
    let _ = stage
        .wait_for(|stage| matches!(stage, DaemonStage::Stopping))
        .await;
}
