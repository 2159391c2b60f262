//! `wakeful open`: a link that logs a browser in, once.

use std::process::{Command, Stdio};

use clap::Args;
use wakeful_api::LoginLink;

use super::Shared;
use crate::daemon::files::{Found, RunFolder};
use crate::failure::Failure;
use crate::reach::client_of;
use crate::show::Out;

#[derive(Debug, Args)]
pub(crate) struct OpenArgs {
    /// Only print the link
    #[arg(long)]
    print: bool,
}

/// Runs the verb.
pub(crate) async fn open(args: &OpenArgs, shared: &Shared, out: &Out) -> Result<u8, Failure> {
    // Whatever its database: there is one page in a home.
    let Found::Alive(record) = RunFolder::of(&shared.home()?).found() else {
        let hint = "`wakeful daemon start` starts one, `wakeful serve` does so in the foreground";
        return Err(Failure::new(
            "daemon_not_running",
            "no daemon runs in this home",
            hint,
        ));
    };
    let link: LoginLink = client_of(&record)?.post("/api/login-links", &()).await?;
    out.answer(&link, &link.url);
    if !args.print && !browse(&link.url) {
        out.note(
            "there is no browser to open here; open the link yourself, it works once and for two minutes",
        );
    }
    Ok(0)
}

/// Asks the desktop to show a page. Whether anybody looks cannot be known.
fn browse(url: &str) -> bool {
    let opener = if cfg!(target_os = "macos") {
        "open"
    } else {
        "xdg-open"
    };
    let mut command = Command::new(opener);
    command
        .arg(url)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}
