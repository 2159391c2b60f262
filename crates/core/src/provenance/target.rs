//! What a run that has read untrusted data may do without a person: what acts on named targets, stays in the
//! workspace, or is confined to it.

use std::collections::BTreeMap;

use serde_json::Value;
use url::{Host, Url};

use super::command::is_named_command;
use super::texts::RunTexts;
use crate::policy::{CallFacts, CommandFact, HostScope, PathAccess, PathScope, Target};
use crate::step::EffectClass;

/// Maximum number of pages of one site that a run reads because untrusted text links to them. Which of its links
/// a run follows is all that such reads tell a site; eight are enough for usual research.
pub const LINKED_READS_MAX: u32 = 8;

/// The same for a site that the operator named.
pub const NAMED_READS_MAX: u32 = 16;

/// Maximum number of such reads of all sites. It bounds what a page with a link for each letter can learn.
pub const LINKED_TOTAL_MAX: u32 = 32;

/// Longest number in an address that may be unknown: the number of a page. One is allowed.
const PAGE_NUMBER_CHARS_MAX: usize = 2;

/// Maximum number of strings of a call's arguments that are looked up. A call with more is foreign.
const ARGUMENT_TEXTS_MAX: usize = 64;

/// Shortest part of a foreign name by which its origin is looked for.
const PART_CHARS_MIN: usize = 4;

/// A call of a run that has read untrusted data.
#[derive(Debug, Clone, Copy)]
pub struct UntrustedCall<'a> {
    pub class: EffectClass,
    pub input: &'a Value,
    pub facts: &'a CallFacts,
    /// Whether this machine can confine a command.
    pub is_confinable: bool,
    /// Whether the run has acted since it read untrusted data, so that programs of the workspace are untrusted
    /// too.
    pub has_acted: bool,
    /// Whether a person opened the agent's listed hosts to the commands of the run.
    pub has_open_hosts: bool,
    /// The reads so far because of links in untrusted text, by site.
    pub linked_reads: &'a BTreeMap<String, u32>,
}

/// How the targets of a call relate to what the operator named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TargetVerdict {
    /// The operator named them, or nothing outside the workspace is changed.
    Named,
    /// It reads a page to which a text links that the run has read, or a page of a named host with an address that
    /// carries nothing else.
    Linked { site: String },
    /// The command runs without ports, secrets and writable folders outside the workspace.
    Confined {
        /// Whether it reaches the agent's listed hosts.
        has_hosts: bool,
    },
    /// Only untrusted data can have named them. Contains the names, the most telling one first.
    Foreign(Vec<String>),
}

impl UntrustedCall<'_> {
    /// Judges the targets of the call.
    #[must_use]
    pub fn judge(&self, texts: &RunTexts<'_>) -> TargetVerdict {
        if let Some(url) = &self.facts.url {
            return self.judge_url(url, texts);
        }
        if let Some(command) = &self.facts.command {
            return self.judge_command(command, texts);
        }
        let targets = &self.facts.targets;
        let foreign: Vec<String> = targets
            .iter()
            .filter_map(|target| foreign(target, texts))
            .collect();
        if !foreign.is_empty() {
            return TargetVerdict::Foreign(foreign);
        }
        // Reads are harmless; the other calls with targets act on those alone.
        if self.class == EffectClass::Idempotent || !targets.is_empty() {
            return TargetVerdict::Named;
        }
        self.judge_arguments(texts)
    }

    fn judge_url(&self, url: &str, texts: &RunTexts<'_>) -> TargetVerdict {
        let host = self.facts.targets.iter().find_map(|target| match target {
            Target::Host { host, .. } => Some(host.clone()),
            Target::Path { .. } | Target::Agent { .. } | Target::Secret { .. } => None,
        });
        let host = host.unwrap_or_default();
        let spellings = spellings(url);
        let mut all = spellings.iter();
        if all.any(|spelling| texts.is_text_named(spelling)) {
            return TargetVerdict::Named;
        }
        let is_host_named = is_host_named(&host, texts);
        let is_linked = spellings
            .iter()
            .any(|spelling| texts.is_text_linked(spelling, self.has_acted));
        let site = site_of(&host);
        let reads = self.linked_reads.get(&site).copied().unwrap_or_default();
        let all_reads = self
            .linked_reads
            .values()
            .fold(0_u32, |all, reads| all.saturating_add(*reads));
        let most = if is_host_named {
            NAMED_READS_MAX
        } else {
            LINKED_READS_MAX
        };
        let is_bounded = all_reads < LINKED_TOTAL_MAX && reads < most;
        if is_bounded && (is_linked || (is_host_named && is_made_of_known_words(url, texts))) {
            return TargetVerdict::Linked { site };
        }
        TargetVerdict::Foreign(names(url, &[host]))
    }

    fn judge_command(&self, command: &CommandFact, texts: &RunTexts<'_>) -> TargetVerdict {
        let wanted: Vec<String> = self.facts.targets.iter().filter_map(requested).collect();
        let foreign_host = self.facts.targets.iter().find_map(|target| match target {
            Target::Host { .. } => foreign(target, texts),
            Target::Path { .. } | Target::Agent { .. } | Target::Secret { .. } => None,
        });
        if foreign_host.is_none() && is_named_command(self.facts, texts, self.has_acted) {
            return TargetVerdict::Named;
        }
        let is_open = |target: &Target| match target {
            Target::Host { scope, .. } => self.has_open_hosts && *scope == HostScope::Allowed,
            Target::Secret { .. } => false,
            Target::Path { .. } | Target::Agent { .. } => true,
        };
        if self.is_confinable && self.facts.targets.iter().all(is_open) {
            let has_hosts = self.has_open_hosts;
            return TargetVerdict::Confined { has_hosts };
        }
        TargetVerdict::Foreign(names(&command.text, &wanted))
    }

    /// A call whose targets are unknown acts on what its arguments say.
    fn judge_arguments(&self, texts: &RunTexts<'_>) -> TargetVerdict {
        let mut said = self.facts.texts.clone();
        if said.is_empty() {
            strings(self.input, &mut said);
        }
        let is_bounded = !said.is_empty() && said.len() <= ARGUMENT_TEXTS_MAX;
        let is_known = |text: &&String| {
            let text = text.trim();
            texts.is_text_trusted(text) || texts.is_record_named(text)
        };
        let foreign: Vec<String> = said.iter().filter(|text| !is_known(text)).cloned().collect();
        if is_bounded && foreign.is_empty() {
            return TargetVerdict::Named;
        }
        let longest = foreign
            .iter()
            .max_by_key(|text| text.len())
            .cloned()
            .unwrap_or_default();
        TargetVerdict::Foreign(names(&longest, &foreign))
    }
}

/// What a command asks for in addition to its workspace.
fn requested(target: &Target) -> Option<String> {
    match target {
        Target::Host { host, .. } => Some(host.clone()),
        Target::Secret { name, .. } => Some(name.clone()),
        Target::Path { .. } | Target::Agent { .. } => None,
    }
}

/// The name of a target that the operator has not named; none for a named one, for the workspace, and for what
/// is only read.
fn foreign(target: &Target, texts: &RunTexts<'_>) -> Option<String> {
    let (name, is_named) = match target {
        Target::Path {
            access: PathAccess::Read,
            ..
        }
        | Target::Path {
            scope: PathScope::Workspace | PathScope::Temporary,
            ..
        } => return None,
        Target::Path { path, .. } => (path.clone(), is_path_named(path, texts)),
        Target::Host { host, .. } => (host.clone(), is_host_named(host, texts)),
        Target::Agent { agent_id } => {
            let name = agent_id.to_string();
            let is_named = texts.is_word_named(|word| word.trim_start_matches('@') == name);
            (name, is_named)
        }
        Target::Secret { name, .. } => (name.clone(), texts.is_word_named(|word| word == name)),
    };
    (!is_named).then_some(name)
}

/// Whether the operator named a path, a folder that contains it, or either of them below `~`.
fn is_path_named(path: &str, texts: &RunTexts<'_>) -> bool {
    texts.is_word_named(|word| {
        let word = word.trim_end_matches('/');
        let is_in = |folder: &str| {
            let parts = folder.split('/').filter(|part| !part.is_empty());
            let below = path.strip_prefix(folder);
            // A folder such as `/etc` is named in passing; `/srv/reports` is a place.
            below.is_some_and(|below| below.is_empty() || (below.starts_with('/') && parts.count() > 1))
        };
        match word.strip_prefix("~/") {
            Some(below) => {
                !below.is_empty() && home_of(path).is_some_and(|home| is_in(&format!("{home}/{below}")))
            }
            None => word.starts_with('/') && is_in(word),
        }
    })
}

/// The user's folder that a path is in.
fn home_of(path: &str) -> Option<&str> {
    if path == "/root" || path.starts_with("/root/") {
        return Some("/root");
    }
    let user = path.strip_prefix("/home/")?;
    path.get(.."/home/".len() + user.find('/')?)
}

/// Whether the operator named a host: by itself, with a port, or in a URL or an address of Git.
fn is_host_named(host: &str, texts: &RunTexts<'_>) -> bool {
    !host.is_empty() && texts.is_word_named(|word| host_of(word).as_deref() == Some(host))
}

/// The host of a word, in the form that targets have.
pub(super) fn host_of(word: &str) -> Option<String> {
    let url = match word.split_once("://") {
        Some((scheme, _)) if scheme.chars().all(|c| c.is_ascii_alphanumeric() || c == '+') => {
            // Only schemes that browsers know have hosts in one form.
            format!("https{}", word.get(scheme.len()..)?)
        }
        Some(_) => return None,
        // `git@host:path` and `host:port`.
        None => {
            let host = word.rsplit('@').next()?;
            let end = host.find([':', '/']).unwrap_or(host.len());
            format!("https://{}", host.get(..end)?)
        }
    };
    let url = Url::parse(&url).ok()?;
    Some(match url.host()? {
        Host::Domain(name) => name.trim_end_matches('.').to_owned(),
        Host::Ipv4(address) => address.to_string(),
        Host::Ipv6(address) => address.to_string(),
    })
}

/// The site of a host: its last two labels, because the owner of a name chooses all names below it. That
/// some sites share two labels only makes the bound tighter.
fn site_of(host: &str) -> String {
    if host.contains(':')
        || host
            .rsplit('.')
            .next()
            .is_some_and(|last| last.bytes().all(|byte| byte.is_ascii_digit()))
    {
        return host.to_owned();
    }
    let mut labels: Vec<&str> = host.rsplit('.').take(2).collect();
    labels.reverse();
    labels.join(".")
}

/// Whether an address has only words that the operator wrote or that the web gave to the run, so that it carries
/// nothing that the run learned elsewhere.
fn is_made_of_known_words(url: &str, texts: &RunTexts<'_>) -> bool {
    let Some((_, address)) = url.split_once("://") else {
        return false;
    };
    let parts = address.split_once('/').map_or("", |(_, path)| path);
    let parts = parts.split(|c: char| !c.is_alphanumeric());
    let mut unknown = parts.filter(|part| !part.is_empty() && !texts.is_part_known(part));
    let is_number =
        |part: &str| part.len() <= PAGE_NUMBER_CHARS_MAX && part.bytes().all(|byte| byte.is_ascii_digit());
    unknown.next().is_none_or(is_number) && unknown.next().is_none()
}

/// The spellings of a URL that lead to the same page.
fn spellings(url: &str) -> Vec<String> {
    let page = url.split('#').next().unwrap_or(url);
    let bare = page.trim_end_matches('/');
    let mut spellings = vec![
        url.to_owned(),
        page.to_owned(),
        bare.to_owned(),
        format!("{bare}/"),
    ];
    spellings.dedup();
    spellings
}

/// The names by which the origin of a foreign text is looked for: itself, then others, then its parts, the
/// longest first.
fn names(text: &str, others: &[String]) -> Vec<String> {
    let mut parts: Vec<&str> = text
        .split(|c: char| !c.is_alphanumeric() && !"./:@_-".contains(c))
        .collect();
    parts.retain(|part| part.len() >= PART_CHARS_MIN);
    parts.sort_by_key(|part| std::cmp::Reverse(part.len()));
    let whole = [text.trim().to_owned()].into_iter();
    let all = whole
        .chain(others.iter().cloned())
        .chain(parts.into_iter().map(str::to_owned));
    let mut names: Vec<String> = all.filter(|name| !name.is_empty()).collect();
    names.truncate(ARGUMENT_TEXTS_MAX);
    names
}

fn strings(value: &Value, into: &mut Vec<String>) {
    match value {
        Value::String(text) => into.push(text.clone()),
        Value::Array(values) => values.iter().for_each(|value| strings(value, into)),
        Value::Object(fields) => fields.values().for_each(|value| strings(value, into)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[cfg(test)]
mod tests;
