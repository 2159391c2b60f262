//! The files that actions with untrusted data may have written, for the person who reviews a folder.

use std::collections::BTreeMap;
use std::fs;
use std::io;

use super::{UntrustedWrites, changed_ms, has_reliable_times, now_ms};

/// Most files that are listed.
pub const FILES_LISTED_MAX: usize = 200;

/// Most files and folders that are examined, so that a review of a large folder takes about a second.
const ENTRIES_MAX: usize = 200_000;

/// A file that an action with untrusted data may have written, and no person has changed since.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UntrustedFile {
    /// Relative to the folder.
    pub path: String,
    pub changed_at_ms: u64,
    /// The run of the newest such action; empty if it is not known.
    pub run: String,
    pub agent: String,
    pub tool: String,
}

/// The files of a folder, by their paths.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UntrustedFiles {
    /// When they were listed. Reviewing the folder until this time forgets nothing that is not listed.
    pub listed_at_ms: u64,
    /// The number of actions.
    pub actions: usize,
    /// At most [`FILES_LISTED_MAX`].
    pub files: Vec<UntrustedFile>,
    /// Whether there are more.
    pub is_truncated: bool,
}

impl UntrustedWrites {
    /// Lists the files. Symbolic links are listed and not followed.
    pub fn list(&self) -> io::Result<UntrustedFiles> {
        let record = self.read()?;
        let mut listed = UntrustedFiles {
            listed_at_ms: now_ms(),
            actions: record.periods.len(),
            ..UntrustedFiles::default()
        };
        if record.periods.is_empty() {
            return Ok(listed);
        }
        let is_every = !has_reliable_times(&self.folder);
        let (mut found, mut waiting, mut examined) = (BTreeMap::new(), vec![self.folder.clone()], 0_usize);
        while let Some(folder) = waiting.pop() {
            for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
                examined += 1;
                if examined > ENTRIES_MAX || found.len() >= FILES_LISTED_MAX {
                    listed.is_truncated = true;
                    listed.files = found.into_values().collect();
                    return Ok(listed);
                }
                let Ok(metadata) = entry.metadata() else { continue };
                if metadata.is_dir() {
                    waiting.push(entry.path());
                    continue;
                }
                let changed_at_ms = changed_ms(&metadata);
                let mut periods = record.periods.iter().rev();
                let period = periods.find(|period| is_every || period.contains(changed_at_ms));
                let path = entry.path();
                let path = path.strip_prefix(&self.folder).unwrap_or(&path);
                let path = path.to_string_lossy().into_owned();
                if let Some(period) = period {
                    let file = UntrustedFile {
                        path: path.clone(),
                        changed_at_ms,
                        run: period.run.clone(),
                        agent: period.agent.clone(),
                        tool: period.tool.clone(),
                    };
                    found.insert(path, file);
                }
            }
        }
        listed.files = found.into_values().collect();
        Ok(listed)
    }
}
