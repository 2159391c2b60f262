//! `ApplyPatch` in both forms that providers have.

use std::fs;

use serde_json::{Value, json};

use super::home_fixture::TestHome;
use super::provider::FakeProvider;
use super::route::write;

const OLD: &str = "fn a() {\n    one();\n}\n";
const NEW: &str = "fn a() {\n    two();\n}\n";
const ENVELOPE: &str =
    "*** Begin Patch\n*** Update File: a.rs\n@@\n fn a() {\n-    one();\n+    two();\n }\n*** End Patch\n";
const UNIFIED: &str = "--- a/a.rs\n+++ b/a.rs\n@@ -1,3 +1,3 @@\n fn a() {\n-    one();\n+    two();\n }\n";

/// Lets a model patch a file with this item. Returns the file and the second request.
fn patched(settings: &str, item: &Value) -> (String, Value) {
    let world = TestHome::new();
    let answer = |output: Value| (200, json!({"status": "completed", "output": [output]}));
    let done = json!({"type": "message", "content": [{"type": "output_text", "text": "Done."}]});
    let fake = FakeProvider::new(vec![answer(item.clone()), answer(done)]);
    let url = &fake.url;
    write(
        &world,
        &format!("[providers.own]\nkind = \"openai\"\nkey = \"none\"\nbase_url = \"{url}/v1\"\n{settings}\n"),
    );
    fs::create_dir_all(world.workspace()).expect("a folder");
    let file = world.workspace().join("a.rs");
    fs::write(&file, OLD).expect("a file");
    let said = world.wakeful(&["run", "change it", "--json", "--model", "own/m"]);
    assert_eq!(said.json()["final_text"], "Done.", "{said:?}");
    let asked = fake.asked();
    (fs::read_to_string(file).expect("text"), asked[1].1.clone())
}

// Conformance: H-047
#[test]
fn a_free_form_patch_and_a_json_patch_give_the_same_file() {
    let custom =
        json!({"type": "custom_tool_call", "call_id": "c1", "name": "ApplyPatch", "input": ENVELOPE});
    let (file, asked) = patched("freeform_tools = true", &custom);
    assert_eq!(file, NEW);
    let items = asked["input"].as_array().expect("items");
    let [.., call, output] = &items[..] else {
        panic!("{items:?}")
    };
    assert_eq!(
        (&call["type"], &call["input"], &output["type"]),
        (
            &json!("custom_tool_call"),
            &json!(ENVELOPE),
            &json!("custom_tool_call_output")
        )
    );
    let tools = asked["tools"].as_array().expect("tools");
    let tool = |asked: &[Value]| asked.iter().find(|tool| tool["name"] == "ApplyPatch").cloned();
    assert_eq!(tool(tools).expect("ApplyPatch")["format"]["syntax"], "lark");
    let arguments = json!({ "patch": UNIFIED }).to_string();
    let strict =
        json!({"type": "function_call", "call_id": "c1", "name": "ApplyPatch", "arguments": arguments});
    let (file, asked) = patched("", &strict);
    assert_eq!(file, NEW);
    let tools = asked["tools"].as_array().expect("tools");
    assert_eq!(
        tool(tools).expect("ApplyPatch")["parameters"]["required"],
        json!(["patch"])
    );
}
