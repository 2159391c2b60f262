//! `wakeful restore`: creates a home from a backup. The whole backup is verified before anything is
//! created, and the home is moved into place in one step.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use clap::Args;
use rustix::fs::{CWD, RenameFlags, renameat_with};
use serde_json::json;
use wakeful_core::id::{AgentId, Incarnation};
use wakeful_core::report::payload::AgentStateChanged;
use wakeful_core::report::{EventDraft, SealedEvent};
use wakeful_core::time::Millis;
use wakeful_ports::clock::{Clock as _, Entropy as _};
use wakeful_store::rows::{RunFilter, RunState};
use wakeful_store::{
    BUSY_MS, CheckDepth, DatabaseKind, ROWS_MAX, SCHEMA, SqliteOptions, Store, StoreError, Tx, check_sqlite,
    identify_sqlite, reborn_sqlite,
};
use wakeful_tools::remove_tree::{self, RemovalLimits};

use super::GlobalArgs;
use super::backup::{unusable, unwritable};
use crate::archive::{self, ArchiveContents, ArchiveError};
use crate::denied_paths;
use crate::failure::Failure;
use crate::home::{Home, HomeLock};
use crate::show::Out;
use crate::system::{RealClock, RealEntropy, fresh_id};

#[derive(Debug, Args)]
pub(crate) struct RestoreArgs {
    /// Backup file made by `wakeful backup`
    file: PathBuf,
    /// Replace a home that is not empty; the old home is kept under another name
    #[arg(long)]
    replace: bool,
}

/// The result of a restore.
struct RestoreReport {
    incarnation: Incarnation,
    agents: usize,
    open_runs: usize,
}

pub(crate) async fn restore(args: &RestoreArgs, shared: &GlobalArgs, out: &Out) -> Result<u8, Failure> {
    if shared.database().is_some() {
        return Err(Failure::usage(
            "restore_postgres",
            "`wakeful restore` does not restore PostgreSQL databases",
            "use `pg_restore` or `psql`, or omit --database to restore the home itself",
        ));
    }
    let contents = look(&args.file)?;
    let home = std::path::absolute(shared.home()?).map_err(|error| unwritable(&args.file, &error))?;
    let home = home.canonicalize().unwrap_or(home);
    // The lock is held until the new home is in place, so that no process starts working in the old one.
    let lock = may_replace(&home, args.replace)?;
    let staged = StagedHome::beside(&home)?;
    let restored = fill(&staged, &args.file, &contents).await?;
    let aside = move_in(&staged, &home, lock.is_some())?;
    drop(lock);
    [Some(home.as_path()), aside.as_deref()]
        .into_iter()
        .flatten()
        .for_each(denied_paths::remember);
    restored.tell(&contents, &home, aside.as_deref(), out);
    Ok(0)
}

/// Verifies the whole file before anything is created.
fn look(file: &Path) -> Result<ArchiveContents, Failure> {
    let contents = archive::verify(file).map_err(|bad| unusable(file, &bad))?;
    let schema = contents.about.schema;
    if schema > SCHEMA {
        let message = format!(
            "{}: its database has schema {schema}; this program supports up to {SCHEMA}",
            file.display()
        );
        return Err(Failure::new(
            "backup_newer",
            message,
            "use the newer version of wakeful that made it",
        ));
    }
    if !contents.files.contains_key(Home::DATABASES[0]) {
        let bad = ArchiveError::Damaged(format!("{} is missing", Home::DATABASES[0]));
        return Err(unusable(file, &bad));
    }
    Ok(contents)
}

/// Checks that a home may be created here. Returns the lock of an existing home that is to be replaced.
fn may_replace(home: &Path, replace: bool) -> Result<Option<HomeLock>, Failure> {
    let is_empty = match fs::read_dir(home) {
        Ok(mut entries) => entries.next().is_none(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => true,
        Err(error) => return Err(unwritable(home, &error)),
    };
    match (is_empty, replace) {
        (true, _) => Ok(None),
        (false, false) => Err(Failure::usage(
            "home_not_empty",
            format!("{} is not empty", home.display()),
            "choose an empty home with --home, or use --replace to keep the old home under another name",
        )),
        (false, true) => {
            // Only a Wakeful home is moved, never another folder.
            let home = Home::open(home)?;
            match home.try_lock()? {
                Ok(lock) => Ok(Some(lock)),
                Err(pid) => Err(home
                    .busy(&pid)
                    .with_hint("stop it first, for example with `wakeful daemon stop`")),
            }
        }
    }
}

/// A home under construction next to its target, removed on drop unless it was moved into place.
struct StagedHome {
    folder: PathBuf,
}

impl StagedHome {
    fn beside(home: &Path) -> Result<Self, Failure> {
        let parent = home.parent().unwrap_or(home);
        fs::create_dir_all(parent).map_err(|error| unwritable(parent, &error))?;
        let folder = parent.join(format!(".wakeful-restore-{}", fresh_id()));
        let made = DirBuilder::new().mode(0o700).create(&folder);
        made.map_err(|error| unwritable(&folder, &error))?;
        Ok(Self { folder })
    }
}

impl Drop for StagedHome {
    fn drop(&mut self) {
        // After the move there is nothing left to remove.
        let _left = remove_tree::remove(&self.folder, RemovalLimits::EXTENDED);
    }
}

/// Extracts all files, verifies them, and starts a new incarnation.
async fn fill(
    staged: &StagedHome,
    file: &Path,
    contents: &ArchiveContents,
) -> Result<RestoreReport, Failure> {
    let home = Home::open_or_create(&staged.folder)?;
    let root = home.root().to_owned();
    let place = |name: &str| -> io::Result<File> {
        let path = root.join(name);
        let folder = path.parent().unwrap_or(&root);
        DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(path)
    };
    archive::extract(file, contents, place).map_err(|bad| match bad {
        ArchiveError::Io(error) => unwritable(home.root(), &error),
        bad @ (ArchiveError::Foreign
        | ArchiveError::Development
        | ArchiveError::Newer { .. }
        | ArchiveError::Truncated
        | ArchiveError::Damaged(_)) => unusable(file, &bad),
    })?;
    let damaged = |error: StoreError| damaged(file, error);
    let is_there = |name: &&str| contents.files.contains_key(*name);
    for name in Home::DATABASES.into_iter().filter(is_there) {
        check_sqlite(&home.root().join(name), CheckDepth::Quick, BUSY_MS).map_err(damaged)?;
    }
    let identify = |name: &str, kind: DatabaseKind| {
        let found = identify_sqlite(&home.root().join(name), kind, BUSY_MS);
        found.map_err(|error| not_ours(file, name, error))
    };
    let [agents, journal] = Home::DATABASES;
    let before = identify(agents, DatabaseKind::Agents)?;
    if is_there(&journal) {
        identify(journal, DatabaseKind::Journal)?;
    }
    let store = Store::open_sqlite(&SqliteOptions::new(home.database(), home.blobs()), &fresh_id())?;
    let number = life_number(
        &before.incarnation,
        RealClock::new().now(),
        RealEntropy.random_bytes(),
    );
    // All databases of a home share one incarnation, so that other devices can distinguish its writes from
    // those of the old home.
    for name in Home::DATABASES.into_iter().skip(1).filter(is_there) {
        reborn_sqlite(&home.root().join(name), number).map_err(damaged)?;
    }
    let restored = begin_incarnation(&store, number, &contents.about.made_at).await;
    let missing = store.inspect_files().await?.missing;
    store.close().await?;
    if missing > 0 {
        let bad = ArchiveError::Damaged(format!("{missing} blobs are missing"));
        return Err(unusable(file, &bad));
    }
    sync_tree(home.root()).map_err(|error| unwritable(home.root(), &error))?;
    restored
}

/// Why a database in a backup is rejected.
fn not_ours(file: &Path, name: &str, error: StoreError) -> Failure {
    if let StoreError::NewerSchema { found, known } = error {
        let message = format!(
            "{}: {name} has schema {found}; this program supports up to {known}",
            file.display()
        );
        return Failure::new(
            "backup_newer",
            message,
            "use the newer version of wakeful that made it",
        );
    }
    if matches!(error, StoreError::DevelopmentHome) {
        let problem = Failure::from(error);
        let message = format!("{}: {name}: {}", file.display(), problem.message());
        return Failure::new("development_home", message, "use another backup");
    }
    if matches!(error, StoreError::Foreign) {
        let message = format!("{}: {name} is not the expected Wakeful database", file.display());
        return Failure::new("not_a_backup", message, "use a file made by `wakeful backup`");
    }
    damaged(file, error)
}

fn damaged(file: &Path, error: StoreError) -> Failure {
    let failure = Failure::from(error);
    let message = format!("{}: {}", file.display(), failure.message());
    Failure::new("backup_damaged", message, "use another backup")
}

/// Starts a new incarnation and records it in the log of every agent.
async fn begin_incarnation(store: &Store, number: i64, made_at: &str) -> Result<RestoreReport, Failure> {
    let now = RealClock::new().now();
    let heads = store.read(|view| view.heads()).await?;
    let agents: Vec<(AgentId, [u8; 32])> = heads
        .into_iter()
        .map(|(agent, _)| (agent, RealEntropy.random_bytes()))
        .collect();
    let (count, made_at) = (agents.len(), made_at.to_owned());
    let begun = store.write(move |tx| {
        let life = NewLife {
            incarnation: tx.begin_incarnation(number, now)?,
            backup_made_at: &made_at,
            at: now,
        };
        for (agent, salt) in &agents {
            life.announce(tx, agent, *salt)?;
        }
        Ok(life.incarnation)
    });
    let incarnation = begun.await?;
    let open = RunFilter {
        state: RunState::Open,
        limit: ROWS_MAX,
        ..RunFilter::default()
    };
    let open_runs = store.read(move |view| Ok(view.runs(&open)?.len())).await?;
    Ok(RestoreReport {
        incarnation,
        agents: count,
        open_runs,
    })
}

/// The incarnation of a restored home.
struct NewLife<'a> {
    incarnation: Incarnation,
    backup_made_at: &'a str,
    at: Millis,
}

impl NewLife<'_> {
    fn announce(&self, tx: &mut Tx<'_>, agent: &AgentId, salt: [u8; 32]) -> Result<(), StoreError> {
        let Some(mut head) = tx.lock_head_to_announce(agent)? else {
            return Ok(());
        };
        head.incarnation = self.incarnation.clone();
        let restored = AgentStateChanged::Restored {
            incarnation: self.incarnation.clone(),
            backup_made_at: self.backup_made_at.to_owned(),
        };
        let sealed = SealedEvent::new(EventDraft::new(restored), self.at, None, salt)
            .map_err(|_| StoreError::Malformed("event.payload"))?;
        let event = head.chain(agent, sealed);
        tx.append_event(agent, &event)?;
        tx.put_head(agent, &head)
    }
}

/// Random bits in an incarnation number, because two homes restored from one backup must never share a
/// number.
const CHANCE_BITS: u32 = 20;

/// The next incarnation number: time and random bits, and always greater than the previous number.
fn life_number(before: &str, now: Millis, chance: [u8; 32]) -> i64 {
    let last = before
        .rsplit_once('.')
        .and_then(|(_, number)| number.parse::<i64>().ok());
    let [a, b, c, d, ..] = chance;
    let chance = i64::from(u32::from_le_bytes([a, b, c, d]) % (1 << CHANCE_BITS));
    let fresh = now.0.clamp(0, i64::MAX >> CHANCE_BITS) << CHANCE_BITS | chance;
    fresh.max(last.unwrap_or(0).saturating_add(1))
}

/// Syncs every file before the home is moved into place.
fn sync_tree(root: &Path) -> io::Result<()> {
    let mut waiting = vec![root.to_owned()];
    while let Some(folder) = waiting.pop() {
        for entry in fs::read_dir(&folder)? {
            let entry = entry?;
            match entry.file_type()?.is_dir() {
                true => waiting.push(entry.path()),
                false => File::open(entry.path())?.sync_all()?,
            }
        }
        File::open(folder)?.sync_all()?;
    }
    Ok(())
}

/// Moves the new home into place, and returns where the old one was moved.
fn move_in(staged: &StagedHome, home: &Path, is_replaced: bool) -> Result<Option<PathBuf>, Failure> {
    let parent = home.parent().unwrap_or(home);
    let moved = match is_replaced {
        false => fs::rename(&staged.folder, home).map(|()| None),
        true => exchange(&staged.folder, home, &path_of_old_home(home)).map(Some),
    };
    let moved = moved.map_err(|error| unwritable(home, &error))?;
    let synced = File::open(parent).and_then(|folder| folder.sync_all());
    synced.map_err(|error| unwritable(parent, &error))?;
    Ok(moved)
}

/// Exchanges the homes atomically if the file system supports it, so that a home exists at every moment.
fn exchange(staged: &Path, home: &Path, aside: &Path) -> io::Result<PathBuf> {
    match renameat_with(CWD, staged, CWD, home, RenameFlags::EXCHANGE) {
        Ok(()) => fs::rename(staged, aside)?,
        Err(rustix::io::Errno::INVAL | rustix::io::Errno::NOSYS) => {
            fs::rename(home, aside)?;
            fs::rename(staged, home)?;
        }
        Err(error) => return Err(error.into()),
    }
    Ok(aside.to_owned())
}

fn path_of_old_home(home: &Path) -> PathBuf {
    let at = RealClock::new().now().rfc3339().replace([':', '.'], "-");
    let mut name = home.as_os_str().to_owned();
    name.push(format!(".before-restore-{at}"));
    PathBuf::from(name)
}

impl RestoreReport {
    /// Prints the result.
    fn tell(&self, contents: &ArchiveContents, home: &Path, aside: Option<&Path>, out: &Out) {
        let about = &contents.about;
        let object = json!({
            "home": home, "made_at": about.made_at, "incarnation": self.incarnation,
            "agents": self.agents, "open_runs": self.open_runs, "kept_aside": aside,
            "files": contents.files.len(), "bytes": contents.bytes(), "with_secrets": about.with_secrets,
        });
        let mut lines = vec![format!(
            "{} was restored to its state of {}: agents {}, open runs {}",
            home.display(),
            about.made_at,
            self.agents,
            self.open_runs
        )];
        if let Some(aside) = aside {
            lines.push(format!("the previous home is kept at {}", aside.display()));
        }
        if self.open_runs > 0 {
            lines.push(
                "open runs continue from their state in the backup and repeat what they did since then: check `wakeful runs list \
                    --open`, and cancel unwanted ones with `wakeful runs cancel RUN` before you start a daemon"
                    .to_owned(),
            );
        }
        if !about.with_secrets {
            lines.push("tokens and keys were not included: the daemon creates new ones".to_owned());
        }
        lines.push(
            "check the home with `wakeful doctor`, then start it with `wakeful daemon start`".to_owned(),
        );
        out.answer(&object, &lines.join("\n"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_incarnation_number_is_unique_and_increasing() {
        let now = Millis(1_763_208_000_000);
        let here = life_number("host.1", now, [1; 32]);
        let there = life_number("host.1", now, [2; 32]);
        assert_ne!(here, there, "two homes out of one backup");
        assert!(here > 1 && there > 1);
        let again = life_number(&format!("host.{here}"), Millis(0), [0; 32]);
        assert_eq!(again, here + 1, "also under a clock that went back");
    }
}
