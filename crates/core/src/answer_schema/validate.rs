//! Validation of an answer.

use std::cmp::Ordering;

use serde_json::{Map, Number, Value};

use super::{CHECKS_MAX, DEPTH_MAX, Keyword, VIOLATIONS_MAX, equal, push, resolve, type_name, whole};

/// Returns how an answer violates a checked schema; empty if it fits. At most [`VIOLATIONS_MAX`] are returned.
pub(super) fn violations(root: &Value, answer: &Value) -> Vec<String> {
    let mut validation = Validation {
        root,
        checks: 0,
        is_exhausted: false,
        path: String::new(),
        found: Vec::new(),
    };
    validation.check(root, answer, 0);
    // Inside of `not`, an unfinished check would look like a schema that does not fit.
    if validation.is_exhausted {
        return vec!["the answer needs more checks than are permitted; simplify the schema".to_owned()];
    }
    validation.found
}

/// A validation in progress.
struct Validation<'a> {
    root: &'a Value,
    checks: usize,
    /// Whether a bound ended the validation before its result was known.
    is_exhausted: bool,
    /// The location in the answer as a JSON pointer.
    path: String,
    found: Vec<String>,
}

impl<'a> Validation<'a> {
    fn report(&mut self, why: &str) {
        if self.found.len() < VIOLATIONS_MAX {
            let place = match self.path.as_str() {
                "" => "the answer",
                path => path,
            };
            self.found.push(format!("{place} {why}"));
        }
    }

    fn check(&mut self, schema: &'a Value, value: &Value, depth: usize) {
        self.checks += 1;
        self.is_exhausted |= self.checks > CHECKS_MAX || depth > DEPTH_MAX;
        if self.is_exhausted || self.found.len() >= VIOLATIONS_MAX {
            return;
        }
        let keywords = match schema {
            Value::Object(keywords) => keywords,
            Value::Bool(false) => return self.report("is not permitted"),
            // A schema is an object or a boolean, which was checked when it was read.
            Value::Bool(true) | Value::Null | Value::Number(_) | Value::String(_) | Value::Array(_) => return,
        };
        for (keyword, rule) in keywords {
            let keyword = Keyword { name: keyword, rule };
            self.keyword(keywords, keyword, value, depth);
        }
    }

    /// Whether a value fits a schema, without a report.
    fn fits(&mut self, schema: &'a Value, value: &Value, depth: usize) -> bool {
        let found = std::mem::take(&mut self.found);
        self.check(schema, value, depth + 1);
        std::mem::replace(&mut self.found, found).is_empty()
    }

    fn keyword(
        &mut self,
        keywords: &'a Map<String, Value>,
        given: Keyword<'_, 'a>,
        value: &Value,
        depth: usize,
    ) {
        let Keyword { name: keyword, rule } = given;
        match keyword {
            "$ref" => {
                let target = rule.as_str().and_then(|target| resolve(self.root, target));
                match target {
                    Some(target) => self.check(target, value, depth + 1),
                    None => self.report("cannot be checked: the reference leads nowhere"),
                }
            }
            "type" => self.of_type(rule, value),
            "const" if !equal(rule, value) => self.report(&format!("must be {rule}")),
            "enum" if !listed(rule).iter().any(|one| equal(one, value)) => {
                self.report(&format!("must be one of {rule}"));
            }
            "anyOf" | "oneOf" | "allOf" | "not" => self.combined(keyword, rule, value, depth),
            _ => match value {
                Value::Object(object) => self.object(keywords, given, object, depth),
                Value::Array(items) => self.array(keywords, given, items, depth),
                Value::String(text) => self.string(keyword, rule, text),
                Value::Number(number) => self.number(keyword, rule, number),
                Value::Null | Value::Bool(_) => {}
            },
        }
    }

    fn of_type(&mut self, rule: &Value, value: &Value) {
        let types = rule.as_array().map_or(std::slice::from_ref(rule), Vec::as_slice);
        let words: Vec<&str> = types.iter().filter_map(Value::as_str).collect();
        let is_of = |word: &&str| match (*word, value) {
            ("integer", Value::Number(number)) => whole(number).is_some(),
            ("object", Value::Object(_))
            | ("array", Value::Array(_))
            | ("string", Value::String(_))
            | ("number", Value::Number(_))
            | ("boolean", Value::Bool(_))
            | ("null", Value::Null) => true,
            _ => false,
        };
        if !words.iter().any(is_of) {
            let expected = words.join(" or ");
            self.report(&format!(
                "must have the type {expected}, but is {}",
                type_name(value)
            ));
        }
    }

    fn combined(&mut self, keyword: &str, rule: &'a Value, value: &Value, depth: usize) {
        match keyword {
            "allOf" => {
                for schema in listed(rule) {
                    self.check(schema, value, depth + 1);
                }
            }
            "not" => {
                if self.fits(rule, value, depth) {
                    self.report("fits a schema that it must not fit");
                }
            }
            _ => {
                let mut fitting = 0_usize;
                for schema in listed(rule) {
                    fitting += usize::from(self.fits(schema, value, depth));
                }
                if fitting == 0 {
                    self.report(&format!("fits none of the schemas in `{keyword}`"));
                } else if keyword == "oneOf" && fitting > 1 {
                    self.report(&format!(
                        "fits {fitting} of the schemas in `oneOf`, but must fit exactly one"
                    ));
                }
            }
        }
    }

    fn object(
        &mut self,
        keywords: &'a Map<String, Value>,
        given: Keyword<'_, 'a>,
        object: &Map<String, Value>,
        depth: usize,
    ) {
        let Keyword { name: keyword, rule } = given;
        let properties = keywords.get("properties").and_then(Value::as_object);
        match keyword {
            "properties" => {
                for (name, schema) in properties.into_iter().flatten() {
                    if let Some(value) = object.get(name) {
                        self.below(name, schema, value, depth);
                    }
                }
            }
            "required" => {
                let missing = listed(rule).iter().filter_map(Value::as_str);
                for name in missing.filter(|name| !object.contains_key(*name)) {
                    self.report(&format!("lacks the property `{name}`"));
                }
            }
            "additionalProperties" => {
                let is_known = |name: &String| properties.is_some_and(|known| known.contains_key(name));
                for (name, value) in object.iter().filter(|(name, _)| !is_known(name)) {
                    if *rule == Value::Bool(false) {
                        self.report(&format!(
                            "has the property `{name}`, which the schema does not permit"
                        ));
                    } else {
                        self.below(name, rule, value, depth);
                    }
                }
            }
            "minProperties" if below(object.len(), rule) => {
                self.report(&format!("must have at least {rule} properties"));
            }
            "maxProperties" if above(object.len(), rule) => {
                self.report(&format!("must have at most {rule} properties"));
            }
            _ => {}
        }
    }

    fn array(
        &mut self,
        keywords: &'a Map<String, Value>,
        given: Keyword<'_, 'a>,
        items: &[Value],
        depth: usize,
    ) {
        let Keyword { name: keyword, rule } = given;
        match keyword {
            "prefixItems" => {
                for (index, (schema, item)) in listed(rule).iter().zip(items).enumerate() {
                    self.below(&index.to_string(), schema, item, depth);
                }
            }
            "items" => {
                let first = keywords
                    .get("prefixItems")
                    .map_or(0, |prefix| listed(prefix).len());
                for (index, item) in items.iter().enumerate().skip(first) {
                    self.below(&index.to_string(), rule, item, depth);
                }
            }
            "minItems" if below(items.len(), rule) => {
                self.report(&format!("must have at least {rule} items"));
            }
            "maxItems" if above(items.len(), rule) => {
                self.report(&format!("must have at most {rule} items"));
            }
            "uniqueItems" if *rule == Value::Bool(true) => {
                self.checks += items.len().saturating_mul(items.len()) / 2;
                if self.checks > CHECKS_MAX {
                    self.is_exhausted = true;
                    return;
                }
                let is_repeated = |(index, item): (usize, &Value)| {
                    let earlier = items.get(..index).unwrap_or_default();
                    earlier.iter().any(|other| equal(other, item))
                };
                if items.iter().enumerate().any(is_repeated) {
                    self.report("must not have equal items");
                }
            }
            _ => {}
        }
    }

    fn string(&mut self, keyword: &str, rule: &Value, text: &str) {
        let chars = || text.chars().count();
        match keyword {
            "minLength" if below(chars(), rule) => {
                self.report(&format!("must have at least {rule} characters"));
            }
            "maxLength" if above(chars(), rule) => {
                self.report(&format!("must have at most {rule} characters"));
            }
            _ => {}
        }
    }

    fn number(&mut self, keyword: &str, rule: &Value, number: &Number) {
        let Value::Number(bound) = rule else { return };
        let order = compare(number, bound);
        let why = match keyword {
            "minimum" if order == Some(Ordering::Less) => "must be at least",
            "maximum" if order == Some(Ordering::Greater) => "must be at most",
            "exclusiveMinimum" if order != Some(Ordering::Greater) => "must be more than",
            "exclusiveMaximum" if order != Some(Ordering::Less) => "must be less than",
            "multipleOf" if !is_multiple(number, bound) => "must be a multiple of",
            _ => return,
        };
        self.report(&format!("{why} {bound}"));
    }

    fn below(&mut self, name: &str, schema: &'a Value, value: &Value, depth: usize) {
        let length = self.path.len();
        push(&mut self.path, name);
        self.check(schema, value, depth + 1);
        self.path.truncate(length);
    }
}

fn listed(rule: &Value) -> &[Value] {
    rule.as_array().map_or(&[], Vec::as_slice)
}

fn below(count: usize, rule: &Value) -> bool {
    rule.as_u64().is_some_and(|least| (count as u64) < least)
}

fn above(count: usize, rule: &Value) -> bool {
    rule.as_u64().is_some_and(|most| count as u64 > most)
}

fn compare(one: &Number, other: &Number) -> Option<Ordering> {
    match (whole(one), whole(other)) {
        (Some(one), Some(other)) => Some(one.cmp(&other)),
        _ => one.as_f64()?.partial_cmp(&other.as_f64()?),
    }
}

fn is_multiple(number: &Number, of: &Number) -> bool {
    match (whole(number), whole(of)) {
        (Some(number), Some(of)) => of != 0 && number % of == 0,
        _ => match (number.as_f64(), of.as_f64()) {
            // The quotient of decimal fractions is rarely exact.
            (Some(number), Some(of)) => {
                let quotient = number / of;
                (quotient - quotient.round()).abs() <= quotient.abs().max(1.0) * 1e-9
            }
            _ => false,
        },
    }
}
