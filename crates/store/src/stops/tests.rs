use std::fs;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;

use rustix::fs::{CWD, FileType, Mode, OFlags, mknodat};
use tempfile::TempDir;
use wakeful_core::decision::Channel;
use wakeful_core::key::Digest;
use wakeful_core::stop::{SLOT_BYTES, StopTarget};
use wakeful_core::time::Millis;

use super::*;

fn request(id: u64, target: StopTarget) -> StopRequest {
    StopRequest {
        id,
        target,
        reason: String::new(),
        channel: Channel::Cli,
        at: Millis(1),
    }
}

fn run(n: u8) -> RunKey {
    RunKey(Digest::of(&[n]))
}

fn main_agent() -> AgentId {
    AgentId::parse("main").expect("an id")
}

fn home_with_slot() -> (TempDir, PathBuf) {
    let home = tempfile::tempdir().expect("a folder");
    let slot = home.path().join("stop.slot");
    make_slot(&slot).expect("made");
    (home, slot)
}

/// A slot that blocks every reader: a pipe into which nothing is written until this is dropped.
struct HungSlot(PathBuf);

impl HungSlot {
    fn at(path: &Path) -> Self {
        let _ = fs::remove_file(path);
        mknodat(CWD, path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).expect("a pipe");
        Self(path.to_owned())
    }

    /// Waits until the pipe has a reader: only then can it be opened for writing without blocking. The
    /// reader keeps waiting for bytes while the file is open.
    fn until_read(&self) -> fs::File {
        let nonblocking = i32::try_from(OFlags::NONBLOCK.bits()).expect("a flag");
        let mut options = fs::OpenOptions::new();
        options.write(true).custom_flags(nonblocking);
        loop {
            if let Ok(file) = options.open(&self.0) {
                return file;
            }
            thread::yield_now();
        }
    }
}

impl Drop for HungSlot {
    fn drop(&mut self) {
        let mut pipe = fs::OpenOptions::new()
            .read(true)
            .write(true)
            .open(&self.0)
            .expect("opened");
        // As much as two readers read, and as a pipe can hold.
        pipe.write_all(&[0; 2 * SLOT_BYTES]).expect("written");
    }
}

/// Makes the next check start the refresher, as if the slot had been read long ago.
fn make_stale(stops: &PendingStopStore) {
    locked(&stops.state).refreshed_at = None;
}

#[test]
fn a_hanging_slot_delays_neither_a_brake_nor_a_check() {
    let (_home, path) = home_with_slot();
    let stops = PendingStopStore::with_slot(path.clone());
    let hung = HungSlot::at(&path);
    make_stale(&stops);
    assert!(!stops.is_braked(&main_agent()));
    let _open = hung.until_read();
    let ids = stops.add(request(1, StopTarget::All)).expect("room");
    stops.add(request(2, StopTarget::Run(run(1)))).expect("room");
    assert!(stops.is_braked(&main_agent()) && stops.is_cancelled(&run(1)));
    assert_eq!(stops.unstored_brakes(&BTreeSet::new()).len(), 1);
    assert!(stops.pending().iter().all(|pending| !pending.is_kept));
    stops.end(&ids).expect("nothing of it is in the slot");
    assert!(!stops.is_braked(&main_agent()));
}

#[test]
fn a_slot_that_hangs_at_the_start_brakes_everything() {
    let (_home, path) = home_with_slot();
    let _hung = HungSlot::at(&path);
    assert!(PendingStopStore::with_slot(path.clone()).is_braked(&main_agent()));
    let error = keep_in_slot(&path, &request(1, StopTarget::All));
    assert!(matches!(error, Err(StoreError::Device(_))), "{error:?}");
}

#[test]
fn while_one_write_hangs_others_time_out() {
    let (_home, path) = home_with_slot();
    let stops = PendingStopStore::with_slot(path);
    let _writing = locked(&stops.at_disk);
    stops.add(request(1, StopTarget::All)).expect("room");
    assert!(stops.save().is_err() && stops.refresh().is_err());
    assert!(
        stops.end(&BTreeSet::from([1])).is_err(),
        "the write may still bring it into the slot"
    );
    assert!(stops.is_braked(&main_agent()));
}

#[tokio::test]
async fn a_request_that_another_process_saved_becomes_pending() {
    let (_home, path) = home_with_slot();
    let stops = PendingStopStore::with_slot(path.clone());
    keep_in_slot(&path, &request(1, StopTarget::All)).expect("kept");
    make_stale(&stops);
    assert!(
        !stops.is_braked(&main_agent()),
        "this question starts the refresher"
    );
    stops.changed().await;
    assert!(stops.is_braked(&main_agent()));
}

#[test]
fn brakes_by_a_command_and_the_daemon_become_one_request() {
    for is_read_first in [true, false] {
        let (_home, path) = home_with_slot();
        let opened = (!is_read_first).then(|| PendingStopStore::with_slot(path.clone()));
        keep_in_slot(&path, &request(1, StopTarget::All)).expect("kept");
        let stops = opened.unwrap_or_else(|| PendingStopStore::with_slot(path.clone()));
        stops.add(request(2, StopTarget::All)).expect("room");
        stops.refresh().expect("read");
        let pending = stops.pending();
        assert_eq!(pending.len(), 1, "{pending:?}");
        stops.end(&pending[0].ids).expect("ended");
        assert!(stops.pending().is_empty() && read_slot(&path).is_empty());
    }
}

#[test]
fn a_full_slot_keeps_the_brake_and_reports_what_it_omitted() {
    let (_home, path) = home_with_slot();
    let stops = PendingStopStore::with_slot(path.clone());
    for n in 0..100 {
        let cancel = request(u64::from(n) + u64::MAX / 2, StopTarget::Run(run(n)));
        stops.add(cancel).expect("room");
    }
    assert!(matches!(stops.save(), Err(StoreError::Full)));
    stops.add(request(1, StopTarget::All)).expect("room");
    assert!(matches!(stops.save(), Err(StoreError::Full)));
    let pending = stops.pending();
    assert_eq!(pending.len(), 101, "what did not fit is in force");
    assert_eq!(
        (&pending[0].request.target, pending[0].is_kept),
        (&StopTarget::All, true)
    );
    let kept = pending.iter().filter(|pending| pending.is_kept).count();
    assert_eq!(kept, read_slot(&path).len());
    assert!((30..101).contains(&kept), "{kept}");
}
