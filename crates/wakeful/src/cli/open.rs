//! `wakeful open`: opens the page in a logged-in browser.
//!
//! All users of the machine can read the arguments of a process. Therefore the browser is started with the
//! path of a private file that redirects to the login link.

use std::process::{Command, Stdio};

use clap::Args;
use wakeful_api::client::Client;
use wakeful_api::{CreateLoginLink, CreateLoginPage};

use super::GlobalArgs;
use crate::daemon::files::{DaemonPresence, RunDir};
use crate::discover::client_of;
use crate::failure::Failure;
use crate::show::Out;

#[derive(Debug, Args)]
pub(crate) struct OpenArgs {
    /// Print the link instead of starting a browser; for a browser that cannot read the home, or on another
    /// machine
    #[arg(long)]
    print: bool,
}

pub(crate) async fn open(args: &OpenArgs, shared: &GlobalArgs, out: &Out) -> Result<u8, Failure> {
    let client = client_of_home(shared)?;
    if args.print {
        let link = client.call(&CreateLoginLink {}).await?;
        out.answer(&link, &link.url);
        out.note("the link works once, within one minute");
        return Ok(0);
    }
    let page = client.call(&CreateLoginPage {}).await?;
    if !browse(&page.path) {
        // Otherwise the daemon deletes the file after a minute.
        let _ = std::fs::remove_file(&page.path);
        let hint = "`wakeful open --print` prints a link; open it within one minute";
        return Err(Failure::new(
            "browser_start_failed",
            "could not start a browser",
            hint,
        ));
    }
    out.answer(&page, &format!("opened {}", page.path));
    out.note("if the browser cannot read this file, use `wakeful open --print` to get a link");
    Ok(0)
}

/// A client of the daemon in this home, regardless of its database, because a home has one page.
pub(super) fn client_of_home(shared: &GlobalArgs) -> Result<Client, Failure> {
    let DaemonPresence::Alive(record) = RunDir::of(&shared.home()?).found() else {
        let hint = "start it with `wakeful daemon start`, or with `wakeful serve` in the foreground";
        return Err(Failure::new(
            "daemon_not_running",
            "no daemon runs in this home",
            hint,
        ));
    };
    client_of(&record)
}

/// Asks the desktop to open a file. Whether a browser can read it cannot be determined.
fn browse(path: &str) -> bool {
    let opener = if cfg!(target_os = "macos") {
        "open"
    } else {
        "xdg-open"
    };
    let mut command = Command::new(opener);
    command
        .arg(file_url(path))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

fn file_url(path: &str) -> String {
    let encoded = path.bytes().map(|byte| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'-' | b'_' | b'.' | b'~' => {
            char::from(byte).to_string()
        }
        other => format!("%{other:02X}"),
    });
    format!("file://{}", encoded.collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_with_special_characters_becomes_a_url() {
        assert_eq!(
            file_url("/home/a b/é#?.html"),
            "file:///home/a%20b/%C3%A9%23%3F.html"
        );
    }
}
