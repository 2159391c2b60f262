//! Guidance files: `AGENTS.md` of an agent in the home, and `AGENTS.md` or `CLAUDE.md` of a workspace.
//!
//! Only these two folders are searched, never the current directory. The content is sent to a model, so a
//! file counts only if its resolved path is inside its folder.

use std::fs::{self, File, OpenOptions};
use std::future::Future;
use std::io::Read as _;
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::pin::Pin;

use rustix::fs::OFlags;
use wakeful_core::id::AgentId;
use wakeful_core::prompt::{GUIDANCE_BYTES_MAX, Guidance, GuidanceFile, GuidanceKind};
use wakeful_ports::guidance::GuidanceSource;
use wakeful_tools::guidance::{GuidanceLocation, KINDS, reading, register_and_restore};

use crate::failure::Failure;
use crate::system::replace_file;

/// Reads the guidance of the agents of one home.
#[derive(Debug, Clone)]
pub(crate) struct GuidanceFiles {
    home: PathBuf,
}

impl GuidanceFiles {
    pub(crate) fn new(home: &Path) -> Self {
        Self {
            home: home.to_owned(),
        }
    }

    /// The folder of an agent in the home. It may not exist.
    pub(crate) fn agent_home(&self, agent: &AgentId) -> PathBuf {
        self.home.join("agents").join(agent.as_str())
    }

    /// The agent's own instructions as models receive them; `None` without the file.
    pub(crate) fn instructions(&self, agent: &AgentId) -> Result<Option<String>, Failure> {
        let Ok(folder) = self.agent_home(agent).canonicalize() else {
            return Ok(None);
        };
        let path = folder.join(GuidanceKind::AgentsMd.file_name());
        let read = read_under(&folder, &path).map_err(|why| {
            let message = format!("the instructions {} cannot be read: {why}", path.display());
            Failure::new("instructions_unreadable", message, "replace the file")
        })?;
        Ok(read.map(|text| truncated(text, GUIDANCE_BYTES_MAX)))
    }

    /// Replaces the agent's own instructions atomically, or removes them. Only the owner can read the file.
    pub(crate) fn set_instructions(&self, agent: &AgentId, text: Option<&str>) -> Result<(), Failure> {
        let folder = self.agent_home(agent);
        let path = folder.join(GuidanceKind::AgentsMd.file_name());
        let written = match text {
            None => match fs::remove_file(&path) {
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
                removed => removed,
            },
            Some(text) => fs::DirBuilder::new()
                .recursive(true)
                .mode(0o700)
                .create(&folder)
                .and_then(|()| replace_file(&path, text)),
        };
        written.map_err(|error| {
            let attempt = format!("cannot write the instructions {}", path.display());
            let hint = "make the home writable, then repeat `wakeful agent set --instructions`";
            Failure::io("instructions_unwritable", &attempt, &error, hint)
        })
    }

    /// Reads the guidance of the agent and of the workspace.
    pub(crate) fn read(&self, agent: &AgentId, workspace: &Path) -> Guidance {
        let mut notes = Vec::new();
        let agent = first(&self.agent_home(agent), &[GuidanceKind::AgentsMd], &mut notes);
        let workspace = self.of_workspace(workspace, &mut notes);
        Guidance {
            agent,
            workspace,
            notes,
        }
    }

    /// The guidance of a workspace: its files, or their content from before the commands that are now
    /// running.
    fn of_workspace(&self, workspace: &Path, notes: &mut Vec<String>) -> Option<GuidanceFile> {
        let root = workspace.canonicalize().ok()?;
        let kept = match reading(&self.home, &root) {
            GuidanceLocation::Files(_hold) => return first(&root, &KINDS, notes),
            GuidanceLocation::Kept(kept) => kept,
        };
        let mut texts = KINDS.into_iter().zip(kept);
        let (kind, text) = texts.find_map(|(kind, text)| Some((kind, text?)))?;
        let text = text.get(..=GUIDANCE_BYTES_MAX).unwrap_or(&text);
        Some(GuidanceFile {
            path: root.join(kind.file_name()).display().to_string(),
            kind,
            text: String::from_utf8_lossy(text).into_owned(),
        })
    }

    /// Restores guidance files that an interrupted command changed. A file that cannot be restored is not
    /// read.
    fn settle(&self, workspace: &Path) -> Vec<String> {
        let Ok(root) = workspace.canonicalize() else {
            return Vec::new();
        };
        let settled = register_and_restore(&self.home, &root);
        settled.unwrap_or_else(|error| {
            vec![format!(
                "cannot restore the guidance files of {}: {error}",
                root.display()
            )]
        })
    }
}

impl GuidanceSource for GuidanceFiles {
    fn guidance<'a>(
        &'a self,
        agent: &'a AgentId,
        workspace: &'a str,
    ) -> Pin<Box<dyn Future<Output = Guidance> + Send + 'a>> {
        let (here, agent, workspace) = (self.clone(), agent.clone(), PathBuf::from(workspace));
        let reading = tokio::task::spawn_blocking(move || {
            let mut notes = here.settle(&workspace);
            let mut guidance = here.read(&agent, &workspace);
            guidance.notes.append(&mut notes);
            guidance
        });
        Box::pin(async { reading.await.unwrap_or_default() })
    }
}

/// The beginning of a text, at most this many bytes.
fn truncated(mut text: String, most: usize) -> String {
    text.truncate(text.floor_char_boundary(most));
    text
}

/// The first of these files that exists. An unusable file is noted and does not hide the next one: if
/// `AGENTS.md` is a folder, `CLAUDE.md` is used.
fn first(root: &Path, kinds: &[GuidanceKind], notes: &mut Vec<String>) -> Option<GuidanceFile> {
    let root = root.canonicalize().ok()?;
    for kind in kinds {
        let path = root.join(kind.file_name());
        match read_under(&root, &path) {
            Ok(None) => {}
            Ok(Some(text)) => {
                let path = path.display().to_string();
                return Some(GuidanceFile {
                    path,
                    kind: *kind,
                    text,
                });
            }
            Err(why) => notes.push(format!("{} is not read: {why}", path.display())),
        }
    }
    None
}

/// The beginning of a regular file inside a folder; `None` if it does not exist.
fn read_under(root: &Path, path: &Path) -> Result<Option<String>, String> {
    let said = |error: &std::io::Error| error.to_string();
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(said(&error)),
        Ok(_) => {}
    }
    // Checked before opening, because opening a device can have side effects.
    let regular = |found: &fs::Metadata| found.is_file().then_some(()).ok_or("it is not a regular file");
    regular(&fs::metadata(path).map_err(|error| said(&error))?)?;
    // Non-blocking, because it may have become a pipe since the check.
    let flags = OFlags::NONBLOCK | OFlags::NOCTTY;
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(flags.bits().cast_signed())
        .open(path);
    let file = file.map_err(|error| said(&error))?;
    regular(&file.metadata().map_err(|error| said(&error))?)?;
    // Resolved from the open file, because a link may change between check and use.
    let real = fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd())).map_err(|error| said(&error))?;
    if !real.starts_with(root) {
        return Err(format!("it links to a path outside {}", root.display()));
    }
    beginning(file).map(Some).map_err(|error| said(&error))
}

/// Slightly more of a file than a block can hold, so that truncation is detectable.
fn beginning(file: File) -> std::io::Result<String> {
    let limit = u64::try_from(GUIDANCE_BYTES_MAX).unwrap_or(u64::MAX);
    let mut bytes = Vec::new();
    file.take(limit.saturating_add(1)).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    struct Room {
        dir: tempfile::TempDir,
    }

    impl Room {
        fn new() -> Self {
            let dir = tempfile::tempdir().expect("a folder");
            fs::create_dir_all(dir.path().join("home/agents/main")).expect("a home");
            fs::create_dir_all(dir.path().join("work")).expect("a workspace");
            Self { dir }
        }

        fn path(&self, name: &str) -> PathBuf {
            self.dir.path().join(name)
        }

        fn write(&self, name: &str, text: &[u8]) {
            fs::write(self.path(name), text).expect("written");
        }

        fn read(&self) -> Guidance {
            let files = GuidanceFiles::new(&self.path("home"));
            files.read(&AgentId::parse("main").expect("an id"), &self.path("work"))
        }
    }

    // Conformance: H-092
    #[test]
    fn a_workspace_uses_agents_md_or_else_claude_md() {
        for (agents, claude, expected) in [
            (false, false, None),
            (true, false, Some(GuidanceKind::AgentsMd)),
            (false, true, Some(GuidanceKind::ClaudeMd)),
            (true, true, Some(GuidanceKind::AgentsMd)),
        ] {
            let room = Room::new();
            if agents {
                room.write("work/AGENTS.md", b"agents");
            }
            if claude {
                room.write("work/CLAUDE.md", b"claude");
                // `CLAUDE.md` is not read for an agent.
                room.write("home/agents/main/CLAUDE.md", b"claude");
            }
            let read = room.read();
            assert_eq!(read.workspace.as_ref().map(|file| file.kind), expected);
            assert_eq!((read.agent, read.notes.len()), (None, 0));
            if let (Some(file), Some(kind)) = (read.workspace, expected) {
                let path = room.path("work").canonicalize().expect("there");
                assert_eq!(file.path, path.join(kind.file_name()).display().to_string());
            }
        }
    }

    #[test]
    fn a_link_inside_its_folder_is_followed_and_one_outside_is_not() {
        let room = Room::new();
        room.write("secret", b"secret");
        room.write("work/GUIDE.md", b"guide");
        symlink("GUIDE.md", room.path("work/AGENTS.md")).expect("a link");
        symlink("../../../secret", room.path("home/agents/main/AGENTS.md")).expect("a link");
        let read = room.read();
        assert_eq!(read.workspace.expect("guidance").text, "guide");
        assert_eq!(read.agent, None);
        assert!(
            read.notes[0].contains("links to a path outside"),
            "{:?}",
            read.notes
        );
    }

    #[test]
    fn something_other_than_a_file_is_noted_and_never_waited_for() {
        let room = Room::new();
        let made = rustix::fs::mknodat(
            rustix::fs::CWD,
            room.path("work/AGENTS.md"),
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::RWXU,
            0,
        );
        made.expect("a pipe");
        room.write("work/CLAUDE.md", b"claude");
        fs::create_dir(room.path("home/agents/main/AGENTS.md")).expect("a folder");
        let read = room.read();
        assert_eq!(
            read.workspace.expect("the other file").kind,
            GuidanceKind::ClaudeMd
        );
        assert_eq!(read.agent, None);
        assert_eq!(read.notes.len(), 2, "{:?}", read.notes);
        assert!(read.notes.iter().all(|note| note.contains("not a regular file")));
    }

    #[test]
    fn large_files_and_files_that_are_not_text_are_read_within_bounds() {
        let room = Room::new();
        room.write("work/AGENTS.md", &vec![b'x'; 5 * GUIDANCE_BYTES_MAX]);
        room.write("home/agents/main/AGENTS.md", b"one \xff two");
        let read = room.read();
        assert_eq!(
            read.workspace.expect("guidance").text.len(),
            GUIDANCE_BYTES_MAX + 1
        );
        assert_eq!(read.agent.expect("guidance").text, "one \u{fffd} two");
    }
}
