//! `wakeful config`: looking at settings, changing one, and finding what is wrong with them.

use clap::Subcommand;
use serde_json::{Value, json};

use super::GlobalArgs;
use crate::config::{self, Change, Key, Loaded, Named, Origin, Overrides};
use crate::daemon::files::{Found, RunFolder};
use crate::failure::{FAILED, Failure};
use crate::home::Home;
use crate::show::Out;

#[derive(Debug, Subcommand)]
pub(crate) enum ConfigVerb {
    /// Show one setting, or all of them with where each came from
    Get {
        /// Its name, such as `server.port`
        key: Option<String>,
    },
    /// Change a setting in config.toml; comments and order stay
    Set {
        /// Its name, such as `server.port`
        key: String,
        /// What it is to be
        #[arg(
            required_unless_present = "unset",
            conflicts_with = "unset",
            allow_negative_numbers = true
        )]
        value: Option<String>,
        /// Remove it from the file, so that what is built in holds again
        #[arg(long)]
        unset: bool,
    },
    /// Print the JSON Schema of config.toml
    Schema,
    /// Explain everything that is wrong with the file and the environment
    Doctor,
}

/// Runs the verb.
pub(crate) fn config(verb: &ConfigVerb, shared: &GlobalArgs, out: &Out) -> Result<u8, Failure> {
    match verb {
        ConfigVerb::Get { key: Some(name) } => match Named::parse(name) {
            Some(named) => get_named(&named, shared, out)?,
            None => get(known(name)?, shared, out)?,
        },
        ConfigVerb::Get { key: None } => get_all(shared, out)?,
        ConfigVerb::Set { key, value, unset: _ } => set(key, value.as_deref(), shared, out)?,
        ConfigVerb::Schema => {
            let schema = serde_json::to_string_pretty(&config::schema()).unwrap_or_default();
            out.bytes(format!("{schema}\n").as_bytes());
        }
        ConfigVerb::Doctor => return doctor(shared, out),
    }
    Ok(0)
}

fn known(name: &str) -> Result<Key, Failure> {
    Key::named(name).ok_or_else(|| {
        let message = format!("there is no setting {name}");
        Failure::usage("config_key_unknown", message, Key::meant(name))
    })
}

fn get(key: Key, shared: &GlobalArgs, out: &Out) -> Result<(), Failure> {
    let loaded = config::load(&shared.home()?, &Overrides::default())?;
    if loaded.value(key).is_none() {
        out.note(&format!("{} has no value", key.name()));
    }
    out.answer(&setting(key, &loaded), &words(loaded.value(key)));
    Ok(())
}

/// The same for a setting whose name a person chose.
fn get_named(wanted: &Named, shared: &GlobalArgs, out: &Out) -> Result<(), Failure> {
    let loaded = config::load(&shared.home()?, &Overrides::default())?;
    let found = loaded.named().find(|(named, _, _)| *named == wanted);
    let (value, origin) = match found {
        Some((_, value, origin)) => (Some(value), origin.clone()),
        None => (None, Origin::Default),
    };
    if value.is_none() {
        out.note(&format!("{} has no value", wanted.name()));
    }
    let object = json!({"key": wanted.name(), "value": value, "origin": origin});
    out.answer(&object, &words(value));
    Ok(())
}

fn get_all(shared: &GlobalArgs, out: &Out) -> Result<(), Failure> {
    let home = shared.home()?;
    let loaded = config::load(&home, &Overrides::default())?;
    let line = |key: Key| {
        let (name, value) = (key.name(), words(loaded.value(key)));
        let value = if value.is_empty() { "-" } else { &value };
        format!("{name:<24}  {value:<32}  {}", loaded.origin(key))
    };
    let mut settings: Vec<Value> = Key::ALL.map(|key| setting(key, &loaded)).into();
    let mut lines: Vec<String> = Key::ALL.map(line).into();
    for (named, value, origin) in loaded.named() {
        let (name, shown) = (named.name(), words(Some(value)));
        lines.push(format!("{name:<24}  {shown:<32}  {origin}"));
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

/// A setting for programs.
fn setting(key: Key, loaded: &Loaded) -> Value {
    json!({"key": key.name(), "value": loaded.value(key), "origin": loaded.origin(key)})
}

/// A value for people: text without quotes, so that a script can use it as it is; a list as it is typed.
fn words(value: Option<&Value>) -> String {
    match value {
        None => String::new(),
        Some(Value::Array(list)) => {
            let parts: Vec<String> = list.iter().map(|one| words(Some(one))).collect();
            parts.join(",")
        }
        Some(value) => value.as_str().map_or_else(|| value.to_string(), str::to_owned),
    }
}

fn set(name: &str, value: Option<&str>, shared: &GlobalArgs, out: &Out) -> Result<(), Failure> {
    let home = shared.home()?;
    let change = match value {
        // Everything that can be wrong with the call is found before a home is made.
        Some(value) => match Named::parse(name) {
            Some(named) => {
                named.typed(value)?;
                Change::SetNamed(named, value.to_owned())
            }
            None => {
                let key = known(name)?;
                key.typed(value)?;
                Change::Set(key, value.to_owned())
            }
        },
        None => Change::Unset(name.to_owned()),
    };
    let changed = match (value, Home::is_there(&home)) {
        (None, false) => false,
        (None, true) => config::change(&Home::open(&home)?, &[change])?,
        (Some(_), _) => config::change(&Home::open_or_create(&home)?, &[change])?,
    };
    // A name that is no setting's can be removed from the file; elsewhere it is a slip.
    if !changed && value.is_none() && Named::parse(name).is_none() {
        known(name)?;
    }
    tell(name, changed, shared, out)
}

/// What the setting is now, which need not be what the file says.
fn tell(name: &str, changed: bool, shared: &GlobalArgs, out: &Out) -> Result<(), Failure> {
    let home = shared.home()?;
    let lasting = config::load_lasting(&home, &Overrides::default())?;
    let path = config::path(&home).display().to_string();
    let own = Named::parse(name);
    let own = own.and_then(|own| {
        lasting
            .named()
            .find_map(|(named, value, _)| (*named == own).then_some(value))
    });
    let value = Key::named(name).and_then(|key| lasting.value(key)).or(own);
    let line = match value {
        Some(value) => format!("{name} = {}", words(Some(value))),
        None => format!("{name} has no value"),
    };
    if !changed {
        out.note(&format!("{path} is as it was"));
    }
    if changed && matches!(RunFolder::of(&home).found(), Found::Alive(_)) {
        out.note("the daemon goes on with the settings it began with; `wakeful daemon restart` takes these");
    }
    if let (Some(key), Ok(loaded)) = (Key::named(name), config::load(&home, &Overrides::default()))
        && let Origin::Variable(variable) = loaded.origin(key)
    {
        out.note(&format!("the environment variable {variable} wins over the file"));
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
        format!("nothing is wrong with {path} and the environment")
    } else {
        let lines: Vec<String> = problems.iter().map(ToString::to_string).collect();
        lines.join("\n")
    };
    out.answer(&json!({"file": path, "problems": errors}), &words);
    Ok(if problems.is_empty() { 0 } else { FAILED })
}
