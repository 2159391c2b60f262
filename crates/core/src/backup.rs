//! Rules of daily backups: their names, when one is due, and which are removed. The daemon makes and removes
//! the files.

use crate::retention::DAY_MS;
use crate::time::Millis;

/// Number of daily backups that are kept by default: one week.
pub const KEEP_DEFAULT: u32 = 7;

/// Largest configurable number: a quarter of a century of daily backups.
pub const KEEP_MAX: u32 = 10_000;

/// Default size limit of all daily backups together: 8 GiB, a few copies of a home with full contents.
pub const MIB_DEFAULT: u32 = 8_192;

/// Free space that a daily backup leaves on its disk: 1 GiB, below which `wakeful doctor` warns.
pub const FREE_BYTES_MIN: u64 = 1 << 30;

/// How long a daemon waits after a failed backup before it tries again.
pub const RETRY_AFTER_MS: i64 = 3_600_000;

const PREFIX: &str = "daily-";
const SUFFIX: &str = ".tar";

/// Returns the file name of a daily backup. It contains no colon, which `tar` would take for a host name.
#[must_use]
pub fn file_name(made_at: Millis) -> String {
    format!("{PREFIX}{}{SUFFIX}", made_at.rfc3339().replace(':', "."))
}

/// Returns when a daily backup was made; none for every other file, which is therefore never removed.
#[must_use]
pub fn made_at(file_name: &str) -> Option<Millis> {
    let text = file_name.strip_prefix(PREFIX)?.strip_suffix(SUFFIX)?;
    let made_at = Millis::parse_rfc3339(&text.replacen('.', ":", 2))?;
    (self::file_name(made_at) == file_name).then_some(made_at)
}

/// A daily backup in its folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StoredBackup {
    pub made_at: Millis,
    pub bytes: u64,
}

/// Sorts backups by age, the oldest first. A backup from the future was made under a wrong clock and comes
/// before all others: it must neither count as the newest nor outlive newer data.
pub fn sort_oldest_first(stored: &mut [StoredBackup], now: Millis) {
    stored.sort_by_key(|backup| (backup.made_at <= now, backup.made_at));
}

/// Returns when the newest backup was made, without those from the future.
#[must_use]
pub fn newest(stored: &[StoredBackup], now: Millis) -> Option<Millis> {
    let made_at = stored.iter().map(|backup| backup.made_at);
    made_at.filter(|made_at| *made_at <= now).max()
}

/// Returns when the next backup is due: a day after the newest one, or after the home was created if there
/// is none. Times in the future come from a wrong clock and do not count.
#[must_use]
pub fn next_due(stored: &[StoredBackup], created_at: Millis, now: Millis) -> Millis {
    match newest(stored, now).or((created_at <= now).then_some(created_at)) {
        Some(last) => Millis(last.0.saturating_add(DAY_MS)),
        None => now,
    }
}

/// How many daily backups are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BackupLimit {
    pub keep: u32,
    /// 0 means no size limit.
    pub mib: u32,
}

impl BackupLimit {
    /// Returns how many of the oldest backups exceed the number or the size. The newest one always stays.
    #[must_use]
    pub fn surplus(self, oldest_first: &[StoredBackup]) -> usize {
        let keep = usize::try_from(self.keep).unwrap_or(usize::MAX);
        let bytes_max = match self.mib {
            0 => u64::MAX,
            mib => u64::from(mib) << 20,
        };
        let (mut kept, mut bytes) = (0_usize, 0_u64);
        for backup in oldest_first.iter().rev() {
            bytes = bytes.saturating_add(backup.bytes);
            if kept > 0 && (kept >= keep || bytes > bytes_max) {
                break;
            }
            kept += 1;
        }
        oldest_first.len().saturating_sub(kept)
    }
}

/// Returns how many of the oldest backups must be removed before another one of `needed` bytes fits on the
/// disk. None if it does not fit without the removal of the newest one.
#[must_use]
pub fn make_room(oldest_first: &[StoredBackup], needed: u64, free: u64) -> Option<usize> {
    let wanted = needed.saturating_add(FREE_BYTES_MIN);
    let (mut free, mut removed) = (free, 0);
    let removable = oldest_first.len().saturating_sub(1);
    for backup in oldest_first.iter().take(removable) {
        if free >= wanted {
            break;
        }
        free = free.saturating_add(backup.bytes);
        removed += 1;
    }
    (free >= wanted).then_some(removed)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const NOON: Millis = Millis(1_763_467_200_000);

    fn backup(made_at: i64, bytes: u64) -> StoredBackup {
        let made_at = Millis(made_at);
        StoredBackup { made_at, bytes }
    }

    fn backups() -> impl Strategy<Value = Vec<StoredBackup>> {
        prop::collection::vec((-3_000_i64..3_000, 0_u64..4 << 30), 0..12).prop_map(|all| {
            let mut stored: Vec<_> = all.into_iter().map(|(at, bytes)| backup(at, bytes)).collect();
            sort_oldest_first(&mut stored, Millis(0));
            stored
        })
    }

    fn bytes(stored: &[StoredBackup]) -> u64 {
        stored.iter().map(|backup| backup.bytes).sum()
    }

    #[test]
    fn a_name_has_no_colon_and_tells_the_time() {
        let name = file_name(NOON);
        assert_eq!(name, "daily-2025-11-18T12.00.00.000Z.tar");
        assert_eq!(made_at(&name), Some(NOON));
    }

    #[test]
    fn a_file_with_another_name_is_not_a_daily_backup() {
        for name in [
            "wakeful.tar",
            "daily-.tar",
            "daily-2025-11-18.tar",
            "daily-2025-11-18T12.00.00Z.tar",
            "daily-2025-11-18T12:00:00.000Z.tar",
            "daily-2025-11-18T12.00.00.000Z.tar.gz",
            "my-daily-2025-11-18T12.00.00.000Z.tar",
        ] {
            assert_eq!(made_at(name), None, "{name}");
        }
    }

    #[test]
    fn a_backup_is_due_a_day_after_the_newest_one() {
        let created_at = Millis(NOON.0 - 9 * DAY_MS);
        let newest = NOON.0 - 3_600_000;
        let stored = [backup(newest - DAY_MS, 1), backup(newest, 1)];
        assert_eq!(next_due(&stored, created_at, NOON), Millis(newest + DAY_MS));
    }

    #[test]
    fn a_new_home_is_backed_up_after_its_first_day() {
        let created_at = Millis(NOON.0 - 1);
        assert_eq!(next_due(&[], created_at, NOON), Millis(created_at.0 + DAY_MS));
    }

    #[test]
    fn times_in_the_future_delay_no_backup() {
        let future = NOON.0 + 3_650 * DAY_MS;
        assert_eq!(next_due(&[backup(future, 1)], Millis(future), NOON), NOON);
    }

    #[test]
    fn a_backup_from_the_future_is_removed_first() {
        let mut stored = [backup(NOON.0 + 1, 1), backup(NOON.0, 1), backup(NOON.0 - 1, 1)];
        sort_oldest_first(&mut stored, NOON);
        assert_eq!(stored.map(|backup| backup.made_at.0 - NOON.0), [1, -1, 0]);
    }

    proptest! {
        #[test]
        fn every_time_survives_its_file_name(at in Millis::MIN.0..=Millis::MAX.0) {
            prop_assert_eq!(made_at(&file_name(Millis(at))), Some(Millis(at)));
        }

        #[test]
        fn a_backup_made_now_delays_the_next_by_a_day(stored in backups(), created_at: i64) {
            let with_new = [stored, vec![backup(0, 1)]].concat();
            prop_assert_eq!(next_due(&with_new, Millis(created_at), Millis(0)), Millis(DAY_MS));
        }

        #[test]
        fn removal_keeps_the_newest_and_only_what_fits(stored in backups(), keep in 1_u32..9, mib in 0_u32..9_000) {
            let limit = BackupLimit { keep, mib };
            let fits = |kept: &[StoredBackup]| {
                kept.len() <= 1 || kept.len() <= keep as usize && (mib == 0 || bytes(kept) <= u64::from(mib) << 20)
            };
            let surplus = limit.surplus(&stored);
            prop_assert!(fits(&stored[surplus..]));
            prop_assert_eq!(stored[surplus..].last(), stored.last());
            prop_assert!(surplus == 0 || !fits(&stored[surplus - 1..]), "one more would fit");
        }

        #[test]
        fn room_is_made_without_the_newest_backup(stored in backups(), needed in 0_u64..8 << 30, free in 0_u64..8 << 30) {
            let fits = |removed: usize| free + bytes(&stored[..removed]) >= needed + FREE_BYTES_MIN;
            let most = stored.len().saturating_sub(1);
            let least = (0..=most).find(|removed| fits(*removed));
            prop_assert_eq!(make_room(&stored, needed, free), least);
        }
    }
}
