//! Secrets of the person that commands may receive. A secret is known by its name everywhere; its value
//! exists only where the person stored it and in the process that received it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::problem::Problem;

/// Maximum length of a name: it is the name of an environment variable.
pub const SECRET_NAME_CHARS_MAX: usize = 64;

/// Shortest value. A shorter one would be removed from ordinary text, and could be guessed.
pub const SECRET_BYTES_MIN: usize = 8;

/// Longest value, as for keys of providers: enough for a private key.
pub const SECRET_BYTES_MAX: usize = 8 * 1024;

/// Maximum number of secrets of one command.
pub const COMMAND_SECRETS_MAX: usize = 16;

/// Longest value that is refused if it looks like an ordinary word.
const WORD_BYTES_MAX: usize = 20;

/// Variables that change which programs run or where they connect. A secret must not have one of these names.
const RESERVED: [&str; 16] = [
    "PATH",
    "HOME",
    "SHELL",
    "USER",
    "LOGNAME",
    "TMPDIR",
    "PWD",
    "IFS",
    "ENV",
    "BASH_ENV",
    "TERM",
    "PAGER",
    "LANG",
    "TZ",
    "PROMPT_COMMAND",
    "PYTHONSTARTUP",
];
const RESERVED_PREFIXES: [&str; 7] = ["LD_", "GIT_", "LC_", "WAKEFUL_", "BASH_FUNC_", "DYLD_", "NODE_"];
const RESERVED_SUFFIX: &str = "_PROXY";

/// The name of a secret.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct SecretName(String);

impl SecretName {
    /// Parses a name. Whether programs obey it as a variable is checked by [`check_name`].
    pub fn parse(text: &str) -> Result<Self, Problem> {
        check_form(text).map(|()| Self(text.to_owned()))
    }

    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Display for SecretName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

string_enum! {
    /// Who may use a secret.
    pub enum SecretRefScope {
        /// One agent.
        Agent = "agent",
        /// All agents of a project.
        Project = "project",
    }
}

/// A reference to a secret. It has no place for a value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SecretRef {
    /// The name under which a command receives it.
    pub name: String,
    /// Where the value is stored: `env:NAME`, `file:/PATH` or `keyring:SERVICE/ACCOUNT`.
    pub vault_key: String,
    pub scope: SecretRefScope,
}

fn bad_name(message: String, hint: &str) -> Result<(), Problem> {
    Err(Problem::new("bad_secret_name", message, hint))
}

fn check_form(name: &str) -> Result<(), Problem> {
    let first = name.bytes().next().unwrap_or(b'0');
    let is_letter = |byte: u8| byte.is_ascii_uppercase() || byte == b'_';
    let is_name = is_letter(first)
        && name.len() <= SECRET_NAME_CHARS_MAX
        && name.bytes().all(|byte| is_letter(byte) || byte.is_ascii_digit());
    if !is_name {
        let shown: String = name.escape_default().take(SECRET_NAME_CHARS_MAX).collect();
        let message = format!("\"{shown}\" is not a name of a secret");
        let hint = "use upper-case letters, digits and underscores, such as DEPLOY_TOKEN; at most 64";
        return bad_name(message, hint);
    }
    Ok(())
}

/// Checks that a name has the form of one, and that no program obeys it.
pub fn check_name(name: &str) -> Result<(), Problem> {
    check_form(name)?;
    let is_reserved = RESERVED.contains(&name)
        || RESERVED_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
        || name.ends_with(RESERVED_SUFFIX);
    if is_reserved {
        let message = format!("{name} is a variable that programs obey");
        return bad_name(message, "choose another name, such as DEPLOY_TOKEN");
    }
    Ok(())
}

/// Checks the value of a secret. The error does not repeat it.
pub fn check_value(value: &str) -> Result<(), Problem> {
    let bad = |message: String, hint: &str| Err(Problem::new("bad_secret", message, hint));
    let value = value.trim();
    if value.len() < SECRET_BYTES_MIN || value.len() > SECRET_BYTES_MAX {
        let message = format!("a secret has {SECRET_BYTES_MIN} to {SECRET_BYTES_MAX} bytes");
        return bad(message, "check what was pasted; nothing was stored");
    }
    if value.contains('\0') {
        let message = "the secret contains a NUL character".to_owned();
        return bad(message, "an environment variable cannot have one; remove it");
    }
    let is_word = value.len() <= WORD_BYTES_MAX && value.bytes().all(|byte| byte.is_ascii_alphabetic());
    let is_number = value.bytes().all(|byte| byte.is_ascii_digit()) && value.len() < 12;
    if is_word && (value.to_ascii_lowercase() == value || value.to_ascii_uppercase() == value) || is_number {
        let message =
            "the secret looks like an ordinary word or number, which would be removed from every text"
                .to_owned();
        return bad(message, "use a generated key; nothing was stored");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_names_that_no_program_obeys_are_accepted() {
        for name in ["DEPLOY_TOKEN", "A", "_X9", "NPM_TOKEN"] {
            assert_eq!(check_name(name), Ok(()), "{name}");
        }
        let long = "A".repeat(SECRET_NAME_CHARS_MAX + 1);
        for name in [
            "",
            "token",
            "1A",
            "A-B",
            "A B",
            "A=B",
            "Ä",
            "PATH",
            "LD_PRELOAD",
            "HTTPS_PROXY",
            "GIT_SSH_COMMAND",
            "A\n",
            "NODE_OPTIONS",
            &long,
        ] {
            assert_eq!(
                check_name(name).map_err(|problem| problem.code),
                Err("bad_secret_name".into()),
                "{name:?}"
            );
        }
    }

    #[test]
    fn a_value_that_ordinary_text_contains_is_refused() {
        for value in [
            "hunter2-hunter2",
            "correct horse battery",
            "0123456789abcdef",
            "line one\nline two",
        ] {
            assert_eq!(check_value(value), Ok(()), "{value}");
        }
        let long = "x1".repeat(SECRET_BYTES_MAX);
        for value in [
            "short",
            "",
            "password",
            "PASSWORD",
            "20260101",
            "a\0bcdefgh",
            &long,
            "       seven77 ",
        ] {
            let problem = check_value(value).expect_err("it passed");
            assert!(problem.code == "bad_secret", "{problem:?}");
            assert!(
                value.trim().is_empty() || !problem.message.contains(value.trim()),
                "{problem:?}"
            );
        }
    }

    #[test]
    fn a_secret_reference_has_no_place_for_a_value() {
        let valid = json!({"name": "A_TOKEN", "vaultKey": "keyring:wakeful/A_TOKEN", "scope": "agent"});
        let read: SecretRef = serde_json::from_value(valid.clone()).expect("a reference");
        assert_eq!(serde_json::to_value(&read).ok(), Some(valid.clone()));
        for field in ["value", "secret", "plaintext"] {
            let mut with_value = valid.clone();
            with_value[field] = json!("s3cret-value");
            assert!(
                serde_json::from_value::<SecretRef>(with_value).is_err(),
                "{field}"
            );
        }
        for word in ["project", "agent"] {
            assert!(SecretRefScope::parse(word).is_some());
        }
        assert!(SecretRefScope::parse("home").is_none());
    }
}
