//! The unit by which systemd keeps the daemon running. Pure, so that every path can be tried.

use std::path::Path;

use crate::failure::Failure;

/// The first line, by which we know the unit as ours.
pub(super) const MARK: &str =
    "# Written by `wakeful service install`; remove it with `wakeful service uninstall`.";

/// The unit's text for this program and this home, both absolute.
///
/// What is locked down is what the daemon can do without and the sandbox does not need: commands are confined by
/// user namespaces, Landlock and seccomp of their own, so namespaces, mounts and system calls stay free here.
pub(super) fn unit(program: &Path, home: &Path) -> Result<String, Failure> {
    let (program, home) = (executable(program)?, quoted(text(home)?));
    Ok(format!(
        "\
{MARK}
[Unit]
Description=Wakeful, a durable home for AI agents

[Service]
Type=exec
ExecStart=:{program} serve --home {home}
Restart=on-failure
RestartSec=2
# A wrong call stays wrong however often it is made.
RestartPreventExitStatus=2
# SIGTERM stops the daemon in good order with status 0; one that a second signal has cut short ends with 143.
SuccessExitStatus=143
# The daemon stops its commands itself; what is left after that is killed.
KillMode=mixed
TimeoutStopSec=20
# A command that takes all memory ends alone.
OOMPolicy=continue
# Each command gets a cgroup beside the daemon's own, so that the kernel bounds its processes and memory.
Delegate=pids memory
# Transcripts and tokens do not end up in core dumps.
LimitCORE=0
NoNewPrivileges=yes
RestrictRealtime=yes

[Install]
WantedBy=default.target
"
    ))
}

/// A word of a command line as systemd reads it: within quotes, backslashes escape, and a percent sign begins a
/// specifier unless it is doubled. That a dollar sign stands for itself is said once, by the colon before it all.
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

/// A program's path; systemd takes fewer characters there than in arguments, quoted or not.
fn executable(program: &Path) -> Result<String, Failure> {
    let text = text(program)?;
    if text.contains(|c: char| c.is_control() || matches!(c, '"' | '\'' | '\\')) {
        let message = format!("systemd starts no program with quotes or backslashes in its path: {text}");
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
        Failure::new("service_path_invalid", message, "use a path of UTF-8 text")
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Reads the first word as systemd does: specifiers first, then quotes and escapes.
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
        /// Whatever a path holds, it stays one word on one line, no specifier is left in it, and it reads back.
        #[test]
        fn a_path_reads_back_as_it_was(path in "/([ a-z%$\"'\\\\;#\n\t{}é]|%%|\\PC){0,24}") {
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
