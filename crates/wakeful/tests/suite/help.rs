//! The help texts, as snapshots, so that they change only on purpose.

use super::home_fixture::TestHome;

/// Every command with its own help text.
const VERBS: [&str; 119] = [
    "init",
    "run",
    "chat",
    "message",
    "status",
    "tail",
    "events",
    "runs",
    "runs list",
    "runs show",
    "runs retry",
    "runs resume",
    "runs abandon",
    "runs cancel",
    "decision",
    "decision list",
    "decision show",
    "decision test-notifications",
    "decision answer",
    "brake",
    "brake on",
    "brake off",
    "brake status",
    "agent",
    "agent create",
    "agent list",
    "agent show",
    "agent pause",
    "agent resume",
    "agent stop",
    "agent activate",
    "agent dormant",
    "agent destroy",
    "agent mode",
    "agent sleep",
    "agent wake",
    "agent external-trigger",
    "why",
    "why-not",
    "subscribe",
    "unsubscribe",
    "subscriptions",
    "source",
    "source add",
    "source add folder",
    "source add git",
    "source list",
    "source remove",
    "source scan",
    "transcript",
    "record",
    "verify",
    "replay",
    "export",
    "erase",
    "serve",
    "daemon",
    "daemon start",
    "daemon stop",
    "daemon status",
    "daemon restart",
    "daemon logs",
    "open",
    "login",
    "login list",
    "login revoke",
    "models",
    "models list",
    "models probe",
    "models doctor",
    "models key",
    "models key set",
    "models key remove",
    "models confirm",
    "config",
    "config get",
    "config set",
    "config schema",
    "config doctor",
    "debug",
    "debug kernel",
    "debug prompt",
    "doctor",
    "service",
    "service install",
    "backup",
    "restore",
    "retention",
    "retention show",
    "retention run",
    "schedule",
    "schedule add",
    "schedule list",
    "schedule edit",
    "schedule pause",
    "schedule resume",
    "schedule disable",
    "schedule trigger-now",
    "schedule raise-event",
    "schedule history",
    "completion",
    "journal",
    "journal category",
    "journal category delete",
    "journal task",
    "journal task add",
    "journal task update",
    "journal note",
    "journal checklist",
    "journal checklist add",
    "journal time",
    "journal time add",
    "journal plan",
    "journal plan block",
    "journal plan block add",
    "journal rate",
    "journal link",
    "journal link add",
    "journal changes",
];

fn help(args: &[&str]) -> String {
    let said = TestHome::new().wakeful(args);
    assert_eq!(said.code, Some(0), "{said:?}");
    said.stdout
}

// Conformance: H-069
#[test]
fn the_help_of_every_command_is_as_reviewed() {
    insta::assert_snapshot!("help", help(&["--help"]));
    for verb in VERBS {
        let words: Vec<&str> = verb.split(' ').chain(["--help"]).collect();
        insta::assert_snapshot!(format!("help_{}", verb.replace(' ', "_")), help(&words));
    }
}

#[test]
fn completion_scripts_exist_for_the_usual_shells() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        assert!(help(&["completion", shell]).contains("wakeful"), "{shell}");
    }
}

#[test]
fn the_version_is_printed_without_creating_anything() {
    let world = TestHome::new();
    let said = world.wakeful(&["--version"]);
    assert_eq!(
        (said.code, said.stdout.starts_with("wakeful 0.")),
        (Some(0), true),
        "{said:?}"
    );
    assert!(!world.home().exists());
}
