//! Reads single keys: the terminal in raw mode, and a thread that reads it.

use std::io::Write as _;

use rustix::termios::{
    InputModes, LocalModes, OptionalActions, QueueSelector, Termios, tcflush, tcgetattr, tcgetpgrp, tcsetattr,
};
use tokio::sync::mpsc;

use crate::failure::Failure;

/// Bytes per read. A paste arrives in pieces of this size.
const READ_BYTES: usize = 16 * 1024;

/// Reads that may wait to be handled. A paste fills the channel, and the terminal then waits.
const READS_MAX: usize = 8;

/// The terminal marks pasted text, so that it does not act as keys.
const BRACKETED_PASTE_ON: &str = "\u{1b}[?2004h";
const BRACKETED_PASTE_OFF: &str = "\u{1b}[?2004l";

/// The terminal in raw mode; restored when dropped.
pub(crate) struct RawMode {
    before: Termios,
}

impl RawMode {
    pub(crate) fn enter() -> Result<Self, Failure> {
        let failed = |error: rustix::io::Errno| {
            let hint = "run the command in a terminal";
            Failure::io("terminal_unusable", "cannot read keys", &error.into(), hint)
        };
        let stdin = std::io::stdin();
        let before = tcgetattr(&stdin).map_err(failed)?;
        let mut raw = before.clone();
        raw.local_modes -= LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG | LocalModes::IEXTEN;
        // Enter must be distinguishable from Ctrl-J.
        raw.input_modes -= InputModes::ICRNL | InputModes::IXON;
        tcsetattr(&stdin, OptionalActions::Now, &raw).map_err(failed)?;
        write(BRACKETED_PASTE_ON);
        Ok(Self { before })
    }
}

impl Drop for RawMode {
    fn drop(&mut self) {
        write(BRACKETED_PASTE_OFF);
        // If it fails, the terminal is gone.
        let _ = tcsetattr(std::io::stdin(), OptionalActions::Now, &self.before);
    }
}

/// The terminal without echo, so that typed keys do not mix with what is drawn; restored when dropped.
#[derive(Debug)]
pub(crate) struct QuietInput {
    before: Termios,
}

impl QuietInput {
    /// None if standard input is not a terminal, or if this process is in the background: the kernel stops a
    /// background process that changes the terminal.
    pub(crate) fn enter() -> Option<Self> {
        if !is_foreground() {
            return None;
        }
        let before = tcgetattr(std::io::stdin()).ok()?;
        let mut quiet = before.clone();
        quiet.local_modes -= LocalModes::ECHO;
        tcsetattr(std::io::stdin(), OptionalActions::Now, &quiet).ok()?;
        Some(Self { before })
    }
}

impl Drop for QuietInput {
    fn drop(&mut self) {
        if !is_foreground() {
            return;
        }
        let _ = tcsetattr(std::io::stdin(), OptionalActions::Now, &self.before);
    }
}

/// Whether this process may read the terminal at standard input.
pub(crate) fn is_foreground() -> bool {
    tcgetpgrp(std::io::stdin()).is_ok_and(|group| group == rustix::process::getpgrp())
}

/// Starts to read the terminal. The channel closes when the terminal is gone.
pub(crate) fn read_keys() -> mpsc::Receiver<Vec<u8>> {
    let (sender, receiver) = mpsc::channel(READS_MAX);
    // A thread of its own: it may block until the process ends, which the runtime would wait for.
    let _ = std::thread::Builder::new().spawn(move || {
        let mut bytes = vec![0; READ_BYTES];
        while let Ok(count @ 1..) = rustix::io::read(std::io::stdin(), &mut bytes) {
            let read = bytes.get(..count).unwrap_or_default().to_vec();
            if sender.blocking_send(read).is_err() {
                return;
            }
        }
    });
    receiver
}

/// Discards what was typed and not read yet.
pub(crate) fn discard_typed(keys: &mut mpsc::Receiver<Vec<u8>>) {
    let _ = tcflush(std::io::stdin(), QueueSelector::IFlush);
    while keys.try_recv().is_ok() {}
}

fn write(bytes: &str) {
    let _ = std::io::stderr().write_all(bytes.as_bytes());
}
