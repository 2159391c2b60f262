//! Changes several files together: either every change is made, or none.
//!
//! All new contents are first written to temporary files beside their targets. Then each takes the place of
//! its target by a rename that keeps the old file under the temporary name. If one step fails, or if a target
//! is not the file that was read, the renames are made undone. A reader never sees half of a file.

use std::io::Write as _;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{
    AtFlags, Mode, RenameFlags, Stat, fchmod, fchown, linkat, renameat, renameat_with, unlinkat,
};
use rustix::fs::{Gid, Uid};
use rustix::io::Errno;
use wakeful_core::key::OperationId;
use wakeful_core::step::ToolError;

use super::beneath::{self, OpenError, SET_ID_BITS};
use super::fault::{fault, named, unopened};
use super::location::Location;
use super::text::{LineCounts, count_lines, is_binary};

/// The permissions of new files; the umask of the process is applied.
const NEW_MODE: u32 = 0o666;

/// Characters of the operation id in a temporary name: enough to be unique in a folder.
const ID_CHARS: usize = 16;

/// A file as it was read.
#[derive(Debug, Clone)]
pub(crate) struct OldFile {
    pub(super) bytes: Vec<u8>,
    pub(super) stat: FileVersion,
}

/// What identifies one version of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FileVersion {
    device: u64,
    inode: u64,
    size: i64,
    modified: (i64, u64),
    mode: u32,
    owner: (u32, u32),
}

impl FileVersion {
    /// The permissions that belong to it.
    pub(super) const fn mode(&self) -> u32 {
        self.mode & 0o777
    }

    #[expect(
        clippy::unnecessary_cast,
        reason = "the types of these fields differ between architectures"
    )]
    pub(super) fn of(stat: &Stat) -> Self {
        Self {
            device: stat.st_dev as u64,
            inode: stat.st_ino as u64,
            size: stat.st_size as i64,
            modified: (stat.st_mtime as i64, stat.st_mtime_nsec as u64),
            mode: stat.st_mode,
            owner: (stat.st_uid, stat.st_gid),
        }
    }
}

/// One change of a file.
#[derive(Debug)]
pub(crate) struct Change {
    /// The field of the call that names the file.
    pub(super) field: &'static str,
    pub(super) location: Location,
    /// The file as it was read; none if it must not exist.
    pub(super) old: Option<OldFile>,
    /// The new contents; none to delete the file.
    pub(super) new: Option<Vec<u8>>,
    /// The permissions; by default those of the replaced file, or the usual ones of a new file.
    pub(super) mode: Option<u32>,
}

impl Change {
    /// The texts before and after; binary contents are replaced by a note.
    pub(super) fn texts(&self) -> [String; 2] {
        let text = |bytes: Option<&[u8]>| match bytes {
            Some(bytes) if is_binary(bytes) => format!("(binary, {} bytes)\n", bytes.len()),
            Some(bytes) => String::from_utf8_lossy(bytes).into_owned(),
            None => String::new(),
        };
        [
            text(self.old.as_ref().map(|old| old.bytes.as_slice())),
            text(self.new.as_deref()),
        ]
    }

    pub(super) fn line_counts(&self) -> LineCounts {
        let [old, new] = self.texts();
        count_lines(&old, &new)
    }

    /// Bytes that the change writes.
    pub(super) fn written_bytes(&self) -> u64 {
        self.new.as_ref().map_or(0, Vec::len) as u64
    }
}

/// A change whose new contents are in a temporary file.
struct Staged<'a> {
    change: &'a Change,
    /// The root, to remove folders that were created.
    root: OwnedFd,
    parent: OwnedFd,
    name: PathBuf,
    temporary: PathBuf,
    /// How many parent folders were created.
    created: u32,
    state: State,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// The temporary file, if any, holds the new contents.
    Staged,
    /// The target holds the new contents, and the temporary file, if any, the old ones.
    Exchanged,
}

/// Makes all changes or none.
pub(super) fn commit(changes: &[Change], operation_id: OperationId) -> Result<(), ToolError> {
    let id: String = operation_id.to_string().chars().take(ID_CHARS).collect();
    let mut staged = Vec::with_capacity(changes.len());
    for (number, change) in changes.iter().enumerate() {
        let result = stage(change, &format!(".wakeful-{id}-{number}.tmp"), &mut staged);
        if let Err(error) = result {
            undo(&mut staged);
            return Err(error);
        }
    }
    for number in 0..staged.len() {
        let Some(one) = staged.get_mut(number) else { break };
        let result = one.exchange();
        if let Err(error) = result {
            let error = one.fault(&error);
            undo(&mut staged);
            return Err(error);
        }
    }
    for one in &staged {
        // What is left under the temporary name is the old file.
        one.remove_temporary();
    }
    Ok(())
}

/// Writes the new contents beside the target.
fn stage<'a>(change: &'a Change, temporary: &str, staged: &mut Vec<Staged<'a>>) -> Result<(), ToolError> {
    let location = &change.location;
    let failed = |error: &OpenError| unopened(change.field, location, error);
    let name = beneath::file_name(&location.relative).ok_or_else(|| failed(&OpenError::Folder))?;
    if !beneath::is_name_short(name) {
        let message = format!("the name of {} is longer than 255 bytes", location.shown);
        return Err(named(
            change.field,
            fault("invalid_arguments", &message, "use a shorter name"),
        ));
    }
    let root = beneath::open_root(&location.root).map_err(|error| failed(&error))?;
    let mut created = 0;
    let parent = beneath::open_parent(&root, &location.relative, &mut created);
    let parent = match parent {
        Ok(parent) => parent,
        Err(error) => {
            remove_folders(&root, &location.relative, created);
            return Err(failed(&error));
        }
    };
    staged.push(Staged {
        change,
        root,
        parent,
        name: name.to_owned(),
        temporary: PathBuf::from(temporary),
        created,
        state: State::Staged,
    });
    let written = staged.last().map_or(Ok(()), Staged::write);
    written.map_err(|error| failed(&error))
}

fn undo(staged: &mut [Staged<'_>]) {
    for one in staged.iter_mut().rev() {
        one.undo();
    }
}

impl Staged<'_> {
    fn write(&self) -> Result<(), OpenError> {
        let Some(bytes) = &self.change.new else {
            return Ok(());
        };
        let mut file = beneath::create_file(&self.parent, &self.temporary)?;
        file.write_all(bytes)?;
        if let Some(old) = &self.change.old {
            let (user, group) = old.stat.owner;
            // An ordinary user cannot give files away, and the file then belongs to the user who runs the agent.
            let _kept = fchown(&file, Some(Uid::from_raw(user)), Some(Gid::from_raw(group)));
        }
        fchmod(&file, Mode::from_raw_mode(self.mode()))?;
        Ok(())
    }

    fn mode(&self) -> u32 {
        match (&self.change.old, self.change.mode) {
            (_, Some(mode)) => mode & 0o777,
            (Some(old), None) => old.stat.mode & 0o777,
            (None, None) => NEW_MODE & !umask(),
        }
    }

    /// Puts the new contents in place of the old ones, and keeps the old ones under the temporary name.
    fn exchange(&mut self) -> Result<(), OpenError> {
        let (parent, name, temporary) = (&self.parent, &self.name, &self.temporary);
        match (&self.change.old, &self.change.new) {
            (None, None) => return Ok(()),
            (None, Some(_)) => put_new(parent, temporary, name)?,
            (Some(_), None) => renameat(parent, name, parent, temporary)?,
            (Some(_), Some(_)) => swap(parent, temporary, name)?,
        }
        self.state = State::Exchanged;
        let Some(old) = &self.change.old else {
            return Ok(());
        };
        let found = beneath::stat_entry(parent, temporary)?;
        let is_same = found.is_some_and(|stat| FileVersion::of(&stat) == old.stat);
        if is_same { Ok(()) } else { Err(OpenError::Changed) }
    }

    fn undo(&mut self) {
        let (parent, name, temporary) = (&self.parent, &self.name, &self.temporary);
        if self.state == State::Exchanged {
            // Each fails only if another program changes the folder at this moment.
            let _undone = match &self.change.old {
                Some(_) => renameat(parent, temporary, parent, name),
                None => renameat(parent, name, parent, temporary),
            };
            self.state = State::Staged;
        }
        if self.change.new.is_some() {
            self.remove_temporary();
        }
        remove_folders(&self.root, &self.change.location.relative, self.created);
    }

    fn remove_temporary(&self) {
        // After a change it holds the old file, and it does not exist where there was none.
        let _missing = unlinkat(&self.parent, &self.temporary, AtFlags::empty());
    }

    fn fault(&self, error: &OpenError) -> ToolError {
        let Change { field, location, .. } = self.change;
        let shown = &location.shown;
        let changed = |message: &str| {
            let fault = fault("file_changed", message, "read it again, then repeat the change");
            ToolError {
                retryable: true,
                ..named(field, fault)
            }
        };
        match error {
            OpenError::Changed => changed(&format!(
                "{shown} changed while it was edited; nothing was written"
            )),
            OpenError::Missing => changed(&format!(
                "{shown} was removed while it was edited; nothing was written"
            )),
            OpenError::Io(cause) if cause.raw_os_error() == Some(Errno::EXIST.raw_os_error()) => {
                changed(&format!("{shown} was created meanwhile; nothing was written"))
            }
            OpenError::Folder
            | OpenError::NotFolder
            | OpenError::NotRegular(_)
            | OpenError::Unsupported
            | OpenError::Io(_) => unopened(field, location, error),
        }
    }
}

/// Gives a file its name, if nothing has that name.
fn put_new(parent: &OwnedFd, temporary: &Path, name: &Path) -> rustix::io::Result<()> {
    match renameat_with(parent, temporary, parent, name, RenameFlags::NOREPLACE) {
        // The file system does not support the flag.
        Err(Errno::INVAL) => {
            linkat(parent, temporary, parent, name, AtFlags::empty())?;
            unlinkat(parent, temporary, AtFlags::empty())
        }
        renamed => renamed,
    }
}

/// Swaps two files.
fn swap(parent: &OwnedFd, temporary: &Path, name: &Path) -> rustix::io::Result<()> {
    match renameat_with(parent, temporary, parent, name, RenameFlags::EXCHANGE) {
        // The file system does not support the flag. A second link keeps the old file meanwhile.
        Err(Errno::INVAL) => {
            let old = temporary.with_extension("old");
            linkat(parent, name, parent, &old, AtFlags::empty())?;
            renameat(parent, temporary, parent, name)?;
            renameat(parent, &old, parent, temporary)
        }
        swapped => swapped,
    }
}

/// Removes the deepest of the parent folders, which this change created and which are empty.
fn remove_folders(root: &OwnedFd, relative: &Path, created: u32) {
    let mut folder = relative.parent();
    for _ in 0..created {
        let Some(path) = folder.filter(|path| !path.as_os_str().is_empty()) else {
            return;
        };
        if let (Ok(Some(parent)), Some(name)) =
            (beneath::existing_parent(root, path), beneath::file_name(path))
        {
            // A folder that another program uses meanwhile is not empty and stays.
            let _used = unlinkat(&parent, name, AtFlags::REMOVEDIR);
        }
        folder = path.parent();
    }
}

/// The permissions that new files do not get.
fn umask() -> u32 {
    static UMASK: std::sync::LazyLock<u32> = std::sync::LazyLock::new(|| {
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("Umask:"));
        line.and_then(|mask| u32::from_str_radix(mask.trim(), 8).ok())
            .unwrap_or(0o022)
    });
    *UMASK
}

/// Reads a file for a change. None if it does not exist.
pub(super) fn read_old(
    field: &str,
    location: &Location,
    bytes_max: u64,
) -> Result<Option<OldFile>, ToolError> {
    let failed = |error: &OpenError| unopened(field, location, error);
    let root = beneath::open_root(&location.root).map_err(|error| failed(&error))?;
    let (file, stat) = match beneath::open_file(&root, &location.relative) {
        Err(OpenError::Missing) => return Ok(None),
        opened => opened.map_err(|error| failed(&error))?,
    };
    if stat.st_mode & SET_ID_BITS != 0 {
        let message = format!("{} has a set-user-id or set-group-id bit", location.shown);
        let hint = "a person must remove the bit first (chmod u-s,g-s)";
        return Err(named(field, fault("set_id_file", &message, hint)));
    }
    let stat = FileVersion::of(&stat);
    let mut bytes = Vec::new();
    let read = std::io::Read::read_to_end(&mut std::io::Read::take(file, bytes_max + 1), &mut bytes);
    read.map_err(|error| failed(&OpenError::Io(error)))?;
    if bytes.len() as u64 > bytes_max {
        let message = format!("{} has more than {} MiB", location.shown, bytes_max >> 20);
        return Err(named(
            field,
            fault("file_too_large", &message, "use ExecCommand for large files"),
        ));
    }
    Ok(Some(OldFile { bytes, stat }))
}
