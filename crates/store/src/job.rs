//! A type-erased closure for a database thread, together with the channel to its caller.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use tokio::sync::oneshot;

use crate::tx::{Tx, View};
use crate::{Result, StoreError};

/// Closures that may be queued for a database thread. When the queue is full, callers wait asynchronously.
pub const QUEUE_MAX: usize = 1024;

/// The type-erased result of a closure. Types are erased before a closure reaches a database, so that the
/// database code is compiled once and not once per transaction.
pub(crate) type AnyValue = Box<dyn Any + Send>;

/// A type-erased closure that reads.
pub(crate) type Query = Box<dyn FnOnce(&mut View<'_>) -> Result<AnyValue> + Send>;

/// A type-erased closure that writes.
pub(crate) type Change = Box<dyn Fn(&mut Tx<'_>) -> Result<AnyValue> + Send>;

/// Erases the type of a closure that reads.
pub(crate) fn query<T, F>(f: F) -> Query
where
    T: Send + 'static,
    F: FnOnce(&mut View<'_>) -> Result<T> + Send + 'static,
{
    Box::new(move |view| Ok(Box::new(f(view)?)))
}

/// Erases the type of a closure that writes.
pub(crate) fn change<T, F>(f: F) -> Change
where
    T: Send + 'static,
    F: Fn(&mut Tx<'_>) -> Result<T> + Send + 'static,
{
    Box::new(move |tx| Ok(Box::new(f(tx)?)))
}

/// Restores the type of a closure's result.
pub(crate) fn typed<T: 'static>(value: AnyValue) -> Result<T> {
    let value = value.downcast::<T>();
    value.map(|value| *value).map_err(|_| StoreError::Closed)
}

/// Work for a database thread.
pub(crate) trait Job: Send {
    /// Runs the closure in an open transaction and stores its value. May be called again after a rollback.
    fn run(&mut self, tx: &mut Tx<'_>) -> Result<()>;
    /// Whether the caller no longer waits for the result.
    fn is_abandoned(&self) -> bool {
        false
    }
    /// Sends the outcome to the caller. A caller that no longer waits is ignored.
    fn answer(self: Box<Self>, outcome: Result<()>);
}

/// A job and the receiver of its result.
pub(crate) type QueuedJob<T> = (Box<dyn Job>, oneshot::Receiver<Result<T>>);

/// Creates a job from a closure that writes.
pub(crate) fn writing<T, F>(f: F) -> QueuedJob<T>
where
    T: Send + 'static,
    F: Fn(&mut Tx<'_>) -> Result<T> + Send + 'static,
{
    let (reply, answer) = oneshot::channel();
    (
        Box::new(WriteJob {
            f,
            value: None,
            reply,
        }),
        answer,
    )
}

/// Creates a job from a closure that reads. It runs at most once.
pub(crate) fn reading<T, F>(f: F) -> QueuedJob<T>
where
    T: Send + 'static,
    F: FnOnce(&mut View<'_>) -> Result<T> + Send + 'static,
{
    let (reply, answer) = oneshot::channel();
    (
        Box::new(ReadJob {
            f: Some(f),
            value: None,
            reply,
        }),
        answer,
    )
}

struct WriteJob<T, F> {
    f: F,
    value: Option<T>,
    reply: oneshot::Sender<Result<T>>,
}

impl<T, F> Job for WriteJob<T, F>
where
    T: Send,
    F: Fn(&mut Tx<'_>) -> Result<T> + Send,
{
    fn run(&mut self, tx: &mut Tx<'_>) -> Result<()> {
        self.value = Some(guarded(|| (self.f)(tx))?);
        refuse_swallowed(tx)?;
        tx.bind_records()
    }

    fn is_abandoned(&self) -> bool {
        self.reply.is_closed()
    }

    fn answer(self: Box<Self>, outcome: Result<()>) {
        let Self { f, value, reply } = *self;
        // Drop the closure first, so that values it captured are released before the caller receives the
        // result.
        drop(f);
        let _ = reply.send(outcome.and_then(|()| value.ok_or(StoreError::Closed)));
    }
}

struct ReadJob<T, F> {
    f: Option<F>,
    value: Option<T>,
    reply: oneshot::Sender<Result<T>>,
}

impl<T, F> Job for ReadJob<T, F>
where
    T: Send,
    F: FnOnce(&mut View<'_>) -> Result<T> + Send,
{
    fn run(&mut self, tx: &mut Tx<'_>) -> Result<()> {
        let f = self.f.take().ok_or(StoreError::Closed)?;
        self.value = Some(guarded(|| f(tx))?);
        Ok(())
    }

    fn is_abandoned(&self) -> bool {
        self.reply.is_closed()
    }

    fn answer(self: Box<Self>, outcome: Result<()>) {
        let Self { value, reply, .. } = *self;
        let _ = reply.send(outcome.and_then(|()| value.ok_or(StoreError::Closed)));
    }
}

/// Runs a caller's closure so that a panic ends only its own transaction.
///
/// The unwind-safety assertion holds because nothing that the closure could have left incomplete is used
/// again: its transaction is rolled back, and only the closure itself accesses its captures.
pub(crate) fn guarded<T>(f: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(f)).unwrap_or_else(|panic| Err(panicked(panic.as_ref())))
}

fn panicked(panic: &(dyn Any + Send)) -> StoreError {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("no message");
    StoreError::Backend(format!("a transaction panicked: {text}").into())
}

fn refuse_swallowed(tx: &Tx<'_>) -> Result<()> {
    if tx.sql.failed() {
        return Err(StoreError::Backend(
            "a transaction continued after a failed statement".into(),
        ));
    }
    Ok(())
}

/// Copies an error for another caller. The source cannot be shared, so only its text is copied.
pub(crate) fn again(error: &StoreError) -> StoreError {
    let words = |source: &(dyn std::error::Error + Send + Sync)| source.to_string().into();
    match error {
        StoreError::Conflict => StoreError::Conflict,
        StoreError::FenceLost(agent) => StoreError::FenceLost(agent.clone()),
        StoreError::QueueFull(agent) => StoreError::QueueFull(agent.clone()),
        StoreError::Braked(agent) => StoreError::Braked(agent.clone()),
        StoreError::Full => StoreError::Full,
        StoreError::ReadOnly => StoreError::ReadOnly,
        StoreError::LogRemoved => StoreError::LogRemoved,
        StoreError::Corrupt(source) => StoreError::Corrupt(words(source.as_ref())),
        StoreError::Foreign => StoreError::Foreign,
        StoreError::DevelopmentHome => StoreError::DevelopmentHome,
        StoreError::NewerSchema { found, known } => StoreError::NewerSchema {
            found: *found,
            known: *known,
        },
        StoreError::OlderSchema { found, known } => StoreError::OlderSchema {
            found: *found,
            known: *known,
        },
        StoreError::Absent => StoreError::Absent,
        StoreError::BadAddress(source) => StoreError::BadAddress(words(source.as_ref())),
        StoreError::Unreachable(source) => StoreError::Unreachable(words(source.as_ref())),
        StoreError::Malformed(what) => StoreError::Malformed(what),
        StoreError::Closed => StoreError::Closed,
        StoreError::Device(source) => StoreError::Device(words(source.as_ref())),
        StoreError::Backend(source) => StoreError::Backend(words(source.as_ref())),
    }
}
