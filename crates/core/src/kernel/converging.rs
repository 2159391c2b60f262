//! The operation `converge`: replicas that write and send each other their records.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::error::{ErrorCode, JsonPath, RequestError, shortened};
use super::fields::{Fields, text};
use crate::causal::{Ancestry, AncestryCycle, CausalRecord, FormError, Write};
use crate::key::Digest;

const REPLICAS_MAX: usize = 16;

const STEPS_MAX: usize = 100_000;

/// One write or transfer.
enum Step {
    Write { at: usize, write: Write },
    Send { from: usize, to: usize },
}

pub(super) fn converge(form: &Fields<'_, '_>) -> Result<Value, RequestError> {
    form.only(&["id", "op", "replicas", "messages", "steps"])?;
    let replicas = usize::try_from(form.counter("replicas")?).unwrap_or(usize::MAX);
    if !(1..=REPLICAS_MAX).contains(&replicas) {
        return Err(form.fault("replicas", "must be from 1 to 16"));
    }
    let ancestry = ancestry(form)?;
    let (path, items) = (form.path.member("steps"), form.list("steps")?);
    if items.len() > STEPS_MAX {
        return Err(form.fault("steps", "must be at most 100000"));
    }
    let items = items.iter().enumerate();
    let steps = items.map(|(number, item)| step(item, &path.item(number), replicas));
    let steps = steps.collect::<Result<Vec<_>, _>>()?;

    let hosts: Vec<String> = (0..replicas).map(|at| format!("h{at}")).collect();
    let mut records = vec![CausalRecord::new(); replicas];
    for step in steps {
        match step {
            Step::Write { at, write } => {
                // Both exist: the index was checked when the step was parsed.
                if let (Some(record), Some(host)) = (records.get_mut(at), hosts.get(at)) {
                    let written = record.write(host, write);
                    written.map_err(|destroyed| {
                        RequestError::new(ErrorCode::Destroyed, destroyed.to_string())
                    })?;
                }
            }
            Step::Send { from, to } => CausalRecord::send(&mut records, from, to),
        }
    }
    let states: Vec<_> = records.iter().map(|record| record.read(&ancestry)).collect();
    let digests: Vec<Digest> = records.iter().map(CausalRecord::digest).collect();
    let equal = digests.iter().all(|digest| Some(digest) == digests.first());
    Ok(json!({"states": states, "digests": digests, "equal": equal}))
}

fn ancestry(form: &Fields<'_, '_>) -> Result<Ancestry, RequestError> {
    let path = form.path.member("messages");
    let mut previous = BTreeMap::new();
    if let Some(messages) = form.optional("messages") {
        let wrong = || RequestError::field(&path, "must be an object");
        for (message, before) in messages.as_object().ok_or_else(wrong)? {
            let before = text(before, &path.member(message))?;
            previous.insert(message.clone(), before.to_owned());
        }
    }
    Ancestry::new(previous).map_err(|AncestryCycle(message)| {
        let why = format!("goes round in a circle: {}", AncestryCycle(shortened(&message)));
        RequestError::field(&path, why)
    })
}

fn step(item: &Value, path: &JsonPath<'_>, replicas: usize) -> Result<Step, RequestError> {
    let form = Fields::of(path, item)?;
    let index = |name: &str| {
        let index = usize::try_from(form.counter(name)?).ok();
        let wrong = || form.fault(name, "must be the index of a replica");
        index.filter(|index| *index < replicas).ok_or_else(wrong)
    };
    match form.text("do")? {
        "write" => {
            form.only(&["do", "at", "field", "value"])?;
            let (at, field, value) = (index("at")?, form.text("field")?, form.required("value")?);
            let write = Write::parse(field, value).map_err(|error| match error {
                FormError::Field(name) => {
                    let error = FormError::Field(shortened(&name));
                    form.fault("field", &format!("is wrong: {error}"))
                }
                FormError::Value { expected, .. } => form.fault("value", &format!("must be {expected}")),
            })?;
            Ok(Step::Write { at, write })
        }
        "send" => {
            form.only(&["do", "from", "to"])?;
            let (from, to) = (index("from")?, index("to")?);
            Ok(Step::Send { from, to })
        }
        _ => Err(form.fault("do", "must be `write` or `send`")),
    }
}
