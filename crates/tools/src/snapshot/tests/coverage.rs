//! Which files a snapshot covers, and that nothing in a workspace influences it.

use std::process::Command;

use wakeful_core::snapshot::{NotCovered, UncoveredReason};

use super::*;

#[test]
fn nothing_of_a_hostile_repository_is_executed() {
    let project = Project::new();
    let marker = project.home.join("marker");
    let script = format!("#!/bin/sh\ntouch {}\ncat\n", marker.display());
    let tool = project.path("evil.sh");
    fs::write(&tool, script).expect("a script");
    fs::set_permissions(&tool, fs::Permissions::from_mode(0o755)).expect("a mode");
    let git = |arguments: &[&str]| {
        let done = Command::new("git")
            .arg("-C")
            .arg(&project.workspace)
            .args(arguments)
            .output();
        assert!(done.expect("git").status.success(), "{arguments:?}");
    };
    git(&["init", "-q"]);
    let tool = tool.to_str().expect("text");
    for name in [
        "core.fsmonitor",
        "filter.evil.clean",
        "filter.evil.smudge",
        "filter.evil.process",
        "diff.evil.textconv",
        "diff.evil.command",
        "diff.external",
        "core.sshCommand",
        "credential.helper",
    ] {
        git(&["config", name, tool]);
    }
    for hook in [
        "pre-commit",
        "post-index-change",
        "reference-transaction",
        "post-checkout",
        "pre-auto-gc",
    ] {
        fs::copy(tool, project.path(&format!(".git/hooks/{hook}"))).expect("a hook");
    }
    let attributes = "* filter=evil diff=evil text eol=crlf ident working-tree-encoding=UTF-16\n";
    project.write(".gitattributes", attributes);
    project.write(".git/info/attributes", attributes);
    let _ = fs::remove_file(&marker);
    let index = fs::read(project.path(".git/index")).ok();
    project.write("text", "$Id$\nline\r\n");
    project.before();
    project.write("text", "other\n");
    project.write(".gitattributes", "* filter=evil diff=evil -text\n");
    project.after();
    assert!(project.changes().diff.contains("-line\r\n"));
    project.undo();
    project.snapshots.0.prune(Millis(10_000));
    assert!(!marker.exists());
    assert_eq!(project.read("text").as_deref(), Some("$Id$\nline\r\n"));
    assert_eq!(fs::read(project.path(".git/index")).ok(), index);
}

#[test]
fn nested_repositories_are_plain_folders_and_git_data_is_left_alone() {
    let project = Project::new();
    let elsewhere = project.home.join("elsewhere");
    fs::create_dir_all(&elsewhere).expect("a folder");
    project.write(".git", &format!("gitdir: {}\n", elsewhere.display()));
    project.write("nested/.git/HEAD", "ref: refs/heads/main\n");
    project.write("nested/code", "one");
    project.write("other/.GIT/config", "x");
    symlink("/etc/passwd", project.path(".gitmodules")).expect("a link");
    project.before();
    project.write("nested/code", "two");
    project.write("nested/.git/HEAD", "changed");
    project.after();
    assert_eq!(
        project.changed(),
        [("nested/code".to_owned(), FileChangeKind::Modified)]
    );
    let uncovered = project.changes().not_covered;
    assert_eq!(uncovered.count, 4, "{uncovered:?}");
    assert!(
        uncovered
            .first
            .iter()
            .all(|entry| entry.reason == UncoveredReason::GitData)
    );
    project.undo();
    assert_eq!(project.read("nested/code").as_deref(), Some("one"));
    assert_eq!(project.read("nested/.git/HEAD").as_deref(), Some("changed"));
    assert!(fs::read_dir(elsewhere).expect("a folder").next().is_none());
}

#[test]
fn ignored_and_huge_files_are_listed_and_never_touched() {
    let project = Project::new();
    project.write(".gitignore", "*.log\ntarget/\n");
    project.write("old.log", "before");
    project.write("target/debug/app", "binary");
    let huge = File::create(project.path("huge")).expect("a file");
    huge.set_len(wakeful_core::snapshot::FILE_BYTES_MAX + 1)
        .expect("a size");
    project.before();
    // None of these three may look like a file that the run created.
    project.write(".gitignore", "README\n");
    huge.set_len(10).expect("a size");
    project.write("README", "changed\n");
    project.after();
    let changes = project.changes();
    let named: Vec<(&str, UncoveredReason)> = changes
        .not_covered
        .first
        .iter()
        .map(|entry| (entry.path.as_str(), entry.reason))
        .collect();
    let mut named = named;
    named.sort();
    assert_eq!(
        named,
        [
            ("huge", UncoveredReason::TooLarge),
            ("old.log", UncoveredReason::Ignored),
            ("target", UncoveredReason::Ignored),
        ]
    );
    let modified = FileChangeKind::Modified;
    assert_eq!(
        project.changed(),
        [
            (".gitignore".to_owned(), modified),
            ("README".to_owned(), modified)
        ]
    );
    project.undo();
    assert_eq!(project.read("old.log").as_deref(), Some("before"));
    assert!(project.path("target/debug/app").exists() && project.path("huge").exists());
}

#[test]
fn ten_thousand_files_are_covered_within_the_time_limit() {
    let project = Project::new();
    for folder in 0..100 {
        for file in 0..100 {
            project.write(
                &format!("many/{folder}/{file}.txt"),
                &format!("{folder}/{file}\n").repeat(200),
            );
        }
    }
    let began = Instant::now();
    project.before();
    let first = began.elapsed();
    project.write("many/5/5.txt", "changed\n");
    let began = Instant::now();
    project.after();
    let second = began.elapsed();
    let began = Instant::now();
    assert_eq!(
        project.changed(),
        [("many/5/5.txt".to_owned(), FileChangeKind::Modified)]
    );
    println!("before {first:?}, after {second:?}, diff {:?}", began.elapsed());
    assert_eq!(project.undo().restored_total, 1);
}

#[test]
fn names_that_look_like_options_are_ordinary_files() {
    let project = Project::new();
    let made = project.home.join("made");
    let option = format!(
        "-c core.fsmonitor=touch {}",
        made.display().to_string().replace('/', "_")
    );
    let mut names = [
        "-",
        "--",
        "--help",
        "--output=made",
        "-rf",
        ":(exclude)README",
        "@{-1}",
        "HEAD",
        "a\n-z",
        &option,
    ];
    names.sort_unstable();
    let write = |text: &str| names.iter().for_each(|name| project.write(name, text));
    write("before");
    project.before();
    write("after");
    project.after();
    let expected: Vec<_> = names
        .map(|name| (name.replace('\n', "\\n"), FileChangeKind::Modified))
        .into();
    assert_eq!(project.changed(), expected);
    project.undo();
    for name in names {
        assert_eq!(project.read(name).as_deref(), Some("before"), "{name:?}");
    }
    assert!(!made.exists() && !project.path("made").exists());
}

#[test]
fn device_nodes_are_left_alone() {
    use rustix::fs::{CWD, FileType, Mode, makedev, mknodat};
    let project = Project::new();
    let node = project.path("zero");
    // Only the superuser can create one.
    if mknodat(CWD, &node, FileType::CharacterDevice, Mode::RWXU, makedev(1, 5)).is_err() {
        return;
    }
    project.before();
    project.write("README", "changed\n");
    project.after();
    assert_eq!(
        project.changed(),
        [("README".to_owned(), FileChangeKind::Modified)]
    );
    project.undo();
    assert_eq!(project.read("README").as_deref(), Some("hello\n"));
    let kind = std::os::unix::fs::FileTypeExt::is_char_device(
        &fs::symlink_metadata(&node).expect("kept").file_type(),
    );
    assert!(kind);
}

#[test]
fn what_a_run_created_and_no_snapshot_covers_is_named() {
    let project = Project::new();
    project.write(".gitignore", "node_modules/\ntarget/\n");
    project.write("target/app", "binary");
    project.before();
    project.write("node_modules/a/index.js", "x");
    project.after();
    let named = |uncovered: NotCovered| -> Vec<String> {
        uncovered.first.into_iter().map(|entry| entry.path).collect()
    };
    let changes = project.changes().not_covered;
    assert_eq!(changes.count, 2);
    // What the run created comes first: it stays after the run is undone.
    assert_eq!(named(changes), ["node_modules", "target"]);
    assert_eq!(named(project.undo().not_covered), ["node_modules", "target"]);
}
