//! Differences between entries, and their notices.

use super::*;

fn known(mark: &str, stamp: Option<&str>) -> EntryState {
    EntryState {
        mark: mark.as_bytes().to_vec(),
        size: 1,
        stamp: stamp.map(str::to_owned),
    }
}

fn change(was: Option<&EntryState>, now: Option<EntryState>) -> Option<Option<EntryChange>> {
    EntryDiff::of(b"a.md".to_vec(), was, now).map(|difference| difference.change)
}

#[test]
fn only_a_different_mark_is_a_change() {
    let was = known("one", Some("1"));
    assert_eq!(change(None, Some(was.clone())), Some(Some(EntryChange::Created)));
    assert_eq!(change(Some(&was), None), Some(Some(EntryChange::Deleted)));
    assert_eq!(
        change(Some(&was), Some(known("two", Some("1")))),
        Some(Some(EntryChange::Changed))
    );
    assert_eq!(
        change(Some(&was), Some(known("one", Some("2")))),
        Some(None),
        "touched and the same"
    );
    assert_eq!(change(Some(&was), Some(was.clone())), None);
    assert_eq!(change(None, None), None);
}

#[test]
fn a_file_change_reports_kind_id_source_and_extension() {
    let source = SourceId::parse("notes").expect("a name");
    let words = |kind, name: &[u8], change| {
        let tokens = tokens(kind, &source, name, change);
        tokens.iter().map(Token::to_word).collect::<Vec<_>>()
    };
    let id = SourceEntry::id(SourceKind::Folder, &source, b"a/b.MD");
    assert_eq!(
        words(SourceKind::Folder, b"a/b.MD", EntryChange::Changed),
        [
            "FILE",
            &format!("id:{id}"),
            "file.source=notes",
            "file.change=modified",
            "file.ext=md"
        ]
    );
    assert_eq!(
        words(SourceKind::Folder, b".bashrc", EntryChange::Created).len(),
        4,
        "no extension"
    );
    let git = words(SourceKind::Git, b"refs/heads/main", EntryChange::Changed);
    assert_eq!(git[0], "GIT_REF");
    assert_eq!(
        git[2..],
        ["git.source=notes", "git.change=moved", "git.ref=refs/heads/main"]
    );
}

#[test]
fn names_that_look_alike_are_different_entries() {
    let source = SourceId::parse("notes").expect("a name");
    let id = |name: &[u8]| SourceEntry::id(SourceKind::Folder, &source, name);
    assert_eq!(
        String::from_utf8_lossy(b"a\xff"),
        String::from_utf8_lossy(b"a\xfe")
    );
    assert_ne!(id(b"a\xff"), id(b"a\xfe"));
    assert_ne!(id(b"a"), SourceEntry::id(SourceKind::Git, &source, b"a"));
}

#[test]
fn an_entry_has_the_fields_of_its_kind() {
    let entry = |kind, name: &[u8], mark: Option<&str>| SourceEntry {
        source_id: SourceId::parse("notes").expect("a name"),
        kind,
        name: name.to_vec(),
        mark: mark.map(|mark| mark.as_bytes().to_vec()),
        size: 7,
        change: Some(EntryChange::Deleted),
        at: Millis(0),
    };
    let file = entry(SourceKind::Folder, b"a/b.md", None).fields();
    assert_eq!(
        (&file["path"], &file["ext"], &file["removed"]),
        (&json!("a/b.md"), &json!("md"), &json!(true))
    );
    assert_eq!(
        (&file["title"], &file["change"]),
        (&json!("a/b.md (deleted)"), &json!("deleted"))
    );
    let head = entry(SourceKind::Git, b"HEAD", Some("ref: refs/heads/main")).fields();
    assert_eq!(
        (&head["target"], &head["commit"]),
        (&json!("refs/heads/main"), &Value::Null)
    );
    let main = entry(SourceKind::Git, b"refs/heads/main", Some("abc")).fields();
    assert_eq!(
        (&main["commit"], &main["ref"]),
        (&json!("abc"), &json!("refs/heads/main"))
    );
}
