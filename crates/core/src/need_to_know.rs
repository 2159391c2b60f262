//! Need to know: which fields of a payload may cross a boundary, and which models may receive the work of agents
//! with a category of data.
//!
//! A payload is accepted as it is or rejected: nothing is removed silently, because a receiver would take the rest
//! for the whole. Without rules for the agent's categories, a payload has the fields of its wire type.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::agent_settings::ALL_CATEGORIES;
use crate::inference::matches;

/// The code of a payload with a field that may not cross its boundary.
pub const OVERSHARED: &str = "overshared_payload_blocked";

/// The operation of webhooks and announcements about decisions.
pub const DECISION: &str = "decision";

/// Maximum depth of a payload. A deeper one is rejected.
const DEPTH_MAX: usize = 32;

/// Maximum depth of the fields of a type. A type may contain itself.
const WIRE_DEPTH_MAX: usize = 8;

string_enum! {
    /// A boundary that payloads cross.
    #[derive(PartialOrd, Ord)]
    pub enum Boundary {
        /// A request to a model on another machine. The operations are the purposes of requests.
        ModelRequest = "model_request",
        /// An HTTP request to a configured URL.
        Webhook = "webhook",
        /// A notification on the desktop or by a configured command.
        Announcement = "announcement",
        /// The arguments of a tool call. The operations are the tools.
        Tool = "tool",
    }
}

/// Names of fields that may cross a boundary, such as `decision.tool`. A name includes everything below it.
pub type FieldList = BTreeSet<String>;

/// What applies to every agent that may have data of one category.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CategoryRules {
    /// Patterns of models that may receive the agent's work; `None` for every model.
    pub models: Option<Vec<String>>,
    /// The fields by boundary and operation. A boundary that is not named is not restricted; an operation that is
    /// not named at a named boundary may have no field.
    pub fields: BTreeMap<Boundary, BTreeMap<String, FieldList>>,
}

/// The rules of all categories of data. Those of [`ALL_CATEGORIES`] apply to every agent.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NeedToKnow(pub BTreeMap<String, CategoryRules>);

/// A payload is about to cross a boundary.
#[derive(Debug, Clone, Copy)]
pub struct Crossing<'a> {
    pub boundary: Boundary,
    pub operation: &'a str,
    /// The categories of data that the agent may use.
    pub categories: &'a BTreeSet<String>,
    /// The fields of the wire type; `None` if the payload was checked against its schema before.
    pub wire: Option<&'a FieldList>,
}

/// Why a payload is rejected.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the field {field:?} may not cross the boundary {} in {operation}{}", boundary.as_str(), because(category.as_ref()))]
pub struct Overshared {
    pub boundary: Boundary,
    pub operation: String,
    pub field: String,
    /// The category whose list lacks the field; none if the wire type lacks it.
    pub category: Option<String>,
}

fn because(category: Option<&String>) -> String {
    category.map_or_else(String::new, |category| {
        format!(", because of the category {category}")
    })
}

impl NeedToKnow {
    /// Accepts a payload all of whose fields may cross the boundary.
    pub fn project(&self, crossing: &Crossing<'_>, payload: Value) -> Result<Value, Overshared> {
        let mut lists: Vec<(Option<&str>, Option<&FieldList>)> = Vec::new();
        lists.extend(crossing.wire.map(|wire| (None, Some(wire))));
        for (name, rules) in self.applicable(crossing.categories) {
            if let Some(operations) = rules.fields.get(&crossing.boundary) {
                lists.push((Some(name), operations.get(crossing.operation)));
            }
        }
        if !lists.is_empty() {
            check(&payload, &mut Vec::new(), &lists).map_err(|(category, field)| Overshared {
                boundary: crossing.boundary,
                operation: crossing.operation.to_owned(),
                field,
                category: category.map(str::to_owned),
            })?;
        }
        Ok(payload)
    }

    /// The first category whose models do not include this one.
    #[must_use]
    pub fn category_without_model<'a>(
        &'a self,
        categories: &BTreeSet<String>,
        model_ref: &str,
    ) -> Option<&'a str> {
        let mut rules = self.applicable(categories);
        let is_refused = |(_, rules): &(&str, &CategoryRules)| {
            let patterns = rules.models.as_ref();
            patterns.is_some_and(|patterns| !patterns.iter().any(|pattern| matches(pattern, model_ref)))
        };
        rules.find(is_refused).map(|(name, _)| name)
    }

    /// The rules that apply to an agent. One with all categories may have data of each.
    fn applicable<'a, 'c>(
        &'a self,
        categories: &'c BTreeSet<String>,
    ) -> impl Iterator<Item = (&'a str, &'a CategoryRules)> + use<'a, 'c> {
        let has_all = categories.contains(ALL_CATEGORIES);
        let rules = self.0.iter().map(|(name, rules)| (name.as_str(), rules));
        rules.filter(move |(name, _)| has_all || *name == ALL_CATEGORIES || categories.contains(*name))
    }
}

type Rejected<'a> = (Option<&'a str>, String);

/// Checks every field of a payload against every list, with the names of the fields that contain it.
fn check<'a>(
    payload: &Value,
    within: &mut Vec<String>,
    lists: &[(Option<&'a str>, Option<&FieldList>)],
) -> Result<(), Rejected<'a>> {
    let lacking = lists
        .iter()
        .find(|(_, list)| !list.is_some_and(|list| is_listed(list, within)));
    let reject = |within: &[String]| match lacking {
        Some((category, _)) => Err((*category, within.join("."))),
        None => Ok(()),
    };
    if within.len() > DEPTH_MAX {
        return Err((None, within.join(".")));
    }
    match payload {
        Value::Object(members) if !members.is_empty() => members.iter().try_for_each(|(name, value)| {
            within.push(name.clone());
            let checked = check(value, within, lists);
            within.pop();
            checked
        }),
        Value::Array(items) if items.iter().any(|item| item.is_object() || item.is_array()) => {
            // The items of a list have its name.
            items.iter().try_for_each(|item| check(item, within, lists))
        }
        // An empty payload shares nothing.
        Value::Object(_) if within.is_empty() => Ok(()),
        Value::Null
        | Value::Bool(_)
        | Value::Number(_)
        | Value::String(_)
        | Value::Array(_)
        | Value::Object(_) => reject(within),
    }
}

/// Whether a list has the field or one that contains it. Names are compared part by part, so a name with a dot in it
/// is none of the fields that a list can have.
fn is_listed(list: &FieldList, within: &[String]) -> bool {
    let is_part_listed =
        |part: &[String]| !part.iter().any(|name| name.contains('.')) && list.contains(&part.join("."));
    (1..=within.len()).any(|count| within.get(..count).is_some_and(is_part_listed))
}

/// The names of all fields of a type, from its JSON schema.
#[must_use]
pub fn wire_fields(schema: &Value) -> FieldList {
    let mut fields = FieldList::new();
    collect(schema, schema, &mut Vec::new(), &mut fields);
    fields
}

fn collect(root: &Value, node: &Value, within: &mut Vec<String>, fields: &mut FieldList) {
    if within.len() > WIRE_DEPTH_MAX {
        return;
    }
    let referred = node.get("$ref").and_then(Value::as_str);
    if let Some(definition) = referred.and_then(|path| root.pointer(path.strip_prefix('#')?)) {
        return collect(root, definition, within, fields);
    }
    let parts = ["anyOf", "oneOf", "allOf"]
        .into_iter()
        .filter_map(|name| node.get(name)?.as_array());
    let mut is_leaf = true;
    for part in parts.flatten() {
        // `null` is how an optional object is written.
        if part.get("type").and_then(Value::as_str) != Some("null") {
            is_leaf = false;
            collect(root, part, within, fields);
        }
    }
    if let Some(items) = node.get("items") {
        is_leaf = false;
        collect(root, items, within, fields);
    }
    if let Some(properties) = node.get("properties").and_then(Value::as_object) {
        is_leaf = false;
        for (name, property) in properties {
            within.push(name.clone());
            collect(root, property, within, fields);
            within.pop();
        }
    }
    if is_leaf && !within.is_empty() {
        fields.insert(within.join("."));
    }
}

#[cfg(test)]
mod tests;
