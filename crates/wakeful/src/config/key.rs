//! The names of the settings, what each accepts, and which one was meant.

use serde_json::Value;
use wakeful_core::decision::DEADLINE_HOURS_MAX;
use wakeful_core::policy::OutsideRuns;
use wakeful_core::retention::{DAYS_MAX, MIB_MAX};
use wakeful_core::run::ROUNDS_MAX;

use super::kind::Kind;
use super::named::Named;
use super::values::{
    COMMAND_MEMORY_MIB_MIN, COMMAND_MIB_MAX, COMMAND_PROCESSES_MAX, COMMAND_PROCESSES_MIN, DAILY_USD_MAX,
    PER_MINUTE_MAX,
};
use crate::failure::Failure;

/// Begins every variable of ours.
pub(super) const PREFIX: &str = "WAKEFUL_";

/// A setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Key {
    ServerAddress,
    ServerPort,
    ServerAdvertise,
    ServerTokenFile,
    ServerRatePerMinute,
    ServerTurnsPerMinute,
    ModelDefault,
    AgentDefault,
    AgentWorkspace,
    AgentMaxRounds,
    AgentOutsideRuns,
    BudgetDailyUsd,
    ProviderName,
    PrivacyConfirm,
    RetentionEventDays,
    RetentionEventMib,
    RetentionTraceDays,
    RetentionTraceMib,
    RetentionBlobDays,
    RetentionBlobMib,
    AnnounceDesktop,
    AnnounceWebhook,
    AnnounceWebhookSecret,
    AnnounceWebhookForm,
    ScheduleCatchUp,
    DecisionsDeadlineHours,
    ToolsMemoryMibMax,
    ToolsProcessesMax,
    ToolsWrittenMibMax,
    ToolsWrittenMibPerDay,
}

impl Key {
    pub(crate) const ALL: [Self; 30] = [
        Self::ServerAddress,
        Self::ServerPort,
        Self::ServerAdvertise,
        Self::ServerTokenFile,
        Self::ServerRatePerMinute,
        Self::ServerTurnsPerMinute,
        Self::ModelDefault,
        Self::AgentDefault,
        Self::AgentWorkspace,
        Self::AgentMaxRounds,
        Self::AgentOutsideRuns,
        Self::BudgetDailyUsd,
        Self::ProviderName,
        Self::PrivacyConfirm,
        Self::RetentionEventDays,
        Self::RetentionEventMib,
        Self::RetentionTraceDays,
        Self::RetentionTraceMib,
        Self::RetentionBlobDays,
        Self::RetentionBlobMib,
        Self::AnnounceDesktop,
        Self::AnnounceWebhook,
        Self::AnnounceWebhookSecret,
        Self::AnnounceWebhookForm,
        Self::ScheduleCatchUp,
        Self::DecisionsDeadlineHours,
        Self::ToolsMemoryMibMax,
        Self::ToolsProcessesMax,
        Self::ToolsWrittenMibMax,
        Self::ToolsWrittenMibPerDay,
    ];

    /// Its section and its name there.
    pub(super) const fn parts(self) -> (&'static str, &'static str) {
        match self {
            Self::ServerAddress => ("server", "address"),
            Self::ServerPort => ("server", "port"),
            Self::ServerAdvertise => ("server", "advertise"),
            Self::ServerTokenFile => ("server", "token_file"),
            Self::ServerRatePerMinute => ("server", "rate_per_minute"),
            Self::ServerTurnsPerMinute => ("server", "turns_per_minute"),
            Self::ModelDefault => ("model", "default"),
            Self::AgentDefault => ("agent", "default"),
            Self::AgentWorkspace => ("agent", "workspace"),
            Self::AgentMaxRounds => ("agent", "max_rounds"),
            Self::AgentOutsideRuns => ("agent", "outside_runs"),
            Self::BudgetDailyUsd => ("budget", "daily_usd"),
            Self::ProviderName => ("provider", "name"),
            Self::PrivacyConfirm => ("privacy", "confirm"),
            Self::RetentionEventDays => ("retention", "event_days"),
            Self::RetentionEventMib => ("retention", "event_mib"),
            Self::RetentionTraceDays => ("retention", "trace_days"),
            Self::RetentionTraceMib => ("retention", "trace_mib"),
            Self::RetentionBlobDays => ("retention", "blob_days"),
            Self::RetentionBlobMib => ("retention", "blob_mib"),
            Self::AnnounceDesktop => ("announce", "desktop"),
            Self::AnnounceWebhook => ("announce", "webhook"),
            Self::AnnounceWebhookSecret => ("announce", "webhook_key"),
            Self::AnnounceWebhookForm => ("announce", "webhook_form"),
            Self::ScheduleCatchUp => ("schedule", "catch_up"),
            Self::DecisionsDeadlineHours => ("decisions", "deadline_hours"),
            Self::ToolsMemoryMibMax => ("tools", "memory_mib_max"),
            Self::ToolsProcessesMax => ("tools", "processes_max"),
            Self::ToolsWrittenMibMax => ("tools", "written_mib_max"),
            Self::ToolsWrittenMibPerDay => ("tools", "written_mib_per_day"),
        }
    }

    pub(super) const fn kind(self) -> Kind {
        let per_minute = Kind::Integer {
            min: 1,
            max: PER_MINUTE_MAX as i64,
        };
        match self {
            Self::ServerAddress => Kind::Address,
            Self::ServerPort => Kind::Integer {
                min: 0,
                max: u16::MAX as i64,
            },
            Self::ServerAdvertise | Self::AnnounceWebhook => Kind::Url,
            Self::AnnounceDesktop | Self::ScheduleCatchUp => Kind::Truth,
            Self::AnnounceWebhookSecret => Kind::Handle,
            Self::AnnounceWebhookForm => Kind::OneOf(&["json", "text"]),
            Self::ServerTokenFile | Self::AgentWorkspace => Kind::Path,
            Self::ServerRatePerMinute | Self::ServerTurnsPerMinute => per_minute,
            Self::ModelDefault => Kind::Model,
            Self::AgentDefault => Kind::Agent,
            Self::AgentMaxRounds => Kind::Integer {
                min: 1,
                max: ROUNDS_MAX as i64,
            },
            Self::AgentOutsideRuns => Kind::OneOf(&OutsideRuns::WORDS),
            Self::BudgetDailyUsd => Kind::Amount { max: DAILY_USD_MAX },
            Self::ProviderName => Kind::Word,
            Self::PrivacyConfirm => Kind::OneOf(&["implied", "explicit"]),
            Self::RetentionEventDays | Self::RetentionTraceDays | Self::RetentionBlobDays => Kind::Integer {
                min: 0,
                max: DAYS_MAX as i64,
            },
            Self::DecisionsDeadlineHours => Kind::Integer {
                min: 0,
                max: DEADLINE_HOURS_MAX as i64,
            },
            Self::ToolsMemoryMibMax => Kind::Integer {
                min: COMMAND_MEMORY_MIB_MIN as i64,
                max: COMMAND_MIB_MAX as i64,
            },
            Self::ToolsProcessesMax => Kind::Integer {
                min: COMMAND_PROCESSES_MIN as i64,
                max: COMMAND_PROCESSES_MAX as i64,
            },
            Self::ToolsWrittenMibMax | Self::ToolsWrittenMibPerDay => Kind::Integer {
                min: 1,
                max: COMMAND_MIB_MAX as i64,
            },
            Self::RetentionEventMib | Self::RetentionTraceMib | Self::RetentionBlobMib => Kind::Integer {
                min: 0,
                max: MIB_MAX as i64,
            },
        }
    }

    /// The name a person writes, such as `server.port`.
    pub(crate) fn name(self) -> String {
        let (section, name) = self.parts();
        format!("{section}.{name}")
    }

    /// The variable that sets it: `WAKEFUL_SECTION_NAME`, and for the default of a section `WAKEFUL_SECTION`.
    pub(crate) fn variable(self) -> String {
        let (section, name) = self.parts();
        let words = if name == "default" {
            section.to_owned()
        } else {
            format!("{section}_{name}")
        };
        format!("{PREFIX}{}", words.to_ascii_uppercase())
    }

    /// The setting of this name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|key| key.name() == name)
    }

    /// The setting that was probably meant. A name without its section counts as the one that has it.
    pub(super) fn nearest(name: &str) -> Option<Self> {
        let distance = |key: &Self| {
            let whole = strsim::damerau_levenshtein(name, &key.name());
            match name.contains('.') {
                true => whole,
                false => whole.min(strsim::damerau_levenshtein(name, key.parts().1)),
            }
        };
        let near = Self::ALL.into_iter().map(|key| (distance(&key), key)).min()?;
        is_near(near.0, name).then_some(near.1)
    }

    /// Makes a value of what was typed in a variable, a flag or a call.
    pub(super) fn read(self, text: &str) -> Value {
        self.kind().read(text)
    }

    /// The value that somebody typed, or what is wrong with it.
    pub(crate) fn typed(self, text: &str) -> Result<Value, Failure> {
        typed(&self.name(), self.kind(), text)
    }

    /// The way out for whoever wrote an unknown name.
    pub(crate) fn meant(name: &str) -> String {
        let near = Self::nearest(name).map(Self::name);
        near.or_else(|| Named::without_section(name)).map_or_else(
            || "`wakeful config get` lists the settings there are".to_owned(),
            |key| format!("did you mean {key}?"),
        )
    }

    /// What this setting accepts, for a sentence that begins with "expected".
    pub(super) fn expected(self) -> String {
        self.kind().expected()
    }

    /// Whether a value can be this setting.
    pub(super) fn accepts(self, value: &Value) -> bool {
        self.kind().accepts(value)
    }
}

/// The value that somebody typed, or what is wrong with it. What may be a key is not repeated.
pub(super) fn typed(name: &str, kind: Kind, text: &str) -> Result<Value, Failure> {
    let value = kind.read(text);
    if kind.accepts(&value) {
        return Ok(value);
    }
    let found = if kind.is_shown() {
        format!(", found {text:?}")
    } else {
        String::new()
    };
    let message = format!("{name}: expected {}{found}", kind.expected());
    let hint = if matches!(kind, Kind::List { .. }) {
        "give another value; several are written with commas between them, such as A,B"
    } else {
        "give another value"
    };
    Err(Failure::usage("bad_value", message, hint))
}

/// Whether a distance is that of a slip and not of another word.
pub(super) fn is_near(distance: usize, name: &str) -> bool {
    distance <= (name.chars().count() / 3).max(1)
}
