//! The disk and the cut, on a program that is known: Python's `os` module makes the calls one by one.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::{Cut, cut};
use crate::place::build_disk;
use crate::rng::Rng;

/// Cuts that chance is given: each case below comes out in several ways within a few.
const CUTS: u64 = 40;

struct Bed {
    folder: tempfile::TempDir,
    disk: PathBuf,
}

impl Bed {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let disk = build_disk(folder.path()).expect("a disk");
        Self { folder, disk }
    }

    fn root(&self) -> PathBuf {
        self.folder.path().join("root")
    }

    fn journal(&self) -> PathBuf {
        self.folder.path().join("journal")
    }

    /// Runs a program on a fresh disk, which loses power right after it, and says what happened to the disk.
    fn run(&self, program: &str, seed: u64) -> Cut {
        for folder in [self.root(), self.journal()] {
            let _ = std::fs::remove_dir_all(&folder);
            std::fs::create_dir(&folder).expect("a folder");
        }
        let head = "import os\nC, W, R = os.O_CREAT, os.O_WRONLY, os.O_RDONLY\n\
                    def put(name, text, sync):\n fd = os.open(name, C | W, 0o600); os.write(fd, text)\n \
                    sync and os.fsync(fd); os.close(fd)\n\
                    def sync(name):\n fd = os.open(name, R); os.fsync(fd); os.close(fd)\n";
        let status = Command::new("python3")
            .args(["-c", &format!("{head}{program}")])
            .current_dir(self.root())
            .env("LD_PRELOAD", &self.disk)
            .env("DISK_ROOT", self.root())
            .env("DISK_JOURNAL", self.journal())
            .status();
        assert!(status.expect("python3").success(), "{program}");
        cut(&self.root(), &self.journal(), &mut Rng::new(seed)).expect("a cut")
    }

    /// What a file holds after each of many cuts.
    fn after(&self, program: &str, name: &str) -> Vec<Option<Vec<u8>>> {
        let read = |seed| {
            self.run(program, seed);
            std::fs::read(self.root().join(name)).ok()
        };
        (0..CUTS).map(read).collect()
    }
}

#[test]
fn what_was_synced_with_its_folder_outlives_every_cut() {
    let bed = Bed::new();
    let found = bed.after("put('a', b'x' * 6000, True); sync('.')", "a");
    assert!(found.iter().all(|content| content.as_deref() == Some(&[b'x'; 6000][..])));
}

#[test]
fn what_was_not_synced_is_sometimes_lost_sometimes_torn_and_sometimes_there() {
    let bed = Bed::new();
    let found = bed.after("put('a', b'x' * 6000, True); sync('.'); put('a', b'y' * 6000, False)", "a");
    let found: Vec<Vec<u8>> = found.into_iter().map(|content| content.expect("a file")).collect();
    assert!(found.iter().any(|content| content.iter().all(|byte| *byte == b'x')));
    assert!(found.iter().any(|content| content.iter().all(|byte| *byte == b'y')));
    let torn = found.iter().find(|content| content.contains(&b'x') && content.contains(&b'y'));
    let torn = torn.expect("a torn file");
    let sectors = torn.chunks(512);
    assert!(
        sectors.into_iter().all(|sector| sector.iter().all(|byte| Some(byte) == sector.first())),
        "half a sector"
    );
}

#[test]
fn a_file_whose_folder_was_not_synced_may_be_gone_and_one_that_was_removed_may_be_back() {
    let bed = Bed::new();
    let made = bed.after("put('a', b'x' * 10, True)", "a");
    assert!(made.contains(&None) && made.contains(&Some(b"xxxxxxxxxx".to_vec())));
    let removed = bed.after("put('a', b'x' * 10, True); sync('.'); os.unlink('a')", "a");
    assert!(removed.contains(&None) && removed.contains(&Some(b"xxxxxxxxxx".to_vec())));
    let removed = bed.after("put('a', b'x' * 10, True); sync('.'); os.unlink('a'); sync('.')", "a");
    assert!(removed.iter().all(Option::is_none));
}

#[test]
fn a_move_holds_when_one_of_its_folders_was_synced_and_else_all_or_nothing_of_it() {
    let bed = Bed::new();
    let before = "os.mkdir('d'); sync('.'); put('b', b'old', True); put('d/a', b'new', True); sync('.'); sync('d'); \
                  os.rename('d/a', 'b')";
    let found = bed.after(before, "b");
    let (old, new) = (Some(b"old".to_vec()), Some(b"new".to_vec()));
    assert!(found.contains(&old) && found.contains(&new) && !found.contains(&None));
    let found = bed.after(&format!("{before}; sync('.')"), "b");
    assert!(found.iter().all(|content| *content == new));
}

#[test]
fn a_file_that_was_cut_shorter_may_be_long_again() {
    let bed = Bed::new();
    let program = "put('a', b'x' * 6000, True); sync('.'); fd = os.open('a', W); os.ftruncate(fd, 10)";
    let found = bed.after(program, "a");
    let lengths: Vec<usize> = found.iter().flatten().map(Vec::len).collect();
    assert!(lengths.contains(&10) && lengths.contains(&6000), "{lengths:?}");
    let found = bed.after(&format!("{program}; os.fsync(fd)"), "a");
    assert!(found.iter().flatten().all(|content| content.len() == 10));
}

#[test]
fn the_same_seed_cuts_the_same_way() {
    let bed = Bed::new();
    let program = "put('a', b'x' * 9000, False); put('b', b'y' * 9000, True); sync('.'); put('c', b'z', False)";
    let tree = |seed| {
        let cut = bed.run(program, seed);
        let read = |name: &str| std::fs::read(Path::new(&bed.root()).join(name)).ok();
        (cut, ["a", "b", "c"].map(read))
    };
    for seed in 0..10 {
        assert_eq!(tree(seed), tree(seed));
    }
}
