//! The desktop's keyring, used through its own program, because Wakeful does not implement the keyring
//! protocol.

use std::io::{Read as _, Write as _};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use wakeful_models::CREDENTIAL_BYTES_MAX;

/// The command-line program of libsecret.
const PROGRAM: &str = "secret-tool";

/// Maximum run time of the program. A locked keyring prompts a person, which a daemon cannot do.
const WAIT_MS_MAX: u64 = 3_000;

/// How often a running program is checked.
const POLL_MS: u64 = 10;

/// Looks up one key. The error is a reason and never contains the program's output.
pub(super) fn look(service: &str, account: &str) -> Result<String, String> {
    ask(PROGRAM, service, account)
}

/// Stores one key and reads it back. Returns whether the keyring works.
pub(super) fn store(service: &str, account: &str, key: &str) -> bool {
    put(PROGRAM, service, account, key)
        && ask(PROGRAM, service, account).is_ok_and(|found| found.trim() == key)
}

/// Removes one key. A keyring that is gone has none.
pub(super) fn clear(service: &str, account: &str) {
    let words = ["clear", "service", service, "account", account];
    let started = Command::new(PROGRAM)
        .args(words)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    if let Ok(mut child) = started {
        finish(&mut child);
    }
}

/// Passes the key on standard input, because arguments are visible to other processes.
fn put(program: &str, service: &str, account: &str, key: &str) -> bool {
    let label = format!("--label=Wakeful: key of {account}");
    let started = Command::new(program)
        .args(["store", &label, "service", service, "account", account])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    let Ok(mut child) = started else { return false };
    let written = child
        .stdin
        .take()
        .map(|mut input| input.write_all(key.as_bytes()));
    finish(&mut child) && written.is_some_and(|written| written.is_ok())
}

/// Waits for a program that has no output. Returns whether it succeeded in time.
fn finish(child: &mut Child) -> bool {
    for _ in 0..WAIT_MS_MAX / POLL_MS {
        match child.try_wait() {
            Ok(Some(status)) => return status.success(),
            Ok(None) => std::thread::sleep(Duration::from_millis(POLL_MS)),
            Err(_) => break,
        }
    }
    end(child);
    false
}

fn ask(program: &str, service: &str, account: &str) -> Result<String, String> {
    let started = Command::new(program)
        .args(["lookup", "service", service, "account", account])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn();
    let mut child = match started {
        Ok(child) => child,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return Err(format!("no keyring is available: {PROGRAM} is not installed"));
        }
        Err(error) => return Err(format!("{PROGRAM} cannot be started: {error}")),
    };
    let (sender, receiver) = mpsc::channel();
    let output = child.stdout.take();
    // Read in a thread, because a pipe has no timeout. The thread ends when the program does.
    std::thread::spawn(move || {
        let limit = u64::try_from(CREDENTIAL_BYTES_MAX)
            .unwrap_or(u64::MAX)
            .saturating_add(64);
        let mut text = String::new();
        let read = output.map(|output| output.take(limit).read_to_string(&mut text));
        // The receiver is gone after a timeout.
        let _ = sender.send(read.is_some_and(|read| read.is_ok()).then_some(text));
    });
    let heard = receiver.recv_timeout(Duration::from_millis(WAIT_MS_MAX));
    let Ok(text) = heard else {
        end(&mut child);
        return Err(format!(
            "the keyring did not answer within {WAIT_MS_MAX} ms; is it locked?"
        ));
    };
    let succeeded = {
        // A program that has closed its output but still runs is not waited for.
        let ended = child.try_wait().ok().flatten();
        let ended = ended.or_else(|| {
            end(&mut child);
            None
        });
        ended.is_none_or(|status| status.success())
    };
    match text.filter(|text| succeeded && !text.trim().is_empty()) {
        Some(text) => Ok(text),
        None => Err("the keyring has no such entry".to_owned()),
    }
}

fn end(child: &mut Child) {
    // It may have exited already. It is reaped in both cases, so that no zombie stays.
    let _ = child.kill();
    let _ = child.wait();
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn program(script: &str) -> (tempfile::TempDir, String) {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("tool");
        std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).expect("a program");
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o700)).expect("permissions");
        let name = path.display().to_string();
        (folder, name)
    }

    #[test]
    fn the_program_output_is_the_key_and_no_key_has_a_reason() {
        let (_folder, tool) = program("[ \"$*\" = \"lookup service wakeful account openai\" ] && echo sk-1");
        assert_eq!(
            ask(&tool, "wakeful", "openai").map(|key| key.trim().to_owned()),
            Ok("sk-1".to_owned())
        );
        assert!(ask(&tool, "wakeful", "other").is_err_and(|why| why.contains("no such entry")));
        assert!(ask("/nowhere/secret-tool", "a", "b").is_err_and(|why| why.contains("not installed")));
    }

    #[test]
    fn a_key_is_stored_through_standard_input_only() {
        let (folder, tool) =
            program("cat > \"$(dirname \"$0\")/got\"; echo \"$@\" > \"$(dirname \"$0\")/args\"");
        assert!(put(&tool, "wakeful", "openai", "sk-1"));
        let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).expect("a file");
        assert_eq!(read("got"), "sk-1");
        assert_eq!(
            read("args").trim(),
            "store --label=Wakeful: key of openai service wakeful account openai"
        );
        let (_folder, broken) = program("exit 1");
        assert!(!put(&broken, "a", "b", "sk-1") && !put("/nowhere/secret-tool", "a", "b", "sk-1"));
    }

    #[test]
    fn a_program_that_never_ends_is_killed() {
        let (_folder, endless) = program("exec yes sk-secret");
        // Truncated or killed: the result is not a key in either case, because keys are shorter.
        let said = ask(&endless, "a", "b");
        assert!(said.is_err() || said.is_ok_and(|text| text.len() > CREDENTIAL_BYTES_MAX));
    }
}
