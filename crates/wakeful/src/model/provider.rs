//! One provider, configured from built-in values, settings and environment variables.

use wakeful_core::inference::{DataBoundary, NO_SECRET};
use wakeful_core::suggestion;
use wakeful_models::{
    BadUrl, BuiltinProvider, Credential, HostedModel, HostedModelError, HostedOptions, KeyHeader,
    KeyRequirement, Provider, RequestOptions, Timeouts, host_of,
};

use super::ModelRegistry;
use crate::config::{PriceSettings, ProviderSettings};
use crate::failure::Failure;
use crate::global_args::text_variable;
use crate::secret::SecretHandle;

/// How a provider is reached. It contains no key.
#[derive(Debug, Clone)]
pub(crate) struct ProviderConfig {
    pub(crate) name: String,
    pub(crate) kind: Provider,
    /// A base URL that differs from the format's default, and where it was configured.
    pub(crate) base_url: Option<(String, String)>,
    pub(crate) key: KeyLocation,
    settings: ProviderSettings,
}

/// Where a provider's key is looked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum KeyLocation {
    Handle(SecretHandle),
    /// The first of these environment variables that is set.
    Variables {
        names: &'static [&'static str],
        keyed: Option<KeyRequirement>,
    },
    /// No location is configured; the wire format determines whether a key is required.
    Nowhere,
    /// A person gave the key for a test; it is not stored yet.
    Given,
}

impl ProviderConfig {
    /// A provider by name. Settings override the provider's own environment variables, which override
    /// built-in values.
    pub(crate) fn new(name: &str, settings: Option<&ProviderSettings>) -> Result<Self, Failure> {
        let (known, own) = (
            BuiltinProvider::named(name),
            settings.cloned().unwrap_or_default(),
        );
        let kind = match (&own.kind, known) {
            (Some(word), _) => Provider::ALL
                .into_iter()
                .find(|kind| kind.word() == word)
                .ok_or_else(|| {
                    unsupported(&format!(
                        "the wire format {word} of provider {name} is not supported"
                    ))
                })?,
            (None, Some(known)) => known.kind,
            (None, None) => return Err(unknown(name)),
        };
        let base_url = match (&own.base_url, known.and_then(|known| known.url_variable)) {
            (Some(url), _) => Some((url.clone(), format!("providers.{name}.base_url"))),
            (None, Some(variable)) => text_variable(variable)?.map(|url| (url, variable.to_owned())),
            (None, None) => None,
        };
        let is_moved = base_url.is_some();
        let built_in = || known.and_then(|known| known.base_url);
        let base_url = base_url.or_else(|| built_in().map(|url| (url.to_owned(), "built in".to_owned())));
        let key = match (&own.key, known) {
            (Some(text), _) => KeyLocation::Handle(SecretHandle::parse(text).map_err(|_| {
                let message = format!("providers.{name}.key is not the location of a key");
                Failure::usage(
                    "config_invalid",
                    message,
                    "use env:NAME, file:/PATH or keyring:SERVICE/ACCOUNT",
                )
            })?),
            (None, Some(known)) if !known.key_variables.is_empty() => KeyLocation::Variables {
                names: known.key_variables,
                // A provider at its built-in address always requires a key, even if the wire format does
                // not.
                keyed: (known.base_url.is_some() && !is_moved).then_some(KeyRequirement::Always),
            },
            (None, _) => KeyLocation::Nowhere,
        };
        Ok(Self {
            name: name.to_owned(),
            kind,
            base_url,
            key,
            settings: own,
        })
    }

    /// One of the provider's models. The error also contains the data boundary that a request would have
    /// crossed.
    pub(super) fn hosted(
        &self,
        model: &str,
        model_ref: &str,
        registry: &ModelRegistry,
    ) -> Result<HostedModel, (DataBoundary, Failure)> {
        let credential = self
            .key(registry)
            .map_err(|failure| (DataBoundary::Outside, failure))?;
        let made = self.hosted_with(credential, model, registry)?;
        Ok(registry.kept(model_ref, made))
    }

    /// One of the provider's models with a key that need not be stored. It is not cached.
    pub(crate) fn hosted_with(
        &self,
        credential: Option<Credential>,
        model: &str,
        registry: &ModelRegistry,
    ) -> Result<HostedModel, (DataBoundary, Failure)> {
        let model_ref = &format!("{}/{model}", self.name);
        let config = registry.config();
        let prices = &config.prices;
        let defaults = HostedOptions::of(self.kind, model);
        let options = HostedOptions {
            name: &self.name,
            base_url: self.base_url.as_ref().map(|(url, _)| url.as_str()),
            credential,
            key_source: self.key_source(),
            keyed: self.keyed().unwrap_or(defaults.keyed),
            price: prices.get(model_ref.as_str()).copied().map(PriceSettings::price),
            times: self.times(),
            shape: RequestOptions {
                thinking: registry.thinking(&self.name, model_ref),
                ..self.shape()
            },
            ..defaults
        };
        let made = HostedModel::with_clients(options, registry.clients());
        made.map_err(|error| self.unusable(&error, model_ref, registry))
    }

    /// The base URL.
    pub(crate) fn url(&self) -> &str {
        let own = self.base_url.as_ref().map(|(url, _)| url.as_str());
        own.unwrap_or(self.kind.base_url())
    }

    /// Where the key is or would be looked for, as a handle that a person may see. `None` if no place is
    /// configured.
    pub(crate) fn key_handle(&self) -> Option<SecretHandle> {
        match &self.key {
            KeyLocation::Handle(handle) => Some(handle.clone()),
            KeyLocation::Variables { names, .. } => {
                let is_set = |name: &&&str| text_variable(name).is_ok_and(|text| text.is_some());
                let name = names.iter().find(is_set)?;
                Some(SecretHandle::Env((*name).to_owned()))
            }
            KeyLocation::Nowhere | KeyLocation::Given => None,
        }
    }

    /// Whether the server is on this machine: plain http is allowed only there.
    pub(crate) fn is_local(&self) -> bool {
        self.url().starts_with("http://")
    }

    /// The host of the provider's address.
    pub(crate) fn host(&self) -> String {
        host_of(self.url()).unwrap_or_else(|| "-".to_owned())
    }

    pub(crate) fn key(&self, registry: &ModelRegistry) -> Result<Option<Credential>, Failure> {
        match &self.key {
            KeyLocation::Handle(handle) => registry.key(handle),
            KeyLocation::Variables { names, .. } => {
                for name in *names {
                    if text_variable(name)?.is_some() {
                        return registry.key(&SecretHandle::Env((*name).to_owned()));
                    }
                }
                Ok(None)
            }
            KeyLocation::Nowhere | KeyLocation::Given => Ok(None),
        }
    }

    /// The provider with a key that is tested before it is stored.
    pub(crate) fn with_given_key(self) -> Self {
        Self {
            key: KeyLocation::Given,
            ..self
        }
    }

    /// Whether requests contain a key, determined without resolving it.
    pub(super) fn sends_key(&self) -> bool {
        match &self.key {
            KeyLocation::Handle(SecretHandle::None) | KeyLocation::Nowhere => false,
            KeyLocation::Handle(
                SecretHandle::Env(_) | SecretHandle::File(_) | SecretHandle::Keyring { .. },
            )
            | KeyLocation::Given => true,
            KeyLocation::Variables { names, .. } => names
                .iter()
                .any(|name| text_variable(name).is_ok_and(|text| text.is_some())),
        }
    }

    /// A description of where the key is looked up, for messages.
    pub(crate) fn key_source(&self) -> String {
        match &self.key {
            KeyLocation::Handle(handle) => handle.to_string(),
            KeyLocation::Variables { names, .. } => names.join(" or "),
            KeyLocation::Nowhere => format!("providers.{}.key", self.name),
            KeyLocation::Given => "your input".to_owned(),
        }
    }

    fn keyed(&self) -> Option<KeyRequirement> {
        match &self.key {
            KeyLocation::Handle(SecretHandle::None) => Some(KeyRequirement::Never),
            KeyLocation::Handle(_) | KeyLocation::Given => Some(KeyRequirement::Always),
            KeyLocation::Variables { keyed, .. } => *keyed,
            KeyLocation::Nowhere => None,
        }
    }

    fn shape(&self) -> RequestOptions<'_> {
        let own = &self.settings;
        RequestOptions {
            api_version: own.api_version.as_deref(),
            auth: own.auth.as_deref().map(|word| match word {
                "bearer" => KeyHeader::Bearer,
                _ => KeyHeader::Header("x-api-key"),
            }),
            max_output_tokens: own.max_output_tokens,
            incremental: own.incremental.unwrap_or_default(),
            context_management: own.context_management.unwrap_or_default(),
            freeform_tools: own.freeform_tools,
            images: own.images,
            web_search: own.web_search,
            ..RequestOptions::default()
        }
    }

    fn times(&self) -> Timeouts {
        let (own, defaults) = (&self.settings, Timeouts::default());
        Timeouts {
            connect_ms: own.connect_ms.unwrap_or(defaults.connect_ms),
            first_byte_ms: own.first_byte_ms.unwrap_or(defaults.first_byte_ms),
            idle_ms: own.idle_ms.unwrap_or(defaults.idle_ms),
            total_ms: own.total_ms.or(defaults.total_ms),
        }
    }

    fn unusable(
        &self,
        error: &HostedModelError,
        model_ref: &str,
        registry: &ModelRegistry,
    ) -> (DataBoundary, Failure) {
        match error {
            HostedModelError::Thinking(_) => {
                let config = registry.config();
                let is_own = config.models.get(model_ref);
                let place = match is_own.and_then(|own| own.thinking) {
                    Some(_) => format!("models.\"{model_ref}\".thinking"),
                    None => format!("providers.{}.thinking", self.name),
                };
                let message = format!("{model_ref}: {error}");
                let failure = Failure::usage("config_invalid", message, format!("correct {place}"));
                (DataBoundary::Process, failure)
            }
            HostedModelError::SecretMissing { .. } => {
                let hint = format!("store it with `wakeful models key set {}`", self.name);
                // A provider that receives a key is external, even if it listens on this machine.
                (
                    DataBoundary::Outside,
                    Failure::new(NO_SECRET, error.to_string(), hint),
                )
            }
            HostedModelError::ApiVersion { .. } => {
                let hint = format!("correct providers.{}.api_version", self.name);
                (
                    DataBoundary::Process,
                    Failure::new("unsupported_transport", error.to_string(), hint),
                )
            }
            HostedModelError::Url { source, .. } => {
                let place = self.base_url.as_ref().map_or("built in", |(_, place)| place);
                let (code, hint) = match source {
                    BadUrl::Insecure { .. } => {
                        ("insecure_url", "use https; http is allowed only on this machine")
                    }
                    BadUrl::Malformed => ("bad_url", "set it to a base URL, or unset it"),
                };
                let message = format!("{place}: {source}");
                (DataBoundary::Process, Failure::new(code, message, hint))
            }
        }
    }
}

/// The failure for a provider that is neither built in nor configured.
fn unknown(name: &str) -> Failure {
    let names = BuiltinProvider::ALL.map(|known| known.name);
    let hint = match suggestion::nearest(name, names) {
        Some(meant) => format!("did you mean {meant}?"),
        None => format!("use one of them, or define yours in [providers.{name}] of config.toml"),
    };
    let message = format!(
        "unknown provider {name}; the built-in providers are {}",
        names.join(", ")
    );
    Failure::usage("model_unknown", message, hint)
}

fn unsupported(message: &str) -> Failure {
    let known = Provider::ALL.map(Provider::word).join(", ");
    Failure::new("unsupported_transport", message, format!("choose one of {known}"))
}
