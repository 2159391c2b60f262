use std::thread::sleep;
use std::time::Duration;

use serde_json::json;
use tempfile::TempDir;
use wakeful_core::id::AgentId;
use wakeful_core::key::{Digest, OperationId, RunKey};

use super::period::PERIODS_MAX;
use super::*;

impl UntrustedWrites {
    /// Records an action that ended.
    pub(crate) fn add_period(&self, from_ms: u64, until_ms: u64) {
        let period = Period {
            until_ms: Some(until_ms),
            ..Period::new(&action(9), from_ms)
        };
        self.change(|periods| periods.push(period)).expect("recorded");
    }
}

struct Scene {
    #[expect(dead_code, reason = "it keeps the folder")]
    home: TempDir,
    workspace: TempDir,
    writes: UntrustedWrites,
}

impl Scene {
    fn new() -> Self {
        let home = tempfile::tempdir().expect("a folder");
        let workspace = tempfile::tempdir().expect("a folder");
        let folder = workspace.path().canonicalize().expect("a folder");
        Self {
            writes: UntrustedWrites::of(home.path(), &folder),
            home,
            workspace,
        }
    }

    fn file(&self, name: &str) -> PathBuf {
        let file = self.workspace.path().join(name);
        fs::create_dir_all(file.parent().expect("a folder")).expect("a folder");
        fs::write(&file, "text").expect("written");
        file
    }

    fn may_have_written(&self, file: &Path) -> bool {
        self.writes.may_have_written(file, FolderMoves::Impossible)
    }

    fn begin(&self, number: u8) -> OpenPeriod {
        self.writes
            .begin(&action(number), PeriodStart::Certain)
            .expect("recorded")
    }

    fn end(&self, open: &OpenPeriod) {
        self.writes.end(open, PeriodEnd::Kept).expect("recorded");
    }

    /// An untrusted action that does this.
    fn act(&self, act: impl FnOnce()) {
        let open = self.begin(1);
        act();
        self.end(&open);
    }
}

fn action(number: u8) -> ToolRequest {
    let operation = OperationId(Digest::of(&[number]));
    let agent = AgentId::parse("main").expect("an id");
    ToolRequest {
        run_key: Some(run()),
        ..ToolRequest::new(operation, agent, "ExecCommand", json!({}))
    }
}

fn run() -> RunKey {
    RunKey(Digest::of(b"run"))
}

/// Longer than the clock of the file system is behind.
fn pause() {
    sleep(Duration::from_millis(3 * CLOCK_TICK_MS));
}

#[test]
fn files_written_during_an_untrusted_action_are_untrusted() {
    let scene = Scene::new();
    let before = scene.file("before");
    assert!(!scene.writes.is_any() && !scene.may_have_written(&before));
    pause();
    let mut during = PathBuf::new();
    scene.act(|| during = scene.file("during"));
    pause();
    let after = scene.file("after");
    let found = [&before, &during, &after].map(|file| scene.may_have_written(file));
    assert_eq!(found, [false, true, false]);
    // A person's change makes it trusted again.
    fs::write(&during, "b").expect("written");
    assert!(!scene.may_have_written(&during) && scene.writes.is_any());
}

#[test]
fn a_time_that_is_set_back_hides_no_file() {
    let scene = Scene::new();
    let (old, moved) = (scene.file("old"), scene.workspace.path().join("moved"));
    pause();
    scene.act(|| {
        let file = fs::File::options().write(true).open(&old).expect("a file");
        file.set_modified(UNIX_EPOCH).expect("set");
        fs::rename(&old, &moved).expect("renamed");
    });
    pause();
    assert!(scene.may_have_written(&moved));
}

#[test]
fn a_folder_that_was_moved_in_is_untrusted_where_moves_are_possible() {
    let scene = Scene::new();
    let elsewhere = scene.file("elsewhere/readme");
    pause();
    scene.act(|| {
        let folder = elsewhere.parent().expect("a folder");
        fs::rename(folder, scene.workspace.path().join("in")).expect("renamed");
    });
    let moved = scene.workspace.path().join("in/readme");
    let found = [FolderMoves::Impossible, FolderMoves::Possible];
    let found = found.map(|moves| scene.writes.may_have_written(&moved, moves));
    assert_eq!(found, [false, true]);
}

#[test]
fn actions_at_the_same_time_have_periods_of_their_own() {
    let scene = Scene::new();
    let (long, short) = (scene.begin(1), scene.begin(2));
    scene.end(&short);
    pause();
    let late = scene.file("late");
    scene.end(&long);
    assert!(scene.may_have_written(&late));
}

#[test]
fn a_clock_that_was_set_back_during_an_action_hides_no_file() {
    let scene = Scene::new();
    // The action began at a time that the clock reaches again only later.
    let mut open = scene.begin(1);
    open.from_ms = open.from_ms.saturating_add(3_600_000);
    let file = scene.file("file");
    scene.end(&open);
    assert!(scene.may_have_written(&file));
    let period = scene.writes.read().expect("a record").periods[0].clone();
    assert!(period.until_ms > Some(open.from_ms), "{period:?}");
}

#[test]
fn a_tentative_period_counts_only_if_it_is_kept() {
    let scene = Scene::new();
    for (end, is_any) in [(PeriodEnd::Dropped, false), (PeriodEnd::Kept, true)] {
        let open = scene.writes.begin(&action(1), PeriodStart::Tentative);
        let open = open.expect("recorded");
        let file = scene.file("file");
        assert!(!scene.writes.is_any() && scene.may_have_written(&file));
        scene.writes.end(&open, end).expect("recorded");
        assert_eq!(
            (scene.writes.is_any(), scene.may_have_written(&file)),
            (is_any, is_any)
        );
    }
}

#[test]
fn an_interrupted_action_and_a_damaged_record_count() {
    let scene = Scene::new();
    let _open = scene.begin(1);
    pause();
    let later = scene.file("later");
    assert!(scene.may_have_written(&later));
    fs::write(&scene.writes.file, "{").expect("damaged");
    assert!(scene.writes.is_any() && scene.may_have_written(&later));
    assert!(scene.writes.begin(&action(2), PeriodStart::Certain).is_err());
}

#[test]
fn a_reviewed_folder_is_trusted_again() {
    let scene = Scene::new();
    let mut file = PathBuf::new();
    scene.act(|| file = scene.file("sub/written.md"));
    let listed = scene.writes.list().expect("a list");
    let [written] = listed.files.as_slice() else {
        panic!("one file: {listed:?}");
    };
    assert_eq!(
        (
            written.path.as_str(),
            written.tool.as_str(),
            written.agent.as_str()
        ),
        ("sub/written.md", "ExecCommand", "main")
    );
    assert_eq!(written.run, run().to_string());
    pause();
    // What began after the list is not reviewed with it.
    scene.act(|| drop(scene.file("new.md")));
    let until = listed.listed_at_ms + 2 * CLOCK_TICK_MS;
    assert_eq!(scene.writes.review(until).expect("recorded"), 1);
    assert!(!scene.may_have_written(&file) && scene.writes.is_any());
    assert_eq!(scene.writes.review(u64::MAX).expect("recorded"), 0);
    assert!(!scene.writes.is_any());
}

#[test]
fn many_periods_stay_bounded_and_lose_nothing() {
    let scene = Scene::new();
    let period = |from_ms, until_ms| Period {
        until_ms: Some(until_ms),
        ..Period::new(&action(1), from_ms)
    };
    // The first one is longer than those that follow.
    let mut periods = vec![period(1, 900), period(2, 3)];
    periods.extend((0..PERIODS_MAX as u64 + 5).map(|number| period(1_000 + number, 1_001 + number)));
    let record = Record {
        folder: String::new(),
        periods: periods.clone(),
    };
    fs::create_dir_all(&scene.writes.records).expect("a folder");
    fs::write(&scene.writes.file, serde_json::to_vec(&record).expect("JSON")).expect("written");
    scene.act(|| {});
    let bounded = scene.writes.read().expect("a record").periods;
    assert_eq!(bounded.len(), PERIODS_MAX);
    for at in periods
        .iter()
        .flat_map(|one| [one.from_ms, one.until_ms.unwrap_or(0)])
    {
        assert!(bounded.iter().any(|one| one.contains(at)), "{at}");
    }
    assert!(!bounded.iter().any(|one| one.contains(950)) || bounded[0].contains(900));
}
