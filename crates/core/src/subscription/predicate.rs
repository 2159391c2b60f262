//! Predicates: conditions on the fields of a record.
//!
//! A small language in JSON: `{"field": "a.b", "op": "eq", "value": 1}` with `eq ne in lt lte gt gte
//! exists`, and `{"all": […]}`, `{"any": […]}`, `{"not": …}` around it. Evaluation never fails: values that
//! cannot be compared are not equal and have no order, and a missing field satisfies only `ne` and `exists:
//! false`.

use std::cmp::Ordering;

use serde_json::{Map, Number, Value};

use super::Entity;

/// Deepest predicate that is parsed. The strict JSON parser accepts no deeper nesting.
pub const DEPTH_MAX: usize = 128;

/// A condition on the fields of a record.
#[derive(Debug, Clone, PartialEq)]
pub enum Predicate {
    /// A test of one field.
    Field {
        /// The path through objects, separated by dots.
        path: String,
        test: FieldTest,
    },
    /// All hold; true for an empty list.
    All(Vec<Self>),
    /// At least one holds; false for an empty list.
    Any(Vec<Self>),
    /// The inner predicate does not hold.
    Not(Box<Self>),
}

/// A condition on one field.
#[derive(Debug, Clone, PartialEq)]
pub enum FieldTest {
    Eq(Value),
    /// Not equal, or missing.
    Ne(Value),
    /// Equal to one of the values.
    In(Vec<Value>),
    /// A number or a string in this order relative to the value.
    Order(Comparison, Value),
    /// Present, or missing.
    Exists(bool),
}

/// An order comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Comparison {
    Lt,
    Lte,
    Gt,
    Gte,
}

impl Comparison {
    const fn holds(self, order: Ordering) -> bool {
        match self {
            Self::Lt => order.is_lt(),
            Self::Lte => order.is_le(),
            Self::Gt => order.is_gt(),
            Self::Gte => order.is_ge(),
        }
    }
}

/// Why a predicate is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{path}` {why}")]
pub struct BadPredicate {
    /// The path within the predicate; empty at its root.
    pub path: String,
    pub why: String,
}

impl BadPredicate {
    fn at(path: &str, why: impl Into<String>) -> Self {
        let (path, why) = (path.to_owned(), why.into());
        Self { path, why }
    }
}

/// Longest part of an unknown word that an error repeats.
const WORD_CHARS_MAX: usize = 64;

impl Predicate {
    /// Parses a predicate.
    pub fn parse(json: &Value) -> Result<Self, BadPredicate> {
        Self::parse_at(json, "", 0)
    }

    fn parse_at(json: &Value, path: &str, depth: usize) -> Result<Self, BadPredicate> {
        let Value::Object(members) = json else {
            return Err(BadPredicate::at(path, "must be an object"));
        };
        if depth == DEPTH_MAX {
            return Err(BadPredicate::at(path, "is nested too deep"));
        }
        let list = |word: &str, items: &Value| {
            let path = join(path, word);
            let Value::Array(items) = items else {
                return Err(BadPredicate::at(&path, "must be an array of predicates"));
            };
            let parse = |(at, item)| Self::parse_at(item, &format!("{path}[{at}]"), depth + 1);
            items.iter().enumerate().map(parse).collect::<Result<Vec<_>, _>>()
        };
        let mut entries = members.iter();
        match (entries.next(), entries.next()) {
            (Some((word, items)), None) if word == "all" => list(word, items).map(Self::All),
            (Some((word, items)), None) if word == "any" => list(word, items).map(Self::Any),
            (Some((word, inner)), None) if word == "not" => {
                let inner = Self::parse_at(inner, &join(path, word), depth + 1)?;
                Ok(Self::Not(Box::new(inner)))
            }
            _ => Self::parse_field(members, path),
        }
    }

    fn parse_field(members: &Map<String, Value>, path: &str) -> Result<Self, BadPredicate> {
        if let Some(unknown) = members
            .keys()
            .find(|name| !matches!(name.as_str(), "field" | "op" | "value"))
        {
            let unknown: String = unknown.chars().take(WORD_CHARS_MAX).collect();
            return Err(BadPredicate::at(
                &join(path, &unknown),
                "is unknown or combined with others; a predicate has `field`, `op` and `value`, or one of `all`, `any` and `not`",
            ));
        }
        let text = |name: &str| match members.get(name) {
            Some(Value::String(text)) => Ok(text),
            Some(_) => Err(BadPredicate::at(&join(path, name), "must be a string")),
            None => Err(BadPredicate::at(&join(path, name), "is missing")),
        };
        let (field, op) = (text("field")?, text("op")?);
        // As in all inputs, an optional value may be null instead of missing.
        let value = members.get("value").cloned().unwrap_or_default();
        let test = match (op.as_str(), value) {
            ("eq", value) => FieldTest::Eq(value),
            ("ne", value) => FieldTest::Ne(value),
            ("lt", value) => FieldTest::Order(Comparison::Lt, value),
            ("lte", value) => FieldTest::Order(Comparison::Lte, value),
            ("gt", value) => FieldTest::Order(Comparison::Gt, value),
            ("gte", value) => FieldTest::Order(Comparison::Gte, value),
            ("in", Value::Array(values)) => FieldTest::In(values),
            ("in", _) => {
                return Err(BadPredicate::at(
                    &join(path, "value"),
                    "must be an array for `in`",
                ));
            }
            ("exists", Value::Null) => FieldTest::Exists(true),
            ("exists", Value::Bool(wanted)) => FieldTest::Exists(wanted),
            ("exists", _) => {
                return Err(BadPredicate::at(
                    &join(path, "value"),
                    "must be a boolean for `exists`",
                ));
            }
            (_, _) => {
                let why = "must be one of eq, ne, in, lt, lte, gt, gte and exists";
                return Err(BadPredicate::at(&join(path, "op"), why));
            }
        };
        let path = field.clone();
        Ok(Self::Field { path, test })
    }

    /// Returns the JSON form, which [`Self::parse`] reads back.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let list = |items: &[Self]| items.iter().map(Self::to_json).collect::<Value>();
        let (path, test) = match self {
            Self::Field { path, test } => (path, test),
            Self::All(items) => return serde_json::json!({"all": list(items)}),
            Self::Any(items) => return serde_json::json!({"any": list(items)}),
            Self::Not(inner) => return serde_json::json!({"not": inner.to_json()}),
        };
        let (op, value) = match test {
            FieldTest::Eq(value) => ("eq", value.clone()),
            FieldTest::Ne(value) => ("ne", value.clone()),
            FieldTest::In(values) => ("in", Value::Array(values.clone())),
            FieldTest::Order(Comparison::Lt, value) => ("lt", value.clone()),
            FieldTest::Order(Comparison::Lte, value) => ("lte", value.clone()),
            FieldTest::Order(Comparison::Gt, value) => ("gt", value.clone()),
            FieldTest::Order(Comparison::Gte, value) => ("gte", value.clone()),
            FieldTest::Exists(wanted) => ("exists", Value::Bool(*wanted)),
        };
        serde_json::json!({"field": path, "op": op, "value": value})
    }

    /// Returns the nesting depth, including the predicate itself.
    #[must_use]
    pub fn depth(&self) -> usize {
        1 + match self {
            Self::Field { .. } => 0,
            Self::All(items) | Self::Any(items) => items.iter().map(Self::depth).max().unwrap_or(0),
            Self::Not(inner) => inner.depth(),
        }
    }

    /// Returns whether a record satisfies the predicate.
    #[must_use]
    pub fn holds(&self, entity: &Entity) -> bool {
        match self {
            Self::Field { path, test } => test.holds(lookup(entity, path)),
            Self::All(items) => items.iter().all(|item| item.holds(entity)),
            Self::Any(items) => items.iter().any(|item| item.holds(entity)),
            Self::Not(inner) => !inner.holds(entity),
        }
    }
}

impl FieldTest {
    fn holds(&self, found: Option<&Value>) -> bool {
        match (self, found) {
            (Self::Eq(wanted), Some(found)) => equal(wanted, found),
            (Self::Ne(wanted), Some(found)) => !equal(wanted, found),
            (Self::In(wanted), Some(found)) => wanted.iter().any(|wanted| equal(wanted, found)),
            (Self::Order(comparison, wanted), Some(found)) => {
                order(found, wanted).is_some_and(|order| comparison.holds(order))
            }
            (Self::Exists(wanted), found) => *wanted == found.is_some(),
            (Self::Ne(_), None) => true,
            (Self::Eq(_) | Self::In(_) | Self::Order(_, _), None) => false,
        }
    }
}

fn join(path: &str, name: &str) -> String {
    if path.is_empty() {
        name.to_owned()
    } else {
        format!("{path}.{name}")
    }
}

/// Returns the field at a path. Only objects are traversed.
fn lookup<'a>(entity: &'a Entity, path: &str) -> Option<&'a Value> {
    let mut names = path.split('.');
    let mut found = entity.get(names.next()?)?;
    for name in names {
        found = found.as_object()?.get(name)?;
    }
    Some(found)
}

/// Returns whether two values are equal as JSON: `1` equals `1.0`, and booleans equal only booleans.
fn equal(here: &Value, there: &Value) -> bool {
    match (here, there) {
        (Value::Number(here), Value::Number(there)) => compare(here, there) == Some(Ordering::Equal),
        (Value::Array(here), Value::Array(there)) => {
            here.len() == there.len() && here.iter().zip(there).all(|(here, there)| equal(here, there))
        }
        (Value::Object(here), Value::Object(there)) => {
            let same = |(name, here)| there.get(name).is_some_and(|there| equal(here, there));
            here.len() == there.len() && here.iter().all(same)
        }
        (
            Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::String(_)
            | Value::Array(_)
            | Value::Object(_),
            _,
        ) => here == there,
    }
}

/// Returns the order of two numbers or of two strings; strings by code point.
fn order(here: &Value, there: &Value) -> Option<Ordering> {
    match (here, there) {
        (Value::Number(here), Value::Number(there)) => compare(here, there),
        (Value::String(here), Value::String(there)) => Some(here.cmp(there)),
        _ => None,
    }
}

fn compare(here: &Number, there: &Number) -> Option<Ordering> {
    // Compare integers exactly: stored records may contain some that a double cannot distinguish.
    match (here.as_i128(), there.as_i128()) {
        (Some(here), Some(there)) => Some(here.cmp(&there)),
        _ => here.as_f64()?.partial_cmp(&there.as_f64()?),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn holds(predicate: &Value, entity: &Value) -> bool {
        let predicate = Predicate::parse(predicate).expect("a predicate");
        predicate.holds(entity.as_object().expect("an entity"))
    }

    /// Tests one field of a record that has a value of every type.
    fn test(field: &str, op: &str, value: Value) -> bool {
        let entity = json!({
            "n": 1, "f": 1.0, "half": 0.5, "s": "b", "t": true, "z": null, "zero": -0.0, "l": [1, {"x": 2.0}], "o": {"p": {"q": 7}},
            "a.b": 9, "": {"": 3}, "big": 9_007_199_254_740_993_i64
        });
        let mut predicate = json!({"field": field, "op": op});
        predicate["value"] = value;
        holds(&predicate, &entity)
    }

    #[test]
    fn numbers_are_equal_by_value_and_booleans_only_to_booleans() {
        assert!(test("n", "eq", json!(1.0)) && test("f", "eq", json!(1)) && test("zero", "eq", json!(0)));
        assert!(!test("t", "eq", json!(1)) && !test("n", "eq", json!(true)) && test("t", "eq", json!(true)));
        assert!(test("l", "eq", json!([1.0, {"x": 2}])) && !test("l", "eq", json!([1, {"x": 2, "y": 0}])));
        assert!(test("o", "eq", json!({"p": {"q": 7.0}})) && !test("o", "eq", json!({"p": {"q": 8}})));
        assert!(
            !test("s", "eq", json!("B")) && test("s", "in", json!([1, "b"])) && !test("s", "in", json!([]))
        );
        assert!(!test("big", "eq", json!(9_007_199_254_740_992_i64)));
        assert!(
            test("z", "eq", json!(null)) && !test("n", "eq", json!(null)) && !test("z", "ne", json!(null))
        );
    }

    #[test]
    fn only_numbers_and_strings_have_an_order() {
        assert!(test("half", "lt", json!(1)) && test("n", "gte", json!(1.0)) && test("n", "lte", json!(1)));
        assert!(
            test("s", "gt", json!("a")) && !test("s", "gt", json!("b")) && test("s", "lt", json!("\u{e9}"))
        );
        for op in ["lt", "lte", "gt", "gte"] {
            for (field, value) in [
                ("n", json!("1")),
                ("s", json!(1)),
                ("t", json!(true)),
                ("t", json!(false)),
                ("z", json!(null)),
                ("l", json!([1])),
                ("missing", json!(1)),
                ("missing", json!(null)),
            ] {
                assert!(!test(field, op, value.clone()), "{field} {op} {value}");
            }
        }
        assert!(
            holds(
                &json!({"field": "s", "op": "lt", "value": "\u{1f600}"}),
                &json!({"s": "\u{ffff}"})
            ),
            "by code point"
        );
    }

    #[test]
    fn a_missing_field_satisfies_only_ne_and_exists_false() {
        for missing in [
            "x", "n.x", "z.x", "l.0", "o.p.q.r", "o.x", "a.b", "o.", ".o", "o..p",
        ] {
            assert!(
                test(missing, "ne", json!(1)) && test(missing, "exists", json!(false)),
                "{missing}"
            );
            assert!(
                !test(missing, "eq", json!(null)) && !test(missing, "in", json!([null])),
                "{missing}"
            );
            assert!(
                !test(missing, "exists", json!(true)) && !test(missing, "exists", json!(null)),
                "{missing}"
            );
        }
        assert!(test("z", "exists", json!(true)), "a member that is null exists");
        assert!(test("o.p.q", "eq", json!(7)) && test(".", "eq", json!(3)));
    }

    #[test]
    fn predicates_combine_with_all_any_and_not() {
        let entity = json!({"a": 1});
        let yes = json!({"field": "a", "op": "exists"});
        assert!(holds(&json!({"all": []}), &entity) && !holds(&json!({"any": []}), &entity));
        assert!(holds(&json!({"any": [{"not": yes}, yes]}), &entity));
        assert!(!holds(&json!({"all": [{"not": yes}, yes]}), &entity));
        let missing = json!({"field": "b", "op": "gt", "value": 1});
        assert!(
            holds(&json!({"not": missing}), &entity),
            "plain negation, also of what is missing"
        );
    }

    #[test]
    fn an_invalid_predicate_is_reported_with_its_path() {
        for (bad, path) in [
            (json!(null), ""),
            (json!([]), ""),
            (json!({}), "field"),
            (json!({"field": "a"}), "op"),
            (json!({"field": 1, "op": "eq"}), "field"),
            (json!({"field": null, "op": "eq"}), "field"),
            (json!({"field": "a", "op": "like"}), "op"),
            (json!({"field": "a", "op": "EQ"}), "op"),
            (json!({"field": "a", "op": "in"}), "value"),
            (json!({"field": "a", "op": "in", "value": "abc"}), "value"),
            (json!({"field": "a", "op": "exists", "value": 1}), "value"),
            (json!({"field": "a", "op": "eq", "value": 1, "x": 1}), "x"),
            (json!({"field": "a", "op": "eq", "all": []}), "all"),
            (json!({"all": [], "any": []}), "all"),
            (json!({"all": null}), "all"),
            (json!({"all": {}}), "all"),
            (json!({"any": [{"all": []}, {"not": [1]}]}), "any[1].not"),
            (json!({"not": {"not": {"field": "a", "op": "x"}}}), "not.not.op"),
        ] {
            let error = Predicate::parse(&bad).expect_err("no predicate");
            assert_eq!(error.path, path, "{bad}: {error}");
        }
    }

    fn any_value() -> impl Strategy<Value = Value> {
        prop_oneof![
            Just(json!(null)),
            any::<bool>().prop_map(Value::from),
            (0..4_i64).prop_map(Value::from),
            (0..4_i32).prop_map(|number| json!(f64::from(number) / 2.0)),
            "[ab]{0,2}".prop_map(Value::from),
            proptest::collection::vec((0..2_i64).prop_map(Value::from), 0..2).prop_map(Value::from),
        ]
    }

    fn any_predicate() -> impl Strategy<Value = Predicate> {
        let test = prop_oneof![
            any_value().prop_map(FieldTest::Eq),
            any_value().prop_map(FieldTest::Ne),
            proptest::collection::vec(any_value(), 0..3).prop_map(FieldTest::In),
            any_value().prop_map(|value| FieldTest::Order(Comparison::Lt, value)),
            any_value().prop_map(|value| FieldTest::Order(Comparison::Lte, value)),
            any_value().prop_map(|value| FieldTest::Order(Comparison::Gt, value)),
            any_value().prop_map(|value| FieldTest::Order(Comparison::Gte, value)),
            any::<bool>().prop_map(FieldTest::Exists),
        ];
        let field = ("[ab](\\.[ab])?", test).prop_map(|(path, test)| Predicate::Field { path, test });
        field.prop_recursive(3, 12, 3, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..3).prop_map(Predicate::All),
                proptest::collection::vec(inner.clone(), 0..3).prop_map(Predicate::Any),
                inner.prop_map(|inner| Predicate::Not(Box::new(inner))),
            ]
        })
    }

    fn any_entity() -> impl Strategy<Value = Entity> {
        let inner = proptest::collection::btree_map("[ab]", any_value(), 0..3);
        let member = prop_oneof![any_value(), inner.prop_map(|inner| inner.into_iter().collect())];
        proptest::collection::btree_map("[ab]", member, 0..3).prop_map(|map| map.into_iter().collect())
    }

    proptest! {
        #[test]
        fn a_predicate_is_read_back_as_it_was_written(predicate in any_predicate()) {
            prop_assert_eq!(Predicate::parse(&predicate.to_json()), Ok(predicate));
        }

        #[test]
        fn not_all_and_any_follow_the_laws_of_logic(
            one in any_predicate(), two in any_predicate(), entity in any_entity(),
        ) {
            let not = |inner: &Predicate| Predicate::Not(Box::new(inner.clone()));
            let (pair, opposites) = (vec![one.clone(), two.clone()], vec![not(&one), not(&two)]);
            prop_assert_ne!(one.holds(&entity), not(&one).holds(&entity));
            prop_assert_eq!(Predicate::All(pair.clone()).holds(&entity), one.holds(&entity) && two.holds(&entity));
            prop_assert_eq!(not(&Predicate::Any(pair)).holds(&entity), Predicate::All(opposites).holds(&entity));
        }

        #[test]
        fn at_most_one_order_holds_and_equality_is_its_middle(here in any_value(), there in any_value()) {
            let entity = Entity::from_iter([("a".to_owned(), here)]);
            let holds = |comparison| {
                Predicate::Field { path: "a".into(), test: FieldTest::Order(comparison, there.clone()) }.holds(&entity)
            };
            let (lt, gt) = (holds(Comparison::Lt), holds(Comparison::Gt));
            let (lte, gte) = (holds(Comparison::Lte), holds(Comparison::Gte));
            let eq = Predicate::Field { path: "a".into(), test: FieldTest::Eq(there.clone()) }.holds(&entity);
            prop_assert!(!(lt && gt) && (lt <= lte) && (gt <= gte));
            prop_assert_eq!(lte && gte, eq && (there.is_number() || there.is_string()));
        }
    }
}
