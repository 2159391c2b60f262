//! Warnings about words in a subscription that match nothing: most likely they are misspelt. They are not
//! errors, because a category may be created later.

use serde_json::Value;

use super::predicate::{FieldTest, Predicate};
use super::spec::SubscriptionSpec;
use crate::change::Token;
use crate::journal::TaskStatus;
use crate::journal::rule::RecordChange;
use crate::journal::tokens::{FIELDS as JOURNAL_FIELDS, NAMESPACES as JOURNAL_NAMESPACES, TIME_ENTRY_STATES};
use crate::notice::{RUN_STATUS, kinds};
use crate::run::RunStatus;
use crate::suggestion;
use crate::watch::{FIELDS as WATCH_FIELDS, NAMESPACES as WATCH_NAMESPACES};

/// Most warnings about one subscription. A person corrects the first ones and sees the rest.
const WARNINGS_MAX: usize = 16;

/// The namespace part and the field of a category's name.
const CATEGORY: &str = "category";

impl SubscriptionSpec {
    /// Returns a sentence for every kind, namespace, value, field and category that nothing has, with the
    /// nearest word that exists. `categories` are the names of the existing ones.
    #[must_use]
    pub fn warnings(&self, categories: &[&str]) -> Vec<String> {
        let words = self.any.iter().chain(&self.all);
        let mut found: Vec<String> = words.filter_map(|word| of_token(word, categories)).collect();
        if let Some(Ok(predicate)) = self.predicate.as_ref().map(Predicate::parse) {
            of_predicate(&predicate, categories, &mut found);
        }
        found.truncate(WARNINGS_MAX);
        found
    }
}

fn of_token(word: &str, categories: &[&str]) -> Option<String> {
    match Token::parse_word(word).ok()? {
        Token::EntityId(_) => None,
        Token::SemanticKey(kind) => unknown("kind", &kind, &kinds().into_iter().collect::<Vec<_>>()),
        Token::Subtype { namespace, value } => {
            let namespaces: Vec<&str> = JOURNAL_NAMESPACES
                .into_iter()
                .chain(WATCH_NAMESPACES)
                .chain([RUN_STATUS])
                .collect();
            unknown("key", &namespace, &namespaces).or_else(|| {
                let name = namespace.rsplit('.').next().unwrap_or_default();
                match name {
                    CATEGORY => unknown(CATEGORY, &value, categories),
                    _ => unknown(&format!("value of {namespace}"), &value, values(&namespace)?),
                }
            })
        }
    }
}

/// The possible values of a namespace; none if any value is possible.
fn values(namespace: &str) -> Option<&'static [&'static str]> {
    match namespace {
        "task.status" => Some(&TaskStatus::WORDS),
        "checklist.item" => Some(&["checked", "unchecked"]),
        "time_entry.state" => Some(&TIME_ENTRY_STATES),
        RUN_STATUS => Some(&RunStatus::WORDS),
        // The words for watched sources depend on the kind of source.
        "file.change" | "git.change" => None,
        other if other.ends_with(".change") => Some(&RecordChange::WORDS),
        _ => None,
    }
}

fn of_predicate(predicate: &Predicate, categories: &[&str], found: &mut Vec<String>) {
    match predicate {
        Predicate::All(parts) | Predicate::Any(parts) => {
            parts
                .iter()
                .for_each(|part| of_predicate(part, categories, found));
        }
        Predicate::Not(inner) => of_predicate(inner, categories, found),
        Predicate::Field { path, test } => {
            let fields: Vec<&str> = JOURNAL_FIELDS.into_iter().chain(WATCH_FIELDS).collect();
            found.extend(unknown("field", path, &fields));
            let named: &[Value] = match test {
                FieldTest::Eq(value) | FieldTest::Ne(value) => std::slice::from_ref(value),
                FieldTest::In(values) => values,
                FieldTest::Order(..) | FieldTest::Exists(_) => &[],
            };
            if path == CATEGORY {
                let names = named.iter().filter_map(Value::as_str);
                found.extend(names.filter_map(|name| unknown(CATEGORY, name, categories)));
            }
        }
    }
}

/// The known words with the same prefix before a dot, else all of them.
fn beside<'a>(word: &str, known: &[&'a str]) -> Vec<&'a str> {
    let prefix = word.split_once('.').map(|(prefix, _)| prefix);
    let same = |one: &&&str| one.split_once('.').map(|(prefix, _)| prefix) == prefix;
    let related: Vec<&str> = known.iter().filter(same).copied().collect();
    if related.is_empty() {
        known.to_vec()
    } else {
        related
    }
}

fn unknown(noun: &str, word: &str, known: &[&str]) -> Option<String> {
    if known.contains(&word) {
        return None;
    }
    let hint = match (suggestion::nearest(word, known.iter().copied()), known) {
        (Some(meant), _) => format!("did you mean {meant}?"),
        (None, []) => "none exists yet".to_owned(),
        (None, known) => format!("known: {}", beside(word, known).join(", ")),
    };
    Some(format!(
        "there is no {noun} {word:?}, so nothing matches it; {hint}"
    ))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn warnings(any: &[&str], predicate: Option<Value>) -> Vec<String> {
        let spec = SubscriptionSpec {
            any: any.iter().map(|&word| word.to_owned()).collect(),
            predicate,
            ..SubscriptionSpec::default()
        };
        spec.warnings(&["gym", "work"])
    }

    #[test]
    fn words_that_exist_give_no_warning() {
        let tokens = [
            "TASK",
            "task.status=done",
            "task.category=gym",
            "rating.scale=mood",
            "id:x",
            "run.status=failed",
        ];
        let predicate = json!({"all": [
            {"field": "category", "op": "eq", "value": "work"}, {"field": "title", "op": "exists", "value": true}
        ]});
        assert_eq!(warnings(&tokens, Some(predicate)), Vec::<String>::new());
    }

    #[test]
    fn unknown_words_are_reported_with_the_nearest_match() {
        for (token, expected) in [
            (
                "TSAK",
                "there is no kind \"TSAK\", so nothing matches it; did you mean TASK?",
            ),
            (
                "task.statsu=done",
                "there is no key \"task.statsu\", so nothing matches it; did you mean task.status?",
            ),
            (
                "task.status=doen",
                "there is no value of task.status \"doen\", so nothing matches it; did you mean done?",
            ),
            (
                "task.category=gmy",
                "there is no category \"gmy\", so nothing matches it; did you mean gym?",
            ),
        ] {
            assert_eq!(warnings(&[token], None), [expected]);
        }
        assert_eq!(
            warnings(&["task.bogus=1"], None),
            [
                "there is no key \"task.bogus\", so nothing matches it; known: task.change, task.category, task.status"
            ]
        );
        let predicate = json!({"not": {"field": "category", "op": "in", "value": ["gym", "wrok"]}});
        assert!(warnings(&[], Some(predicate))[0].contains("did you mean work?"));
        let predicate = json!({"field": "titel", "op": "eq", "value": "x"});
        assert!(warnings(&[], Some(predicate))[0].contains("did you mean title?"));
    }
}
