//! The single writer thread. It never waits for more work: it takes what is queued, and the next group
//! accumulates while one commit is in progress.

use std::sync::Mutex;
use std::thread::{self, JoinHandle};

use tokio::sync::{mpsc, oneshot};

use crate::job::{Job, QUEUE_MAX};
use crate::lock::locked;
use crate::sqlite::group_commit::GroupCommit;
use crate::{Result, StoreError};

/// Closures per commit: enough to make the cost of a sync negligible, few enough to keep the wait short,
/// and to make rerunning a failed group cheap.
pub const GROUP_MAX: usize = 256;

/// A request to the writer thread.
enum Work {
    /// A closure, run in a transaction with others.
    Job(Box<dyn Job>),
    /// Rewriting the whole file, alone and outside of a transaction.
    Rewrite(oneshot::Sender<Result<()>>),
}

/// The handle of the writer thread.
pub(crate) struct Writer {
    queue: Mutex<Option<mpsc::Sender<Work>>>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Writer {
    pub(crate) fn start(group: GroupCommit) -> Result<Self> {
        let (queue, waiting) = mpsc::channel(QUEUE_MAX);
        let thread = thread::Builder::new()
            .name("store-writer".into())
            .spawn(move || write(group, waiting))
            .map_err(|error| StoreError::Backend(error.into()))?;
        Ok(Self {
            queue: Mutex::new(Some(queue)),
            thread: Mutex::new(Some(thread)),
        })
    }

    /// Queues a job; waits while the queue is full.
    pub(crate) async fn submit(&self, job: Box<dyn Job>) -> Result<()> {
        self.send(Work::Job(job)).await
    }

    /// Rewrites the whole file after the queued jobs.
    pub(crate) async fn rewrite(&self) -> Result<()> {
        let (reply, answer) = oneshot::channel();
        self.send(Work::Rewrite(reply)).await?;
        answer.await.map_err(|_| StoreError::Closed)?
    }

    async fn send(&self, work: Work) -> Result<()> {
        let queue = locked(&self.queue).clone();
        let sent = queue.ok_or(StoreError::Closed)?.send(work).await;
        sent.map_err(|_| StoreError::Closed)
    }

    /// Completes queued work and ends the thread. Blocks until it has ended.
    pub(crate) fn stop(&self) {
        drop(locked(&self.queue).take());
        let thread = locked(&self.thread).take();
        // A closure may hold the last handle of its own store; a thread cannot join itself.
        if let Some(thread) = thread.filter(|thread| thread.thread().id() != thread::current().id()) {
            // The thread cannot have panicked: panics of callers' closures are caught.
            let _ = thread.join();
        }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.stop();
    }
}

fn write(mut group: GroupCommit, mut waiting: mpsc::Receiver<Work>) {
    while let Some(first) = waiting.blocking_recv() {
        let (mut jobs, mut next) = (Vec::new(), Some(first));
        while let Some(Work::Job(job)) = next {
            jobs.push(job);
            let more = (jobs.len() < GROUP_MAX).then(|| waiting.try_recv().ok());
            next = more.flatten();
        }
        if !jobs.is_empty() {
            group.perform(jobs);
        }
        if let Some(Work::Rewrite(reply)) = next {
            // The caller may no longer wait for the result.
            let _ = reply.send(group.rewrite());
        }
    }
}
