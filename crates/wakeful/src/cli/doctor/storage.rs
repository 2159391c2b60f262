//! What an unclean stop, a failing disk or a wrong clock leaves behind, as far as it can be seen without changing
//! anything.

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
use crate::failure::Failure;
use crate::global_args::GlobalArgs;
use crate::home::Home;
use crate::open_home::with_read_only;
use crate::system::RealClock;

/// Databases up to this size are read whole unasked; larger ones take more than some seconds.
const UNASKED_BYTES_MAX: u64 = 1 << 30;

/// How far the newest event may lie ahead: clocks of one machine are corrected by less.
const AHEAD_MS_MAX: i64 = 300_000;

/// How long ago it may be before the clock is doubted.
const BEHIND_MS_MAX: i64 = 5 * 365 * DAY_MS;

/// Most left-behind folders that are counted.
const LEFT_MAX: usize = 10_000;

/// How the last process ended, and whether its log is where it left it.
pub(super) fn stop(home: &Home, use_of_home: HomeUse, mode: DoctorMode) -> Vec<Check> {
    let mut checks = logs(home, use_of_home, mode);
    if use_of_home == HomeUse::Taken {
        return checks;
    }
    let ended = fs::read_to_string(home.root().join("lock")).unwrap_or_default();
    let log = beside(&home.database(), "-wal");
    checks.push(match (ended.trim(), log.exists() || !home.database().exists()) {
        ("", _) => Check::ok("stop", "the last process ended in good order"),
        (pid, true) => Check::warning(
            "stop",
            format!("process {pid} was stopped in the middle"),
            "nothing is lost: `wakeful run --resume`, or a daemon when it starts, goes on from what was committed",
        ),
        (pid, false) => Check::warning(
            "stop",
            format!("process {pid} was stopped in the middle, and {} is not there", log.display()),
            "if somebody removed it, what was committed last is lost: put it back, or restore a backup",
        ),
    });
    checks
}

/// The index of a log without the log: somebody removed it, and what was committed last with it.
fn logs(home: &Home, use_of_home: HomeUse, mode: DoctorMode) -> Vec<Check> {
    let databases = Home::DATABASES.map(|name| home.root().join(name));
    let lost = databases
        .iter()
        .filter(|path| beside(path, "-shm").exists() && !beside(path, "-wal").exists());
    let checks = lost.map(|path| {
        let message = format!(
            "{} was removed, and what was committed last with it",
            beside(path, "-wal").display()
        );
        if use_of_home == HomeUse::Taken {
            let hint = "end the process that works in the home in good order: it still has it, and saves it";
            return Check::problem("log", message, hint);
        }
        let index = beside(path, "-shm");
        let act = || fs::remove_file(&index);
        let mend = Repair {
            deed: "go on with what is left; put the file back or restore a backup if you can instead",
            act: &act,
        };
        Check::mendable("log", &message, mode, &mend)
    });
    let checks: Vec<Check> = checks.collect();
    match checks.is_empty() {
        true => vec![Check::ok("log", "no log was removed")],
        false => checks,
    }
}

/// Private folders of commands whose process is gone.
pub(super) fn scratch(home: &Home, use_of_home: HomeUse, mode: DoctorMode) -> Check {
    let entries = fs::read_dir(home.scratch()).into_iter().flatten();
    let left: Vec<PathBuf> = entries
        .filter_map(Result::ok)
        .filter(|entry| entry.file_name() != quarantine::FOLDER)
        .map(|entry| entry.path())
        .take(LEFT_MAX)
        .collect();
    match (left.len(), use_of_home) {
        (0, _) => Check::ok("scratch", "nothing is left of commands that have ended"),
        (count, HomeUse::Taken) => {
            Check::ok("scratch", format!("folders of commands: {count}, perhaps in use"))
        }
        // Ordinary after a crash, and in nobody's way.
        (count, HomeUse::Free) if mode == DoctorMode::Look => Check::warning(
            "scratch",
            format!("folders that commands left behind: {count}"),
            "`wakeful doctor --fix` would remove them",
        ),
        (count, HomeUse::Free) => {
            let act = || left.iter().try_for_each(|path| remove(path));
            let mend = Repair {
                deed: "remove them",
                act: &act,
            };
            let message = format!("folders that commands left behind: {count}");
            Check::mendable("scratch", &message, mode, &mend)
        }
    }
}

/// Folders of commands that could not be removed when the commands ended.
pub(super) fn quarantined(home: &Home, mode: DoctorMode) -> Option<Check> {
    let left = quarantine::list(&home.scratch());
    let message = format!(
        "folders of commands that could not be removed: {} in {}",
        left.len(),
        home.scratch().join(quarantine::FOLDER).display()
    );
    match (left.is_empty(), mode) {
        (true, _) => None,
        (false, DoctorMode::Look) => Some(Check::warning(
            "quarantine",
            message,
            "`wakeful doctor --fix` tries again; a running daemon does so when it starts",
        )),
        (false, DoctorMode::Fix) => {
            let act = || left.iter().try_for_each(|path| remove(path));
            let mend = Repair {
                deed: "remove them",
                act: &act,
            };
            Some(Check::mendable("quarantine", &message, mode, &mend))
        }
    }
}

fn remove(path: &Path) -> std::io::Result<()> {
    let left = remove_tree::remove(path, RemovalLimits::PATIENT).left;
    left.map_or(Ok(()), |left| Err(left.into()))
}

/// Every page of every database.
pub(super) fn pages(home: &Home, deep: bool) -> Vec<Check> {
    let there = Home::DATABASES
        .iter()
        .filter(|name| home.root().join(name).exists());
    let checks = there.map(|name| {
        let path = home.root().join(name);
        let size = fs::metadata(&path).map_or(0, |found| found.len());
        if size > UNASKED_BYTES_MAX && !deep {
            let message = format!("{name} has {} MiB and was not read whole", size >> 20);
            return Check::warning("pages", message, "`wakeful doctor --deep` reads it whole");
        }
        let depth = if deep {
            CheckDepth::Whole
        } else {
            CheckDepth::Quick
        };
        match check_sqlite(&path, depth, BUSY_MS) {
            Ok(()) => Check::ok("pages", format!("every page of {name} is sound")),
            Err(error) => Check::failure("pages", &Failure::from(error)),
        }
    });
    checks.collect()
}

/// Contents in files, and the clock, held against the database.
pub(super) async fn contents(shared: &GlobalArgs) -> Vec<Check> {
    let looked = with_read_only(shared, async |store| {
        let files = store.inspect_files().await?;
        Ok((files, newest(store).await?))
    });
    let Ok((files, newest)) = looked.await else {
        // Why it cannot be read is told elsewhere.
        return Vec::new();
    };
    let blobs = match (files.missing, files.orphans.rows) {
        (0, 0) => Check::ok(
            "blobs",
            "every file of a blob is named, and every one that is named is there",
        ),
        (0, orphans) => Check::warning(
            "blobs",
            format!(
                "files that nothing names: {orphans}, with {} KiB",
                files.orphans.bytes.div_ceil(1_024)
            ),
            "`wakeful retention run`, or a daemon, removes them when they are a day old",
        ),
        (missing, _) => Check::problem(
            "blobs",
            format!("files that are named and gone: {missing}"),
            "put them back from a backup: it holds them under blobs/",
        ),
    };
    vec![blobs, clock(newest, RealClock::new().now())]
}

/// Every log, content and row, as `wakeful verify` compares them.
pub(super) async fn deep(shared: &GlobalArgs) -> Check {
    let wanted = VerifyOptions {
        contents: true,
        ..VerifyOptions::default()
    };
    let mut flaws = Vec::new();
    let verified = with_read_only(shared, async |store| {
        Ok(verify(store, &wanted, |verdict| flaws.extend(verdict.flaw)).await?)
    });
    let verified = match verified.await {
        Ok(verified) => verified,
        Err(failure) => return Check::failure("contents", &failure),
    };
    let hint = "`wakeful verify` tells all of it; keep the home as it is, and compare it with a backup";
    match (flaws.first(), verified.audit.alterations.first()) {
        (Some(flaw), _) => Check::problem("contents", flaw.to_string(), hint),
        (None, Some(altered)) => Check::problem("contents", altered.to_string(), hint),
        (None, None) => Check::ok("contents", "logs, contents and rows are as they were written"),
    }
}

/// When the newest event of all was written.
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
        return Check::ok("clock", "nothing was written yet that it could be held against");
    };
    let passed = now.0.saturating_sub(newest.0);
    let at = newest.rfc3339();
    if passed < -AHEAD_MS_MAX {
        let message = format!("the newest event is from {at}, which is still to come: the clock went back");
        let hint = "set the clock right; nothing is lost, and nothing young is taken away meanwhile";
        return Check::warning("clock", message, hint);
    }
    if passed > BEHIND_MS_MAX {
        let message = format!("the newest event is from {at}, years ago: the clock may have jumped ahead");
        let hint =
            "set the clock right before anything is written; retention moves on by a week at a time at most";
        return Check::warning("clock", message, hint);
    }
    Check::ok("clock", format!("it goes on from the newest event, of {at}"))
}

fn beside(database: &Path, ending: &str) -> PathBuf {
    let mut name = database.as_os_str().to_owned();
    name.push(ending);
    PathBuf::from(name)
}

#[cfg(test)]
mod tests {
    use super::super::CheckStatus;
    use super::*;

    #[test]
    fn a_clock_that_jumped_ten_years_is_doubted_in_both_directions() {
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
