//! Private folders of commands that could not be removed within the limits of one removal.
//!
//! They are moved to `<scratch>/quarantine`, so that no operation uses them again, and a background thread
//! continues to remove them. What it cannot remove stays there until `wakeful doctor --fix`.

use std::fs::{self, DirBuilder};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::remove_tree::{self, RemovalLimits, RemovalRemainder, fresh_name};

/// The name of the quarantine folder in the scratch folder.
pub const FOLDER: &str = "quarantine";

/// Most folders in quarantine. Further ones stay where they are.
pub const FOLDERS_MAX: usize = 1_000;

/// Maximum duration of one background removal.
pub const BACKGROUND_TIME_MAX: Duration = Duration::from_secs(600);

/// Whether a thread of this process is removing quarantined folders.
static IS_REMOVING: AtomicBool = AtomicBool::new(false);

/// The quarantined folders of a scratch folder, at most [`FOLDERS_MAX`].
#[must_use]
pub fn list(scratch: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(scratch.join(FOLDER)).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).take(FOLDERS_MAX).collect()
}

/// Continues to remove quarantined folders, on its own thread. The daemon calls it at startup.
pub fn remove_in_background(scratch: &Path) {
    if list(scratch).is_empty() || IS_REMOVING.swap(true, Ordering::AcqRel) {
        return;
    }
    let scratch = scratch.to_owned();
    let work = move || {
        remove_all(
            &scratch,
            RemovalLimits::default(),
            Instant::now() + BACKGROUND_TIME_MAX,
        );
        IS_REMOVING.store(false, Ordering::Release);
    };
    // The thread is not joined: if the process exits meanwhile, the next one removes the rest.
    if thread::Builder::new()
        .name("quarantine".to_owned())
        .spawn(work)
        .is_err()
    {
        IS_REMOVING.store(false, Ordering::Release);
    }
}

/// Moves a folder of the scratch folder to quarantine and continues to remove it from there.
pub(crate) fn put(path: &Path, left: &RemovalRemainder) {
    move_in(path, left);
    path.parent().into_iter().for_each(remove_in_background);
}

fn move_in(path: &Path, left: &RemovalRemainder) {
    let (Some(scratch), Some(name)) = (path.parent(), path.file_name()) else {
        return;
    };
    let folder = scratch.join(FOLDER);
    let made = DirBuilder::new().mode(0o700).recursive(true).create(&folder);
    let is_full = list(scratch).len() >= FOLDERS_MAX;
    let to = folder.join(format!("{}-{}", name.to_string_lossy(), fresh_name()));
    let shown = path.display();
    match made.and_then(|()| {
        if is_full {
            Err(full())
        } else {
            fs::rename(path, &to)
        }
    }) {
        Ok(()) => tracing::warn!(
            folder = %shown,
            to = %to.display(),
            "a command's folder cannot be removed and is quarantined: {left}"
        ),
        Err(error) => tracing::warn!(
            folder = %shown,
            %error,
            "a command's folder can neither be removed nor quarantined: {left}; see `wakeful doctor`"
        ),
    }
}

fn full() -> std::io::Error {
    std::io::Error::other(format!("{FOLDERS_MAX} folders are already quarantined"))
}

/// Removes one bounded part of each folder in turn, until nothing is left, nothing can be removed, or the
/// deadline passes.
fn remove_all(scratch: &Path, bounds: RemovalLimits, deadline: Instant) {
    let mut stuck = Vec::new();
    loop {
        let mut progress = 0;
        stuck.clear();
        for path in list(scratch) {
            if Instant::now() >= deadline {
                tracing::info!(folder = %scratch.join(FOLDER).display(), "the quarantine is not empty yet");
                return;
            }
            let removal = remove_tree::remove(&path, bounds);
            progress += removal.progress;
            stuck.extend(removal.left.map(|left| format!("{}: {left}", path.display())));
        }
        if stuck.is_empty() || progress == 0 {
            break;
        }
    }
    for line in &stuck {
        tracing::warn!("{line}; remove it by hand, or retry with `wakeful doctor --fix`");
    }
    // It stays if it is not empty.
    let _left = fs::remove_dir(scratch.join(FOLDER));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quarantined_trees_are_removed_in_bounded_parts() {
        let scratch = tempfile::tempdir().expect("a folder");
        let operation = scratch.path().join("operation");
        fs::create_dir_all(operation.join("tmp/a/b/c")).expect("folders");
        for number in 0..50 {
            fs::write(operation.join(format!("tmp/a/{number}")), "").expect("a file");
        }
        let bounds = RemovalLimits {
            entries_max: 10,
            ..RemovalLimits::default()
        };
        let left = remove_tree::remove(&operation, bounds)
            .left
            .expect("too many at once");
        move_in(&operation, &left);
        assert!(!operation.exists());
        remove_all(scratch.path(), bounds, Instant::now() + Duration::from_secs(60));
        assert_eq!(fs::read_dir(scratch.path()).expect("a folder").count(), 0);
    }
}
