//! Controls for the attempts: each reaches its goal without the sandbox, so that a missing program or a mistake in
//! an attempt cannot pass for a refusal.

use std::path::Path;

use super::attempts::{Attempt, all};
use super::{World, command_of};

/// What shows that an attempt could succeed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Control {
    /// The same command, as an ordinary user.
    Same,
    /// The same command, as the superuser in a mount namespace of its own. Left out where the tests have another user.
    AsRoot,
    /// None, for this reason.
    None(&'static str),
}

const NO_TERMINAL: &str = "tests have no terminal";
const CHANGES: &str = "it would change the machine";
const PRIVILEGED: &str = "not every superuser may";
const UNSUPPORTED: &str = "not every kernel supports it";

/// The attempts whose control is not the same command as an ordinary user.
const CONTROLS: &[(&str, Control)] = &[
    ("root of process 1", Control::None(PRIVILEGED)),
    ("scheduled job", Control::None(CHANGES)),
    ("system settings", Control::None(CHANGES)),
    ("system programs", Control::None(CHANGES)),
    ("kernel settings", Control::None(CHANGES)),
    ("cgroup", Control::None(CHANGES)),
    (
        "memory of the machine",
        Control::None("reading a port may disturb a device"),
    ),
    ("raw disk", Control::AsRoot),
    ("terminal", Control::None(NO_TERMINAL)),
    ("terminal input", Control::None(NO_TERMINAL)),
    ("password hashes", Control::AsRoot),
    ("own limits", Control::None(PRIVILEGED)),
    ("device file", Control::AsRoot),
    ("becoming root", Control::None("no machine should allow it")),
    ("mounting", Control::AsRoot),
    ("unmounting", Control::AsRoot),
    ("remounting", Control::AsRoot),
    ("user namespace", Control::AsRoot),
    ("mount namespace", Control::AsRoot),
    ("network namespace", Control::AsRoot),
    ("namespace of process 1", Control::None(PRIVILEGED)),
    ("another root", Control::AsRoot),
    ("raw socket", Control::AsRoot),
    ("packet socket", Control::AsRoot),
    ("key socket", Control::None(UNSUPPORTED)),
    ("tracing a process", Control::AsRoot),
    ("reading a process's memory", Control::AsRoot),
    ("writing a process's memory", Control::AsRoot),
    ("comparing processes", Control::AsRoot),
    ("opening by handle", Control::AsRoot),
    ("kernel program", Control::AsRoot),
    ("performance events", Control::AsRoot),
    ("page faults", Control::AsRoot),
    ("new root", Control::AsRoot),
    ("file system context", Control::AsRoot),
    ("detached mount", Control::AsRoot),
    ("moved mount", Control::AsRoot),
    ("mount attributes", Control::AsRoot),
    ("namespace by clone", Control::AsRoot),
    ("watching all files", Control::AsRoot),
    ("kernel module", Control::None(UNSUPPORTED)),
    ("kernel log", Control::AsRoot),
    ("host name", Control::AsRoot),
    ("clock", Control::AsRoot),
    ("accounting", Control::AsRoot),
    ("swap", Control::AsRoot),
    ("restart", Control::AsRoot),
];

/// The programs that attempts without a control use.
const PROGRAMS: [&str; 4] = ["perl", "su", "cp", "mkdir"];

fn control_of(attempt: &Attempt) -> Control {
    let listed = CONTROLS.iter().find(|(name, _)| *name == attempt.name);
    listed.map_or(Control::Same, |(_, control)| *control)
}

/// Whether an attempt reaches its goal without the sandbox.
fn succeeds(attempt: &Attempt, as_ordinary: bool) -> bool {
    let effect = World::new(as_ordinary).effect(attempt, |world, cmd| Ok(world.run_bare(cmd)));
    effect.is_some()
}

#[test]
fn every_attempt_succeeds_without_the_sandbox_or_names_the_reason() {
    let is_root = rustix::process::geteuid().is_root();
    let failed: Vec<&str> = all()
        .iter()
        .filter(|attempt| match control_of(attempt) {
            Control::Same => !succeeds(attempt, is_root),
            Control::AsRoot => is_root && !succeeds(attempt, false),
            Control::None(reason) => reason.is_empty(),
        })
        .map(|attempt| attempt.name)
        .collect();
    assert_eq!(failed, Vec::<&str>::new());
}

#[test]
fn the_controls_are_those_of_attempts_and_their_programs_exist() {
    let names: Vec<&str> = all().iter().map(|attempt| attempt.name).collect();
    for (name, _) in CONTROLS {
        assert!(names.contains(name), "{name}");
    }
    let without = CONTROLS
        .iter()
        .filter(|(_, control)| matches!(control, Control::None(_)));
    assert!(without.count() <= 14, "few attempts may lack a control");
    for program in PROGRAMS {
        let found = command_of(false, Path::new("/bin/sh"))
            .args(["-c", &format!("command -v {program}")])
            .stdout(std::process::Stdio::null())
            .status();
        assert!(found.is_ok_and(|status| status.success()), "{program} is missing");
    }
}
