//! The part of `wakeful init` about models: provider, key and model, each checked when it is given.

use wakeful_api::{ModelProvider, ProviderTest};
use wakeful_core::suggestion;
use wakeful_models::{LISTED_MODELS_MAX, ModelList, ModelRef};

use super::InitArgs;
use super::ask::{Choices, Dialogue, TRIES_MAX, no_answer, not_listed};
use crate::cli::key_input::read_key;
use crate::config::Setting;
use crate::failure::Failure;
use crate::model::DEMO;
use crate::provider_setup::{KEY_MISSING, KEY_REFUSED, MODEL_UNKNOWN, ProviderSetup, check_key};

/// Most models of a provider that are offered. A longer list does not fit on a screen.
const MODELS_SHOWN_MAX: usize = 20;

/// The provider, its model and a key that has to be stored.
#[derive(Debug, Default)]
pub(super) struct ModelAnswers {
    pub(super) provider: Option<String>,
    pub(super) model: Option<String>,
    /// A checked key of `provider`.
    pub(super) key: Option<String>,
    /// What the person should know at the end.
    pub(super) notes: Vec<String>,
}

pub(super) struct ModelSetup<'a> {
    pub(super) setup: &'a ProviderSetup,
    pub(super) args: &'a InitArgs,
    /// The model in the settings.
    pub(super) configured: Option<String>,
}

impl ModelSetup<'_> {
    /// The model reference given by flag, in the form in which it is stored.
    fn given_model(&self) -> Result<Option<String>, Failure> {
        let Some(given) = &self.args.model else {
            return Ok(None);
        };
        let typed = Setting::known("model.default")?.typed(given)?;
        Ok(typed.as_str().map(str::to_owned))
    }

    /// The provider given by flag, or that of the given model.
    fn given_provider(&self) -> Result<Option<String>, Failure> {
        let model = self.given_model()?;
        let of_model = model.as_deref().and_then(provider_of);
        match (&self.args.provider, of_model) {
            (Some(named), Some(other)) if *named != other => Err(Failure::usage(
                "bad_value",
                format!("--provider is {named}, but --model is a model of {other}"),
                "omit --provider, or choose a model of that provider",
            )),
            (Some(named), _) => Ok(Some(named.clone())),
            (None, other) => Ok(other),
        }
    }

    /// Checks the flags and asks nothing.
    pub(super) async fn read_flags(&self) -> Result<ModelAnswers, Failure> {
        let (model, Some(name)) = (self.given_model()?, self.given_provider()?) else {
            if self.args.key_file.is_some() {
                let hint = "add --provider NAME";
                return Err(Failure::usage("usage", "--key-file needs a provider", hint));
            }
            let model = self.given_model()?;
            return Ok(ModelAnswers {
                model,
                ..ModelAnswers::default()
            });
        };
        let described = self.setup.describe(&name).map_err(Failure::into_usage)?;
        let key = self.args.key_file.as_deref().map(|file| read_key(Some(file), ""));
        let mut answers = ModelAnswers {
            provider: Some(name.clone()),
            model,
            key: key.transpose()?,
            notes: Vec::new(),
        };
        let (mut listed, mut trouble) = (Vec::new(), None);
        if let Some(test) = self.test(&answers, &described).await? {
            match test.code.as_deref() {
                None => answers.notes.push(test.message),
                Some(KEY_MISSING) => {
                    refuse_unverified(&answers, &described, &no_key(&name))?;
                    answers.notes.push(no_key(&name));
                }
                Some(KEY_REFUSED) => {
                    let hint = "nothing was written; check the key, or store it untested with --no-test";
                    return Err(Failure::new(KEY_REFUSED, test.message, hint));
                }
                Some(MODEL_UNKNOWN) => {
                    let hint = format!("{}; --no-test accepts it", test.hint.unwrap_or_default());
                    return Err(Failure::usage(MODEL_UNKNOWN, test.message, hint));
                }
                // It cannot be reached now, which is not a reason to refuse the settings.
                Some(_) => {
                    refuse_unverified(&answers, &described, &test.message)?;
                    answers.notes.push(format!("not tested: {}", test.message));
                    trouble = Some(test.message);
                }
            }
            listed = test.models;
        }
        if answers.model.is_none() {
            answers.model = Some(first_model(&described, &listed, trouble.as_deref())?);
        }
        Ok(answers)
    }

    async fn test(
        &self,
        answers: &ModelAnswers,
        described: &ModelProvider,
    ) -> Result<Option<ProviderTest>, Failure> {
        let credential = answers.key.as_deref().map(check_key).transpose()?;
        if self.args.no_test {
            return Ok(None);
        }
        let model = answers.model.as_deref().and_then(|model| model.split_once('/'));
        let model = model.map(|(_, model)| model);
        self.setup
            .test(&described.name, model, credential)
            .await
            .map(Some)
    }

    /// Asks for everything that no flag gives.
    pub(super) async fn ask_all(&self, dialogue: &mut Dialogue<'_>) -> Result<ModelAnswers, Failure> {
        if self.args.model.is_some() && self.given_provider()?.is_none() {
            // A script or a route needs no provider.
            return self.read_flags().await;
        }
        let name = match self.given_provider()? {
            Some(given) => given,
            None => self.ask_provider(dialogue).await?,
        };
        if name == DEMO {
            return Ok(ModelAnswers::default());
        }
        let described = self.setup.describe(&name).map_err(Failure::into_usage)?;
        let (key, test) = self.ask_key(dialogue, &described).await?;
        let model = self.settle_model(dialogue, &described, &test)?;
        let has_key = key.is_some() || described.has_key || !described.needs_key;
        Ok(ModelAnswers {
            notes: (!has_key).then(|| no_key(&name)).into_iter().collect(),
            provider: Some(name),
            model: Some(model),
            key,
        })
    }

    async fn ask_provider(&self, dialogue: &mut Dialogue<'_>) -> Result<String, Failure> {
        let found = self.setup.find_local().await;
        let mut rows = Vec::new();
        let mut proposed = None;
        let current = self.configured.as_deref().and_then(provider_of);
        for name in self.setup.models.providers() {
            let Ok(one) = self.setup.describe(&name) else {
                continue;
            };
            let local = found.iter().find(|local| local.provider == name);
            let remark = match (local, &one.key_handle, one.has_key) {
                (Some(local), _, _) => format!("found, {} models", local.models.len()),
                (None, Some(handle), true) => format!("key in {handle}"),
                (None, _, _) if one.is_local => "not running".to_owned(),
                (None, _, _) => String::new(),
            };
            let is_ready = local.is_some() || (one.has_key && one.default_model.is_some());
            if current.as_ref() == Some(&name) || (proposed.is_none() && current.is_none() && is_ready) {
                proposed = Some(rows.len());
            }
            rows.push((name, remark));
        }
        rows.push((DEMO.to_owned(), "built-in script, without a model".to_owned()));
        let choices = Choices {
            title: "Model provider".to_owned(),
            default: proposed.unwrap_or(rows.len() - 1),
            rows,
        };
        dialogue.choose(&choices, |answer| Err(not_listed(answer, &choices)))
    }

    /// Tests the provider's key and asks for another until the provider accepts one or the person skips it.
    async fn ask_key(
        &self,
        dialogue: &mut Dialogue<'_>,
        described: &ModelProvider,
    ) -> Result<(Option<String>, ProviderTest), Failure> {
        let name = described.name.as_str();
        let given = self.args.key_file.as_deref().map(|file| read_key(Some(file), ""));
        let mut key = given.transpose()?;
        let mut test = self.setup.test(name, None, check(key.as_deref())?).await?;
        for _ in 0..TRIES_MAX {
            match test.code.as_deref() {
                None => {
                    dialogue.say(&format!("{}\n", test.message));
                    return Ok((key, test));
                }
                Some(KEY_MISSING | KEY_REFUSED) => {}
                Some(_) => {
                    dialogue.say(&format!("{}\n", sentence(&test)));
                    let is_kept = key.is_none() || dialogue.confirm("Store the key without a test?")?;
                    return Ok((key.filter(|_| is_kept), test));
                }
            }
            if test.code.as_deref() == Some(KEY_REFUSED) {
                dialogue.say(&format!("{}\n", test.message));
            }
            let typed = (dialogue.hidden)(&format!("Key of {name} (not shown; Enter skips): "))?;
            if typed.trim().is_empty() {
                return Ok((None, test));
            }
            match check_key(&typed) {
                Ok(credential) => {
                    test = self.setup.test(name, None, Some(credential)).await?;
                    key = Some(typed);
                }
                Err(failure) => dialogue.say(&format!("{failure}\n")),
            }
        }
        Ok((None, test))
    }

    /// Returns the model of the flag, or asks for one, until it is known or the person accepts it unverified.
    fn settle_model(
        &self,
        dialogue: &mut Dialogue<'_>,
        described: &ModelProvider,
        test: &ProviderTest,
    ) -> Result<String, Failure> {
        let mut given = self.given_model()?;
        if let Some(model) = given.take_if(|_| self.args.no_test) {
            return Ok(model);
        }
        for _ in 0..TRIES_MAX {
            let model = match given.take() {
                Some(given) => given,
                None => self.ask_model(dialogue, described, test)?,
            };
            let name = model.split_once('/').map_or(model.as_str(), |(_, name)| name);
            if is_offered(&model, described)
                || listed(described, test).is_some_and(|list| list.may_contain(name))
            {
                return Ok(model);
            }
            if listed(described, test).is_some() {
                let hint = suggestion::hint(
                    &model,
                    test.models.iter().take(MODELS_SHOWN_MAX).map(String::as_str),
                );
                dialogue.say(&format!("{} has no model {name}; {hint}\n", described.name));
            } else if dialogue.confirm(&format!("{}. Use it anyway?", unverified(&model)))? {
                return Ok(model);
            }
        }
        Err(no_answer("Model"))
    }

    fn ask_model(
        &self,
        dialogue: &mut Dialogue<'_>,
        described: &ModelProvider,
        test: &ProviderTest,
    ) -> Result<String, Failure> {
        let current = self
            .configured
            .clone()
            .filter(|model| provider_of(model).as_ref() == Some(&described.name));
        let known = described.models.iter().map(|choice| choice.model_ref.clone());
        let mut names: Vec<String> = current.into_iter().chain(known).collect();
        if names.len() < MODELS_SHOWN_MAX && test.models.len() <= MODELS_SHOWN_MAX {
            names.extend(test.models.iter().cloned());
        }
        let mut seen = std::collections::BTreeSet::new();
        names.retain(|name| seen.insert(name.clone()));
        let price = |name: &String| {
            let choice = described.models.iter().find(|choice| choice.model_ref == *name);
            match choice.and_then(|choice| Some((choice.input_usd.as_ref()?, choice.output_usd.as_ref()?))) {
                Some((input, output)) => format!("{input} in, {output} out, USD per million tokens"),
                None => String::new(),
            }
        };
        let rows = names.iter().map(|name| (name.clone(), price(name))).collect();
        let choices = Choices {
            title: format!("Model of {}", described.name),
            rows,
            default: 0,
        };
        dialogue.choose(&choices, |answer| {
            let prefix = format!("{}/", described.name);
            let model = answer.strip_prefix(&prefix).unwrap_or(answer);
            let may_exist = listed(described, test).is_none_or(|list| list.may_contain(model));
            let reference = format!("{prefix}{model}");
            match ModelRef::parse(&reference) {
                Ok(ModelRef::Hosted { .. }) if may_exist => Ok(reference),
                Ok(_) | Err(_) => Err(not_listed(&reference, &choices)),
            }
        })
    }
}

/// The models that the provider listed; `None` without a list.
fn listed(described: &ModelProvider, test: &ProviderTest) -> Option<ModelList> {
    let prefix = format!("{}/", described.name);
    let names = test.models.iter().filter_map(|name| name.strip_prefix(&prefix));
    (!test.models.is_empty()).then(|| ModelList {
        names: names.map(str::to_owned).collect(),
        is_partial: test.models.len() >= LISTED_MODELS_MAX,
    })
}

/// Whether Wakeful or the settings know the model, so that no list is needed.
fn is_offered(model: &str, described: &ModelProvider) -> bool {
    described.models.iter().any(|choice| choice.model_ref == model)
}

/// Refuses a model given by flag that neither a list of the provider nor Wakeful knows.
fn refuse_unverified(answers: &ModelAnswers, described: &ModelProvider, why: &str) -> Result<(), Failure> {
    match answers
        .model
        .as_deref()
        .filter(|model| !is_offered(model, described))
    {
        None => Ok(()),
        Some(model) => {
            let message = format!("{model} cannot be verified: {why}");
            let hint = "nothing was written; `--no-test` accepts the model unverified";
            Err(Failure::usage("model_unverified", message, hint))
        }
    }
}

fn check(key: Option<&str>) -> Result<Option<wakeful_models::Credential>, Failure> {
    key.map(check_key).transpose()
}

fn provider_of(model: &str) -> Option<String> {
    match ModelRef::parse(model) {
        Ok(ModelRef::Hosted { provider, .. }) => Some(provider),
        Ok(ModelRef::Demo | ModelRef::Scripted { .. } | ModelRef::Route { .. }) | Err(_) => None,
    }
}

/// The model of a provider that is named without one. A server on this machine has no usual model, so its
/// first one is used.
fn first_model(
    described: &ModelProvider,
    listed: &[String],
    trouble: Option<&str>,
) -> Result<String, Failure> {
    let own = listed.first().filter(|_| described.is_local);
    described.default_model.as_ref().or(own).cloned().ok_or_else(|| {
        let name = &described.name;
        let hint = format!("add --model {name}/MODEL, or start the server if it is on this machine");
        let why = trouble.map(|trouble| format!(", and its models are unknown: {trouble}"));
        let message = format!("{name} has no default model{}", why.unwrap_or_default());
        Failure::usage("model_missing", message, hint)
    })
}

fn unverified(model: &str) -> String {
    format!("{model} is not verified, because the provider's list of models is not available")
}

fn no_key(provider: &str) -> String {
    format!("{provider} has no key yet; store it with `wakeful models key set {provider}`")
}

fn sentence(test: &ProviderTest) -> String {
    match &test.hint {
        Some(hint) => format!("{}; {hint}", test.message),
        None => test.message.clone(),
    }
}
