//! `wakeful runs diff` and `wakeful runs undo`: what a run changed in its workspace, and restoring it.

use std::io::IsTerminal as _;

use clap::Args;
use wakeful_api::{
    FileChangeKind, GetRunChanges, NotCovered, RunChanges, SkipReason, Text, UndoDirection, UndoReport,
    UndoRun,
};
use wakeful_core::key::RunKey;

use crate::backend::{read, write_existing};
use crate::cli::confirm::is_affirmed;
use crate::failure::Failure;
use crate::global_args::GlobalArgs;
use crate::show::Out;

/// Files that are named before a confirmation.
const NAMED_MAX: usize = 20;

#[derive(Debug, Args)]
pub(crate) struct DiffArgs {
    /// Run key or a unique prefix of it
    run: String,
    /// Files and folders of the workspace; all if omitted
    paths: Vec<String>,
    /// Show only the list of changed files
    #[arg(long)]
    stat: bool,
}

#[derive(Debug, Args)]
pub(crate) struct UndoArgs {
    /// Run key or a unique prefix of it
    run: String,
    /// Files and folders of the workspace; all if omitted
    paths: Vec<String>,
    /// Show what would be restored, removed and skipped, without changing anything
    #[arg(long)]
    dry_run: bool,
    /// Undo the undoing: restore the state that the run left
    #[arg(long)]
    redo: bool,
    /// Do not ask for confirmation
    #[arg(long)]
    yes: bool,
}

pub(super) async fn diff(wanted: &DiffArgs, shared: &GlobalArgs, out: &Out) -> Result<(), Failure> {
    let paths: Vec<Option<String>> = match wanted.paths.as_slice() {
        [] => vec![None],
        paths => paths.iter().cloned().map(Some).collect(),
    };
    let found = read(shared, async |backend| {
        let run_key = Text(backend.find_run(&wanted.run).await?);
        let mut all: Option<RunChanges> = None;
        for path in paths {
            let files_only = wanted.stat;
            let part = backend
                .call(GetRunChanges {
                    run_key,
                    path,
                    files_only,
                })
                .await?;
            all = Some(match all {
                None => part,
                Some(all) => joined(all, part),
            });
        }
        Ok(all.unwrap_or_default())
    });
    let changes = found.await?;
    out.pages(&changes, &changes_text(&changes));
    Ok(())
}

fn joined(mut all: RunChanges, part: RunChanges) -> RunChanges {
    all.files.extend(part.files);
    all.files_total += part.files_total;
    all.lines_added += part.lines_added;
    all.lines_removed += part.lines_removed;
    all.diff.push_str(&part.diff);
    all.truncated |= part.truncated;
    all
}

fn changes_text(changes: &RunChanges) -> String {
    if let Some(reason) = &changes.unavailable {
        return format!("the changes of this run were not recorded: {reason}");
    }
    let mut lines = Vec::new();
    for file in &changes.files {
        let sign = match file.change {
            FileChangeKind::Created => "A",
            FileChangeKind::Modified => "M",
            FileChangeKind::Deleted => "D",
        };
        let counts = match (file.lines_added, file.lines_removed) {
            (Some(added), Some(removed)) => format!("+{added} -{removed}"),
            _ => "binary".to_owned(),
        };
        lines.push(format!("{sign} {}  {counts}", file.path));
    }
    lines.push(format!(
        "{} changed in {}, {} added, {} removed",
        counted(changes.files_total, "file"),
        changes.workspace,
        counted(changes.lines_added, "line"),
        counted(changes.lines_removed, "line"),
    ));
    if changes.until_now {
        lines.push(
            "the state at the end of the run is not recorded: these are the changes until now".to_owned(),
        );
    }
    lines.extend(not_covered_text(&changes.not_covered));
    if !changes.diff.is_empty() {
        lines.push(String::new());
        lines.push(changes.diff.trim_end().to_owned());
    }
    if changes.truncated {
        lines.push("… the list or the diff is incomplete: name files to see them".to_owned());
    }
    lines.join("\n")
}

fn counted(count: u64, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

/// A line that says what undoing does not restore.
fn not_covered_text(uncovered: &NotCovered) -> Option<String> {
    if uncovered.count == 0 {
        return None;
    }
    let entries = uncovered.first.iter();
    let named: Vec<String> = entries
        .map(|entry| format!("{} ({})", entry.path, reason_words(entry.reason.as_str())))
        .collect();
    let more = match usize::try_from(uncovered.count).unwrap_or(usize::MAX) > named.len() {
        true => ", …",
        false => "",
    };
    Some(format!("not covered: {}{more}", named.join(", ")))
}

fn reason_words(reason: &str) -> String {
    reason.replace('_', " ")
}

pub(super) async fn undo(wanted: &UndoArgs, shared: &GlobalArgs, out: &Out) -> Result<(), Failure> {
    let request = |run_key: Text<RunKey>, dry_run: bool| UndoRun {
        run_key,
        paths: wanted.paths.clone(),
        dry_run,
        direction: match wanted.redo {
            true => UndoDirection::Redo,
            false => UndoDirection::Undo,
        },
    };
    let planned = write_existing(shared, out, async |backend| {
        let run_key = Text(backend.find_run(&wanted.run).await?);
        Ok((run_key, backend.call(request(run_key, true)).await?))
    });
    let (run_key, plan) = planned.await?;
    if !wanted.paths.is_empty() && is_empty(&plan) {
        return Err(nothing_matched(wanted));
    }
    if wanted.dry_run || plan.restored_total + plan.removed_total == 0 {
        out.answer(&plan, &report_text(&plan));
        return Ok(());
    }
    if !wanted.yes {
        confirm(&plan, out)?;
    }
    let report = write_existing(shared, out, async |backend| {
        backend.call(request(run_key, false)).await
    })
    .await?;
    out.answer(&report, &report_text(&report));
    Ok(())
}

/// Whether a plan has no file of the run.
const fn is_empty(plan: &UndoReport) -> bool {
    plan.restored_total + plan.removed_total + plan.skipped_total + plan.unchanged_total == 0
}

fn nothing_matched(wanted: &UndoArgs) -> Failure {
    let named: Vec<String> = wanted
        .paths
        .iter()
        .map(|path| path.escape_debug().to_string())
        .collect();
    let message = format!("the run changed no file that matches {}", named.join(", "));
    let hint = format!("see what it changed: wakeful runs diff {}", wanted.run);
    Failure::new("no_matching_file", message, hint)
}

fn confirm(plan: &UndoReport, out: &Out) -> Result<(), Failure> {
    let refusal = |hint| {
        Failure::usage(
            "confirmation_missing",
            "files of the workspace would be restored",
            hint,
        )
    };
    if !(std::io::stdin().is_terminal() && std::io::stderr().is_terminal()) {
        return Err(refusal("use --yes to confirm, or --dry-run to see the files"));
    }
    for line in report_text(plan).lines() {
        out.note(line);
    }
    let files = counted(plan.restored_total + plan.removed_total, "file");
    match is_affirmed(&format!("Change {files}?")) {
        true => Ok(()),
        false => Err(refusal("nothing was changed; answer y, or use --yes")),
    }
}

fn report_text(report: &UndoReport) -> String {
    let (restored, removed, skipped) = match report.dry_run {
        true => ("would be restored", "would be removed", "would be skipped"),
        false => ("restored", "removed", "skipped"),
    };
    let mut lines = Vec::new();
    let mut list = |total: u64, word: &str, names: Vec<String>| {
        if total > 0 {
            lines.push(format!("{} {word}:", counted(total, "file")));
            lines.extend(names.iter().take(NAMED_MAX).map(|name| format!("  {name}")));
            if names.len() > NAMED_MAX {
                lines.push("  …".to_owned());
            }
        }
    };
    list(report.restored_total, restored, report.restored.clone());
    list(report.removed_total, removed, report.removed.clone());
    let named = report.skipped.iter().map(|file| {
        let why = match file.reason {
            SkipReason::ChangedSince => "changed since",
            SkipReason::Unwritable => "cannot be written",
        };
        format!("{} ({why})", file.path)
    });
    list(report.skipped_total, skipped, named.collect());
    if report.unchanged_total > 0 {
        lines.push(format!(
            "{} already as wanted",
            counted(report.unchanged_total, "file")
        ));
    }
    lines.extend(not_covered_text(&report.not_covered));
    if lines.is_empty() {
        lines.push("the run changed no file".to_owned());
    }
    lines.join("\n")
}
