//! The settings as one struct. Field comments become the descriptions in the JSON Schema.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wakeful_core::budget::MicroUsd;
use wakeful_core::decision::{Channel, DEADLINE_HOURS_DEFAULT, DEADLINE_HOURS_MAX, HOUR_MS};
use wakeful_core::id::AgentId;
use wakeful_core::policy::ExternalCausePolicy;
use wakeful_core::retention::{DAYS_MAX, MIB_MAX, Retention as Kept, RetentionLimit};
use wakeful_core::run::{ROUNDS_DEFAULT, ROUNDS_MAX};
use wakeful_runtime::EngineDefaults;
use wakeful_tools::CommandLimits;

use super::inference::{
    AgentSettings, InferenceSettings, ModelSettings, PriceSettings, Privacy, ProviderSettings, Route,
};
use super::value;

/// Most requests or turns a minute that can be asked for: more than one machine answers.
const PER_MINUTE_MAX: u32 = 1_000_000;

/// Largest daily cap: beyond it a number is more likely a slip than a wish.
const DAILY_USD_MAX: f64 = 1_000_000.0;

/// Least memory of a command: a shell and a small program need some.
const COMMAND_MEMORY_MIB_MIN: u32 = 16;

/// Most MiB of memory or of writing that can be asked for: 16 TiB.
const COMMAND_MIB_MAX: u32 = 1 << 24;

/// Least and most processes of a command: a pipe needs some, and a kernel numbers no more than 4,194,304.
const COMMAND_PROCESSES_MIN: u32 = 8;
const COMMAND_PROCESSES_MAX: u32 = 1 << 20;

/// Most sections of one kind: more than anybody has providers, and a bound.
const NAMED_MAX: usize = 256;

/// Settings of one Wakeful home.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Settings {
    pub(crate) server: Server,
    pub(crate) model: Model,
    pub(crate) agent: Agent,
    pub(crate) budget: Budget,
    pub(crate) provider: Provider,
    pub(crate) privacy: Privacy,
    pub(crate) retention: Retention,
    pub(crate) notify: NotifySettings,
    pub(crate) decisions: Decisions,
    pub(crate) schedule: Schedule,
    pub(crate) tools: Tools,
    pub(crate) log: LogSettings,
    pub(crate) inference: InferenceSettings,
    /// Providers by name. Those that are built in need no section.
    #[schemars(extend("propertyNames" = {"format": "name"}, "maxProperties" = NAMED_MAX))]
    pub(crate) providers: BTreeMap<String, ProviderSettings>,
    /// Routes by name, for `route:NAME`.
    #[schemars(extend("propertyNames" = {"format": "name"}, "maxProperties" = NAMED_MAX))]
    pub(crate) routes: BTreeMap<String, Route>,
    /// What single agents ask of models, by the agent's name.
    #[schemars(extend("propertyNames" = {"format": "name"}, "maxProperties" = NAMED_MAX))]
    pub(crate) agents: BTreeMap<String, AgentSettings>,
    /// What is settled for single models, by model reference.
    #[schemars(extend("propertyNames" = {"format": "model-of-provider"}, "maxProperties" = NAMED_MAX))]
    pub(crate) models: BTreeMap<String, ModelSettings>,
    /// Prices by model reference.
    #[schemars(extend("propertyNames" = {"format": "model-of-provider"}, "maxProperties" = NAMED_MAX))]
    pub(crate) prices: BTreeMap<String, PriceSettings>,
}

impl Settings {
    /// What holds for money and privacy where nobody has said otherwise in the database.
    pub(crate) fn governance(&self) -> EngineDefaults {
        let daily = self.budget.daily_usd.map(|usd| format!("{usd:.6}"));
        let daily = daily.and_then(|usd| MicroUsd::parse(&usd));
        let standard = EngineDefaults::default();
        EngineDefaults {
            daily_cap: daily.unwrap_or(standard.daily_cap),
            privacy: self.privacy.confirm.rule(),
            decision_deadline_ms: self.decisions.patience_ms(),
            catches_up_by_default: self.schedule.catch_up,
        }
    }

    /// The agents of which runs of an agent may start runs.
    pub(crate) fn may_start(&self, agent: &AgentId) -> BTreeSet<String> {
        let own = self.agents.get(agent.as_str());
        let named = own.and_then(|own| own.may_start.as_ref());
        named.into_iter().flatten().cloned().collect()
    }

    /// What runs of an agent with an outside cause do before plain actions: its own setting, else that of all agents.
    pub(crate) fn external_causes(&self, agent: &AgentId) -> ExternalCausePolicy {
        let own = self.agents.get(agent.as_str());
        own.and_then(|own| own.external_causes)
            .unwrap_or(self.agent.external_causes)
    }

    /// By which ways people may answer what runs of an agent ask: its own, else those of all agents, else all.
    pub(crate) fn answer_channels(&self, agent: &AgentId) -> BTreeSet<Channel> {
        let own = self.agents.get(agent.as_str());
        let own = own.and_then(|own| own.answer_channels.as_ref());
        let channels = own.or(self.decisions.answer_channels.as_ref());
        channels.cloned().unwrap_or_else(Channel::all)
    }

    /// The tools that runs of an agent may use only after a person said so: those of all agents, and its own.
    pub(crate) fn ask_tools(&self, agent: &AgentId) -> BTreeSet<String> {
        let own = self
            .agents
            .get(agent.as_str())
            .and_then(|own| own.ask_tools.as_ref());
        self.agent
            .ask_tools
            .iter()
            .chain(own.into_iter().flatten())
            .cloned()
            .collect()
    }
}

/// How people are notified of decisions that wait for them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct NotifySettings {
    /// Whether notifications are shown on the desktop; without it, where there is one.
    pub(crate) desktop: Option<bool>,
    /// Where it is posted to; https, or plain http on this machine.
    #[schemars(extend("format" = "base-url"))]
    pub(crate) webhook: Option<String>,
    /// Where the key is that is sent along as a bearer token: `env:NAME`, `file:/PATH` or `keyring:SERVICE/ACCOUNT`.
    #[schemars(extend("format" = "key-handle"))]
    pub(crate) webhook_key: Option<String>,
    /// What is posted: `json`, or `text` with the title in a header, as ntfy takes it. Without it, `json`.
    pub(crate) webhook_format: Option<WebhookFormat>,
    /// A program and its arguments; it reads the notification as JSON from its standard input.
    #[schemars(schema_with = "value::command")]
    pub(crate) command: Vec<String>,
}

/// What is posted to a webhook.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub(crate) enum WebhookFormat {
    Json,
    Text,
}

/// What holds for decisions from the moment they are asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Decisions {
    /// Hours until a decision that nobody answered grows more severe, and at last is called off; 0 for never.
    #[schemars(range(max = DEADLINE_HOURS_MAX))]
    pub(crate) deadline_hours: u32,
    /// By which ways people may answer: `page`, `api`, `cli`. Without it, by all.
    #[schemars(schema_with = "value::channels")]
    pub(crate) answer_channels: Option<BTreeSet<Channel>>,
}

impl Default for Decisions {
    fn default() -> Self {
        Self {
            deadline_hours: DEADLINE_HOURS_DEFAULT,
            answer_channels: None,
        }
    }
}

impl Decisions {
    /// How long a decision stands before it grows more severe; none for ever.
    fn patience_ms(&self) -> Option<u64> {
        let hours = (self.deadline_hours > 0).then_some(self.deadline_hours)?;
        Some(u64::from(hours) * HOUR_MS)
    }
}

/// What one command may use, together with everything it starts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Tools {
    /// Most MiB of memory; without it half of what the machine has.
    #[schemars(range(min = COMMAND_MEMORY_MIB_MIN, max = COMMAND_MIB_MAX))]
    pub(crate) memory_mib_max: Option<u32>,
    /// Most processes and threads.
    #[schemars(range(min = COMMAND_PROCESSES_MIN, max = COMMAND_PROCESSES_MAX))]
    pub(crate) processes_max: u32,
    /// Most MiB that one command writes to disks.
    #[schemars(range(min = 1, max = COMMAND_MIB_MAX))]
    pub(crate) disk_write_mib_max: u32,
    /// Most MiB that all commands of one agent write to disks within 24 hours.
    #[schemars(range(min = 1, max = COMMAND_MIB_MAX))]
    pub(crate) disk_write_mib_per_day: u32,
}

impl Default for Tools {
    fn default() -> Self {
        let mib = |bytes: u64| u32::try_from(bytes >> 20).unwrap_or(COMMAND_MIB_MAX);
        Self {
            memory_mib_max: None,
            processes_max: u32::try_from(CommandLimits::PROCESSES).unwrap_or(COMMAND_PROCESSES_MAX),
            disk_write_mib_max: mib(CommandLimits::DISK_WRITE_BYTES),
            disk_write_mib_per_day: mib(CommandLimits::DISK_WRITE_BYTES_PER_DAY),
        }
    }
}

impl Tools {
    /// The limits that these numbers make.
    pub(crate) fn limits(&self) -> CommandLimits {
        let bytes = |mib: u32| u64::from(mib) << 20;
        CommandLimits {
            memory_bytes: self.memory_mib_max.map(bytes),
            processes: u64::from(self.processes_max),
            written_bytes: bytes(self.disk_write_mib_max),
            written_bytes_per_day: bytes(self.disk_write_mib_per_day),
        }
    }
}

/// What the daemon writes to its log.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct LogSettings {
    /// The least severe messages that are written.
    pub(crate) level: LogLevel,
    /// `text` for people, or `json` with one object in every line.
    pub(crate) format: LogFormat,
}

/// How severe a log message is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub(crate) enum LogLevel {
    Error,
    Warn,
    #[default]
    Info,
    Debug,
    Trace,
}

/// How log messages are written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub(crate) enum LogFormat {
    #[default]
    Text,
    Json,
}

/// What holds for new schedules where nobody says otherwise.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Schedule {
    /// Whether they make up for the newest firing that was missed. A home that `wakeful init` makes says yes.
    pub(crate) catch_up: bool,
}

/// Where the daemon listens, and how much it takes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Server {
    /// The IP address to listen on.
    pub(crate) address: IpAddr,
    /// The port to listen on; 0 takes any free one.
    pub(crate) port: u16,
    /// The base URL under which others reach the daemon, where it is not its address and port.
    #[schemars(extend("format" = "base-url"))]
    pub(crate) advertise: Option<String>,
    /// The file that holds the token of the API; an absolute path.
    #[schemars(extend("format" = "absolute-path"))]
    pub(crate) token_file: Option<String>,
    /// Most requests of one client in a minute.
    #[schemars(range(min = 1, max = PER_MINUTE_MAX))]
    pub(crate) rate_per_minute: u32,
    /// Most turns of one agent in a minute.
    #[schemars(range(min = 1, max = PER_MINUTE_MAX))]
    pub(crate) messages_per_minute: u32,
}

impl Default for Server {
    fn default() -> Self {
        Self {
            address: Ipv4Addr::LOCALHOST.into(),
            port: 7717,
            advertise: None,
            token_file: None,
            // What one machine answers, and no more: a program that goes wild is slowed down, one that is busy is not.
            rate_per_minute: 600_000,
            messages_per_minute: 600_000,
        }
    }
}

/// Who answers.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Model {
    /// The model of runs that name none; without one the first provider whose key is in the environment, and without
    /// any key the built-in demo script.
    #[schemars(extend("format" = "model"))]
    pub(crate) default: Option<String>,
    /// Who is asked when that one fails for good, in this order.
    #[schemars(schema_with = "value::fallbacks")]
    pub(crate) fallbacks: Vec<String>,
}

/// What holds for agents unless they say otherwise.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Agent {
    /// The agent that is meant where none is named.
    #[schemars(extend("format" = "name"))]
    pub(crate) default: String,
    /// The folder in which commands of new agents run and may write; an absolute path.
    #[schemars(extend("format" = "absolute-path"))]
    pub(crate) workspace: Option<String>,
    /// Most model rounds of one run.
    #[schemars(range(min = 1, max = ROUNDS_MAX))]
    pub(crate) max_rounds: u32,
    /// Tools that runs may use only after a person said so.
    #[schemars(schema_with = "value::tools")]
    pub(crate) ask_tools: Vec<String>,
    /// What runs do before a command when something other than you or a schedule of yours caused them: `ask` first, `allow`
    /// it, or `deny` it.
    #[schemars(schema_with = "value::external_causes")]
    pub(crate) external_causes: ExternalCausePolicy,
}

impl Default for Agent {
    fn default() -> Self {
        Self {
            default: "main".to_owned(),
            workspace: None,
            max_rounds: ROUNDS_DEFAULT,
            ask_tools: Vec::new(),
            external_causes: ExternalCausePolicy::default(),
        }
    }
}

/// What may be spent.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Budget {
    /// US dollars a day for all agents together, until `wakeful budget set` says otherwise; 5 where nothing is said.
    #[schemars(range(min = 0.0, max = DAILY_USD_MAX))]
    pub(crate) daily_usd: Option<f64>,
}

/// Who provides models.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Provider {
    /// The provider whose usual model answers runs that name none, where `model.default` names none either.
    #[schemars(extend("format" = "name"))]
    pub(crate) name: Option<String>,
}

/// How long data is kept, and how much of it. 0 is without a limit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Retention {
    /// Days after which the payload of an event is taken away. Its place in the log stays.
    #[schemars(range(max = DAYS_MAX))]
    pub(crate) event_days: u32,
    /// Most MiB of payloads; beyond it the oldest go first.
    #[schemars(range(max = MIB_MAX))]
    pub(crate) event_mib: u32,
    /// Days after which the journal and the diagnostics of a run that has ended are taken away.
    #[schemars(range(max = DAYS_MAX))]
    pub(crate) trace_days: u32,
    /// Most MiB of journals and diagnostics.
    #[schemars(range(max = MIB_MAX))]
    pub(crate) trace_mib: u32,
    /// Days after which what was said and given out in a run that has ended is taken away.
    #[schemars(range(max = DAYS_MAX))]
    pub(crate) blob_days: u32,
    /// Most MiB of what was said and given out.
    #[schemars(range(max = MIB_MAX))]
    pub(crate) blob_mib: u32,
}

impl Default for Retention {
    fn default() -> Self {
        let Kept {
            events,
            traces,
            blobs,
        } = Kept::default();
        Self {
            event_days: events.days,
            event_mib: events.mib,
            trace_days: traces.days,
            trace_mib: traces.mib,
            blob_days: blobs.days,
            blob_mib: blobs.mib,
        }
    }
}

impl Retention {
    /// The rule that these numbers make.
    pub(crate) const fn rule(&self) -> Kept {
        Kept {
            events: RetentionLimit {
                days: self.event_days,
                mib: self.event_mib,
            },
            traces: RetentionLimit {
                days: self.trace_days,
                mib: self.trace_mib,
            },
            blobs: RetentionLimit {
                days: self.blob_days,
                mib: self.blob_mib,
            },
        }
    }
}
