use std::os::unix::fs::symlink;

use super::*;

struct Folders {
    _root: tempfile::TempDir,
    home: PathBuf,
    workspace: PathBuf,
}

impl Folders {
    fn new() -> Self {
        let root = tempfile::tempdir().expect("a folder");
        let path = root.path().canonicalize().expect("a path");
        let [home, workspace] = ["home", "workspace"].map(|name| path.join(name));
        for folder in [&home, &workspace] {
            fs::create_dir(folder).expect("a folder");
        }
        Self {
            _root: root,
            home,
            workspace,
        }
    }

    fn take(&self) -> GuidanceGuard {
        GuidanceGuard::take(&self.home, &self.workspace).expect("a guard")
    }

    fn settle(&self) -> Vec<String> {
        register_and_restore(&self.home, &self.workspace).expect("settled")
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.workspace.join(name), text).expect("written");
    }

    /// The content of a file; none if it does not exist.
    fn found(&self, name: &str) -> Option<String> {
        fs::read_to_string(self.workspace.join(name)).ok()
    }

    /// What would be read as guidance from `AGENTS.md`.
    fn guidance(&self) -> Option<String> {
        match reading(&self.home, &self.workspace) {
            GuidanceLocation::Files(_hold) => self.found("AGENTS.md"),
            GuidanceLocation::Kept(texts) => {
                let text = texts.first().cloned().flatten();
                text.map(|text| String::from_utf8(text).expect("text"))
            }
        }
    }

    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.workspace).expect("a folder");
        let names = entries.map(|entry| entry.expect("an entry").file_name());
        names.map(|name| name.to_string_lossy().into_owned()).collect()
    }
}

/// A process that dies in the middle of a call: the kernel releases its locks, and nothing else happens.
fn crash(guard: GuidanceGuard) {
    drop(guard);
}

#[test]
fn a_written_guidance_file_is_renamed_and_the_old_one_restored() {
    let folders = Folders::new();
    folders.write("AGENTS.md", "mine");
    let guard = folders.take();
    folders.write("AGENTS.md", "theirs");
    folders.write("CLAUDE.md", "theirs");
    assert_eq!(guard.release().len(), 2);
    assert_eq!(folders.found("AGENTS.md").as_deref(), Some("mine"));
    assert_eq!(folders.found("CLAUDE.md"), None);
    let aside = folders.names();
    let aside: Vec<_> = aside
        .iter()
        .filter(|name| name.contains(".changed-by-command-"))
        .collect();
    assert_eq!(aside.len(), 2, "nothing is lost: {aside:?}");
}

#[test]
fn an_edit_while_no_command_runs_takes_effect() {
    let folders = Folders::new();
    folders.write("AGENTS.md", "one");
    assert!(folders.take().release().is_empty());
    folders.write("AGENTS.md", "two");
    assert!(folders.settle().is_empty());
    assert_eq!(folders.guidance().as_deref(), Some("two"));
    assert!(folders.take().release().is_empty());
    assert_eq!(folders.found("AGENTS.md").as_deref(), Some("two"));
}

#[test]
fn while_a_command_runs_the_previous_guidance_is_read() {
    let folders = Folders::new();
    let guard = folders.take();
    folders.write("AGENTS.md", "theirs");
    assert_eq!(folders.guidance(), None);
    guard.release();
    assert_eq!((folders.guidance(), folders.found("AGENTS.md")), (None, None));
}

#[test]
fn what_a_command_wrote_before_a_crash_is_never_guidance() {
    let folders = Folders::new();
    folders.write("AGENTS.md", "mine");
    let guard = folders.take();
    folders.write("AGENTS.md", "theirs");
    crash(guard);
    assert_eq!(
        folders.guidance().as_deref(),
        Some("mine"),
        "before anything was put back"
    );
    assert_eq!(folders.settle().len(), 1);
    assert_eq!(folders.found("AGENTS.md").as_deref(), Some("mine"));
    folders.write("AGENTS.md", "edited");
    assert_eq!(
        folders.guidance().as_deref(),
        Some("edited"),
        "her own edit counts again"
    );
}

#[test]
fn the_next_command_also_recovers_from_a_crash() {
    let folders = Folders::new();
    let guard = folders.take();
    folders.write("AGENTS.md", "theirs");
    crash(guard);
    let next = folders.take();
    assert_eq!(folders.found("AGENTS.md"), None, "before it begins");
    assert_eq!(next.release().len(), 1, "and its result says so");
}

#[test]
fn concurrent_commands_share_one_baseline() {
    let folders = Folders::new();
    folders.write("AGENTS.md", "mine");
    let first = folders.take();
    folders.write("AGENTS.md", "theirs");
    let second = folders.take();
    assert_eq!(first.release().len(), 1);
    assert_eq!(folders.guidance().as_deref(), Some("mine"));
    folders.write("AGENTS.md", "theirs again");
    assert_eq!(second.release().len(), 1);
    assert_eq!(folders.found("AGENTS.md").as_deref(), Some("mine"));
}

#[test]
fn the_target_of_a_link_is_restored_and_the_link_stays() {
    let folders = Folders::new();
    fs::create_dir(folders.workspace.join("docs")).expect("a folder");
    folders.write("docs/guide.md", "mine");
    symlink("docs/guide.md", folders.workspace.join("AGENTS.md")).expect("a link");
    let guard = folders.take();
    assert_eq!(guard.files(), [folders.workspace.join("docs/guide.md")]);
    folders.write("docs/guide.md", "theirs");
    assert_eq!(guard.release().len(), 1);
    assert_eq!(folders.found("docs/guide.md").as_deref(), Some("mine"));
    assert!(folders.workspace.join("AGENTS.md").is_symlink());
}

#[test]
fn a_redirected_link_reads_as_before() {
    type Change = fn(&Folders);
    let changes: [Change; 4] = [
        // A folder on the path was replaced.
        |folders| {
            fs::rename(folders.workspace.join("docs"), folders.workspace.join("old")).expect("moved");
            fs::create_dir(folders.workspace.join("docs")).expect("a folder");
            folders.write("docs/guide.md", "theirs");
        },
        // A folder on the path leads out of the workspace.
        |folders| {
            fs::rename(folders.workspace.join("docs"), folders.workspace.join("old")).expect("moved");
            symlink("/tmp", folders.workspace.join("docs")).expect("a link");
        },
        |folders| {
            fs::remove_file(folders.workspace.join("AGENTS.md")).expect("removed");
            folders.write("AGENTS.md", "theirs");
        },
        |folders| {
            fs::remove_file(folders.workspace.join("AGENTS.md")).expect("removed");
            fs::create_dir(folders.workspace.join("AGENTS.md")).expect("a folder");
        },
    ];
    for (nth, change) in changes.into_iter().enumerate() {
        let folders = Folders::new();
        fs::create_dir(folders.workspace.join("docs")).expect("a folder");
        folders.write("docs/guide.md", "mine");
        symlink("docs/guide.md", folders.workspace.join("AGENTS.md")).expect("a link");
        let guard = folders.take();
        change(&folders);
        assert_eq!(guard.release().len(), 1, "change {nth}");
        assert_eq!(folders.guidance().as_deref(), Some("mine"), "change {nth}");
    }
}

#[test]
fn a_link_without_a_target_still_has_none() {
    let folders = Folders::new();
    symlink("later.md", folders.workspace.join("AGENTS.md")).expect("a link");
    let guard = folders.take();
    folders.write("later.md", "theirs");
    assert_eq!(guard.release().len(), 1);
    assert_eq!(folders.guidance(), None);
    assert_eq!(
        folders.found("later.md").as_deref(),
        Some("theirs"),
        "no guidance file"
    );
}

#[test]
fn other_workspaces_inside_this_one_are_guarded_too() {
    let folders = Folders::new();
    let inner = folders.workspace.join("inner");
    fs::create_dir(&inner).expect("a folder");
    register_and_restore(&folders.home, &inner).expect("known");
    let guard = folders.take();
    fs::write(inner.join("CLAUDE.md"), "theirs").expect("written");
    assert!(matches!(
        reading(&folders.home, &inner),
        GuidanceLocation::Kept(_)
    ));
    assert_eq!(guard.release().len(), 1);
    assert!(!inner.join("CLAUDE.md").exists());
}

#[test]
fn a_file_that_cannot_be_restored_is_not_read() {
    let folders = Folders::new();
    folders.write("AGENTS.md", "mine");
    let guard = folders.take();
    // Simulates that the workspace disappears during the command; root could write to a closed folder.
    let moved = folders.workspace.with_extension("moved");
    fs::rename(&folders.workspace, &moved).expect("moved");
    assert_eq!(guard.release().len(), 1);
    fs::rename(&moved, &folders.workspace).expect("moved back");
    folders.write("AGENTS.md", "theirs");
    assert_eq!(folders.guidance().as_deref(), Some("mine"));
}
