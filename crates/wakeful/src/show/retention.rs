//! What retention keeps and removes, in words.

use wakeful_runtime::retention::RetentionRound;
use wakeful_store::rows::DataSize;

/// What a round of retention removed, in a few lines.
pub(crate) fn removed_text(cared: &RetentionRound) -> String {
    let mut lines: Vec<String> = cared
        .pruned
        .iter()
        .map(|(class, taken)| format!("{:<10} {} taken away", class.as_str(), amount(*taken)))
        .collect();
    lines.push(format!(
        "{:<10} {} that nobody named",
        "contents",
        amount(cared.swept)
    ));
    lines.push(format!(
        "{:<10} {} that no row named",
        "files",
        amount(cared.files.removed)
    ));
    if !cared.files.is_all {
        lines.push("some files were left for the next time: a backup is being made".to_owned());
    }
    if !cared.is_done {
        lines.push("it was not finished; the next time goes on".to_owned());
    }
    lines.join("\n")
}

/// Rows and their size.
pub(crate) fn amount(held: DataSize) -> String {
    format!("{} rows with {} KiB", held.rows, held.bytes.div_ceil(1_024))
}
