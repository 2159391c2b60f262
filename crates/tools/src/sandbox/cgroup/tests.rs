//! Tests how groups are found and that their limits hold.

use std::process::Stdio;

use super::*;

fn mounts(lines: &[&str]) -> Vec<Mount> {
    lines
        .iter()
        .map(|line| Mount::parse(line.as_bytes()).expect("a mount"))
        .collect()
}

fn found(controller: Controller, cgroups: &str, lines: &[&str]) -> Option<(Version, String)> {
    let own = own_group(controller, cgroups, &mounts(lines))?;
    Some((own.version, own.folder.to_str().expect("text").to_owned()))
}

const UNIFIED: &str = "30 23 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate";

#[test]
fn our_group_is_found_in_version_2() {
    let cgroups = "0::/system.slice/wakeful.service/daemon\n";
    let folder = "/sys/fs/cgroup/system.slice/wakeful.service/daemon";
    for controller in Controller::ALL {
        let own = found(controller, cgroups, &[UNIFIED]);
        assert_eq!(own, Some((Version::V2, folder.to_owned())));
    }
    assert_eq!(
        found(Controller::Pids, "0::/", &[UNIFIED]),
        Some((Version::V2, "/sys/fs/cgroup".to_owned()))
    );
}

#[test]
fn our_groups_are_found_in_the_hierarchies_of_version_1() {
    let cgroups = "8:pids:/\n4:memory:/a b/c\n0::/\n";
    let lines = [
        "35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory",
        "39 31 0:36 / /sys/fs/cgroup/pids rw,relatime shared:9 - cgroup cgroup rw,pids",
        "41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw",
    ];
    assert_eq!(
        found(Controller::Pids, cgroups, &lines),
        Some((Version::V1, "/sys/fs/cgroup/pids".to_owned()))
    );
    assert_eq!(
        found(Controller::Memory, cgroups, &lines),
        Some((Version::V1, "/sys/fs/cgroup/memory/a b/c".to_owned()))
    );
}

#[test]
fn each_controller_of_a_hybrid_machine_is_found() {
    let cgroups = "5:cpu,pids:/user.slice\n0::/user.slice/session\n";
    let lines = [
        "33 31 0:30 / /sys/fs/cgroup/cpu,pids rw - cgroup cgroup rw,cpu,pids",
        "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw",
    ];
    assert_eq!(
        found(Controller::Pids, cgroups, &lines),
        Some((Version::V1, "/sys/fs/cgroup/cpu,pids/user.slice".to_owned()))
    );
    assert_eq!(
        found(Controller::Memory, cgroups, &lines),
        Some((
            Version::V2,
            "/sys/fs/cgroup/unified/user.slice/session".to_owned()
        ))
    );
    let only_v2 = &lines[1..];
    assert_eq!(
        found(Controller::Pids, cgroups, only_v2),
        None,
        "its hierarchy is not mounted"
    );
}

#[test]
fn only_groups_inside_the_mounted_hierarchy_are_found() {
    let container = "30 23 0:26 /docker/abc /sys/fs/cgroup ro - cgroup2 cgroup rw";
    assert_eq!(
        found(Controller::Pids, "0::/docker/abc/inner", &[container]),
        Some((Version::V2, "/sys/fs/cgroup/inner".to_owned()))
    );
    assert_eq!(found(Controller::Pids, "0::/docker/other", &[container]), None);
    assert_eq!(found(Controller::Pids, "0::/../other", &[UNIFIED]), None);
    assert_eq!(found(Controller::Pids, "", &[UNIFIED]), None);
    assert_eq!(found(Controller::Pids, "0::/", &[]), None);
}

#[test]
fn groups_of_dead_daemons_are_removed_and_others_stay() {
    let folder = tempfile::tempdir().expect("a folder");
    let pid = getpid().as_raw_nonzero().get();
    let started = process::started_at(pid).expect("it runs");
    let names = [
        format!("wakeful-{pid}-{started}-0"),
        format!("wakeful-{pid}-{}-0", started + 1),
        "wakeful-words".to_owned(),
        "daemon".to_owned(),
    ];
    for name in &names {
        fs::create_dir(folder.path().join(name)).expect("a group");
    }
    sweep(folder.path());
    let is_there = |name: &String| folder.path().join(name).exists();
    assert_eq!(names.map(|name| is_there(&name)), [true, false, true, true]);
}

#[test]
fn a_group_holds_processes_refuses_more_and_is_removed() {
    if !bases()
        .iter()
        .any(|base| base.controllers.contains(&Controller::Pids))
    {
        eprintln!("skipped: no cgroup with the controller pids is delegated to this process");
        return;
    }
    let limits = CommandLimits {
        threads: 0,
        ..CommandLimits::default()
    };
    let group = Group::make(&limits);
    // At most 100 children, each of which exits when its input ends. The output ends when all have started
    // or one is refused.
    let script = "read go; exec 3<&0; i=0; while [ $i -lt 100 ]; do cat <&3 >/dev/null & i=$((i+1)); done; exec >&-; wait";
    let mut shell = std::process::Command::new("sh");
    shell.args(["-c", script]).stderr(Stdio::null());
    shell.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut shell = shell.spawn().expect("a shell");
    group.put(Pid::from_child(&shell));
    assert_eq!(group.crossed(), None);
    io::Write::write_all(shell.stdin.as_mut().expect("an input"), b"go\n").expect("it reads");
    io::read_to_string(shell.stdout.take().expect("an output")).expect("its end");
    drop(shell.stdin.take());
    shell.wait().expect("its end");
    assert_eq!(group.crossed(), Some(Controller::Pids));
    assert_eq!(group.held(), [], "this process was not put in");
    group.remove();
    assert!(group.parts.iter().all(|part| !part.folder.exists()));
}
