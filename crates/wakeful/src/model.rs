//! Who can be asked: the models that a person named, configured or has a key for.

mod provider;
mod script;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use wakeful_api::{AgentModelState, ModelSource};
use wakeful_core::id::{AgentId, PolicyVersion};
use wakeful_core::inference::DataBoundary;
use wakeful_core::run::ROUTE_MAX;
use wakeful_models::{
    BuiltinProvider, Credential, HostedModel, HttpClients, ModelRef, Models, RouteModel, ScriptedModel,
    Thinking, UnusableModel, host_of,
};
use wakeful_store::rows::Agent;

pub(crate) use self::provider::ProviderConfig;
use crate::config::{Settings, ThinkingSetting};
use crate::failure::Failure;
use crate::global_args::text_variable;
use crate::secret::SecretHandle;
use crate::show::Out;

/// The built-in script, as it is spelled.
pub(crate) const DEMO: &str = "demo";

/// Everything that models are made from, once for a process: settings, connections, and what the keyring said.
#[derive(Debug, Clone)]
pub(crate) struct ModelRegistry {
    config: Arc<Settings>,
    clients: HttpClients,
    // A keyring takes its time and may ask a person. As many entries as there are providers in the settings.
    keyring: Arc<Mutex<BTreeMap<SecretHandle, Credential>>>,
    // What was asked before, so that a conversation may go on where the provider has it. At most MADE_MAX.
    made: Arc<Mutex<BTreeMap<String, HostedModel>>>,
}

/// Most models that are kept. Beyond it one is made anew for each run, which only costs what it knew.
const MADE_MAX: usize = 64;

/// Whose run begins.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RunOwner<'a> {
    pub(crate) agent: &'a AgentId,
    /// The model that a person chose for it, which wins over its section in the settings.
    pub(crate) chosen: Option<&'a str>,
}

impl<'a> From<&'a Agent> for RunOwner<'a> {
    fn from(agent: &'a Agent) -> Self {
        Self {
            agent: &agent.agent_id,
            chosen: agent.model_ref.as_deref(),
        }
    }
}

/// The models of a run that begins, and why these.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ModelChain {
    /// Who is asked first.
    pub(crate) model_ref: String,
    /// Who is asked when that one fails for good, in this order.
    pub(crate) fallbacks: Vec<String>,
    pub(crate) why: ModelChoiceReason,
}

/// Why a model is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ModelChoiceReason {
    /// The call names it.
    Asked,
    /// A person chose it for the agent, or the agent's own section does.
    Agent,
    /// The settings do.
    Configured,
    /// Nobody names one, and there is a key for its provider in this variable.
    Key(&'static str),
    /// Nobody names one, and there is no key.
    Demo,
}

impl ModelRegistry {
    pub(crate) fn new(config: &Settings) -> Self {
        Self {
            config: Arc::new(config.clone()),
            clients: HttpClients::default(),
            keyring: Arc::default(),
            made: Arc::default(),
        }
    }

    /// The model of runs that name none, and why it is that one.
    pub(crate) fn default_ref(&self) -> Result<(String, ModelChoiceReason), Failure> {
        if let Some(reference) = &self.config.model.default {
            return Ok((reference.clone(), ModelChoiceReason::Configured));
        }
        let provider = self
            .config
            .provider
            .name
            .as_deref()
            .and_then(BuiltinProvider::named);
        if let Some((known, model)) = provider.and_then(|known| Some((known, known.default_model?))) {
            return Ok((format!("{}/{model}", known.name), ModelChoiceReason::Configured));
        }
        for known in BuiltinProvider::ALL {
            let Some(model) = known.default_model else {
                continue;
            };
            for variable in known.key_variables {
                if text_variable(variable)?.is_some() {
                    return Ok((
                        format!("{}/{model}", known.name),
                        ModelChoiceReason::Key(variable),
                    ));
                }
            }
        }
        Ok((DEMO.to_owned(), ModelChoiceReason::Demo))
    }

    /// The models of a run that begins now. Whoever names a model for one call gets that one and no other; a route brings
    /// its own fallbacks.
    pub(crate) fn chain(
        &self,
        whose: Option<RunOwner<'_>>,
        wished: Option<&str>,
    ) -> Result<ModelChain, Failure> {
        let own = whose.and_then(|whose| self.config.agents.get(whose.agent.as_str()));
        let own_fallbacks = own.and_then(|own| own.fallbacks.clone());
        let chosen = whose.and_then(|whose| whose.chosen).map(str::to_owned);
        let chosen = chosen.or_else(|| own.and_then(|own| own.model.clone()));
        let (reference, fallbacks, why) = match (wished, chosen) {
            (Some(wished), _) => (wished.to_owned(), Vec::new(), ModelChoiceReason::Asked),
            (None, Some(model)) => (model, own_fallbacks.unwrap_or_default(), ModelChoiceReason::Agent),
            (None, None) => {
                let (reference, why) = self.default_ref()?;
                let fallbacks = match why {
                    // A demo that falls back to somebody who wants money would be a surprise.
                    ModelChoiceReason::Demo => Vec::new(),
                    ModelChoiceReason::Asked
                    | ModelChoiceReason::Agent
                    | ModelChoiceReason::Configured
                    | ModelChoiceReason::Key(_) => {
                        own_fallbacks.unwrap_or_else(|| self.config.model.fallbacks.clone())
                    }
                };
                (reference, fallbacks, why)
            }
        };
        let (model_ref, fallbacks) = match ModelRef::parse(&reference) {
            Ok(ModelRef::Route { name }) => self.expand(&name)?,
            Ok(ModelRef::Demo | ModelRef::Scripted { .. } | ModelRef::Hosted { .. }) | Err(_) => {
                (reference, fallbacks)
            }
        };
        let others = fallbacks.into_iter().filter(|other| *other != model_ref);
        Ok(ModelChain {
            fallbacks: others.take(ROUTE_MAX - 1).collect(),
            model_ref,
            why,
        })
    }

    /// Which models an agent's next run asks, and who chose them; none where that cannot be said, as of a route that is gone.
    pub(crate) fn state(&self, whose: RunOwner<'_>) -> Option<AgentModelState> {
        let chain = self.chain(Some(whose), None).ok()?;
        let own = self.config.agents.get(whose.agent.as_str());
        let chosen = whose.chosen.map(str::to_owned);
        Some(AgentModelState {
            source: match chain.why {
                ModelChoiceReason::Agent => ModelSource::AgentOverride,
                ModelChoiceReason::Asked
                | ModelChoiceReason::Configured
                | ModelChoiceReason::Key(_)
                | ModelChoiceReason::Demo => ModelSource::RuntimeDefault,
            },
            runtime_default_model: self.default_ref().ok()?.0,
            effective_model: chain.model_ref,
            effective_fallback_models: chain.fallbacks,
            override_model: chosen.or_else(|| own.and_then(|own| own.model.clone())),
        })
    }

    fn expand(&self, name: &str) -> Result<(String, Vec<String>), Failure> {
        let route = self.config.routes.get(name).map(|route| route.models.as_slice());
        match route.and_then(<[String]>::split_first) {
            Some((first, rest)) => Ok((first.clone(), rest.to_vec())),
            None => {
                let message = format!("there is no route {name}");
                let hint = format!("describe it in [routes.{name}] of config.toml, or name another");
                Err(Failure::usage("model_unknown", message, hint))
            }
        }
    }

    /// The model or route of this name, if it can be asked: spelled so that it is found again from any folder.
    pub(crate) fn named(&self, name: &str) -> Result<String, Failure> {
        let canonical = canonical(name)?;
        let chain = self.chain(None, Some(&canonical))?;
        self.route(&chain.model_ref, &chain.fallbacks)?;
        Ok(canonical)
    }

    /// What answers in a run. One that cannot be asked says so when its turn comes; when none of them can, the first
    /// one's reason is told at once.
    pub(crate) fn route(&self, primary: &str, fallbacks: &[String]) -> Result<Models, Failure> {
        let (mut candidates, mut first, mut usable) = (Vec::new(), None, false);
        for name in std::iter::once(primary).chain(fallbacks.iter().map(String::as_str)) {
            let candidate = match self.candidate(name) {
                Ok(candidate) => {
                    usable = true;
                    candidate
                }
                Err((boundary, failure)) => {
                    let why = UnusableModel {
                        provider: name.split(['/', ':']).next().unwrap_or_default().to_owned(),
                        boundary,
                        code: match failure.code() {
                            // Within a route nobody typed it just now: it is a candidate that no transport leads to.
                            "model_unknown" => "unsupported_transport".to_owned(),
                            code => code.to_owned(),
                        },
                        message: failure.message().to_owned(),
                    };
                    first = first.or(Some(failure));
                    why.into()
                }
            };
            candidates.push((name.to_owned(), candidate));
        }
        match first {
            Some(failure) if !usable => Err(failure),
            Some(_) | None => Ok(Models::new(candidates)),
        }
    }

    fn candidate(&self, name: &str) -> Result<RouteModel, (DataBoundary, Failure)> {
        let here = |failure| (DataBoundary::Process, failure);
        match parsed(name).map_err(here)? {
            ModelRef::Demo => Ok(built_in().map_err(here)?.into()),
            ModelRef::Scripted { file } => Ok(script::load(&file).map_err(here)?.1.into()),
            ModelRef::Hosted { provider, model } => {
                let provision = self.provision(&provider).map_err(here)?;
                Ok(provision.hosted(&model, name, self)?.into())
            }
            ModelRef::Route { name } => {
                let message = format!("route:{name} is no single model");
                let hint = "name the route where a run begins";
                Err(here(Failure::usage("model_unknown", message, hint)))
            }
        }
    }

    /// How much a model is asked to think: what is settled for it, else for its provider.
    pub(crate) fn thinking(&self, provider: &str, model_ref: &str) -> Option<Thinking> {
        let own = self.config.models.get(model_ref).and_then(|own| own.thinking);
        let all = || self.config.providers.get(provider).and_then(|all| all.thinking);
        own.or_else(all).map(ThinkingSetting::asked)
    }

    /// How a provider is reached, as far as that is known without looking for its key.
    pub(crate) fn provision(&self, name: &str) -> Result<ProviderConfig, Failure> {
        ProviderConfig::new(name, self.config.providers.get(name))
    }

    /// Whether a model wants money, told without its key; a route does when one of its models does.
    pub(crate) fn is_paid(&self, name: &str) -> bool {
        match ModelRef::parse(name) {
            Ok(ModelRef::Hosted { provider, .. }) => {
                if let Some(price) = self.config.prices.get(name) {
                    return !price.price().is_free();
                }
                // Plain http is for this machine alone, and without a key nobody pays for that.
                let is_here = |at: ProviderConfig| {
                    let url = at.base_url.as_ref().map(|(url, _)| url.as_str());
                    url.is_some_and(|url| url.starts_with("http://")) && !at.sends_key()
                };
                !self.provision(&provider).is_ok_and(is_here)
            }
            Ok(ModelRef::Route { name }) => {
                let route = self.config.routes.get(&name);
                route.is_some_and(|route| route.models.iter().any(|model| self.is_paid(model)))
            }
            Ok(ModelRef::Demo | ModelRef::Scripted { .. }) | Err(_) => false,
        }
    }

    /// One model of a provider, or why it cannot be asked.
    pub(crate) fn hosted(&self, provider: &str, model: &str) -> Result<HostedModel, Failure> {
        let provision = self.provision(provider)?;
        let made = provision.hosted(model, &format!("{provider}/{model}"), self);
        made.map_err(|(_, failure)| failure)
    }

    /// The names of all providers, built in and configured.
    pub(crate) fn providers(&self) -> Vec<String> {
        let mut names: Vec<String> = BuiltinProvider::ALL
            .iter()
            .map(|known| known.name.to_owned())
            .collect();
        let own = self
            .config
            .providers
            .keys()
            .filter(|name| BuiltinProvider::named(name).is_none());
        names.extend(own.cloned());
        names
    }

    pub(crate) fn config(&self) -> &Settings {
        &self.config
    }

    /// The versions of all permissions that hold here.
    pub(crate) fn policy_versions(&self) -> BTreeSet<PolicyVersion> {
        self.config.policy_versions(&redirected_providers(&self.config))
    }

    /// The model as it was made before, if it is the same one still.
    fn kept(&self, model_ref: &str, fresh: HostedModel) -> HostedModel {
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        match made.get(model_ref) {
            Some(kept) if kept.is_same(&fresh) => kept.clone(),
            Some(_) | None => {
                if made.len() < MADE_MAX || made.contains_key(model_ref) {
                    made.insert(model_ref.to_owned(), fresh.clone());
                }
                fresh
            }
        }
    }

    fn clients(&self) -> HttpClients {
        self.clients.clone()
    }

    /// The key behind a handle. What a keyring said is kept for as long as the process lives.
    fn key(&self, handle: &SecretHandle) -> Result<Option<Credential>, Failure> {
        let is_kept = matches!(handle, SecretHandle::Keyring { .. });
        let kept = || self.keyring.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(key) = kept().get(handle).filter(|_| is_kept) {
            return Ok(Some(key.clone()));
        }
        let found = handle.resolve()?;
        if let (true, Some(key)) = (is_kept, &found) {
            kept().insert(handle.clone(), key.clone());
        }
        Ok(found)
    }
}

impl ModelChain {
    /// Says who answers where nobody named one.
    pub(crate) fn print_chosen_model(&self, out: &Out) {
        match &self.why {
            ModelChoiceReason::Demo => out.note(
                "no model is configured: the built-in demo script answers (give one with --model, such as anthropic/MODEL)",
            ),
            ModelChoiceReason::Key(variable) => out.note(&format!(
                "no model is configured: {} answers, because {variable} is set (another with --model, or for good with \
                 `wakeful config set model.default REF`)",
                self.model_ref
            )),
            ModelChoiceReason::Asked | ModelChoiceReason::Agent | ModelChoiceReason::Configured => {}
        }
    }
}

/// The providers that are not at an address that is built in, each with who listens there.
pub(crate) fn redirected_providers(config: &Settings) -> Vec<String> {
    let known = BuiltinProvider::ALL.iter().map(|known| known.name);
    let names: BTreeSet<&str> = known.chain(config.providers.keys().map(String::as_str)).collect();
    let hosts = names.into_iter().filter_map(|name| {
        // One that cannot be put together cannot be asked either.
        let host = ProviderConfig::new(name, config.providers.get(name)).ok()?.host();
        let built_in =
            BuiltinProvider::named(name).map(|known| known.base_url.unwrap_or(known.kind.base_url()));
        let is_at_home = built_in.and_then(host_of).is_some_and(|own| own == host);
        (!is_at_home).then(|| format!("{name} {host}"))
    });
    hosts.collect()
}

/// The reference as it is kept: a script with its whole path. The script is looked at, a provider is not.
pub(crate) fn canonical(name: &str) -> Result<String, Failure> {
    match parsed(name)? {
        ModelRef::Scripted { file } => Ok(format!("scripted:{}", script::load(&file)?.0)),
        reference @ (ModelRef::Demo | ModelRef::Hosted { .. } | ModelRef::Route { .. }) => {
            Ok(reference.to_string())
        }
    }
}

/// The built-in script alone: for engines that end what is there and ask nobody.
pub(crate) fn demo() -> Result<Models, Failure> {
    Ok(Models::new(vec![(DEMO.to_owned(), built_in()?.into())]))
}

fn built_in() -> Result<ScriptedModel, Failure> {
    ScriptedModel::demo().map_err(|error| Failure::new("script_invalid", error.to_string(), ""))
}

fn parsed(name: &str) -> Result<ModelRef, Failure> {
    ModelRef::parse(name)
        .map_err(|error| Failure::usage("model_unknown", error.to_string(), "see `wakeful run --help`"))
}
