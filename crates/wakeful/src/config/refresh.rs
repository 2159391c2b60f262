//! A thread that reads the settings file, so that a hanging disk does not hold up the callers.
//!
//! A caller requests a read and waits for one that began after its request, but only for a short time. Usually a
//! read is one look at the file's metadata. While a read hangs, callers do not wait at all.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How long a caller waits for a read: far longer than a working disk needs.
const READ_WAIT_MAX: Duration = Duration::from_millis(200);

/// A handle to the thread. The thread ends when the last handle is dropped.
#[derive(Debug)]
pub(super) struct Refresher {
    progress: Arc<Progress>,
}

#[derive(Debug, Default)]
struct Progress {
    counts: Mutex<Counts>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Counts {
    requested: u64,
    /// The newest request that a finished read covers.
    finished: u64,
    /// Whether a caller gave up waiting for the current read.
    is_late: bool,
    is_closed: bool,
}

/// Whether a requested read has finished.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refreshed {
    Yes,
    /// The disk does not respond.
    Late,
}

impl Refresher {
    /// Starts the thread. `read` is called for each request; several requests may share one call.
    pub(super) fn start(mut read: impl FnMut() + Send + 'static) -> std::io::Result<Self> {
        let progress = Arc::new(Progress::default());
        let shared = Arc::clone(&progress);
        let work = move || {
            while let Some(request) = shared.next_request() {
                read();
                let mut counts = shared.lock();
                (counts.finished, counts.is_late) = (request, false);
                shared.changed.notify_all();
            }
        };
        std::thread::Builder::new()
            .name("settings".to_owned())
            .spawn(work)?;
        Ok(Self { progress })
    }

    /// Waits for a read that began after this call, for a short time.
    pub(super) fn refresh(&self) -> Refreshed {
        let progress = &self.progress;
        let mut counts = progress.lock();
        counts.requested += 1;
        let own = counts.requested;
        progress.changed.notify_all();
        let until = Instant::now() + READ_WAIT_MAX;
        while counts.finished < own {
            let left = until.saturating_duration_since(Instant::now());
            if counts.is_late || left.is_zero() {
                counts.is_late = true;
                return Refreshed::Late;
            }
            let waited = progress.changed.wait_timeout(counts, left);
            counts = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        Refreshed::Yes
    }
}

impl Drop for Refresher {
    fn drop(&mut self) {
        self.progress.lock().is_closed = true;
        self.progress.changed.notify_all();
    }
}

impl Progress {
    fn lock(&self) -> MutexGuard<'_, Counts> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for a request; none after the last handle was dropped.
    fn next_request(&self) -> Option<u64> {
        let mut counts = self.lock();
        loop {
            if counts.is_closed {
                return None;
            }
            if counts.requested > counts.finished {
                return Some(counts.requested);
            }
            counts = self.changed.wait(counts).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[test]
    fn a_hanging_read_delays_only_the_first_caller() {
        let (go, gate) = mpsc::channel::<()>();
        let refresher = Refresher::start(move || gate.recv().unwrap_or_default()).expect("a thread");
        assert_eq!(refresher.refresh(), Refreshed::Late);
        let began = Instant::now();
        (0..100).for_each(|_| assert_eq!(refresher.refresh(), Refreshed::Late));
        assert!(began.elapsed() < READ_WAIT_MAX, "{:?}", began.elapsed());
        // The disk responds again: the next read covers all requests.
        drop(go);
        let answers = std::iter::repeat_with(|| refresher.refresh());
        assert!(answers.take(1_000_000).any(|answer| answer == Refreshed::Yes));
        assert_eq!(refresher.refresh(), Refreshed::Yes);
    }

    #[test]
    fn a_read_begins_after_the_request_that_waits_for_it() {
        let (tell, told) = mpsc::channel();
        let refresher = Refresher::start(move || tell.send(()).unwrap_or_default()).expect("a thread");
        for _ in 0..100 {
            assert_eq!(refresher.refresh(), Refreshed::Yes);
            assert!(told.try_recv().is_ok(), "no read");
        }
        drop(refresher);
        assert!(told.recv().is_err(), "the thread ends with its last handle");
    }
}
