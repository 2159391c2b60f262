//! The built-in tools as sent to providers with strict schemas.

use serde_json::{Value, json};
use wakeful_core::conversation::ToolSpec;
use wakeful_core::id::AgentId;
use wakeful_core::prompt::{ModelRequest, PromptCache};
use wakeful_core::schema::{SchemaMode, check_strict, emit};
use wakeful_models::{Credential, HostedModel, HostedOptions, Provider, RequestOptions};
use wakeful_ports::tool::ToolHost as _;
use wakeful_tools::{CommandLimits, DeniedPaths, DisabledFeatures, Tools, ToolsOptions, UnsandboxedPolicy};

/// All tools of the program.
fn built_in() -> Vec<ToolSpec> {
    let folder = tempfile::tempdir().expect("a folder");
    let (home, workspace) = (folder.path().join("home"), folder.path().join("workspace"));
    std::fs::create_dir_all(&home).expect("a folder");
    std::fs::create_dir_all(&workspace).expect("a folder");
    let tools = Tools::new(ToolsOptions {
        program: "/proc/self/exe".into(),
        program_args_prefix: Vec::new(),
        scratch: home.join("scratch"),
        home,
        workspace,
        environment: [].into(),
        secrets: std::sync::Arc::new(wakeful_tools::NoSecrets),
        closed: DeniedPaths::default(),
        own_addresses: wakeful_tools::OwnAddresses::default(),
        limits: CommandLimits::default(),
        output: wakeful_tools::OutputLimits::default(),
        unsandboxed: UnsandboxedPolicy::Allow,
        pretend: DisabledFeatures::default(),
    });
    let mut specs = tools.expect("tools").specs();
    // It is sent in the provider's own notation.
    specs.retain(|spec| spec.name != wakeful_core::tool::WEB_SEARCH);
    specs
}

/// The tools of a request as they are sent.
pub(super) fn sent(provider: Provider, strict_tools: bool, tools: Vec<ToolSpec>) -> Vec<Value> {
    let options = HostedOptions {
        credential: Some(Credential::new("sk-none").expect("a key")),
        shape: RequestOptions {
            strict_tools,
            ..RequestOptions::default()
        },
        ..HostedOptions::of(provider, "m")
    };
    let request = ModelRequest {
        model_ref: format!("{}/m", provider.word()),
        request: 0,
        system: Vec::new(),
        entries: Vec::new(),
        tools,
        answer_schema: None,
        cache: PromptCache::none(AgentId::parse("main").expect("an id")),
    };
    let body = HostedModel::new(options)
        .expect("a model")
        .body(&request)
        .expect("a body");
    let body: Value = serde_json::from_slice(&body).expect("JSON");
    body["tools"].as_array().expect("tools").clone()
}

// Conformance: H-035, H-036, H-037
#[test]
fn every_built_in_tool_can_be_sent_strictly() {
    let tools = built_in();
    assert!(!tools.is_empty());
    for provider in [Provider::OpenAi, Provider::OpenAiCodex] {
        let strict = sent(provider, true, tools.clone());
        assert_eq!(strict.len(), tools.len());
        for (tool, spec) in strict.iter().zip(&tools) {
            assert_eq!(tool["strict"], true);
            assert_eq!(check_strict(&tool["parameters"]), Ok(()), "{}", spec.name);
        }
        for (tool, spec) in sent(provider, false, tools.clone()).iter().zip(&tools) {
            assert_eq!(tool["strict"], false);
            assert_eq!(tool["parameters"], emit(&spec.input_schema, SchemaMode::Relaxed));
            assert_eq!(tool["parameters"]["additionalProperties"], false);
            // Optional fields stay optional.
            assert_eq!(tool["parameters"]["required"], spec.input_schema["required"]);
        }
    }
}

#[test]
fn a_bad_schema_among_the_tools_is_found() {
    let mut tools = built_in();
    let open = json!({"type": "object", "properties": {"a": {"type": "string", "enum": ["x"]}}});
    tools[0].input_schema = open.clone();
    assert!(check_strict(&open).is_err());
    let strict = sent(Provider::OpenAi, true, tools);
    let parameters = &strict[0]["parameters"];
    assert_eq!(
        parameters["properties"]["a"],
        json!({"type": ["string", "null"], "enum": ["x", null]})
    );
    assert_eq!(check_strict(parameters), Ok(()));
}
