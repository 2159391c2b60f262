//! `wakeful schedule`: manages schedules, which wake agents at certain times or on events.

mod show;

use clap::{Args, Subcommand, ValueEnum};
use serde_json::Value;
use wakeful_api::{
    AddSchedule, Concurrency, DisableSchedule, EditSchedule, Endpoint, LIMIT_MAX, Limit,
    ListScheduledExecutions, ListSchedules, PauseSchedule, RaiseEvent, ResumeSchedule, Schedule,
    SchedulePattern, Text, TriggerSchedule,
};
use wakeful_core::id::{AgentId, EventName, RuleId, TurnId};

use self::show::{changes, executions, firings, in_full, records, table};
use super::{GlobalArgs, text_variable};
use crate::backend::{read, write_existing};
use crate::failure::Failure;
use crate::show::Out;
use crate::system::fresh_id;

/// The link to the system's time zone.
const LOCALTIME: &str = "/etc/localtime";

#[derive(Debug, Subcommand)]
pub(crate) enum ScheduleVerb {
    /// Add a schedule that wakes an agent repeatedly or once
    Add(AddScheduleArgs),
    /// List schedules with their next firing
    List {
        /// Show only schedules of this agent
        agent: Option<String>,
    },
    /// Change the message, the times or the options of a schedule
    Edit(EditScheduleArgs),
    /// Pause a schedule
    Pause {
        /// Schedule id or a unique prefix of it
        id: String,
    },
    /// Resume a schedule; missed firings are not delivered
    Resume {
        /// Schedule id or a unique prefix of it
        id: String,
    },
    /// Disable a schedule permanently; its history remains
    Disable {
        /// Schedule id or a unique prefix of it
        id: String,
    },
    /// Fire a schedule now, even if nothing changed
    TriggerNow {
        /// Schedule id or a unique prefix of it
        id: String,
    },
    /// Deliver an event; every active schedule that waits for it fires
    RaiseEvent {
        /// Event name, such as backup.done
        name: String,
        /// Idempotency key of the delivery: the same key fires nothing twice [default: generated]
        #[arg(long, value_name = "KEY")]
        key: Option<String>,
    },
    /// Show the firings of a schedule and their results, newest first
    History {
        /// Schedule id or a unique prefix of it
        id: String,
        /// Maximum number of firings to show
        #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=500))]
        limit: u32,
    },
}

/// When the schedule fires: exactly one of the three forms.
#[derive(Debug, Args)]
pub(crate) struct WhenArgs {
    /// Cron pattern with five fields: minute, hour, day, month, weekday
    #[arg(long, value_name = "PATTERN", conflicts_with_all = ["every", "at"])]
    cron: Option<String>,
    /// Time zone of the pattern [default: the system's time zone]
    #[arg(long, value_name = "AREA/CITY", requires = "cron")]
    zone: Option<String>,
    /// Interval, such as 90s, 15m, 2h or 1d
    #[arg(long, value_name = "INTERVAL", conflicts_with = "at")]
    every: Option<String>,
    /// Reference time of the interval [default: now]
    #[arg(long, value_name = "TIME", requires = "every")]
    anchor: Option<String>,
    /// One point in time, such as 2026-03-01T07:00:00+01:00
    #[arg(long, value_name = "TIME")]
    at: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct AddScheduleArgs {
    /// Agent to wake
    agent: String,
    #[command(flatten)]
    when: WhenArgs,
    /// Message that each firing delivers; without one, a firing wakes the agent only if something changed
    #[arg(long, alias = "say", value_name = "TEXT")]
    message: Option<String>,
    /// Label, for display
    #[arg(long, value_name = "LABEL")]
    label: Option<String>,
    /// Wake the agent even if nothing changed; the default with a message
    #[arg(long)]
    always: bool,
    /// Deliver the message only if something changed since the agent's last run
    #[arg(long, conflicts_with = "always")]
    only_if_changed: bool,
    /// Deliver the newest missed firing later [default: from the settings of the home]
    #[arg(long, value_name = "BOOL", num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    catch_up: Option<bool>,
    /// Maximum age of a missed firing that is still delivered
    #[arg(long, value_name = "INTERVAL")]
    catch_up_window: Option<String>,
    /// Maximum number of missed firings that are delivered at once
    #[arg(long, value_name = "N")]
    catch_up_runs: Option<u64>,
    /// Condition for a firing to wake the agent, as JSON; otherwise the firing is skipped
    #[arg(long, value_name = "PREDICATE")]
    guard: Option<String>,
    /// Also fire on this event, such as backup.done
    #[arg(long, value_name = "NAME")]
    event: Option<String>,
    /// What happens to a firing while the previous one is still running
    #[arg(long, value_name = "POLICY", default_value = "forbid")]
    concurrency: ConcurrencyArg,
    /// Complete the schedule after its first firing
    #[arg(long)]
    once: bool,
    /// Create the schedule paused
    #[arg(long)]
    paused: bool,
    /// Schedule id [default: generated]
    #[arg(long, value_name = "NAME")]
    id: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct EditScheduleArgs {
    /// Schedule id or a unique prefix of it
    id: String,
    #[command(flatten)]
    when: WhenArgs,
    /// New message for the agent
    #[arg(long, alias = "say", value_name = "TEXT")]
    message: Option<String>,
    /// New label
    #[arg(long, value_name = "LABEL")]
    label: Option<String>,
    /// Whether to wake the agent even if nothing changed
    #[arg(long, value_name = "BOOL")]
    always: Option<bool>,
    /// Whether to deliver missed firings later
    #[arg(long, value_name = "BOOL")]
    catch_up: Option<bool>,
    /// What happens to a firing while the previous one is still running
    #[arg(long, value_name = "POLICY")]
    concurrency: Option<ConcurrencyArg>,
    /// New condition for a firing to wake the agent, as JSON; otherwise the firing is skipped
    #[arg(long, value_name = "PREDICATE", conflicts_with = "no_guard")]
    guard: Option<String>,
    /// Remove the condition
    #[arg(long)]
    no_guard: bool,
    /// Also fire on this event, such as backup.done
    #[arg(long, value_name = "NAME", conflicts_with = "no_event")]
    event: Option<String>,
    /// Do not fire on an event any more
    #[arg(long)]
    no_event: bool,
}

/// What happens to a firing while the previous one is still running.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum ConcurrencyArg {
    /// The firing is queued
    Allow,
    /// The firing is skipped
    Forbid,
    /// The firing replaces the previous one
    Replace,
}

impl From<ConcurrencyArg> for Concurrency {
    fn from(policy: ConcurrencyArg) -> Self {
        match policy {
            ConcurrencyArg::Allow => Self::Allow,
            ConcurrencyArg::Forbid => Self::Forbid,
            ConcurrencyArg::Replace => Self::Replace,
        }
    }
}

pub(crate) async fn schedule(verb: &ScheduleVerb, shared: &GlobalArgs, out: &Out) -> Result<u8, Failure> {
    match verb {
        ScheduleVerb::Add(args) => add(args, shared, out).await?,
        ScheduleVerb::List { agent } => {
            let agent = agent.as_deref().map(AgentId::parse).transpose()?;
            let asked = ListSchedules {
                agent_id: agent.map(Text),
                after: None,
                limit: Limit(LIMIT_MAX),
            };
            let list = read(shared, async |backend| backend.call(asked).await).await?;
            out.answer(&list, &table(&list, out));
        }
        ScheduleVerb::Edit(args) => edit(args, shared, out).await?,
        ScheduleVerb::Pause { id } => {
            let pause = |schedule_id| PauseSchedule { schedule_id };
            change(id, pause, shared, out).await?;
        }
        ScheduleVerb::Resume { id } => {
            let resume = |schedule_id| ResumeSchedule { schedule_id };
            change(id, resume, shared, out).await?;
        }
        ScheduleVerb::Disable { id } => {
            let disable = |schedule_id| DisableSchedule { schedule_id };
            change(id, disable, shared, out).await?;
        }
        ScheduleVerb::TriggerNow { id } => {
            let key = Some(Text(TurnId::parse(&fresh_id())?));
            let told = write_existing(shared, out, async |backend| {
                let schedule_id = backend.find_schedule(id).await?;
                let fired = backend.call(TriggerSchedule { schedule_id, key }).await?;
                Ok((fired, !backend.is_daemon()))
            });
            let (fired, alone) = told.await?;
            out.answer(&fired, &executions(std::slice::from_ref(&fired), out));
            note_alone(alone, out);
        }
        ScheduleVerb::RaiseEvent { name, key } => {
            raise(name, key.as_deref(), shared, out).await?;
        }
        ScheduleVerb::History { id, limit } => {
            let limit = Limit(*limit);
            let history = read(shared, async |backend| {
                let schedule_id = backend.find_schedule(id).await?;
                backend.call(ListScheduledExecutions { schedule_id, limit }).await
            });
            let history = history.await?;
            out.answer(&history, &records(&history, out));
        }
    }
    Ok(0)
}

async fn raise(name: &str, key: Option<&str>, shared: &GlobalArgs, out: &Out) -> Result<(), Failure> {
    let raise = RaiseEvent {
        event: Text(EventName::parse(name)?),
        key: Some(Text(TurnId::parse(key.unwrap_or(&fresh_id()))?)),
    };
    let told = write_existing(shared, out, async |backend| {
        Ok((backend.call(raise).await?, !backend.is_daemon()))
    });
    let (fired, alone) = told.await?;
    out.answer(&fired, &firings(&fired, out));
    note_alone(alone && !fired.executions.is_empty(), out);
    Ok(())
}

async fn add(args: &AddScheduleArgs, shared: &GlobalArgs, out: &Out) -> Result<(), Failure> {
    let window = args.catch_up_window.as_deref();
    let told = AddSchedule {
        schedule_id: args.id.as_deref().map(name).transpose()?,
        agent_id: Text(AgentId::parse(&args.agent)?),
        label: args.label.clone(),
        pattern: pattern(&args.when)?.ok_or_else(no_pattern)?,
        message: args.message.clone(),
        is_paused: args.paused,
        concurrency: Some(args.concurrency.into()),
        allows_catch_up: catch_up(args)?,
        auto_disable_after_run: args.once,
        catch_up_window_seconds: window.map(|text| interval("catch-up-window", text)).transpose()?,
        max_catch_up_runs_per_tick: args.catch_up_runs,
        always: match (args.always, args.only_if_changed) {
            (true, _) => Some(true),
            (false, true) => Some(false),
            (false, false) => None,
        },
        guard: args.guard.as_deref().map(guard).transpose()?,
        event: args.event.as_deref().map(EventName::parse).transpose()?.map(Text),
    };
    let tell = write_existing(shared, out, async |backend| {
        Ok((backend.call(told).await?, !backend.is_daemon()))
    });
    let (added, alone) = tell.await?;
    out.answer(&added, &in_full(&added, out));
    note_alone(alone, out);
    Ok(())
}

/// Catch-up options imply that catch-up is wanted.
fn catch_up(args: &AddScheduleArgs) -> Result<Option<bool>, Failure> {
    let says_how = args.catch_up_window.is_some() || args.catch_up_runs.is_some();
    match args.catch_up {
        Some(false) if says_how => Err(Failure::usage(
            "usage",
            "--catch-up-window and --catch-up-runs cannot be used with --catch-up=false",
            "omit --catch-up=false or the other options",
        )),
        None if says_how => Ok(Some(true)),
        said => Ok(said),
    }
}

async fn edit(args: &EditScheduleArgs, shared: &GlobalArgs, out: &Out) -> Result<(), Failure> {
    let (guard, event) = (
        args.guard.as_deref().map(guard).transpose()?,
        args.event.as_deref().map(EventName::parse).transpose()?.map(Text),
    );
    let pattern = pattern(&args.when)?;
    let edit = |schedule_id| EditSchedule {
        schedule_id,
        label: args.label.clone(),
        pattern,
        message: args.message.clone(),
        concurrency: args.concurrency.map(Into::into),
        allows_catch_up: args.catch_up,
        always: args.always,
        guard,
        clear_guard: args.no_guard,
        event,
        clear_event: args.no_event,
    };
    change(&args.id, edit, shared, out).await
}

fn name(id: &str) -> Result<Text<RuleId>, Failure> {
    Ok(Text(RuleId::parse(id)?))
}

/// Calls an endpoint that changes a schedule, and prints what changed.
async fn change<E: Endpoint<Output = Schedule>>(
    id: &str,
    asked: impl FnOnce(Text<RuleId>) -> E,
    shared: &GlobalArgs,
    out: &Out,
) -> Result<(), Failure> {
    let told = write_existing(shared, out, async |backend| {
        let schedule_id = backend.find_schedule(id).await?;
        let before = ListScheduledExecutions {
            schedule_id: schedule_id.clone(),
            limit: Limit(1),
        };
        let before = backend.call(before).await?.schedule;
        Ok((before, backend.call(asked(schedule_id)).await?))
    });
    let (before, after) = told.await?;
    out.answer(&after, &changes(&before, &after, out));
    Ok(())
}

fn note_alone(alone: bool, out: &Out) {
    if alone {
        out.note("no daemon is running here, and only a daemon fires schedules; start it with `wakeful daemon start`");
    }
}

fn no_pattern() -> Failure {
    let message = "no time is given for the schedule";
    let hint = "use --cron PATTERN, --every INTERVAL or --at TIME";
    Failure::usage("bad_schedule", message, hint)
}

/// The schedule pattern, if the arguments contain one.
fn pattern(when: &WhenArgs) -> Result<Option<SchedulePattern>, Failure> {
    if when.cron.is_none() && when.every.is_none() && when.at.is_none() {
        return Ok(None);
    }
    let time_zone = match (&when.cron, &when.zone) {
        (None, _) => None,
        (Some(_), Some(given)) => Some(given.clone()),
        (Some(_), None) => Some(system_zone()?),
    };
    Ok(Some(SchedulePattern {
        cron: when.cron.clone(),
        time_zone,
        interval_seconds: when
            .every
            .as_deref()
            .map(|text| interval("every", text))
            .transpose()?,
        anchor: when.anchor.clone(),
        at: when.at.clone(),
    }))
}

/// Parses a guard as JSON. The service that creates schedules validates its meaning.
fn guard(text: &str) -> Result<Value, Failure> {
    serde_json::from_str(text).map_err(|error| {
        let message = format!("--guard: invalid JSON: {error}");
        let hint = r#"write it like {"field": "since_last_run_ms", "op": "gt", "value": 3600000}; see `wakeful help schedules`"#;
        Failure::usage("bad_schedule", message, hint)
    })
}

/// The system's time zone: TZ, else the target of the system's link, else UTC.
fn system_zone() -> Result<String, Failure> {
    if let Some(zone) = text_variable("TZ")? {
        return Ok(zone.trim_start_matches(':').to_owned());
    }
    let Ok(link) = std::fs::read_link(LOCALTIME) else {
        return Ok("UTC".to_owned());
    };
    let path = link.to_string_lossy();
    let zone = path.rsplit_once("zoneinfo/").map(|(_, zone)| zone.to_owned());
    zone.ok_or_else(|| {
        let message = format!("cannot determine the time zone of this system from {LOCALTIME}");
        Failure::usage("bad_schedule", message, "use --zone Area/City")
    })
}

/// Parses a duration with a unit.
fn interval(flag: &str, text: &str) -> Result<u64, Failure> {
    let bad = || {
        let message = format!("--{flag}: invalid interval {text:?}");
        Failure::usage(
            "bad_schedule",
            message,
            "use a number with a unit: 90s, 15m, 2h or 1d",
        )
    };
    let unit = match text.chars().last() {
        Some('s') => 1,
        Some('m') => 60,
        Some('h') => 3_600,
        Some('d') => 86_400,
        Some(_) | None => return Err(bad()),
    };
    let digits = text.get(..text.len() - 1).unwrap_or_default();
    let number = Some(digits).filter(|digits| digits.bytes().all(|digit| digit.is_ascii_digit()));
    let number: Option<u64> = number.and_then(|digits| digits.parse().ok());
    number.and_then(|number| number.checked_mul(unit)).ok_or_else(bad)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_has_a_number_and_a_unit() {
        for (text, seconds) in [
            ("90s", 90),
            ("15m", 900),
            ("2h", 7_200),
            ("1d", 86_400),
            ("0m", 0),
        ] {
            assert_eq!(interval("every", text).expect("an interval"), seconds);
        }
        for text in [
            "",
            "m",
            "15",
            "-5m",
            "1.5h",
            "15 m",
            "99999999999999999999d",
            "9999999999999999999d",
            "5µ",
        ] {
            assert!(interval("every", text).is_err(), "{text}");
        }
    }
}
