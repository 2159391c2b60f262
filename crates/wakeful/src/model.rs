//! The available models: those that a person named or configured, and those with a key in the environment.

mod provider;
mod script;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use wakeful_api::{AgentModelState, ModelSource};
use wakeful_core::id::PolicyVersion;
use wakeful_core::inference::{DataBoundary, NO_SECRET};
use wakeful_core::run::ROUTE_MAX;
use wakeful_models::{
    BuiltinProvider, Credential, HostedModel, HttpClients, ModelRef, Models, RouteModel, ScriptedModel,
    Thinking, UnusableModel, host_of,
};
use wakeful_server::MissingKey;
use wakeful_store::rows::Agent;

pub(crate) use self::provider::ProviderConfig;
use crate::config::{LiveSettings, Settings, ThinkingSetting};
use crate::failure::Failure;
use crate::secret::SecretHandle;
use crate::show::Out;

/// The reference of the built-in script.
pub(crate) const DEMO: &str = "demo";

/// Shared state for creating models, one per process: settings, connections and keys from the keyring.
#[derive(Debug, Clone)]
pub(crate) struct ModelRegistry {
    config: LiveSettings,
    clients: HttpClients,
    // Cached, because a keyring is slow and may prompt a person. At most one entry per configured provider.
    keyring: Arc<Mutex<BTreeMap<SecretHandle, Credential>>>,
    // Models of earlier runs, so that a conversation can continue at its provider. At most MADE_MAX.
    made: Arc<Mutex<BTreeMap<String, HostedModel>>>,
}

/// Maximum number of cached models. Beyond it each run creates its own, which loses only cached state.
const MADE_MAX: usize = 64;

/// The agent whose run starts.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RunOwner<'a> {
    /// The model in the agent's record.
    pub(crate) chosen: Option<&'a str>,
    /// The fallbacks in the agent's record.
    pub(crate) fallbacks: Option<&'a [String]>,
}

impl<'a> From<&'a Agent> for RunOwner<'a> {
    fn from(agent: &'a Agent) -> Self {
        Self {
            chosen: agent.model_ref.as_deref(),
            fallbacks: agent.settings.fallbacks.as_deref(),
        }
    }
}

/// The models of a new run, and why they were chosen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ModelChain {
    /// The model that is tried first.
    pub(crate) model_ref: String,
    /// The models that are tried, in this order, when the first one fails permanently.
    pub(crate) fallbacks: Vec<String>,
    pub(crate) why: ModelChoiceReason,
}

/// Why a model was chosen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ModelChoiceReason {
    /// The call names it.
    Asked,
    /// The agent's record names it.
    Agent,
    /// The general settings name it.
    Configured,
    /// No model is named, and its provider has a key here.
    Key(SecretHandle),
    /// No model is named, and no key was found.
    Demo,
}

impl ModelRegistry {
    pub(crate) fn new(config: &Settings) -> Self {
        Self::following(LiveSettings::fixed(config))
    }

    /// A registry that uses the settings as they are at each call.
    pub(crate) fn following(config: LiveSettings) -> Self {
        Self {
            config,
            clients: HttpClients::default(),
            keyring: Arc::default(),
            made: Arc::default(),
        }
    }

    /// The model of runs that do not name one, and why it is chosen.
    pub(crate) fn default_ref(&self) -> Result<(String, ModelChoiceReason), Failure> {
        let config = self.config();
        if let Some(reference) = &config.model.default {
            return Ok((reference.clone(), ModelChoiceReason::Configured));
        }
        if let Some(name) = &config.provider.name {
            self.provision(name)?;
            let model = BuiltinProvider::named(name).and_then(|known| known.default_model);
            let model = model.ok_or_else(|| {
                let message = format!("provider {name} has no default model, and model.default is not set");
                let hint = format!("`wakeful config set model.default {name}/MODEL`");
                Failure::usage("model_missing", message, hint)
            })?;
            return Ok((format!("{name}/{model}"), ModelChoiceReason::Configured));
        }
        for known in BuiltinProvider::ALL {
            let Some(model) = known.default_model else {
                continue;
            };
            let provider = self.provision(known.name)?;
            if let Some(handle) = provider.key_handle().filter(|_| provider.sends_key()) {
                let reference = format!("{}/{model}", known.name);
                return Ok((reference, ModelChoiceReason::Key(handle)));
            }
        }
        Ok((DEMO.to_owned(), ModelChoiceReason::Demo))
    }

    /// The models of a run that starts now. A model named in the call is used without fallbacks; a route
    /// has its own fallbacks.
    pub(crate) fn chain(
        &self,
        whose: Option<RunOwner<'_>>,
        wished: Option<&str>,
    ) -> Result<ModelChain, Failure> {
        let own_fallbacks = whose.and_then(|whose| whose.fallbacks).map(<[String]>::to_vec);
        let chosen = whose.and_then(|whose| whose.chosen).map(str::to_owned);
        let (reference, fallbacks, why) = match (wished, chosen) {
            (Some(wished), _) => (wished.to_owned(), Vec::new(), ModelChoiceReason::Asked),
            (None, Some(model)) => (model, own_fallbacks.unwrap_or_default(), ModelChoiceReason::Agent),
            (None, None) => {
                let (reference, why) = self.default_ref()?;
                let fallbacks = match why {
                    // A demo must not fall back to a model that costs money.
                    ModelChoiceReason::Demo => Vec::new(),
                    ModelChoiceReason::Asked
                    | ModelChoiceReason::Agent
                    | ModelChoiceReason::Configured
                    | ModelChoiceReason::Key(_) => {
                        own_fallbacks.unwrap_or_else(|| self.config().model.fallbacks.clone())
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

    /// The models of an agent's next run, and how they were chosen; `None` if they cannot be determined,
    /// for example because a route was removed.
    pub(crate) fn state(&self, whose: RunOwner<'_>) -> Option<AgentModelState> {
        let chain = self.chain(Some(whose), None).ok()?;
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
            override_model: whose.chosen.map(str::to_owned),
        })
    }

    fn expand(&self, name: &str) -> Result<(String, Vec<String>), Failure> {
        let config = self.config();
        let route = config.routes.get(name).map(|route| route.models.as_slice());
        match route.and_then(<[String]>::split_first) {
            Some((first, rest)) => Ok((first.clone(), rest.to_vec())),
            None => {
                let message = format!("unknown route {name}");
                let hint = format!("define it in [routes.{name}] of config.toml, or choose another");
                Err(Failure::usage("model_unknown", message, hint))
            }
        }
    }

    /// The key without which the agent's next run cannot start, if it is missing.
    pub(crate) fn missing_key(&self, whose: RunOwner<'_>) -> Option<MissingKey> {
        let chain = self.chain(Some(whose), None).ok()?;
        let failure = self.route(&chain.model_ref, &chain.fallbacks).err()?;
        let is_key = [NO_SECRET, "secret_exposed", "secret_invalid"].contains(&failure.code());
        let provider = chain.model_ref.split('/').next().unwrap_or_default().to_owned();
        is_key.then(|| MissingKey {
            provider,
            problem: failure.into(),
        })
    }

    /// Resolves the model or route of this name to a reference that is valid from any folder, if it is
    /// available.
    pub(crate) fn named(&self, name: &str) -> Result<String, Failure> {
        let canonical = canonical(name)?;
        let chain = self.chain(None, Some(&canonical))?;
        self.route(&chain.model_ref, &chain.fallbacks)?;
        Ok(canonical)
    }

    /// Checks that the provider or the route of a model exists. Its key and its name at the provider are not
    /// checked.
    pub(crate) fn check_name(&self, name: &str) -> Result<(), Failure> {
        match parsed(name)? {
            ModelRef::Hosted { provider, .. } => self.provision(&provider).map(drop),
            ModelRef::Route { .. } => self.chain(None, Some(name)).map(drop),
            ModelRef::Demo | ModelRef::Scripted { .. } => Ok(()),
        }
    }

    /// The models of a run. An unavailable model fails when it is tried; if none is available, the reason
    /// of the first one is returned at once.
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
                            // The caller did not type this name now: it is a route candidate that no
                            // transport supports.
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
                let message = format!("route:{name} is a route, not a single model");
                let hint = "use a route only as the model of a whole run";
                Err(here(Failure::usage("model_unknown", message, hint)))
            }
        }
    }

    /// The thinking level of a model: its own setting, else that of its provider.
    pub(crate) fn thinking(&self, provider: &str, model_ref: &str) -> Option<Thinking> {
        let config = self.config();
        let own = config.models.get(model_ref).and_then(|own| own.thinking);
        let all = || config.providers.get(provider).and_then(|all| all.thinking);
        own.or_else(all).map(ThinkingSetting::asked)
    }

    /// The configuration of a provider, without resolving its key.
    pub(crate) fn provision(&self, name: &str) -> Result<ProviderConfig, Failure> {
        ProviderConfig::new(name, self.config().providers.get(name))
    }

    /// Reads keys from the keyring again, because one was changed.
    pub(crate) fn forget_keys(&self) {
        self.keyring
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clear();
    }

    /// Whether a model costs money, determined without its key. A route does if one of its models does.
    pub(crate) fn is_paid(&self, name: &str) -> bool {
        match ModelRef::parse(name) {
            Ok(ModelRef::Hosted { provider, .. }) => {
                if let Some(price) = self.config().prices.get(name) {
                    return !price.price().is_free();
                }
                // Plain http is allowed only on this machine, and a local model without a key is free.
                let is_here = |at: ProviderConfig| {
                    let url = at.base_url.as_ref().map(|(url, _)| url.as_str());
                    url.is_some_and(|url| url.starts_with("http://")) && !at.sends_key()
                };
                !self.provision(&provider).is_ok_and(is_here)
            }
            Ok(ModelRef::Route { name }) => {
                let config = self.config();
                let route = config.routes.get(&name);
                route.is_some_and(|route| route.models.iter().any(|model| self.is_paid(model)))
            }
            Ok(ModelRef::Demo | ModelRef::Scripted { .. }) | Err(_) => false,
        }
    }

    /// One model of a provider, or why it is unavailable.
    pub(crate) fn hosted(&self, provider: &str, model: &str) -> Result<HostedModel, Failure> {
        let provision = self.provision(provider)?;
        let made = provision.hosted(model, &format!("{provider}/{model}"), self);
        made.map_err(|(_, failure)| failure)
    }

    /// The names of all built-in and configured providers.
    pub(crate) fn providers(&self) -> Vec<String> {
        let mut names: Vec<String> = BuiltinProvider::ALL
            .iter()
            .map(|known| known.name.to_owned())
            .collect();
        let config = self.config();
        let own = config
            .providers
            .keys()
            .filter(|name| BuiltinProvider::named(name).is_none());
        names.extend(own.cloned());
        names
    }

    pub(crate) fn config(&self) -> Arc<Settings> {
        self.config.current()
    }

    /// The versions of all policies in effect.
    pub(crate) fn policy_versions(&self) -> BTreeSet<PolicyVersion> {
        let config = self.config();
        config.policy_versions(&redirected_providers(&config))
    }

    /// The cached model, if its configuration is unchanged; otherwise the new one.
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

    /// The key of a handle. Keys from a keyring are cached for the lifetime of the process.
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
    /// Prints which model is used if none was named.
    pub(crate) fn print_chosen_model(&self, out: &Out) {
        match &self.why {
            ModelChoiceReason::Demo => out.note(
                "no model is configured: using the built-in demo script (choose a model with --model, such as anthropic/MODEL)",
            ),
            ModelChoiceReason::Key(place) => out.note(&format!(
                "no model is configured: using {} because {} (choose another with --model, or permanently with \
                    `wakeful config set model.default REF`)",
                self.model_ref,
                key_reason(place)
            )),
            ModelChoiceReason::Asked | ModelChoiceReason::Agent | ModelChoiceReason::Configured => {}
        }
    }
}

/// Why a key decides on the model.
pub(crate) fn key_reason(place: &SecretHandle) -> String {
    match place {
        SecretHandle::Env(name) => format!("{name} is set"),
        SecretHandle::File(_) | SecretHandle::Keyring { .. } | SecretHandle::None => {
            format!("its key is in {place}")
        }
    }
}

/// The providers whose address is not the built-in one, each with its host.
pub(crate) fn redirected_providers(config: &Settings) -> Vec<String> {
    let known = BuiltinProvider::ALL.iter().map(|known| known.name);
    let names: BTreeSet<&str> = known.chain(config.providers.keys().map(String::as_str)).collect();
    let hosts = names.into_iter().filter_map(|name| {
        // A provider with an invalid configuration is not used either.
        let host = ProviderConfig::new(name, config.providers.get(name)).ok()?.host();
        let built_in =
            BuiltinProvider::named(name).map(|known| known.base_url.unwrap_or(known.kind.base_url()));
        let is_at_home = built_in.and_then(host_of).is_some_and(|own| own == host);
        (!is_at_home).then(|| format!("{name} {host}"))
    });
    hosts.collect()
}

/// The stored form of a reference: a script has its absolute path. A script is checked here, a provider is
/// not.
pub(crate) fn canonical(name: &str) -> Result<String, Failure> {
    match parsed(name)? {
        ModelRef::Scripted { file } => Ok(format!("scripted:{}", script::load(&file)?.0)),
        reference @ (ModelRef::Demo | ModelRef::Hosted { .. } | ModelRef::Route { .. }) => {
            Ok(reference.to_string())
        }
    }
}

/// Only the built-in script, for engines that end existing runs and call no model.
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
