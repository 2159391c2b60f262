//! Checks for the effects of an unclean stop, a failing disk or a wrong clock, without changing anything.

use std::fs;
use std::path::{Path, PathBuf};

use wakeful_core::retention::DAY_MS;
use wakeful_core::time::Millis;
use wakeful_ports::clock::Clock as _;
use wakeful_runtime::proof::{VerifyOptions, verify};
use wakeful_store::{BUSY_MS, CheckDepth, Store, check_sqlite};
use wakeful_tools::quarantine;
use wakeful_tools::remove_tree::{self, RemovalLimits};

use super::files::HomeUse;
use super::{Check, DoctorMode, Repair};
use crate::config::Settings;
use crate::daemon::backup::BackupFolder;
use crate::failure::Failure;
use crate::global_args::GlobalArgs;
use crate::home::Home;
use crate::open_home::with_read_only;
use crate::show::backup::{newest_text, problem_text};
use crate::system::RealClock;

/// Databases up to this size are read completely by default; larger ones take more than a few seconds.
const UNASKED_BYTES_MAX: u64 = 1 << 30;

/// How far the newest event may be in the future; clock corrections on one machine are smaller.
const AHEAD_MS_MAX: i64 = 300_000;

/// Age of the newest event above which the clock is suspect.
const BEHIND_MS_MAX: i64 = 5 * 365 * DAY_MS;

/// Maximum number of leftover folders that are counted.
const LEFT_MAX: usize = 10_000;

/// How the last process ended, and whether its write-ahead log still exists.
pub(super) fn stop(home: &Home, use_of_home: HomeUse, mode: DoctorMode) -> Vec<Check> {
    let mut checks = logs(home, use_of_home, mode);
    if use_of_home == HomeUse::Taken {
        return checks;
    }
    let ended = fs::read_to_string(home.root().join("lock")).unwrap_or_default();
    let log = beside(&home.database(), "-wal");
    checks.push(match (ended.trim(), log.exists() || !home.database().exists()) {
        ("", _) => Check::ok("stop", "the last process ended normally"),
        (pid, true) => Check::warning(
            "stop",
            format!("process {pid} was interrupted"),
            "no data is lost: `wakeful run --resume`, or a daemon when it starts, continues from the last commit",
        ),
        (pid, false) => Check::warning(
            "stop",
            format!("process {pid} was interrupted, and {} is missing", log.display()),
            "if the file was removed, the last commits are lost: put it back, or restore a backup",
        ),
    });
    checks
}

/// Finds a WAL index without its WAL: the WAL was removed, and the last commits with it.
fn logs(home: &Home, use_of_home: HomeUse, mode: DoctorMode) -> Vec<Check> {
    let databases = Home::DATABASES.map(|name| home.root().join(name));
    let lost = databases
        .iter()
        .filter(|path| beside(path, "-shm").exists() && !beside(path, "-wal").exists());
    let checks = lost.map(|path| {
        let message = format!(
            "{} was removed, and the last commits with it",
            beside(path, "-wal").display()
        );
        if use_of_home == HomeUse::Taken {
            let hint = "stop the process that uses the home normally: it still has the file open and saves its contents";
            return Check::problem("log", message, hint);
        }
        let index = beside(path, "-shm");
        let act = || fs::remove_file(&index);
        let mend = Repair {
            description: "continue with the remaining data; if possible, put the file back or restore a backup instead",
            act: &act,
        };
        Check::repairable("log", &message, mode, &mend)
    });
    let checks: Vec<Check> = checks.collect();
    match checks.is_empty() {
        true => vec![Check::ok("log", "no write-ahead log was removed")],
        false => checks,
    }
}

/// Scratch folders of commands whose process has ended.
pub(super) fn scratch(home: &Home, use_of_home: HomeUse, mode: DoctorMode) -> Check {
    let entries = fs::read_dir(home.scratch()).into_iter().flatten();
    let left: Vec<PathBuf> = entries
        .filter_map(Result::ok)
        .filter(|entry| entry.file_name() != quarantine::FOLDER)
        .map(|entry| entry.path())
        .take(LEFT_MAX)
        .collect();
    match (left.len(), use_of_home) {
        (0, _) => Check::ok("scratch", "no folders are left from finished commands"),
        (count, HomeUse::Taken) => Check::ok("scratch", format!("command folders: {count}, possibly in use")),
        // Leftover folders are normal after a crash and harmless.
        (count, HomeUse::Free) if mode == DoctorMode::Look => Check::warning(
            "scratch",
            format!("folders left by commands: {count}"),
            "`wakeful doctor --fix` would remove them",
        ),
        (count, HomeUse::Free) => {
            let act = || left.iter().try_for_each(|path| remove(path));
            let mend = Repair {
                description: "remove them",
                act: &act,
            };
            let message = format!("folders left by commands: {count}");
            Check::repairable("scratch", &message, mode, &mend)
        }
    }
}

/// Folders of commands that could not be removed when the commands ended.
pub(super) fn quarantined(home: &Home, mode: DoctorMode) -> Option<Check> {
    let left = quarantine::list(&home.scratch());
    let message = format!(
        "command folders that could not be removed: {} in {}",
        left.len(),
        home.scratch().join(quarantine::FOLDER).display()
    );
    match (left.is_empty(), mode) {
        (true, _) => None,
        (false, DoctorMode::Look) => Some(Check::warning(
            "quarantine",
            message,
            "`wakeful doctor --fix` tries again; a daemon does so when it starts",
        )),
        (false, DoctorMode::Fix) => {
            let act = || left.iter().try_for_each(|path| remove(path));
            let mend = Repair {
                description: "remove them",
                act: &act,
            };
            Some(Check::repairable("quarantine", &message, mode, &mend))
        }
    }
}

fn remove(path: &Path) -> std::io::Result<()> {
    let left = remove_tree::remove(path, RemovalLimits::EXTENDED).left;
    left.map_or(Ok(()), |left| Err(left.into()))
}

/// Checks every page of every database.
pub(super) fn pages(home: &Home, deep: bool) -> Vec<Check> {
    let there = Home::DATABASES
        .iter()
        .filter(|name| home.root().join(name).exists());
    let checks = there.map(|name| {
        let path = home.root().join(name);
        let size = fs::metadata(&path).map_or(0, |found| found.len());
        if size > UNASKED_BYTES_MAX && !deep {
            let message = format!("{name} has {} MiB and was not read completely", size >> 20);
            return Check::warning("pages", message, "`wakeful doctor --deep` reads it completely");
        }
        let depth = if deep {
            CheckDepth::Whole
        } else {
            CheckDepth::Quick
        };
        match check_sqlite(&path, depth, BUSY_MS) {
            Ok(()) => Check::ok("pages", format!("every page of {name} is intact")),
            Err(error) => Check::failure("pages", &Failure::from(error)),
        }
    });
    checks.collect()
}

/// Compares blob files and the clock with the database.
pub(super) async fn contents(shared: &GlobalArgs) -> Vec<Check> {
    let looked = with_read_only(shared, async |store| {
        let files = store.inspect_files().await?;
        Ok((files, newest(store).await?))
    });
    let Ok((files, newest)) = looked.await else {
        // Another check reports why the database cannot be read.
        return Vec::new();
    };
    let blobs = match (files.missing, files.orphans.rows) {
        (0, 0) => Check::ok(
            "blobs",
            "every blob file is referenced, and every referenced blob file exists",
        ),
        (0, orphans) => Check::warning(
            "blobs",
            format!(
                "unreferenced files: {orphans}, with {} KiB",
                files.orphans.bytes.div_ceil(1_024)
            ),
            "`wakeful retention run`, or a daemon, removes them when they are a day old",
        ),
        (missing, _) => Check::problem(
            "blobs",
            format!("referenced files that are missing: {missing}"),
            "restore them from a backup, which contains them under blobs/",
        ),
    };
    vec![blobs, clock(newest, RealClock::new().now())]
}

/// Verifies every log, blob and row as `wakeful verify` does.
pub(super) async fn deep(shared: &GlobalArgs) -> Check {
    let wanted = VerifyOptions {
        contents: true,
        ..VerifyOptions::default()
    };
    let mut flaws = Vec::new();
    let verified = with_read_only(shared, async |store| {
        Ok(verify(store, &wanted, |verdict| flaws.extend(verdict.first_error)).await?)
    });
    let verified = match verified.await {
        Ok(verified) => verified,
        Err(failure) => return Check::failure("contents", &failure),
    };
    let hint = "`wakeful verify` shows all problems; leave the home unchanged, and compare it with a backup";
    match (flaws.first(), verified.audit.alterations.first()) {
        (Some(flaw), _) => Check::problem("contents", flaw.to_string(), hint),
        (None, Some(altered)) => Check::problem("contents", altered.to_string(), hint),
        (None, None) => Check::ok("contents", "logs, contents and rows are unchanged"),
    }
}

/// Time of the newest event in the database.
async fn newest(store: &Store) -> Result<Option<Millis>, Failure> {
    let newest = store.read(|view| {
        let mut newest = None;
        for (agent, last) in view.heads()? {
            let events = view.events_before(&agent, last.saturating_add(1), 1)?;
            newest = newest.max(events.last().map(|event| event.at));
        }
        Ok(newest)
    });
    Ok(newest.await?)
}

fn clock(newest: Option<Millis>, now: Millis) -> Check {
    let Some(newest) = newest else {
        return Check::ok("clock", "there are no events yet to compare the clock with");
    };
    let passed = now.0.saturating_sub(newest.0);
    let at = newest.rfc3339();
    if passed < -AHEAD_MS_MAX {
        let message =
            format!("the newest event is from {at}, which is in the future: the clock was set back");
        let hint = "correct the clock; no data is lost, and retention deletes nothing early in the meantime";
        return Check::warning("clock", message, hint);
    }
    if passed > BEHIND_MS_MAX {
        let message = format!("the newest event is from {at}, years ago: the clock may have jumped ahead");
        let hint =
            "correct the clock before anything is written; retention advances by at most one week at a time";
        return Check::warning("clock", message, hint);
    }
    Check::ok(
        "clock",
        format!("the clock is consistent with the newest event, from {at}"),
    )
}

fn beside(database: &Path, ending: &str) -> PathBuf {
    let mut name = database.as_os_str().to_owned();
    name.push(ending);
    PathBuf::from(name)
}

/// Reports the newest daily backup, and warns after a failed one.
pub(super) fn backups(home: &Home, config: &Settings, shared: &GlobalArgs) -> Check {
    let folder = BackupFolder::of(home.root(), &config.backup);
    let backup = match shared.database() {
        None => folder.status(),
        Some(_) => folder.with_database_server().status(),
    };
    let now = RealClock::new().now();
    let newest = newest_text(&backup, now);
    match (problem_text(&backup, now), &backup.problem) {
        (Some(failed), Some(problem)) => {
            Check::warning("backup", format!("{failed}; {newest}"), &problem.problem.hint)
        }
        (_, _) => Check::ok("backup", newest),
    }
}

#[cfg(test)]
mod tests {
    use super::super::CheckStatus;
    use super::*;

    #[test]
    fn a_clock_jump_of_ten_years_is_reported_in_both_directions() {
        let now = Millis(20_000 * DAY_MS);
        let status = |days: i64| clock(Some(Millis(now.0 - days * DAY_MS)), now).status;
        assert_eq!([status(0), status(400)], [CheckStatus::Ok, CheckStatus::Ok]);
        assert_eq!(
            [status(3_650), status(-3_650)],
            [CheckStatus::Warning, CheckStatus::Warning]
        );
        assert_eq!(clock(None, now).status, CheckStatus::Ok);
    }
}
