//! Tests of change keys and notices.

use proptest::prelude::*;

use super::*;

fn unit(counter: u64, payload_id: &str) -> ChangeUnit {
    ChangeUnit {
        host: Incarnation::new("laptop.1"),
        counter,
        payload_type: RecordKind::Task.into(),
        payload_id: payload_id.into(),
    }
}

// Conformance: L-047
#[test]
fn a_unit_is_named_by_its_provenance_alone() {
    // sha256("v2|laptop.1|7|task|a%7Cb")
    let expected = Digest::of(b"v2|laptop.1|7|task|a%7Cb");
    assert_eq!(unit(7, "a|b").key().0, expected);
    assert_eq!(
        unit(1, "x").key().0.to_string(),
        "45c76585876383cf024092e99a8b69d38db05d1b22baf809a3d6fa53b8be7f13",
        "a golden vector that another program computed"
    );
}

// Conformance: L-047
/// With the origin in the key, the author would hash `local` and every receiver `sync`.
#[test]
fn the_author_and_a_receiver_give_a_unit_the_same_name() {
    let with_origin = |origin: &str| Digest::of(format!("v1|{origin}|laptop.1|7|task|x").as_bytes());
    assert_ne!(
        with_origin("local"),
        with_origin("sync"),
        "the way that does not work"
    );
    let (written, received) = (unit(7, "x"), unit(7, "x"));
    assert_eq!(written.key(), received.key());
}

// Conformance: L-048, L-049, L-209
#[test]
fn neither_order_nor_repetition_changes_the_name_of_a_transaction() {
    let (a, b) = (unit(7, "a"), unit(7, "b"));
    let once = LogicalChangeKey::of([&a, &b]);
    assert_eq!(once, LogicalChangeKey::of([&b, &a, &b]));
    assert_ne!(once, LogicalChangeKey::of([&a]));
    let mut keys = [a.key().0.to_string(), b.key().0.to_string()];
    keys.sort();
    assert_eq!(once.0, Digest::of(format!("v1|{}", keys.join(",")).as_bytes()));
}

// Conformance: L-043
#[test]
fn a_token_key_has_class_namespace_and_value() {
    let subtype = Token::Subtype {
        namespace: "workoutType".into(),
        value: "run".into(),
    };
    assert_eq!(Token::SemanticKey("TASK".into()).key(), "semanticKey|-|TASK");
    assert_eq!(subtype.key(), "subtypeToken|workoutType|run");
    assert_eq!(Token::EntityId("a|b%".into()).key(), "entityId|-|a%7Cb%25");
}

#[test]
fn a_token_is_parsed_from_its_key_and_its_word() {
    let subtype = Token::Subtype {
        namespace: "task.status".into(),
        value: "do|ne=%7C".into(),
    };
    for token in [
        Token::SemanticKey("TASK".into()),
        subtype,
        Token::EntityId("a|b%25".into()),
    ] {
        assert_eq!(Token::parse_key(&token.key()), Some(token.clone()));
        assert_eq!(Token::parse_word(&token.to_word()), Ok(token));
    }
    for bad in ["", "TASK", "semanticKey|-|", "semanticKey|-|a|b", "other|-|x"] {
        assert_eq!(Token::parse_key(bad), None, "{bad}");
    }
    for bad in ["", "=x", "a=", "id:"] {
        assert!(Token::parse_word(bad).is_err(), "{bad}");
    }
}

fn task() -> Token {
    Token::SemanticKey("TASK".into())
}

fn notice(units: &[ChangeUnit], origin: ChangeOrigin) -> Result<Notice, BadChangeUnits> {
    Notice::of(units, [task()], origin)
}

// Conformance: L-034, L-042, L-209
#[test]
fn only_a_subtype_has_a_namespace_and_no_token_is_empty() {
    for class in TokenClass::ALL {
        assert_eq!(TokenClass::parse(class.as_str()), Some(class));
        let (with, without) = (Token::new(class, Some("n"), "v"), Token::new(class, None, "v"));
        match class {
            TokenClass::Subtype => {
                assert_eq!((with.is_ok(), without), (true, Err(BadToken::NamespaceMissing)))
            }
            TokenClass::SemanticKey | TokenClass::EntityId => {
                assert_eq!((with, without.is_ok()), (Err(BadToken::NamespaceMisplaced), true));
            }
        }
        assert_eq!(Token::new(class, None, ""), Err(BadToken::EmptyValue));
    }
}

// Conformance: L-048
#[test]
fn a_notice_has_the_same_key_on_every_device() {
    let units = [unit(7, "b"), unit(7, "a"), unit(7, "b")];
    let (here, there) = (
        notice(&units, ChangeOrigin::Local),
        notice(&units, ChangeOrigin::Sync),
    );
    let (here, there) = (here.expect("a notice"), there.expect("a notice"));
    assert_eq!((here.key(), here.units()), (there.key(), there.units()));
    assert_eq!((here.units().len(), here.origin()), (2, ChangeOrigin::Local));
    assert_eq!(here.tokens(), &BTreeSet::from([task()]));
}

// Conformance: L-050, L-051, L-209
/// Two devices receive the same two transactions, one within a single debounce window and the other in two.
/// With keys per window they would share no key, and each run of the agent would happen twice.
#[test]
fn a_notice_covers_one_transaction_and_not_a_window() {
    let (first, second) = ([unit(7, "a"), unit(7, "b")], [unit(8, "c")]);
    let both = [first.as_slice(), second.as_slice()].concat();
    let one_window = [LogicalChangeKey::of(&both)];
    let two_windows = [LogicalChangeKey::of(&first), LogicalChangeKey::of(&second)];
    assert!(
        one_window.iter().all(|key| !two_windows.contains(key)),
        "the way that does not work"
    );
    assert_eq!(notice(&both, ChangeOrigin::Local), Err(BadChangeUnits::Several));
    assert_eq!(notice(&[], ChangeOrigin::Local), Err(BadChangeUnits::Nothing));
    let key = |units: &[ChangeUnit]| notice(units, ChangeOrigin::Sync).map(|notice| notice.key());
    assert_eq!([key(&first), key(&second)], two_windows.map(Ok));
    let other_host = ChangeUnit {
        host: Incarnation::new("phone.1"),
        ..unit(7, "b")
    };
    assert_eq!(
        notice(&[unit(7, "a"), other_host], ChangeOrigin::Sync),
        Err(BadChangeUnits::Several)
    );
}

/// Some units, and the same units in the order in which another device may receive them.
fn two_arrivals() -> impl Strategy<Value = (Vec<ChangeUnit>, Vec<ChangeUnit>)> {
    proptest::collection::vec("[a-z|%]{0,3}", 1..8).prop_flat_map(|ids| {
        let units: Vec<ChangeUnit> = ids.iter().map(|id| unit(7, id)).collect();
        let twice = [units.clone(), units.clone()].concat();
        (Just(units), Just(twice).prop_shuffle())
    })
}

// Conformance: L-039
#[test]
fn an_origin_is_local_or_sync() {
    let spelled = |origin: ChangeOrigin| serde_json::to_string(&origin).expect("JSON");
    assert_eq!(
        [spelled(ChangeOrigin::Local), spelled(ChangeOrigin::Sync)],
        ["\"local\"", "\"sync\""]
    );
    for bad in ["\"Local\"", "\"remote\"", "null", "1"] {
        assert!(serde_json::from_str::<ChangeOrigin>(bad).is_err(), "{bad}");
    }
}

/// All keys that a device computes when it receives transactions in windows of these sizes.
fn names(
    transactions: &[Vec<ChangeUnit>],
    windows: &[usize],
    origin: ChangeOrigin,
) -> BTreeSet<LogicalChangeKey> {
    let mut rest = transactions;
    let mut names = BTreeSet::new();
    for window in windows.iter().cycle() {
        let (taken, left) = rest.split_at(*window.min(&rest.len()));
        let notices = taken.iter().map(|units| notice(units, origin).expect("a notice"));
        names.extend(notices.map(|notice| notice.key()));
        rest = left;
        if rest.is_empty() {
            break;
        }
    }
    names
}

proptest! {
    // Conformance: L-050, L-051, L-209
    #[test]
    fn debouncing_does_not_change_the_keys_of_changes(
        ids in proptest::collection::vec(proptest::collection::vec("[a-c]{1,2}", 1..4), 1..8),
        here in proptest::collection::vec(1..4_usize, 1..4),
        there in proptest::collection::vec(1..4_usize, 1..4),
    ) {
        let transactions: Vec<Vec<ChangeUnit>> =
            (1..).zip(&ids).map(|(counter, ids)| ids.iter().map(|id| unit(counter, id)).collect()).collect();
        let backwards: Vec<Vec<ChangeUnit>> = transactions.iter().rev().cloned().collect();
        let (here, there) = (names(&transactions, &here, ChangeOrigin::Local), names(&backwards, &there, ChangeOrigin::Sync));
        prop_assert_eq!(here.len(), transactions.len());
        prop_assert_eq!(here, there);
    }

    // Conformance: L-049
    #[test]
    fn the_order_of_arrival_does_not_change_a_transactions_key((here, there) in two_arrivals()) {
        prop_assert_eq!(LogicalChangeKey::of(&here), LogicalChangeKey::of(&there));
        let (here, there) = (notice(&here, ChangeOrigin::Local), notice(&there, ChangeOrigin::Sync));
        prop_assert_eq!(here.map(|notice| notice.key()), there.map(|notice| notice.key()));
    }
}
