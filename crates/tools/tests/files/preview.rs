//! What a person sees of a change before deciding about it.

use std::fs;

use serde_json::{Value, json};
use wakeful_core::sandbox_scope::SandboxScope;
use wakeful_ports::tool::ToolHost as _;

use crate::fixture::ToolFixture;

#[test]
fn a_change_outside_the_workspace_is_previewed_without_its_old_contents() {
    let fixture = ToolFixture::new();
    let scope = SandboxScope::default();
    let outside = fixture.root.join("outside");
    let preview = |tool: &str, input: Value| fixture.tools.preview(tool, &input, &scope).expect("a preview");
    let write = |content: &str| preview("WriteFile", json!({"path": outside, "content": content}));
    let shown = outside.display();
    let created = write("new\n");
    assert!(
        created.starts_with(&format!("creates the file {shown} (4 bytes)\n")),
        "{created}"
    );
    assert!(created.ends_with("+new\n"), "{created}");
    fs::write(&outside, "hidden").expect("a file");
    let replaced = write("new\n");
    assert!(
        replaced.starts_with(&format!("replaces {shown}, a file of 6 bytes, by 4 bytes\n")),
        "{replaced}"
    );
    let edited = preview("EditFile", json!({"path": outside, "old": "a\n", "new": "b\n"}));
    assert!(edited.ends_with("-a\n+b\n"), "{edited}");
    let patch = format!("*** Begin Patch\n*** Delete File: {shown}\n*** End Patch\n");
    let patched = preview("ApplyPatch", json!({"patch": patch}));
    assert!(patched.contains("*** Delete File"), "{patched}");
    for text in [replaced, edited, patched, write(&"z\n".repeat(50_000))] {
        assert!(
            !text.contains("hidden") && text.chars().count() <= 12_001,
            "{text}"
        );
    }
}
