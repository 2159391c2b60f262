//! Tests commands that try to write the guidance of the next run.

use std::fs;

use wakeful_tools::UnsandboxedPolicy;

use crate::fixture::{LEVELS, ToolFixture};

/// Attempts to change the text that is read as guidance.
const ATTACKS: [&str; 9] = [
    "echo evil > AGENTS.md",
    "echo evil >> AGENTS.md",
    "echo evil > new && mv -f new AGENTS.md",
    "rm -f AGENTS.md; echo evil > AGENTS.md",
    "rm -f AGENTS.md; echo evil > note; ln -s note AGENTS.md",
    "ln AGENTS.md other; echo evil > other",
    "chmod 777 AGENTS.md; cp AGENTS.md x; echo evil | tee AGENTS.md",
    "rm -f AGENTS.md; mkdir AGENTS.md",
    "cd ..; echo evil > workspace/AGENTS.md",
];

fn attack_everything(bed: &ToolFixture) {
    for attack in ATTACKS {
        fs::write(bed.workspace.join("AGENTS.md"), "mine").expect("written");
        bed.run(attack);
        let found = fs::read_to_string(bed.workspace.join("AGENTS.md"));
        assert_eq!(found.expect("a file"), "mine", "{attack}");
    }
}

#[test]
fn a_command_cannot_change_a_guidance_file_at_any_level() {
    for level in LEVELS {
        attack_everything(&ToolFixture::at(level));
    }
}

#[test]
fn without_a_sandbox_guidance_files_are_restored() {
    let bed = ToolFixture::with(|options| {
        options.unsandboxed = UnsandboxedPolicy::Allow;
        options.pretend.no_landlock = true;
    });
    attack_everything(&bed);
}

#[test]
fn a_new_guidance_file_is_renamed_and_reported() {
    for level in LEVELS {
        let bed = ToolFixture::at(level);
        let seen = bed
            .run("echo evil > AGENTS.md; echo evil > CLAUDE.md; echo fine > notes.md")
            .ok();
        for name in ["AGENTS.md", "CLAUDE.md"] {
            assert!(!bed.workspace.join(name).exists(), "{name}");
        }
        assert!(bed.workspace.join("notes.md").exists());
        let findings = seen.json["findings"].as_array().expect("findings");
        assert_eq!(findings.len(), 2, "{}", seen.json);
        let words = findings[0].as_str().expect("words");
        assert!(
            words.contains("read-only for tools") && words.contains("AGENTS.md"),
            "{words}"
        );
    }
}
