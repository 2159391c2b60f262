//! What the kernel tells of folders that are listened to. One ear for all sources, opened when it is first needed: the
//! kernel grants a user few of them.

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

/// Bytes of what the kernel tells that are read at once. Room for a few dozen names.
const EVENT_BUFFER_BYTES: usize = 4_096;

/// What is listened for: everything that may make an entry another one, come or go.
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

/// What is listened for in a folder on the way to something that is not there: that something comes up, or that the folder
/// itself goes. Whoever else listens there goes on hearing what they want.
const AWAITED: WatchFlags = WatchFlags::CREATE
    .union(WatchFlags::MOVED_TO)
    .union(WatchFlags::DELETE_SELF)
    .union(WatchFlags::MOVE_SELF)
    .union(WatchFlags::ONLYDIR)
    .union(WatchFlags::DONT_FOLLOW)
    .union(WatchFlags::MASK_ADD);

/// Hears of changes in folders.
#[derive(Debug, Default)]
pub(super) struct Inotify {
    heard: Mutex<InotifyEvents>,
    /// That the ear was opened, for whoever waits for it.
    opened: Notify,
}

#[derive(Debug, Default)]
struct InotifyEvents {
    kernel: Option<Arc<AsyncFd<OwnedFd>>>,
    /// Whom a watch is for. The kernel has one watch of a folder, whoever asked for it.
    whose: BTreeMap<i32, BTreeSet<SourceId>>,
}

impl InotifyEvents {
    fn all(&self) -> BTreeSet<SourceId> {
        self.whose.values().flatten().cloned().collect()
    }
}

impl Inotify {
    fn heard(&self) -> MutexGuard<'_, InotifyEvents> {
        self.heard.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Listens to exactly these folders for a source. Says whether one of them was not listened to before.
    pub(super) fn listen(&self, source: &SourceId, folders: &[PathBuf]) -> Result<bool, Errno> {
        self.listen_for(source, folders, WANTED)
    }

    /// Listens to folders on the way to a source that is not there, and to no others for it.
    pub(super) fn await_in(&self, source: &SourceId, folders: &[PathBuf]) -> Result<bool, Errno> {
        self.listen_for(source, folders, AWAITED)
    }

    fn listen_for(&self, source: &SourceId, folders: &[PathBuf], what: WatchFlags) -> Result<bool, Errno> {
        let mut heard = self.heard();
        let kernel = self.kernel(&mut heard)?;
        let (mut wanted, mut is_new) = (BTreeSet::new(), false);
        for folder in folders {
            let watch = match inotify::add_watch(&*kernel, folder, what) {
                Ok(watch) => watch,
                // It went meanwhile, which its parent tells; or it cannot be read, which is counted.
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
            reason = "what is said against it is that a descriptor may change under way, which an `OwnedFd` of ours does not"
        )]
        let kernel = AsyncFd::with_interest(kernel, Interest::READABLE);
        let kernel = Arc::new(kernel.map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))?);
        heard.kernel = Some(Arc::clone(&kernel));
        self.opened.notify_one();
        Ok(kernel)
    }

    /// Stops listening for a source.
    pub(super) fn forget(&self, source: &SourceId) {
        let mut heard = self.heard();
        if let Some(kernel) = heard.kernel.clone() {
            drop_watches(&mut heard, &kernel, source, &BTreeSet::new());
        }
    }

    /// The sources in whose folders something happened since this was last ready.
    pub(super) async fn stirred(&self) -> BTreeSet<SourceId> {
        loop {
            let kernel = self.heard().kernel.clone();
            let Some(kernel) = kernel else {
                self.opened.notified().await;
                continue;
            };
            let Ok(mut ready) = kernel.readable().await else {
                // The loop that drives everything is gone, and so is whoever waits.
                return std::future::pending().await;
            };
            let stirred = self.read(&kernel);
            ready.clear_ready();
            if !stirred.is_empty() {
                return stirred;
            }
        }
    }

    /// Reads all that the kernel has to tell.
    fn read(&self, kernel: &AsyncFd<OwnedFd>) -> BTreeSet<SourceId> {
        let mut heard = self.heard();
        let mut stirred = BTreeSet::new();
        let mut buffer = [MaybeUninit::uninit(); EVENT_BUFFER_BYTES];
        let mut reader = Reader::new(kernel.get_ref(), &mut buffer);
        while let Ok(event) = reader.next() {
            if event.events().contains(ReadFlags::QUEUE_OVERFLOW) {
                // The kernel told more than it could keep, so anything may have happened.
                stirred.extend(heard.all());
                continue;
            }
            stirred.extend(heard.whose.get(&event.wd()).into_iter().flatten().cloned());
            if event.events().contains(ReadFlags::IGNORED) {
                // The folder is gone, and its watch with it.
                heard.whose.remove(&event.wd());
            }
        }
        stirred
    }
}

/// Takes away the watches of a source that are not wanted, unless others want them.
fn drop_watches(
    heard: &mut InotifyEvents,
    kernel: &AsyncFd<OwnedFd>,
    source: &SourceId,
    wanted: &BTreeSet<i32>,
) {
    heard.whose.retain(|watch, whose| {
        if !wanted.contains(watch) {
            whose.remove(source);
        }
        if whose.is_empty() {
            // One that went by itself is not there to be taken away.
            let _ = inotify::remove_watch(kernel, *watch);
        }
        !whose.is_empty()
    });
}
