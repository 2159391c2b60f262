use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};

use wakeful_core::snapshot::{FileChangeKind, SkipReason, UndoDirection};

use super::*;
use crate::untrusted_writes::FolderMoves;

mod coverage;

const RUN: RunKey = RunKey(Digest::ZERO);

/// A home and a workspace with a few files.
struct Project {
    _folder: tempfile::TempDir,
    home: PathBuf,
    workspace: PathBuf,
    snapshots: GitSnapshots,
}

fn git() -> Option<PathBuf> {
    find_git(Some(OsStr::new("/usr/local/bin:/usr/bin:/bin")))
}

impl Project {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let (home, workspace) = (folder.path().join("home"), folder.path().join("work"));
        fs::create_dir_all(&home).expect("a home");
        fs::create_dir_all(workspace.join("src")).expect("a workspace");
        let project = Self {
            snapshots: GitSnapshots::new(&home, git()),
            _folder: folder,
            home,
            workspace,
        };
        project.write("README", "hello\n");
        project.write("src/main.rs", "fn main() {}\n");
        project
    }

    fn path(&self, name: &str) -> PathBuf {
        self.workspace.join(name)
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
        fs::write(path, text).expect("a file");
    }

    fn read(&self, name: &str) -> Option<String> {
        fs::read_to_string(self.path(name)).ok()
    }

    fn run(&self) -> RunWorkspace {
        RunWorkspace {
            run: RUN,
            workspace: self.workspace.to_str().expect("text").to_owned(),
        }
    }

    fn before(&self) {
        self.snapshots
            .0
            .record(&self.run(), RunState::Before, Millis(1_000));
    }

    fn after(&self) {
        self.snapshots
            .0
            .record(&self.run(), RunState::After, Millis(2_000));
    }

    fn changes(&self) -> RunChanges {
        self.snapshots
            .0
            .changes(&self.run(), &ChangeQuery::default())
            .expect("changes")
    }

    fn changed(&self) -> Vec<(String, FileChangeKind)> {
        let files = self.changes().files.into_iter();
        files.map(|file| (file.path, file.change)).collect()
    }

    fn restore(&self, direction: UndoDirection, mode: RestoreMode) -> UndoReport {
        let request = RestoreRequest {
            direction,
            mode,
            ..RestoreRequest::default()
        };
        self.snapshots.0.restore(&self.run(), &request).expect("a report")
    }

    fn undo(&self) -> UndoReport {
        self.restore(UndoDirection::Undo, RestoreMode::Perform)
    }
}

#[test]
fn undoing_a_run_restores_files_without_a_repository() {
    let project = Project::new();
    let odd = OsStr::from_bytes(b"odd \xff\n\"name");
    fs::write(project.workspace.join(odd), "odd").expect("a file");
    symlink("README", project.path("link")).expect("a link");
    fs::create_dir(project.path("empty")).expect("a folder");
    project.write("private", "secret");
    fs::set_permissions(project.path("private"), fs::Permissions::from_mode(0o600)).expect("a mode");
    project.before();
    project.write("README", "changed\n");
    fs::remove_file(project.path("src/main.rs")).expect("removed");
    fs::remove_dir(project.path("src")).expect("removed");
    project.write("new/deep/file", "new");
    fs::create_dir_all(project.path("new/empty")).expect("a folder");
    fs::remove_file(project.workspace.join(odd)).expect("removed");
    fs::remove_file(project.path("link")).expect("removed");
    fs::remove_dir(project.path("empty")).expect("removed");
    fs::remove_file(project.path("private")).expect("removed");
    project.after();
    let changes = project.changes();
    assert_eq!((changes.files_total, changes.until_now), (6, false));
    assert!(changes.diff.contains("-hello\n+changed\n"), "{}", changes.diff);
    let planned = project.restore(UndoDirection::Undo, RestoreMode::Plan);
    assert_eq!(project.read("README").as_deref(), Some("changed\n"));
    let report = project.undo();
    assert_eq!(
        UndoReport {
            dry_run: true,
            ..report.clone()
        },
        planned
    );
    assert_eq!(
        (report.restored_total, report.removed, report.skipped_total),
        (5, vec!["new/deep/file".to_owned()], 0)
    );
    assert_eq!(project.read("README").as_deref(), Some("hello\n"));
    assert_eq!(project.read("src/main.rs").as_deref(), Some("fn main() {}\n"));
    assert_eq!(fs::read(project.workspace.join(odd)).expect("the file"), b"odd");
    assert_eq!(
        fs::read_link(project.path("link")).expect("a link"),
        Path::new("README")
    );
    let private = fs::metadata(project.path("private")).expect("the file");
    assert_eq!(private.permissions().mode() & 0o7777, 0o600);
    assert!(!project.path("new").exists() && project.path("empty").is_dir());
    let again = project.undo();
    assert_eq!(
        (again.restored_total, again.removed_total, again.unchanged_total),
        (0, 0, 6)
    );
}

#[test]
fn a_restored_file_stays_untrusted() {
    for is_any in [true, false] {
        let project = Project::new();
        let folder = project.workspace.canonicalize().expect("a folder");
        let writes = UntrustedWrites::of(&project.home, &folder);
        if is_any {
            // An earlier action, long before the files of this test were written.
            writes.add_period(1_000, 2_000);
        }
        project.before();
        project.write("README", "by the person\n");
        project.after();
        let readme = project.path("README");
        let is_untrusted = || writes.may_have_written(&readme, FolderMoves::Impossible);
        assert!(!is_untrusted(), "the person's own change");
        let report = project.undo();
        assert_eq!(project.read("README").as_deref(), Some("hello\n"), "{report:?}");
        assert_eq!(is_untrusted(), is_any);
    }
}

#[test]
fn undoing_can_be_undone() {
    let project = Project::new();
    project.before();
    project.write("README", "changed\n");
    project.write("new/file", "new");
    fs::remove_file(project.path("src/main.rs")).expect("removed");
    project.after();
    project.undo();
    let report = project.restore(UndoDirection::Redo, RestoreMode::Perform);
    assert_eq!((report.restored_total, report.removed_total), (2, 1));
    assert_eq!(project.read("README").as_deref(), Some("changed\n"));
    assert_eq!(project.read("new/file").as_deref(), Some("new"));
    assert_eq!(project.read("src/main.rs"), None);
}

#[test]
fn files_that_were_changed_since_are_skipped_and_named() {
    let project = Project::new();
    project.before();
    project.write("README", "by the run\n");
    project.write("created", "by the run");
    project.write("kept", "by the run");
    fs::remove_file(project.path("src/main.rs")).expect("removed");
    project.after();
    project.write("README", "by a person\n");
    project.write("created", "by a person");
    project.write("src/main.rs", "by a person");
    let report = project.undo();
    let skipped: Vec<(&str, SkipReason)> = report
        .skipped
        .iter()
        .map(|file| (file.path.as_str(), file.reason))
        .collect();
    let since = SkipReason::ChangedSince;
    assert_eq!(
        skipped,
        [("created", since), ("README", since), ("src/main.rs", since)]
    );
    assert_eq!(report.removed, ["kept"]);
    for name in ["README", "created", "src/main.rs"] {
        assert!(
            project.read(name).expect("a file").starts_with("by a person"),
            "{name}"
        );
    }
}

#[test]
fn a_folder_that_became_a_link_leads_nowhere() {
    let project = Project::new();
    let outside = project.home.join("outside");
    fs::create_dir_all(&outside).expect("a folder");
    fs::write(outside.join("main.rs"), "changed by the run").expect("a file");
    project.before();
    project.write("src/main.rs", "changed by the run");
    project.after();
    fs::remove_dir_all(project.path("src")).expect("removed");
    symlink(&outside, project.path("src")).expect("a link");
    let report = project.undo();
    assert_eq!((report.restored_total, report.skipped_total), (0, 1));
    let text = fs::read_to_string(outside.join("main.rs")).expect("the file");
    assert_eq!(text, "changed by the run");
}

#[test]
fn folders_files_and_links_that_took_each_others_place_are_restored() {
    let project = Project::new();
    project.write("folder/file", "in the folder");
    project.before();
    fs::remove_dir_all(project.path("folder")).expect("removed");
    symlink("/tmp", project.path("folder")).expect("a link");
    fs::remove_file(project.path("README")).expect("removed");
    project.write("README/file", "in a new folder");
    project.after();
    let planned = project.restore(UndoDirection::Undo, RestoreMode::Plan);
    let report = project.undo();
    assert_eq!(
        (report.skipped_total, planned.skipped_total),
        (0, 0),
        "{report:?}"
    );
    assert_eq!(project.read("README").as_deref(), Some("hello\n"));
    assert_eq!(project.read("folder/file").as_deref(), Some("in the folder"));
    assert!(!project.path("folder").is_symlink());
}

#[test]
fn set_id_bits_are_never_restored() {
    let project = Project::new();
    fs::set_permissions(project.path("README"), fs::Permissions::from_mode(0o6755)).expect("a mode");
    project.before();
    fs::remove_file(project.path("README")).expect("removed");
    project.after();
    project.undo();
    let mode = fs::metadata(project.path("README"))
        .expect("the file")
        .permissions()
        .mode();
    assert_eq!(mode & 0o7777, 0o755);
}

#[test]
fn without_git_the_reason_is_recorded_and_no_later_state_replaces_it() {
    let project = Project::new();
    let without = GitSnapshots::new(&project.home, None);
    without.0.record(&project.run(), RunState::Before, Millis(1));
    assert!(without.has_begun(&project.run()));
    project.write("README", "by the run");
    project.before();
    project.after();
    let reason = project.changes().unavailable.expect("a reason");
    assert!(reason.contains("git was not found"), "{reason}");
    let restored = project
        .snapshots
        .0
        .restore(&project.run(), &RestoreRequest::default());
    assert!(matches!(restored, Err(SnapshotError::Unavailable(_))));
}

#[test]
fn a_snapshot_that_takes_too_long_leaves_no_ref() {
    let project = Project::new();
    let hurried = GitSnapshots::bounded(&project.home, git(), 0);
    hurried.0.record(&project.run(), RunState::Before, Millis(1));
    let storage = project.snapshots.0.storage(&project.run().workspace);
    assert_eq!(storage.git.read_ref(&RunState::Before.of(RUN)), None);
    assert!(project.changes().unavailable.is_some());
}

#[test]
fn the_first_state_of_a_run_is_kept_after_a_crash() {
    let project = Project::new();
    project.before();
    // The process ends here and the run is driven again.
    project.write("README", "by the run\n");
    GitSnapshots::new(&project.home, git())
        .0
        .record(&project.run(), RunState::Before, Millis(9));
    assert!(project.changes().until_now);
    assert_eq!(
        project.changed(),
        [("README".to_owned(), FileChangeKind::Modified)]
    );
    let early = project
        .snapshots
        .0
        .restore(&project.run(), &RestoreRequest::default());
    assert!(matches!(early, Err(SnapshotError::Unavailable(_))));
}

#[test]
fn old_snapshots_are_removed_and_newer_ones_stay_usable() {
    let project = Project::new();
    project.before();
    project.write("README", "by the run\n");
    project.after();
    let newer = RunWorkspace {
        run: RunKey(Digest::of(b"newer")),
        ..project.run()
    };
    project
        .snapshots
        .0
        .record(&newer, RunState::Before, Millis(50_000));
    assert_eq!(project.snapshots.0.prune(Millis(1_000)), 0);
    assert_eq!(project.snapshots.0.prune(Millis(40_000)), 1);
    assert!(!project.snapshots.has_begun(&project.run()));
    project.write("README", "by the newer run\n");
    project
        .snapshots
        .0
        .record(&newer, RunState::After, Millis(51_000));
    let changes = project
        .snapshots
        .0
        .changes(&newer, &ChangeQuery::default())
        .expect("changes");
    assert!(
        changes.diff.contains("-by the run\n+by the newer run\n"),
        "{}",
        changes.diff
    );
    assert_eq!(project.snapshots.0.prune(Millis(90_000)), 1);
    assert!(
        fs::read_dir(project.home.join(FOLDER))
            .expect("a folder")
            .next()
            .is_none()
    );
}

#[test]
fn only_the_selected_paths_are_restored() {
    let project = Project::new();
    project.before();
    project.write("README", "changed\n");
    project.write("src/main.rs", "changed\n");
    project.after();
    let request = RestoreRequest {
        paths: vec!["src/".to_owned()],
        mode: RestoreMode::Perform,
        ..RestoreRequest::default()
    };
    let report = project
        .snapshots
        .0
        .restore(&project.run(), &request)
        .expect("a report");
    assert_eq!(report.restored, ["src/main.rs"]);
    assert_eq!(project.read("README").as_deref(), Some("changed\n"));
    let query = ChangeQuery {
        paths: vec!["README".to_owned()],
        ..ChangeQuery::default()
    };
    let changes = project
        .snapshots
        .0
        .changes(&project.run(), &query)
        .expect("changes");
    assert_eq!(changes.files_total, 1);
    assert!(changes.diff.contains("README") && !changes.diff.contains("main.rs"));
}
