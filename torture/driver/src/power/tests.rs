//! Tests the disk library and the power cut with a program whose calls are all known (`shim/bed.c`).

use std::path::PathBuf;
use std::process::Command;

use super::{Cut, cut};
use crate::rng::Rng;
use crate::test_dir::{build_disk, compile};

/// Number of cuts: enough for each case below to show all its results. The seeds are fixed, so the tests
/// are deterministic.
const CUTS: u64 = 40;

struct Bed {
    folder: tempfile::TempDir,
    disk: PathBuf,
    program: PathBuf,
}

impl Bed {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let disk = build_disk(folder.path()).expect("a disk");
        let program = folder.path().join("bed");
        compile(include_str!("../../shim/bed.c"), &program, &[]).expect("a program");
        Self {
            folder,
            disk,
            program,
        }
    }

    fn root(&self) -> PathBuf {
        self.folder.path().join("root")
    }

    /// Runs a program on a fresh disk, cuts the power right after it, and returns the result.
    fn run(&self, words: &str, seed: u64) -> Cut {
        let journal = self.folder.path().join("journal");
        for folder in [&self.root(), &journal] {
            let _ = std::fs::remove_dir_all(folder);
            std::fs::create_dir(folder).expect("a folder");
        }
        let status = Command::new(&self.program)
            .args(words.split_whitespace())
            .current_dir(self.root())
            .env("LD_PRELOAD", &self.disk)
            .env("DISK_ROOT", self.root())
            .env("DISK_JOURNAL", &journal)
            .status();
        assert!(status.expect("it starts").success(), "{words}");
        cut(&self.root(), &journal, &mut Rng::new(seed)).expect("a cut")
    }

    fn read(&self, name: &str) -> Option<String> {
        std::fs::read_to_string(self.root().join(name)).ok()
    }

    /// The content of a file after each of many cuts.
    fn after(&self, words: &str, name: &str) -> Vec<Option<String>> {
        let found = |seed| {
            self.run(words, seed);
            self.read(name)
        };
        (0..CUTS).map(found).collect()
    }
}

fn some(byte: &str, count: usize) -> Option<String> {
    Some(byte.repeat(count))
}

#[test]
fn data_synced_with_its_folder_survives_every_cut() {
    let found = Bed::new().after("put a x 6000 keep a keep .", "a");
    assert!(found.iter().all(|content| *content == some("x", 6000)));
}

#[test]
fn unsynced_data_is_lost_torn_or_kept() {
    let found = Bed::new().after("put a x 6000 keep a keep . put a y 6000", "a");
    assert!(found.contains(&some("x", 6000)), "never lost");
    assert!(found.contains(&some("y", 6000)), "never there");
    let mut torn = found
        .iter()
        .flatten()
        .filter(|content| content.contains('x') && content.contains('y'));
    let torn = torn.next().expect("never torn").as_bytes();
    let is_whole = |sector: &[u8]| sector.iter().all(|byte| Some(byte) == sector.first());
    assert!(torn.chunks(512).all(is_whole), "half a sector");
}

#[test]
fn without_a_folder_sync_new_files_vanish_and_removed_ones_return() {
    let bed = Bed::new();
    let made = bed.after("put a x 10 keep a", "a");
    assert!(made.contains(&None) && made.contains(&some("x", 10)), "{made:?}");
    let removed = bed.after("put a x 10 keep a keep . drop a", "a");
    assert!(
        removed.contains(&None) && removed.contains(&some("x", 10)),
        "{removed:?}"
    );
    let removed = bed.after("put a x 10 keep a keep . drop a keep .", "a");
    assert!(removed.iter().all(Option::is_none), "{removed:?}");
    let in_a_lost_folder = bed.after("room d put d/a x 10 keep d/a keep d", "d/a");
    assert!(in_a_lost_folder.contains(&None), "{in_a_lost_folder:?}");
}

#[test]
fn a_move_is_durable_after_a_folder_sync_and_otherwise_atomic() {
    let bed = Bed::new();
    let before = "room d keep . put b o 3 keep b put d/a n 3 keep d/a keep . keep d move d/a b";
    let found = bed.after(before, "b");
    assert!(
        found.contains(&some("o", 3)) && found.contains(&some("n", 3)) && !found.contains(&None),
        "{found:?}"
    );
    let found = bed.after(&format!("{before} keep ."), "b");
    assert!(found.iter().all(|content| *content == some("n", 3)), "{found:?}");
}

#[test]
fn an_unsynced_truncation_may_be_undone() {
    let bed = Bed::new();
    let program = "put a x 6000 keep a keep . trim a 10";
    let found = bed.after(program, "a");
    assert!(found.contains(&some("x", 10)) && found.contains(&some("x", 6000)));
    let found = bed.after(&format!("{program} keep a"), "a");
    assert!(found.iter().all(|content| *content == some("x", 10)));
}

#[test]
fn the_same_seed_gives_the_same_cut() {
    let bed = Bed::new();
    for seed in 0..CUTS {
        let again = || {
            let cut = bed.run(
                "put a x 9000 put b y 9000 keep b keep . put c z 1 put a u 5000 put b v 5000",
                seed,
            );
            (cut, ["a", "b", "c"].map(|name| bed.read(name)))
        };
        assert!(again() == again(), "seed {seed}");
    }
}
