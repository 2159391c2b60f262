//! Privacy receipts: the rules and addresses for which a person's confirmation is valid.

use serde_json::json;

use super::home_fixture::TestHome;
use super::provider::{FakeProvider, KEY};
use super::route::{call, chat, provider, write};

// Conformance: L-157
/// If confirmation is required, nothing is sent before a person confirms, and a change of the rules
/// requires a new confirmation.
#[test]
fn a_confirmation_is_valid_only_for_the_rules_it_was_given_under() {
    let world = TestHome::new();
    // The permitted content is too little for any request, so nothing is ever sent.
    let rules = |fields: &str| {
        format!(
            "[privacy]\nconfirm = \"explicit\"\n[providers.out]\nkind = \"openai-chat\"\nkey = \"none\"\n\
             base_url = \"https://nowhere.invalid/v1\"\n[inference]\nrequest_fields = [{fields}]\n"
        )
    };
    let kind = || {
        let said = call(&world, &["run", "x", "--json", "--model", "out/m"], &[]);
        let kind = said.json()["failure_artifact"]["kind"].clone();
        (said.code, kind.as_str().unwrap_or_default().to_owned())
    };
    let refused = |code: &str| (Some(4), code.to_owned());
    write(&world, &rules("\"text\""));
    assert_eq!(kind(), refused("privacy_confirmation_required"));
    let said = world.wakeful(&["models", "confirm", "out", "--json"]);
    assert_eq!(
        (said.code, &said.json()["provider"]),
        (Some(0), &json!("out")),
        "{said:?}"
    );
    assert_eq!(kind(), refused("overshared_payload_blocked"));
    write(&world, &rules("\"text\", \"contract\""));
    assert_eq!(kind(), refused("privacy_confirmation_required"));
    let said = world.wakeful(&["models", "confirm", "--json"]);
    assert_eq!(
        said.json()["receipts"].as_array().map(Vec::len),
        Some(1),
        "{said:?}"
    );
    let said = world.wakeful(&["models", "confirm", "nobody", "--json"]);
    assert_eq!(
        (said.code, said.error_code().as_str()),
        (Some(2), "model_unknown"),
        "{said:?}"
    );
}

/// A script may stand for an external model, so its confirmation must be possible.
#[test]
fn a_script_that_stands_for_an_external_model_can_be_confirmed() {
    let world = TestHome::new();
    write(&world, "[privacy]\nconfirm = \"explicit\"\n");
    let run = || world.run("boundary: outside\nrounds: [{text: hi}]\n", &[]);
    let said = run();
    assert_eq!(
        said.json()["failure_artifact"]["kind"],
        "privacy_confirmation_required",
        "{said:?}"
    );
    let agreed = world.wakeful(&["models", "confirm", "scripted", "--json"]);
    assert_eq!(agreed.code, Some(0), "{agreed:?}");
    assert_eq!(run().json()["final_text"], "hi");
}

// Conformance: L-157
/// A confirmation for one machine is not valid for another of the same name.
#[test]
fn a_confirmation_does_not_follow_a_provider_to_another_address() {
    let world = TestHome::new();
    let rules = |host: &str| {
        format!(
            "[privacy]\nconfirm = \"explicit\"\n[providers.mine]\nkind = \"openai-chat\"\nkey = \"none\"\n\
             base_url = \"https://{host}/v1\"\n[inference]\nrequest_fields = []\n"
        )
    };
    let kind = |model: &str, environment: &[(&str, &str)]| {
        let said = call(&world, &["run", "x", "--json", "--model", model], environment);
        let kind = said.json()["failure_artifact"]["kind"].clone();
        kind.as_str().unwrap_or_default().to_owned()
    };
    let (unconfirmed, confirmed) = ("privacy_confirmation_required", "overshared_payload_blocked");
    write(&world, &rules("a.invalid"));
    for provider in ["mine", "anthropic"] {
        let said = world.wakeful(&["models", "confirm", provider]);
        assert_eq!(said.code, Some(0), "{said:?}");
    }
    assert_eq!(kind("mine/m", &[]), confirmed);
    write(&world, &rules("b.invalid"));
    assert_eq!(kind("mine/m", &[]), unconfirmed, "another host");
    write(&world, &rules("a.invalid/other"));
    assert_eq!(kind("mine/m", &[]), confirmed, "the same host");
    let key = ("ANTHROPIC_API_KEY", "sk-some-key");
    let moved = ("ANTHROPIC_BASE_URL", "https://c.invalid");
    assert_eq!(kind("anthropic/m", &[key]), confirmed);
    assert_eq!(kind("anthropic/m", &[key, moved]), unconfirmed);
    let own = ("ANTHROPIC_BASE_URL", "https://api.anthropic.com");
    assert_eq!(kind("anthropic/m", &[key, own]), confirmed, "its own address");
    let said = call(&world, &["models", "confirm", "anthropic"], &[moved]);
    assert_eq!(said.code, Some(0), "{said:?}");
    assert_eq!(kind("anthropic/m", &[key, moved]), confirmed);
}

/// A provider that requires a key may forward what it receives, like a gateway or a tunnel. That it listens
/// on this machine changes nothing.
#[test]
fn a_local_provider_that_receives_a_key_is_external() {
    let run = |world: &TestHome, environment: &[(&str, &str)]| {
        call(
            world,
            &["run", "x", "--json", "--model", "gateway/gpt-5"],
            environment,
        )
    };
    let key = ("GATEWAY_KEY", KEY);
    let (world, fake) = (TestHome::new(), FakeProvider::new(vec![chat("Hi.")]));
    let keyed = provider("gateway", &fake, "key = \"env:GATEWAY_KEY\"");
    write(&world, &format!("[budget]\ndaily_usd = 0\n{keyed}"));
    let said = run(&world, &[key]);
    assert_eq!(
        (said.code, said.error_code().as_str()),
        (Some(5), "budget_exceeded"),
        "{said:?}"
    );
    let world = TestHome::new();
    write(&world, &format!("[privacy]\nconfirm = \"explicit\"\n{keyed}"));
    let said = run(&world, &[key]);
    assert_eq!(
        (said.code, &said.json()["failure_artifact"]["kind"]),
        (Some(4), &json!("privacy_confirmation_required")),
        "{said:?}"
    );
    assert!(fake.asked().is_empty(), "nothing was sent");
    let confirmed = world.wakeful(&["models", "confirm", "gateway"]);
    assert_eq!(confirmed.code, Some(0), "{confirmed:?}");
    let said = run(&world, &[key]);
    assert_eq!(said.code, Some(0), "{said:?}");
    // The price list has gpt-5 at 1.25 per million input tokens and 10 per million output tokens.
    assert_eq!(said.json()["cost_usd"], "0.000027", "{said:?}");
    assert_eq!(fake.asked()[0].1["max_tokens"], 8_192);
}

/// Without a key nothing is forwarded in a person's name, and a configured price of zero is free.
#[test]
fn a_local_provider_without_a_key_or_price_is_free() {
    let run = |world: &TestHome| {
        call(
            world,
            &["run", "x", "--json", "--model", "mine/gpt-5"],
            &[("MY_KEY", KEY)],
        )
    };
    for (key, more) in [
        ("none", "[privacy]\nconfirm = \"explicit\"\n"),
        ("env:MY_KEY", "[prices.\"mine/gpt-5\"]\ninput = 0\noutput = 0\n"),
    ] {
        let (world, fake) = (TestHome::new(), FakeProvider::new(vec![chat("Hi.")]));
        let mine = provider("mine", &fake, &format!("key = \"{key}\""));
        write(&world, &format!("[budget]\ndaily_usd = 0\n{more}{mine}"));
        let said = run(&world);
        assert_eq!(said.code, Some(0), "{said:?}");
        assert!(
            fake.asked()[0].1.get("max_tokens").is_none(),
            "{:?}",
            fake.asked()
        );
    }
}
