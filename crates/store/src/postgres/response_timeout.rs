//! How long a caller waits for a server that says nothing.
//!
//! A slow statement and a server that hangs look alike to the caller. So a call that takes long is waited for as long as the
//! server answers somebody else: a new connection. Where that hangs as well, the call ends with
//! [`StoreError::Unreachable`]. What was sent may still be carried out when the server goes on; callers know that of a lost
//! connection already.

use std::future::Future;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use tokio::sync::Mutex;
use tokio::time::timeout;
use tokio_postgres::{Config, NoTls};

use crate::store::run_blocking;
use crate::{Result, StoreError};

/// How long a call may take before the server is asked whether it answers at all, and how long once it was silent.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(2);
const SILENT_RESPONSE_TIMEOUT: Duration = Duration::from_millis(250);

/// How long the server may take to answer that.
const PROBE_MAX: Duration = Duration::from_secs(2);

/// How long the answer to that holds.
const PROBED_MAX: Duration = Duration::from_millis(500);

/// Whether a server is silent.
pub(super) struct SilenceDetector {
    config: Config,
    is_known: AtomicBool,
    /// One probe at a time, because each is a connection: when the last one ended, and whether the server answered.
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

    /// Whether the last call or probe found the server silent.
    pub(super) fn is_known(&self) -> bool {
        self.is_known.load(Ordering::Acquire)
    }

    /// Waits for a call as long as the server answers.
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

    /// Whether the server answers a new connection. A refusal is an answer: it is for the call to say what is wrong.
    async fn probe(&self) -> bool {
        let mut probed = self.probed.lock().await;
        // Callers who waited for the same probe share its answer.
        if let Some((at, answers)) = *probed
            && at.elapsed() < PROBED_MAX
        {
            return answers;
        }
        let config = self.config.clone();
        // The driver runs on a runtime of its own, as for every other connection.
        let probe = run_blocking(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            let runtime = runtime.map_err(|error| StoreError::Backend(error.into()))?;
            let answers = runtime.block_on(async { timeout(PROBE_MAX, config.connect(NoTls)).await.is_ok() });
            // Dropped, it would wait for a name that is still being looked up.
            runtime.shutdown_background();
            Ok(answers)
        });
        let answers = probe.await.unwrap_or(false);
        *probed = Some((Instant::now(), answers));
        answers
    }
}
