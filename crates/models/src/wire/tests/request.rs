//! Tests of the bytes that are sent.

use super::*;

fn sent(provider: Provider, request: &ModelRequest) -> String {
    let lowering = lowering(provider);
    let bytes = body(&lowering, request).expect("a body");
    assert_eq!(
        bytes,
        body(&lowering, &request.clone()).expect("a body"),
        "other bytes"
    );
    by_fields(bytes)
}

/// Prints a body field by field in the order of the wire, so that long bodies are readable.
fn by_fields(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes)
        .expect("text")
        .replace("},{", "},\n{")
        .replace(":[{", ":[\n{")
        .replace("\"parameters\":", "\"parameters\":\n")
        .replace("\"parametersJsonSchema\":", "\"parametersJsonSchema\":\n")
        .replace("\"input_schema\":", "\"input_schema\":\n")
        .replace(",\"include\"", ",\n\"include\"")
        .replace(",\"reasoning\"", ",\n\"reasoning\"")
}

#[test]
fn anthropic_receives_messages() {
    insta::assert_snapshot!(sent(Provider::Anthropic, &opening()), @r#"
    {"model":"m","max_tokens":8192,"system":[
    {"type":"text","text":"Be exact.","cache_control":{"type":"ephemeral"}},
    {"type":"text","text":"You are `main`.","cache_control":{"type":"ephemeral"}}],"tools":[
    {"name":"Look","description":"Looks.","input_schema":
    {"type":"object","properties":{"at":{"type":"string"}},"additionalProperties":false}}],"messages":[
    {"role":"user","content":[
    {"type":"text","text":"What is here?","cache_control":{"type":"ephemeral"}}]}],"stream":true}
    "#);
    insta::assert_snapshot!(sent(Provider::Anthropic, &round_trip()), @r#"
    {"model":"m","max_tokens":8192,"messages":[
    {"role":"user","content":[
    {"type":"text","text":"What is here?"}]},
    {"role":"assistant","content":[
    {"type":"text","text":"Let me look."},
    {"type":"tool_use","id":"c1","name":"Look","input":{"at":"."}},
    {"type":"tool_use","id":"c_2","name":"fun_ctions","input":{"value":"{not json"}}]},
    {"role":"user","content":[
    {"type":"tool_result","tool_use_id":"c1","content":"{\"files\":3}","is_error":false},
    {"type":"tool_result","tool_use_id":"c_2","content":"{\"code\":\"unknown_tool\"}","is_error":true},
    {"type":"text","text":"And?"}]}],"stream":true}
    "#);
}

#[test]
fn openai_receives_items() {
    insta::assert_snapshot!(sent(Provider::OpenAi, &opening()), @r#"
    {"model":"m","instructions":"Be exact.\n\nYou are `main`.","tools":[
    {"type":"function","name":"Look","description":"Looks.","parameters":
    {"type":"object","properties":{"at":{"type":"string"}},"additionalProperties":false},"strict":false}],
    "include":["reasoning.encrypted_content"],"store":false,"stream":true,"input":[
    {"type":"message","role":"user","content":[
    {"type":"input_text","text":"What is here?"}]}]}
    "#);
    insta::assert_snapshot!(sent(Provider::OpenAi, &round_trip()), @r#"
    {"model":"m",
    "include":["reasoning.encrypted_content"],"store":false,"stream":true,"input":[
    {"type":"message","role":"user","content":[
    {"type":"input_text","text":"What is here?"}]},
    {"type":"message","role":"assistant","content":[
    {"type":"output_text","text":"Let me look."}]},
    {"type":"function_call","call_id":"c1","name":"Look","arguments":"{\"at\":\".\"}"},
    {"type":"function_call","call_id":"c_2","name":"fun_ctions","arguments":"{\"value\":\"{not json\"}"},
    {"type":"function_call_output","call_id":"c1","output":"{\"files\":3}"},
    {"type":"function_call_output","call_id":"c_2","output":"{\"code\":\"unknown_tool\"}"},
    {"type":"message","role":"user","content":[
    {"type":"input_text","text":"And?"}]}]}
    "#);
}

// Conformance: H-005
/// Codex requests have no output limit and two fields that must be present although they are empty.
#[test]
fn codex_receives_its_own_variant_of_items() {
    let limited = Lowering {
        output_tokens_max: Some(77),
        ..lowering(Provider::OpenAiCodex)
    };
    let body = body(&limited, &opening()).expect("a body");
    insta::assert_snapshot!(by_fields(body), @r#"
    {"model":"m","instructions":"Be exact.\n\nYou are `main`.","tools":[
    {"type":"function","name":"Look","description":"Looks.","parameters":
    {"type":"object","properties":{"at":{"type":"string"}},"additionalProperties":false},"strict":false}],
    "reasoning":null,
    "include":[],"store":false,"stream":true,"input":[
    {"type":"message","role":"user","content":[
    {"type":"input_text","text":"What is here?"}]}]}
    "#);
}

#[test]
fn openai_chat_receives_messages_with_text_and_calls() {
    insta::assert_snapshot!(sent(Provider::OpenAiChat, &opening()), @r#"
    {"model":"m","tools":[
    {"type":"function","function":{"name":"Look","description":"Looks.","parameters":
    {"type":"object","properties":{"at":{"type":"string"}},"additionalProperties":false},"strict":false}}],"messages":[
    {"role":"system","content":"Be exact.\n\nYou are `main`."},
    {"role":"user","content":"What is here?"}],"stream":true,"stream_options":{"include_usage":true}}
    "#);
    insta::assert_snapshot!(sent(Provider::OpenAiChat, &round_trip()), @r#"
    {"model":"m","messages":[
    {"role":"user","content":"What is here?"},
    {"role":"assistant","content":"Let me look.","tool_calls":[
    {"id":"c1","type":"function","function":{"name":"Look","arguments":"{\"at\":\".\"}"}},
    {"id":"c_2","type":"function","function":{"name":"fun_ctions","arguments":"{\"value\":\"{not json\"}"}}]},
    {"role":"tool","tool_call_id":"c1","content":"{\"files\":3}"},
    {"role":"tool","tool_call_id":"c_2","content":"{\"code\":\"unknown_tool\"}"},
    {"role":"user","content":"And?"}],"stream":true,"stream_options":{"include_usage":true}}
    "#);
}

#[test]
fn gemini_receives_contents() {
    insta::assert_snapshot!(sent(Provider::Gemini, &opening()), @r#"
    {"systemInstruction":{"parts":[
    {"text":"Be exact."},
    {"text":"You are `main`."}]},"tools":[
    {"functionDeclarations":[
    {"name":"Look","description":"Looks.","parametersJsonSchema":
    {"type":"object","properties":{"at":{"type":"string"}},"additionalProperties":false}}]}],"contents":[
    {"role":"user","parts":[
    {"text":"What is here?"}]}]}
    "#);
    insta::assert_snapshot!(sent(Provider::Gemini, &round_trip()), @r#"
    {"contents":[
    {"role":"user","parts":[
    {"text":"What is here?"}]},
    {"role":"model","parts":[
    {"text":"Let me look."},
    {"functionCall":{"name":"Look","args":{"at":"."}}},
    {"functionCall":{"name":"fun_ctions","args":{"value":"{not json"}}}]},
    {"role":"user","parts":[
    {"functionResponse":{"name":"Look","response":{"output":"{\"files\":3}"}}},
    {"functionResponse":{"name":"fun_ctions","response":{"error":"{\"code\":\"unknown_tool\"}"}}},
    {"text":"And?"}]}]}
    "#);
}

// Conformance: H-136
#[test]
fn every_format_contains_the_same_text_in_the_same_order() {
    let request = ModelRequest {
        entries: round_trip().entries,
        ..opening()
    };
    let words = [
        "Be exact.",
        "You are `main`.",
        "What is here?",
        "Let me look.",
        "files",
        "unknown_tool",
        "And?",
    ];
    for provider in Provider::ALL {
        let body = sent(provider, &request);
        let places: Option<Vec<usize>> = words.iter().map(|word| body.find(word)).collect();
        let places = places.expect("all of the words");
        assert!(places.is_sorted(), "{provider:?}: {places:?}");
        assert!(
            words.iter().all(|word| body.matches(word).count() == 1),
            "{provider:?}: none twice"
        );
    }
}

#[test]
fn a_continued_conversation_keeps_its_first_bytes() {
    for provider in Provider::ALL {
        let (first, mut second) = (opening(), opening());
        second.request = 1;
        second
            .entries
            .push(entry(Role::Assistant, vec![text("Three files.")]));
        second.entries.push(entry(Role::User, vec![text("Which?")]));
        let [first, second] = [first, second].map(|request| sent(provider, &request));
        let question = first.find("What is here?").expect("the question");
        assert_eq!(first.get(..question), second.get(..question), "{provider:?}");
    }
}
