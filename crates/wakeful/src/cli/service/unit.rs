//! Generates the systemd unit of the daemon. The functions are pure, so that tests can cover unusual paths.

use std::path::Path;

use crate::failure::Failure;

/// The first line, which identifies units written by this program.
pub(super) const MARK: &str =
    "# Written by `wakeful service install`; remove it with `wakeful service uninstall`.";

/// The text of the unit for this program and this home; both paths are absolute.
///
/// The unit restricts only what neither the daemon nor the sandbox needs. Commands are confined by their
/// own user namespaces, Landlock and seccomp rules, so namespaces, mounts and system calls stay available
/// here.
pub(super) fn unit(program: &Path, home: &Path) -> Result<String, Failure> {
    let (program, home) = (executable(program)?, quoted(text(home)?));
    Ok(format!(
        "\
{MARK}
[Unit]
Description=Wakeful, a durable home for AI agents

[Service]
# The daemon reports when it serves; the migration of a large database may take minutes.
Type=notify
TimeoutStartSec=600
ExecStart=:{program} serve --home {home}
Restart=on-failure
RestartSec=2
# A usage error does not go away by restarting.
RestartPreventExitStatus=2
# SIGTERM stops the daemon cleanly with status 0; a second signal ends it immediately with 143.
SuccessExitStatus=143
# The daemon stops its commands itself; systemd kills what is left.
KillMode=mixed
TimeoutStopSec=20
# If a command exhausts the memory, only that command is killed.
OOMPolicy=continue
# Each command gets a cgroup next to the daemon's own, so that the kernel limits its processes and memory.
Delegate=pids memory
# Keep transcripts and tokens out of core dumps.
LimitCORE=0
NoNewPrivileges=yes
RestrictRealtime=yes

[Install]
WantedBy=default.target\n"
    ))
}

/// Quotes an argument for a systemd command line: backslash escapes inside quotes, and doubled percent
/// signs, which otherwise start a specifier. Dollar signs need no escaping, because the colon before the
/// command disables substitution.
pub(super) fn quoted(word: &str) -> String {
    let mut quoted = String::from("\"");
    for c in word.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            '%' => quoted.push_str("%%"),
            c if c.is_ascii_control() => quoted.push_str(&format!("\\x{:02x}", u32::from(c))),
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

/// The path of the program; systemd permits fewer characters there than in arguments, quoted or not.
fn executable(program: &Path) -> Result<String, Failure> {
    let text = text(program)?;
    if text.contains(|c: char| c.is_control() || matches!(c, '"' | '\'' | '\\')) {
        let message =
            format!("systemd cannot start a program with quotes or backslashes in its path: {text}");
        return Err(Failure::new(
            "service_path_invalid",
            message,
            "install wakeful under another path",
        ));
    }
    Ok(quoted(text))
}

fn text(path: &Path) -> Result<&str, Failure> {
    path.to_str().ok_or_else(|| {
        let message = format!("the path {} is not UTF-8", path.display());
        Failure::new("service_path_invalid", message, "use a path that is valid UTF-8")
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Parses the first argument as systemd does: specifiers first, then quotes and escapes.
    fn read(word: &str) -> String {
        let word = word.replace("%%", "%");
        let mut chars = word.strip_prefix('"').expect("a quote").chars();
        let mut text = String::new();
        loop {
            match chars.next().expect("an end") {
                '"' => break,
                '\\' => match chars.next().expect("something escaped") {
                    'x' => {
                        let digits: String = chars.by_ref().take(2).collect();
                        let code = u8::from_str_radix(&digits, 16).expect("two digits");
                        text.push(char::from(code));
                    }
                    c => text.push(c),
                },
                c => text.push(c),
            }
        }
        assert_eq!(chars.next(), None, "nothing stands behind the word");
        text
    }

    proptest! {
        /// Any path stays one argument on one line, contains no specifier, and is parsed back unchanged.
        #[test]
        fn a_quoted_path_is_parsed_back_unchanged(path in "/([ a-z%$\"'\\\\;#\n\t{}é]|%%|\\PC){0,24}") {
            let word = quoted(&path);
            prop_assert!(!word.contains('\n'));
            prop_assert!(!word.replace("%%", "").contains('%'));
            prop_assert_eq!(read(&word), path);
        }
    }

    #[test]
    fn a_unit_names_the_program_and_the_home() {
        let unit = unit(
            Path::new("/opt/my apps/wakeful"),
            Path::new("/home/a b/100%/.wakeful"),
        )
        .expect("a unit");
        let line = unit
            .lines()
            .find(|line| line.starts_with("ExecStart="))
            .expect("a command");
        assert_eq!(
            line,
            r#"ExecStart=:"/opt/my apps/wakeful" serve --home "/home/a b/100%%/.wakeful""#
        );
        assert!(unit.starts_with(MARK));
    }

    #[test]
    fn a_path_that_systemd_cannot_start_is_refused() {
        use std::os::unix::ffi::OsStrExt as _;
        let home = Path::new("/h");
        for bad in ["/a\"b", "/a'b", "/a\\b", "/a\nb"] {
            let refused = unit(Path::new(bad), home).expect_err(bad);
            assert_eq!(refused.code(), "service_path_invalid");
        }
        let odd = Path::new(std::ffi::OsStr::from_bytes(b"/h\xff"));
        assert_eq!(
            unit(Path::new("/w"), odd).expect_err("not text").code(),
            "service_path_invalid"
        );
    }
}
