//! Tests folders that are built to harm the scanner.

use rustix::fs::{CWD, Mode, OFlags, mkdirat, mkfifoat, openat};
use wakeful_core::watch::{
    IGNORE_BYTES_MAX, IGNORE_LINE_BYTES_MAX, IGNORE_LINES_MAX, IGNORE_PATTERNS_MAX, IgnoreFileLimit,
};

use super::*;

/// Resident memory of this process, in KiB.
fn memory_kib() -> u64 {
    let status = fs::read_to_string("/proc/self/status").expect("a status");
    let line = status
        .lines()
        .find(|line| line.starts_with("VmRSS:"))
        .expect("a size");
    let kib = line.split_whitespace().nth(1).expect("a number");
    kib.parse().expect("a number")
}

fn patterns(count: usize) -> String {
    (0..count)
        .map(|number| format!("generated-{number}-*.log\n"))
        .collect()
}

#[tokio::test]
async fn an_ignore_file_of_300000_lines_is_refused_until_it_is_shortened() {
    let scene = WatchedFolder::new(SourceKind::Folder);
    scene.write("a.md", "one");
    scene.write("deep/.gitignore", &patterns(300_000));
    let look = || {
        scene
            .outlook
            .scan(scene.source.clone(), BTreeMap::new(), WatchMode::On, ALWAYS_READ)
    };
    let before = memory_kib();
    let refused = look().await.expect_err("too large");
    assert_eq!(refused.code(), "ignore_too_large");
    let (shown, grown) = (refused.to_string(), memory_kib().saturating_sub(before));
    assert!(
        shown.contains("deep/.gitignore has") && shown.contains("at most"),
        "{shown}"
    );
    assert!(grown < 64 * 1_024, "{grown} KiB");
    scene.write("deep/.gitignore", "*.log\n");
    let notes = BTreeSet::from([scene.source.source_id.clone()]);
    assert_eq!(scene.outlook.changed_sources().await, notes);
    look().await.expect("short enough");
}

#[test]
fn each_exceeded_limit_of_an_ignore_file_is_named() {
    let refused = |text: &str| {
        let scene = WatchedFolder::new(SourceKind::Folder);
        scene.write(".wakefulignore", text);
        let refused = scene.sight().expect_err("too large");
        let BadSource::IgnoreTooLarge { excess, .. } = refused else {
            panic!("{refused}");
        };
        excess
    };
    let bytes = usize::try_from(IGNORE_BYTES_MAX).expect("small") + 1;
    assert_eq!(
        refused(&"#".repeat(bytes)),
        IgnoreFileLimit::Bytes(IGNORE_BYTES_MAX + 1)
    );
    let lines = IGNORE_LINES_MAX;
    assert_eq!(refused(&"\n".repeat(lines)), IgnoreFileLimit::Lines(lines + 1));
    let line = "a".repeat(IGNORE_LINE_BYTES_MAX + 1);
    assert_eq!(refused(&line), IgnoreFileLimit::Line(IGNORE_LINE_BYTES_MAX + 1));
    let many = "a\n".repeat(IGNORE_PATTERNS_MAX + 1);
    assert_eq!(refused(&many), IgnoreFileLimit::Patterns(IGNORE_PATTERNS_MAX + 1));
}

#[test]
fn patterns_of_all_parent_folders_count_together() {
    let scene = WatchedFolder::new(SourceKind::Folder);
    let half = "a\n".repeat(IGNORE_PATTERNS_MAX / 2);
    scene.write(".gitignore", &half);
    scene.write("one/.gitignore", &half);
    scene.write("other/.gitignore", &half);
    scene.sight().expect("no folder has more than are allowed");
    scene.write("one/deep/.gitignore", "b\n");
    assert_eq!(scene.sight().expect_err("too many").code(), "ignore_too_large");
}

#[test]
fn hostile_patterns_and_pipes_do_no_harm() {
    let scene = WatchedFolder::new(SourceKind::Folder);
    let nested = "{".repeat(IGNORE_LINE_BYTES_MAX / 2) + &"}".repeat(IGNORE_LINE_BYTES_MAX / 2);
    let stars = "*a".repeat(IGNORE_LINE_BYTES_MAX / 2);
    scene.write(".gitignore", &format!("{nested}\n{stars}\n[\n\\\n!\n/\n"));
    scene.write("kept.md", "one");
    let pipe = scene.root().join(".ignore");
    mkfifoat(CWD, &pipe, Mode::RUSR).expect("a pipe");
    let sight = scene.sight().expect("can be looked at");
    assert!(sight.differences.iter().any(|one| one.name == b"kept.md"));
}

#[test]
fn a_watched_tree_of_any_depth_is_scanned_to_the_limit() {
    let scene = WatchedFolder::new(SourceKind::Folder);
    scene.write("a.md", "one");
    let mut last = openat(CWD, scene.root(), OFlags::DIRECTORY, Mode::empty()).expect("a folder");
    for _ in 0..3_000 {
        mkdirat(&last, "d", Mode::RWXU).expect("a folder");
        last = openat(&last, "d", OFlags::DIRECTORY, Mode::empty()).expect("it");
    }
    let sight = scene.sight().expect("can be looked at");
    assert_eq!((sight.differences.len(), sight.unreadable), (1, 1));
    // The standard library would recurse.
    let removal = crate::remove_tree::remove(&scene.root(), crate::remove_tree::RemovalLimits::EXTENDED);
    assert!(removal.left.is_none(), "{removal:?}");
}
