//! The operation `match`: which subscriptions match a notice.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::error::{ErrorCode, JsonPath, RequestError};
use super::fields::{Fields, Tokens};
use crate::subscription::{Entity, Filter, FilterIndex, Predicate};

pub(super) fn matching(form: &Fields<'_, '_>) -> Result<Value, RequestError> {
    form.only(&["id", "op", "subscriptions", "notice", "entities"])?;
    let mut tokens = Tokens::default();
    let mut filters: BTreeMap<&str, Option<Filter>> = BTreeMap::new();
    let path = form.path.member("subscriptions");
    for (at, item) in form.list("subscriptions")?.iter().enumerate() {
        let path = path.item(at);
        let subscription = Fields::of(&path, item)?;
        let filter = filter(&subscription, &mut tokens)?;
        if filters.insert(subscription.text("id")?, filter).is_some() {
            return Err(subscription.fault("id", "is there twice"));
        }
    }
    let notice_path = form.path.member("notice");
    let notice = Fields::of(&notice_path, form.required("notice")?)?;
    notice.only(&["tokens"])?;
    let said = tokens.read(notice.required("tokens")?, &notice_path.member("tokens"))?;
    let entities = form.object("entities")?;
    if let Some((id, _)) = entities.iter().find(|(_, fields)| !fields.is_object()) {
        let path = form.path.member("entities");
        return Err(RequestError::field(&path.member(id), "must be an object"));
    }
    tokens.check()?;

    let mut index = FilterIndex::new();
    for (id, filter) in filters {
        if let Some(filter) = filter {
            index.insert(id, filter);
        }
    }
    let lookup = |id: &str| -> Option<&Entity> { entities.get(id)?.as_object() };
    let candidates = index.candidates(&said);
    let entity_loads = candidates
        .wanted()
        .filter(|id| entities.contains_key(*id))
        .count();
    let matched = candidates.matching_ids(lookup);
    Ok(json!({"matched": matched, "entity_loads": entity_loads}))
}

/// The filter of a subscription; `None` only if one of its tokens is invalid.
fn filter(subscription: &Fields<'_, '_>, tokens: &mut Tokens) -> Result<Option<Filter>, RequestError> {
    subscription.only(&["id", "agent_id", "tokens_any", "tokens_all", "entity"])?;
    subscription.text("id")?;
    subscription.text("agent_id")?;
    let mut is_empty = true;
    let mut read = |name: &str| match subscription.optional(name) {
        Some(value) => {
            is_empty &= value.as_array().is_some_and(Vec::is_empty);
            tokens.read(value, &subscription.path.member(name))
        }
        None => Ok(Default::default()),
    };
    let (any, all) = (read("tokens_any")?, read("tokens_all")?);
    if is_empty {
        return Err(subscription.fault(
            "tokens_any",
            "and `tokens_all` are both empty; a subscription needs a token",
        ));
    }
    let predicate = match subscription.optional("entity") {
        Some(value) => Some(predicate(value, &subscription.path.member("entity"))?),
        None => None,
    };
    Ok(Filter::new(any, all, predicate).ok())
}

fn predicate(value: &Value, path: &JsonPath<'_>) -> Result<Predicate, RequestError> {
    Predicate::parse(value).map_err(|bad| {
        let dot = if bad.path.is_empty() { "" } else { "." };
        let message = format!("`{path}{dot}{}` {}", bad.path, bad.why);
        RequestError::new(ErrorCode::BadRequest, message)
    })
}
