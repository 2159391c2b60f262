//! Golden vectors, hostile lines, and property tests of the protocol.

mod converge;
mod golden;
mod hostile;
mod schedules;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::answer;

fn ask(line: &str) -> Value {
    serde_json::from_str(&answer(line.as_bytes())).expect("an answer is JSON")
}

/// The result of a valid request.
fn result_of(mut request: Value) -> Value {
    request["id"] = json!("r-1");
    let answer = ask(&request.to_string());
    assert_eq!(
        (&answer["id"], &answer["ok"]),
        (&json!("r-1"), &json!(true)),
        "{request}: {answer}"
    );
    answer["result"].clone()
}

/// The code and message of an invalid request.
fn refusal_of(line: &str) -> (String, String) {
    let answer = ask(line);
    assert_eq!(answer["ok"], json!(false), "{line}: {answer}");
    let error = |part: &str| answer["error"][part].as_str().expect("a word").to_owned();
    (error("code"), error("message"))
}

proptest! {
    /// Any input is answered with one line that is an object with the three required members.
    #[test]
    fn every_line_has_an_answer(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let answer = answer(&bytes);
        prop_assert!(!answer.contains('\n'));
        prop_assert_eq!(&serde_json::from_str::<Value>(&answer).expect("JSON")["ok"], &json!(false));
    }

    #[test]
    fn neither_order_nor_repetition_changes_a_logical_change_key(
        (one, other) in proptest::collection::vec("[0-9a-f]{64}", 1..8).prop_flat_map(|keys| {
            let twice = [keys.clone(), keys.clone()].concat();
            (Just(keys), Just(twice).prop_shuffle())
        }),
    ) {
        let key = |keys: Vec<String>| result_of(json!({"op": "logical_change_key", "change_keys": keys}));
        prop_assert_eq!(key(one), key(other));
    }
}
