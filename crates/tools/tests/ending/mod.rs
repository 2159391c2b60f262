//! Tests how commands end, and that they leave nothing behind.

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::json;
use tokio::sync::watch;
use wakeful_core::key::{Digest, OperationId};
use wakeful_ports::tool::ToolHost;

use crate::fixture::{
    CommandResult, NeverStop, TestStop, ToolFixture, WAYS, act, block_on, eventually, processes_with,
    sandbox_program, unique,
};

const NOBODY: [i32; 0] = [];

/// A process that leaves its group and session, is orphaned, and ignores signals.
fn stubborn(word: &str) -> String {
    let inner = format!("trap \"\" TERM HUP INT; echo > ready; while :; do sleep 1000; done # {word}");
    format!(
        "setsid sh -c '(setsid sh -c '\\''{inner}'\\'' </dev/null &) ; exit 0'; while [ ! -e ready ]; do :; done"
    )
}

#[test]
fn exit_statuses_and_signals_are_reported() {
    for level in WAYS {
        let bed = ToolFixture::at(level);
        for code in [0, 1, 42, 255] {
            let seen = bed.run(&format!("exit {code}"));
            assert_eq!((seen.done.code.as_deref(), seen.status()), (None, code));
        }
        for signal in [9, 15, 6] {
            let seen = bed.run(&format!("kill -{signal} $$"));
            assert_eq!(
                (seen.done.code.as_deref(), seen.status()),
                (None, 128 + signal),
                "{}",
                seen.json
            );
            assert_eq!(
                (&seen.json["signal"], &seen.json["disposition"]),
                (&json!(signal), &json!("completed"))
            );
        }
        assert_eq!(bed.run("no-such-program-anywhere").status(), 127);
    }
}

#[test]
fn background_processes_of_a_command_die_when_it_ends() {
    for level in WAYS {
        let bed = ToolFixture::at(level);
        let word = unique("stubborn");
        let seen = bed
            .run(&format!("{}; sleep 1000 & echo {word}", stubborn(&word)))
            .ok();
        assert_eq!(seen.stdout(), format!("{word}\n"));
        assert_eq!(processes_with(&word), NOBODY, "{level:?}");
        assert!(bed.leftovers().is_empty());
    }
}

#[test]
fn a_background_process_with_open_output_does_not_delay_the_result() {
    for level in WAYS {
        let bed = ToolFixture::at(level);
        let begun = Instant::now();
        assert_eq!(
            bed.run("sleep 1000 & sleep 1001 & echo answer").ok().stdout(),
            "answer\n"
        );
        assert!(begun.elapsed() < Duration::from_secs(5));
    }
}

#[test]
fn a_timed_out_command_is_stopped_with_all_its_processes() {
    for level in WAYS {
        let bed = ToolFixture::at(level);
        let word = unique("late");
        let begun = Instant::now();
        let cmd = format!(
            "trap '' TERM; echo begun; {}; while :; do sleep 1000; done",
            stubborn(&word)
        );
        let seen = bed.call(&json!({"cmd": cmd, "timeout_ms": 700}));
        assert!(
            begun.elapsed() < Duration::from_millis(5_700),
            "{:?}",
            begun.elapsed()
        );
        assert_eq!(seen.done.code.as_deref(), Some("timed_out"));
        assert_eq!(
            (&seen.json["timed_out"], seen.stdout()),
            (&json!(true), "begun\n")
        );
        assert_eq!(
            (&seen.json["disposition"], seen.status()),
            (&json!("timed_out"), 137)
        );
        assert!(seen.done.sandbox.is_some());
        assert_eq!(processes_with(&word), NOBODY, "{level:?}");
    }
}

#[test]
fn a_command_that_handles_sigterm_gets_a_grace_period() {
    for level in WAYS {
        let bed = ToolFixture::at(level);
        let cmd = "trap 'sleep 0.2; echo goodbye; exit 7' TERM; sleep 1000 & wait";
        let seen = bed.call(&json!({"cmd": cmd, "timeout_ms": 500}));
        assert_eq!((seen.stdout(), seen.status()), ("goodbye\n", 7), "{}", seen.json);
        assert_eq!(seen.done.code.as_deref(), Some("timed_out"));
    }
}

#[test]
fn children_of_the_shell_get_the_grace_period_too() {
    for level in WAYS {
        let bed = ToolFixture::at(level);
        let inner = "trap \"sleep 0.2; echo goodbye; exit\" TERM; echo > ready; sleep 1000 & wait";
        let seen = bed.call(&json!({"cmd": format!("sh -c '{inner}'; true"), "timeout_ms": 500}));
        assert_eq!(seen.stdout(), "goodbye\n", "{}", seen.json);
        assert_eq!(
            (&seen.json["signal"], seen.done.code.as_deref()),
            (&json!(15), Some("timed_out"))
        );
    }
}

#[test]
fn a_stopped_command_is_over_within_five_seconds() {
    for level in WAYS {
        let bed = ToolFixture::at(level);
        let word = unique("stopped");
        let cmd = format!("trap '' TERM; {}; while :; do sleep 1000; done", stubborn(&word));
        let (tell, told) = watch::channel(false);
        let (tools, ready) = (bed.tools.clone(), bed.workspace.join("ready"));
        let thread = std::thread::spawn(move || {
            CommandResult::of(block_on(tools.perform(act(&json!({"cmd": cmd})), TestStop(told))))
        });
        eventually("the start", || ready.exists().then_some(()));
        let said = Instant::now();
        tell.send(true).expect("it listens");
        let seen = thread.join().expect("an answer");
        assert!(said.elapsed() < Duration::from_secs(5), "{:?}", said.elapsed());
        assert_eq!(
            (seen.done.code.as_deref(), &seen.json["stopped"]),
            (Some("cancelled"), &json!(true))
        );
        assert_eq!(processes_with(&word), NOBODY, "{level:?}");
        assert!(bed.leftovers().is_empty());
    }
}

#[test]
fn a_command_stopped_before_its_start_does_not_start() {
    let bed = ToolFixture::new();
    let (_tell, told) = watch::channel(true);
    let done = block_on(
        bed.tools
            .perform(act(&json!({"cmd": "touch file"})), TestStop(told)),
    );
    assert_eq!(done.code.as_deref(), Some("cancelled"));
    assert!(!bed.workspace.join("file").exists());
}

#[test]
fn a_command_is_stopped_when_its_caller_stops_waiting() {
    for level in WAYS {
        let bed = ToolFixture::at(level);
        let word = unique("dropped");
        let (cmd, ready) = (stubborn(&word), bed.workspace.join("ready"));
        block_on(async {
            let performing = bed
                .tools
                .perform(act(&json!({"cmd": format!("{cmd}; sleep 1000")})), NeverStop);
            let started = async {
                while !ready.exists() {
                    tokio::time::sleep(Duration::from_millis(5)).await;
                }
            };
            tokio::select! {
                done = performing => panic!("it ended: {done:?}"),
                () = started => {}
            }
        });
        eventually("the end of all processes", || {
            processes_with(&word).is_empty().then_some(())
        });
        eventually("the removal of the folder", || {
            bed.leftovers().is_empty().then_some(())
        });
    }
}

#[test]
fn a_command_dies_with_wakeful() {
    for level in ["pidns", "subreaper"] {
        let bed = ToolFixture::new();
        let word = unique("orphan");
        let cmd = format!("{}; sleep 1000 # {word}", stubborn(&word));
        let mut host = Command::new(sandbox_program());
        host.arg("host")
            .args([&bed.home, &bed.workspace])
            .args([level, &cmd])
            .stdout(Stdio::null());
        let mut host = host.spawn().expect("a host");
        let ready = bed.workspace.join("ready");
        eventually("the start", || ready.exists().then_some(()));
        assert!(processes_with(&word).len() > 2);
        host.kill().expect("killed");
        assert_eq!(host.wait().expect("status").signal(), Some(9));
        eventually("the end of all processes", || {
            processes_with(&word).is_empty().then_some(())
        });
        // The folder stays until it is cleared.
        assert_eq!(bed.leftovers().len(), 1);
        block_on(bed.tools.clean_up(OperationId(Digest::of(cmd.as_bytes()))));
        assert!(bed.leftovers().is_empty());
    }
}

/// Writes what an interrupted operation leaves: its folder, and the record of a process.
fn leave(bed: &ToolFixture, operation_id: OperationId, pid: u32, later_by: u64) {
    let folder = bed.home.join("scratch").join(operation_id.to_string());
    fs::create_dir_all(folder.join("tmp")).expect("folder");
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).expect("stat");
    let fields: Vec<&str> = stat
        .rsplit_once(')')
        .expect("name")
        .1
        .split_whitespace()
        .collect();
    let start_time: u64 = fields[19].parse().expect("number");
    let boot_id = fs::read_to_string("/proc/sys/kernel/random/boot_id").expect("boot");
    let record = json!({"pid": pid, "start_time": start_time + later_by, "boot_id": boot_id.trim()});
    fs::write(folder.join("process.json"), record.to_string()).expect("record");
}

#[test]
fn clearing_kills_what_an_interrupted_operation_left() {
    let bed = ToolFixture::new();
    let word = unique("leftover");
    let operation_id = OperationId(Digest::of(word.as_bytes()));
    // Both fork children continuously, one of them in its own session.
    let busy = "while :; do sleep 0.001; done";
    let script = format!("setsid sh -c '{busy}; : {word}' & {busy}; : {word}");
    let mut process = Command::new("sh").args(["-c", &script]).spawn().expect("process");
    eventually("the start", || (processes_with(&word).len() == 2).then_some(()));
    leave(&bed, operation_id, process.id(), 0);
    block_on(bed.tools.clean_up(operation_id));
    assert_eq!(process.wait().expect("status").signal(), Some(9));
    eventually("the end of all processes", || {
        processes_with(&word).is_empty().then_some(())
    });
    assert!(bed.leftovers().is_empty());
}

#[test]
fn clearing_spares_a_process_with_a_reused_pid() {
    let bed = ToolFixture::new();
    let operation_id = OperationId(Digest::of(b"spared"));
    let mut process = Command::new("sleep").arg("1000").spawn().expect("process");
    leave(&bed, operation_id, process.id(), 1);
    block_on(bed.tools.clean_up(operation_id));
    assert!(bed.leftovers().is_empty());
    assert!(
        process.try_wait().expect("status").is_none(),
        "a stranger was killed"
    );
    process.kill().expect("killed");
    process.wait().expect("status");
}

#[test]
fn clearing_an_operation_that_left_nothing_does_nothing() {
    let bed = ToolFixture::new();
    block_on(bed.tools.clean_up(OperationId(Digest::of(b"nothing"))));
    assert!(bed.leftovers().is_empty());
}

#[test]
fn a_folder_without_permissions_is_removed() {
    let bed = ToolFixture::new();
    bed.run("mkdir -p $TMPDIR/a/b && touch $TMPDIR/a/b/c && chmod 0 $TMPDIR/a/b $TMPDIR/a $TMPDIR")
        .ok();
    assert!(bed.leftovers().is_empty());
}
