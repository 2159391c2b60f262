//! Remembers in the home how far this kernel can confine commands.
//!
//! Trying a command takes several times as long as the rest of `wakeful status`. The answer stays valid until
//! something changes on which it depends: the kernel, its settings, this program, or what confines this process.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use wakeful_api::Confinement;
use wakeful_core::key::{Digest, derived_hash};

use crate::sandbox_probe;
use crate::system::replace_file;

const FILE: &str = "confinement.json";

/// Far more than the file has.
const FILE_BYTES_MAX: u64 = 4_096;

/// The running kernel and the settings that switch parts of the sandbox off.
const KERNEL: [&str; 8] = [
    "/proc/sys/kernel/random/boot_id",
    "/proc/sys/user/max_user_namespaces",
    "/proc/sys/user/max_pid_namespaces",
    "/proc/sys/user/max_mnt_namespaces",
    "/proc/sys/user/max_net_namespaces",
    "/proc/sys/kernel/unprivileged_userns_clone",
    "/proc/sys/kernel/apparmor_restrict_unprivileged_userns",
    "/proc/self/attr/current",
];

/// The namespaces of this process.
const NAMESPACES: [&str; 4] = ["user", "mnt", "net", "pid"];

/// The lines of `/proc/self/status` on which the sandbox depends.
const STATUS_LINES: [&str; 6] = ["Uid:", "Gid:", "CapEff:", "CapBnd:", "NoNewPrivs:", "Seccomp:"];

#[derive(Debug, Serialize, Deserialize)]
struct Remembered {
    /// Hash of everything on which the confinement depends.
    system: Digest,
    confinement: Confinement,
}

/// The confinement of a command; none if it cannot be checked.
pub(crate) async fn confinement(home: &Path) -> Option<Confinement> {
    let (file, system) = (home.join(FILE), system());
    if let Some(known) = remembered(&file, system) {
        return Some(known);
    }
    let confinement = sandbox_probe::confinement().await?;
    let text = serde_json::to_string(&Remembered { system, confinement }).ok()?;
    // Without the file, the next status tries a command again.
    let _written = replace_file(&file, &text);
    Some(confinement)
}

/// The confinement in the file, if it was determined on this system.
fn remembered(file: &Path, system: Digest) -> Option<Confinement> {
    let size = fs::symlink_metadata(file).ok()?.len();
    let text = (size <= FILE_BYTES_MAX).then(|| fs::read_to_string(file).ok())??;
    let known: Remembered = serde_json::from_str(&text).ok()?;
    (known.system == system).then_some(known.confinement)
}

fn system() -> Digest {
    let text = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let mut facts: Vec<String> = KERNEL.into_iter().map(text).collect();
    let link = |name: &str| fs::read_link(PathBuf::from("/proc/self/ns").join(name));
    let namespaces = NAMESPACES.into_iter().map(|name| link(name).unwrap_or_default());
    facts.extend(namespaces.map(|path| path.to_string_lossy().into_owned()));
    let status = text("/proc/self/status");
    let lines = status
        .lines()
        .filter(|line| STATUS_LINES.iter().any(|name| line.starts_with(name)));
    facts.extend(lines.map(str::to_owned));
    if let Ok(program) = fs::metadata("/proc/self/exe") {
        facts.push(format!(
            "{} {} {}",
            program.ino(),
            program.size(),
            program.mtime_nsec()
        ));
    }
    let facts: Vec<&str> = facts.iter().map(String::as_str).collect();
    derived_hash("confinement", &facts)
}

#[cfg(test)]
mod tests {
    use wakeful_api::ConfinementState;

    use super::*;

    fn nothing_enforced() -> Confinement {
        let state = ConfinementState::NotEnforced;
        Confinement {
            path: state,
            write: state,
            network: state,
            secret: state,
            child_process: state,
        }
    }

    #[test]
    fn a_confinement_is_remembered_for_one_system() {
        let folder = tempfile::tempdir().expect("a folder");
        let (file, here) = (folder.path().join(FILE), system());
        assert_eq!(remembered(&file, here), None);
        for (system, expected) in [
            (here, Some(nothing_enforced())),
            (Digest::of(b"another kernel"), None),
        ] {
            let known = Remembered {
                system,
                confinement: nothing_enforced(),
            };
            replace_file(&file, &serde_json::to_string(&known).expect("JSON")).expect("written");
            assert_eq!(remembered(&file, here), expected);
        }
        fs::write(&file, "{").expect("written");
        assert_eq!(remembered(&file, here), None);
    }
}
