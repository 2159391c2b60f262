//! Receives change notifications for watched folders from the kernel. All sources share one inotify
//! instance, opened on first use, because the kernel grants few instances per user.

use std::collections::{BTreeMap, BTreeSet};
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::fs::inotify::{self, CreateFlags, ReadFlags, Reader, WatchFlags};
use rustix::io::Errno;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::sync::Notify;
use wakeful_core::id::SourceId;

/// Bytes of events per read. Room for a few dozen names.
const EVENT_BUFFER_BYTES: usize = 4_096;

/// The events to watch: everything that may create, change or remove an entry.
const WANTED: WatchFlags = WatchFlags::CREATE
    .union(WatchFlags::DELETE)
    .union(WatchFlags::MODIFY)
    .union(WatchFlags::CLOSE_WRITE)
    .union(WatchFlags::MOVED_FROM)
    .union(WatchFlags::MOVED_TO)
    .union(WatchFlags::DELETE_SELF)
    .union(WatchFlags::MOVE_SELF)
    .union(WatchFlags::ONLYDIR)
    .union(WatchFlags::DONT_FOLLOW)
    .union(WatchFlags::EXCL_UNLINK);

/// The events to watch in a parent folder of a missing source: that an entry appears, or that the folder
/// itself disappears. Other watches of that folder keep their events.
const AWAITED: WatchFlags = WatchFlags::CREATE
    .union(WatchFlags::MOVED_TO)
    .union(WatchFlags::DELETE_SELF)
    .union(WatchFlags::MOVE_SELF)
    .union(WatchFlags::ONLYDIR)
    .union(WatchFlags::DONT_FOLLOW)
    .union(WatchFlags::MASK_ADD);

/// Watches folders for changes.
#[derive(Debug, Default)]
pub(super) struct Inotify {
    events: Mutex<InotifyEvents>,
    /// Notifies waiters that the instance was opened.
    opened: Notify,
}

#[derive(Debug, Default)]
struct InotifyEvents {
    kernel: Option<Arc<AsyncFd<OwnedFd>>>,
    /// The sources of each watch. The kernel has one watch per folder, shared by all sources.
    whose: BTreeMap<i32, BTreeSet<SourceId>>,
}

impl InotifyEvents {
    fn all(&self) -> BTreeSet<SourceId> {
        self.whose.values().flatten().cloned().collect()
    }
}

impl Inotify {
    fn lock_events(&self) -> MutexGuard<'_, InotifyEvents> {
        self.events.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Watches exactly these folders for a source. Returns whether one of them was not watched before.
    pub(super) fn listen(&self, source: &SourceId, folders: &[PathBuf]) -> Result<bool, Errno> {
        self.listen_for(source, folders, WANTED)
    }

    /// Watches only these parent folders for a source that does not exist.
    pub(super) fn await_in(&self, source: &SourceId, folders: &[PathBuf]) -> Result<bool, Errno> {
        self.listen_for(source, folders, AWAITED)
    }

    fn listen_for(&self, source: &SourceId, folders: &[PathBuf], what: WatchFlags) -> Result<bool, Errno> {
        let mut heard = self.lock_events();
        let kernel = self.kernel(&mut heard)?;
        let (mut wanted, mut is_new) = (BTreeSet::new(), false);
        for folder in folders {
            let watch = match inotify::add_watch(&*kernel, folder, what) {
                Ok(watch) => watch,
                // The folder disappeared, which its parent's watch reports; or it cannot be read, which is
                // counted.
                Err(Errno::NOENT | Errno::NOTDIR | Errno::ACCESS | Errno::LOOP | Errno::NAMETOOLONG) => {
                    continue;
                }
                Err(error) => return Err(error),
            };
            wanted.insert(watch);
            is_new |= heard.whose.entry(watch).or_default().insert(source.clone());
        }
        drop_watches(&mut heard, &kernel, source, &wanted);
        Ok(is_new)
    }

    fn kernel(&self, heard: &mut InotifyEvents) -> Result<Arc<AsyncFd<OwnedFd>>, Errno> {
        if let Some(kernel) = &heard.kernel {
            return Ok(Arc::clone(kernel));
        }
        let kernel = inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC)?;
        #[expect(
            deprecated,
            reason = "the deprecation warns that a descriptor may change while it is registered; an `OwnedFd` does not"
        )]
        let kernel = AsyncFd::with_interest(kernel, Interest::READABLE);
        let kernel = Arc::new(kernel.map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))?);
        heard.kernel = Some(Arc::clone(&kernel));
        self.opened.notify_one();
        Ok(kernel)
    }

    /// Removes all watches of a source.
    pub(super) fn forget(&self, source: &SourceId) {
        let mut heard = self.lock_events();
        if let Some(kernel) = heard.kernel.clone() {
            drop_watches(&mut heard, &kernel, source, &BTreeSet::new());
        }
    }

    /// Waits for the sources in whose folders something changed since the last call.
    pub(super) async fn changed_sources(&self) -> BTreeSet<SourceId> {
        loop {
            let kernel = self.lock_events().kernel.clone();
            let Some(kernel) = kernel else {
                self.opened.notified().await;
                continue;
            };
            let Ok(mut ready) = kernel.readable().await else {
                // The async runtime is gone, and so is every waiter.
                return std::future::pending().await;
            };
            let stirred = self.read(&kernel);
            ready.clear_ready();
            if !stirred.is_empty() {
                return stirred;
            }
        }
    }

    /// Reads all pending events.
    fn read(&self, kernel: &AsyncFd<OwnedFd>) -> BTreeSet<SourceId> {
        let mut heard = self.lock_events();
        let mut stirred = BTreeSet::new();
        let mut buffer = [MaybeUninit::uninit(); EVENT_BUFFER_BYTES];
        let mut reader = Reader::new(kernel.get_ref(), &mut buffer);
        while let Ok(event) = reader.next() {
            if event.events().contains(ReadFlags::QUEUE_OVERFLOW) {
                // The event queue overflowed, so anything may have changed.
                stirred.extend(heard.all());
                continue;
            }
            stirred.extend(heard.whose.get(&event.wd()).into_iter().flatten().cloned());
            if event.events().contains(ReadFlags::IGNORED) {
                // The kernel removed the watch together with the folder.
                heard.whose.remove(&event.wd());
            }
        }
        stirred
    }
}

/// Removes the unwanted watches of a source, unless other sources use them.
fn drop_watches(
    events: &mut InotifyEvents,
    kernel: &AsyncFd<OwnedFd>,
    source: &SourceId,
    wanted: &BTreeSet<i32>,
) {
    events.whose.retain(|watch, whose| {
        if !wanted.contains(watch) {
            whose.remove(source);
        }
        if whose.is_empty() {
            // The watch may already be gone.
            let _ = inotify::remove_watch(kernel, *watch);
        }
        !whose.is_empty()
    });
}
