//! `wakeful config`: shows, changes and checks settings.

use clap::Subcommand;
use serde_json::{Value, json};
use wakeful_core::id::AgentId;

use super::GlobalArgs;
use crate::config::{self, ConfigEdit, Overrides, Setting, SettingOrigin, needs_restart, value_text};
use crate::daemon::files::{DaemonPresence, RunDir};
use crate::failure::{FAILED, Failure};
use crate::home::Home;
use crate::model::ModelRegistry;
use crate::open_home::with_read_only;
use crate::provider_setup::ProviderSetup;
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
        /// Accept a model without asking its provider whether it has it
        #[arg(long)]
        no_test: bool,
    },
    /// Print the JSON Schema of config.toml
    Schema,
    /// Check config.toml and the environment, and explain every problem
    Doctor,
}

pub(crate) async fn config(verb: &ConfigVerb, shared: &GlobalArgs, out: &Out) -> Result<u8, Failure> {
    match verb {
        ConfigVerb::Get { key: Some(name) } => get(name, shared, out)?,
        ConfigVerb::Get { key: None } => get_all(shared, out)?,
        ConfigVerb::Set {
            key,
            value,
            unset: _,
            no_test,
        } => {
            if let Some(value) = value {
                check_agent(key, value, shared).await?;
            }
            if let (Some(value), false) = (value, *no_test) {
                check_models(key, value, shared, out).await?;
            }
            set(key, value.as_deref(), shared, out)?;
        }
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

/// Refuses a setting that names an unknown agent, if the home has a database to check against: a misspelt
/// name would have no effect.
async fn check_agent(key: &str, value: &str, shared: &GlobalArgs) -> Result<(), Failure> {
    let named = match (key.strip_prefix("agents."), key) {
        (Some(rest), _) => rest.split('.').next().unwrap_or_default(),
        (None, "agent.default") => value,
        (None, _) => return Ok(()),
    };
    // Other errors in the arguments come first, and name what is wrong.
    Setting::known(key)?.typed(value)?;
    let Ok(agent) = AgentId::parse(named) else {
        return Ok(());
    };
    let known = with_read_only(shared, async |store| {
        Ok(store.read(move |view| view.agent(&agent)).await?.is_some())
    });
    match known.await {
        Ok(true) | Err(_) => Ok(()),
        Ok(false) => {
            let message = format!("{key}: there is no agent {named}");
            let hint =
                format!("`wakeful agent create {named}` creates it, `wakeful agent list` lists all agents");
            Err(Failure::usage("agent_unknown", message, hint))
        }
    }
}

/// Refuses a model that its provider does not list.
async fn check_models(key: &str, value: &str, shared: &GlobalArgs, out: &Out) -> Result<(), Failure> {
    let setting = Setting::known(key)?;
    let value = setting.typed(value)?;
    let home = shared.home()?;
    // The check needs valid settings; the edit itself may repair invalid ones.
    let Ok(loaded) = config::load(&home, &Overrides::default()) else {
        return Ok(());
    };
    let models = ModelRegistry::new(&loaded.config);
    let warning = ProviderSetup { home, models }
        .check_setting(&setting.name(), &value)
        .await;
    warning?.iter().for_each(|text| out.note(text));
    Ok(())
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
        out.note(if needs_restart(name) {
            "the running daemon still uses the old value; `wakeful daemon restart` applies the new one"
        } else {
            "the running daemon uses it from the next step on"
        });
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
