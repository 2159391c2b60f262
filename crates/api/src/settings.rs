//! Endpoints and types for the settings of the home.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::SettingsProblem;
use crate::endpoint::endpoints;

endpoints! { "settings":
    /// Lists all settings of the home with their values and origins.
    ///
    /// Keys are never returned, only where they are stored.
    ListSettings {} = Get "/api/settings" -> SettingsList { 200 "The settings" }
    /// Changes a setting in the settings file, or removes it from the file.
    ///
    /// A running daemon uses it from the next step on, unless it needs a restart.
    ChangeSetting = Post "/api/settings" -> SettingsList {
        200 "The settings after the change",
        409 "The setting is unknown, its value is invalid, its provider does not list the model, or the file is invalid",
    }
}

/// The settings of a home.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SettingsList {
    /// The path of the settings file.
    pub file: String,
    /// The settings, sorted by name.
    pub settings: Vec<Setting>,
    /// Why the file is not in force, while it is invalid.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<SettingsProblem>,
    /// Why a model could not be verified. Only in the response to the change that set it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model_warning: Option<String>,
}

/// One setting.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Setting {
    /// The name, such as `server.port`.
    pub name: String,
    /// The value in force. Absent if the setting has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<Value>,
    /// Where the value comes from.
    pub origin: SettingOrigin,
    /// The line in the settings file, if it comes from there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    /// What the setting does.
    pub description: String,
    /// Whether a change applies only after a restart of the daemon.
    pub needs_restart: bool,
}

/// Where the value of a setting comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SettingOrigin {
    /// The built-in default.
    Default,
    /// The settings file.
    File,
    /// An environment variable of the daemon.
    Environment,
    /// A flag with which the daemon was started.
    Flag,
}

/// The setting to change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ChangeSetting {
    /// The name, such as `server.port`.
    #[schemars(length(min = 1, max = 500))]
    pub name: String,
    /// The new value: text, a number, true or false, or a list of texts. Null removes the setting from the
    /// file, so that the default applies again.
    pub value: Value,
    /// Accept models without asking their providers whether they have them.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub skip_model_test: bool,
}
