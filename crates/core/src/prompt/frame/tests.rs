use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::conversation::{Block, Role};
use crate::prompt::{GUIDANCE_BYTES_MAX, GuidanceKind};

fn said(text: &str) -> TranscriptEntry {
    TranscriptEntry {
        role: Role::User,
        blocks: vec![Block::Text {
            text: text.to_owned(),
        }],
    }
}

fn file(kind: GuidanceKind, text: &str) -> Option<GuidanceFile> {
    let (path, text) = (format!("/somewhere/{}", kind.file_name()), text.to_owned());
    Some(GuidanceFile { path, kind, text })
}

fn guidance(agent: &str, workspace: &str) -> Guidance {
    Guidance {
        agent: file(GuidanceKind::AgentsMd, agent),
        workspace: file(GuidanceKind::ClaudeMd, workspace),
        notes: Vec::new(),
    }
}

fn tool(name: &str) -> ToolSpec {
    ToolSpec {
        name: name.to_owned(),
        description: "does it".to_owned(),
        input_schema: json!({"type": "object"}),
        freeform: None,
    }
}

fn made(guidance: &Guidance, workspace: &str, tools: Vec<ToolSpec>, words: &str) -> ModelRequest {
    let agent = AgentId::parse("gym-coach").expect("id");
    let opening = said(words);
    assemble(PromptInputs {
        agent: &agent,
        workspace,
        guidance,
        kind: MessageKind::OperatorPrompt,
        model_ref: "scripted:x",
        request: 0,
        opening: &opening,
        entries: std::slice::from_ref(&opening),
        answer_schema: None,
        tools,
    })
}

#[test]
fn blocks_are_ordered_by_stability() {
    let guidance = guidance("be kind to knees", "tabs, not spaces");
    let request = made(&guidance, "/projects/gym", vec![tool("Squat")], "hello");
    let text = serde_json::to_string(&request).expect("JSON");
    let markers = [
        "Who decides:",
        "Kinds of turns",
        "gym-coach",
        "/projects/gym",
        "be kind to knees",
        "tabs, not spaces",
        "This turn is `operator`.",
        "hello",
        "Squat",
    ];
    let places: Vec<usize> = markers
        .iter()
        .map(|marker| text.find(marker).expect(marker))
        .collect();
    assert!(places.is_sorted(), "{places:?}");
    assert!(!request.system[0].text.contains("gym"));
    let frame: Vec<(BlockSource, Stability, bool)> = request
        .system
        .iter()
        .map(|block| (block.source, block.stability, block.cache_breakpoint))
        .collect();
    assert_eq!(
        frame,
        [
            (BlockSource::Contract, Stability::Stable, true),
            (BlockSource::Identity, Stability::AgentScoped, false),
            (BlockSource::AgentGuidance, Stability::AgentScoped, false),
            (BlockSource::WorkspaceGuidance, Stability::AgentScoped, true),
            (BlockSource::TurnMode, Stability::TurnScoped, false),
        ]
    );
}

// Conformance: H-137
#[test]
fn a_block_has_this_json_form() {
    let request = made(&Guidance::default(), "/w", Vec::new(), "hello");
    assert_eq!(
        serde_json::to_value(&request.system[1..]).expect("JSON"),
        json!([
            {"text": "You are the agent `gym-coach`. Your workspace is `/w`; commands run there.",
                "stability": "agent_scoped", "source": "identity", "cache_breakpoint": true},
            {"text": "This turn is `operator`.", "stability": "turn_scoped", "source": "turn_mode",
                "cache_breakpoint": false},
        ])
    );
    assert_eq!(
        serde_json::to_value(Stability::Stable).expect("JSON"),
        json!("stable")
    );
}

#[test]
fn an_empty_guidance_file_adds_no_block() {
    let with = made(&guidance(" \r\n", "\u{feff}"), "/w", Vec::new(), "hello");
    assert_eq!(with, made(&Guidance::default(), "/w", Vec::new(), "hello"));
}

// Conformance: H-139, H-140
#[test]
fn the_cache_key_outlives_the_turn_and_the_fingerprint_does_not() {
    let here = guidance("a", "b");
    let cache = |guidance: &Guidance, workspace, name, words| {
        made(guidance, workspace, vec![tool(name)], words).cache
    };
    let (first, second) = (cache(&here, "/w", "T", "one"), cache(&here, "/w", "T", "two"));
    assert_eq!(first.prompt_cache_key, second.prompt_cache_key);
    assert_ne!(first.context_fingerprint, second.context_fingerprint);
    assert_ne!(first.prompt_cache_key, first.context_fingerprint);
    let others = [
        cache(&guidance("a", "other"), "/w", "T", "one"),
        cache(&guidance("other", "b"), "/w", "T", "one"),
        cache(&here, "/elsewhere", "T", "one"),
        cache(&here, "/w", "U", "one"),
    ];
    for other in others {
        assert_ne!(other.prompt_cache_key, first.prompt_cache_key);
        assert_ne!(other.context_fingerprint, first.context_fingerprint);
    }
}

proptest! {
    #[test]
    fn assembly_is_ordered_bounded_and_deterministic(
        agent in proptest::option::of("(?s).{0,60}"),
        long in 0_usize..3,
        workspace in "/(?s).{0,50}",
        words in "(?s).{0,50}",
    ) {
        let long = "ü€".repeat(long * GUIDANCE_BYTES_MAX / 4);
        let guidance = Guidance {
            agent: agent.and_then(|text| file(GuidanceKind::AgentsMd, &text)),
            workspace: file(GuidanceKind::AgentsMd, &format!("{long}{words}")),
            notes: Vec::new(),
        };
        let make = || made(&guidance, &format!("{workspace}{long}"), vec![tool("T")], &words);
        let request = make();
        prop_assert!(request.system.is_sorted_by_key(|block| block.stability));
        for block in &request.system {
            prop_assert!(block.text.len() <= block.source.bytes_max(), "{:?}", block.source);
            prop_assert!(!block.text.is_empty());
            prop_assert!(!block.text.chars().any(|c| c.is_control() && c != '\n' && c != '\t'));
            prop_assert!(!(block.cache_breakpoint && block.stability == Stability::TurnScoped));
        }
        let again = make();
        prop_assert_eq!(
            serde_json::to_vec(&request).expect("JSON"),
            serde_json::to_vec(&again).expect("JSON")
        );
    }
}
