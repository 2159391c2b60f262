//! Limits how long a caller waits for an unresponsive server.
//!
//! A caller cannot distinguish a slow statement from a server that hangs. So a long call continues as long
//! as the server still accepts a new connection. If that hangs as well, the call fails with
//! [`StoreError::Unreachable`]. The server may still perform what was sent once it responds again; callers
//! already handle this for lost connections.

use std::future::Future;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use tokio::sync::Mutex;
use tokio::time::timeout;
use tokio_postgres::{Config, NoTls};

use crate::store::run_blocking;
use crate::{Result, StoreError};

/// How long a call may take before the server is probed, and how long once it was unresponsive.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(2);
const SILENT_RESPONSE_TIMEOUT: Duration = Duration::from_millis(250);

/// How long the server may take to answer a probe.
const PROBE_MAX: Duration = Duration::from_secs(2);

/// How long the result of a probe is reused.
const PROBED_MAX: Duration = Duration::from_millis(500);

/// Detects whether a server is unresponsive.
pub(super) struct SilenceDetector {
    config: Config,
    is_known: AtomicBool,
    /// When the last probe ended, and whether the server answered. Only one probe runs at a time, because
    /// each opens a connection.
    probed: Mutex<Option<(Instant, bool)>>,
}

impl SilenceDetector {
    pub(super) fn new(config: Config) -> Self {
        Self {
            config,
            is_known: AtomicBool::new(false),
            probed: Mutex::default(),
        }
    }

    /// Whether the last call or probe found the server unresponsive.
    pub(super) fn is_known(&self) -> bool {
        self.is_known.load(Ordering::Acquire)
    }

    /// Waits for a call as long as the server answers probes.
    pub(super) async fn bound<T>(&self, call: impl Future<Output = Result<T>>) -> Result<T> {
        tokio::pin!(call);
        loop {
            let patience = if self.is_known() {
                SILENT_RESPONSE_TIMEOUT
            } else {
                RESPONSE_TIMEOUT
            };
            if let Ok(done) = timeout(patience, &mut call).await {
                self.is_known.store(false, Ordering::Release);
                return done;
            }
            let answers = tokio::select! {
                biased;
                done = &mut call => {
                    self.is_known.store(false, Ordering::Release);
                    return done;
                }
                answers = self.probe() => answers,
            };
            self.is_known.store(!answers, Ordering::Release);
            if !answers {
                return Err(StoreError::Unreachable("the server does not answer".into()));
            }
        }
    }

    /// Whether the server answers a new connection. A rejection counts as an answer: the call itself
    /// reports what is wrong.
    async fn probe(&self) -> bool {
        let mut probed = self.probed.lock().await;
        // Callers that waited for the same probe share its result.
        if let Some((at, answers)) = *probed
            && at.elapsed() < PROBED_MAX
        {
            return answers;
        }
        let config = self.config.clone();
        // The driver runs on its own runtime, as for every other connection.
        let probe = run_blocking(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            let runtime = runtime.map_err(|error| StoreError::Backend(error.into()))?;
            let answers = runtime.block_on(async { timeout(PROBE_MAX, config.connect(NoTls)).await.is_ok() });
            // Dropping the runtime would wait for a pending name lookup.
            runtime.shutdown_background();
            Ok(answers)
        });
        let answers = probe.await.unwrap_or(false);
        *probed = Some((Instant::now(), answers));
        answers
    }
}
