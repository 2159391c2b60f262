//! Stop requests that the database cannot store: on a full disk, and while PostgreSQL hangs.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::rc::Rc;
use std::time::{Duration, Instant};

use rustix::fs::{CWD, FileType, Mode, mknodat};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use super::daemon::RunningDaemon;
use super::home_fixture::{TestHome, alive, lasting, wait_until};
use super::postgres::Database;

/// A home on a small separate file system, which is unmounted after the test. It has just enough space for
/// a command to start.
struct SmallDisk(PathBuf);

impl SmallDisk {
    fn under(world: &TestHome) -> Self {
        fs::create_dir(world.home()).expect("a mount point");
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=160m,mode=700", "none"])
            .arg(world.home())
            .status();
        assert!(
            mounted.expect("mount").success(),
            "this test needs the right to mount"
        );
        Self(world.home())
    }

    /// Fills all free space.
    fn fill(&self) {
        let filled = fs::write(self.0.join("filler"), vec![0_u8; 192 * 1024 * 1024]);
        assert!(filled.is_err(), "it has room");
    }

    fn free(&self) {
        fs::remove_file(self.0.join("filler")).expect("freed");
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("--lazy").arg(&self.0).status();
    }
}

/// A PostgreSQL server for one test: freezing the shared one would stop all tests.
struct OwnServer {
    child: Child,
    address: String,
}

impl OwnServer {
    fn start() -> Self {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scripts/with-postgres");
        let mut child = Command::new(script)
            .args(["sh", "-c", "echo \"$WAKEFUL_TEST_POSTGRES\"; exec cat >/dev/null"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("scripts/with-postgres");
        let mut address = String::new();
        let mut said = BufReader::new(child.stdout.take().expect("piped"));
        said.read_line(&mut address).expect("a server");
        let address = address.trim().to_owned();
        Self { child, address }
    }

    fn world(&self) -> TestHome {
        TestHome::on(Rc::new(Database::create_on(self.address.clone())))
    }
}

impl Drop for OwnServer {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}

/// A PostgreSQL server that does not respond until this is dropped.
struct Frozen(Vec<Pid>);

impl Frozen {
    fn server_of(world: &TestHome) -> Self {
        let url = world.database().url();
        let folder = url.split_whitespace().find_map(|word| word.strip_prefix("host="));
        let file = PathBuf::from(folder.expect("a folder")).join("data/postmaster.pid");
        let text = fs::read_to_string(file).expect("a private server");
        let server: i32 = text.lines().next().expect("a pid").trim().parse().expect("a pid");
        let stop = |pid| kill_process(pid, Signal::STOP).expect("ours");
        let server = Pid::from_raw(server).expect("a pid");
        stop(server);
        let children = format!("/proc/{0}/task/{0}/children", server.as_raw_nonzero());
        let children = fs::read_to_string(children).expect("children");
        let children = children.split_whitespace().map(|pid| pid.parse().expect("a pid"));
        let mut all = vec![server];
        all.extend(children.filter_map(Pid::from_raw));
        for pid in all.iter().skip(1) {
            let _ = kill_process(*pid, Signal::STOP);
        }
        Self(all)
    }
}

impl Drop for Frozen {
    fn drop(&mut self) {
        for pid in &self.0 {
            let _ = kill_process(*pid, Signal::CONT);
        }
    }
}

/// A daemon whose agent runs a long command; the word is in its command line.
fn with_running_command<'a>(world: &'a TestHome, word: &str) -> RunningDaemon<'a> {
    let script = world.script(&lasting(word));
    assert_eq!(world.wakeful(&["agent", "create", "main"]).code, Some(0));
    let daemon = RunningDaemon::serve(world, &["--model", &script]);
    assert_eq!(world.wakeful(&["message", "main", "do it"]).code, Some(0));
    wait_until(|| alive(word));
    daemon
}

fn word(seconds: u32) -> String {
    format!("{}.75", seconds * 100_000 + std::process::id() % 90_000)
}

fn brake(world: &TestHome, args: &[&str]) -> Value {
    let said = world.wakeful(&[&["brake"], args, &["--json"]].concat());
    assert_eq!(said.code, Some(0), "{said:?}");
    said.json()
}

/// Asserts that the command dies within the time limit of the brake.
fn dies_in_time(word: &str, since: Instant) {
    wait_until(|| !alive(word));
    assert!(since.elapsed() < Duration::from_secs(5), "{:?}", since.elapsed());
}

#[test]
fn on_a_full_disk_the_brake_holds_and_is_stored_later() {
    let world = TestHome::new();
    let disk = SmallDisk::under(&world);
    let word = word(3);
    let daemon = with_running_command(&world, &word);
    disk.fill();
    let on = brake(&world, &["on", "--reason", "at once"]);
    dies_in_time(&word, Instant::now());
    let why = &on["brakes"][0]["not_durable"];
    assert_eq!(
        (&why["code"], &why["is_saved"]),
        (&json!("disk_full"), &json!(true)),
        "{on}"
    );
    assert_eq!(brake(&world, &["status"])["is_on"], true);
    // Killed before the database has stored it: the request in the home is still in effect.
    daemon.kill();
    let kept = brake(&world, &["status"]);
    assert_eq!(kept["brakes"][0]["not_durable"]["is_saved"], true, "{kept}");
    disk.free();
    let _daemon = RunningDaemon::serve(&world, &[]);
    wait_until(|| brake(&world, &["status"])["brakes"][0]["not_durable"].is_null());
    assert_eq!(brake(&world, &["status"])["is_on"], true);
    brake(&world, &["off"]);
    assert_eq!(
        brake(&world, &["status"])["brakes"],
        json!([]),
        "nothing sets it again"
    );
}

#[test]
fn on_a_full_disk_brake_and_cancel_reach_a_foreground_run() {
    for is_brake in [true, false] {
        let world = TestHome::new();
        let disk = SmallDisk::under(&world);
        let word = word(if is_brake { 4 } else { 5 });
        let script = world.script(&lasting(&word));
        let mut running = world.start(&["run", "do it", "--json", "--model", &script]);
        wait_until(|| alive(&word));
        let key = world.open_runs().remove(0);
        disk.fill();
        if is_brake {
            brake(&world, &["on"]);
        } else {
            let said = world.wakeful(&["runs", "cancel", &key, "--json"]);
            // The request, and even the end of the run, may still fit into the write-ahead log.
            assert!(
                said.code == Some(0) || said.stdout.contains("disk_full"),
                "{said:?}"
            );
        }
        dies_in_time(&word, Instant::now());
        let _ = running.kill();
        running.wait().expect("gone");
    }
}

#[test]
fn while_postgres_hangs_the_brake_holds_and_readyz_reports_it() {
    let server = OwnServer::start();
    let world = server.world();
    let word = word(6);
    let daemon = with_running_command(&world, &word);
    let frozen = Frozen::server_of(&world);
    let begun = Instant::now();
    let on = brake(&world, &["on"]);
    dies_in_time(&word, begun);
    assert_eq!(on["brakes"][0]["not_durable"]["is_saved"], true, "{on}");
    let asked = Instant::now();
    let ready = answer(&daemon, "/readyz");
    assert!(
        ready.starts_with("HTTP/1.1 503") && ready.contains("database_"),
        "{ready}"
    );
    assert!(asked.elapsed() < Duration::from_secs(3), "{:?}", asked.elapsed());
    assert!(answer(&daemon, "/healthz").starts_with("HTTP/1.1 200"));
    let off = world.wakeful(&["brake", "off", "--json"]);
    assert_eq!(
        off.error_code(),
        "database_unreachable",
        "a release counts when it is durable: {off:?}"
    );
    assert_eq!(brake(&world, &["status"])["is_on"], true);
    drop(frozen);
    wait_until(|| brake(&world, &["status"])["brakes"][0]["not_durable"].is_null());
    assert_eq!(
        world
            .database()
            .value("SELECT count(*) FROM wakeful_agents.brake"),
        "1"
    );
}

// Conformance: A-219
#[test]
fn while_postgres_hangs_commands_end_with_their_lease() {
    let server = OwnServer::start();
    let world = server.world();
    let word = word(7);
    let daemon = with_running_command(&world, &word);
    let frozen = Frozen::server_of(&world);
    let begun = Instant::now();
    wait_until(|| !alive(&word));
    assert!(begun.elapsed() < Duration::from_secs(15), "{:?}", begun.elapsed());
    let begun = Instant::now();
    assert!(daemon.terminate().success());
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
    drop(frozen);
}

/// Replaces the slot of a home with a pipe without a writer, so that every reader blocks.
fn hang_slot(world: &TestHome) {
    let slot = world.home().join("stop.slot");
    fs::remove_file(&slot).expect("there is a slot");
    mknodat(CWD, &slot, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).expect("a pipe");
}

#[test]
fn while_the_slot_hangs_the_brake_holds_and_is_stored() {
    let world = TestHome::new();
    let word = word(8);
    let daemon = with_running_command(&world, &word);
    hang_slot(&world);
    let begun = Instant::now();
    let on = brake(&world, &["on"]);
    dies_in_time(&word, begun);
    assert!(on["brakes"][0]["not_durable"].is_null(), "{on}");
    let off = world.wakeful(&["brake", "off", "--json"]);
    assert_eq!(
        off.error_code(),
        "storage_failed",
        "the slot may keep a brake: {off:?}"
    );
    assert_eq!(brake(&world, &["status"])["is_on"], true);
    assert!(daemon.terminate().success());
}

#[test]
fn while_database_and_slot_hang_the_brake_holds_in_memory() {
    let server = OwnServer::start();
    let world = server.world();
    let word = word(9);
    let daemon = with_running_command(&world, &word);
    hang_slot(&world);
    let frozen = Frozen::server_of(&world);
    let begun = Instant::now();
    let on = brake(&world, &["on"]);
    dies_in_time(&word, begun);
    assert_eq!(on["brakes"][0]["not_durable"]["is_saved"], false, "{on}");
    drop(frozen);
    assert!(daemon.terminate().success(), "it ends although a write hangs");
}

/// The daemon's response to a request without a token.
fn answer(daemon: &RunningDaemon<'_>, path: &str) -> String {
    use std::io::{Read as _, Write as _};
    let address = daemon.address().expect("it listens");
    let mut stream = std::net::TcpStream::connect(&address).expect("connects");
    write!(
        stream,
        "GET {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n"
    )
    .expect("asked");
    let mut text = String::new();
    stream.read_to_string(&mut text).expect("answered");
    text
}
