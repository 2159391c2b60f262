//! Explains why an agent was woken or not: wire types and sentences.

use wakeful_api::{Hold, NextFiring, QueuedWake, RefusalCount, Wake, WakeCause, WhyNot, WhyRun};
use wakeful_core::cause::{Cause, MessageOrigin, spelled};
use wakeful_core::key::RunKey;
use wakeful_core::run::RunStatus;
use wakeful_core::schedule::Schedule;
use wakeful_core::time::Millis;
use wakeful_core::wake::{self, Refusal, WakeOutcome};
use wakeful_runtime::api;
use wakeful_runtime::rows::{ExecutionWithRun, QueueRow, WakeRefusalRow, WakeRow};

/// Explains why a run exists, or why it does not.
#[must_use]
pub fn why(why: &api::WhyReport) -> WhyRun {
    let cause = cause(&why.cause, &why.run_key);
    let waits = why.status == RunStatus::Queued;
    let verdict = why.verdict;
    // An earlier verdict on a message that is still queued is not final.
    let decided = match (waits, verdict) {
        (true, _) | (false, None) => {
            "it is queued; a running daemon starts it after earlier messages".to_owned()
        }
        (false, Some(verdict)) => verdict_words(verdict, why.absorbed_by),
    };
    WhyRun {
        run_key: why.run_key.to_string(),
        agent_id: why.agent_id.to_string(),
        status: why.status,
        summary: format!("{}; {decided}", cause.description),
        cause,
        text: why.text.clone(),
        hint: verdict.filter(|_| !waits).and_then(hint_for),
        verdict: why.verdict,
        at: why.at.rfc3339(),
        gates: why.gates.clone(),
        absorbed_by: why.absorbed_by.map(|run| run.to_string()),
        absorbed: why.absorbed.iter().map(wake).collect(),
        absorbed_count: count(why.absorbed_count),
        holds: why.holds.iter().map(hold).collect(),
        not_before: why.not_before.map(Millis::rfc3339),
    }
}

/// Explains why an agent was not woken.
#[must_use]
pub fn why_not(why: &api::WhyNotReport) -> WhyNot {
    let agent = &why.overview.agent;
    WhyNot {
        agent_id: agent.agent_id.to_string(),
        since: why.since.rfc3339(),
        summary: summary(why),
        lifecycle: agent.lifecycle,
        control: agent.control,
        mode: agent.mode,
        holds: why.holds.iter().map(hold).collect(),
        queued: why.waiting.iter().map(|row| waiting(row, why.now)).collect(),
        queued_count: why.overview.queued,
        refused: why.refused.iter().map(wake).collect(),
        refusals: why.counted.iter().map(refusal_count).collect(),
        schedules: why.schedules.iter().map(next_moment).collect(),
        schedule_count: count(why.schedule_count),
        subscription_count: count(why.subscription_count),
        last_tried_at: why.last_tried_at.map(Millis::rfc3339),
    }
}

fn summary(why: &api::WhyNotReport) -> String {
    let rules = match (why.subscription_count, why.schedule_count) {
        (0, 0) => "; it has no subscription and no schedule, so only your messages wake it",
        (_, _) => "",
    };
    if why.is_untried() {
        return match why.last_tried_at {
            Some(at) => format!("nothing has tried to wake it since {}{rules}", at.rfc3339()),
            None => {
                let made = why.overview.agent.created_at.rfc3339();
                format!("nothing has tried to wake it since it was created, {made}{rules}")
            }
        };
    }
    // A count covers a whole day, which may have started before the period; the records cover only the
    // period.
    let refused = why.counted.iter().map(|row| row.count).sum::<u64>();
    let refused = refused.max(u64::try_from(why.refused.len()).unwrap_or(u64::MAX));
    format!(
        "since {}: {} admitted, {refused} refused, {} queued now{rules}",
        why.since.rfc3339(),
        why.let_in,
        why.overview.queued
    )
}

fn cause(cause: &Cause, own: &RunKey) -> WakeCause {
    let origin = &cause.origin;
    let plain = WakeCause {
        kind: origin.kind(),
        source: origin.source().as_str().to_owned(),
        description: origin.words(),
        depth: cause.depth,
        priority: cause.priority,
        correlation_id: cause.correlation_of(own).to_string(),
        causation_id: cause.causation.as_ref().map(ToString::to_string),
        source_refs: origin.source_refs(),
        tokens: Vec::new(),
        author: None,
        change: None,
        scheduled_at: None,
        run_key: None,
    };
    match origin {
        MessageOrigin::Operator | MessageOrigin::Trigger { .. } => plain,
        MessageOrigin::Subscription {
            change,
            tokens,
            author,
            ..
        } => WakeCause {
            tokens: tokens.iter().map(|token| spelled(token)).collect(),
            author: Some(author.clone()),
            change: Some(change.0.to_string()),
            ..plain
        },
        MessageOrigin::Schedule { scheduled_at, .. } => WakeCause {
            scheduled_at: Some(scheduled_at.rfc3339()),
            ..plain
        },
        MessageOrigin::Run { run } => WakeCause {
            run_key: Some(run.to_string()),
            ..plain
        },
    }
}

fn wake(row: &WakeRow) -> Wake {
    Wake {
        run_key: row.run_key.to_string(),
        cause: cause(&row.cause, &row.run_key),
        verdict: row.verdict,
        message: verdict_words(row.verdict, row.absorbed_by),
        at: row.at.rfc3339(),
        // This program wrote the gates; a row that was altered shows none.
        gates: serde_json::from_str(&row.gates).unwrap_or_default(),
        hint: hint_for(row.verdict),
    }
}

fn hold(hold: &wake::Hold) -> Hold {
    Hold {
        code: hold.code,
        message: hold.words.clone(),
        until: hold.until.map(Millis::rfc3339),
        hint: hold.hint.as_deref().map(str::to_owned),
    }
}

fn waiting(row: &QueueRow, now: Millis) -> QueuedWake {
    QueuedWake {
        run_key: row.message.run_key.to_string(),
        cause: cause(&row.message.cause, &row.message.run_key),
        queued_at: row.message.admitted_at.rfc3339(),
        not_before: row.not_before.filter(|moment| *moment > now).map(Millis::rfc3339),
    }
}

fn refusal_count(row: &WakeRefusalRow) -> RefusalCount {
    let begins = row.day.begins().rfc3339();
    RefusalCount {
        source: row.source.as_str().to_owned(),
        code: row.code,
        message: verdict_words(row.code, None),
        day: begins.split('T').next().unwrap_or_default().to_owned(),
        count: row.count,
        last_at: row.last_at.rfc3339(),
        hint: hint_for(row.code),
    }
}

fn next_moment((timer, last): &(Schedule, Option<ExecutionWithRun>)) -> NextFiring {
    let last = last.as_ref().map(|one| match &one.row.reason {
        Some(reason) => format!("{}: {reason}", one.row.outcome.as_str()),
        None => one.row.outcome.as_str().to_owned(),
    });
    NextFiring {
        schedule_id: timer.schedule_id.to_string(),
        status: timer.status,
        next_at: timer.next_execution_at.map(Millis::rfc3339),
        last_outcome: last,
    }
}

/// Describes the verdict in one sentence, without a full stop.
fn verdict_words(verdict: WakeOutcome, absorbed_by: Option<RunKey>) -> String {
    match (verdict, absorbed_by) {
        (WakeOutcome::Run, _) => "it started a run".to_owned(),
        (WakeOutcome::Queued, _) => "it was queued".to_owned(),
        (WakeOutcome::Absorbed, Some(run)) => format!("run {run} handled it"),
        (WakeOutcome::Absorbed, None) => "another run handled it".to_owned(),
        (WakeOutcome::Cancelled, _) => "a person cancelled it while it was queued".to_owned(),
        (WakeOutcome::RunOpen, _) => "the agent had an unfinished run".to_owned(),
        (other, _) => {
            Refusal::of_code(other.as_str()).map_or_else(|| other.to_string(), |refusal| refusal.to_string())
        }
    }
}

/// What would have to change for another verdict.
fn hint_for(verdict: WakeOutcome) -> Option<String> {
    let refusal = Refusal::of_code(verdict.as_str());
    refusal.and_then(|refusal| refusal.hint()).map(str::to_owned)
}

fn count(count: usize) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}
