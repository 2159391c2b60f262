//! The name and mail address that commands commit with. The user's Git settings are in the user's folder, which
//! commands cannot read, and may name programs; so only these two values are passed, as variables.

use std::collections::BTreeMap;
use std::process::{Command, Stdio};
use std::sync::OnceLock;

/// Longest value that is passed.
const VALUE_BYTES_MAX: usize = 512;

/// The settings, and the variables that replace them.
const VALUES: [(&str, [&str; 2]); 2] = [
    ("user.name ", ["GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME"]),
    ("user.email ", ["GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL"]),
];

/// What Git needs to find the user's settings.
const PASSED: [&str; 3] = ["PATH", "HOME", "XDG_CONFIG_HOME"];

/// The variables for the user of this process, read once.
pub(crate) fn variables(environment: &BTreeMap<String, String>) -> &'static [(String, String)] {
    static READ: OnceLock<Vec<(String, String)>> = OnceLock::new();
    READ.get_or_init(|| parse(&settings(environment).unwrap_or_default()))
}

fn settings(environment: &BTreeMap<String, String>) -> Option<String> {
    let mut git = Command::new("git");
    git.args(["config", "--global", "--get-regexp", r"^user\.(name|email)$"]);
    let passed = PASSED.iter().filter_map(|name| environment.get_key_value(*name));
    git.env_clear().envs(passed).current_dir("/");
    let output = git.stdin(Stdio::null()).stderr(Stdio::null()).output().ok()?;
    String::from_utf8(output.stdout).ok()
}

fn parse(settings: &str) -> Vec<(String, String)> {
    let mut found = BTreeMap::new();
    for line in settings.lines() {
        for (setting, names) in VALUES {
            let Some(value) = line.strip_prefix(setting).map(str::trim) else {
                continue;
            };
            if !value.is_empty() && value.len() <= VALUE_BYTES_MAX && !value.contains('\0') {
                found.extend(names.map(|name| (name.to_owned(), value.to_owned())));
            }
        }
    }
    found.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_name_and_mail_address_count() {
        let found = parse("user.name A\nuser.email a@b\nuser.name B C\nuser.emailx no\nuser.email \n");
        let expected = [
            ("GIT_AUTHOR_EMAIL", "a@b"),
            ("GIT_AUTHOR_NAME", "B C"),
            ("GIT_COMMITTER_EMAIL", "a@b"),
            ("GIT_COMMITTER_NAME", "B C"),
        ];
        assert_eq!(
            found,
            expected.map(|(name, value)| (name.to_owned(), value.to_owned()))
        );
    }
}
