//! Tests commands in a workspace that is a linked worktree of Git, with a real Git.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use wakeful_tools::DisabledFeatures;

use crate::fixture::{LEVELS, ToolFixture, entries};
use crate::place::mounts_are_allowed;

/// What commits need, because the user's settings are not read.
const IDENTITY: &str =
    "export GIT_AUTHOR_NAME=n GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=n GIT_COMMITTER_EMAIL=a@b;";

/// A workspace that is a worktree of the repository `main`, beside the worktree `other`.
struct LinkedWorktree {
    bed: ToolFixture,
    main: PathBuf,
}

impl LinkedWorktree {
    fn at(level: DisabledFeatures) -> Self {
        let bed = ToolFixture::at(level);
        let main = bed.root.join("main");
        fs::create_dir(&main).expect("folder");
        git(&main, &["init", "-q"]);
        git(&main, &["commit", "-q", "--allow-empty", "-m", "one"]);
        fs::remove_dir(&bed.workspace).expect("removed");
        for folder in [&bed.workspace, &bed.root.join("other")] {
            git(&main, &["worktree", "add", "-q", folder.to_str().expect("text")]);
        }
        Self { bed, main }
    }

    fn common(&self) -> PathBuf {
        self.main.join(".git")
    }

    /// The files that Git outside the sandbox obeys, with their contents.
    fn obeyed(&self) -> Vec<(PathBuf, Vec<u8>)> {
        let common = self.common();
        let mut files = vec![common.join("config"), common.join("HEAD")];
        for folder in ["hooks", "info", "worktrees/other", "."] {
            files.extend(entries(&common.join(folder)));
        }
        files.retain(|file| file.is_file() && !file.ends_with("packed-refs"));
        files.sort();
        let contents = files.into_iter().map(|file| {
            let text = fs::read(&file).expect("a file");
            (file, text)
        });
        contents.collect()
    }
}

fn git(folder: &Path, args: &[&str]) {
    let own = ["-c", "user.name=n", "-c", "user.email=a@b"];
    let status = Command::new("git")
        .current_dir(folder)
        .args(own)
        .args(args)
        .status();
    assert!(status.expect("git").success(), "{args:?}");
}

#[test]
fn a_linked_worktree_can_commit_but_not_change_hooks() {
    for level in LEVELS {
        let LinkedWorktree { bed, main } = LinkedWorktree::at(level);
        let seen = bed
            .run(&format!(
                "{IDENTITY} echo x > f && git add f && git commit -qm two && git log --oneline | wc -l"
            ))
            .ok();
        assert_eq!(seen.stdout().trim(), "2");
        let common = main.join(".git").display().to_string();
        for cmd in [
            format!("echo x > {common}/hooks/post-commit"),
            format!("echo x >> {common}/config"),
            format!("cat {}/f", main.display()),
        ] {
            bed.run(&cmd).not_ok();
        }
    }
}

#[test]
fn git_in_a_linked_worktree_works_without_an_error() {
    if !mounts_are_allowed() {
        return;
    }
    let tree = LinkedWorktree::at(DisabledFeatures::default());
    git(&tree.main, &["branch", "packed"]);
    git(&tree.main, &["pack-refs", "--all"]);
    for cmd in [
        "echo x > f && git add f && git commit -qm two",
        "git branch -q topic && git branch -q -D topic packed && git tag t && git tag -d t",
        "echo y > f && git stash -q && git stash drop -q",
        "git checkout -q -b side HEAD~1 && git commit -q --allow-empty -m three && git rebase -q workspace",
        "git init -q own && git -C own commit -q --allow-empty -m far && git fetch -q ./own HEAD && git rev-parse FETCH_HEAD",
        "git pack-refs --all && git repack -q -a -d && git prune && git fsck --no-progress",
        "test $(git config gc.auto) = 0",
    ] {
        let seen = tree.bed.run(&format!("{IDENTITY} {cmd}")).ok();
        // Removing a branch also rewrites the settings, which are protected in every workspace.
        let said = seen.stderr().lines().filter(|line| !line.contains("config"));
        assert_eq!(said.collect::<Vec<_>>(), Vec::<&str>::new(), "{cmd}");
    }
    git(&tree.main, &["fsck", "--no-progress"]);
    git(&tree.main, &["rev-parse", "-q", "--verify", "side"]);
    let names = fs::read_to_string(tree.common().join("packed-refs")).expect("a file");
    assert!(
        names.contains("refs/heads/side") && !names.contains("refs/heads/packed"),
        "{names}"
    );
}

#[test]
fn a_command_changes_nothing_that_the_main_repository_obeys() {
    for level in LEVELS {
        let tree = LinkedWorktree::at(level);
        let common = tree.common();
        fs::remove_dir_all(common.join("info")).expect("removed");
        let before = tree.obeyed();
        let names = |folder: &Path| {
            let mut names = entries(folder);
            names.sort();
            names
        };
        let names_before = names(&common);
        let (common, own) = (
            common.display(),
            format!("{}/worktrees/workspace", common.display()),
        );
        for cmd in [
            format!("echo evil > {common}/commondir"),
            format!("rm -f {common}/commondir; echo evil > {common}/commondir"),
            format!("mv {common}/commondir {common}/moved && echo evil > {common}/commondir"),
            format!("echo evil > {own}/evil && mv {own}/evil {common}/commondir"),
            format!("echo evil > {common}/evil && mv {common}/evil {common}/commondir"),
            format!("echo evil > {common}/config.worktree"),
            format!("mkdir {common}/info && echo evil > {common}/info/attributes"),
            format!("mkdir -p {common}/modules/evil"),
            format!("mkdir {common}/rebase-merge"),
            format!("mkdir {own}/folder && mv {own}/folder {common}/modules"),
            format!("ln -s /workspace/evil {common}/info"),
            format!("mkfifo {common}/commondir"),
            format!("echo evil > {common}/hooks/pre-commit"),
            format!("mv {common}/hooks {common}/old && mkdir {common}/hooks"),
            format!("mv {common}/worktrees {common}/old"),
            format!("mv {common} {common}.old"),
            format!("echo evil > {common}/config"),
            "git config core.fsmonitor evil".to_owned(),
            format!("chmod 777 {common}/hooks/pre-commit.sample"),
            format!("echo evil > {common}/evil && mv {common}/evil {common}/HEAD"),
            format!("rm {common}/HEAD"),
            format!("echo evil > {common}/worktrees/other/HEAD"),
            format!("echo evil > {common}/worktrees/other/config.worktree"),
            format!("mkdir {common}/worktrees/evil"),
            format!("echo evil > {own}/commondir"),
            format!("rm -f {own}/gitdir && echo evil > {own}/gitdir"),
            format!("mv {own} {own}.old"),
            format!("ln {own}/index {common}/commondir"),
        ] {
            // Without mounts, modes and what is in the worktree's own folder can be changed; the level says so.
            let is_own = cmd.contains(&format!("{own}/commondir")) || cmd.contains("gitdir");
            if level.no_namespaces && (is_own || cmd.starts_with("chmod")) {
                continue;
            }
            let seen = tree.bed.run(&cmd);
            assert!(seen.status() != 0, "{cmd}: {}", seen.json);
            let _moved = fs::remove_file(tree.common().join("evil"));
            assert_eq!(tree.obeyed(), before, "{cmd}");
        }
        assert_eq!(names(&tree.common()), names_before);
    }
}

#[test]
fn settings_of_one_worktree_cannot_be_created() {
    if !mounts_are_allowed() {
        return;
    }
    let tree = LinkedWorktree::at(DisabledFeatures::default());
    let own = tree.common().join("worktrees/workspace/config.worktree");
    tree.bed.run(&format!("echo evil > {}", own.display())).not_ok();
    assert!(!own.exists());
}
