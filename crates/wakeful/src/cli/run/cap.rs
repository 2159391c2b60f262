//! Settles the daily cap before the first run that can cost money.

use std::io::{BufRead as _, IsTerminal as _, Write as _};

use wakeful_api::{AgentStatus, CapOrigin, GetBudget, GetRuntimeStatus};
use wakeful_core::budget::MicroUsd;
use wakeful_models::Models;
use wakeful_ports::clock::Clock as _;
use wakeful_ports::model::Model as _;
use wakeful_runtime::EngineDefaults;

use crate::backend::Backend;
use crate::cli::budget::amount;
use crate::config::{LoadedConfig, Settings};
use crate::failure::Failure;
use crate::model::{ModelChoiceReason, ModelRegistry, RunOwner};
use crate::open_home::OpenHome;
use crate::show::{Out, cap_unset};
use crate::system::RealClock;

/// Maximum number of attempts before the default applies, so that scripted input cannot loop forever.
const TRIES_MAX: usize = 3;

/// Asks the user once for the daily cap, or prints the default without a terminal.
pub(super) async fn settle(
    place: &OpenHome,
    models: &Models,
    config: &Settings,
    out: &Out,
) -> Result<(), Failure> {
    let costs = |(name, _): (&str, _)| models.profile(name).price.is_some();
    let is_settled = config.budget.daily_usd.is_some() || !models.candidates().any(costs);
    if is_settled || place.store.read(|view| view.cap(None)).await?.is_some() {
        return Ok(());
    }
    let default = place.governance().daily_cap;
    let terminal = std::io::stdin().is_terminal() && std::io::stderr().is_terminal();
    if !terminal || out.is_json() {
        out.note(&cap_unset(default));
        return Ok(());
    }
    // Without an answer the default applies, and the next run asks again.
    let Some(daily) = ask(default, out) else {
        return Ok(());
    };
    let now = RealClock::new().now();
    place
        .store
        .write(move |tx| tx.set_cap(None, Some(daily), now))
        .await?;
    out.note(&format!(
        "the daily cap is {daily} USD; change it with `wakeful budget set USD`"
    ));
    Ok(())
}

/// Prints the default cap if a daemon is going to send a paid request and no cap was set. It does not
/// prompt, because the daemon also spends for other users of the home.
pub(super) async fn print_default_cap(
    backend: &Backend,
    agent: &AgentStatus,
    settings: &LoadedConfig,
    out: &Out,
) -> Result<(), Failure> {
    if settings.config.budget.daily_usd.is_some() || !may_cost(backend, agent, settings).await? {
        return Ok(());
    }
    let budget = backend.call(GetBudget {}).await?;
    // The daemon's settings may set a cap that the settings here do not have.
    let is_standard = budget.daily_cap_usd == EngineDefaults::default().daily_cap.to_string();
    if budget.cap_origin == CapOrigin::Default && is_standard {
        out.note(&cap_unset(&budget.daily_cap_usd));
    }
    Ok(())
}

/// Whether a run may cost money, determined without the key: only the daemon has it, and a keyring might
/// ask for a password.
async fn may_cost(backend: &Backend, agent: &AgentStatus, settings: &LoadedConfig) -> Result<bool, Failure> {
    let registry = ModelRegistry::new(&settings.config);
    let wished: Option<String> = settings.value_for_this_call("model.default");
    let whose = RunOwner {
        chosen: agent.model.as_deref(),
        fallbacks: None,
    };
    // The daemon reports a missing route.
    let Ok(mut chain) = registry.chain(Some(whose), wished.as_deref()) else {
        return Ok(false);
    };
    match &chain.why {
        ModelChoiceReason::Configured | ModelChoiceReason::Key(_) | ModelChoiceReason::Demo => {
            let status = backend.call(GetRuntimeStatus {}).await?;
            chain.fallbacks.push(status.model.reference);
        }
        ModelChoiceReason::Asked | ModelChoiceReason::Agent => chain.fallbacks.push(chain.model_ref),
    }
    Ok(chain.fallbacks.iter().any(|name| registry.is_paid(name)))
}

fn ask(default: MicroUsd, out: &Out) -> Option<MicroUsd> {
    out.note("this model costs money, and no spending cap is set yet");
    for _ in 0..TRIES_MAX {
        let mut terminal = std::io::stderr().lock();
        // If the terminal is closed, no answer arrives either and the default applies.
        let _ = write!(
            terminal,
            "Daily spending cap for all agents together, in US dollars [{default}]: "
        );
        let _ = terminal.flush();
        drop(terminal);
        let mut line = String::new();
        let read = std::io::stdin().lock().read_line(&mut line);
        match read {
            Ok(0) | Err(_) => return None,
            Ok(_) if line.trim().is_empty() => return Some(default),
            Ok(_) => {}
        }
        match amount(line.trim()) {
            Ok(daily) => return Some(daily),
            Err(failure) => out.note(&failure.to_string()),
        }
    }
    None
}
