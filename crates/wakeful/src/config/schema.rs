//! The JSON Schema of `config.toml` is the only list of settings: names, value kinds and bounds are read
//! from it, so each setting is declared once, as a field of [`Settings`].

use std::sync::LazyLock;

use schemars::generate::SchemaSettings;
use serde_json::{Map, Value};
use wakeful_core::suggestion::{distance, is_near};

use super::settings::Settings;
use super::value::is_name;
use crate::failure::Failure;

/// Prefix of Wakeful's environment variables.
pub(super) const PREFIX: &str = "WAKEFUL_";

static SCHEMA: LazyLock<Value> = LazyLock::new(|| {
    let generator = SchemaSettings::draft2020_12().into_generator();
    let mut schema = generator.into_root_schema_for::<Settings>().to_value();
    remove_null(&mut schema);
    schema
});

/// Removes `null` from the schema: an optional setting is omitted from the file, because TOML has no null.
fn remove_null(schema: &mut Value) {
    let is_null = |one: &Value| one == "null" || one.get("type").is_some_and(|kind| kind == "null");
    let Value::Object(members) = schema else {
        if let Value::Array(items) = schema {
            items.iter_mut().for_each(remove_null);
        }
        return;
    };
    if members.get("default").is_some_and(Value::is_null) {
        members.remove("default");
    }
    for (name, is_list) in [("type", false), ("anyOf", true)] {
        let Some(Value::Array(options)) = members.get_mut(name) else {
            continue;
        };
        options.retain(|one| !is_null(one));
        if options.len() != 1 {
            continue;
        }
        match (is_list, options.pop()) {
            (true, Some(Value::Object(only))) => {
                members.remove(name);
                members.extend(only);
            }
            (_, only) => drop(members.insert(name.to_owned(), only.unwrap_or_default())),
        }
    }
    members.values_mut().for_each(remove_null);
}

/// A node of the schema: a section, a section with user-defined names, or a setting.
#[derive(Debug, Clone, Copy)]
pub(super) struct Node(pub(super) &'static Value);

impl Node {
    pub(super) fn root() -> Self {
        Self(&SCHEMA)
    }

    pub(super) fn at(schema: &'static Value) -> Self {
        let reference = schema.get("$ref").and_then(Value::as_str);
        let target = reference.and_then(|reference| SCHEMA.pointer(reference.trim_start_matches('#')));
        Self(target.unwrap_or(schema))
    }

    /// The alternatives of a value; most settings have one.
    pub(super) fn alternatives(self) -> impl Iterator<Item = Self> {
        let several = self.0.get("anyOf").and_then(Value::as_array);
        let one = several.is_none().then_some(self);
        several.into_iter().flatten().map(Self::at).chain(one)
    }

    fn fields(self) -> Option<&'static Map<String, Value>> {
        self.alternatives()
            .find_map(|one| one.0.get("properties")?.as_object())
    }

    /// The node below each name of a section with user-defined names.
    pub(super) fn named(self) -> Option<Self> {
        let inner = self.0.get("additionalProperties")?;
        inner.is_object().then(|| Self::at(inner))
    }

    pub(super) fn is_section(self) -> bool {
        self.fields().is_some() || self.named().is_some()
    }

    /// Whether a value can be here. The rules for models can be a list or a section.
    pub(super) fn is_setting(self) -> bool {
        self.alternatives().any(|one| !one.is_section())
    }

    /// The format of user-defined names.
    pub(super) fn name_format(self) -> &'static str {
        let format = self.0.pointer("/propertyNames/format");
        format.and_then(Value::as_str).unwrap_or_default()
    }

    /// Maximum number of user-defined names.
    pub(super) fn names_max(self) -> u64 {
        let bound = self.0.get("maxProperties").and_then(Value::as_u64);
        bound.unwrap_or(u64::MAX)
    }

    pub(super) fn child(self, name: &str) -> Option<Self> {
        match self.fields() {
            Some(fields) => fields.get(name).map(Self::at),
            None => self.named().filter(|_| is_name(self.name_format(), name)),
        }
    }
}

/// One setting: its path in the file, and the values that it accepts.
#[derive(Debug, Clone)]
pub(crate) struct Setting {
    pub(super) path: Vec<String>,
    pub(super) node: Node,
}

impl Setting {
    /// Finds a setting by name, such as `server.port` or `providers.mine.key`. A model's name may contain
    /// dots.
    pub(crate) fn find(name: &str) -> Option<Self> {
        let mut path = Vec::new();
        let node = find_below(Node::root(), name, &mut path)?;
        Some(Self { path, node })
    }

    /// Finds a setting by name; the error suggests the nearest name.
    pub(crate) fn known(name: &str) -> Result<Self, Failure> {
        Self::find(name).ok_or_else(|| {
            if let Some(moved) = moved(name) {
                return moved;
            }
            let message = format!("unknown setting {name}");
            Failure::usage("config_key_unknown", message, nearest(name, None))
        })
    }

    /// All settings outside sections with user-defined names, in alphabetical order.
    pub(super) fn all() -> impl Iterator<Item = Self> {
        let sections = Node::root().fields().into_iter().flatten();
        sections.flat_map(|(section, schema)| {
            let fields = Node::at(schema).fields().into_iter().flatten();
            fields.map(|(name, schema)| Self {
                path: vec![section.clone(), name.clone()],
                node: Node::at(schema),
            })
        })
    }

    /// The settings with a single value. Each has an environment variable, and `config get` always lists
    /// them.
    pub(super) fn single() -> impl Iterator<Item = Self> {
        Self::all().filter(|setting| !setting.node.is_list())
    }

    /// The dotted name.
    pub(crate) fn name(&self) -> String {
        dotted(&self.path)
    }

    /// The environment variable of the setting: `WAKEFUL_SECTION_NAME`, or `WAKEFUL_SECTION` for the
    /// default of a section.
    pub(super) fn variable(&self) -> String {
        let words = self.path.join("_");
        let words = words.strip_suffix("_default").unwrap_or(&words);
        format!("{PREFIX}{}", words.to_ascii_uppercase())
    }

    /// Parses a value given on the command line. The error does not repeat a value that may be a key.
    pub(crate) fn typed(&self, text: &str) -> Result<Value, Failure> {
        let value = self.node.read(text);
        if self.node.accepts(&value) {
            return Ok(value);
        }
        Err(self.refused(text))
    }

    /// Checks a list that was given as a list; its values may contain commas.
    pub(crate) fn list(&self, value: &Value) -> Result<Value, Failure> {
        if self.node.accepts(value) {
            return Ok(value.clone());
        }
        Err(self.refused(&super::value_text(Some(value))))
    }

    fn refused(&self, text: &str) -> Failure {
        let found = match self.node.is_shown() {
            true => format!(", found {text:?}"),
            false => String::new(),
        };
        let message = format!("{}: expected {}{found}", self.name(), self.node.expected());
        let hint = match self.node.is_list() {
            true => "use another value; separate several values with commas, such as A,B",
            false => "use another value",
        };
        Failure::usage("bad_value", message, hint)
    }
}

/// The settings of single agents that are in the agent's record, with the flag that sets them.
const MOVED: [(&str, &str); 7] = [
    ("ask_tools", "--ask-tools A,B"),
    ("deny_tools", "--deny-tools A,B"),
    ("answer_channels", "--answer-channels A,B"),
    ("may_start", "--may-start A,B"),
    ("foreign_targets", "--foreign-targets POLICY"),
    ("model", "--model REF"),
    ("fallbacks", "--fallbacks A,B"),
];

/// The error for a setting `agents.NAME.SETTING` that is in the agent's record.
pub(super) fn moved(name: &str) -> Option<Failure> {
    let (agent, setting) = name.strip_prefix("agents.")?.split_once('.')?;
    let (_, flag) = MOVED.into_iter().find(|(moved, _)| *moved == setting)?;
    let message =
        format!("{name} is not a setting of config.toml; it is part of the record of agent {agent}");
    let hint = format!("`wakeful agent set {agent} {flag}` sets it");
    Some(Failure::usage("setting_moved", message, hint))
}

fn find_below(node: Node, name: &str, path: &mut Vec<String>) -> Option<Node> {
    let ends = name.match_indices('.').map(|(at, _)| at).chain([name.len()]);
    for end in ends {
        let (first, rest) = name.split_at(end);
        let first = first.trim_matches('"');
        let Some(child) = node.child(first) else {
            continue;
        };
        path.push(first.to_owned());
        let found = match rest.strip_prefix('.') {
            Some(rest) => find_below(child, rest, path),
            None => child.is_setting().then_some(child),
        };
        if found.is_some() {
            return found;
        }
        path.pop();
    }
    None
}

/// The dotted form of a path; a name with characters outside words is quoted.
pub(super) fn dotted(path: &[String]) -> String {
    let is_word = |part: &str| {
        part.chars()
            .all(|c| c.is_ascii_alphanumeric() || " _-".contains(c))
    };
    let quoted = path.iter().map(|part| match is_word(part) {
        true => part.clone(),
        false => format!("\"{part}\""),
    });
    quoted.collect::<Vec<_>>().join(".")
}

/// The hint for an unknown name: the nearest field of its section, else the nearest of all settings. A name
/// without a section is also compared with the last part of each setting.
pub(super) fn nearest(name: &str, section: Option<Node>) -> String {
    let (before, last) = name.rsplit_once('.').unwrap_or(("", name));
    let fields = section.and_then(Node::fields).into_iter().flatten();
    let fields: Vec<&str> = fields.map(|(field, _)| field.as_str()).collect();
    let own = fields.iter().map(|field| (distance(last, field), *field)).min();
    if let Some((_, field)) = own.filter(|(distance, _)| !before.is_empty() && is_near(*distance, last)) {
        return format!("did you mean {before}.{field}?");
    }
    match nearest_of_all(name) {
        Some(meant) => format!("did you mean {meant}?"),
        None if before.is_empty() || fields.is_empty() => {
            "`wakeful config get` lists all settings".to_owned()
        }
        None => format!("expected one of {}", fields.join(", ")),
    }
}

pub(super) fn nearest_of_all(name: &str) -> Option<String> {
    let distances = Setting::all().map(|setting| {
        let (whole, last) = (setting.name(), setting.path.last());
        let bare = last.filter(|_| !name.contains('.'));
        let bare = bare.map_or(usize::MAX, |last| distance(name, last));
        (bare.min(distance(name, &whole)), whole)
    });
    let (distance, meant) = distances.min()?;
    is_near(distance, name).then_some(meant)
}
