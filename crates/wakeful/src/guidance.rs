//! Guidance files: `AGENTS.md` of an agent in the home, and `AGENTS.md` or `CLAUDE.md` of a workspace.
//!
//! They are looked for in these two folders alone, never where a command happens to stand. What they hold goes to a
//! model, so a file counts only if it really lies under its folder.

use std::fs::{self, File, OpenOptions};
use std::future::Future;
use std::io::Read as _;
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::pin::Pin;

use rustix::fs::OFlags;
use wakeful_core::id::AgentId;
use wakeful_core::prompt::{GUIDANCE_BYTES_MAX, Guidance, GuidanceFile, GuidanceKind};
use wakeful_ports::guidance::GuidanceSource;
use wakeful_tools::guidance::{GuidanceLocation, KINDS, reading, settle};

/// Finds the guidance of agents whose home this is.
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

    /// The folder of an agent in the home. It need not be there.
    pub(crate) fn agent_home(&self, agent: &AgentId) -> PathBuf {
        self.home.join("agents").join(agent.as_str())
    }

    /// Reads both roots.
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

    /// The guidance of a workspace: its files, or what stood there before the commands that are under way.
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

    /// Puts back what a command changed that a crash cut off. What cannot be put back is not read either.
    fn settle(&self, workspace: &Path) -> Vec<String> {
        let Ok(root) = workspace.canonicalize() else {
            return Vec::new();
        };
        let settled = settle(&self.home, &root);
        settled.unwrap_or_else(|error| vec![format!("{} cannot be looked after: {error}", root.display())])
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

/// The first of these files that is there. One that is there and cannot be used is noted, and hides no other: where
/// `AGENTS.md` is a folder, `CLAUDE.md` is all the guidance there is.
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

/// The beginning of a regular file that lies under a folder; none when nothing is there.
fn read_under(root: &Path, path: &Path) -> Result<Option<String>, String> {
    let said = |error: &std::io::Error| error.to_string();
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(said(&error)),
        Ok(_) => {}
    }
    // Looked at first, because opening a device may already do something.
    let regular = |found: &fs::Metadata| found.is_file().then_some(()).ok_or("it is no regular file");
    regular(&fs::metadata(path).map_err(|error| said(&error))?)?;
    // Not blocking, because it may have become a pipe since then.
    let flags = OFlags::NONBLOCK | OFlags::NOCTTY;
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(flags.bits().cast_signed())
        .open(path);
    let file = file.map_err(|error| said(&error))?;
    regular(&file.metadata().map_err(|error| said(&error))?)?;
    // Asked of the open file, because a link may be changed between a look at it and its use.
    let real = fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd())).map_err(|error| said(&error))?;
    if !real.starts_with(root) {
        return Err(format!("it leads out of {}", root.display()));
    }
    beginning(file).map(Some).map_err(|error| said(&error))
}

/// As much of a file as a block can hold, and a little more, so that it shows that it was cut.
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

    #[test]
    fn a_workspace_is_guided_by_agents_md_or_else_by_claude_md() {
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
                // Of an agent it is not looked for.
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
    fn a_link_within_its_folder_is_followed_and_one_that_leads_out_is_not() {
        let room = Room::new();
        room.write("secret", b"secret");
        room.write("work/GUIDE.md", b"guide");
        symlink("GUIDE.md", room.path("work/AGENTS.md")).expect("a link");
        symlink("../../../secret", room.path("home/agents/main/AGENTS.md")).expect("a link");
        let read = room.read();
        assert_eq!(read.workspace.expect("guidance").text, "guide");
        assert_eq!(read.agent, None);
        assert!(read.notes[0].contains("leads out of"), "{:?}", read.notes);
    }

    #[test]
    fn what_is_no_file_is_noted_and_never_waited_for() {
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
        assert!(read.notes.iter().all(|note| note.contains("no regular file")));
    }

    #[test]
    fn a_large_file_and_one_that_is_no_text_are_read_within_bounds() {
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
