//! The Cedar schema against which policies are checked, so that a wrong attribute or tool is an error when
//! the file is read and not a policy that never matches.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use crate::names::EntityNames;

/// The types of the schema. The actions follow, one per tool.
const TYPES: &str = "\
entity Agent;
entity Call;
entity Path = { path: String, access: String, scope: String };
entity Host = { host: String, port: Long, scope: String };
entity Secret = { name: String };
type Command = { text: String, program: String, is_simple: Bool };
type CallContext = {
    tool: String,
    class: String,
    risk: String,
    wake_reason: String,
    mode: String,
    sandbox_level: Long,
    is_registered: Bool,
    is_read_only: Bool,
    has_untrusted_data: Bool,
    command?: Command
};
";

/// The schema for these tools, as Cedar text.
pub(crate) fn schema_text(names: &EntityNames, tools: &BTreeSet<String>) -> String {
    let mut text = TYPES.to_owned();
    for tool in tools {
        let _infallible = writeln!(
            text,
            "action {} appliesTo {{ principal: [Agent], resource: [Call, Path, Host, Agent, Secret], context: CallContext }};",
            names.quoted(tool)
        );
    }
    text
}
