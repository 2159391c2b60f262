//! Properties of settings for arbitrary input.

mod named;

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::Path;

use proptest::prelude::*;
use serde_json::json;
use wakeful_core::policy::ForeignTargetPolicy;

use super::file::{edited, parse};
use super::layer::{Layer, ParsedLayer, environment, misspelt_variables};
use super::schema::nearest_of_all;
use super::*;

/// A value that the setting accepts, as a person types it.
fn text_of(key: &str, number: u16) -> String {
    let number = number.max(1);
    let one_of = |words: &[&str]| words[usize::from(number) % words.len()].to_owned();
    match key {
        "server.address" => format!("10.0.{}.{}", number / 256, number % 256),
        "server.advertise" | "notify.webhook" => format!("https://host-{number}.example.org"),
        "server.token_file" | "agent.workspace" | "backup.folder" => format!("/somewhere/{number}"),
        "model.default" => format!("scripted:/scripts/{number}.yaml"),
        "agent.default" => format!("name-{number}"),
        "provider.name" => one_of(&wakeful_models::BuiltinProvider::ALL.map(|known| known.name)),
        "budget.daily_usd" => format!("{number}.25"),
        "notify.desktop" | "schedule.catch_up" | "backup.daily" => one_of(&["true", "false"]),
        "notify.webhook_key" => format!("env:KEY_{number}"),
        "notify.webhook_format" => one_of(&["json", "text"]),
        "agent.foreign_targets" => one_of(&ForeignTargetPolicy::WORDS),
        "privacy.confirm" => one_of(&["implied", "explicit"]),
        "log.format" => one_of(&["text", "json"]),
        "log.level" => one_of(&["error", "warn", "info", "debug", "trace"]),
        // Within the bounds of every number.
        _ => (16 + number % 8_000).to_string(),
    }
}

fn keys() -> Vec<String> {
    Setting::single().map(|setting| setting.name()).collect()
}

fn setting(key: &str) -> Setting {
    Setting::find(key).expect(key)
}

fn any_key() -> impl Strategy<Value = String> {
    prop::sample::select(keys())
}

/// Some settings, each with an accepted value.
fn settings() -> impl Strategy<Value = BTreeMap<String, String>> {
    prop::collection::btree_map(any_key(), any::<u16>(), 0..12).prop_map(|numbers| {
        let texts = numbers.into_iter().map(|(key, number)| {
            let text = text_of(&key, number);
            (key, text)
        });
        texts.collect()
    })
}

fn set(key: &str, text: &str) -> ConfigEdit {
    ConfigEdit::Set {
        key: key.to_owned(),
        text: text.to_owned(),
    }
}

fn written(settings: &BTreeMap<String, String>) -> String {
    settings.iter().fold(String::new(), |file, (key, text)| {
        edited(Path::new("config.toml"), &file, &set(key, text)).expect("acceptable")
    })
}

fn in_environment(settings: &BTreeMap<String, String>) -> BTreeMap<String, OsString> {
    settings
        .iter()
        .map(|(key, text)| (setting(key).variable(), OsString::from(text)))
        .collect()
}

fn in_flags(settings: &BTreeMap<String, String>) -> Overrides {
    settings.iter().fold(Overrides::default(), |flags, (key, text)| {
        flags.flag(key.clone().leak(), "--some", Some(text))
    })
}

fn sound(read: ParsedLayer) -> Layer {
    assert!(read.problems.is_empty(), "{:?}", read.problems);
    read.layer
}

fn merge(layers: &[Layer]) -> Result<LoadedConfig, Failure> {
    LoadedConfig::merge(layers.to_vec())
}

/// The part of a key after its section.
fn last(key: &str) -> &str {
    key.rsplit('.').next().expect("a part")
}

fn messages(text: &str) -> Vec<String> {
    let problems = parse(Path::new("config.toml"), text).problems;
    problems.iter().map(ToString::to_string).collect()
}

proptest! {
    /// Each value comes from the last layer that sets it, and its origin names that layer.
    #[test]
    fn flags_override_the_environment_which_overrides_the_file_and_defaults(
        file in settings(), variables in settings(), flags in settings(),
    ) {
        let text = written(&file);
        let layers = [
            sound(parse(Path::new("config.toml"), &text)),
            sound(environment(&in_environment(&variables))),
            sound(in_flags(&flags).layer()),
        ];
        let loaded = merge(&layers).expect("sound layers make sound settings");
        let built_in = merge(&[]).expect("defaults");
        for key in keys() {
            let (value, origin) = (loaded.value(&key).cloned(), loaded.origin(&key));
            let same = |given: &String| value == Some(setting(&key).node.read(given));
            match (flags.get(&key), variables.get(&key), file.get(&key)) {
                (Some(given), _, _) => {
                    let flag = SettingOrigin::Flag { name: "--some" };
                    prop_assert!(same(given) && *origin == flag);
                }
                (None, Some(given), _) => {
                    let variable = SettingOrigin::Environment { name: setting(&key).variable() };
                    prop_assert!(same(given) && *origin == variable);
                }
                (None, None, Some(given)) => {
                    let stands = |line: usize| text.lines().nth(line - 1).unwrap_or_default().to_owned();
                    let at = |origin: &SettingOrigin| matches!(origin, SettingOrigin::File { line } if
                        stands(*line).starts_with(last(&key)));
                    prop_assert!(same(given) && at(origin));
                }
                (None, None, None) => {
                    prop_assert_eq!(value.as_ref(), built_in.value(&key));
                    prop_assert_eq!(origin, &SettingOrigin::Default);
                }
            }
        }
    }

    /// The fingerprint depends on values and not on their origin.
    #[test]
    fn equal_settings_and_only_those_have_equal_fingerprints(one in settings(), other in settings()) {
        let file = |settings| sound(parse(Path::new("config.toml"), &written(settings)));
        let here = merge(&[file(&one)]).expect("sound");
        let there = merge(&[sound(environment(&in_environment(&one)))]).expect("sound");
        let elsewhere = merge(&[file(&other)]).expect("sound");
        prop_assert_eq!(here.fingerprint(), there.fingerprint());
        prop_assert_eq!(here.fingerprint() == elsewhere.fingerprint(), here.config == elsewhere.config);
        prop_assert_eq!(here.fingerprint().len(), 64);
    }

    /// A typo of one letter leads to a suggestion of the right key.
    #[test]
    fn a_key_with_one_typo_is_recognised(key in any_key(), at in any::<prop::sample::Index>(), letter in "[a-z_]", slip in 0_u8..3) {
        let name: Vec<char> = key.chars().collect();
        let (at, letter) = (at.index(name.len()), letter.chars().next().expect("a letter"));
        let mut slipped = name.clone();
        match slip {
            0 => slipped.insert(at, letter),
            1 => slipped[at] = letter,
            _ => drop(slipped.remove(at)),
        }
        let slipped: String = slipped.into_iter().collect();
        prop_assert_eq!(nearest_of_all(&slipped), Some(key), "{}", slipped);
    }

    /// Any file content is read without a panic, and every value that is accepted is valid.
    #[test]
    fn any_text_is_either_settings_or_problems(text in "(\\[[a-z]{1,8}\\]\n)?([a-z_.]{1,20} = [0-9a-z\"'\\[\\]{}.-]{1,12}\n|\\PC{0,12}\n){0,6}") {
        let read = parse(Path::new("config.toml"), &text);
        for (path, (value, _)) in &read.layer {
            prop_assert!(setting(&path.join(".")).node.accepts(value));
        }
    }

    /// Setting and unsetting a key leaves every other line unchanged.
    #[test]
    fn an_edit_changes_only_its_own_line(settings in settings(), key in any_key(), number in any::<u16>()) {
        let before = written(&settings).replace(" = ", "   =  ").replace('\n', "  # why\n");
        let path = Path::new("config.toml");
        let after = edited(path, &before, &set(&key, &text_of(&key, number))).expect("edited");
        let lines: BTreeSet<&str> = after.lines().collect();
        for line in before.lines().filter(|line| !line.starts_with(last(&key))) {
            prop_assert!(lines.contains(line), "{line:?} is not in {after}");
        }
        let read = sound(parse(path, &after));
        let known = setting(&key);
        prop_assert_eq!(&read[&known.path].0, &known.node.read(&text_of(&key, number)));
        let without = edited(path, &after, &ConfigEdit::Unset(key)).expect("edited");
        prop_assert!(!sound(parse(path, &without)).contains_key(&known.path));
    }
}

/// A leaf without bounds or with an unknown format would accept nothing and have an empty message.
#[test]
fn every_setting_says_what_it_expects_and_accepts_some_value() {
    let named = [
        "providers.NAME",
        "routes.NAME",
        "agents.NAME",
        "secrets.A_NAME",
        "data_categories.NAME",
        "models.\"a/b\"",
        "prices.\"a/b\"",
    ];
    let root = schema()["properties"].as_object().expect("sections");
    let mut names: Vec<String> = Setting::all().map(|setting| setting.name()).collect();
    for (section, reference) in root {
        let inner = reference["additionalProperties"]["$ref"].as_str();
        let Some(inner) = inner.and_then(|inner| schema().pointer(&inner[1..])) else {
            continue;
        };
        let named = named
            .iter()
            .find(|named| named.starts_with(section))
            .expect(section);
        let fields = inner["properties"].as_object().expect("fields");
        assert_eq!(inner["additionalProperties"], json!(false), "{section}");
        names.extend(
            fields
                .keys()
                .map(|field| format!("{named}.{field}").replace(".NAME", ".name")),
        );
    }
    assert_eq!(names.len(), 79);
    for name in names {
        let found = setting(&name);
        let expected = found.node.expected();
        assert!(!expected.is_empty() && !found.node.accepts(&json!({})), "{name}");
        let texts = [
            "1",
            "20",
            "true",
            "/a",
            "::1",
            "https://a",
            "a/b",
            "name",
            "env:A",
            "ExecCommand",
        ];
        let words = expected.split('"').skip(1).step_by(2);
        let accepted = texts
            .into_iter()
            .chain(words)
            .any(|text| found.typed(text).is_ok());
        assert!(accepted, "{name} accepts nothing: expected {expected}");
    }
}

#[test]
fn the_built_in_values_are_valid() {
    let built_in = merge(&[]).expect("defaults");
    for setting in Setting::all() {
        let value = built_in.value(&setting.name());
        assert!(
            value.is_none_or(|value| setting.node.accepts(value)),
            "{setting:?}"
        );
    }
}

#[test]
fn variables_are_named_after_sections_and_keys() {
    assert_eq!(setting("server.port").variable(), "WAKEFUL_SERVER_PORT");
    assert_eq!(setting("model.default").variable(), "WAKEFUL_MODEL");
    let variables: BTreeSet<String> = Setting::single().map(|setting| setting.variable()).collect();
    assert_eq!(variables.len(), keys().len());
}

#[test]
fn an_unknown_key_is_refused_with_its_line_and_the_nearest_one() {
    let said = messages("[server]\naddress = \"::1\"\nprot = 80\n[sever]\nport = 1\n");
    assert_eq!(said.len(), 2, "{said:?}");
    assert!(
        said[0].contains("line 3") && said[0].contains("server.prot") && said[0].contains("server.port?"),
        "{said:?}"
    );
    assert!(
        said[1].contains("line 5") && said[1].contains("did you mean server.port?"),
        "{said:?}"
    );
    let said = messages("port = 80\n");
    assert!(said[0].contains("did you mean server.port?"), "{said:?}");
    let said = messages("[zebra]\nstripes = 80\n");
    assert!(said[0].contains("config get"), "{said:?}");
    assert_eq!(messages("[zebra]\n").len(), 1, "an empty section is a name, too");
}

#[test]
fn a_wrong_type_names_the_key_the_line_and_what_is_expected() {
    let said = messages("\n[server]\nport = \"eighty\"\n");
    assert!(
        ["line 3", "server.port", "whole number from 0 to 65535", "eighty"]
            .iter()
            .all(|word| said[0].contains(word)),
        "{said:?}"
    );
    for bad in [
        "[server]\nport = 65536\n",
        "[server]\nport = -1\n",
        "[server]\nport = 80.5\n",
        "[server]\nport = [80]\n",
        "[server.port]\n",
        "[server]\naddress = \"localhost:80\"\n",
        "[server]\nadvertise = \"ftp://x\"\n",
        "[server]\nadvertise = \"https://\"\n",
        "[server]\ntoken_file = \"token\"\n",
        "[server]\nrate_per_minute = 0\n",
        "[model]\ndefault = \"gpt\"\n",
        "[model]\ndefault = \"scripted:beside.yaml\"\n",
        "[agent]\ndefault = \"No Good\"\n",
        "[agent]\nworkspace = \"/a\\u0007b\"\n",
        "[agent]\nmax_rounds = 0\n",
        "[budget]\ndaily_usd = -0.01\n",
        "[budget]\ndaily_usd = nan\n",
        "[budget]\ndaily_usd = inf\n",
        "[provider]\nname = \"\"\n",
        "server = 7\n",
        "[[server]]\nport = 1\n",
    ] {
        assert_eq!(messages(bad).len(), 1, "{bad:?}: {:?}", messages(bad));
    }
}

#[test]
fn a_file_that_is_not_toml_is_refused_with_its_line() {
    for bad in [
        "[server]\nport == 80\n",
        "[server]\nport = 1\nport = 2\n",
        "[server\n",
        "\n\n\u{0}",
    ] {
        let said = messages(bad);
        assert!(said.len() == 1 && said[0].contains("line "), "{bad:?}: {said:?}");
    }
}

#[test]
fn inline_and_dotted_tables_are_the_same_settings() {
    for text in [
        "server = { port = 80 }\n",
        "server.port = 80\n",
        "[server]\nport = 80\n",
    ] {
        let read = sound(parse(Path::new("config.toml"), text));
        assert_eq!(read[&setting("server.port").path].0, json!(80), "{text}");
        let path = Path::new("config.toml");
        let after = edited(path, text, &set("server.port", "81")).expect("edited");
        assert_eq!(after, text.replace("80", "81"));
    }
}

#[test]
fn comments_stay_where_they_are() {
    let path = Path::new("config.toml");
    let before = "# mine\n\n[server] # listening\n# why 80\nport = 80 # because\n\n# end\n";
    let after = edited(path, before, &set("server.port", "81")).expect("edited");
    assert_eq!(after, before.replace("= 80", "= 81"));
    let after = edited(path, "# only a comment\n", &set("server.port", "81")).expect("edited");
    assert_eq!(after, "# only a comment\n[server]\nport = 81\n");
}

#[test]
fn only_a_variable_that_resembles_a_wakeful_variable_is_reported() {
    let found = |name: &str| {
        let variables = BTreeMap::from([(name.to_owned(), OsString::from("x"))]);
        misspelt_variables(&variables)
            .iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>()
    };
    assert!(found("WAKEFUL_SEVER_PORT")[0].contains("WAKEFUL_SERVER_PORT"));
    assert_eq!(found("WAKEFUL_SOMETHING_ELSE_ENTIRELY"), Vec::<String>::new());
    assert_eq!(found("WAKEFUL_HOME"), Vec::<String>::new());
}

#[test]
fn a_value_that_cannot_be_written_as_text_is_refused() {
    use std::os::unix::ffi::OsStringExt as _;
    let variables = BTreeMap::from([("WAKEFUL_AGENT".to_owned(), OsString::from_vec(vec![0xff]))]);
    let read = environment(&variables);
    assert!(read.layer.is_empty() && read.problems.len() == 1);
}

#[test]
fn a_list_given_as_a_list_keeps_the_commas_in_its_values() {
    let folder = tempfile::tempdir().expect("a folder");
    let home = crate::home::Home::open_or_create(&folder.path().join("home")).expect("a home");
    let command = json!(["/bin/notify", "to a,b"]);
    super::change_value(&home, "notify.command", &command).expect("written");
    let loaded = super::load(home.root(), &Overrides::default()).expect("settings");
    assert_eq!(json!(loaded.config.notify.command), command);
}
