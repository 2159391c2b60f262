//! What must hold of settings whatever people write.

mod named;

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::Path;

use proptest::prelude::*;
use serde_json::json;
use wakeful_core::policy::OutsideRuns;

use super::file::{edited, parse};
use super::layer::{Layer, merge};
use super::*;

fn text_of(key: Key, number: u16) -> String {
    let number = number.max(1);
    match key {
        Key::ServerAddress => format!("10.0.{}.{}", number / 256, number % 256),
        Key::ServerPort | Key::ServerRatePerMinute | Key::ServerTurnsPerMinute | Key::AgentMaxRounds => {
            number.to_string()
        }
        Key::RetentionEventDays | Key::RetentionTraceDays | Key::RetentionBlobDays => {
            (number % 30_000).to_string()
        }
        Key::DecisionsDeadlineHours => (number % 8_000).to_string(),
        Key::ToolsMemoryMibMax
        | Key::ToolsProcessesMax
        | Key::ToolsWrittenMibMax
        | Key::ToolsWrittenMibPerDay => (16 + number % 8_000).to_string(),
        Key::RetentionEventMib | Key::RetentionTraceMib | Key::RetentionBlobMib => number.to_string(),
        Key::ServerAdvertise | Key::AnnounceWebhook => format!("https://host-{number}.example.org"),
        Key::ServerTokenFile | Key::AgentWorkspace => format!("/somewhere/{number}"),
        Key::ModelDefault => format!("scripted:/scripts/{number}.yaml"),
        Key::AgentDefault | Key::ProviderName => format!("name-{number}"),
        Key::BudgetDailyUsd => format!("{number}.25"),
        Key::AnnounceDesktop | Key::ScheduleCatchUp => number.is_multiple_of(2).to_string(),
        Key::AnnounceWebhookSecret => format!("env:KEY_{number}"),
        Key::AnnounceWebhookForm => ["json", "text"][usize::from(number % 2)].to_owned(),
        Key::AgentOutsideRuns => OutsideRuns::WORDS[usize::from(number % 3)].to_owned(),
        Key::PrivacyConfirm => ["implied", "explicit"][usize::from(number % 2)].to_owned(),
    }
}

fn any_key() -> impl Strategy<Value = Key> {
    prop::sample::select(Key::ALL.to_vec())
}

/// Some settings with values that each of them accepts.
fn settings() -> impl Strategy<Value = BTreeMap<Key, String>> {
    prop::collection::btree_map(any_key(), any::<u16>(), 0..12).prop_map(|numbers| {
        let texts = numbers
            .into_iter()
            .map(|(key, number)| (key, text_of(key, number)));
        texts.collect()
    })
}

fn written(settings: &BTreeMap<Key, String>) -> String {
    let changes = settings.iter().map(|(key, text)| Change::Set(*key, text.clone()));
    changes.fold(String::new(), |text, change| {
        edited(Path::new("config.toml"), &text, &change).expect("acceptable")
    })
}

fn in_environment(settings: &BTreeMap<Key, String>) -> BTreeMap<String, OsString> {
    settings
        .iter()
        .map(|(key, text)| (key.variable(), OsString::from(text)))
        .collect()
}

fn in_flags(settings: &BTreeMap<Key, String>) -> Overrides {
    settings.iter().fold(Overrides::default(), |flags, (key, text)| {
        flags.flag(*key, "--some", Some(text))
    })
}

fn sound(read: super::layer::Read) -> Layer {
    assert!(read.problems.is_empty(), "{:?}", read.problems);
    read.layer
}

fn messages(text: &str) -> Vec<String> {
    let problems = parse(Path::new("config.toml"), text).problems;
    problems.iter().map(ToString::to_string).collect()
}

proptest! {
    /// Each value is that of the last layer that has one, and says so.
    #[test]
    fn flags_win_over_the_environment_which_wins_over_the_file_which_wins_over_what_is_built_in(
        file in settings(), environment in settings(), flags in settings(),
    ) {
        let text = written(&file);
        let layers = [
            sound(parse(Path::new("config.toml"), &text)),
            sound(environment::layer(&in_environment(&environment))),
            sound(in_flags(&flags).layer()),
        ];
        let loaded = merge(&layers).expect("sound layers make sound settings");
        let built_in = merge(&[]).expect("defaults");
        for key in Key::ALL {
            let value = loaded.value(key).cloned();
            let same = |given: &String| value == Some(key.read(given));
            match (flags.get(&key), environment.get(&key), file.get(&key)) {
                (Some(given), _, _) => {
                    prop_assert!(same(given) && *loaded.origin(key) == Origin::Flag("--some"));
                }
                (None, Some(given), _) => {
                    prop_assert!(same(given) && *loaded.origin(key) == Origin::Variable(key.variable()));
                }
                (None, None, Some(given)) => {
                    let stands = |line: usize| text.lines().nth(line - 1).unwrap_or_default().to_owned();
                    let at = |origin: &Origin| matches!(origin, Origin::File { line } if
                        stands(*line).starts_with(key.parts().1));
                    prop_assert!(same(given) && at(loaded.origin(key)));
                }
                (None, None, None) => {
                    prop_assert_eq!(value.as_ref(), built_in.value(key));
                    prop_assert_eq!(loaded.origin(key), &Origin::Default);
                }
            }
        }
    }

    /// The fingerprint is about values and not about where they stand.
    #[test]
    fn equal_settings_have_equal_fingerprints_and_others_have_others(one in settings(), other in settings()) {
        let file = |settings| sound(parse(Path::new("config.toml"), &written(settings)));
        let here = merge(&[file(&one)]).expect("sound");
        let there = merge(&[sound(environment::layer(&in_environment(&one)))]).expect("sound");
        let elsewhere = merge(&[file(&other)]).expect("sound");
        prop_assert_eq!(here.fingerprint(), there.fingerprint());
        prop_assert_eq!(here.fingerprint() == elsewhere.fingerprint(), here.config == elsewhere.config);
        prop_assert_eq!(here.fingerprint().len(), 64);
    }

    /// A slip of one letter leads back to what was meant.
    #[test]
    fn a_name_with_one_slip_is_recognised(key in any_key(), at in any::<prop::sample::Index>(), letter in "[a-z_]", slip in 0_u8..3) {
        let name: Vec<char> = key.name().chars().collect();
        let (at, letter) = (at.index(name.len()), letter.chars().next().expect("a letter"));
        let mut slipped = name.clone();
        match slip {
            0 => slipped.insert(at, letter),
            1 => slipped[at] = letter,
            _ => drop(slipped.remove(at)),
        }
        let slipped: String = slipped.into_iter().collect();
        prop_assert_eq!(Key::nearest(&slipped), Some(key), "{}", slipped);
    }

    /// Whatever a file holds, it is read without a panic, and what is taken from it is acceptable.
    #[test]
    fn any_text_is_either_settings_or_problems(text in "(\\[[a-z]{1,8}\\]\n)?([a-z_.]{1,20} = [0-9a-z\"'\\[\\]{}.-]{1,12}\n|\\PC{0,12}\n){0,6}") {
        let read = parse(Path::new("config.toml"), &text);
        for (key, (value, _)) in &read.layer {
            prop_assert!(key.accepts(value));
        }
    }

    /// Setting and unsetting leaves every other line as it was.
    #[test]
    fn an_edit_touches_its_own_line_alone(settings in settings(), key in any_key(), number in any::<u16>()) {
        let before = written(&settings).replace(" = ", "   =  ").replace('\n', "  # why\n");
        let path = Path::new("config.toml");
        let after = edited(path, &before, &Change::Set(key, text_of(key, number))).expect("edited");
        let lines: BTreeSet<&str> = after.lines().collect();
        for line in before.lines().filter(|line| !line.starts_with(key.parts().1)) {
            prop_assert!(lines.contains(line), "{line:?} is not in {after}");
        }
        let read = sound(parse(path, &after));
        prop_assert_eq!(&read[&key].0, &key.read(&text_of(key, number)));
        let without = edited(path, &after, &Change::Unset(key.name())).expect("edited");
        prop_assert!(!sound(parse(path, &without)).contains_key(&key));
    }
}

#[test]
fn the_schema_and_the_keys_name_the_same_settings() {
    let schema = schema();
    let sections = schema["properties"].as_object().expect("sections");
    let mut named = BTreeSet::new();
    for (section, reference) in sections {
        // A section whose names people choose has a definition for what stands under each of them.
        let inner = reference["additionalProperties"]["$ref"].as_str();
        let (definition, middle) = match inner {
            Some(inner) => (inner, ".NAME"),
            None => (reference["$ref"].as_str().expect("a definition"), ""),
        };
        let definition = definition.rsplit('/').next().expect("a name");
        let properties = schema["$defs"][definition]["properties"]
            .as_object()
            .expect("settings");
        assert_eq!(schema["$defs"][definition]["additionalProperties"], json!(false));
        named.extend(properties.keys().map(|name| format!("{section}{middle}.{name}")));
    }
    let mut known: BTreeSet<String> = Key::ALL.map(Key::name).into();
    known.extend(super::named::all());
    assert_eq!(named, known);
}

#[test]
fn the_built_in_values_are_acceptable_themselves() {
    let built_in = merge(&[]).expect("defaults");
    for key in Key::ALL {
        assert!(
            built_in.value(key).is_none_or(|value| key.accepts(value)),
            "{key:?}"
        );
    }
}

#[test]
fn variables_are_named_after_sections_and_keys() {
    assert_eq!(Key::ServerPort.variable(), "WAKEFUL_SERVER_PORT");
    assert_eq!(
        Key::ModelDefault.variable(),
        "WAKEFUL_MODEL",
        "which is what it was before"
    );
    assert_eq!(
        Key::ALL
            .map(Key::variable)
            .into_iter()
            .collect::<BTreeSet<_>>()
            .len(),
        Key::ALL.len()
    );
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
fn a_file_that_is_no_toml_is_refused_with_its_line() {
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
        assert_eq!(read[&Key::ServerPort].0, json!(80), "{text}");
        let path = Path::new("config.toml");
        let after = edited(path, text, &Change::Set(Key::ServerPort, "81".into())).expect("edited");
        assert_eq!(after, text.replace("80", "81"));
    }
}

#[test]
fn comments_stay_where_they_are() {
    let path = Path::new("config.toml");
    let before = "# mine\n\n[server] # listening\n# why 80\nport = 80 # because\n\n# end\n";
    let after = edited(path, before, &Change::Set(Key::ServerPort, "81".into())).expect("edited");
    assert_eq!(after, before.replace("= 80", "= 81"));
    let after = edited(
        path,
        "# only a comment\n",
        &Change::Set(Key::ServerPort, "81".into()),
    )
    .expect("edited");
    assert_eq!(after, "# only a comment\n[server]\nport = 81\n");
}

#[test]
fn only_a_variable_that_resembles_one_of_ours_is_spoken_of() {
    let found = |name: &str| {
        let variables = BTreeMap::from([(name.to_owned(), OsString::from("x"))]);
        environment::misspelt(&variables)
            .iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>()
    };
    assert!(found("WAKEFUL_SEVER_PORT")[0].contains("WAKEFUL_SERVER_PORT"));
    assert_eq!(found("WAKEFUL_SOMETHING_ELSE_ENTIRELY"), Vec::<String>::new());
    assert_eq!(found("WAKEFUL_HOME"), Vec::<String>::new());
}

#[test]
fn a_value_that_cannot_be_named_as_text_is_refused() {
    use std::os::unix::ffi::OsStringExt as _;
    let variables = BTreeMap::from([("WAKEFUL_AGENT".to_owned(), OsString::from_vec(vec![0xff]))]);
    let read = environment::layer(&variables);
    assert!(read.layer.is_empty() && read.problems.len() == 1);
}
