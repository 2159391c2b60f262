//! `wakeful service`: the daemon as a service of the person who is logged in, kept by systemd.

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

/// The unit's name.
const UNIT: &str = "wakeful.service";

#[derive(Debug, Subcommand)]
pub(crate) enum ServiceVerb {
    /// Write a systemd user unit that runs `wakeful serve` for this home
    Install {
        /// Print the unit and write nothing
        #[arg(long, conflicts_with = "now")]
        print: bool,
        /// Start it now and at every login
        #[arg(long)]
        now: bool,
    },
    /// Remove the unit
    Uninstall {
        /// Stop the service first
        #[arg(long)]
        now: bool,
    },
    /// Tell whether the unit is there and whether it runs
    Status,
}

/// Runs the verb.
pub(crate) fn service(verb: &ServiceVerb, shared: &GlobalArgs, out: &Out) -> Result<u8, Failure> {
    if shared.database().is_some() {
        out.note(
            "the unit does not say which database to use, because its address may hold a password; \
             `systemctl --user edit wakeful` is the place for Environment=WAKEFUL_DATABASE=…",
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

/// Whether systemd is told at once.
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

/// What became of asking systemd.
enum SystemctlResult {
    Done {
        said: String,
    },
    /// Some of its verbs say on standard output what they found, and that it is no success.
    Failed {
        said: String,
        why: String,
    },
    /// There is no `systemctl` here.
    Absent,
}

/// The unit as it should be.
fn wanted(shared: &GlobalArgs) -> Result<String, Failure> {
    let failed = |error: &std::io::Error| {
        Failure::io(
            "service_path_invalid",
            "cannot tell where this program is",
            error,
            "try again",
        )
    };
    let program = std::env::current_exe().map_err(|error| failed(&error))?;
    let home = std::path::absolute(shared.home()?).map_err(|error| failed(&error))?;
    unit(&program, &home)
}

/// Where units of this person are.
fn folder() -> Result<PathBuf, Failure> {
    let configured = variable("XDG_CONFIG_HOME").map(PathBuf::from);
    let own = || std::env::home_dir().map(|home| home.join(".config"));
    let root = configured.filter(|path| path.is_absolute()).or_else(own);
    let root = root.filter(|path| path.is_absolute()).ok_or_else(|| {
        Failure::usage(
            "service_path_invalid",
            "there is no home folder of yours to put the unit in",
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

/// What stands where our unit belongs; a failure when somebody else wrote it.
fn standing(path: &Path) -> Result<Option<String>, Failure> {
    match fs::read_to_string(path) {
        Ok(text) if text.starts_with(MARK) => Ok(Some(text)),
        Ok(_) => Err(Failure::new(
            "service_unit_not_ours",
            format!("{} was not written by wakeful", path.display()),
            "move it aside, or keep it and use --print",
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
        out.note("the unit is as it should be; nothing was written");
    }
    let mut started = false;
    match after {
        SystemdReload::Leave => {
            out.note("`systemctl --user daemon-reload && systemctl --user enable --now wakeful` starts it");
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
        // The link by which it starts at login would lead nowhere.
        let link = folder.join("default.target.wants").join(UNIT);
        for gone in [&path, &link] {
            match fs::remove_file(gone) {
                Err(error) if error.kind() != ErrorKind::NotFound => return Err(unwritable(gone, &error)),
                Ok(()) | Err(_) => {}
            }
        }
        match after {
            SystemdReload::Tell => drop(ask(&["daemon-reload"])?.is_done(&["daemon-reload"], out)),
            SystemdReload::Leave => out.note("if it runs, `systemctl --user stop wakeful` ends it"),
        }
    } else {
        out.note("there is no unit; nothing was removed");
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
        // Another program or another home, or an older version of the unit.
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
        out.note("the unit is for another program or home; `wakeful service install` writes it anew");
    }
    let text = format!("unit     {shown} ({unit})\nactive   {active}\nenabled  {enabled}");
    out.answer(
        &json!({"unit": shown, "state": unit, "active": active, "enabled": enabled}),
        &text,
    );
    Ok(())
}

/// Asks systemd for something. It answers at once, or is not there.
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
    /// Whether it was done; says why not. The unit is written all the same.
    fn is_done(&self, words: &[&str], out: &Out) -> bool {
        match self {
            Self::Done { .. } => return true,
            Self::Failed { why, .. } => {
                out.note(&format!("`systemctl --user {}` failed: {why}", words.join(" ")));
            }
            Self::Absent => out.note("there is no systemctl here; start the daemon with `wakeful serve`"),
        }
        false
    }
}

/// Writes beside the old unit and puts the new one in its place.
fn replace(path: &Path, text: &str) -> std::io::Result<()> {
    let passing = path.with_extension("service.new");
    fs::write(&passing, text)?;
    fs::rename(passing, path)
}
