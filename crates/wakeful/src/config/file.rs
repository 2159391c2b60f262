//! `config.toml`: read with the line of everything that is wrong, edited without touching what others wrote
//! there, and replaced in one step.

use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Read as _, Write as _};
use std::ops::Range;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use toml_edit::{Document, DocumentMut, Item, TableLike};
use wakeful_core::failure::clip;

use super::cross::crossed;
use super::key::{Key, typed};
use super::kind::Kind;
use super::layer::{Origin, Read};
use super::named::{Named, Section};
use crate::failure::Failure;
use crate::world::fresh_id;

/// Largest file that is read. Settings are some lines.
const BYTES_MAX: u64 = 1 << 20;

/// Most of a wrong value that is shown.
const SHOWN_CHARS_MAX: usize = 80;

/// What a new file begins with.
const HEADER: &str = "# Settings of this Wakeful home. `wakeful config schema` describes every key.\n\n";

/// One change of the file.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Change {
    /// The setting gets what was typed.
    Set(Key, String),
    /// The same for one whose name a person chose.
    SetNamed(Named, String),
    /// What stands under this name goes, known or not.
    Unset(String),
}

/// What the file says. A file that is not there says nothing.
pub(super) fn layer(path: &Path) -> Result<Read, Failure> {
    Ok(read(path)?.map_or_else(Read::default, |text| parse(path, &text)))
}

/// Changes the file under a lock on its folder, so that of two calls at once neither undoes the other.
pub(super) fn change(home: &Path, path: &Path, changes: &[Change]) -> Result<bool, Failure> {
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
    for one in changes {
        text = edited(path, &text, one)?;
    }
    if before.as_deref().unwrap_or_default() == text {
        return Ok(false);
    }
    if before.is_none() {
        text.insert_str(0, HEADER);
    }
    // What stays must be sound as well: a file that is written is one that can be read.
    if let Some(problem) = parse(path, &text).problems.into_iter().next() {
        return Err(problem);
    }
    replace(path, &text).map_err(|error| unwritable(&error))?;
    Ok(true)
}

fn read(path: &Path) -> Result<Option<String>, Failure> {
    let unreadable = |error: &std::io::Error| {
        let attempt = format!("cannot read {}", path.display());
        Failure::io(
            "config_unreadable",
            &attempt,
            error,
            "make it a readable file of UTF-8 text, or move it aside",
        )
    };
    match fs::metadata(path) {
        Ok(found) if found.is_file() => {}
        // A pipe would keep us waiting, and says nothing twice.
        Ok(_) => return Err(unreadable(&std::io::Error::other("it is no regular file"))),
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
            "it has more than {BYTES_MAX} bytes"
        )))),
    }
}

/// Everything in the text that is a setting, and everything that is not.
pub(super) fn parse(path: &Path, text: &str) -> Read {
    let mut read = Read::default();
    let lines = Lines { path, text };
    let document = match Document::parse(text) {
        Ok(document) => document,
        Err(error) => {
            let message = error.message().replace('\n', ", ");
            let hint = "mend the line; docs/configuration.md has an example";
            read.problems.push(lines.invalid(error.span(), &message, hint));
            return read;
        }
    };
    for (section, item) in document.iter() {
        let is_known =
            Key::ALL.iter().any(|key| key.parts().0 == section) || Section::named(section).is_some();
        match item.as_table_like() {
            Some(table) if is_known || !table.is_empty() => {
                parse_section(&lines, section, table, &mut read);
            }
            // A value where a section should be, or an unknown section with nothing in it.
            Some(_) | None => {
                let span = span(document.as_table(), section);
                read.problems.push(lines.unknown(span, section));
            }
        }
    }
    if read.problems.is_empty() {
        let found = crossed(&read.layer, &read.named);
        let told = found.into_iter().map(|(line, message, hint)| {
            let place = format!("{}, line {line}", path.display());
            Failure::usage("config_invalid", format!("{place}: {message}"), hint)
        });
        read.problems.extend(told);
    }
    read
}

fn parse_section(lines: &Lines<'_>, section: &str, table: &dyn TableLike, read: &mut Read) {
    for (name, item) in table.iter() {
        let (full, span) = (format!("{section}.{name}"), span(table, name));
        if let Some(key) = Key::named(&full) {
            match checked(lines, (&full, key.kind()), item, span) {
                Ok((value, origin)) => drop(read.layer.insert(key, (value, origin))),
                Err(problem) => read.problems.push(problem),
            }
            continue;
        }
        match Section::named(section).map(|known| (known, known.names())) {
            None => read.problems.push(lines.unknown(span, &full)),
            Some((known, None)) => parse_field(lines, (known, "", name), (item, span), read),
            Some((known, Some(names))) => match item.as_table_like() {
                Some(fields) if names.accept(name) && count(read, known, name) < Named::NAMES_MAX => {
                    for (field, inner) in fields.iter() {
                        let span = self::span(fields, field);
                        parse_field(lines, (known, name, field), (inner, span), read);
                    }
                }
                Some(_) | None => {
                    let message = format!("{full} is no section: [{section}.NAME] has {}", names.expected());
                    read.problems
                        .push(lines.invalid(span, &message, "rename or remove it"));
                }
            },
        }
    }
}

/// How many other names a section has.
fn count(read: &Read, section: Section, name: &str) -> usize {
    let mut names: Vec<&str> = read
        .named
        .keys()
        .filter(|named| named.section == section && named.name != name)
        .map(|named| named.name.as_str())
        .collect();
    names.dedup();
    names.len()
}

/// A field of a section; or, for rules of each category, a table of them.
fn parse_field(
    lines: &Lines<'_>,
    (section, name, field): (Section, &str, &str),
    (item, span): (&Item, Option<Range<usize>>),
    read: &mut Read,
) {
    let has_parts = Named::of(section, name, &format!("{field}.conversation")).is_some();
    if let (true, Some(table)) = (has_parts, item.as_table_like()) {
        for (part, inner) in table.iter() {
            let (whole, span) = (format!("{field}.{part}"), self::span(table, part));
            parse_field(lines, (section, name, &whole), (inner, span), read);
        }
        return;
    }
    let Some(named) = Named::of(section, name, field) else {
        let mut place = vec![section.word(), name, field];
        place.retain(|part| !part.is_empty());
        let full = place.join(".");
        let hint = Named::meant(section, field);
        read.problems
            .push(lines.invalid(span, &format!("there is no setting {full}"), &hint));
        return;
    };
    match checked(lines, (&named.name(), named.kind()), item, span) {
        Ok(found) => drop(read.named.insert(named, found)),
        Err(problem) => read.problems.push(problem),
    }
}

/// The value of an item, or what is wrong with it. What may be a key is not repeated.
fn checked(
    lines: &Lines<'_>,
    (full, kind): (&str, Kind),
    item: &Item,
    span: Option<Range<usize>>,
) -> Result<(Value, Origin), Failure> {
    if let Some(value) = plain(item).filter(|value| kind.accepts(value)) {
        let line = lines.number(span).unwrap_or(1);
        return Ok((value, Origin::File { line }));
    }
    let shown = item.to_string();
    let shown = match kind.is_shown() {
        true => format!(": {}", clip(shown.trim(), SHOWN_CHARS_MAX)),
        false => String::new(),
    };
    let message = format!(
        "{full}: expected {}, found {}{shown}",
        kind.expected(),
        item.type_name()
    );
    let hint = format!("`wakeful config set {full} VALUE` replaces it");
    Err(lines.invalid(span, &message, &hint))
}

fn span(table: &dyn TableLike, name: &str) -> Option<Range<usize>> {
    let (key, item) = table.get_key_value(name)?;
    key.span().or_else(|| item.span())
}

/// A value as JSON has it. No setting is a date or a table.
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

/// The same as TOML has it.
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

/// The text that is spoken of.
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
        let line = self
            .number(span)
            .map(|line| format!(", line {line}"))
            .unwrap_or_default();
        let message = format!("{}{line}: {message}", self.path.display());
        Failure::usage("config_invalid", message, hint)
    }

    fn unknown(&self, span: Option<Range<usize>>, name: &str) -> Failure {
        self.invalid(span, &format!("there is no setting {name}"), &Key::meant(name))
    }
}

/// The text after one change; comments, order and everything else stay as they are.
pub(super) fn edited(path: &Path, text: &str, change: &Change) -> Result<String, Failure> {
    let lines = Lines { path, text };
    let parsed = text.parse::<DocumentMut>();
    let mut document = parsed.map_err(|error| {
        let hint = "mend the line first; a file that cannot be understood is not changed";
        lines.invalid(error.span(), &error.message().replace('\n', ", "), hint)
    })?;
    // In a text of comments alone they would come to stand behind what is added.
    let comments = if document.is_empty() { text } else { "" };
    if document.is_empty() {
        document = DocumentMut::new();
    }
    match change {
        Change::Set(key, text) => {
            let (section, name) = key.parts();
            set(&lines, &mut document, &[section, name], &key.typed(text)?)?;
        }
        Change::SetNamed(named, text) => {
            let value = typed(&named.name(), named.kind(), text)?;
            set(&lines, &mut document, &named.path(), &value)?;
        }
        Change::Unset(name) if Named::parse(name).is_some() => {
            let path = Named::parse(name);
            let path = path.as_ref().map(Named::path).unwrap_or_default();
            remove(document.as_table_mut(), &path);
        }
        Change::Unset(name) => {
            let (section, rest) = name.split_once('.').unwrap_or((name, ""));
            if rest.is_empty() {
                document.remove(section);
            } else if let Some(table) = document.get_mut(section).and_then(Item::as_table_like_mut) {
                table.remove(rest);
            }
        }
    }
    Ok(format!("{comments}{document}"))
}

/// Removes a value, and the sections that are empty without it.
fn remove(table: &mut dyn TableLike, path: &[&str]) {
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

fn set(lines: &Lines<'_>, document: &mut DocumentMut, path: &[&str], value: &Value) -> Result<(), Failure> {
    let Some((name, sections)) = path.split_last() else {
        return Ok(());
    };
    let mut table: &mut dyn TableLike = document.as_table_mut();
    for (depth, section) in sections.iter().enumerate() {
        let fresh = || {
            let mut made = toml_edit::Table::new();
            // Of `[providers.x]` the outer part has no line of its own.
            made.set_implicit(depth + 1 < sections.len());
            Item::Table(made)
        };
        table = table
            .entry(section)
            .or_insert_with(fresh)
            .as_table_like_mut()
            .ok_or_else(|| {
                let message = format!("{section} is a section and not a value");
                let hint = format!("`wakeful config set {section} --unset` removes it");
                lines.invalid(None, &message, &hint)
            })?;
    }
    // 5 and 5.0 are one amount, and a person may prefer the one that stands there.
    let same = |old: Value| old == *value || (old.is_number() && old.as_f64() == value.as_f64());
    if table.get(name).and_then(plain).is_some_and(same) {
        return Ok(());
    }
    let value = toml_value(value);
    match table.get_mut(name).and_then(Item::as_value_mut) {
        // The comment behind a value belongs to its line.
        Some(old) => {
            let decor = old.decor().clone();
            *old = value;
            *old.decor_mut() = decor;
        }
        None => drop(table.insert(name, Item::Value(value))),
    }
    Ok(())
}

/// Puts a whole new file in the place of the old one: whoever reads, and whatever crashes, meets one of the two.
/// A link stays a link.
fn replace(path: &Path, text: &str) -> std::io::Result<()> {
    let target = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let folder: PathBuf = target.parent().map_or_else(PathBuf::new, Path::to_owned);
    let passing = folder.join(format!(".config-{}.toml", fresh_id()));
    let written = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&passing)
        .and_then(|mut file| {
            file.write_all(text.as_bytes())?;
            file.sync_all()
        })
        .and_then(|()| fs::rename(&passing, &target));
    if let Err(error) = written {
        // It may not have been made at all.
        let _ = fs::remove_file(&passing);
        return Err(error);
    }
    File::open(folder)?.sync_all()
}
