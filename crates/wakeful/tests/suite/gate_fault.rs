//! A fault in what a gate reads blocks: each gate is given a broken input, and nothing is performed, not even when the
//! same work is tried again.

use std::fs;

use rusqlite::Connection;

use super::home_fixture::TestHome;

/// A way to break the input of a gate.
enum Fault {
    /// A statement for the agents' database.
    Row(&'static str),
    /// A file of the home, and its content.
    File(&'static str, &'static [u8]),
    /// A folder in place of a file of the home.
    Folder(&'static str),
    /// Settings in the environment of the command.
    Variable(&'static str, &'static str),
}

/// The gate, the fault, and a part of what the command then says.
const FAULTS: [(&str, Fault, &str); 19] = [
    (
        "settings",
        Fault::Row("UPDATE agent SET settings = '{'"),
        "agent.settings",
    ),
    (
        "scope",
        Fault::Row("UPDATE agent SET settings = '{}'"),
        "agent.settings",
    ),
    (
        "scope",
        Fault::Row("UPDATE agent SET settings = json_set(settings, '$.allowed_category_ids', 7)"),
        "agent.settings",
    ),
    (
        "scope",
        Fault::Row("UPDATE agent SET settings = json_set(settings, '$.allowed_category_ids', json('[]'))"),
        "denied",
    ),
    (
        "capability",
        Fault::Row("UPDATE agent SET settings = json_set(settings, '$.capabilities', json('[\"fly\"]'))"),
        "agent.settings",
    ),
    (
        "capability",
        Fault::Row("UPDATE agent SET settings = json_set(settings, '$.capabilities', json('[]'))"),
        "denied",
    ),
    (
        "mode",
        Fault::Row("UPDATE agent SET settings = json_set(settings, '$.permission_mode', 'wild')"),
        "agent.settings",
    ),
    (
        "sandbox",
        Fault::Row("UPDATE agent SET settings = json_set(settings, '$.sandbox', json('[1]'))"),
        "agent.settings",
    ),
    (
        "quota",
        Fault::Row(
            "UPDATE agent SET settings = json_set(settings, '$.tool_quotas', json('{\"ExecCommand\": -1}'))",
        ),
        "agent.settings",
    ),
    (
        "quota",
        Fault::Row(
            "UPDATE agent SET settings = json_set(settings, '$.tool_quotas', json('{\"ExecCommand\": {\"max_per_day\": \"x\"}}'))",
        ),
        "agent.settings",
    ),
    ("policy", Fault::File("policy/main.cedar", b"permit ("), "denied"),
    (
        "policy",
        Fault::File("policy/main.cedar", b"\xff\xfe\x00"),
        "denied",
    ),
    (
        "policy",
        Fault::File("agents/main/policy/own.cedar", b"forbid"),
        "denied",
    ),
    ("policy", Fault::Folder("policy/main.cedar"), "denied"),
    ("models", Fault::File("config.toml", b"broken ="), "config"),
    (
        "models",
        Fault::File("config.toml", b"[inference]\nmodels = 5\n"),
        "inference.models",
    ),
    (
        "budget",
        Fault::Variable("WAKEFUL_BUDGET_DAILY_USD", "much"),
        "budget.daily_usd",
    ),
    (
        "brake",
        Fault::Row("INSERT INTO brake VALUES ('', 'a reason', 'wild', 1)"),
        "brake",
    ),
    ("brake", Fault::File("stop.slot", &[7; 16_384]), "brake"),
];

fn inject(world: &TestHome, fault: &Fault) {
    let home = world.home();
    match fault {
        Fault::Row(statement) => {
            let database = Connection::open(home.join("agent.sqlite")).expect("opens");
            let changed = database.execute(statement, []).expect(statement);
            assert_eq!(changed, 1, "{statement}");
        }
        Fault::File(name, content) => {
            let path = home.join(name);
            fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            fs::write(path, content).expect("written");
        }
        Fault::Folder(name) => fs::create_dir_all(home.join(name)).expect("a folder"),
        Fault::Variable(..) => {}
    }
}

// Conformance: L-160
#[test]
fn a_fault_in_the_input_of_a_gate_never_permits() {
    for (gate, fault, said) in FAULTS {
        let world = TestHome::new();
        let script =
            "rounds:\n  - tools: [{ name: ExecCommand, input: { cmd: \"touch marker\" } }]\n  - text: done\n";
        let script = world.script(script);
        let made = world.wakeful(&["agent", "create", "main", "--model", &script]);
        assert_eq!(made.code, Some(0), "{made:?}");
        inject(&world, &fault);
        let variable = match fault {
            Fault::Variable(name, value) => Some((name, value)),
            Fault::Row(_) | Fault::File(..) | Fault::Folder(_) => None,
        };
        // A second attempt must not find a permission that the first one left.
        let mut text = String::new();
        for args in [
            &["run", "go", "--agent", "main", "--json"][..],
            &["run", "--resume", "--json"],
        ] {
            let mut command = world.command(super::home_fixture::program());
            command.args(args).envs(variable);
            let output = command.output().expect("it runs");
            text += &String::from_utf8_lossy(&[output.stdout, output.stderr].concat());
        }
        assert!(
            !world.workspace().join("marker").exists(),
            "{gate}: it was performed: {text}"
        );
        assert!(text.contains(said), "{gate}: {said:?} is not in {text}");
    }
}
