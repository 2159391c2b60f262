//! What a stream waits for: hub messages, the end of the daemon, or the keep-alive timer.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::broadcast::error::RecvError;
use tokio::sync::watch;
use tokio::time::Instant;
use wakeful_runtime::hub::{HubMessage, Listener};

use super::{KEEPALIVE_MS, STALL_MS_MAX, StreamGuard};
use crate::app::DaemonStage;
use crate::login::LoginSession;

/// A hub subscription with timers.
pub(super) struct StreamWait {
    listener: Listener,
    stay: StreamGuard,
    /// When the newest frame was sent.
    last_sent_at: Instant,
    /// Number of queued hub messages from before the stream caught up. The events in the store already
    /// contain their text.
    stale: usize,
}

pub(super) enum StreamEvent {
    /// A new hub message.
    News(Arc<HubMessage>),
    /// A hub message from before the stream caught up: its events may be known already, and its deltas are
    /// outdated.
    Old(Arc<HubMessage>),
    /// Hub messages were lost; the store must be read.
    Lagged,
    /// Nothing happened for the keep-alive interval.
    Quiet,
    /// The stream must end.
    Over,
}

impl StreamWait {
    pub(super) fn new(listener: Listener, stay: StreamGuard) -> Self {
        Self {
            listener,
            stay,
            last_sent_at: Instant::now(),
            stale: 0,
        }
    }

    /// Waits for the next event.
    pub(super) async fn next(&mut self) -> StreamEvent {
        let quiet_at = self.last_sent_at + Duration::from_millis(KEEPALIVE_MS);
        tokio::select! {
            // The order matters: the end has precedence, and the timer comes last.
            biased;
            () = stopping(&mut self.stay.stage) => StreamEvent::Over,
            () = logged_out(self.stay.session.as_mut()) => StreamEvent::Over,
            news = self.listener.recv() => self.classify(news),
            () = tokio::time::sleep_until(quiet_at) => StreamEvent::Quiet,
        }
    }

    fn classify(&mut self, news: Result<Arc<HubMessage>, RecvError>) -> StreamEvent {
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

    /// Records that the stream has read the store to its end; all queued messages are older.
    pub(super) fn caught_up(&mut self) {
        self.stale = self.listener.len();
    }

    /// Whether the daemon is stopping, or the reader's login has ended.
    pub(super) fn is_over(&self) -> bool {
        let is_stopping = matches!(&*self.stay.stage.borrow(), DaemonStage::Stopping);
        is_stopping || self.stay.session.as_ref().is_some_and(LoginSession::is_over)
    }

    /// Records that a frame was sent.
    pub(super) fn note_sent(&mut self) {
        self.last_sent_at = Instant::now();
    }

    /// Whether the reader took too long for the newest frame. A stream is polled for the next frame only
    /// after the previous one was sent, so the time in between is the reader's.
    pub(super) fn was_stalled(&self) -> bool {
        self.last_sent_at.elapsed() > Duration::from_millis(STALL_MS_MAX)
    }
}

/// Waits for the end of a reader's login; never resolves for a program with the API token.
async fn logged_out(session: Option<&mut LoginSession>) {
    match session {
        Some(session) => session.over().await,
        None => std::future::pending().await,
    }
}

async fn stopping(stage: &mut watch::Receiver<DaemonStage>) {
    // An error means that the sender of the stage was dropped, which also ends the stream.
    let _ = stage
        .wait_for(|stage| matches!(stage, DaemonStage::Stopping))
        .await;
}
