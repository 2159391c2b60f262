//! Reads, edits and replaces `config.toml`. Errors have line numbers, edits preserve everything else in the
//! file, and the file is replaced atomically.

use std::fs::{self, File};
use std::io::{ErrorKind, Read as _};
use std::ops::Range;
use std::path::Path;

use serde_json::{Value, json};
use toml_edit::{Document, DocumentMut, Item, TableLike};
use wakeful_core::failure::truncate_chars;

use super::cross_check::{CrossFinding, cross_check};
use super::layer::{ParsedLayer, SettingOrigin};
use super::schema::{Node, Setting, dotted, moved, nearest};
use super::value::expected_name;
use crate::failure::Failure;
use crate::system::replace_file;

/// Maximum size of the file; settings are a few lines.
const BYTES_MAX: u64 = 1 << 20;

/// Maximum length of an invalid value that is shown.
const SHOWN_CHARS_MAX: usize = 80;

/// The first lines of a new file.
const HEADER: &str = "# Settings of this Wakeful home. `wakeful config schema` describes every key.\n\n";

/// One edit of the file.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum ConfigEdit {
    /// Sets a setting to the typed text.
    Set { key: String, text: String },
    /// Sets a setting to a list that was given as a list.
    SetList { key: String, value: Value },
    /// Removes the entry with this name, even if the name is unknown.
    Unset(String),
    /// Changes nothing, and fails if there is a provider with this name.
    NewProvider(String),
}

/// The settings in the file. A missing file has none.
pub(super) fn layer(path: &Path) -> Result<ParsedLayer, Failure> {
    Ok(read(path)?.map_or_else(ParsedLayer::default, |text| parse(path, &text)))
}

/// Edits the file under a lock on its folder, so that concurrent edits are not lost.
pub(super) fn change(home: &Path, path: &Path, edits: &[ConfigEdit]) -> Result<bool, Failure> {
    let unwritable = |error: &std::io::Error| {
        let attempt = format!("cannot write {}", path.display());
        Failure::io(
            "config_unwritable",
            &attempt,
            error,
            "make the home writable or choose another with --home",
        )
    };
    let folder = File::open(home).map_err(|error| unwritable(&error))?;
    folder.lock().map_err(|error| unwritable(&error))?;
    let before = read(path)?;
    let mut text = before.clone().unwrap_or_default();
    for edit in edits {
        text = edited(path, &text, edit)?;
    }
    if before.as_deref().unwrap_or_default() == text {
        return Ok(false);
    }
    // An empty file reads as one that an editor is writing.
    if before.is_none() || text.is_empty() {
        text.insert_str(0, HEADER);
    }
    // The rest of the file must be valid as well, so that a written file can always be read.
    if let Some(problem) = parse(path, &text).problems.into_iter().next() {
        return Err(problem);
    }
    // A symbolic link is preserved.
    let target = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    replace_file(&target, &text).map_err(|error| unwritable(&error))?;
    Ok(true)
}

fn read(path: &Path) -> Result<Option<String>, Failure> {
    let unreadable = |error: &std::io::Error| {
        let attempt = format!("cannot read {}", path.display());
        Failure::io(
            "config_unreadable",
            &attempt,
            error,
            "make it a readable UTF-8 file, or move it away",
        )
    };
    match fs::metadata(path) {
        Ok(found) if found.is_file() => {}
        // Reading a pipe would block, and its content cannot be read twice.
        Ok(_) => return Err(unreadable(&std::io::Error::other("it is not a regular file"))),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            return Ok(None);
        }
        Err(error) => return Err(unreadable(&error)),
    }
    let mut text = String::new();
    let opened = File::open(path).map_err(|error| unreadable(&error))?;
    let bytes = opened.take(BYTES_MAX + 1).read_to_string(&mut text);
    match bytes.map_err(|error| unreadable(&error))? {
        bytes if u64::try_from(bytes).is_ok_and(|bytes| bytes <= BYTES_MAX) => Ok(Some(text)),
        _ => Err(unreadable(&std::io::Error::other(format!(
            "the file has more than {BYTES_MAX} bytes"
        )))),
    }
}

/// Parses every setting in the text, and collects all errors.
pub(super) fn parse(path: &Path, text: &str) -> ParsedLayer {
    let lines = Lines { path, text };
    let mut parser = Parser {
        lines: &lines,
        path: Vec::new(),
        read: ParsedLayer::default(),
    };
    match Document::parse(text) {
        Ok(document) => parser.section(document.as_table(), Some(Node::root())),
        Err(error) => {
            let message = error.message().replace('\n', ", ");
            let hint = "correct the line; `wakeful help configuration` has an example";
            let problem = lines.invalid(error.span(), &message, hint);
            parser.read.problems.push(problem);
        }
    }
    let mut read = parser.read;
    if read.problems.is_empty() {
        match cross_check(&read.layer) {
            Ok(found) => read.problems.extend(found.into_iter().map(|finding| {
                let CrossFinding { line, message, hint } = finding;
                let message = format!("{}, line {line}: {message}", path.display());
                Failure::usage("config_invalid", message, hint)
            })),
            Err(problem) => read.problems.push(problem),
        }
    }
    read
}

/// Traverses the file along the schema.
struct Parser<'a> {
    lines: &'a Lines<'a>,
    /// The current position.
    path: Vec<String>,
    read: ParsedLayer,
}

impl Parser<'_> {
    /// Parses a section. If the schema does not have it, each of its settings is reported as unknown.
    fn section(&mut self, table: &dyn TableLike, node: Option<Node>) {
        for (at, (name, item)) in table.iter().enumerate() {
            self.path.push(name.to_owned());
            let (span, inner) = (span(table, name), item.as_table_like());
            match (node.and_then(|node| node.child(name)), inner) {
                (Some(child), Some(inner)) if child.is_section() && !is_full(node, at) => {
                    self.section(inner, Some(child));
                }
                (Some(child), _) if child.is_setting() => self.setting(item, child, span),
                (None, Some(inner))
                    if node.is_none_or(|node| node.named().is_none()) && !inner.is_empty() =>
                {
                    self.section(inner, None);
                }
                _ => self.unknown(node, span),
            }
            self.path.pop();
        }
    }

    fn setting(&mut self, item: &Item, node: Node, span: Option<Range<usize>>) {
        if let Some(value) = plain(item).filter(|value| node.accepts(value)) {
            let line = self.lines.number(span).unwrap_or(1);
            let origin = SettingOrigin::File { line };
            self.read.layer.insert(self.path.clone(), (value, origin));
            return;
        }
        let shown = item.to_string();
        let shown = match node.is_shown() {
            true => format!(": {}", truncate_chars(shown.trim(), SHOWN_CHARS_MAX)),
            // A value that may be a key is not repeated.
            false => String::new(),
        };
        let (name, expected, found) = (dotted(&self.path), node.expected(), item.type_name());
        let message = format!("{name}: expected {expected}, found {found}{shown}");
        let hint = format!("`wakeful config set {name} VALUE` replaces it");
        self.problem(span, &message, &hint);
    }

    fn unknown(&mut self, parent: Option<Node>, span: Option<Range<usize>>) {
        let name = dotted(&self.path);
        if let Some(parent) = parent.filter(|parent| parent.named().is_some()) {
            let (section, expected) = (self.path.first(), expected_name(parent.name_format()));
            let section = section.map(String::as_str).unwrap_or_default();
            let message = format!("{name} is not a section: [{section}.NAME] expects {expected}");
            return self.problem(span, &message, "rename or remove it");
        }
        if let Some(moved) = moved(&name) {
            let message = moved.message().to_owned();
            let problem = self.lines.located("setting_moved", span, &message);
            return self
                .read
                .problems
                .push(problem.with_hint(moved.hint().to_owned()));
        }
        let hint = nearest(&name, parent);
        self.problem(span, &format!("unknown setting {name}"), &hint);
    }

    fn problem(&mut self, span: Option<Range<usize>>, message: &str, hint: &str) {
        let problem = self.lines.invalid(span, message, hint);
        self.read.problems.push(problem);
    }
}

/// Whether a section already has its maximum number of names.
fn is_full(section: Option<Node>, before: usize) -> bool {
    let max = section.map_or(u64::MAX, Node::names_max);
    u64::try_from(before).is_ok_and(|before| before >= max)
}

fn span(table: &dyn TableLike, name: &str) -> Option<Range<usize>> {
    let (key, item) = table.get_key_value(name)?;
    key.span().or_else(|| item.span())
}

/// Converts a TOML value to JSON. No setting is a date or a table.
fn plain(item: &Item) -> Option<Value> {
    plain_value(item.as_value()?)
}

fn plain_value(value: &toml_edit::Value) -> Option<Value> {
    match value {
        toml_edit::Value::String(text) => Some(json!(text.value())),
        toml_edit::Value::Integer(number) => Some(json!(number.value())),
        toml_edit::Value::Float(number) => Some(Value::from(*number.value())),
        toml_edit::Value::Boolean(truth) => Some(json!(truth.value())),
        toml_edit::Value::Array(list) => list
            .iter()
            .map(plain_value)
            .collect::<Option<Vec<_>>>()
            .map(Value::Array),
        toml_edit::Value::Datetime(_) | toml_edit::Value::InlineTable(_) => None,
    }
}

/// Converts a JSON value to TOML.
fn toml_value(value: &Value) -> toml_edit::Value {
    match value {
        Value::Bool(truth) => (*truth).into(),
        Value::Array(list) => list.iter().map(toml_value).collect::<toml_edit::Array>().into(),
        Value::Null | Value::Number(_) | Value::String(_) | Value::Object(_) => {
            match (value.as_i64(), value.as_f64()) {
                (Some(integer), _) => integer.into(),
                (None, Some(number)) => number.into(),
                (None, None) => value.as_str().unwrap_or_default().into(),
            }
        }
    }
}

/// The text that errors refer to.
struct Lines<'a> {
    path: &'a Path,
    text: &'a str,
}

impl Lines<'_> {
    fn number(&self, span: Option<Range<usize>>) -> Option<usize> {
        let before = self.text.get(..span?.start)?;
        Some(before.matches('\n').count() + 1)
    }

    fn invalid(&self, span: Option<Range<usize>>, message: &str, hint: &str) -> Failure {
        self.located("config_invalid", span, message)
            .with_hint(hint.to_owned())
    }

    fn located(&self, code: &'static str, span: Option<Range<usize>>, message: &str) -> Failure {
        let line = self
            .number(span)
            .map(|line| format!(", line {line}"))
            .unwrap_or_default();
        let message = format!("{}{line}: {message}", self.path.display());
        Failure::usage(code, message, "")
    }
}

/// The text after one edit; comments, order and everything else are preserved.
pub(super) fn edited(path: &Path, text: &str, edit: &ConfigEdit) -> Result<String, Failure> {
    let lines = Lines { path, text };
    let parsed = text.parse::<DocumentMut>();
    let mut document = parsed.map_err(|error| {
        let hint = "correct the line first; an invalid file is not edited";
        lines.invalid(error.span(), &error.message().replace('\n', ", "), hint)
    })?;
    // If the text consists only of comments, they would otherwise end up after the added setting.
    let comments = if document.is_empty() { text } else { "" };
    if document.is_empty() {
        document = DocumentMut::new();
    }
    match edit {
        ConfigEdit::Set { key, text } => {
            let setting = Setting::known(key)?;
            let value = setting.typed(text)?;
            set(&lines, &mut document, &setting.path, &value)?;
        }
        ConfigEdit::SetList { key, value } => {
            let setting = Setting::known(key)?;
            set(&lines, &mut document, &setting.path, &setting.list(value)?)?;
        }
        ConfigEdit::NewProvider(name) => {
            let providers = document.get("providers").and_then(Item::as_table_like);
            if providers.is_some_and(|table| table.contains_key(name)) {
                return Err(provider_exists(name));
            }
        }
        ConfigEdit::Unset(name) => {
            let path = Setting::find(name).map(|setting| setting.path);
            let path = path.unwrap_or_else(|| name.splitn(2, '.').map(str::to_owned).collect());
            match path.as_slice() {
                // The section keeps its header and the comments there.
                [section, name] => {
                    let table = document.get_mut(section).and_then(Item::as_table_like_mut);
                    table.and_then(|table| table.remove(name));
                }
                path => remove(document.as_table_mut(), path),
            }
        }
    }
    Ok(format!("{comments}{document}"))
}

/// The failure for a provider that exists already. Its address is changed only on the command line.
pub(crate) fn provider_exists(name: &str) -> Failure {
    let message = format!("provider: there is a provider {name} already");
    let hint =
        format!("use another name; `wakeful config set providers.{name}.base_url` changes its address");
    Failure::usage("provider_exists", message, hint)
}

/// Removes a value, and named sections that become empty.
fn remove(table: &mut dyn TableLike, path: &[String]) {
    match path {
        [] => {}
        [last] => drop(table.remove(last)),
        [first, rest @ ..] => {
            let Some(inner) = table.get_mut(first).and_then(Item::as_table_like_mut) else {
                return;
            };
            remove(inner, rest);
            if inner.is_empty() {
                table.remove(first);
            }
        }
    }
}

fn set(lines: &Lines<'_>, document: &mut DocumentMut, path: &[String], value: &Value) -> Result<(), Failure> {
    let Some((name, sections)) = path.split_last() else {
        return Ok(());
    };
    let mut table: &mut dyn TableLike = document.as_table_mut();
    for (depth, section) in sections.iter().enumerate() {
        let fresh = || {
            let mut made = toml_edit::Table::new();
            // The outer table of `[providers.x]` needs no header of its own.
            made.set_implicit(depth + 1 < sections.len());
            Item::Table(made)
        };
        table = table
            .entry(section)
            .or_insert_with(fresh)
            .as_table_like_mut()
            .ok_or_else(|| {
                let message = format!("{section} is a section, not a value");
                let hint = format!("`wakeful config set {section} --unset` removes it");
                lines.invalid(None, &message, &hint)
            })?;
    }
    // 5 and 5.0 are the same amount; the spelling in the file is kept.
    let same = |old: Value| old == *value || (old.is_number() && old.as_f64() == value.as_f64());
    if table.get(name).and_then(plain).is_some_and(same) {
        return Ok(());
    }
    let value = toml_value(value);
    match table.get_mut(name).and_then(Item::as_value_mut) {
        // The comment after a value belongs to its line and is kept.
        Some(old) => {
            let decor = old.decor().clone();
            *old = value;
            *old.decor_mut() = decor;
        }
        None => drop(table.insert(name, Item::Value(value))),
    }
    Ok(())
}
