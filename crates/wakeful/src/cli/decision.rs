//! `wakeful decision`: lists, shows and answers decisions.

use clap::Subcommand;
use wakeful_api::{
    AnswerDecision, Badge, BlastRadius, Channel, Decision, DecisionList, DecisionNotification,
    DecisionStatus, GetDecision, InputGone, ListDecisions, Severity,
};
use wakeful_core::policy::rule_words;

use super::GlobalArgs;
use super::run::ask::{from_source, marked};
use crate::backend::{decision_id, read, refuse_tool_process, write_unlocked};
use crate::config::{self, Overrides};
use crate::failure::{FAILED, Failure, UNDECIDED};
use crate::notify::{DesktopSession, NotificationPayload, notify_targets};
use crate::show::Out;
use crate::show::phrase::{count, shell_word, short};
use crate::show::table::{Column, Table};

#[derive(Debug, Subcommand)]
pub(crate) enum DecisionVerb {
    /// List pending decisions, most urgent first
    List {
        /// Include closed decisions, newest first
        #[arg(long)]
        all: bool,
    },
    /// Show a decision: the question, its options, and the notifications sent for it
    Show {
        /// Decision id or a unique prefix of it
        id: String,
    },
    /// Send a test notification to every configured target
    TestNotifications,
    /// Answer a decision; the waiting run continues
    #[command(disable_version_flag = true)]
    Answer {
        /// Decision id or a unique prefix of it
        id: String,
        /// Id of one of the options, such as `approve` or `deny`
        option: String,
        /// Note to store with the answer; if the answer denies the action, the model reads it
        #[arg(long, value_name = "TEXT")]
        note: Option<String>,
        /// Answer only if the decision still has this version
        #[arg(long, value_name = "N")]
        version: Option<u32>,
    },
}

pub(crate) async fn decision(verb: &DecisionVerb, shared: &GlobalArgs, out: &Out) -> Result<u8, Failure> {
    match verb {
        DecisionVerb::List { all } => {
            let list = read(shared, async |backend| {
                backend.call(ListDecisions { pending: !all }).await
            })
            .await?;
            let none = match all {
                true => "there are no decisions",
                false => "no decisions are pending",
            };
            let words = match list.decisions.is_empty() {
                true => none.to_owned(),
                false => format!(
                    "{}\n\n`wakeful decision show ID` shows a question in full",
                    out.table(&table(&list, out))
                ),
            };
            out.answer(&list, &words);
        }
        DecisionVerb::Show { id } => {
            let asked = GetDecision {
                decision_id: decision_id(id)?,
            };
            let found = read(shared, async |backend| {
                Ok((backend.call(asked).await?, backend.channel()))
            });
            let (found, by) = found.await?;
            out.answer(&found, &in_full(&found, by, out));
        }
        DecisionVerb::TestNotifications => return test_notifications(shared, out).await,
        DecisionVerb::Answer {
            id,
            option,
            note,
            version,
        } => {
            refuse_tool_process()?;
            let answer = AnswerDecision {
                decision_id: decision_id(id)?,
                option: option.clone(),
                note: note.clone(),
                version: *version,
            };
            let told = write_unlocked(shared, out, async |backend| {
                let answered = backend.call(answer).await?;
                Ok((answered, backend.is_daemon()))
            });
            let (answered, has_daemon) = told.await?;
            out.answer(&answered, &answered_words(&answered));
            if !has_daemon {
                out.note(
                    "no daemon is running here; continue the run with `wakeful run --resume` or `wakeful daemon start`",
                );
            }
        }
    }
    Ok(0)
}

/// Sends a test to every target. A daemon runs in another session than this command, so the result may
/// differ for desktop notifications.
async fn test_notifications(shared: &GlobalArgs, out: &Out) -> Result<u8, Failure> {
    let settings = config::load(&shared.home()?, &Overrides::default())?;
    let targets = notify_targets(&settings.config, &DesktopSession::found())?;
    if targets.is_empty() {
        let message = "no notification target is configured, and no desktop session was found";
        let hint = "run `wakeful config set notify.webhook URL`, or see `wakeful help decisions`";
        return Err(Failure::new("notify_not_configured", message, hint));
    }
    let (mut lines, mut sent, mut failed) = (Vec::new(), Vec::new(), 0_u32);
    for target in &targets {
        let (name, error) = (
            target.name(),
            target.send(&NotificationPayload::test()).await.err(),
        );
        failed += u32::from(error.is_some());
        lines.push(match &error {
            None => format!("{name:<9} sent"),
            Some(error) => format!("{name:<9} not sent: {error}"),
        });
        sent.push(serde_json::json!({"target": name, "is_delivered": error.is_none(), "error": error}));
    }
    out.answer(&serde_json::json!({"notifications": sent}), &lines.join("\n"));
    Ok(if failed == 0 { 0 } else { FAILED })
}

const DECISIONS: [Column; 6] = [
    Column::key("DECISION"),
    Column::whole("SEVERITY", 3),
    Column::whole("STATUS", 1),
    Column::whole("ASKED", 2),
    Column::text("AGENT", 4),
    Column::text("QUESTION", 0),
];

fn table(list: &DecisionList, out: &Out) -> Table<6> {
    let row = |one: &Decision| {
        [
            short(&one.decision_id).to_owned(),
            severity(one.severity).to_owned(),
            status(one.status).to_owned(),
            out.at(&one.asked_at),
            one.agent_id.clone(),
            format!("{} {}", one.title, one.input),
        ]
    };
    Table::new(DECISIONS, list.decisions.iter().map(row))
}

/// The meaning of a rule in parentheses; empty if the name is self-explanatory.
fn meaning(rule: &str) -> String {
    rule_words(rule).map_or_else(String::new, |words| format!(" ({words})"))
}

/// What an answer changed.
fn answered_words(one: &Decision) -> String {
    let option = one.answer.as_ref().map(|answer| &answer.option);
    let chosen = one.options.iter().find(|choice| option == Some(&choice.id));
    let label = chosen.map_or_else(
        || option.cloned().unwrap_or_default(),
        |choice| choice.label.clone(),
    );
    format!(
        "answered  {} ({}): {label}\nrun       {} of {} continues",
        short(&one.decision_id),
        one.title,
        short(&one.run_key),
        one.agent_id
    )
}

/// The untrusted text that led to the question, with its sentence marked.
fn evidence_lines(one: &Decision) -> Vec<String> {
    let Some(evidence) = &one.evidence else {
        return Vec::new();
    };
    let head = format!("because   of untrusted text{}", from_source(evidence));
    let text = marked(evidence).into_iter();
    let text = text.map(|(line, _)| format!("          {line}"));
    std::iter::once(head).chain(text).collect()
}

fn in_full(one: &Decision, by: Channel, out: &Out) -> String {
    let late = match one.badges.contains(&Badge::TimedOut) {
        true => ", deadline passed once",
        false => "",
    };
    let mut lines = vec![
        format!("decision  {}", one.decision_id),
        format!("question  {}", one.title),
        format!("status    {} (version {}{late})", status(one.status), one.version),
        format!("tool      {}", one.tool),
        format!("input     {}{}", one.input, rest(one)),
        format!(
            "severity  {}, blast radius {}",
            severity(one.severity),
            blast_radius(one.blast_radius)
        ),
        format!("agent     {}", one.agent_id),
        format!("run       {}", one.run_key),
        format!(
            "asked     {} by rule {}{}",
            out.at(&one.asked_at),
            one.rule,
            meaning(&one.rule)
        ),
        format!("channels  {}", channels(one)),
    ];
    lines.extend(one.targets.iter().map(|target| format!("target    {target}")));
    lines.extend(evidence_lines(one));
    if let Some(diff) = &one.diff {
        lines.push("changes".to_owned());
        lines.extend(diff.lines().map(|line| format!("          {line}")));
    }
    if let (Some(deadline), DecisionStatus::Pending) = (&one.deadline_at, one.status) {
        let then = match one.severity {
            Severity::Critical => "then it is cancelled",
            Severity::Warning | Severity::Low | Severity::Medium | Severity::High => {
                "then its severity increases"
            }
        };
        lines.push(format!("deadline  {} ({then})", out.at(deadline)));
    }
    lines.extend(one.options.iter().map(|option| {
        let recommended = one.recommended_option_id.as_ref() == Some(&option.id);
        let mark = if recommended { " (recommended)" } else { "" };
        format!(
            "option    {}{mark} — {}: {}",
            option.id, option.label, option.description
        )
    }));
    if let Some(answer) = &one.answer {
        let note = answer.note.as_ref().map(|note| format!(": {note}"));
        lines.push(format!(
            "answer    {} by {} {}{}",
            answer.option,
            channel(answer.channel),
            out.at(&answer.at),
            note.unwrap_or_default()
        ));
    }
    lines.extend(one.notifications.iter().map(|sent| notification_line(sent, out)));
    if one.status == DecisionStatus::Pending {
        lines.push(format!("\nanswer it {}", how_to_answer(one, by)));
    }
    lines.join("\n")
}

/// Why the arguments are incomplete; empty if they are complete.
const fn rest(one: &Decision) -> &'static str {
    match (one.input_gone, one.is_input_cut) {
        (Some(InputGone::Erased), _) => "\n          (arguments were erased)",
        (Some(InputGone::Pruned), _) => "\n          (truncated; the rest was deleted by retention)",
        (Some(InputGone::Unreadable), _) => {
            "\n          (truncated; the model reply with the rest cannot be read)"
        }
        (None, true) => "\n          (truncated; `wakeful decision show` shows all of it)",
        (None, false) => "",
    }
}

fn channels(one: &Decision) -> String {
    let words: Vec<&str> = one.may_answer.iter().map(|way| channel(*way)).collect();
    words.join(", ")
}

fn notification_line(one: &DecisionNotification, out: &Out) -> String {
    let (way, severity) = (&one.target, severity(one.severity));
    match (&one.error, one.is_delivered) {
        (_, true) => format!("notified  by {way} {} (as {severity})", out.at(&one.at)),
        (error, false) => format!(
            "not sent  by {way} after {} (as {severity}): {}",
            count(one.attempts, "attempt"),
            error.as_deref().unwrap_or("in progress")
        ),
    }
}

/// Describes how the decision can be answered: with commands to copy if it accepts the command line, otherwise
/// through a channel that it accepts.
fn how_to_answer(one: &Decision, by: Channel) -> String {
    let name = short(&one.decision_id);
    let commands = one
        .options
        .iter()
        .map(|option| format!("`wakeful decision answer {name} {}`", shell_word(&option.id)));
    let takes = |channel| one.may_answer.contains(&channel);
    match (takes(by), takes(Channel::Page)) {
        (true, _) => format!("with {}", commands.collect::<Vec<_>>().join(" or ")),
        (false, true) => "on the page (`wakeful open`); the command line is not accepted".to_owned(),
        (false, false) => format!("by {}; the command line is not accepted", channels(one)),
    }
}

/// The failure of a run that waits for decisions. It lists each question with how to answer it through the
/// current channel; `run` names the run and its agent.
pub(super) fn undecided(run: &str, pending: &[Decision], by: Channel, out: &Out) -> Failure {
    for one in pending {
        let cut = match one.is_input_cut {
            true => format!(
                " (truncated; see `wakeful decision show {}`)",
                short(&one.decision_id)
            ),
            false => String::new(),
        };
        // The hint says how to answer a single one.
        let how = match pending.len() {
            1 => String::new(),
            _ => format!(" — answer it {}", how_to_answer(one, by)),
        };
        out.note(&format!("{} {}{cut}{how}", one.title, one.input));
    }
    let message = match pending.len() {
        1 => format!("{run} waits for a decision"),
        many => format!("{run} waits for {}", count(many, "decision")),
    };
    let hint = match pending {
        [] => "`wakeful decision list` shows the questions".to_owned(),
        [one] => format!("answer it {}", how_to_answer(one, by)),
        [_, ..] if pending.iter().all(|one| one.may_answer.contains(&by)) => {
            "answer each with `wakeful decision answer ID OPTION`".to_owned()
        }
        [_, ..] => "`wakeful decision show ID` shows how to answer each".to_owned(),
    };
    let failure = Failure::new(PENDING, message, hint).with_exit(UNDECIDED);
    failure.with_field("decisions", serde_json::json!(pending))
}

/// Error code of a run that waits for a decision.
const PENDING: &str = "decision_pending";

const fn status(status: DecisionStatus) -> &'static str {
    match status {
        DecisionStatus::Pending => "pending",
        DecisionStatus::Answered => "answered",
        DecisionStatus::Cancelled => "cancelled",
        DecisionStatus::Withdrawn => "withdrawn",
    }
}

const fn severity(severity: Severity) -> &'static str {
    match severity {
        Severity::Warning => "warning",
        Severity::Low => "low",
        Severity::Medium => "medium",
        Severity::High => "high",
        Severity::Critical => "critical",
    }
}

const fn blast_radius(radius: BlastRadius) -> &'static str {
    match radius {
        BlastRadius::Trivial => "trivial",
        BlastRadius::Small => "small",
        BlastRadius::Medium => "medium",
        BlastRadius::Large => "large",
        BlastRadius::Unknown => "unknown",
    }
}

const fn channel(channel: Channel) -> &'static str {
    match channel {
        Channel::Cli => "cli",
        Channel::Api => "api",
        Channel::Page => "page",
    }
}
