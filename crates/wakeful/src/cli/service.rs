//! `wakeful service`: runs the daemon as a systemd user service.

mod unit;

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use clap::Subcommand;
use serde_json::json;

use self::unit::{MARK, unit};
use super::{GlobalArgs, variable};
use crate::failure::{FAILED, Failure};
use crate::show::Out;

const UNIT: &str = "wakeful.service";

#[derive(Debug, Subcommand)]
pub(crate) enum ServiceVerb {
    /// Write a systemd user unit that runs `wakeful serve` for this home
    Install {
        /// Print the unit without writing it
        #[arg(long, conflicts_with = "now")]
        print: bool,
        /// Start the service now and at every login
        #[arg(long)]
        now: bool,
    },
    /// Remove the unit
    Uninstall {
        /// Stop the service first
        #[arg(long)]
        now: bool,
    },
    /// Show whether the unit is installed, active and enabled
    Status,
}

pub(crate) fn service(verb: &ServiceVerb, shared: &GlobalArgs, out: &Out) -> Result<u8, Failure> {
    if shared.database().is_some() {
        out.note(
            "the unit does not contain the database URL, because it may include a password; add Environment=WAKEFUL_DATABASE=… \
                with `systemctl --user edit wakeful`",
        );
    }
    match verb {
        ServiceVerb::Install { print: true, now: _ } => out.bytes(wanted(shared)?.as_bytes()),
        ServiceVerb::Install { print: false, now } => return install(SystemdReload::from(*now), shared, out),
        ServiceVerb::Uninstall { now } => uninstall(SystemdReload::from(*now), out)?,
        ServiceVerb::Status => status(shared, out)?,
    }
    Ok(0)
}

/// Whether systemd is notified immediately.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SystemdReload {
    Tell,
    Leave,
}

impl From<bool> for SystemdReload {
    fn from(now: bool) -> Self {
        if now { Self::Tell } else { Self::Leave }
    }
}

/// The result of a `systemctl` call.
enum SystemctlResult {
    Done {
        said: String,
    },
    /// Some verbs print their result to standard output and exit with a failure status.
    Failed {
        said: String,
        why: String,
    },
    /// `systemctl` was not found.
    Absent,
}

/// The expected unit.
fn wanted(shared: &GlobalArgs) -> Result<String, Failure> {
    let failed = |error: &std::io::Error| {
        Failure::io(
            "service_path_invalid",
            "cannot determine the path of this program",
            error,
            "try again",
        )
    };
    let program = std::env::current_exe().map_err(|error| failed(&error))?;
    let home = std::path::absolute(shared.home()?).map_err(|error| failed(&error))?;
    unit(&program, &home)
}

/// The folder of the user's systemd units.
fn folder() -> Result<PathBuf, Failure> {
    let configured = variable("XDG_CONFIG_HOME").map(PathBuf::from);
    let own = || std::env::home_dir().map(|home| home.join(".config"));
    let root = configured.filter(|path| path.is_absolute()).or_else(own);
    let root = root.filter(|path| path.is_absolute()).ok_or_else(|| {
        Failure::usage(
            "service_path_invalid",
            "cannot determine the folder for user units",
            "set HOME or XDG_CONFIG_HOME",
        )
    })?;
    Ok(root.join("systemd/user"))
}

fn unwritable(path: &Path, error: &std::io::Error) -> Failure {
    let attempt = format!("cannot write {}", path.display());
    Failure::io(
        "service_unwritable",
        &attempt,
        error,
        "make the folder writable, or use --print",
    )
}

/// The installed unit, if any. Fails if this program did not write it.
fn standing(path: &Path) -> Result<Option<String>, Failure> {
    match fs::read_to_string(path) {
        Ok(text) if text.starts_with(MARK) => Ok(Some(text)),
        Ok(_) => Err(Failure::new(
            "service_unit_not_ours",
            format!("{} was not written by wakeful", path.display()),
            "move the file away, or keep it and use --print",
        )),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(unwritable(path, &error)),
    }
}

fn install(after: SystemdReload, shared: &GlobalArgs, out: &Out) -> Result<u8, Failure> {
    let (text, folder) = (wanted(shared)?, folder()?);
    let path = folder.join(UNIT);
    let changed = standing(&path)?.as_deref() != Some(text.as_str());
    if changed {
        let written = fs::create_dir_all(&folder).and_then(|()| replace(&path, &text));
        written.map_err(|error| unwritable(&path, &error))?;
    } else {
        out.note("the unit is up to date; nothing was written");
    }
    let mut started = false;
    match after {
        SystemdReload::Leave => {
            out.note(
                "start it with `systemctl --user daemon-reload && systemctl --user enable --now wakeful`",
            );
        }
        SystemdReload::Tell => {
            for words in [&["daemon-reload"][..], &["enable", "--now", UNIT]] {
                started = ask(words)?.is_done(words, out);
                if !started {
                    break;
                }
            }
        }
    }
    let shown = path.display().to_string();
    out.answer(
        &json!({"unit": shown, "changed": changed, "started": started}),
        &shown,
    );
    Ok(if after == SystemdReload::Tell && !started {
        FAILED
    } else {
        0
    })
}

fn uninstall(after: SystemdReload, out: &Out) -> Result<(), Failure> {
    let folder = folder()?;
    let path = folder.join(UNIT);
    let removed = standing(&path)?.is_some();
    if removed {
        if after == SystemdReload::Tell {
            let words = ["disable", "--now", UNIT];
            ask(&words)?.is_done(&words, out);
        }
        // The link that starts the service at login would be dangling.
        let link = folder.join("default.target.wants").join(UNIT);
        for gone in [&path, &link] {
            match fs::remove_file(gone) {
                Err(error) if error.kind() != ErrorKind::NotFound => return Err(unwritable(gone, &error)),
                Ok(()) | Err(_) => {}
            }
        }
        match after {
            SystemdReload::Tell => drop(ask(&["daemon-reload"])?.is_done(&["daemon-reload"], out)),
            SystemdReload::Leave => {
                out.note("if the service is running, stop it with `systemctl --user stop wakeful`")
            }
        }
    } else {
        out.note("the unit is not installed; nothing was removed");
    }
    let shown = path.display().to_string();
    out.answer(&json!({"unit": shown, "removed": removed}), &shown);
    Ok(())
}

fn status(shared: &GlobalArgs, out: &Out) -> Result<(), Failure> {
    let path = folder()?.join(UNIT);
    let standing = standing(&path)?;
    let unit = match &standing {
        None => "absent",
        Some(text) if *text == wanted(shared)? => "current",
        // The unit is for another program or home, or was written by an older version.
        Some(_) => "different",
    };
    let word = |verb: &str| -> Result<String, Failure> {
        Ok(match ask(&[verb, UNIT])? {
            SystemctlResult::Done { said } | SystemctlResult::Failed { said, .. } if !said.is_empty() => said,
            answer @ (SystemctlResult::Done { .. }
            | SystemctlResult::Failed { .. }
            | SystemctlResult::Absent) => {
                answer.is_done(&[verb, UNIT], out);
                "unknown".to_owned()
            }
        })
    };
    let (active, enabled) = (word("is-active")?, word("is-enabled")?);
    let shown = path.display().to_string();
    if unit == "different" {
        out.note("the unit is for another program or home; `wakeful service install` replaces it");
    }
    let text = format!("unit     {shown} ({unit})\nactive   {active}\nenabled  {enabled}");
    out.answer(
        &json!({"unit": shown, "state": unit, "active": active, "enabled": enabled}),
        &text,
    );
    Ok(())
}

/// Calls `systemctl --user`.
fn ask(words: &[&str]) -> Result<SystemctlResult, Failure> {
    let ran = Command::new("systemctl")
        .arg("--user")
        .args(words)
        .stdin(Stdio::null())
        .output();
    match ran {
        Ok(output) => {
            let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
            let (said, why) = (text(&output.stdout), text(&output.stderr));
            Ok(if output.status.success() {
                SystemctlResult::Done { said }
            } else {
                SystemctlResult::Failed { said, why }
            })
        }
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(SystemctlResult::Absent),
        Err(error) => Err(Failure::io(
            "service_failed",
            "cannot start systemctl",
            &error,
            "try again",
        )),
    }
}

impl SystemctlResult {
    /// Whether the call succeeded; prints the reason if not. The unit is written in either case.
    fn is_done(&self, words: &[&str], out: &Out) -> bool {
        match self {
            Self::Done { .. } => return true,
            Self::Failed { why, .. } => {
                out.note(&format!("`systemctl --user {}` failed: {why}", words.join(" ")));
            }
            Self::Absent => out.note("systemctl was not found; start the daemon with `wakeful serve`"),
        }
        false
    }
}

/// Writes the new unit next to the old one and renames it into place.
fn replace(path: &Path, text: &str) -> std::io::Result<()> {
    let passing = path.with_extension("service.new");
    fs::write(&passing, text)?;
    fs::rename(passing, path)
}
