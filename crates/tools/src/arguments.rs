//! The arguments of `ExecCommand`: their types, the schema sent to the model, and the errors for invalid
//! ones.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use wakeful_core::conversation::ToolSpec;
use wakeful_core::failure::truncate_chars;
use wakeful_core::network_scope::Host;
use wakeful_core::secret::{COMMAND_SECRETS_MAX, check_name};
use wakeful_core::step::ToolError;

use crate::schema;

pub(crate) const TOOL: &str = "ExecCommand";

/// Longest command. The kernel accepts no argument above 128 KiB, including its terminating zero byte.
pub(crate) const CMD_BYTES_MAX: usize = 128 * 1024 - 1;

/// Longest working folder: `PATH_MAX` of the kernel.
const WORKDIR_BYTES_MAX: usize = 4096;

/// Default and maximum time that a command may run.
pub(crate) const TIMEOUT_DEFAULT_MS: u64 = 120_000;
pub(crate) const TIMEOUT_MAX_MS: u64 = 3_600_000;

/// The time until a command that exceeded its limit is gone.
const STOP_MS_MAX: u64 = 5_000;

/// Most hosts that a command may ask for: a person reads all of them.
const HOSTS_MAX: usize = 8;

/// The port of a host without one.
const PORT_DEFAULT: u16 = 443;

const DESCRIPTION: &str = "Run a shell command (/bin/sh -c) in the workspace and wait for it to end. \
Each call is a new shell: use workdir rather than cd, and join steps with &&. \
Only the workspace and $TMPDIR can be written, and there is no standard input. Hosts are reached through a proxy \
(see http_proxy) if a person allowed them; localhost is private to the command. \
Background processes end with it. A non-zero exit_status is an ordinary result. \
Long output is cut in the middle; prefer commands that print little (rg, sed -n, head).";

#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    /// The command line.
    #[schemars(length(min = 1, max = 131_071))]
    pub(crate) cmd: String,
    /// Folder to run in, relative to the workspace. Default: the workspace itself.
    #[serde(default)]
    pub(crate) workdir: Option<String>,
    /// Milliseconds until the command is stopped. Default 120000.
    #[serde(default)]
    #[schemars(range(min = 1, max = 3_600_000))]
    pub(crate) timeout_ms: Option<u64>,
    /// Rough size of the output to return, in tokens. Default 8000.
    #[serde(default)]
    #[schemars(range(min = 1))]
    pub(crate) max_output_tokens: Option<u32>,
    /// Names of secrets that the command receives as environment variables, if a person allowed them.
    #[serde(default)]
    #[schemars(length(max = 16))]
    pub(crate) secrets: Option<BTreeSet<String>>,
    /// Hosts that the command needs beyond the allowed ones, as HOST or HOST:PORT (default 443). A person is asked.
    #[serde(default)]
    #[schemars(length(max = 8))]
    pub(crate) hosts: Option<BTreeSet<String>>,
}

impl Arguments {
    /// Parses and validates arguments of any shape.
    pub(crate) fn parse(input: &Value) -> Result<Self, ToolError> {
        let arguments: Self = schema::read(input, HINT)?;
        arguments.check_bounds()?;
        Ok(arguments)
    }

    fn check_bounds(&self) -> Result<(), ToolError> {
        let cmd = |message: &str| Err(invalid(Some("cmd"), message));
        if self.cmd.trim().is_empty() {
            return cmd("cmd is empty");
        }
        if self.cmd.len() > CMD_BYTES_MAX {
            let fault = invalid(
                Some("cmd"),
                &format!("cmd has {} bytes; the limit is {CMD_BYTES_MAX}", self.cmd.len()),
            );
            return Err(ToolError {
                hint: Some("write a script to a file in the workspace and run that".into()),
                ..fault
            });
        }
        if self.cmd.contains('\0') {
            return cmd("cmd contains a NUL character");
        }
        if let Some(workdir) = &self.workdir
            && (workdir.len() > WORKDIR_BYTES_MAX || workdir.contains('\0'))
        {
            return Err(invalid(Some("workdir"), "workdir is not a valid path"));
        }
        if !self
            .timeout_ms
            .is_none_or(|ms| (1..=TIMEOUT_MAX_MS).contains(&ms))
        {
            return Err(invalid(
                Some("timeout_ms"),
                &format!("timeout_ms must be between 1 and {TIMEOUT_MAX_MS}"),
            ));
        }
        if self.max_output_tokens == Some(0) {
            return Err(invalid(
                Some("max_output_tokens"),
                "max_output_tokens must be at least 1",
            ));
        }
        if self
            .secrets
            .as_ref()
            .is_some_and(|secrets| secrets.len() > COMMAND_SECRETS_MAX)
        {
            let message = format!("secrets has more than {COMMAND_SECRETS_MAX} names");
            return Err(invalid(Some("secrets"), &message));
        }
        if let Some(problem) = self
            .secrets
            .iter()
            .flatten()
            .find_map(|name| check_name(name).err())
        {
            return Err(invalid(Some("secrets"), &problem.message));
        }
        self.check_hosts()
    }

    fn check_hosts(&self) -> Result<(), ToolError> {
        let mut hosts = self.hosts.iter().flatten();
        if hosts.clone().count() > HOSTS_MAX {
            return Err(invalid(
                Some("hosts"),
                &format!("hosts has more than {HOSTS_MAX} entries"),
            ));
        }
        match hosts.find_map(|host| Some((host, Host::parse_with_port(host).err()?))) {
            Some((host, error)) => {
                let message = format!("hosts: {:?} cannot be read: {error}", truncate_chars(host, 80));
                Err(invalid(Some("hosts"), &message))
            }
            None => Ok(()),
        }
    }

    /// The hosts that the command asks for, each with its port.
    pub(crate) fn hosts(&self) -> Vec<(Host, u16)> {
        let hosts = self.hosts.iter().flatten();
        let read = hosts.filter_map(|host| Host::parse_with_port(host).ok());
        read.map(|(host, port)| (host, port.unwrap_or(PORT_DEFAULT)))
            .collect()
    }

    pub(crate) fn timeout_ms(&self) -> u64 {
        self.timeout_ms.unwrap_or(TIMEOUT_DEFAULT_MS)
    }
}

/// The longest that a command with these arguments takes.
pub(crate) fn longest_ms(input: &Value) -> u64 {
    let limit_ms = input.get("timeout_ms").and_then(Value::as_u64);
    limit_ms.unwrap_or(TIMEOUT_DEFAULT_MS).saturating_add(STOP_MS_MAX)
}

/// The tool's description and schema for the model.
pub(crate) fn spec() -> ToolSpec {
    schema::spec::<Arguments>(TOOL, DESCRIPTION)
}

const HINT: &str =
    "the arguments are cmd, workdir, timeout_ms, max_output_tokens, secrets and hosts; only cmd is required";

fn invalid(field: Option<&str>, message: &str) -> ToolError {
    schema::invalid(field, message, HINT)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn fault(input: &Value) -> ToolError {
        Arguments::parse(input).expect_err("a fault")
    }

    #[test]
    fn a_command_takes_at_most_its_time_limit_and_the_time_to_stop_it() {
        assert_eq!(
            longest_ms(&json!({"cmd": "ls"})),
            TIMEOUT_DEFAULT_MS + STOP_MS_MAX
        );
        assert_eq!(
            longest_ms(&json!({"cmd": "ls", "timeout_ms": 7})),
            7 + STOP_MS_MAX
        );
    }

    #[test]
    fn a_command_alone_gets_the_defaults() {
        let arguments = Arguments::parse(&json!({"cmd": "ls"})).expect("arguments");
        assert_eq!(
            (arguments.timeout_ms(), arguments.max_output_tokens),
            (120_000, None)
        );
        let all = json!({"cmd": "ls", "workdir": null, "timeout_ms": 5, "max_output_tokens": 1_000_000});
        let arguments = Arguments::parse(&all).expect("arguments");
        assert_eq!(
            (arguments.timeout_ms(), arguments.max_output_tokens),
            (5, Some(1_000_000))
        );
    }

    #[test]
    fn an_error_names_the_field() {
        let cases = [
            (json!({"cmd": 3}), "cmd"),
            (json!({"cmd": ""}), "cmd"),
            (json!({"cmd": " \n"}), "cmd"),
            (json!({"cmd": "a\0b"}), "cmd"),
            (json!({"cmd": "x".repeat(CMD_BYTES_MAX + 1)}), "cmd"),
            (json!({}), "cmd"),
            (json!({"command": "ls", "cmd": "ls"}), "command"),
            (json!({"cmd": "ls", "workdir": ["a"]}), "workdir"),
            (json!({"cmd": "ls", "workdir": "a\0"}), "workdir"),
            (json!({"cmd": "ls", "timeout_ms": "5"}), "timeout_ms"),
            (json!({"cmd": "ls", "timeout_ms": -1}), "timeout_ms"),
            (json!({"cmd": "ls", "timeout_ms": 0}), "timeout_ms"),
            (json!({"cmd": "ls", "timeout_ms": 3_600_001}), "timeout_ms"),
            (json!({"cmd": "ls", "max_output_tokens": 0}), "max_output_tokens"),
            (json!({"cmd": "ls", "hosts": ["a b"]}), "hosts"),
            (json!({"cmd": "ls", "hosts": [""]}), "hosts"),
            (json!({"cmd": "ls", "hosts": ["a.example:0"]}), "hosts"),
            (
                json!({"cmd": "ls", "hosts": (0..9).map(|n| format!("h{n}.example")).collect::<Vec<_>>()}),
                "hosts",
            ),
        ];
        for (input, field) in cases {
            let fault = fault(&input);
            assert_eq!(fault.kind, "invalid_arguments");
            assert_eq!(fault.field.as_deref(), Some(field), "{}", fault.message);
            assert!(fault.hint.is_some() && !fault.retryable);
        }
    }

    #[test]
    fn arguments_that_are_not_an_object_are_an_error_without_a_field() {
        for input in [
            json!("ls"),
            json!(null),
            json!([1]),
            json!(["ls", null, null, null]),
        ] {
            assert_eq!(fault(&input).field, None, "{input}");
        }
    }

    #[test]
    fn the_longest_command_is_accepted() {
        assert!(Arguments::parse(&json!({"cmd": "x".repeat(CMD_BYTES_MAX)})).is_ok());
    }

    // Conformance: H-034
    #[test]
    fn the_schema_is_strict_and_compact() {
        let expected = json!({
            "type": "object",
            "additionalProperties": false,
            "required": ["cmd"],
            "properties": {
                "cmd": {"type": "string", "minLength": 1, "maxLength": 131_071, "description": "The command line."},
                "workdir": {
                    "type": "string",
                    "description": "Folder to run in, relative to the workspace. Default: the workspace itself.",
                },
                "timeout_ms": {
                    "type": "integer", "minimum": 1, "maximum": 3_600_000,
                    "description": "Milliseconds until the command is stopped. Default 120000.",
                },
                "max_output_tokens": {
                    "type": "integer", "minimum": 1,
                    "description": "Rough size of the output to return, in tokens. Default 8000.",
                },
                "secrets": {
                    "type": "array", "maxItems": 16, "uniqueItems": true, "items": {"type": "string"},
                    "description":
                        "Names of secrets that the command receives as environment variables, if a person allowed them.",
                },
                "hosts": {
                    "type": "array", "maxItems": 8, "uniqueItems": true, "items": {"type": "string"},
                    "description":
                        "Hosts that the command needs beyond the allowed ones, as HOST or HOST:PORT (default 443). \
                         A person is asked.",
                },
            },
        });
        assert_eq!(spec().input_schema, expected);
        assert!(spec().description.len() < 700);
    }
}
