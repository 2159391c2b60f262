use super::*;
use crate::policy::{CommandFact, PathScope};

fn state(text: &str) -> FileState {
    FileState {
        kind: FileKind::Regular,
        content: Digest::of(text.as_bytes()),
    }
}

fn change(before: Option<&str>, after: Option<&str>) -> FileChange {
    FileChange {
        path: b"file".to_vec(),
        before: before.map(state),
        after: after.map(state),
    }
}

#[test]
fn only_a_file_in_the_state_that_the_run_left_is_restored() {
    let current = |text: &str| CurrentEntry::Is(state(text));
    let undo = |change: &FileChange, current| change.action(UndoDirection::Undo, current);
    let edited = change(Some("old"), Some("new"));
    assert_eq!(undo(&edited, current("new")), FileAction::Write(state("old")));
    assert_eq!(undo(&edited, current("old")), FileAction::Keep);
    let skipped = FileAction::Skip(SkipReason::ChangedSince);
    for other in [
        current("mine"),
        CurrentEntry::Absent,
        CurrentEntry::Folder,
        CurrentEntry::Other,
    ] {
        assert_eq!(undo(&edited, other), skipped, "{other:?}");
    }
    let created = change(None, Some("new"));
    assert_eq!(undo(&created, current("new")), FileAction::Remove);
    assert_eq!(undo(&created, current("mine")), skipped);
    assert_eq!(undo(&created, CurrentEntry::Absent), FileAction::Keep);
    let deleted = change(Some("old"), None);
    assert_eq!(
        undo(&deleted, CurrentEntry::Absent),
        FileAction::Write(state("old"))
    );
    assert_eq!(
        undo(&deleted, CurrentEntry::Folder),
        FileAction::Write(state("old"))
    );
    assert_eq!(undo(&deleted, current("mine")), skipped);
    assert_eq!(undo(&deleted, CurrentEntry::Other), skipped);
}

#[test]
fn a_change_of_the_executable_bit_is_a_change() {
    let before = state("text");
    let after = FileState {
        kind: FileKind::Executable,
        ..before
    };
    let change = FileChange {
        path: b"file".to_vec(),
        before: Some(before),
        after: Some(after),
    };
    let action = change.action(UndoDirection::Undo, CurrentEntry::Is(after));
    assert_eq!(action, FileAction::Write(before));
}

#[test]
fn redoing_restores_what_undoing_replaced() {
    let states = [None, Some("one"), Some("two")];
    for before in states {
        for after in states.into_iter().filter(|after| *after != before) {
            let change = change(before, after);
            let entry =
                |text: Option<&str>| text.map_or(CurrentEntry::Absent, |text| CurrentEntry::Is(state(text)));
            let undone = change.action(UndoDirection::Undo, entry(after));
            assert_eq!(
                undone,
                before.map_or(FileAction::Remove, |text| FileAction::Write(state(text)))
            );
            let redone = change.action(UndoDirection::Redo, entry(before));
            assert_eq!(
                redone,
                after.map_or(FileAction::Remove, |text| FileAction::Write(state(text)))
            );
        }
    }
}

#[test]
fn commands_and_writes_need_a_snapshot_and_reads_do_not() {
    let path = |access| CallFacts {
        targets: vec![Target::Path {
            path: "/w/file".into(),
            access,
            scope: PathScope::Workspace,
        }],
        ..CallFacts::default()
    };
    let none = CallFacts::default();
    let may_write = |class, facts: &CallFacts| may_write(class, || facts.clone());
    assert!(may_write(EffectClass::Plain, &none));
    assert!(!may_write(EffectClass::Idempotent, &none));
    assert!(!may_write(EffectClass::Idempotent, &path(PathAccess::Read)));
    assert!(may_write(EffectClass::Idempotent, &path(PathAccess::Write)));
    let command = CallFacts {
        command: Some(CommandFact::new("make")),
        ..CallFacts::default()
    };
    assert!(may_write(EffectClass::Idempotent, &command));
    assert!(!may_write(EffectClass::Saga, &path(PathAccess::Write)));
}

#[test]
fn paths_are_selected_by_name_or_by_folder() {
    let selected = |path: &str, wanted: &str| is_selected(path.as_bytes(), &[wanted.to_owned()]);
    assert!(selected("src/main.rs", "src"));
    assert!(selected("src/main.rs", "./src/"));
    assert!(selected("src/main.rs", "src/main.rs"));
    assert!(!selected("src/main.rs", "sr"));
    assert!(selected("src/main.rs", "."));
    assert!(is_selected(b"anything", &[]));
    assert!(selected("a\\xffb", "a\\xffb"));
}

#[test]
fn bytes_that_are_not_text_are_shown_escaped() {
    assert_eq!(path_text(b"caf\xc3\xa9/\xff\x1b"), "caf\u{e9}/\\xff\\u{1b}");
}
