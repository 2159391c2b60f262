//! The files that define hooks.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use serde_json::{Map, Value};
use url::{Host, Url};

use super::{HOOK_FILE_BYTES_MAX, HOOK_MS_DEFAULT, HOOKS_MAX, HookEvent, REPLY_HOOKS_MS_MAX};
use crate::failure::truncate_chars;
use crate::secret::{COMMAND_SECRETS_MAX, check_name};

/// Maximum length of a command, an address or a matcher in characters.
const TEXT_CHARS_MAX: usize = 4_096;

/// The names that other agent programs have for tools, with the names here.
pub const IMPORTED_TOOLS: [(&str, &str); 10] = [
    ("Bash", "ExecCommand"),
    ("Read", "ReadFile"),
    ("Write", "WriteFile"),
    ("Edit", "EditFile"),
    ("MultiEdit", "EditFile"),
    ("apply_patch", "ApplyPatch"),
    ("LS", "ListFiles"),
    ("Glob", "ListFiles"),
    ("Grep", "SearchFiles"),
    ("Task", "StartRun"),
];

/// The hooks of one file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HookFile {
    hooks: Vec<(HookEvent, HookSpec)>,
}

/// One hook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HookSpec {
    /// Names of tools with `|` between them; `*` stands for any text. An empty one matches every tool.
    pub matcher: String,
    pub action: HookAction,
    /// The time that it may take.
    pub timeout_ms: u64,
    /// The names of the secrets that its command gets in its environment.
    pub secrets: BTreeSet<String>,
}

/// What a hook does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HookAction {
    /// Runs a command with the shell.
    Command(String),
    /// Sends a request to an address of this machine.
    Http(String),
}

impl HookAction {
    /// The command or the address.
    #[must_use]
    pub fn text(&self) -> &str {
        match self {
            Self::Command(text) | Self::Http(text) => text,
        }
    }
}

impl HookSpec {
    /// Whether the hook runs for a tool.
    #[must_use]
    pub fn matches(&self, tool: Option<&str>) -> bool {
        let Some(tool) = tool else { return true };
        let all = self.matcher.trim().is_empty();
        all || self
            .matcher
            .split('|')
            .any(|pattern| matches(pattern.trim(), tool))
    }
}

/// Whether a text matches a pattern in which `*` stands for any text.
fn matches(pattern: &str, text: &str) -> bool {
    let Some((head, rest)) = pattern.split_once('*') else {
        return pattern == text;
    };
    let Some(mut left) = text.strip_prefix(head) else {
        return false;
    };
    let mut parts: Vec<&str> = rest.split('*').collect();
    let last = parts.pop().unwrap_or_default();
    for part in parts {
        let Some((_, after)) = left.split_once(part) else {
            return false;
        };
        left = after;
    }
    left.ends_with(last)
}

#[derive(Deserialize)]
struct Groups {
    hooks: BTreeMap<String, Vec<Group>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Group {
    #[serde(default)]
    matcher: Option<String>,
    hooks: Vec<Entry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    command: Option<String>,
    #[serde(default)]
    url: Option<String>,
    /// In seconds.
    #[serde(default)]
    timeout: Option<f64>,
    #[serde(default)]
    secrets: Vec<String>,
}

impl HookFile {
    /// Parses a file. The error names the event, the number of the entry and what is wrong.
    pub fn parse(text: &str) -> Result<Self, String> {
        if text.len() > HOOK_FILE_BYTES_MAX {
            return Err(format!("has more than {HOOK_FILE_BYTES_MAX} bytes"));
        }
        let object = serde_json::from_str::<Map<String, Value>>(text);
        let groups = object.and_then(|object| serde_json::from_value::<Groups>(Value::Object(object)));
        let groups = groups.map_err(|error| error.to_string())?;
        let mut hooks = Vec::new();
        for (name, groups) in groups.hooks {
            let event = HookEvent::parse(&name).ok_or_else(|| {
                let known: Vec<&str> = HookEvent::ALL.iter().map(|event| event.as_str()).collect();
                let name = truncate_chars(&name, 40);
                format!("the event {name:?} is unknown; use one of {}", known.join(", "))
            })?;
            for (index, group) in groups.into_iter().enumerate() {
                let wrong = |what: String| format!("{event}, entry {}: {what}", index + 1);
                for spec in specs(event, group).map_err(wrong)? {
                    hooks.push((event, spec));
                }
            }
        }
        if hooks.len() > HOOKS_MAX {
            return Err(format!(
                "has {} hooks, at most {HOOKS_MAX} are allowed",
                hooks.len()
            ));
        }
        Ok(Self { hooks })
    }

    /// All hooks with their events.
    pub fn iter(&self) -> impl Iterator<Item = &(HookEvent, HookSpec)> {
        self.hooks.iter()
    }

    /// The hooks that run at an event, in the order of the file.
    pub fn matching(&self, event: HookEvent, tool: Option<&str>) -> impl Iterator<Item = &HookSpec> {
        let chosen = self.hooks.iter().filter(move |(at, _)| *at == event);
        chosen
            .map(|(_, spec)| spec)
            .filter(move |spec| !event.has_tool() || spec.matches(tool))
    }
}

fn specs(event: HookEvent, group: Group) -> Result<Vec<HookSpec>, String> {
    let matcher = group.matcher.unwrap_or_default().replace(".*", "*");
    let is_name = |c: char| c.is_ascii_alphanumeric() || "_-.|* ".contains(c);
    if matcher.chars().count() > TEXT_CHARS_MAX || !matcher.chars().all(is_name) {
        return Err("the matcher may contain names of tools, `|` and `*`, and no other pattern".to_owned());
    }
    if !event.has_tool() && !matches!(matcher.as_str(), "" | "*") {
        return Err(format!("{event} has no tool, so it has no matcher"));
    }
    let entries = group.hooks.into_iter().map(|entry| spec(&matcher, entry));
    entries.collect()
}

fn spec(matcher: &str, entry: Entry) -> Result<HookSpec, String> {
    let secrets = secret_names(&entry)?;
    let action = match (entry.kind.as_str(), entry.command, entry.url) {
        ("command", Some(command), None) if is_text(&command) => HookAction::Command(command),
        ("command", ..) => {
            return Err("a hook of type `command` needs `command` alone, as one text".to_owned());
        }
        ("http", None, Some(url)) if is_text(&url) => {
            check_url(&url)?;
            HookAction::Http(url)
        }
        ("http", ..) => return Err("a hook of type `http` needs `url` alone, as one text".to_owned()),
        (other, ..) => {
            let other = truncate_chars(other, 40);
            return Err(format!("the type {other:?} is unknown; use `command` or `http`"));
        }
    };
    let timeout_ms = match entry.timeout {
        None => HOOK_MS_DEFAULT,
        Some(seconds) => millis(seconds).ok_or_else(|| {
            format!(
                "timeout: must be more than 0 and at most {} seconds",
                REPLY_HOOKS_MS_MAX / 1000
            )
        })?,
    };
    Ok(HookSpec {
        matcher: matcher.to_owned(),
        action,
        timeout_ms,
        secrets,
    })
}

/// The names of the secrets of a hook. A service has its own, because a request would show them to every program
/// that listens at the address.
fn secret_names(entry: &Entry) -> Result<BTreeSet<String>, String> {
    if !entry.secrets.is_empty() && entry.kind != "command" {
        return Err("secrets: only a hook of type `command` can have them".to_owned());
    }
    if entry.secrets.len() > COMMAND_SECRETS_MAX {
        return Err(format!(
            "secrets: at most {COMMAND_SECRETS_MAX} names are allowed"
        ));
    }
    for name in &entry.secrets {
        check_name(name).map_err(|problem| format!("secrets: {}", problem.message))?;
    }
    Ok(entry.secrets.iter().cloned().collect())
}

fn is_text(text: &str) -> bool {
    !text.trim().is_empty() && text.chars().count() <= TEXT_CHARS_MAX && !text.contains('\0')
}

fn millis(seconds: f64) -> Option<u64> {
    let duration = std::time::Duration::try_from_secs_f64(seconds).ok()?;
    let millis = u64::try_from(duration.as_millis()).ok()?;
    (1..=REPLY_HOOKS_MS_MAX).contains(&millis).then_some(millis)
}

/// A hook gets the arguments of calls, which must not leave this machine.
fn check_url(text: &str) -> Result<(), String> {
    let url = Url::parse(text).map_err(|error| format!("url: {error}"))?;
    let is_local = match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(address)) => address.octets() == [127, 0, 0, 1],
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    };
    let is_plain = url.scheme() == "http" && url.username().is_empty() && url.password().is_none();
    match is_local && is_plain {
        true => Ok(()),
        false => Err("url: must be http:// on 127.0.0.1, [::1] or localhost, without a user name".to_owned()),
    }
}

/// Hooks of another agent program, as a file for this one.
#[derive(Debug, Clone, PartialEq)]
pub struct ImportedHooks {
    /// The hooks that can be used here.
    pub file: Value,
    pub count: usize,
    /// What was left out, with the reason.
    pub refused: Vec<(String, String)>,
}

/// Converts the `hooks` of another program's settings. Names of its tools become the names here.
pub fn import(text: &str) -> Result<ImportedHooks, String> {
    let settings: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
    let Some(events) = settings.get("hooks").and_then(Value::as_object) else {
        return Err("has no object `hooks`".to_owned());
    };
    let mut kept: BTreeMap<&str, Vec<Value>> = BTreeMap::new();
    let (mut count, mut refused) = (0, Vec::new());
    for (event, groups) in events {
        for group in groups.as_array().into_iter().flatten() {
            let mut group = group.clone();
            if let Some(matcher) = group.get_mut("matcher") {
                *matcher = renamed(matcher);
            }
            let alone = serde_json::json!({"hooks": {event: [group]}});
            match HookFile::parse(&alone.to_string()) {
                Ok(parsed) => {
                    count += parsed.hooks.len();
                    kept.entry(event).or_default().push(group);
                }
                Err(why) => refused.push((event.clone(), why)),
            }
        }
    }
    let file = serde_json::json!({ "hooks": kept });
    HookFile::parse(&file.to_string())?;
    Ok(ImportedHooks { file, count, refused })
}

fn renamed(matcher: &Value) -> Value {
    let Some(text) = matcher.as_str() else {
        return matcher.clone();
    };
    let rename = |name: &str| {
        let known = IMPORTED_TOOLS.iter().find(|(theirs, _)| *theirs == name.trim());
        known.map_or_else(|| name.to_owned(), |(_, ours)| (*ours).to_owned())
    };
    let names: Vec<String> = text.split('|').map(rename).collect();
    Value::String(names.join("|"))
}
