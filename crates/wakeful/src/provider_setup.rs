//! Set-up of model providers: lists them and their models, tests them without cost, stores their keys, and
//! finds servers on this machine. The API, `wakeful init` and `wakeful models key` share it.

mod add;
mod check;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde_json::Value;
use tokio::task::{JoinSet, spawn_blocking};
use wakeful_api::{
    AddProvider, AddedProvider, LocalProvider, ModelChoice, ModelChoiceKind, ModelProvider, ProviderTest,
    SetProviderKey, StoredKey, TestProvider,
};
use wakeful_core::budget::PriceBasis;
use wakeful_core::failure::ModelFailure;
use wakeful_core::inference::NO_SECRET;
use wakeful_core::problem::Problem;
use wakeful_core::suggestion;
use wakeful_models::{BuiltinProvider, Credential, HostedModel, ModelList, ModelRef};
use wakeful_ports::model::Model as _;
use wakeful_server::{HostFuture, ProviderHost};

pub(crate) use self::check::MODEL_UNKNOWN;
use crate::config::{self, ConfigEdit, Overrides};
use crate::failure::Failure;
use crate::home::Home;
use crate::model::{DEMO, ModelRegistry, ProviderConfig};
use crate::secret::{SecretHandle, keys_changed};

/// How long a provider may take to answer a test. A person waits for it.
const TEST_TIME_MAX: Duration = Duration::from_secs(10);

/// How long a server on this machine may take to list its models.
const LOCAL_TIME_MAX: Duration = Duration::from_millis(300);

/// Most known models in a message about an unknown one.
const NAMES_SHOWN_MAX: usize = 20;

/// The providers of a home. Cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct ProviderSetup {
    /// The home, which need not exist until a key is stored.
    pub(crate) home: PathBuf,
    pub(crate) models: ModelRegistry,
}

impl ProviderSetup {
    /// The configuration of a provider, or why it does not exist.
    pub(crate) fn provider(&self, name: &str) -> Result<ProviderConfig, Failure> {
        self.models.provision(name).map_err(|failure| {
            match (
                failure.code(),
                BuiltinProvider::named(name),
                self.models.config().providers.get(name),
            ) {
                ("model_unknown", None, None) => {
                    let known = self.models.providers();
                    let hint = suggestion::hint(name, known.iter().map(String::as_str));
                    Failure::usage("provider_unknown", format!("unknown provider {name}"), hint)
                }
                (_, _, _) => failure,
            }
        })
    }

    /// Describes a provider. It looks up the key, which may take seconds with a keyring.
    pub(crate) fn describe(&self, name: &str) -> Result<ModelProvider, Failure> {
        let config = self.provider(name)?;
        let known = BuiltinProvider::named(name);
        let key = config.key(&self.models);
        let made = match &key {
            Ok(key) => config
                .hosted_with(key.clone(), "-", &self.models)
                .map_err(|(_, failure)| failure),
            Err(failure) => Err(Failure::new(
                failure.code().to_owned(),
                failure.message(),
                failure.hint(),
            )),
        };
        let without_key = config.hosted_with(None, "-", &self.models).map(drop);
        let needs_key = without_key.is_err_and(|(_, failure)| failure.code() == NO_SECRET);
        let default = known.and_then(|known| known.default_model);
        Ok(ModelProvider {
            name: name.to_owned(),
            is_built_in: known.is_some(),
            is_local: config.is_local(),
            kind: config.kind.word().to_owned(),
            base_url: config.url().to_owned(),
            key_handle: config.key_handle().map(|handle| handle.to_string()),
            needs_key,
            has_key: key.is_ok_and(|key| key.is_some()),
            problem: made.err().map(|failure| sentence(&failure)),
            default_model: default.map(|model| format!("{name}/{model}")),
            models: self.known_models(Some(name)),
        })
    }

    /// The models that a person can choose, without a request: the default first, then those of the
    /// settings and the built-in ones.
    fn known_models(&self, provider: Option<&str>) -> Vec<ModelChoice> {
        let config = self.models.config();
        let default = self.models.default_ref().map(|(reference, _)| reference).ok();
        let mut names: Vec<String> = default.clone().into_iter().collect();
        names.extend(config.routes.keys().map(|route| format!("route:{route}")));
        names.extend(config.model.fallbacks.iter().cloned());
        names.extend(config.routes.values().flat_map(|route| route.models.clone()));
        names.extend(config.models.keys().chain(config.prices.keys()).cloned());
        for known in BuiltinProvider::ALL {
            let models = known
                .default_model
                .into_iter()
                .chain(known.other_models.iter().copied());
            names.extend(models.map(|model| format!("{}/{model}", known.name)));
        }
        names.push(DEMO.to_owned());
        let mut seen = std::collections::BTreeSet::new();
        names.retain(|name| seen.insert(name.clone()));
        let is_own =
            |name: &String| provider.is_none_or(|own| name.split_once('/').is_some_and(|(of, _)| of == own));
        let own = names.into_iter().filter(is_own);
        own.filter_map(|name| self.choice(&name, default.as_deref()))
            .collect()
    }

    fn choice(&self, model_ref: &str, default: Option<&str>) -> Option<ModelChoice> {
        let parsed = ModelRef::parse(model_ref).ok()?;
        let chain = self.models.chain(None, Some(model_ref));
        let route = chain.and_then(|chain| self.models.route(&chain.model_ref, &chain.fallbacks));
        let (kind, price) = match &parsed {
            ModelRef::Demo => (ModelChoiceKind::Demo, None),
            ModelRef::Scripted { .. } => (ModelChoiceKind::Scripted, None),
            ModelRef::Route { .. } => (ModelChoiceKind::Route, None),
            ModelRef::Hosted { provider, model } => {
                let price = match &route {
                    Ok(models) => models.profile(model_ref).price,
                    // The price does not depend on the missing key.
                    Err(_) if self.models.is_paid(&format!("{provider}/{model}")) => {
                        Some(wakeful_models::listed_or_assumed(model))
                    }
                    Err(_) => None,
                };
                (ModelChoiceKind::Hosted, price)
            }
        };
        Some(ModelChoice {
            model_ref: model_ref.to_owned(),
            kind,
            is_default: default == Some(model_ref),
            is_usable: route.is_ok(),
            input_usd: price.map(|(price, _)| price.input.to_string()),
            output_usd: price.map(|(price, _)| price.output.to_string()),
            is_price_assumed: price.is_some_and(|(_, basis)| basis == PriceBasis::Assumed),
        })
    }

    /// Tests a provider with a request that costs nothing. With a key, that key is tested and not the stored
    /// one.
    pub(crate) async fn test(
        &self,
        name: &str,
        model: Option<&str>,
        key: Option<Credential>,
    ) -> Result<ProviderTest, Failure> {
        self.test_provider(self.provider(name)?, model, key).await
    }

    /// The same for a provider that need not be in the settings.
    async fn test_provider(
        &self,
        config: ProviderConfig,
        model: Option<&str>,
        key: Option<Credential>,
    ) -> Result<ProviderTest, Failure> {
        let begun = Instant::now();
        let (setup, tested) = (self.clone(), config.clone());
        let made = spawn_blocking(move || {
            let made = match key {
                Some(key) => tested.with_given_key().hosted_with(Some(key), "-", &setup.models),
                None => {
                    let stored = tested.key(&setup.models)?;
                    tested.hosted_with(stored, "-", &setup.models)
                }
            };
            made.map_err(|(_, failure)| failure)
        });
        let made = made
            .await
            .unwrap_or_else(|_| Err(Failure::new("interrupted", "the test was stopped", "")));
        let mut result = match made {
            Err(failure) => untested(&failure),
            Ok(hosted) => match hosted.list_models(TEST_TIME_MAX).await {
                Err(failure) => refused(&config, &failure),
                Ok(list) => reached(&config, list, model),
            },
        };
        result.duration_ms = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        Ok(result)
    }

    /// Tests and stores a key, and uses it from now on.
    pub(crate) async fn set_key(&self, asked: SetProviderKey) -> Result<StoredKey, Failure> {
        let name = asked.provider.to_string();
        self.provider(&name)?;
        let credential = check_key(&asked.key)?;
        let test = match asked.skip_test {
            true => None,
            false => Some(self.test(&name, None, Some(credential)).await?),
        };
        if let Some(test) = test
            .as_ref()
            .filter(|test| test.code.as_deref() == Some(KEY_REFUSED))
        {
            let hint = "check the key and try again; nothing was stored";
            return Err(Failure::new(KEY_REFUSED, test.message.clone(), hint));
        }
        let setup = self.clone();
        let stored = spawn_blocking(move || {
            setup.store_key(&name, &asked.key)?;
            setup.reloaded()?.describe(&name)
        });
        let provider = stored.await.unwrap_or_else(|_| Err(interrupted()))?;
        Ok(StoredKey { provider, test })
    }

    /// The same with the settings as they are in the file now. A command reads its settings once.
    fn reloaded(&self) -> Result<Self, Failure> {
        let loaded = config::load(&self.home, &Overrides::default())?;
        Ok(Self {
            home: self.home.clone(),
            models: ModelRegistry::new(&loaded.config),
        })
    }

    fn store_key(&self, name: &str, key: &str) -> Result<(), Failure> {
        let home = Home::open(&self.home)?;
        let before = self.provider(name)?.key_handle();
        let handle = SecretHandle::store(home.root(), name, key)?;
        let edit = ConfigEdit::Set {
            key: format!("providers.{name}.key"),
            text: handle.to_string(),
        };
        if let Err(failure) = config::change(&home, &[edit]) {
            // A key that no setting refers to must not stay. One that was there before does.
            if before.as_ref() != Some(&handle) {
                handle.delete(home.root(), name)?;
            }
            return Err(failure);
        }
        handle.delete_replaced(before.as_ref(), home.root(), name)?;
        self.models.forget_keys();
        keys_changed();
        Ok(())
    }

    /// Removes the key of a provider from the settings, and deletes it if Wakeful stored it.
    pub(crate) fn remove_key(&self, name: &str) -> Result<ModelProvider, Failure> {
        self.provider(name)?;
        let home = Home::open(&self.home)?;
        let edit = ConfigEdit::Unset(format!("providers.{name}.key"));
        let before = self.models.provision(name)?.key_handle();
        let is_changed = config::change(&home, &[edit])?;
        if let Some(handle) = before.filter(|_| is_changed) {
            handle.delete(home.root(), name)?;
        }
        self.models.forget_keys();
        keys_changed();
        self.reloaded()?.describe(name)
    }

    /// The model servers on this machine that respond, in the order of the built-in providers.
    pub(crate) async fn find_local(&self) -> Vec<LocalProvider> {
        let mut probes = JoinSet::new();
        let local = BuiltinProvider::ALL.into_iter().filter(BuiltinProvider::is_local);
        for (at, known) in local.enumerate() {
            let Ok(config) = self.models.provision(known.name) else {
                continue;
            };
            let Ok(hosted) = config.hosted_with(None, "-", &self.models) else {
                continue;
            };
            if config.is_local() {
                probes.spawn(async move { (at, probe(&config, &hosted).await) });
            }
        }
        let mut found = probes.join_all().await;
        found.sort_by_key(|(at, _)| *at);
        found.into_iter().filter_map(|(_, found)| found).collect()
    }
}

/// Lists the models of a server on this machine. A server that answers anything else is not found.
async fn probe(config: &ProviderConfig, hosted: &HostedModel) -> Option<LocalProvider> {
    let list = hosted.list_models(LOCAL_TIME_MAX).await.ok()??;
    Some(LocalProvider {
        provider: config.name.clone(),
        base_url: config.url().to_owned(),
        models: references(&config.name, &list),
    })
}

/// The code of a key that a provider does not accept.
pub(crate) const KEY_REFUSED: &str = "key_refused";

/// The code of a key that is not available.
pub(crate) const KEY_MISSING: &str = "key_missing";

/// Validates a key. The message does not repeat it.
pub(crate) fn check_key(text: &str) -> Result<Credential, Failure> {
    Credential::new(text).map_err(|error| {
        let hint = "paste only the key, without quotes, spaces or line breaks";
        Failure::usage("bad_key", error.to_string(), hint)
    })
}

fn references(provider: &str, list: &ModelList) -> Vec<String> {
    let names = list.names.iter();
    names.map(|name| format!("{provider}/{name}")).collect()
}

fn problem(code: &str, message: String, hint: String) -> ProviderTest {
    ProviderTest {
        is_ok: false,
        message,
        hint: Some(hint).filter(|hint| !hint.is_empty()),
        code: Some(code.to_owned()),
        duration_ms: 0,
        models: Vec::new(),
    }
}

/// Nothing was sent.
fn untested(failure: &Failure) -> ProviderTest {
    let code = match failure.code() {
        NO_SECRET => KEY_MISSING,
        code => code,
    };
    problem(code, failure.message().to_owned(), failure.hint().to_owned())
}

fn refused(config: &ProviderConfig, failure: &ModelFailure) -> ProviderTest {
    let (name, artifact) = (&config.name, &failure.artifact);
    match artifact.status {
        Some(status @ (401 | 403)) => problem(
            KEY_REFUSED,
            format!("{name} refuses the key (status {status}): {}", artifact.summary),
            format!("check the key and store it with `wakeful models key set {name}`"),
        ),
        Some(_) | None => {
            let hint = match config.is_local() {
                true => format!("start the server at {}, or choose another provider", config.url()),
                false => format!("check the connection to {}, then try again", config.host()),
            };
            let message = format!("{name} at {}: {}", config.host(), artifact.summary);
            problem(&artifact.kind, message, hint)
        }
    }
}

fn reached(config: &ProviderConfig, list: Option<ModelList>, model: Option<&str>) -> ProviderTest {
    let name = &config.name;
    let Some(list) = list else {
        let message =
            format!("{name} responds, but lists no models; the first request shows whether the key works");
        return ok(message, Vec::new());
    };
    let models = references(name, &list);
    match model.filter(|model| !list.may_contain(model)) {
        Some(model) => {
            let shown = models.iter().take(NAMES_SHOWN_MAX).map(String::as_str);
            let hint = match suggestion::nearest(model, list.names.iter().map(String::as_str)) {
                Some(meant) => format!("did you mean {name}/{meant}?"),
                None => suggestion::hint(model, shown),
            };
            ProviderTest {
                models,
                ..problem(MODEL_UNKNOWN, format!("{name} has no model {model}"), hint)
            }
        }
        None => ok(
            format!("{name} responds and lists {} models", models.len()),
            models,
        ),
    }
}

const fn ok(message: String, models: Vec<String>) -> ProviderTest {
    ProviderTest {
        is_ok: true,
        message,
        hint: None,
        code: None,
        duration_ms: 0,
        models,
    }
}

/// A failure as one text for people.
fn sentence(failure: &Failure) -> String {
    match failure.hint() {
        "" => failure.message().to_owned(),
        hint => format!("{}; {hint}", failure.message()),
    }
}

fn interrupted() -> Failure {
    Failure::new("interrupted", "the daemon is stopping", "try again")
}

impl ProviderHost for ProviderSetup {
    fn list(&self) -> HostFuture<Vec<ModelProvider>> {
        let setup = self.clone();
        blocking(move || {
            let names = setup.models.providers();
            Ok(names
                .iter()
                .filter_map(|name| setup.describe(name).ok())
                .collect())
        })
    }

    fn models(&self) -> HostFuture<Vec<ModelChoice>> {
        let setup = self.clone();
        blocking(move || Ok(setup.known_models(None)))
    }

    fn find_local(&self) -> HostFuture<Vec<LocalProvider>> {
        let setup = self.clone();
        Box::pin(async move { Ok(Self::find_local(&setup).await) })
    }

    fn check_models(&self, names: Vec<String>) -> HostFuture<Option<String>> {
        let setup = self.clone();
        Box::pin(async move { Ok(Self::check_models(&setup, &names).await?) })
    }

    fn check_setting(&self, name: String, value: Value) -> HostFuture<Option<String>> {
        let setup = self.clone();
        Box::pin(async move { Ok(Self::check_setting(&setup, &name, &value).await?) })
    }

    fn test(&self, asked: TestProvider) -> HostFuture<ProviderTest> {
        let setup = self.clone();
        Box::pin(async move {
            let name = asked.provider.to_string();
            Ok(Self::test(&setup, &name, asked.model.as_deref(), None).await?)
        })
    }

    fn set_key(&self, asked: SetProviderKey) -> HostFuture<StoredKey> {
        let setup = self.clone();
        Box::pin(async move { Ok(Self::set_key(&setup, asked).await?) })
    }

    fn add(&self, asked: AddProvider) -> HostFuture<AddedProvider> {
        let setup = self.clone();
        Box::pin(async move { Ok(Self::add(&setup, asked).await?) })
    }

    fn remove_key(&self, provider: String) -> HostFuture<ModelProvider> {
        let setup = self.clone();
        blocking(move || Self::remove_key(&setup, &provider))
    }
}

/// Runs a function that reads files or asks a keyring on a blocking thread.
fn blocking<T: Send + 'static>(work: impl FnOnce() -> Result<T, Failure> + Send + 'static) -> HostFuture<T> {
    Box::pin(async move {
        let done: Result<T, Failure> = spawn_blocking(work).await.unwrap_or_else(|_| Err(interrupted()));
        done.map_err(Problem::from)
    })
}
