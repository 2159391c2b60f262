//! Commands that try to harm the daemon through the files they leave.

use std::fs;

use super::daemon::{RunningDaemon, is_ready};
use super::home_fixture::{TestHome, commands, wait_until};

/// Creates more nested folders than a recursive removal has stack for: 150 short chains, each moved into
/// the next one, because under Landlock the cost of a new folder grows with its depth.
const NEST: &str = "cd $TMPDIR && p=$(printf 'd/%.0s' $(seq 100)) && mkdir acc && \
    for i in $(seq 150); do mkdir -p n/$p && mv acc n/$p && mv n acc || exit 1; done";

fn scratch_is_empty(world: &TestHome) -> bool {
    fs::read_dir(world.home().join("scratch"))
        .expect("a folder")
        .count()
        == 0
}

#[test]
fn deeply_nested_temporary_folders_do_not_crash_the_daemon() {
    let world = TestHome::new();
    let mut daemon = RunningDaemon::serve(&world, &[]);
    let script = commands(&[NEST, "echo alive >> world.txt"]);
    let said = world.run(&script, &["--agent", "main", "--create-agent"]);
    assert_eq!(
        (said.code, world.lines().len()),
        (Some(0), 1),
        "the next command ran: {said:?}"
    );
    // A slow removal happens in the background.
    wait_until(|| scratch_is_empty(&world));
    assert!(!daemon.is_dead());
}

#[test]
fn a_daemon_starts_after_a_kill_amid_deeply_nested_folders() {
    let world = TestHome::new();
    let daemon = RunningDaemon::serve(&world, &[]);
    let model = world.script(&commands(&[&format!("{NEST}; touch $OLDPWD/begun; sleep 60")]));
    let mut client = world.start(&["run", "x", "--model", &model, "--agent", "main", "--create-agent"]);
    wait_until(|| world.workspace().join("begun").exists());
    daemon.kill();
    client.kill().expect("ended");
    client.wait().expect("gone");
    assert!(!scratch_is_empty(&world), "a tree is left");
    let mut daemon = RunningDaemon::serve(&world, &[]);
    wait_until(|| scratch_is_empty(&world));
    assert!(!daemon.is_dead() && is_ready(&daemon.address().expect("a daemon")));
}
