//! Text output of retention: what is kept and what was removed.

use wakeful_runtime::retention::RetentionRound;
use wakeful_store::rows::DataSize;

/// A summary of what a retention round removed.
pub(crate) fn removed_text(cared: &RetentionRound) -> String {
    let mut lines: Vec<String> = cared
        .pruned
        .iter()
        .map(|(class, taken)| format!("{:<10} {} removed", class.as_str(), amount(*taken)))
        .collect();
    lines.push(format!(
        "{:<10} {} without references removed",
        "contents",
        amount(cared.swept)
    ));
    lines.push(format!(
        "{:<10} {} without a row removed",
        "files",
        amount(cared.files.removed)
    ));
    if cared.snapshots > 0 {
        lines.push(format!("{:<10} of {} runs removed", "snapshots", cared.snapshots));
    }
    if !cared.files.is_all {
        lines.push("some files are left for the next round: a backup is in progress".to_owned());
    }
    if !cared.is_done {
        lines.push("not finished; the next round continues".to_owned());
    }
    lines.join("\n")
}

/// A number of rows and their size, as text.
pub(crate) fn amount(held: DataSize) -> String {
    format!("{} rows with {} KiB", held.rows, held.bytes.div_ceil(1_024))
}
