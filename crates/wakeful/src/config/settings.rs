//! The settings as one struct. Field comments become the descriptions in the JSON Schema.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wakeful_core::budget::MicroUsd;
use wakeful_core::decision::{Channel, DEADLINE_HOURS_DEFAULT, DEADLINE_HOURS_MAX, HOUR_MS};
use wakeful_core::policy::{ForeignTargetPolicy, RuleDefaults};
use wakeful_core::rate::{
    OUTSIDE_REQUESTS_PER_MINUTE, OUTSIDE_TURNS_PER_MINUTE, OWNER_REQUESTS_PER_MINUTE, TOOL_CALLS_PER_MINUTE,
};
use wakeful_core::retention::{DAYS_MAX, MIB_MAX, Retention as Kept, RetentionLimit};
use wakeful_core::run::{ROUNDS_DEFAULT, ROUNDS_MAX};
use wakeful_runtime::EngineDefaults;
use wakeful_tools::{CommandLimits, OutputLimits};

use super::backup::Backup;
use super::inference::{
    AgentSettings, DataCategorySettings, InferenceSettings, ModelSettings, PriceSettings, Privacy,
    ProviderSettings, Route, SecretSettings,
};
use super::value;

/// Maximum configurable requests or turns per minute: more than one machine can serve.
const PER_MINUTE_MAX: u32 = 1_000_000;

/// Largest daily cap. A larger number is more likely a typing error than an intention.
const DAILY_USD_MAX: f64 = 1_000_000.0;

/// Minimum memory of a command: enough for a shell and a small program.
const COMMAND_MEMORY_MIB_MIN: u32 = 16;

/// Maximum configurable MiB of memory or of disk writes: 16 TiB.
const COMMAND_MIB_MAX: u32 = 1 << 24;

/// Minimum and maximum number of processes of a command: a pipeline needs several, and the kernel's pid
/// limit is 4,194,304.
const COMMAND_PROCESSES_MIN: u32 = 8;
const COMMAND_PROCESSES_MAX: u32 = 1 << 20;

/// Maximum number of sections of one kind: far more than any home needs.
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
    pub(crate) backup: Backup,
    pub(crate) notify: NotifySettings,
    pub(crate) decisions: Decisions,
    pub(crate) schedule: Schedule,
    pub(crate) tools: Tools,
    pub(crate) log: LogSettings,
    pub(crate) inference: InferenceSettings,
    /// Providers by name. Built-in providers need no section.
    #[schemars(extend("propertyNames" = {"format": "name"}, "maxProperties" = NAMED_MAX))]
    pub(crate) providers: BTreeMap<String, ProviderSettings>,
    /// Secrets that commands of agents receive, by the name of the environment variable.
    #[schemars(extend("propertyNames" = {"format": "secret-name"}, "maxProperties" = NAMED_MAX))]
    pub(crate) secrets: BTreeMap<String, SecretSettings>,
    /// Routes by name, for `route:NAME`.
    #[schemars(extend("propertyNames" = {"format": "name"}, "maxProperties" = NAMED_MAX))]
    pub(crate) routes: BTreeMap<String, Route>,
    /// What applies to agents that may use a category of the journal, by category.
    #[schemars(extend("propertyNames" = {"format": "category"}, "maxProperties" = NAMED_MAX))]
    pub(crate) data_categories: BTreeMap<String, DataCategorySettings>,
    /// Which models single agents may use and which data these receive, by agent name. All other settings of
    /// an agent are in its record: `wakeful agent set`.
    #[schemars(extend("propertyNames" = {"format": "name"}, "maxProperties" = NAMED_MAX))]
    pub(crate) agents: BTreeMap<String, AgentSettings>,
    /// Settings of single models, by model reference.
    #[schemars(extend("propertyNames" = {"format": "model-of-provider"}, "maxProperties" = NAMED_MAX))]
    pub(crate) models: BTreeMap<String, ModelSettings>,
    /// Prices by model reference.
    #[schemars(extend("propertyNames" = {"format": "model-of-provider"}, "maxProperties" = NAMED_MAX))]
    pub(crate) prices: BTreeMap<String, PriceSettings>,
}

impl Settings {
    /// The money and privacy defaults that apply where the database has no setting.
    pub(crate) fn governance(&self) -> EngineDefaults {
        let daily = self.budget.daily_usd.map(|usd| format!("{usd:.6}"));
        let daily = daily.and_then(|usd| MicroUsd::parse(&usd));
        let standard = EngineDefaults::default();
        EngineDefaults {
            daily_cap: daily.unwrap_or(standard.daily_cap),
            privacy: self.privacy.confirm.rule(),
            decision_deadline_ms: self.decisions.deadline_ms(),
            catches_up_by_default: self.schedule.catch_up,
            tool_calls_per_minute: self.agent.tool_calls_per_minute,
        }
    }

    /// The rules for all agents, which apply where an agent's record does not say otherwise.
    pub(crate) fn rules(&self) -> RuleDefaults {
        RuleDefaults {
            ask_tools: self.agent.ask_tools.iter().cloned().collect(),
            foreign_targets: self.agent.foreign_targets,
            answer_channels: self.decisions.answer_channels.clone(),
        }
    }
}

/// How people are notified of pending decisions.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct NotifySettings {
    /// Whether to show desktop notifications. Default: yes if a desktop is available.
    pub(crate) desktop: Option<bool>,
    /// The URL that notifications are posted to: https, or http on this machine.
    #[schemars(extend("format" = "base-url"))]
    pub(crate) webhook: Option<String>,
    /// Where the bearer token for the webhook is stored: `env:NAME`, `file:/PATH` or
    /// `keyring:SERVICE/ACCOUNT`.
    #[schemars(extend("format" = "key-handle"))]
    pub(crate) webhook_key: Option<String>,
    /// The format of the webhook body: `json`, or `text` with the title in a header, as ntfy expects.
    /// Default: `json`.
    pub(crate) webhook_format: Option<WebhookFormat>,
    /// A program and its arguments. It receives the notification as JSON on standard input.
    #[schemars(schema_with = "value::command")]
    pub(crate) command: Vec<String>,
}

/// The format of a webhook body.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub(crate) enum WebhookFormat {
    Json,
    Text,
}

/// Settings for decisions, applied when a decision is created.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Decisions {
    /// Hours until an unanswered decision is escalated, and finally cancelled; 0 for never.
    #[schemars(range(max = DEADLINE_HOURS_MAX))]
    pub(crate) deadline_hours: u32,
    /// The channels through which people may answer: `page`, `api`, `cli`. Default: all.
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
    /// How long a decision stays pending before it is escalated; `None` means forever.
    fn deadline_ms(&self) -> Option<u64> {
        let hours = (self.deadline_hours > 0).then_some(self.deadline_hours)?;
        Some(u64::from(hours) * HOUR_MS)
    }
}

/// Resource limits of one command, including all processes that it starts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Tools {
    /// Maximum memory in MiB. Default: 4,096.
    #[schemars(range(min = COMMAND_MEMORY_MIB_MIN, max = COMMAND_MIB_MAX))]
    pub(crate) memory_mib_max: Option<u32>,
    /// Maximum number of processes.
    #[schemars(range(min = COMMAND_PROCESSES_MIN, max = COMMAND_PROCESSES_MAX))]
    pub(crate) processes_max: u32,
    /// Maximum MiB that one command may write to disk.
    #[schemars(range(min = 1, max = COMMAND_MIB_MAX))]
    pub(crate) disk_write_mib_max: u32,
    /// Maximum MiB that all commands of one agent may write to disk within 24 hours.
    #[schemars(range(min = 1, max = COMMAND_MIB_MAX))]
    pub(crate) disk_write_mib_per_day: u32,
    /// Size in tokens of a tool's result if the call does not ask for one.
    #[schemars(range(min = 1, max = OUTPUT_TOKENS_MAX))]
    pub(crate) default_output_tokens: u32,
    /// Maximum size in tokens of a tool's result. A call that asks for more gets this much.
    #[schemars(range(min = 1, max = OUTPUT_TOKENS_MAX))]
    pub(crate) max_output_tokens: u32,
}

/// The largest results that the processes of tools pass on.
const OUTPUT_TOKENS_MAX: u32 = OutputLimits::MAX_TOKENS;

impl Default for Tools {
    fn default() -> Self {
        let mib = |bytes: u64| u32::try_from(bytes >> 20).unwrap_or(COMMAND_MIB_MAX);
        Self {
            memory_mib_max: None,
            processes_max: u32::try_from(CommandLimits::PROCESSES).unwrap_or(COMMAND_PROCESSES_MAX),
            disk_write_mib_max: mib(CommandLimits::DISK_WRITE_BYTES),
            disk_write_mib_per_day: mib(CommandLimits::DISK_WRITE_BYTES_PER_DAY),
            default_output_tokens: OutputLimits::DEFAULT_TOKENS,
            max_output_tokens: OutputLimits::MAX_TOKENS,
        }
    }
}

impl Tools {
    pub(crate) fn output(&self) -> OutputLimits {
        OutputLimits {
            default_tokens: self.default_output_tokens,
            max_tokens: self.max_output_tokens,
        }
    }

    pub(crate) fn limits(&self) -> CommandLimits {
        let bytes = |mib: u32| u64::from(mib) << 20;
        CommandLimits {
            memory_bytes: self.memory_mib_max.map(bytes),
            processes: u64::from(self.processes_max),
            threads: CommandLimits::THREADS,
            written_bytes: bytes(self.disk_write_mib_max),
            written_bytes_per_day: bytes(self.disk_write_mib_per_day),
        }
    }
}

/// Settings of the daemon's log.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct LogSettings {
    /// The lowest level that is logged.
    pub(crate) level: LogLevel,
    /// `text` for people, or `json` with one object per line.
    pub(crate) format: LogFormat,
}

/// The level of a log message.
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

/// The format of log messages.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub(crate) enum LogFormat {
    #[default]
    Text,
    Json,
}

/// Defaults for new schedules.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Schedule {
    /// Whether a schedule delivers the newest missed firing later. `wakeful init` enables this in a new
    /// home.
    pub(crate) catch_up: bool,
}

/// Where the daemon listens, and its request limits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Server {
    /// The IP address to listen on.
    pub(crate) address: IpAddr,
    /// The port to listen on; 0 picks any free port.
    pub(crate) port: u16,
    /// The base URL at which clients reach the daemon, if it differs from the address and port.
    #[schemars(extend("format" = "base-url"))]
    pub(crate) advertise: Option<String>,
    /// The file that holds the API token; an absolute path.
    #[schemars(extend("format" = "absolute-path"))]
    pub(crate) token_file: Option<String>,
    /// Maximum requests per minute of one of your own clients: the page, the command line, or programs with the
    /// token.
    #[schemars(range(min = 1, max = PER_MINUTE_MAX))]
    pub(crate) rate_per_minute: u32,
    /// Maximum turns per minute of one agent.
    #[schemars(range(min = 1, max = PER_MINUTE_MAX))]
    pub(crate) messages_per_minute: u32,
    /// Maximum requests per minute of a caller that is not your own client, such as the sender of a webhook.
    #[schemars(range(min = 1, max = PER_MINUTE_MAX))]
    pub(crate) outside_requests_per_minute: u32,
    /// Maximum turns per minute that such callers may cause at one agent.
    #[schemars(range(min = 1, max = PER_MINUTE_MAX))]
    pub(crate) outside_turns_per_minute: u32,
}

impl Default for Server {
    fn default() -> Self {
        Self {
            address: Ipv4Addr::LOCALHOST.into(),
            port: 7717,
            advertise: None,
            token_file: None,
            rate_per_minute: OWNER_REQUESTS_PER_MINUTE,
            messages_per_minute: OWNER_REQUESTS_PER_MINUTE,
            outside_requests_per_minute: OUTSIDE_REQUESTS_PER_MINUTE,
            outside_turns_per_minute: OUTSIDE_TURNS_PER_MINUTE,
        }
    }
}

/// The models of runs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Model {
    /// The model of runs that do not name one. Default: a model of the first provider whose key is in the
    /// environment, and without any key the built-in demo script.
    #[schemars(extend("format" = "model"))]
    pub(crate) default: Option<String>,
    /// The models that are tried, in this order, when the default model fails permanently.
    #[schemars(schema_with = "value::fallbacks")]
    pub(crate) fallbacks: Vec<String>,
}

/// Defaults for all agents.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Agent {
    /// The agent that commands use when none is named.
    #[schemars(extend("format" = "name"))]
    pub(crate) default: String,
    /// The folder in which commands of new agents run and may write; an absolute path.
    #[schemars(extend("format" = "absolute-path"))]
    pub(crate) workspace: Option<String>,
    /// Maximum model rounds of one run.
    #[schemars(range(min = 1, max = ROUNDS_MAX))]
    pub(crate) max_rounds: u32,
    /// Tools that runs may use only after a person approves.
    #[schemars(schema_with = "value::tools")]
    pub(crate) ask_tools: Vec<String>,
    /// Maximum calls of one tool per minute that an agent may begin. A call above it waits.
    #[schemars(range(min = 1, max = PER_MINUTE_MAX))]
    pub(crate) tool_calls_per_minute: u32,
    /// What runs that have read untrusted data do before they act outside the workspace on a target that
    /// neither you nor a trusted file named: `ask` first, `allow` it, or `deny` it.
    #[schemars(schema_with = "value::foreign_targets")]
    pub(crate) foreign_targets: ForeignTargetPolicy,
}

impl Default for Agent {
    fn default() -> Self {
        Self {
            default: "main".to_owned(),
            workspace: None,
            max_rounds: ROUNDS_DEFAULT,
            ask_tools: Vec::new(),
            tool_calls_per_minute: TOOL_CALLS_PER_MINUTE,
            foreign_targets: ForeignTargetPolicy::default(),
        }
    }
}

/// Spending limits.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Budget {
    /// Daily cap in US dollars for all agents together, unless `wakeful budget set` has set another.
    /// Default: 5.
    #[schemars(range(min = 0.0, max = DAILY_USD_MAX))]
    pub(crate) daily_usd: Option<f64>,
}

/// The provider of models.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Provider {
    /// The provider whose usual model serves runs that do not name a model, if `model.default` is not set
    /// either.
    #[schemars(extend("format" = "name"))]
    pub(crate) name: Option<String>,
}

/// How long data is kept, and how much of it. 0 means no limit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Retention {
    /// Days after which the payload of an event is removed. The event itself stays in the log.
    #[schemars(range(max = DAYS_MAX))]
    pub(crate) event_days: u32,
    /// Maximum MiB of payloads; the oldest are removed first.
    #[schemars(range(max = MIB_MAX))]
    pub(crate) event_mib: u32,
    /// Days after which the run log and the diagnostics of a finished run are removed.
    #[schemars(range(max = DAYS_MAX))]
    pub(crate) trace_days: u32,
    /// Maximum MiB of run logs and diagnostics.
    #[schemars(range(max = MIB_MAX))]
    pub(crate) trace_mib: u32,
    /// Days after which the transcript contents and outputs of a finished run are removed.
    #[schemars(range(max = DAYS_MAX))]
    pub(crate) blob_days: u32,
    /// Maximum MiB of transcript contents and outputs.
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
