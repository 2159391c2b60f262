//! The state of daily backups in one line.

use wakeful_api::{BackupMode, BackupStatus};
use wakeful_core::time::Millis;

const MINUTE_MS: u64 = 60_000;
const HOUR_MS: u64 = 60 * MINUTE_MS;
const DAY_MS: u64 = 24 * HOUR_MS;

/// The age of the newest backup, or why there is none.
pub(crate) fn newest_text(backup: &BackupStatus, now: Millis) -> String {
    let newest = backup.newest_at.as_deref().and_then(Millis::parse_rfc3339);
    match (newest, backup.mode) {
        (_, BackupMode::DatabaseServer) => {
            "made by the database server only, not by wakeful: see docs/retention.md".to_owned()
        }
        (Some(newest), mode) => {
            let off = match mode {
                BackupMode::Off => "; daily backups are off",
                BackupMode::Daily | BackupMode::DatabaseServer => "",
            };
            let (count, folder) = (backup.count, &backup.folder);
            format!(
                "newest is {} old ({count} in {folder}){off}",
                age(now.since(newest))
            )
        }
        (None, BackupMode::Daily) => {
            "none yet; a daemon makes one every day on which something changed".to_owned()
        }
        (None, BackupMode::Off) => {
            "off; turn daily backups on with `wakeful config set backup.daily true`".to_owned()
        }
    }
}

/// The failure of the last attempt, if it failed.
pub(crate) fn problem_text(backup: &BackupStatus, now: Millis) -> Option<String> {
    let failed = backup.problem.as_ref()?;
    let at = Millis::parse_rfc3339(&failed.occurred_at).unwrap_or(now);
    Some(format!(
        "failed {} ago: {}",
        age(now.since(at)),
        failed.problem.message
    ))
}

/// A duration in its largest unit.
fn age(ms: u64) -> String {
    let (count, unit) = match ms {
        ..HOUR_MS => (ms / MINUTE_MS, "minute"),
        HOUR_MS..DAY_MS => (ms / HOUR_MS, "hour"),
        DAY_MS.. => (ms / DAY_MS, "day"),
    };
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {unit}{plural}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_age_has_its_largest_unit() {
        for (ms, text) in [
            (0, "0 minutes"),
            (HOUR_MS - 1, "59 minutes"),
            (HOUR_MS, "1 hour"),
            (DAY_MS - 1, "23 hours"),
            (9 * DAY_MS, "9 days"),
        ] {
            assert_eq!(age(ms), text);
        }
    }
}
