//! `wakeful schedule`: wakes agents by the clock.

use clap::{Args, Subcommand, ValueEnum};
use wakeful_api::{
    AddSchedule, Concurrency, EditSchedule, ExecutionOutcome, Schedule, ScheduleHistory, ScheduleList,
    SchedulePattern, ScheduleStatus, ScheduledExecution,
};
use wakeful_core::failure::clip;
use wakeful_core::id::AgentId;
use wakeful_core::timer::Status;

use super::{Shared, text_variable};
use crate::failure::Failure;
use crate::front::{Front, asking, telling_known};
use crate::show::Out;

/// Where systems link the zone that holds for all.
const LOCALTIME: &str = "/etc/localtime";

/// Longest label in a list.
const LABEL_CHARS_MAX: usize = 40;

#[derive(Debug, Subcommand)]
pub(crate) enum ScheduleVerb {
    /// Wake an agent again and again, or once
    Add(AddArgs),
    /// List schedules, and when they fire next
    List {
        /// Only those of this agent
        agent: Option<String>,
    },
    /// Change what a schedule says, or when it fires
    Edit(EditArgs),
    /// Let a schedule rest
    Pause {
        /// Its name
        id: String,
    },
    /// Let a schedule go on with what is to come
    Resume {
        /// Its name
        id: String,
    },
    /// End a schedule for good; its history stays
    Disable {
        /// Its name
        id: String,
    },
    /// Let a schedule fire now, also when nothing changed
    TriggerNow {
        /// Its name
        id: String,
    },
    /// Show what became of a schedule's firings, newest first
    History {
        /// Its name
        id: String,
        /// Most records
        #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=500))]
        limit: u32,
    },
}

/// When it fires: exactly one of the three.
#[derive(Debug, Args)]
pub(crate) struct WhenArgs {
    /// A pattern of five fields: minute, hour, day, month, weekday
    #[arg(long, value_name = "PATTERN", conflicts_with_all = ["every", "at"])]
    cron: Option<String>,
    /// The zone whose clocks the pattern means [default: this system's]
    #[arg(long, value_name = "AREA/CITY", requires = "cron")]
    zone: Option<String>,
    /// An interval, such as 90s, 15m, 2h or 1d
    #[arg(long, value_name = "INTERVAL", conflicts_with = "at")]
    every: Option<String>,
    /// A moment at which it fires [default: now]
    #[arg(long, value_name = "TIME", requires = "every")]
    anchor: Option<String>,
    /// One moment, such as 2026-03-01T07:00:00+01:00
    #[arg(long, value_name = "TIME")]
    at: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct AddArgs {
    /// Whom to wake
    agent: String,
    #[command(flatten)]
    when: WhenArgs,
    /// What the agent is told
    #[arg(long, value_name = "TEXT")]
    say: String,
    /// What you call it
    #[arg(long, value_name = "LABEL")]
    label: Option<String>,
    /// Wake the agent also when nothing changed
    #[arg(long)]
    always: bool,
    /// Make up for the newest firing that was missed
    #[arg(long)]
    catch_up: bool,
    /// How old a missed firing may be and still be made up for
    #[arg(long, value_name = "INTERVAL", requires = "catch_up")]
    catch_up_window: Option<String>,
    /// How many missed firings run at once
    #[arg(long, value_name = "N", requires = "catch_up")]
    catch_up_runs: Option<u64>,
    /// What becomes of a firing while the one before it is under way
    #[arg(long, value_name = "POLICY", default_value = "forbid")]
    concurrency: Policy,
    /// Be over after the first firing
    #[arg(long)]
    once: bool,
    /// Begin at rest
    #[arg(long)]
    paused: bool,
    /// Its name [default: one is made up]
    #[arg(long, value_name = "NAME")]
    id: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct EditArgs {
    /// Its name
    id: String,
    #[command(flatten)]
    when: WhenArgs,
    /// What the agent is told
    #[arg(long, value_name = "TEXT")]
    say: Option<String>,
    /// What you call it
    #[arg(long, value_name = "LABEL")]
    label: Option<String>,
    /// Whether to wake the agent also when nothing changed
    #[arg(long, value_name = "BOOL")]
    always: Option<bool>,
    /// Whether to make up for firings that were missed
    #[arg(long, value_name = "BOOL")]
    catch_up: Option<bool>,
    /// What becomes of a firing while the one before it is under way
    #[arg(long, value_name = "POLICY")]
    concurrency: Option<Policy>,
}

/// What becomes of a firing while the one before it is under way.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub(crate) enum Policy {
    /// It waits its turn
    Allow,
    /// It is skipped
    Forbid,
    /// It takes the other's place
    Replace,
}

impl From<Policy> for Concurrency {
    fn from(policy: Policy) -> Self {
        match policy {
            Policy::Allow => Self::Allow,
            Policy::Forbid => Self::Forbid,
            Policy::Replace => Self::Replace,
        }
    }
}

/// Runs the verb.
pub(crate) async fn schedule(verb: &ScheduleVerb, shared: &Shared, out: &Out) -> Result<u8, Failure> {
    match verb {
        ScheduleVerb::Add(args) => add(args, shared, out).await?,
        ScheduleVerb::List { agent } => {
            let agent = agent.as_deref().map(AgentId::parse).transpose()?;
            let list = asking(shared, async |front| front.schedules(agent).await).await?;
            out.answer(&list, &table(&list));
        }
        ScheduleVerb::Edit(args) => edit(args, shared, out).await?,
        ScheduleVerb::Pause { id } => stand(id, Status::Paused, shared, out).await?,
        ScheduleVerb::Resume { id } => stand(id, Status::Active, shared, out).await?,
        ScheduleVerb::Disable { id } => stand(id, Status::Disabled, shared, out).await?,
        ScheduleVerb::TriggerNow { id } => {
            let told = telling_known(shared, out, async |front| {
                Ok((front.trigger_schedule(id).await?, is_alone(front)))
            });
            let (fired, alone) = told.await?;
            out.answer(&fired, &line(&fired));
            note_alone(alone, out);
        }
        ScheduleVerb::History { id, limit } => {
            let history = asking(shared, async |front| front.schedule_history(id, *limit).await).await?;
            out.answer(&history, &records(&history));
        }
    }
    Ok(0)
}

async fn add(args: &AddArgs, shared: &Shared, out: &Out) -> Result<(), Failure> {
    let window = args.catch_up_window.as_deref();
    let told = AddSchedule {
        schedule_id: args.id.clone(),
        agent_id: args.agent.clone(),
        label: args.label.clone(),
        pattern: pattern(&args.when)?.ok_or_else(no_pattern)?,
        say: args.say.clone(),
        is_paused: args.paused,
        concurrency: Some(args.concurrency.into()),
        allows_catch_up: args.catch_up,
        auto_disable_after_run: args.once,
        catch_up_window_seconds: window.map(|text| interval("catch-up-window", text)).transpose()?,
        max_catch_up_runs_per_tick: args.catch_up_runs,
        always: args.always,
    };
    let tell = telling_known(shared, out, async |front| {
        Ok((front.add_schedule(told).await?, is_alone(front)))
    });
    let (added, alone) = tell.await?;
    out.answer(&added, &in_full(&added));
    note_alone(alone, out);
    Ok(())
}

async fn edit(args: &EditArgs, shared: &Shared, out: &Out) -> Result<(), Failure> {
    let told = EditSchedule {
        label: args.label.clone(),
        pattern: pattern(&args.when)?,
        say: args.say.clone(),
        concurrency: args.concurrency.map(Into::into),
        allows_catch_up: args.catch_up,
        always: args.always,
    };
    let tell = telling_known(shared, out, async |front| {
        front.edit_schedule(&args.id, told).await
    });
    let edited = tell.await?;
    out.answer(&edited, &in_full(&edited));
    Ok(())
}

async fn stand(id: &str, status: Status, shared: &Shared, out: &Out) -> Result<(), Failure> {
    let tell = telling_known(shared, out, async |front| {
        front.set_schedule_status(id, status).await
    });
    let moved = tell.await?;
    out.answer(&moved, &in_full(&moved));
    Ok(())
}

const fn is_alone(front: &Front) -> bool {
    matches!(front, Front::Here(_))
}

fn note_alone(alone: bool, out: &Out) {
    if alone {
        out.note("no daemon runs here, and only a daemon watches the clock: `wakeful daemon start`");
    }
}

fn no_pattern() -> Failure {
    let message = "nothing says when it fires";
    let hint = "give --cron PATTERN, --every INTERVAL or --at TIME";
    Failure::usage("bad_schedule", message, hint)
}

/// When it fires, if the call says so.
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

/// The name of the zone that this system keeps: what TZ says, else what the system's own file is a link to, else UTC.
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
        let message = format!("the zone of this system cannot be told from {LOCALTIME}");
        Failure::usage("bad_schedule", message, "give one with --zone Area/City")
    })
}

/// A length of time with its unit.
fn interval(flag: &str, text: &str) -> Result<u64, Failure> {
    let bad = || {
        let message = format!("--{flag} {text:?} is no interval");
        Failure::usage(
            "bad_schedule",
            message,
            "give a number with its unit: 90s, 15m, 2h or 1d",
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

fn when(pattern: &SchedulePattern) -> String {
    match (&pattern.cron, pattern.interval_seconds, &pattern.at) {
        (Some(cron), ..) => format!("{cron} {}", pattern.time_zone.as_deref().unwrap_or("")),
        (None, Some(seconds), _) => format!("every {seconds} s"),
        (None, None, Some(at)) => format!("at {at}"),
        (None, None, None) => String::new(),
    }
}

fn table(list: &ScheduleList) -> String {
    if list.schedules.is_empty() {
        return "there are no schedules; `wakeful schedule add` makes one".to_owned();
    }
    let header = format!(
        "{:<36}  {:<20}  {:<8}  {:<24}  {:<30}  LABEL",
        "SCHEDULE", "AGENT", "STATUS", "NEXT", "WHEN"
    );
    let lines = list.schedules.iter().map(|one| {
        let next = one.next_execution_at.as_deref().unwrap_or("-");
        let (agent, label) = (clip(&one.agent_id, 20), clip(&one.label, LABEL_CHARS_MAX));
        format!(
            "{:<36}  {agent:<20}  {:<8}  {next:<24}  {:<30}  {label}",
            clip(&one.schedule_id, 36),
            status(one.status),
            clip(&when(&one.pattern), 30),
        )
    });
    [header].into_iter().chain(lines).collect::<Vec<_>>().join("\n")
}

fn in_full(one: &Schedule) -> String {
    let mut lines = vec![
        format!("schedule  {} (revision {})", one.schedule_id, one.revision),
        format!("label     {}", one.label),
        format!("agent     {}", one.agent_id),
        format!("status    {}", status(one.status)),
        format!("when      {}", when(&one.pattern)),
        format!("says      {}", clip(&one.say, 200)),
    ];
    lines.extend(one.upcoming.iter().enumerate().map(|(place, moment)| {
        let word = if place == 0 { "next" } else { "then" };
        format!("{word}      {moment}")
    }));
    lines.push(match one.allows_catch_up {
        true => "missed    the newest firings are made up for".to_owned(),
        false => "missed    firings are skipped, each with a record".to_owned(),
    });
    if one.auto_disable_after_run {
        lines.push("once      it is over after its first firing".to_owned());
    }
    if one.status == ScheduleStatus::Active {
        lines.push(match one.always {
            true => "\nit wakes the agent each time, also when nothing changed".to_owned(),
            false => {
                "\nit wakes the agent only when something changed since it last ran; --always wakes it anyway"
                    .to_owned()
            }
        });
    }
    lines.join("\n")
}

fn records(history: &ScheduleHistory) -> String {
    if history.executions.is_empty() {
        return match &history.schedule.next_execution_at {
            Some(next) => format!("it has not fired yet; the first time is {next}"),
            None => "it has never fired".to_owned(),
        };
    }
    history.executions.iter().map(line).collect::<Vec<_>>().join("\n")
}

fn line(one: &ScheduledExecution) -> String {
    let count = match (one.count, one.is_capped) {
        (1, false) => String::new(),
        (count, false) => format!(" ({count} firings)"),
        (count, true) => format!(" (more than {count} firings)"),
    };
    let reason = one.reason.as_deref().map(|reason| format!(" {reason}"));
    let late = if one.is_catch_up { " catch-up" } else { "" };
    let run = one.run_key.as_deref().and_then(|key| key.get(..12));
    let run = run.map(|key| format!("  run {key} {}", one.run_status.as_deref().unwrap_or("")));
    format!(
        "{}  {}{}{late}{count}{}",
        one.due_at,
        outcome(one.outcome),
        reason.unwrap_or_default(),
        run.unwrap_or_default(),
    )
    .trim_end()
    .to_owned()
}

const fn status(status: ScheduleStatus) -> &'static str {
    match status {
        ScheduleStatus::Active => "active",
        ScheduleStatus::Paused => "paused",
        ScheduleStatus::Disabled => "disabled",
        ScheduleStatus::Expired => "expired",
    }
}

const fn outcome(outcome: ExecutionOutcome) -> &'static str {
    match outcome {
        ExecutionOutcome::Run => "run",
        ExecutionOutcome::Skipped => "skipped",
        ExecutionOutcome::Replaced => "replaced",
        ExecutionOutcome::Refused => "refused",
        ExecutionOutcome::Disabled => "disabled",
        ExecutionOutcome::Expired => "expired",
        ExecutionOutcome::Recomputed => "recomputed",
    }
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
