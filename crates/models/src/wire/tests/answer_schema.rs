//! Tests of the schema of an answer in requests.

use wakeful_core::answer_schema::AnswerSchema;

use super::*;

fn asking(schema: Value) -> ModelRequest {
    ModelRequest {
        answer_schema: Some(AnswerSchema::new(schema).expect("a schema")),
        tools: Vec::new(),
        ..opening()
    }
}

fn strict() -> Value {
    json!({"type": "object", "properties": {"n": {"type": "integer", "minimum": 1}}, "required": ["n"]})
}

#[test]
fn each_provider_receives_the_schema_in_its_documented_field() {
    let closed = json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"],
        "additionalProperties": false});
    for (provider, pointer, expected) in [
        (
            Provider::Anthropic,
            "/output_config",
            json!({"format": {"type": "json_schema", "schema": closed}}),
        ),
        (
            Provider::OpenAi,
            "/text",
            json!({"format": {"type": "json_schema", "name": "answer", "schema": closed, "strict": true}}),
        ),
        (
            Provider::OpenAiChat,
            "/response_format",
            json!({"type": "json_schema", "json_schema": {"name": "answer", "schema": closed, "strict": true}}),
        ),
        (
            Provider::Gemini,
            "/generationConfig",
            json!({"responseMimeType": "application/json", "responseJsonSchema": closed}),
        ),
    ] {
        let body = sent_json(&lowering(provider), &asking(strict()));
        assert_eq!(body.pointer(pointer), Some(&expected), "{provider:?}");
        let plain = sent_json(&lowering(provider), &opening());
        assert_eq!(plain.pointer(pointer), None, "{provider:?}");
    }
}

#[test]
fn optional_properties_are_not_sent_as_strict() {
    let optional = json!({"type": "object", "properties": {"n": {"type": "integer"}}});
    let body = sent_json(&lowering(Provider::OpenAi), &asking(optional));
    assert_eq!(body.pointer("/text/format/strict"), Some(&json!(false)));
}

#[test]
fn models_and_servers_that_refuse_schemas_receive_none() {
    let with_schema = |lowering: &Lowering<'_>, request: &ModelRequest| {
        sent_json(lowering, request)
            .to_string()
            .contains("\"additionalProperties\":false")
    };
    let asking = asking(strict());
    assert!(with_schema(&lowering(Provider::Anthropic), &asking));
    for (provider, model) in [
        (Provider::Anthropic, "claude-3-5-haiku"),
        (Provider::OpenAi, "gpt-4"),
        (Provider::OpenAiCodex, "gpt-5"),
    ] {
        let older = Lowering {
            model,
            ..lowering(provider)
        };
        assert!(!with_schema(&older, &asking), "{model}");
    }
    let compatible = Lowering {
        own_server: false,
        ..lowering(Provider::OpenAiChat)
    };
    assert!(!with_schema(&compatible, &asking));
    // Gemini 2 accepts no schema together with tools.
    let mut with_tools = asking.clone();
    with_tools.tools = opening().tools;
    let body = sent_json(&lowering(Provider::Gemini), &with_tools);
    assert_eq!(body.pointer("/generationConfig"), None);
    let newer = Lowering {
        model: "gemini-3-pro",
        ..lowering(Provider::Gemini)
    };
    assert!(
        sent_json(&newer, &with_tools)
            .pointer("/generationConfig/responseJsonSchema")
            .is_some()
    );
}
