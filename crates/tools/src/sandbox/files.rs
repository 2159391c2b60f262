//! Landlock: which files a command can reach.
//!
//! Landlock only allows. To leave out the home, everything beside the path to it is allowed, folder by folder
//! from the root down. The folders on that path get no rule of their own, because a rule holds for all that is
//! beneath; so a command can open what is in them but cannot list them.

use std::ffi::OsStr;
use std::fs;
use std::os::fd::OwnedFd;
use std::path::Path;

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, LandlockStatus, PathBeneath,
    Ruleset, RulesetAttr, RulesetCreated, RulesetCreatedAttr, RulesetStatus, Scope,
};
use rustix::fs::{CWD, Mode, OFlags, openat};

use super::wire::Trouble;

/// The newest version whose rights were looked at. Older kernels enforce what they know of it.
const ABI_MAX: ABI = ABI::V9;

/// Most entries of one folder that get a rule. A folder beside the home with more than this is a spool, and
/// what is beyond stays out of reach.
const ENTRIES_MAX: usize = 16_384;

/// Devices that hold nothing and lead nowhere. All others stay out of reach: a disk holds the home, too.
const DEVICES: [&str; 5] = [
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/random",
    "/dev/urandom",
];

/// Where devices are.
const DEVICE_FOLDER: &str = "/dev";

/// Whether the kernel has Landlock and it is switched on.
pub(super) fn is_available() -> bool {
    let probe = Ruleset::default().set_compatibility(CompatLevel::HardRequirement);
    probe
        .handle_access(AccessFs::from_all(ABI::V1))
        .and_then(Ruleset::create)
        .is_ok()
}

/// Restricts this process and all its children for good, and says with which version of Landlock.
pub(super) fn restrict(home: &Path, writable: &[impl AsRef<Path>]) -> Result<u32, Trouble> {
    let mut rules = Ruleset::default()
        .handle_access(AccessFs::from_all(ABI_MAX))
        .and_then(|rules| rules.handle_access(AccessNet::from_all(ABI_MAX)))
        .and_then(|rules| rules.scope(Scope::from_all(ABI_MAX)))
        .and_then(Ruleset::create)
        .map_err(Trouble::failed("restricting files"))?;
    allow_beside(home, &mut rules)?;
    let write =
        AccessFs::from_all(ABI_MAX) & !(AccessFs::MakeChar | AccessFs::MakeBlock | AccessFs::IoctlDev);
    for path in writable {
        let folder = open(path.as_ref()).map_err(Trouble::failed("opening a writable folder"))?;
        allow(&mut rules, folder, write)?;
    }
    for device in DEVICES {
        // A container may lack one or the other.
        if let Ok(device) = open(Path::new(device)) {
            allow(
                &mut rules,
                device,
                AccessFs::ReadFile | AccessFs::WriteFile | AccessFs::IoctlDev,
            )?;
        }
    }
    let status = rules
        .restrict_self()
        .map_err(Trouble::failed("restricting files"))?;
    match (status.ruleset, status.landlock) {
        (
            RulesetStatus::FullyEnforced | RulesetStatus::PartiallyEnforced,
            LandlockStatus::Available { effective_abi, .. },
        ) if status.no_new_privs => Ok(effective_abi as u32),
        _ => Err(Trouble::failed("restricting files")(
            "Landlock took the rules and did not enforce them",
        )),
    }
}

/// Lets everything be read and executed except what lies in the home.
fn allow_beside(home: &Path, rules: &mut RulesetCreated) -> Result<(), Trouble> {
    let read = AccessFs::from_read(ABI_MAX);
    let mut folder = Path::new("/").to_owned();
    for on_the_path in home.components().skip(1) {
        let on_the_path: &OsStr = on_the_path.as_os_str();
        // A folder that cannot be listed has nothing to allow, for the command could not list it either.
        let entries = fs::read_dir(&folder)
            .into_iter()
            .flatten()
            .flatten()
            .take(ENTRIES_MAX);
        for entry in entries.filter(|entry| entry.file_name() != on_the_path) {
            let path = entry.path();
            // What a link leads to is allowed where it is, or it is not.
            let is_link = entry.file_type().map_or(true, |kind| kind.is_symlink());
            if is_link || path.starts_with(DEVICE_FOLDER) {
                continue;
            }
            if let Ok(entry) = open(&path) {
                allow(rules, entry, read)?;
            }
        }
        folder.push(on_the_path);
    }
    Ok(())
}

fn open(path: &Path) -> rustix::io::Result<OwnedFd> {
    openat(
        CWD,
        path,
        OFlags::PATH | OFlags::CLOEXEC | OFlags::NOFOLLOW,
        Mode::empty(),
    )
}

fn allow(rules: &mut RulesetCreated, fd: OwnedFd, access: BitFlags<AccessFs>) -> Result<(), Trouble> {
    // For what is no folder, the library leaves out the rights that only folders have.
    rules
        .add_rule(PathBeneath::new(fd, access))
        .map(|_| ())
        .map_err(Trouble::failed("allowing a path"))
}
