//! Landlock: which files a command can access.
//!
//! Only the named files and folders can be read or written; everything else is inaccessible. Landlock cannot
//! subtract. To exclude the home and other denied paths from an allowed folder, everything beside the path to
//! them is allowed, folder by folder from the allowed one down, and likewise for every other path at which
//! they are visible. The folders on such a path get no rule, because a rule applies to everything beneath; so
//! a command can open their contents but cannot list them.

use std::fs;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, LandlockStatus, PathBeneath,
    Ruleset, RulesetAttr, RulesetCreated, RulesetCreatedAttr, RulesetError, RulesetStatus, Scope,
};
use rustix::fs::{CWD, Mode, OFlags, openat};

use super::network_namespace::NetworkAccess;
use super::protocol::StageError;
use crate::mounts::{Mount, names_of};
use crate::options::DisabledFeatures;

/// The newest version whose rights were reviewed. Older kernels enforce the subset that they support.
const ABI_MAX: ABI = ABI::V9;

/// The version to simulate when an old one is requested.
const ABI_OLD: ABI = ABI::V2;

/// Most entries of one folder that get a rule. A folder beside the home with more entries is a spool, and
/// the rest stays inaccessible.
const ENTRIES_MAX: usize = 16_384;

/// Harmless devices. All others stay inaccessible: a disk device, for example, contains the home.
const DEVICES: [&str; 5] = [
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/random",
    "/dev/urandom",
];

const DEVICE_FOLDER: &str = "/dev";

/// Whether the kernel has Landlock and it is enabled.
pub(super) fn is_available() -> bool {
    let probe = Ruleset::default().set_compatibility(CompatLevel::HardRequirement);
    probe
        .handle_access(AccessFs::from_all(ABI::V1))
        .and_then(Ruleset::create)
        .is_ok()
}

/// The paths that a command may access.
pub(super) struct AllowedPaths<'a> {
    /// Neither readable nor writable.
    pub(super) home: &'a Path,
    /// The same, and these may be inside an allowed folder.
    pub(super) closed: &'a [PathBuf],
    pub(super) readable: &'a [PathBuf],
    /// Readable too.
    pub(super) writable: &'a [PathBuf],
    /// A folder whose entries that must not change are read-only mounts. No folder can be created in it, so that
    /// none of the missing ones can appear.
    pub(super) shared: Option<&'a Path>,
    /// A command with its own network may bind and connect in it.
    pub(super) network: NetworkAccess,
}

/// Restricts this process and all its children permanently, and returns the version of Landlock.
pub(super) fn restrict(reach: &AllowedPaths<'_>, pretend: DisabledFeatures) -> Result<u32, StageError> {
    let abi = if pretend.old_landlock { ABI_OLD } else { ABI_MAX };
    let mut rules = handled(abi, reach.network).map_err(StageError::failed("restricting files"))?;
    let mounts = Mount::all().map_err(StageError::failed("reading the mount table"))?;
    let mut hidden = names_of(reach.home, &mounts);
    for path in reach.writable {
        // Only a mount made after startup can cause this. A writable folder cannot be hidden.
        if hidden.iter().any(|name| name.starts_with(path)) {
            return Err(StageError::failed("hiding the home")(
                "it is mounted inside the workspace",
            ));
        }
    }
    hidden.extend(reach.closed.iter().flat_map(|place| names_of(place, &mounts)));
    let readable = Beside {
        hidden: &hidden,
        access: AccessFs::from_read(ABI_MAX),
    };
    let is_hidden = |path: &PathBuf| hidden.iter().any(|name| path.starts_with(name));
    for path in reach.readable.iter().filter(|path| !is_hidden(path)) {
        if readable.is_around_hidden(path) {
            readable.allow(path, &mut rules)?;
        } else if let Ok(path) = open(path) {
            // One that disappeared meanwhile needs no rule.
            allow(&mut rules, path, readable.access)?;
        }
    }
    let all = AccessFs::from_all(abi);
    let writable = Beside {
        hidden: &hidden,
        access: all & !(AccessFs::MakeChar | AccessFs::MakeBlock | AccessFs::IoctlDev),
    };
    for path in reach.writable {
        // Everything beside a denied path may be written, but nothing can be created in its parent folders,
        // because that right would apply to the denied path too.
        if writable.is_around_hidden(path) {
            writable.allow(path, &mut rules)?;
            continue;
        }
        let folder = open(path).map_err(StageError::failed("opening a writable folder"))?;
        allow(&mut rules, folder, writable.access)?;
    }
    if let Some(path) = reach.shared.filter(|path| !readable.is_around_hidden(path)) {
        let folder = open(path).map_err(StageError::failed("opening the folder of the repository"))?;
        let replace = AccessFs::WriteFile | AccessFs::Truncate | AccessFs::MakeReg | AccessFs::RemoveFile;
        allow(&mut rules, folder, all & (readable.access | replace))?;
    }
    for device in DEVICES {
        // A container may lack some of them.
        if let Ok(device) = open(Path::new(device)) {
            let use_it = AccessFs::ReadFile | AccessFs::WriteFile | AccessFs::IoctlDev;
            allow(&mut rules, device, all & use_it)?;
        }
    }
    let status = rules
        .restrict_self()
        .map_err(StageError::failed("restricting files"))?;
    match (status.ruleset, status.landlock) {
        (
            RulesetStatus::FullyEnforced | RulesetStatus::PartiallyEnforced,
            LandlockStatus::Available { effective_abi, .. },
        ) if status.no_new_privs => Ok((effective_abi as u32).min(abi as u32)),
        _ => Err(StageError::failed("restricting files")(
            "Landlock accepted the rules and did not enforce them",
        )),
    }
}

/// A ruleset that handles every right of the version, except those of networks in a separate one.
fn handled(abi: ABI, network: NetworkAccess) -> Result<RulesetCreated, RulesetError> {
    let rules = Ruleset::default().handle_access(AccessFs::from_all(abi))?;
    let (net, scope) = (AccessNet::from_all(abi), Scope::from_all(abi));
    // The library rejects an empty set of rights.
    let rules = if net.is_empty() || network == NetworkAccess::Loopback {
        rules
    } else {
        rules.handle_access(net)?
    };
    let rules = if scope.is_empty() {
        rules
    } else {
        rules.scope(scope)?
    };
    rules.create()
}

/// Access to everything in a folder except the hidden paths.
struct Beside<'a> {
    hidden: &'a [PathBuf],
    access: BitFlags<AccessFs>,
}

impl Beside<'_> {
    fn is_around_hidden(&self, folder: &Path) -> bool {
        self.hidden.iter().any(|name| name.starts_with(folder))
    }

    /// Adds the rules. Descends only into folders that contain a hidden path.
    fn allow(&self, folder: &Path, rules: &mut RulesetCreated) -> Result<(), StageError> {
        // A folder that cannot be listed needs no rules: the command could not list it either.
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        for entry in entries.take(ENTRIES_MAX) {
            let path = entry.path();
            // The target of a link is allowed or denied at its own path.
            let is_link = entry.file_type().map_or(true, |kind| kind.is_symlink());
            if is_link || path.starts_with(DEVICE_FOLDER) || self.hidden.contains(&path) {
                continue;
            }
            if self.is_around_hidden(&path) {
                self.allow(&path, rules)?;
            } else if let Ok(entry) = open(&path) {
                allow(rules, entry, self.access)?;
            }
        }
        Ok(())
    }
}

fn open(path: &Path) -> rustix::io::Result<OwnedFd> {
    openat(
        CWD,
        path,
        OFlags::PATH | OFlags::CLOEXEC | OFlags::NOFOLLOW,
        Mode::empty(),
    )
}

fn allow(rules: &mut RulesetCreated, fd: OwnedFd, access: BitFlags<AccessFs>) -> Result<(), StageError> {
    // For files, the library drops the rights that apply only to folders.
    rules
        .add_rule(PathBeneath::new(fd, access))
        .map(|_| ())
        .map_err(StageError::failed("allowing a path"))
}
