//! `wakeful policy test`: a file of expected verdicts.

use std::path::Path;

use serde::Deserialize;
use serde_json::{Value, json};
use wakeful_api::{ExplainCall, Text};
use wakeful_core::id::AgentId;
use wakeful_core::policy::PolicyEffect;

use crate::backend::read;
use crate::failure::{FAILED, Failure};
use crate::global_args::GlobalArgs;
use crate::show::Out;

/// Maximum size of a test file.
const TEST_BYTES_MAX: usize = 1024 * 1024;

/// One expected verdict.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    agent: String,
    tool: String,
    #[serde(default)]
    input: Value,
    expect: PolicyEffect,
    /// The rule that must decide; any if it is absent.
    #[serde(default)]
    rule: Option<String>,
    #[serde(default)]
    read_only: bool,
}

pub(super) async fn test(file: &Path, shared: &GlobalArgs, out: &Out) -> Result<u8, Failure> {
    let cases = cases(file)?;
    let total = cases.len();
    let checked = read(shared, async |backend| {
        let mut failed = Vec::new();
        for (index, case) in cases.into_iter().enumerate() {
            let asked = ExplainCall {
                agent_id: Text(AgentId::parse(&case.agent)?),
                tool: case.tool.clone(),
                input: if case.input.is_null() {
                    json!({})
                } else {
                    case.input
                },
                is_read_only: case.read_only,
            };
            let found = backend.call(asked).await?;
            let is_other_rule = case.rule.as_ref().is_some_and(|rule| *rule != found.rule);
            if found.effect != case.expect || is_other_rule {
                failed.push(json!({
                    "case": index + 1,
                    "tool": case.tool,
                    "expected": case.expect,
                    "expected_rule": case.rule,
                    "found": found.effect,
                    "rule": found.rule,
                }));
            }
        }
        Ok(failed)
    });
    let failed = checked.await?;
    let mut lines: Vec<String> = failed.iter().map(words).collect();
    lines.push(format!(
        "{} of {total} verdicts are as expected",
        total - failed.len()
    ));
    out.answer(&json!({"total": total, "failed": failed}), &lines.join("\n"));
    Ok(if failed.is_empty() { 0 } else { FAILED })
}

fn words(failed: &Value) -> String {
    let text = |name: &str| {
        failed
            .get(name)
            .and_then(Value::as_str)
            .unwrap_or("any")
            .to_owned()
    };
    let number = failed.get("case").and_then(Value::as_u64).unwrap_or_default();
    format!(
        "case {number} ({}): expected {} by {}, found {} by {}",
        text("tool"),
        text("expected"),
        text("expected_rule"),
        text("found"),
        text("rule")
    )
}

fn cases(file: &Path) -> Result<Vec<Case>, Failure> {
    let text = super::files::read_text(file, TEST_BYTES_MAX)?;
    serde_saphyr::from_str(&text).map_err(|error| {
        let message = format!("{}: {error}", file.display());
        let hint = "write a list of cases with agent, tool, input and expect (permit, ask or deny)";
        Failure::usage("bad_test_file", message, hint)
    })
}
