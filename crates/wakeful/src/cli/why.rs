//! `wakeful why` and `wakeful why-not`: explain what started a run, and why an agent was not woken, on one
//! screen.

use clap::Args;
use wakeful_api::{GetWhyNot, GetWhyRun, Hold, Text, Wake, WhyNot, WhyRun};
use wakeful_core::id::AgentId;
use wakeful_core::time::Millis;
use wakeful_ports::clock::Clock as _;

use super::GlobalArgs;
use super::subscribe::duration;
use crate::backend::read;
use crate::discover::home_holder;
use crate::failure::Failure;
use crate::show::Out;
use crate::show::phrase::count as counted;
use crate::system::RealClock;

/// Maximum number of refusals, counts and schedules shown, to fit one screen; `--json` contains all.
const SHOWN_MAX: usize = 5;

#[derive(Debug, Args)]
pub(crate) struct WhyArgs {
    /// Run key, or the id of one of its decisions or steps; a unique prefix is enough
    run: String,
}

#[derive(Debug, Args)]
pub(crate) struct WhyNotArgs {
    /// Agent name
    agent: String,
    /// Start of the period: a time such as 2026-02-17T16:00:00Z, or a duration such as 2h or 7d before now
    /// [default: 1d]
    #[arg(long, value_name = "TIME|DURATION")]
    since: Option<String>,
}

pub(crate) async fn why(args: &WhyArgs, shared: &GlobalArgs, out: &Out) -> Result<u8, Failure> {
    let why = read(shared, async |backend| {
        let run_key = Text(backend.find_run(&args.run).await?);
        Ok((backend.call(GetWhyRun { run_key }).await?, backend.is_daemon()))
    });
    let (why, has_daemon) = why.await?;
    out.answer(&why, &run_words(&why));
    if why.status.is_under_way() && !has_daemon {
        note_absence(shared, out).await?;
    }
    Ok(0)
}

pub(crate) async fn why_not(args: &WhyNotArgs, shared: &GlobalArgs, out: &Out) -> Result<u8, Failure> {
    let agent = AgentId::parse(&args.agent)?;
    let now = RealClock::new().now();
    let since = args.since.as_deref().map(|text| past(text, now)).transpose()?;
    let asked = GetWhyNot {
        agent_id: Text(agent),
        since: since.map(Text),
    };
    let why = read(shared, async |backend| {
        Ok((backend.call(asked).await?, backend.is_daemon()))
    });
    let (why, has_daemon) = why.await?;
    out.answer(&why, &agent_words(&why));
    if !has_daemon {
        note_absence(shared, out).await?;
    }
    Ok(0)
}

/// Notes that no daemon runs, which is often the reason that nothing starts.
async fn note_absence(shared: &GlobalArgs, out: &Out) -> Result<(), Failure> {
    if let Some(absence) = home_holder(shared).await?.absence_message() {
        out.note(&format!(
            "{absence}: messages, schedules and changes start nothing until `wakeful daemon start`"
        ));
    }
    Ok(())
}

/// Parses a time in the past, or a duration before now.
pub(super) fn past(text: &str, now: Millis) -> Result<Millis, Failure> {
    shifted(text, now, |now, ms| now.saturating_sub(ms))
}

/// Parses a time, or a duration relative to now.
pub(super) fn shifted(text: &str, now: Millis, by: fn(i64, i64) -> i64) -> Result<Millis, Failure> {
    let span = duration(text)
        .ok()
        .map(|ms| i64::try_from(ms).unwrap_or(i64::MAX));
    let moment = span.map(|ms| Millis(by(now.0, ms)).clamp(Millis::MIN, Millis::MAX));
    moment.or_else(|| Millis::parse(text)).ok_or_else(|| {
        let message = format!("{text:?} is neither a time nor a duration");
        let hint = "use a time such as 2026-02-17T16:00:00Z, or a duration such as 30m, 2h or 7d";
        Failure::usage("bad_time", message, hint)
    })
}

pub(super) fn run_words(why: &WhyRun) -> String {
    let mut lines = vec![
        format!("run      {}", why.run_key),
        format!("agent    {}", why.agent_id),
        format!("status   {}", why.status),
        format!("why      {}", why.summary),
        format!("when     {}", why.at),
    ];
    lines.extend(why.text.as_ref().map(|text| format!("message  {text}")));
    if !why.cause.tokens.is_empty() {
        lines.push(format!("tokens   {}", why.cause.tokens.join(" ")));
    }
    lines.extend(why.cause.change.as_ref().map(|key| format!("change   {key}")));
    if why.cause.depth > 0 {
        let depth = why.cause.depth;
        lines.push(format!(
            "depth    preceded by {} from agents",
            counted(depth, "cause")
        ));
    }
    if why.cause.correlation_id != why.run_key {
        lines.push(format!("belongs  {}", why.cause.correlation_id));
    }
    lines.extend(
        why.cause
            .causation_id
            .as_ref()
            .map(|by| format!("caused   by {by}")),
    );
    for gate in &why.gates {
        let verdict = if gate.passed { "passed" } else { "blocked" };
        let detail = gate
            .detail
            .as_ref()
            .map(|detail| format!(": {detail}"))
            .unwrap_or_default();
        lines.push(format!("gate     {} {verdict}{detail}", gate.gate));
    }
    lines.extend(
        why.absorbed_by
            .as_ref()
            .map(|run| format!("absorbed by run {run}")),
    );
    for wake in why.absorbed.iter().take(SHOWN_MAX) {
        lines.push(format!("handled  {} ({})", wake.cause.description, wake.at));
    }
    lines.extend(rest(why.absorbed_count, "handled "));
    lines.extend(why.holds.iter().map(hold_words));
    lines.extend(
        why.not_before
            .as_ref()
            .map(|moment| format!("waits    until {moment}")),
    );
    lines.extend(why.hint.as_ref().map(|way| format!("fix      {way}")));
    lines.join("\n")
}

fn agent_words(why: &WhyNot) -> String {
    let mut lines = vec![
        format!("agent    {}", why.agent_id),
        format!("why not  {}", why.summary),
    ];
    lines.extend(why.holds.iter().map(hold_words));
    for waiting in why.queued.iter().take(SHOWN_MAX) {
        let until = match &waiting.not_before {
            Some(moment) => format!("until {moment}"),
            None => "in the queue".to_owned(),
        };
        lines.push(format!(
            "waits    {}: {} ({until})",
            short(&waiting.run_key),
            waiting.cause.description
        ));
    }
    lines.extend(rest(why.queued_count, "waits   "));
    lines.extend(why.refused.iter().take(SHOWN_MAX).map(refused_words));
    for row in why.refusals.iter().take(SHOWN_MAX) {
        lines.push(format!(
            "counted  {} x {} on {} by {}, last {}",
            row.count, row.code, row.day, row.source, row.last_at
        ));
    }
    lines.extend(rest(count(why.refusals.len()), "counted "));
    for one in why.schedules.iter().take(SHOWN_MAX) {
        let next = one.next_at.as_deref().unwrap_or("never");
        let last = one
            .last_outcome
            .as_ref()
            .map(|last| format!(", last outcome {last}"))
            .unwrap_or_default();
        let status = format!("{:?}", one.status).to_lowercase();
        lines.push(format!(
            "next     {next} by schedule {} ({status}{last})",
            one.schedule_id
        ));
    }
    lines.extend(rest(why.schedule_count, "next    "));
    lines.push(format!(
        "watching {}",
        counted(why.subscription_count, "subscription")
    ));
    lines.join("\n")
}

fn refused_words(wake: &Wake) -> String {
    let way = wake
        .hint
        .as_ref()
        .map(|way| format!("; {way}"))
        .unwrap_or_default();
    format!(
        "refused  {} {}: {} ({}){way}",
        wake.at, wake.cause.description, wake.message, wake.verdict
    )
}

fn hold_words(hold: &Hold) -> String {
    let way = hold
        .hint
        .as_ref()
        .map(|way| format!("; {way}"))
        .unwrap_or_default();
    format!("held     {} ({}){way}", hold.message, hold.code)
}

fn rest(all: u64, label: &str) -> Option<String> {
    let more = all.saturating_sub(count(SHOWN_MAX));
    (more > 0).then(|| format!("{label} … and {more} more"))
}

fn count(count: usize) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}

fn short(run: &str) -> &str {
    run.get(..12).unwrap_or(run)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_absolute_or_a_duration() {
        let now = Millis(1_000_000_000);
        assert_eq!(past("10s", now).expect("fine"), Millis(999_990_000));
        assert_eq!(past("1970-01-01T00:00:01Z", now).expect("fine"), Millis(1_000));
        assert_eq!(
            past("99999999999999999999d", now).expect_err("was taken").code(),
            "bad_time"
        );
        assert_eq!(past("9999999999999d", now).expect("fine"), Millis::MIN);
        for bad in ["", "yesterday", "-1h", "10"] {
            assert_eq!(
                past(bad, now).expect_err("was taken").code(),
                "bad_time",
                "{bad:?}"
            );
        }
    }
}
