//! `wakeful subscribe`, `unsubscribe` and `subscriptions`: manage which changes wake agents.

use clap::{Args, Subcommand};
use serde_json::{Value, json};
use wakeful_api::{
    CreateSubscription, DeleteSubscription, EditSubscription, PauseSubscription, ResumeSubscription,
    Subscription, SubscriptionList, Text,
};
use wakeful_core::id::{AgentId, RuleId};

use super::GlobalArgs;
use crate::backend::{read, write};
use crate::failure::Failure;
use crate::show::Out;

const AFTER_HELP: &str = "\
Examples:
  wakeful subscribe coach --on TASK --category gym --message \"plan the week\"
  wakeful subscribe coach --on task.status=done --cooldown 10m
  wakeful subscribe critic --on RUN --all id:writer      when a run of the agent writer ends

A token is a kind (TASK, NOTE, CHECKLIST, TIME_ENTRY, DAY_PLAN, RATING, LINK, CATEGORY, FILE, GIT_REF, RUN), a value \
such as task.status=done, or id: followed by the id of a record or agent. `wakeful why-not AGENT` shows changes that almost matched.";

#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct SubscribeArgs {
    /// Agent to wake
    agent: String,
    /// Tokens of which at least one must have changed: a kind such as TASK, a value such as
    /// task.status=done, or id:RECORD
    #[arg(long, value_name = "TOKEN")]
    on: Vec<String>,
    /// Tokens that must all have changed as well
    #[arg(long, value_name = "TOKEN")]
    all: Vec<String>,
    #[command(flatten)]
    condition: ConditionArgs,
    /// Only if this condition holds: a predicate over since_last_run_ms, queued, author and depth
    #[arg(long, value_name = "JSON")]
    guard: Option<String>,
    /// Minimum time between two wakes, such as 10m; changes in between are collected
    #[arg(long, value_name = "TIME", value_parser = duration)]
    cooldown: Option<u64>,
    /// How long to collect changes before the first wake, such as 1s
    #[arg(long, value_name = "TIME", value_parser = duration)]
    debounce: Option<u64>,
    /// Message for the agent
    #[arg(long, alias = "say", value_name = "TEXT")]
    message: Option<String>,
    /// Subscription id [default: generated]
    #[arg(long, value_name = "NAME")]
    id: Option<String>,
}

/// Which records match. All conditions must hold.
#[derive(Debug, Args)]
pub(crate) struct ConditionArgs {
    /// Only records with this field value, such as status=open; may be repeated
    #[arg(long = "where", value_name = "FIELD=VALUE")]
    fields: Vec<String>,
    /// Only records that match this predicate
    #[arg(long, value_name = "JSON")]
    predicate: Option<String>,
    /// Only records of this category
    #[arg(long, value_name = "NAME")]
    category: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct EditSubscriptionArgs {
    /// Subscription id or a unique prefix of it
    id: String,
    /// Tokens of which at least one must have changed; they replace the present ones
    #[arg(long, value_name = "TOKEN", conflicts_with = "no_on")]
    on: Vec<String>,
    /// Remove these tokens
    #[arg(long)]
    no_on: bool,
    /// Tokens that must all have changed as well; they replace the present ones
    #[arg(long, value_name = "TOKEN", conflicts_with = "no_all")]
    all: Vec<String>,
    /// Remove these tokens
    #[arg(long)]
    no_all: bool,
    #[command(flatten)]
    condition: ConditionArgs,
    /// Remove the conditions on records
    #[arg(long, conflicts_with_all = ["fields", "predicate", "category"])]
    no_where: bool,
    /// Only if this condition holds: a predicate over since_last_run_ms, queued, author and depth
    #[arg(long, value_name = "JSON", conflicts_with = "no_guard")]
    guard: Option<String>,
    /// Remove this condition
    #[arg(long)]
    no_guard: bool,
    /// Minimum time between two wakes, such as 10m, or 0s for none
    #[arg(long, value_name = "TIME", value_parser = duration)]
    cooldown: Option<u64>,
    /// How long to collect changes before the first wake, such as 1s, or 0s to wake immediately
    #[arg(long, value_name = "TIME", value_parser = duration)]
    debounce: Option<u64>,
    /// New message for the agent
    #[arg(long, alias = "say", value_name = "TEXT")]
    message: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct UnsubscribeArgs {
    /// Subscription id or a unique prefix of it
    id: String,
}

#[derive(Debug, Args)]
pub(crate) struct SubscriptionsArgs {
    /// Show only subscriptions of this agent
    #[arg(long, value_name = "ID")]
    agent: Option<String>,
    #[command(subcommand)]
    verb: Option<SubscriptionsVerb>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum SubscriptionsVerb {
    /// Change terms of a subscription; the others stay as they are
    Edit(Box<EditSubscriptionArgs>),
    /// Pause a subscription; changes in the meantime do not wake the agent, not even later
    Pause {
        /// Subscription id or a unique prefix of it
        id: String,
    },
    /// Resume a subscription; only changes from now on count
    Resume {
        /// Subscription id or a unique prefix of it
        id: String,
    },
}

/// Parses a duration such as `500ms`, `10s`, `5m`, `2h` or `1d`.
pub(super) fn duration(text: &str) -> Result<u64, String> {
    let split = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    let unit_ms = match unit {
        "ms" => 1,
        "s" => 1_000,
        "m" => 60 * 1_000,
        "h" => 60 * 60 * 1_000,
        "d" => 24 * 60 * 60 * 1_000,
        _ => return Err("use a number with a unit: 500ms, 10s, 5m, 2h or 1d".to_owned()),
    };
    let number: u64 = number
        .parse()
        .map_err(|_| "the unit must follow a number".to_owned())?;
    Ok(number.saturating_mul(unit_ms))
}

impl SubscribeArgs {
    fn wanted(&self) -> Result<CreateSubscription, Failure> {
        Ok(CreateSubscription {
            subscription_id: self.id.as_deref().map(RuleId::parse).transpose()?.map(Text),
            agent_id: Text(AgentId::parse(&self.agent)?),
            any: self.on.clone(),
            all: self.all.clone(),
            predicate: self.condition.predicate()?,
            guard: guard(self.guard.as_deref())?,
            cooldown_ms: self.cooldown.unwrap_or(0),
            debounce_ms: self.debounce.unwrap_or(0),
            message: self.message.clone().unwrap_or_default(),
        })
    }
}

impl EditSubscriptionArgs {
    fn wanted(&self, subscription_id: Text<RuleId>) -> Result<EditSubscription, Failure> {
        let tokens = |given: &[String], none: bool| match (given, none) {
            ([], false) => None,
            (given, _) => Some(given.to_vec()),
        };
        Ok(EditSubscription {
            subscription_id,
            any: tokens(&self.on, self.no_on),
            all: tokens(&self.all, self.no_all),
            predicate: self.condition.predicate()?,
            clear_predicate: self.no_where,
            guard: guard(self.guard.as_deref())?,
            clear_guard: self.no_guard,
            cooldown_ms: self.cooldown,
            debounce_ms: self.debounce,
            message: self.message.clone(),
        })
    }
}

impl ConditionArgs {
    /// Combines all conditions on a record into one predicate.
    fn predicate(&self) -> Result<Option<Value>, Failure> {
        let mut wanted = Vec::new();
        for field in &self.fields {
            let Some((name, value)) = field.split_once('=').filter(|(name, _)| !name.is_empty()) else {
                let message = format!("--where: {field:?} is not FIELD=VALUE");
                return Err(Failure::usage(
                    "bad_predicate",
                    message,
                    "use a field, `=` and its value",
                ));
            };
            wanted.push(json!({"field": name, "op": "eq", "value": scalar(value)}));
        }
        if let Some(category) = &self.category {
            wanted.push(json!({"field": "category", "op": "eq", "value": category}));
        }
        if let Some(json) = &self.predicate {
            wanted.push(parsed("--predicate", json)?);
        }
        Ok(match wanted.len() {
            0 | 1 => wanted.pop(),
            _ => Some(json!({"all": wanted})),
        })
    }
}

fn guard(json: Option<&str>) -> Result<Option<Value>, Failure> {
    json.map(|json| parsed("--guard", json)).transpose()
}

fn parsed(flag: &str, json: &str) -> Result<Value, Failure> {
    serde_json::from_str(json).map_err(|error| {
        let message = format!("{flag}: invalid JSON: {error}");
        let hint = "a predicate looks like {\"field\": \"status\", \"op\": \"eq\", \"value\": \"open\"}";
        Failure::usage("bad_predicate", message, hint)
    })
}

/// Parses a value as typed: numbers and booleans keep their type, everything else is text.
fn scalar(text: &str) -> Value {
    match serde_json::from_str(text) {
        Ok(value @ (Value::Number(_) | Value::Bool(_))) => value,
        Ok(_) | Err(_) => Value::String(text.to_owned()),
    }
}

pub(crate) async fn subscribe(args: &SubscribeArgs, shared: &GlobalArgs, out: &Out) -> Result<u8, Failure> {
    let new = args.wanted()?;
    let tell = write(shared, out, async |backend| {
        Ok((backend.call(new).await?, !backend.is_daemon()))
    });
    let (made, alone) = tell.await?;
    out.answer(&made, &line(&made));
    made.warnings.iter().for_each(|warning| out.note(warning));
    if alone {
        out.note(
            "no daemon is running here, and only a daemon wakes agents; start it with `wakeful daemon start`",
        );
    }
    Ok(0)
}

pub(crate) async fn unsubscribe(
    args: &UnsubscribeArgs,
    shared: &GlobalArgs,
    out: &Out,
) -> Result<u8, Failure> {
    let gone = write(shared, out, async |backend| {
        let subscription_id = backend.find_subscription(&args.id).await?;
        backend.call(DeleteSubscription { subscription_id }).await
    });
    let gone = gone.await?;
    out.answer(&gone, &format!("removed subscription {}", gone.subscription_id));
    Ok(0)
}

/// Lists, changes, pauses or resumes subscriptions.
pub(crate) async fn subscriptions(
    args: &SubscriptionsArgs,
    shared: &GlobalArgs,
    out: &Out,
) -> Result<u8, Failure> {
    if args.verb.is_some() && args.agent.is_some() {
        let message = "--agent filters the list and cannot be used with this command";
        let hint = "omit it; the subscription id is enough";
        return Err(Failure::usage("usage", message, hint));
    }
    let turned = match &args.verb {
        None => {
            list(args.agent.as_deref(), shared, out).await?;
            return Ok(0);
        }
        Some(SubscriptionsVerb::Edit(args)) => {
            let changed = write(shared, out, async |backend| {
                let subscription_id = backend.find_subscription(&args.id).await?;
                backend.call(args.wanted(subscription_id)?).await
            });
            changed.await?
        }
        Some(SubscriptionsVerb::Pause { id }) => {
            let changed = write(shared, out, async |backend| {
                let subscription_id = backend.find_subscription(id).await?;
                backend.call(PauseSubscription { subscription_id }).await
            });
            changed.await?
        }
        Some(SubscriptionsVerb::Resume { id }) => {
            let changed = write(shared, out, async |backend| {
                let subscription_id = backend.find_subscription(id).await?;
                backend.call(ResumeSubscription { subscription_id }).await
            });
            changed.await?
        }
    };
    out.answer(&turned, &line(&turned));
    turned.warnings.iter().for_each(|warning| out.note(warning));
    Ok(0)
}

async fn list(agent: Option<&str>, shared: &GlobalArgs, out: &Out) -> Result<(), Failure> {
    let agent = agent.map(AgentId::parse).transpose()?;
    let wanted = agent.clone();
    let all = read(shared, async |backend| backend.subscriptions(wanted).await).await?;
    let lines: Vec<String> = all.iter().map(line).collect();
    let words = match (lines.is_empty(), agent) {
        (false, _) => lines.join("\n"),
        (true, None) => "there are no subscriptions; see `wakeful subscribe --help`".to_owned(),
        (true, Some(agent)) => format!("{agent} has no subscriptions; see `wakeful subscribe --help`"),
    };
    let list = SubscriptionList {
        subscriptions: all,
        next_after: None,
    };
    out.answer(&list, &words);
    Ok(())
}

/// Formats a subscription as one line.
fn line(one: &Subscription) -> String {
    let mut woken = format!("{}   wakes {}", one.subscription_id, one.agent_id);
    if !one.any.is_empty() {
        woken.push_str(&format!(" on {}", one.any.join(" or ")));
    }
    if !one.all.is_empty() {
        woken.push_str(&format!(" with {}", one.all.join(" and ")));
    }
    let mut words = vec![woken];
    if let Some(predicate) = &one.predicate {
        words.push(format!("where {}", format_predicate(predicate)));
    }
    if let Some(guard) = &one.guard {
        words.push(format!("when {}", format_predicate(guard)));
    }
    if one.cooldown_ms > 0 {
        words.push(format!("at most every {}", format_duration(one.cooldown_ms)));
    }
    if one.debounce_ms > 0 {
        words.push(format!("collected for {}", format_duration(one.debounce_ms)));
    }
    if !one.message.is_empty() {
        words.push(format!("message {:?}", one.message));
    }
    if !one.is_active {
        words.push("paused".to_owned());
    }
    words.join(", ")
}

/// Formats a predicate; a simple comparison is shown as it was typed.
fn format_predicate(predicate: &Value) -> String {
    let all = predicate.get("all").and_then(Value::as_array);
    let parts = all.map_or_else(|| vec![predicate], |all| all.iter().collect());
    let equal = |one: &Value| match (one.get("field"), one.get("op"), one.get("value")) {
        (Some(Value::String(field)), Some(Value::String(op)), Some(value)) if op == "eq" => match value {
            Value::String(text) => Some(format!("{field}={text}")),
            Value::Number(_) | Value::Bool(_) => Some(format!("{field}={value}")),
            Value::Null | Value::Array(_) | Value::Object(_) => None,
        },
        (_, _, _) => None,
    };
    let words: Option<Vec<String>> = parts.into_iter().map(equal).collect();
    match words {
        Some(words) if !words.is_empty() => words.join(" and "),
        Some(_) | None => predicate.to_string(),
    }
}

/// Formats a duration in the largest unit that represents it exactly.
fn format_duration(ms: u64) -> String {
    let units = [(86_400_000, "d"), (3_600_000, "h"), (60_000, "m"), (1_000, "s")];
    let exact = units.into_iter().find(|(unit_ms, _)| ms.is_multiple_of(*unit_ms));
    exact.map_or_else(
        || format!("{ms}ms"),
        |(unit_ms, unit)| format!("{}{unit}", ms / unit_ms),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_is_a_number_and_a_unit() {
        assert_eq!(duration("500ms"), Ok(500));
        assert_eq!(duration("10m"), Ok(600_000));
        assert_eq!(duration("1d"), Ok(86_400_000));
        for bad in ["", "10", "m", "1w", "-1s", "1 s"] {
            assert!(duration(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn a_subscription_is_shown_on_one_line_as_typed() {
        let one = Subscription {
            subscription_id: "gym".into(),
            agent_id: "coach".into(),
            any: vec!["TASK".into(), "NOTE".into()],
            all: Vec::new(),
            predicate: Some(json!({"all": [
                {"field": "category", "op": "eq", "value": "gym"}, {"field": "version", "op": "eq", "value": 3}
            ]})),
            guard: Some(json!({"field": "queued", "op": "lt", "value": 3})),
            cooldown_ms: 600_000,
            debounce_ms: 1_500,
            message: "plan".into(),
            created_at: String::new(),
            is_active: false,
            warnings: Vec::new(),
        };
        assert_eq!(
            line(&one),
            "gym   wakes coach on TASK or NOTE, where category=gym and version=3, \
             when {\"field\":\"queued\",\"op\":\"lt\",\"value\":3}, at most every 10m, collected for 1500ms, \
             message \"plan\", paused"
        );
    }

    #[test]
    fn conditions_on_a_record_become_one_predicate() {
        let args = |fields: &[&str], category: Option<&str>, predicate: Option<&str>| ConditionArgs {
            fields: fields.iter().map(|&field| field.to_owned()).collect(),
            predicate: predicate.map(str::to_owned),
            category: category.map(str::to_owned),
        };
        assert_eq!(args(&[], None, None).predicate().expect("fine"), None);
        let gym = args(&[], Some("gym"), None).predicate().expect("fine");
        assert_eq!(
            gym,
            Some(json!({"field": "category", "op": "eq", "value": "gym"}))
        );
        let both = args(&["version=3"], None, Some("{\"all\": []}"))
            .predicate()
            .expect("fine");
        let version = json!({"field": "version", "op": "eq", "value": 3});
        assert_eq!(both, Some(json!({"all": [version, {"all": []}]})));
        for bad in [&["status"][..], &["=x"]] {
            assert_eq!(
                args(bad, None, None).predicate().expect_err("was taken").code(),
                "bad_predicate"
            );
        }
        assert!(args(&[], None, Some("{")).predicate().is_err());
    }
}
