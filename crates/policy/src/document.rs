//! Policy files: Cedar text whose policies are checked one by one when it is read.

use std::collections::BTreeSet;

use cedar_policy::{Effect, PolicyId, PolicySet, Schema, ValidationMode, Validator};
use miette::Diagnostic;

use crate::names::EntityNames;
use crate::schema::schema_text;

/// Maximum size of a policy file: a thousand policies of usual length.
pub const FILE_BYTES_MAX: usize = 256 * 1024;

/// Maximum number of policies of one folder. Each is evaluated for the calls that it applies to.
pub const POLICIES_MAX: usize = 1_000;

/// Maximum length of an annotation, and of a policy's own name.
const ANNOTATION_CHARS_MAX: usize = 200;

/// The annotations that policies may have. An unknown one may be a misspelled `@ask`, which would turn a
/// question into a permission.
const ANNOTATIONS: [&str; 3] = ["ask", "description", "id"];

/// Why a policy file is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{file}, line {line}: {message}")]
pub struct PolicyProblem {
    /// The file, relative to the home if it is in it.
    pub file: String,
    pub line: usize,
    pub message: String,
}

/// Whether a policy permits or forbids.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PolicyKind {
    Permit,
    Forbid,
}

/// One policy that a person wrote.
#[derive(Debug, Clone)]
pub struct WrittenPolicy {
    /// Its name in verdicts: the file and its `@id`, or its number, such as `main.cedar#2`.
    pub name: String,
    /// The line on which it begins.
    pub line: usize,
    /// Its text.
    pub text: String,
    pub kind: PolicyKind,
    /// The reason of `@ask`.
    pub ask: Option<String>,
    pub(crate) policy: cedar_policy::Policy,
}

/// Parses and checks policy files for a set of tools.
#[derive(Debug)]
pub struct PolicyParser {
    validator: Validator,
}

impl PolicyParser {
    /// A parser that knows these tools.
    pub fn new(tools: &BTreeSet<String>) -> Result<Self, PolicyProblem> {
        let names = EntityNames::new().map_err(|e| internal(&e.to_string()))?;
        let text = schema_text(&names, tools);
        let (schema, _warnings) =
            Schema::from_cedarschema_str(&text).map_err(|e| internal(&e.to_string()))?;
        Ok(Self {
            validator: Validator::new(schema),
        })
    }

    /// Reads the policies of a file. `prefix` is the file's part of their names.
    pub fn parse(&self, prefix: &str, text: &str) -> Result<Vec<WrittenPolicy>, PolicyProblem> {
        let source = Source { file: prefix, text };
        if text.len() > FILE_BYTES_MAX {
            let message = format!("has {} bytes, at most {FILE_BYTES_MAX} are allowed", text.len());
            return Err(source.problem(0, &message));
        }
        crate::bounds::check(text).map_err(|excess| source.problem(excess.offset, &excess.message))?;
        let set: PolicySet = text.parse().map_err(|errors: cedar_policy::ParseErrors| {
            errors.iter().next().map_or_else(
                || source.problem(0, "is not valid Cedar"),
                |error| source.diagnosed(error, None),
            )
        })?;
        if let Some(template) = set.templates().next() {
            let at = template.to_cedar();
            let at = text.find(at.as_str()).unwrap_or_default();
            return Err(source.problem(at, "templates (`?principal`, `?resource`) are not supported"));
        }
        let policies = source.policies(&set)?;
        let checked = self.validator.validate(&set, ValidationMode::Strict);
        if let Some(error) = checked.validation_errors().next() {
            let index: Option<usize> = AsRef::<str>::as_ref(error.policy_id())
                .strip_prefix("policy")
                .and_then(|number| number.parse().ok());
            let line = index
                .and_then(|index| policies.get(index))
                .map(|policy| policy.line);
            return Err(source.diagnosed(error, line));
        }
        Ok(policies)
    }
}

struct Source<'a> {
    file: &'a str,
    text: &'a str,
}

impl Source<'_> {
    fn line(&self, offset: usize) -> usize {
        let before = self.text.as_bytes().iter().take(offset);
        before.filter(|byte| **byte == b'\n').count() + 1
    }

    fn problem(&self, offset: usize, message: &str) -> PolicyProblem {
        PolicyProblem {
            file: self.file.to_owned(),
            line: self.line(offset),
            message: message.to_owned(),
        }
    }

    fn diagnosed(&self, error: &dyn Diagnostic, line: Option<usize>) -> PolicyProblem {
        let label = error.labels().and_then(|mut labels| labels.next());
        let line = label.map(|label| self.line(label.offset())).or(line);
        // Messages name policies by the number that Cedar gave them; the line says which one it is.
        let message = error.to_string();
        let message = message
            .split_once("`, ")
            .filter(|(start, _)| start.starts_with("for policy `"));
        let mut message = message.map_or_else(|| error.to_string(), |(_, rest)| rest.to_owned());
        if let Some(help) = error.help() {
            message = format!("{message} ({help})");
        }
        PolicyProblem {
            file: self.file.to_owned(),
            line: line.unwrap_or(1),
            message,
        }
    }

    /// The policies in the order of the file. Cedar numbers them in this order.
    fn policies(&self, set: &PolicySet) -> Result<Vec<WrittenPolicy>, PolicyProblem> {
        let (mut policies, mut cursor, mut used) = (Vec::new(), 0, BTreeSet::new());
        for index in 0..set.num_of_policies() {
            let Some(policy) = set.policy(&PolicyId::new(format!("policy{index}"))) else {
                return Err(self.problem(cursor, "cannot be divided into policies"));
            };
            let text = policy.to_cedar().unwrap_or_default();
            let rest = self.text.get(cursor..).unwrap_or_default();
            let at = cursor + rest.find(text.as_str()).unwrap_or_default();
            cursor = at + text.len();
            let line = self.line(at);
            let problem = |message: String| PolicyProblem {
                file: self.file.to_owned(),
                line,
                message,
            };
            if index >= POLICIES_MAX {
                return Err(problem(format!(
                    "has more than {POLICIES_MAX} policies; remove some"
                )));
            }
            for (name, value) in policy.annotations() {
                if !ANNOTATIONS.contains(&name) {
                    let known = ANNOTATIONS.map(|known| format!("@{known}")).join(", ");
                    return Err(problem(format!("unknown annotation @{name}; known: {known}")));
                }
                if value.chars().count() > ANNOTATION_CHARS_MAX || value.chars().any(char::is_control) {
                    let most =
                        format!("has more than {ANNOTATION_CHARS_MAX} characters, or a control character");
                    return Err(problem(format!("the text of @{name} {most}")));
                }
            }
            let own = match policy.annotation("id") {
                Some(id) if !is_name(id) => {
                    return Err(problem(format!(
                        "@id({id:?}) may only contain letters, digits, - and _"
                    )));
                }
                Some(id) => id.to_owned(),
                None => (index + 1).to_string(),
            };
            if !used.insert(own.clone()) {
                return Err(problem(format!("there is another policy with the name {own}")));
            }
            policies.push(WrittenPolicy {
                name: format!("{}#{own}", self.file),
                line,
                text,
                kind: match policy.effect() {
                    Effect::Permit => PolicyKind::Permit,
                    Effect::Forbid => PolicyKind::Forbid,
                },
                ask: policy.annotation("ask").map(str::to_owned),
                policy: policy.clone(),
            });
        }
        Ok(policies)
    }
}

fn is_name(id: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    !id.is_empty() && id.chars().all(is_part)
}

/// An error in the text that this crate generates.
fn internal(message: &str) -> PolicyProblem {
    PolicyProblem {
        file: "the built-in schema".to_owned(),
        line: 1,
        message: message.to_owned(),
    }
}
