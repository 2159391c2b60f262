//! `wakeful config`: shows, changes and checks settings.

use clap::Subcommand;
use serde_json::{Value, json};

use super::GlobalArgs;
use crate::config::{self, ConfigEdit, Overrides, Setting, SettingOrigin};
use crate::daemon::files::{DaemonPresence, RunDir};
use crate::failure::{FAILED, Failure};
use crate::home::Home;
use crate::show::Out;

#[derive(Debug, Subcommand)]
pub(crate) enum ConfigVerb {
    /// Show one setting, or all settings with their origin
    Get {
        /// Setting name, such as `server.port`
        key: Option<String>,
    },
    /// Change a setting in config.toml; comments and order are preserved
    Set {
        /// Setting name, such as `server.port`
        key: String,
        /// New value
        #[arg(
            required_unless_present = "unset",
            conflicts_with = "unset",
            allow_negative_numbers = true
        )]
        value: Option<String>,
        /// Remove the setting from the file, so that the default applies again
        #[arg(long)]
        unset: bool,
    },
    /// Print the JSON Schema of config.toml
    Schema,
    /// Check config.toml and the environment, and explain every problem
    Doctor,
}

pub(crate) fn config(verb: &ConfigVerb, shared: &GlobalArgs, out: &Out) -> Result<u8, Failure> {
    match verb {
        ConfigVerb::Get { key: Some(name) } => get(name, shared, out)?,
        ConfigVerb::Get { key: None } => get_all(shared, out)?,
        ConfigVerb::Set { key, value, unset: _ } => set(key, value.as_deref(), shared, out)?,
        ConfigVerb::Schema => {
            let schema = serde_json::to_string_pretty(config::schema()).unwrap_or_default();
            out.bytes(format!("{schema}\n").as_bytes());
        }
        ConfigVerb::Doctor => return doctor(shared, out),
    }
    Ok(0)
}

fn get(name: &str, shared: &GlobalArgs, out: &Out) -> Result<(), Failure> {
    let name = Setting::known(name)?.name();
    let loaded = config::load(&shared.home()?, &Overrides::default())?;
    let value = loaded.value(&name);
    if value.is_none() {
        out.note(&format!("{name} is not set"));
    }
    let object = json!({"key": name, "value": value, "origin": loaded.origin(&name)});
    out.answer(&object, &value_text(value));
    Ok(())
}

fn get_all(shared: &GlobalArgs, out: &Out) -> Result<(), Failure> {
    let home = shared.home()?;
    let loaded = config::load(&home, &Overrides::default())?;
    let (mut settings, mut lines) = (Vec::new(), Vec::new());
    for (name, value, origin) in loaded.all() {
        let text = value_text(value);
        let text = if text.is_empty() { "-" } else { &text };
        lines.push(format!("{name:<30}  {text:<32}  {origin}"));
        settings.push(json!({"key": name, "value": value, "origin": origin}));
    }
    let object = json!({
        "file": config::path(&home).display().to_string(),
        "fingerprint": loaded.fingerprint(),
        "settings": settings,
    });
    out.answer(&object, &lines.join("\n"));
    Ok(())
}

/// Formats a value for people and scripts: text without quotes, a list as it is typed.
fn value_text(value: Option<&Value>) -> String {
    match value {
        None => String::new(),
        Some(Value::Array(list)) => {
            let parts: Vec<String> = list.iter().map(|one| value_text(Some(one))).collect();
            parts.join(",")
        }
        Some(value) => value.as_str().map_or_else(|| value.to_string(), str::to_owned),
    }
}

fn set(name: &str, value: Option<&str>, shared: &GlobalArgs, out: &Out) -> Result<(), Failure> {
    let home = shared.home()?;
    let changed = match value {
        Some(value) => {
            // All argument errors are reported before a home is created.
            Setting::known(name)?.typed(value)?;
            let edit = ConfigEdit::Set {
                key: name.to_owned(),
                text: value.to_owned(),
            };
            config::change(&Home::open_or_create(&home)?, &[edit])?
        }
        None if Home::is_there(&home) => {
            config::change(&Home::open(&home)?, &[ConfigEdit::Unset(name.to_owned())])?
        }
        None => false,
    };
    // Unknown names can be removed from the file. If the name is not in the file either, it is a typing
    // error.
    if !changed && value.is_none() {
        Setting::known(name)?;
    }
    print_result(name, changed, shared, out)
}

/// Prints the effective value of the setting, which may differ from the one in the file.
fn print_result(name: &str, changed: bool, shared: &GlobalArgs, out: &Out) -> Result<(), Failure> {
    let home = shared.home()?;
    let lasting = config::load_lasting(&home, &Overrides::default())?;
    let path = config::path(&home).display().to_string();
    let value = lasting.value(name);
    let line = match value {
        Some(value) => format!("{name} = {}", value_text(Some(value))),
        None => format!("{name} is not set"),
    };
    if !changed {
        out.note(&format!("{path} is unchanged"));
    }
    if changed && matches!(RunDir::of(&home).found(), DaemonPresence::Alive(_)) {
        out.note(
            "the running daemon still uses its old settings; `wakeful daemon restart` applies the new ones",
        );
    }
    if let Ok(loaded) = config::load(&home, &Overrides::default())
        && let SettingOrigin::Environment { name: variable } = loaded.origin(name)
    {
        out.note(&format!("the environment variable {variable} overrides the file"));
    }
    out.answer(
        &json!({"key": name, "value": value, "changed": changed, "file": path}),
        &line,
    );
    Ok(())
}

fn doctor(shared: &GlobalArgs, out: &Out) -> Result<u8, Failure> {
    let home = shared.home()?;
    let problems = config::problems(&home);
    let path = config::path(&home).display().to_string();
    let errors: Vec<Value> = problems
        .iter()
        .filter_map(|problem| problem.json().get("error").cloned())
        .collect();
    let words = if problems.is_empty() {
        format!("no problems found in {path} and the environment")
    } else {
        let lines: Vec<String> = problems.iter().map(ToString::to_string).collect();
        lines.join("\n")
    };
    out.answer(&json!({"file": path, "problems": errors}), &words);
    Ok(if problems.is_empty() { 0 } else { FAILED })
}
