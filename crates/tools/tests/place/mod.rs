//! Tests the mount namespace of a command, on machines that allow mounts in one.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::process::{Command, ExitStatus, Stdio};

use crate::fixture::{LEVELS, ToolFixture, sandbox_program};

#[test]
fn shared_memory_is_private_or_denied() {
    for level in LEVELS {
        let bed = ToolFixture::at(level);
        let name = crate::fixture::unique("shared");
        let seen = bed.run(&format!("echo x > /dev/shm/{name} && cat /dev/shm/{name}"));
        assert!(!std::path::Path::new("/dev/shm").join(&name).exists());
        assert!(
            seen.stdout() == "x\n" || seen.stderr().contains("ermission denied"),
            "{}",
            seen.json
        );
        bed.run(&format!("cat /dev/shm/{name}")).not_ok();
    }
}

/// Whether this machine lets an ordinary user mount in a namespace. Most containers do not.
pub(crate) fn mounts_are_allowed() -> bool {
    let attempt = [
        "--user",
        "--map-root-user",
        "--pid",
        "--fork",
        "--mount-proc",
        "true",
    ];
    Command::new("unshare")
        .args(attempt)
        .status()
        .is_ok_and(|status| status.success())
}

#[test]
fn pids_are_the_same_for_the_shell_and_in_proc() {
    for level in LEVELS
        .into_iter()
        .filter(|level| level.no_namespaces || mounts_are_allowed())
    {
        let seen = ToolFixture::at(level)
            .run("read pid rest < /proc/self/stat; echo $pid $$")
            .ok();
        let numbers: Vec<&str> = seen.stdout().split_whitespace().collect();
        assert!(
            matches!(numbers[..], [in_proc, own] if in_proc == own),
            "{numbers:?}"
        );
    }
}

#[test]
fn in_a_namespace_the_mode_of_outside_files_cannot_be_changed() {
    if !mounts_are_allowed() {
        return;
    }
    let bed = ToolFixture::new();
    let outside = bed.root.join("outside");
    fs::write(&outside, "kept").expect("file");
    for path in [&outside, &bed.home, &bed.home.join("secret")] {
        let before = fs::metadata(path).expect("metadata");
        for change in ["chmod 000", "chmod 777", "touch -d 2001-01-01", "chown $(id -u)"] {
            bed.run(&format!("{change} {}", path.display())).not_ok();
        }
        let after = fs::metadata(path).expect("metadata");
        assert_eq!(before.mode(), after.mode(), "{}", path.display());
        // Wakeful itself writes to its home meanwhile.
        assert!(before.mtime() <= after.mtime(), "{}", path.display());
    }
    bed.run("touch x && chmod 751 x && touch -d 2001-01-01 x $TMPDIR && chmod 700 .")
        .ok();
}

#[test]
fn mounts_inside_the_workspace_stay_visible() {
    if !mounts_are_allowed() {
        return;
    }
    let bed = ToolFixture::new();
    fs::create_dir_all(bed.workspace.join("volume")).expect("folder");
    let cmd = "cat volume/file > seen && echo new > volume/new && cat volume/new >> seen";
    let set_up = "mount -t tmpfs tmpfs volume && echo mounted > volume/file";
    host_in_a_namespace(&bed, set_up, cmd);
    assert_eq!(
        fs::read_to_string(bed.workspace.join("seen")).expect("file"),
        "mounted\nnew\n"
    );
}

#[test]
fn the_home_is_hidden_at_its_other_paths_too() {
    if !mounts_are_allowed() {
        return;
    }
    for second in ["copy", "whole"] {
        let bed = ToolFixture::new();
        fs::create_dir(bed.root.join(second)).expect("folder");
        let (root, name) = match second {
            "copy" => (bed.home.display().to_string(), bed.root.join("copy")),
            _ => (
                "/".to_owned(),
                bed.root
                    .join("whole")
                    .join(bed.home.strip_prefix("/").expect("absolute")),
            ),
        };
        let set_up = format!(
            "mount --rbind {root} ../{second} && cat {}/secret",
            name.display()
        );
        let cmd = format!(
            "cat {0}/secret > leaked; ls {0} >> leaked; echo ran > ran",
            name.display()
        );
        host_in_a_namespace(&bed, &set_up, &cmd);
        assert_eq!(
            fs::read_to_string(bed.workspace.join("ran")).expect("it ran"),
            "ran\n"
        );
        assert_eq!(
            fs::read_to_string(bed.workspace.join("leaked")).expect("file"),
            "",
            "{second}"
        );
    }
}

#[test]
fn a_workspace_with_the_home_mounted_in_it_is_refused() {
    if !mounts_are_allowed() {
        return;
    }
    let bed = ToolFixture::new();
    fs::create_dir(bed.workspace.join("inner")).expect("folder");
    let refused = host_status(
        &bed,
        &format!("mount --bind {} inner", bed.home.display()),
        "echo ran > ran",
    );
    assert!(!refused.success() && !bed.workspace.join("ran").exists());
}

/// Mounts something that only this command sees, and then runs a command as Wakeful would.
fn host_in_a_namespace(bed: &ToolFixture, set_up: &str, cmd: &str) {
    assert!(host_status(bed, set_up, cmd).success(), "{cmd}");
}

fn host_status(bed: &ToolFixture, set_up: &str, cmd: &str) -> ExitStatus {
    let script = format!("{set_up} && exec \"$@\"");
    let mut host = Command::new("unshare");
    host.args(["--user", "--map-root-user", "--mount", "sh", "-c", &script, "sh"]);
    host.arg(sandbox_program())
        .arg("host")
        .args([&bed.home, &bed.workspace])
        .args(["pidns", cmd]);
    host.current_dir(&bed.workspace)
        .stdout(Stdio::null())
        .status()
        .expect("unshare")
}
