//! The one thread that writes. It never waits for more work to come: it takes what is queued, and the time that
//! one commit takes is the window in which the next group gathers.

use std::sync::Mutex;
use std::thread::{self, JoinHandle};

use tokio::sync::{mpsc, oneshot};

use crate::job::{Job, QUEUE_MAX};
use crate::lock::locked;
use crate::sqlite::group_commit::GroupCommit;
use crate::{Result, StoreError};

/// Closures in one commit: enough to make the cost of a sync vanish, few enough that nobody waits long behind
/// them, and that running a failed group again stays cheap.
pub const GROUP_MAX: usize = 256;

/// What the writing thread is asked for.
enum Work {
    /// A closure, in a transaction with others.
    Job(Box<dyn Job>),
    /// The whole file, written anew: alone, and in no transaction.
    Rewrite(oneshot::Sender<Result<()>>),
}

/// The way to the writing thread.
pub(crate) struct Writer {
    queue: Mutex<Option<mpsc::Sender<Work>>>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Writer {
    /// Starts the thread.
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

    /// Queues a job, waiting while the queue is full.
    pub(crate) async fn submit(&self, job: Box<dyn Job>) -> Result<()> {
        self.send(Work::Job(job)).await
    }

    /// Writes the whole file anew, after what is queued.
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

    /// Finishes what is queued and ends the thread. Blocks until it has.
    pub(crate) fn stop(&self) {
        drop(locked(&self.queue).take());
        let thread = locked(&self.thread).take();
        // A closure may hold the last handle of its own store; a thread cannot wait for itself.
        if let Some(thread) = thread.filter(|thread| thread.thread().id() != thread::current().id()) {
            // It cannot have panicked: whatever callers do in it is caught.
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
            // A caller who has gone is not missed.
            let _ = reply.send(group.rewrite());
        }
    }
}
