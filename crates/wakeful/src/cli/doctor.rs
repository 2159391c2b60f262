//! `wakeful doctor`: checks the installation, explains problems, and repairs what can be repaired without
//! losing data. Without `--fix` it changes nothing.

mod database;
mod files;
mod sandbox;
mod storage;

use clap::Args;
use serde::Serialize;
use serde_json::json;

use super::GlobalArgs;
use crate::config::{self, Overrides};
use crate::failure::{FAILED, Failure};
use crate::home::Home;
use crate::notify::{DesktopSession, notify_targets};
use crate::show::Out;

#[derive(Debug, Args)]
pub(crate) struct DoctorArgs {
    /// Repair what can be repaired: permissions, and files left by dead processes
    #[arg(long)]
    fix: bool,
    /// Read all databases completely, regardless of size, and compare indexes, contents and rows with
    /// tables and logs
    #[arg(long)]
    deep: bool,
}

/// Whether changes are allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum DoctorMode {
    Look,
    Fix,
}

/// Result of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum CheckStatus {
    Ok,
    /// Works, but needs attention.
    Warning,
    /// Does not work, or is not safe.
    Problem,
    /// Was a problem, and is repaired.
    Fixed,
}

#[derive(Debug, Serialize)]
struct Check {
    name: &'static str,
    status: CheckStatus,
    message: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    hint: String,
}

impl Check {
    fn ok(name: &'static str, message: impl Into<String>) -> Self {
        Self {
            name,
            status: CheckStatus::Ok,
            message: message.into(),
            hint: String::new(),
        }
    }

    fn warning(name: &'static str, message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self {
            status: CheckStatus::Warning,
            hint: hint.into(),
            ..Self::ok(name, message)
        }
    }

    fn problem(name: &'static str, message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self {
            status: CheckStatus::Problem,
            hint: hint.into(),
            ..Self::ok(name, message)
        }
    }

    /// A failure that a command would report.
    fn failure(name: &'static str, failure: &Failure) -> Self {
        let failure = failure.json();
        let member = |path: &str| {
            let text = failure.pointer(path).and_then(serde_json::Value::as_str);
            text.unwrap_or_default().to_owned()
        };
        Self::problem(name, member("/error/message"), member("/error/hint"))
    }

    /// A repairable problem: repairs it with `--fix`, otherwise describes the repair.
    fn repairable(name: &'static str, message: &str, mode: DoctorMode, mend: &Repair<'_>) -> Self {
        match mode {
            DoctorMode::Look => Self::problem(
                name,
                message,
                format!("`wakeful doctor --fix` would {}", mend.description),
            ),
            DoctorMode::Fix => match (mend.act)() {
                Ok(()) => Self {
                    status: CheckStatus::Fixed,
                    ..Self::ok(name, message)
                },
                Err(error) => Self::problem(
                    name,
                    format!("{message}, and the repair failed: {error}"),
                    "repair it manually",
                ),
            },
        }
    }
}

struct Repair<'a> {
    /// The repair, phrased to follow "would".
    description: &'a str,
    act: &'a dyn Fn() -> std::io::Result<()>,
}

pub(crate) async fn doctor(args: &DoctorArgs, shared: &GlobalArgs, out: &Out) -> Result<u8, Failure> {
    let mode = if args.fix {
        DoctorMode::Fix
    } else {
        DoctorMode::Look
    };
    let path = shared.home()?;
    let mut checks = vec![match Home::open(&path) {
        Ok(home) => Check::ok("home", format!("{} is a Wakeful home", home.root().display())),
        Err(failure) => missing(&failure),
    }];
    let home = Home::open(&path).ok();
    if let Some(home) = &home {
        checks.push(files::permissions(home, mode));
    }
    checks.push(settings(&path));
    let settings = config::load(&path, &Overrides::default()).ok();
    let targets = settings
        .as_ref()
        .map(|loaded| notify_targets(&loaded.config, &DesktopSession::found()));
    checks
        .extend(targets.and_then(|targets| targets.err().map(|failure| Check::failure("notify", &failure))));
    let mut use_of_home = files::HomeUse::Free;
    if let Some(home) = &home {
        checks.extend(files::config(home, mode));
        let (check, found) = files::lock(home);
        use_of_home = found;
        checks.push(check);
        checks.extend(files::left_behind(home, mode));
        checks.push(storage::scratch(home, use_of_home, mode));
        checks.extend(storage::quarantined(home, mode));
        checks.extend(storage::stop(home, use_of_home, mode));
        checks.extend(files::token(
            home,
            settings.as_ref().map(|loaded| &loaded.config),
            mode,
        ));
        checks.extend(files::device_key(home, mode));
    }
    if home.is_some() || shared.database().is_some() {
        checks.extend(database::look(shared, &path, use_of_home).await);
        checks.extend(storage::contents(shared).await);
        if args.deep {
            checks.push(storage::deep(shared).await);
        }
    }
    // With a database server, the database files of the home are not used.
    if let (Some(home), None) = (&home, shared.database()) {
        checks.extend(storage::pages(home, args.deep));
    }
    if let (Some(home), Some(loaded)) = (&home, &settings) {
        checks.push(storage::backups(home, &loaded.config, shared));
    }
    checks.push(sandbox::look().await);
    checks.push(sandbox::limits(home.as_ref().map(Home::root)));
    checks.push(files::space(&path));
    let count = |status| checks.iter().filter(|check| check.status == status).count();
    let problems = count(CheckStatus::Problem);
    let object = json!({
        "checks": checks,
        "problems": problems,
        "warnings": count(CheckStatus::Warning),
        "fixed": count(CheckStatus::Fixed),
    });
    out.answer(&object, &checks.iter().map(line).collect::<Vec<_>>().join("\n"));
    Ok(if problems == 0 { 0 } else { FAILED })
}

fn missing(failure: &Failure) -> Check {
    let check = Check::failure("home", failure);
    if failure.code() == "home_missing" {
        let hint = "create one with `wakeful init`, or choose another with --home".to_owned();
        return Check { hint, ..check };
    }
    check
}

fn settings(home: &std::path::Path) -> Check {
    let problems = config::problems(home);
    match problems.as_slice() {
        [] if config::path(home).exists() => {
            Check::ok("config", format!("{} is valid", config::path(home).display()))
        }
        [] => Check::ok("config", "config.toml does not exist; the defaults apply"),
        [only] => Check::failure("config", only),
        [first, rest @ ..] => {
            let first = Check::failure("config", first);
            let message = format!("{} (and {} more)", first.message, rest.len());
            Check::problem("config", message, "`wakeful config doctor` explains each problem")
        }
    }
}

fn line(check: &Check) -> String {
    let status = match check.status {
        CheckStatus::Ok => "ok",
        CheckStatus::Warning => "warning",
        CheckStatus::Problem => "problem",
        CheckStatus::Fixed => "fixed",
    };
    let mut line = format!("{status:<8} {:<12} {}", check.name, check.message);
    if !check.hint.is_empty() {
        line.push_str(&format!("\n{:<21} hint: {}", "", check.hint));
    }
    line
}
