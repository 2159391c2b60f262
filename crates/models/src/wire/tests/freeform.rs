//! Tests of tools that models call with plain text.

use super::*;

const PATCH: &str = "*** Begin Patch\n*** Delete File: a\n*** End Patch";

fn offering() -> Lowering<'static> {
    Lowering {
        freeform: true,
        ..lowering(Provider::OpenAi)
    }
}

/// A conversation with one free-form call, one call of the same tool with further arguments, and one of another tool.
fn patched() -> ModelRequest {
    let tool = |name: &str, freeform| ToolSpec {
        name: name.to_owned(),
        description: "Works.".to_owned(),
        input_schema: json!({"type": "object"}),
        freeform,
    };
    let form = Freeform {
        field: "patch".to_owned(),
        grammar: "start: /(.*)/".to_owned(),
    };
    let calls = vec![
        call("c1", "Patch", json!({"patch": PATCH})),
        call("c2", "Patch", json!({"patch": PATCH, "dry_run": true})),
        call("c3", "Look", json!({})),
    ];
    let results = ["c1", "c2", "c3"].map(|id| entry(Role::Tool, vec![result(id, false, "{}")]));
    let mut entries = vec![
        entry(Role::User, vec![text("Go.")]),
        entry(Role::Assistant, calls),
    ];
    entries.extend(results);
    ModelRequest {
        system: Vec::new(),
        tools: vec![tool("Look", None), tool("Patch", Some(form))],
        entries,
        ..opening()
    }
}

#[test]
fn a_tool_with_a_grammar_is_offered_as_text_only_where_enabled() {
    let body = sent_json(&offering(), &patched());
    let custom = json!({"type": "custom", "name": "Patch", "description": "Works.",
        "format": {"type": "grammar", "syntax": "lark", "definition": "start: /(.*)/"}});
    assert_eq!(
        (&body["tools"][1], &body["tools"][0]["type"]),
        (&custom, &json!("function"))
    );
    for provider in Provider::ALL {
        let sent = sent_json(&lowering(provider), &patched()).to_string();
        assert!(
            !sent.contains("custom") && !sent.contains("lark"),
            "{provider:?}: {sent}"
        );
    }
}

#[test]
fn a_free_form_call_and_its_result_keep_their_form() {
    let body = sent_json(&offering(), &patched());
    let arguments = json!({"patch": PATCH, "dry_run": true}).to_string();
    let expected = json!([
        {"type": "custom_tool_call", "call_id": "c1", "name": "Patch", "input": PATCH},
        {"type": "function_call", "call_id": "c2", "name": "Patch", "arguments": arguments},
        {"type": "function_call", "call_id": "c3", "name": "Look", "arguments": "{}"},
        {"type": "custom_tool_call_output", "call_id": "c1", "output": "{}"},
        {"type": "function_call_output", "call_id": "c2", "output": "{}"},
        {"type": "function_call_output", "call_id": "c3", "output": "{}"},
    ]);
    let items = body["input"].as_array().expect("items");
    assert_eq!(json!(items[1..]), expected);
    // An answer is hashed with the items that the next request sends for it.
    let answered = items_of_answer();
    assert_eq!(answered, [items[1].clone()]);
}

/// The items of an answer with one free-form call.
fn items_of_answer() -> Vec<Value> {
    let request = ModelRequest {
        entries: Vec::new(),
        ..patched()
    };
    let said = [call("c1", "Patch", json!({"patch": PATCH}))];
    let items = items(&offering(), &request, &said).expect("items");
    items
        .iter()
        .map(|item| serde_json::from_slice(item).expect("JSON"))
        .collect()
}

#[test]
fn the_text_of_a_free_form_call_becomes_its_argument() {
    let body = json!({"status": "completed", "output": [
        {"type": "custom_tool_call", "id": "ctc_1", "call_id": "c1", "name": "Patch", "input": PATCH},
        {"type": "custom_tool_call", "id": "ctc_2", "call_id": "c2", "name": "Invented", "input": "x"},
    ]});
    let mut blocks = answer(Provider::OpenAi, 0, body.to_string().as_bytes())
        .expect("an answer")
        .blocks;
    read_freeform(&offering(), &patched().tools, &mut blocks);
    let expected = [
        call("c1", "Patch", json!({"patch": PATCH})),
        call("c2", "Invented", json!("x")),
    ];
    assert_eq!(blocks, expected);
}
