//! Guardrails on the command line: read from a file, and shown with the settings of an agent.

use std::path::Path;

use wakeful_core::agent_settings::Change;
use wakeful_core::guardrail::{GuardrailPolicy, GuardrailSpec};

use super::policy::read_text;
use super::run::read_prompt;
use crate::failure::Failure;

/// Maximum size of a file of guardrails: all of them with the longest texts.
const FILE_BYTES_MAX: usize = 1024 * 1024;

/// What the file contains, for an error.
const EXAMPLE: &str =
    r#"write {"tool_guardrails": [{"name": "NAME", "action": "block", "phrases": ["TEXT"]}]}"#;

pub(super) fn change(file: Option<&Path>) -> Result<Change<GuardrailPolicy>, Failure> {
    let text = match file {
        None => return Ok(Change::Keep),
        Some(word) if word == Path::new("none") => return Ok(Change::Reset),
        Some(stdin) if stdin == Path::new("-") => read_prompt("-")?,
        Some(file) => read_text(file, FILE_BYTES_MAX)?,
    };
    let policy: GuardrailPolicy = serde_json::from_str(&text).map_err(|error| {
        let message = format!("--guardrails: {error}");
        Failure::usage("bad_setting", message, EXAMPLE)
    })?;
    Ok(Change::Set(policy))
}

/// The guardrails for people, if there are any.
pub(super) fn lines(policy: &GuardrailPolicy) -> Vec<(&'static str, String)> {
    let named = |specs: &[GuardrailSpec]| {
        let named: Vec<String> = specs
            .iter()
            .map(|spec| format!("{} ({})", spec.name, spec.action))
            .collect();
        named.join(", ")
    };
    let places = [
        ("input guards", &policy.input_guardrails),
        ("output guards", &policy.output_guardrails),
        ("tool guards", &policy.tool_guardrails),
    ];
    let places = places.into_iter().filter(|(_, specs)| !specs.is_empty());
    places.map(|(name, specs)| (name, named(specs))).collect()
}
