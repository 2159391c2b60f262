//! Lists what is known about providers and models without any request.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use wakeful_core::budget::{Price, PriceBasis};
use wakeful_core::inference::NO_SECRET;
use wakeful_models::{AS_OF, BuiltinProvider, DEFAULTS_AS_OF, ModelRef, RouteModel, Thinking};
use wakeful_ports::model::Model as _;

use crate::failure::Failure;
use crate::model::{ModelChoiceReason, ModelRegistry, key_reason};
use crate::show::Out;
use crate::show::table::{Column, Table};

/// One row of the provider list.
pub(super) struct ProviderRow {
    pub(super) name: String,
    pub(super) kind: String,
    pub(super) host: String,
    pub(super) key: KeyStatus,
    pub(super) key_source: String,
    /// Why the provider cannot be used, if the reason is not its key.
    problem: Option<Failure>,
    /// Whether the settings contain a section for it.
    pub(super) is_configured: bool,
}

const PROVIDERS: [Column; 4] = [
    Column::key("PROVIDER"),
    Column::whole("FORMAT", 1),
    Column::text("ADDRESS", 2),
    Column::text("KEY", 0),
];

/// Whether a key is available; never the key itself.
pub(super) enum KeyStatus {
    Present,
    NotNeeded,
    Absent(Failure),
}

impl KeyStatus {
    pub(super) const fn word(&self) -> &'static str {
        match self {
            Self::Present => "present",
            Self::NotNeeded => "not needed",
            Self::Absent(_) => "absent",
        }
    }
}

impl ProviderRow {
    pub(super) fn of(name: &str, registry: &ModelRegistry) -> Self {
        let is_configured = registry.config().providers.contains_key(name);
        let nothing = |failure: Failure| Self {
            name: name.to_owned(),
            kind: "-".to_owned(),
            host: "-".to_owned(),
            key: KeyStatus::Absent(failure),
            key_source: "-".to_owned(),
            problem: None,
            is_configured,
        };
        let provision = match registry.provision(name) {
            Ok(provision) => provision,
            Err(failure) => return nothing(failure),
        };
        // The key is looked up before the settings are checked, so a settings error implies that the key is
        // not missing.
        let (key, problem) = match (provision.key(registry), registry.hosted(name, "-")) {
            (Err(failure), _) => (KeyStatus::Absent(failure), None),
            (Ok(None), Err(failure)) if !is_of_settings(&failure) => (KeyStatus::Absent(failure), None),
            (Ok(None), made) => (KeyStatus::NotNeeded, made.err()),
            (Ok(Some(_)), made) => (KeyStatus::Present, made.err()),
        };
        let key_source = match &key {
            KeyStatus::NotNeeded => "-".to_owned(),
            KeyStatus::Present | KeyStatus::Absent(_) => provision.key_source(),
        };
        Self {
            kind: provision.kind.word().to_owned(),
            host: provision.host(),
            key_source,
            key,
            problem,
            ..nothing(Failure::new(NO_SECRET, "", ""))
        }
    }
}

/// Whether the failure is caused by a setting that the provider does not support.
fn is_of_settings(failure: &Failure) -> bool {
    ["config_invalid", "unsupported_transport"].contains(&failure.code())
}

pub(super) fn list(registry: &ModelRegistry, out: &Out) -> Result<u8, Failure> {
    let rows: Vec<ProviderRow> = registry
        .providers()
        .iter()
        .map(|name| ProviderRow::of(name, registry))
        .collect();
    let chain = registry.chain(None, None)?;
    let config = registry.config();
    let prices: Vec<(String, Option<(Price, PriceBasis)>)> = mentioned(registry)
        .into_iter()
        .filter_map(|name| Some((name.clone(), price(registry, &name)?)))
        .collect();
    let thinking: Vec<ThinkingSource> = mentioned(registry)
        .iter()
        .filter_map(|name| ThinkingSource::of(registry, name))
        .collect();
    let object = json!({
        "default": {"model_ref": chain.model_ref, "fallbacks": chain.fallbacks, "why": why(&chain.why)},
        "defaults_as_of": DEFAULTS_AS_OF,
        "providers": rows.iter().map(row_json).collect::<Vec<_>>(),
        "routes": config.routes.iter().map(|(name, route)| json!({"name": name, "models": route.models})).collect::<Vec<_>>(),
        "thinking": thinking.iter().map(ThinkingSource::json).collect::<Vec<_>>(),
        "prices": prices.iter().map(|(name, price)| price_json(name, *price)).collect::<Vec<_>>(),
        "prices_as_of": AS_OF,
    });
    let mut lines = vec![format!("default   {}  ({})", chain.model_ref, why(&chain.why))];
    lines.extend(chain.fallbacks.iter().map(|other| format!("  then    {other}")));
    lines.push(String::new());
    let cells = rows.iter().map(|row| {
        [
            row.name.clone(),
            row.kind.clone(),
            row.host.clone(),
            format!("{} ({})", row.key.word(), row.key_source),
        ]
    });
    lines.push(out.table(&Table::new(PROVIDERS, cells)));
    let problems = rows.iter().filter_map(|row| Some((row, row.problem.as_ref()?)));
    lines.extend(problems.map(|(row, problem)| format!("problem   {}: {}", row.name, problem.message())));
    if !config.routes.is_empty() {
        lines.push(String::new());
    }
    for (name, route) in &config.routes {
        lines.push(format!("route:{name}  {}", route.models.join(" → ")));
    }
    lines.extend(thinking.iter().map(ThinkingSource::line));
    lines.push(String::new());
    lines.push(format!(
        "prices in US dollars per million tokens (list prices as of {AS_OF}; [prices.\"REF\"] in config.toml overrides them)"
    ));
    lines.extend(prices.iter().map(|(name, price)| price_line(name, *price)));
    out.answer(&object, &lines.join("\n"));
    Ok(0)
}

fn row_json(row: &ProviderRow) -> Value {
    let reason = match &row.key {
        KeyStatus::Absent(failure) => Some(failure.code().to_owned()),
        KeyStatus::Present | KeyStatus::NotNeeded => None,
    };
    json!({
        "name": row.name, "kind": row.kind, "host": row.host, "key": row.key.word(), "key_source": row.key_source,
        "key_problem": reason, "problem": row.problem.as_ref().map(Failure::message),
        "built_in": BuiltinProvider::named(&row.name).is_some(), "configured": row.is_configured,
    })
}

/// The models that the settings mention.
pub(super) fn mentioned(registry: &ModelRegistry) -> BTreeSet<String> {
    let config = registry.config();
    let settled = config.prices.keys().chain(config.models.keys());
    let mut names: BTreeSet<String> = settled.cloned().collect();
    if let Ok(chain) = registry.chain(None, None) {
        names.insert(chain.model_ref);
        names.extend(chain.fallbacks);
    }
    names.extend(config.routes.values().flat_map(|route| route.models.clone()));
    names.retain(|name| matches!(ModelRef::parse(name), Ok(ModelRef::Hosted { .. })));
    names
}

/// The configured thinking level of a model.
struct ThinkingSource {
    model_ref: String,
    thinking: Thinking,
    /// Why the model does not support this level.
    problem: Option<Failure>,
}

impl ThinkingSource {
    fn of(registry: &ModelRegistry, model_ref: &str) -> Option<Self> {
        let (provider, model) = model_ref.split_once('/')?;
        let made = registry.hosted(provider, model);
        Some(Self {
            model_ref: model_ref.to_owned(),
            thinking: registry.thinking(provider, model_ref)?,
            problem: made.err().filter(|failure| failure.code() == "config_invalid"),
        })
    }

    fn json(&self) -> Value {
        json!({
            "model_ref": self.model_ref, "thinking": self.thinking.to_string(),
            "problem": self.problem.as_ref().map(Failure::message),
        })
    }

    fn line(&self) -> String {
        let problem = self
            .problem
            .as_ref()
            .map(|failure| format!("  ({})", failure.message()));
        let problem = problem.unwrap_or_default();
        format!("thinking  {}  {}{problem}", self.model_ref, self.thinking)
    }
}

/// The price of a model; `None` if the model is not available.
fn price(registry: &ModelRegistry, name: &str) -> Option<Option<(Price, PriceBasis)>> {
    let models = registry.route(name, &[]).ok()?;
    let is_hosted = models
        .candidates()
        .any(|(_, one)| matches!(one, RouteModel::Hosted(_)));
    is_hosted.then(|| models.profile(name).price)
}

fn price_json(name: &str, price: Option<(Price, PriceBasis)>) -> Value {
    match price {
        None => json!({"model_ref": name, "basis": "free"}),
        Some((price, basis)) => json!({
            "model_ref": name, "basis": basis, "input": price.input.to_string(), "output": price.output.to_string(),
            "cached_read": price.cached_read.to_string(), "cached_write": price.cached_write.to_string(),
        }),
    }
}

fn price_line(name: &str, price: Option<(Price, PriceBasis)>) -> String {
    let Some((price, basis)) = price else {
        return format!("  {name:<40} free");
    };
    let word = match basis {
        PriceBasis::Listed => "listed",
        PriceBasis::Configured => "configured",
        PriceBasis::Assumed => "assumed: not in the list, so the highest price is used",
    };
    format!("  {name:<40} in {} out {} ({word})", price.input, price.output)
}

fn why(why: &ModelChoiceReason) -> String {
    match why {
        ModelChoiceReason::Asked => "given with the command".to_owned(),
        ModelChoiceReason::Agent => "set for the agent".to_owned(),
        ModelChoiceReason::Configured => "configured".to_owned(),
        ModelChoiceReason::Key(place) => format!("because {}", key_reason(place)),
        ModelChoiceReason::Demo => "no model is configured and no API key was found".to_owned(),
    }
}
