//! The program in a pseudo-terminal, and what a person would see there.

use std::fs::{File, OpenOptions};
use std::io::{Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

use super::home_fixture::{TestHome, program, wait_until};

pub(super) const CTRL_C: &str = "\u{3}";
pub(super) const CTRL_D: &str = "\u{4}";

/// A terminal in which the program runs.
pub(super) struct Terminal {
    keyboard: File,
    child: Child,
    bytes: Arc<Mutex<Vec<u8>>>,
    /// Ends when every process has closed the terminal and all bytes are read.
    reader: JoinHandle<()>,
}

impl Terminal {
    /// Starts the program in a terminal of this width, in a folder that the operator trusts. `variables` are added to
    /// its environment.
    pub(super) fn start(home: &TestHome, columns: u16, variables: &[(&str, &str)], args: &[&str]) -> Self {
        let folder = home.workspace();
        let trusted = home.wakeful(&["trust", "add", &folder.to_string_lossy()]);
        assert_eq!(trusted.code, Some(0), "{trusted:?}");
        Self::start_new(home, columns, variables, args)
    }

    /// The same in a folder without an answer.
    pub(super) fn start_new(
        home: &TestHome,
        columns: u16,
        variables: &[(&str, &str)],
        args: &[&str],
    ) -> Self {
        let mut command = home.command(Path::new("setsid"));
        command.arg("--ctty").arg(program()).args(args);
        command.env("TERM", "xterm").env("LANG", "C.UTF-8");
        command.envs(variables.iter().copied());
        Self::of_command(command, columns)
    }

    /// Starts the program in a terminal of this width and in this folder.
    pub(super) fn start_in(home: &TestHome, folder: &Path, columns: u16, args: &[&str]) -> Self {
        let mut command = home.command(Path::new("setsid"));
        command.arg("--ctty").arg(program()).args(args);
        command.env("TERM", "xterm").env("LANG", "C.UTF-8");
        command.current_dir(folder);
        Self::of_command(command, columns)
    }

    /// Starts a command. It must become the leader of a session whose terminal this is, so that Ctrl-C reaches it.
    fn of_command(mut command: Command, columns: u16) -> Self {
        let keyboard = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a pseudo-terminal");
        grantpt(&keyboard).expect("granted");
        unlockpt(&keyboard).expect("unlocked");
        let name = ptsname(&keyboard, Vec::new()).expect("a name");
        let screen = OpenOptions::new()
            .read(true)
            .write(true)
            .open(name.to_str().expect("a path"))
            .expect("the terminal");
        let size = Winsize {
            ws_row: 50,
            ws_col: columns,
            ws_xpixel: 0,
            ws_ypixel: 0,
        };
        tcsetwinsize(&screen, size).expect("a size");
        let stdio = || Stdio::from(OwnedFd::from(screen.try_clone().expect("a descriptor")));
        command.stdin(stdio()).stdout(stdio()).stderr(stdio());
        let child = command.spawn().expect("the program starts");
        let bytes = Arc::new(Mutex::new(Vec::new()));
        let (mut reader, seen) = (
            File::from(keyboard.try_clone().expect("a copy")),
            Arc::clone(&bytes),
        );
        let reader = std::thread::spawn(move || {
            let mut chunk = [0; 4_096];
            // An error means that the program has closed the terminal.
            while let Ok(count @ 1..) = reader.read(&mut chunk) {
                let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
                seen.extend_from_slice(&chunk[..count]);
            }
        });
        Self {
            keyboard: keyboard.into(),
            child,
            bytes,
            reader,
        }
    }

    /// Presses keys.
    pub(super) fn press(&mut self, keys: &str) {
        self.keyboard.write_all(keys.as_bytes()).expect("typed");
    }

    /// Waits until a text is on the screen.
    pub(super) fn wait_for(&self, text: &str) {
        let mut tries = 0;
        wait_until(|| {
            tries += 1;
            assert!(tries < 3_900, "{text:?} never came:\n{}", self.screen());
            self.screen().contains(text)
        });
    }

    /// Everything that was written, as it looks: rows that were drawn again count once.
    pub(super) fn screen(&self) -> String {
        let bytes = self.raw();
        let mut rows = vec![String::new()];
        let mut at = 0;
        let mut rest = bytes.as_str();
        while let Some(c) = rest.chars().next() {
            rest = &rest[c.len_utf8()..];
            match c {
                '\n' => {
                    at += 1;
                    if at == rows.len() {
                        rows.push(String::new());
                    }
                }
                '\u{1b}' => {
                    let Some(end) = rest.find(|c: char| c.is_ascii_alphabetic()) else {
                        break;
                    };
                    let (sequence, after) = rest.split_at(end + 1);
                    rest = after;
                    let number: usize = sequence[1..end].parse().unwrap_or(0);
                    match sequence.chars().last() {
                        Some('A') => at = at.saturating_sub(number),
                        Some('J') => {
                            rows.truncate(at);
                            rows.push(String::new());
                        }
                        _ => {}
                    }
                }
                '\r' => {}
                c => rows[at].push(c),
            }
        }
        rows.join("\n")
    }

    /// The bytes that the program wrote.
    pub(super) fn raw(&self) -> String {
        let bytes = self.bytes.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// Whether the program is still running.
    pub(super) fn is_running(&mut self) -> bool {
        self.child.try_wait().expect("a status").is_none()
    }

    pub(super) fn kill(&mut self) {
        self.child.kill().expect("kill -9");
        self.child.wait().expect("gone");
    }

    /// Waits for the end of the program and for its last words; its exit status.
    pub(super) fn exit(mut self) -> (Option<i32>, String) {
        wait_until(|| !self.is_running() && self.reader.is_finished());
        let code = self.child.wait().expect("a status").code();
        (code, self.screen())
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
