//! Tests of sections whose names people choose.

use wakeful_core::id::AgentId;
use wakeful_core::inference::{ModelPurpose, RequestField};

use super::*;

/// A wrong file, the line of the problem, and the words that the message must contain.
const WRONG: [(&str, usize, [&str; 2]); 18] = [
    (
        "[providers.mine]\nbase_url = \"https://h\"\n",
        2,
        ["providers.mine", "kind"],
    ),
    (
        "[providers.openai]\nbase_ulr = \"https://h\"\n",
        2,
        ["providers.openai.base_ulr", "base_url?"],
    ),
    (
        "[providers.openai]\nkind = \"bedrock\"\n",
        2,
        ["providers.openai.kind", "openai-chat"],
    ),
    (
        "[providers.\"No Good\"]\nkind = \"openai\"\n",
        1,
        ["providers.No Good", "a-z"],
    ),
    ("[providers]\nopenai = 1\n", 2, ["providers.openai", "section"]),
    (
        "[providers.openai]\ntotal_ms = 0\n",
        2,
        ["providers.openai.total_ms", "from 1 to"],
    ),
    (
        "[model]\nfallbacks = [\"gpt\"]\n",
        2,
        ["model.fallbacks", "PROVIDER/MODEL"],
    ),
    (
        "[model]\nfallbacks = [\"route:x\"]\n",
        2,
        ["model.fallbacks", "not a route"],
    ),
    (
        "[model]\ndefault = \"azure/gpt\"\n",
        2,
        ["model.default", "azure"],
    ),
    (
        "[model]\ndefault = \"route:x\"\n",
        2,
        ["model.default", "[routes.x]"],
    ),
    (
        "[agents.a]\nask_tools = [\"ExecCommand\"]\n",
        2,
        ["agents.a.ask_tools", "wakeful agent set a --ask-tools"],
    ),
    (
        "[agents.a]\nrequest_fields = [\"all\"]\n",
        2,
        ["agents.a.request_fields", "tool_results"],
    ),
    (
        "[agents.a.models]\nsearch = []\n",
        2,
        ["agents.a.models.search", "models"],
    ),
    ("[routes.r]\nmodels = []\n", 2, ["routes.r.models", "1 to 8"]),
    ("[prices.gpt]\ninput = 1\n", 1, ["prices.gpt", "anthropic/MODEL"]),
    (
        "[prices.\"openai/gpt\"]\ninput = 1\n",
        2,
        ["openai/gpt", "output"],
    ),
    (
        "[privacy]\nconfirm = \"maybe\"\n",
        2,
        ["privacy.confirm", "explicit"],
    ),
    ("[inference]\nmodels = \"*\"\n", 2, ["inference.models", "list"]),
];

/// A file with a section of every kind.
const WHOLE: &str = r#"
[model]
default = "route:careful"
fallbacks = ["ollama/llama3.2"]
[routes.careful]
models = ["anthropic/claude-x", "mine/m", "nowhere/m"]
[providers.mine]
kind = "openai-chat"
base_url = "https://models.example.org/v1"
key = "file:/keys/mine"
first_byte_ms = 5000
incremental = true
[agents.coach]
purposes = ["conversation"]
request_fields = ["text", "tools"]
[agents.coach.models]
conversation = ["mine/*"]
[inference]
models = ["anthropic/*", "mine/*"]
[prices."openrouter/a/claude-3.5"]
input = 1.5
output = 2
[privacy]
confirm = "explicit"
"#;

fn whole() -> Settings {
    let read = parse(Path::new("config.toml"), WHOLE);
    assert!(read.problems.is_empty(), "{:?}", read.problems);
    let loaded = merge(&[read.layer]).expect("sound");
    loaded.config
}

fn agents() -> [AgentId; 2] {
    ["coach", "other"].map(|name| AgentId::parse(name).expect("an id"))
}

#[test]
fn providers_routes_agents_and_prices_are_read_with_their_names() {
    let config = whole();
    assert_eq!(config.routes["careful"].models.len(), 3);
    let mine = &config.providers["mine"];
    assert_eq!(
        (mine.key.as_deref(), mine.first_byte_ms),
        (Some("file:/keys/mine"), Some(5_000))
    );
    let price = config.prices["openrouter/a/claude-3.5"].price();
    assert_eq!(
        (price.input.0, price.output.0, price.cached_write.0),
        (1_500_000, 2_000_000, 1_500_000)
    );
    assert_eq!(
        config.privacy.confirm.rule(),
        wakeful_runtime::PrivacyMode::Explicit
    );
    let [coach, other] = agents();
    let permits = config.permissions(&coach);
    assert_eq!(permits.purposes, BTreeSet::from([ModelPurpose::Conversation]));
    let patterns = |list: &[&str]| list.iter().map(|&one| one.to_owned()).collect::<Vec<_>>();
    assert_eq!(
        permits.models,
        BTreeMap::from([
            (ModelPurpose::Conversation, patterns(&["mine/*"])),
            (ModelPurpose::Embedding, patterns(&["anthropic/*", "mine/*"])),
        ]),
        "a rule for one category leaves what is said of the others"
    );
    assert_eq!(
        permits.shown,
        BTreeSet::from([RequestField::Text, RequestField::Tools])
    );
    let permits = config.permissions(&other);
    assert_eq!(
        permits.models[&ModelPurpose::Embedding],
        ["anthropic/*", "mine/*"]
    );
    assert_eq!(permits.shown.len(), RequestField::ALL.len());
}

#[test]
fn changed_rules_have_another_version() {
    let (config, [coach, other]) = (whole(), agents());
    let mut changed = config.clone();
    changed.model.fallbacks.clear();
    assert_eq!(
        config.policy_versions(&[]),
        changed.policy_versions(&[]),
        "no rule is another"
    );
    assert_ne!(
        config.policy_version(&coach, &[]),
        config.policy_version(&other, &[])
    );
    let moved = ["mine elsewhere.example.org".to_owned()];
    assert_ne!(
        config.policy_version(&coach, &moved),
        config.policy_version(&coach, &[])
    );
    changed.agents.get_mut("coach").expect("coach").request_fields = None;
    assert_ne!(
        config.policy_version(&coach, &[]),
        changed.policy_version(&coach, &[])
    );
    assert_eq!(
        config.policy_version(&other, &[]),
        changed.policy_version(&other, &[])
    );
}

// Conformance: H-007
#[test]
fn a_problem_in_a_named_section_is_reported_with_its_line() {
    for (text, line, words) in WRONG {
        let said = messages(text);
        assert_eq!(said.len(), 1, "{text}: {said:?}");
        assert!(said[0].contains(&format!("line {line}:")), "{text}: {said:?}");
        assert!(
            words.iter().all(|word| said[0].contains(word)),
            "{text}: {said:?}"
        );
    }
}

/// A key written in place of its location is refused, and the message does not repeat it.
#[test]
fn a_key_in_the_file_is_refused_and_not_repeated() {
    for text in [
        "[providers.openai]\nkey = \"sk-very-secret\"\n",
        "[providers.openai]\nkey = \"env:sk-very-secret\"\n",
        "[providers.openai]\nbase_url = \"https://me:very-secret@h/\"\n",
    ] {
        let said = messages(text);
        assert_eq!(said.len(), 1, "{said:?}");
        assert!(
            !said[0].contains("very-secret") && said[0].contains("line 2"),
            "{said:?}"
        );
    }
    assert!(messages("[providers.openai]\nkey = \"sk-1\"\n")[0].contains("env:NAME"));
    let refused = setting("providers.openai.key")
        .typed("sk-very-secret")
        .expect_err("a key");
    assert!(!format!("{refused:?}").contains("very-secret"));
}

#[test]
fn a_setting_in_a_named_section_is_set_and_removed_there() {
    let path = Path::new("config.toml");
    let set = |text: &str, name: &str, value: &str| {
        let found = setting(name);
        assert_eq!(setting(&found.name()).path, found.path, "{name}");
        edited(path, text, &super::set(name, value)).expect("edited")
    };
    let text = set("# mine\n", "providers.mine.kind", "openai-chat");
    let text = set(&text, "providers.mine.key", "env:MINE");
    let text = set(&text, "model.fallbacks", "demo, mine/m");
    let text = set(&text, "agents.coach.models.conversation", "mine/*");
    let text = set(&text, "prices.mine/m-1.5.input", "2");
    let text = set(&text, "prices.mine/m-1.5.output", "3.5");
    assert_eq!(
        text,
        "# mine\n[providers.mine]\nkind = \"openai-chat\"\nkey = \"env:MINE\"\n\n[model]\nfallbacks = [\"demo\", \"mine/m\"]\n\n\
         [agents.coach.models]\nconversation = [\"mine/*\"]\n\n[prices.\"mine/m-1.5\"]\ninput = 2.0\noutput = 3.5\n"
    );
    assert_eq!(messages(&text), Vec::<String>::new());
    let without =
        |text: &str, name: &str| edited(path, text, &ConfigEdit::Unset(name.into())).expect("edited");
    let text = without(
        &without(&text, "providers.mine.key"),
        "agents.coach.models.conversation",
    );
    assert!(!text.contains("env:MINE") && !text.contains("coach"), "{text}");
    assert!(!without(&text, "providers.mine").contains("[providers"), "{text}");
    assert!(Setting::find("providers.mine.zebra").is_none());
    assert!(Setting::find("providers.kind").is_none());
}
