//! The key of this device, in a file that only its owner can read. It is created when something is first
//! signed.

use std::fs;
use std::io::{ErrorKind, Write as _};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;

use wakeful_core::key::Digest;
use wakeful_core::proof::signing::DeviceKey;
use wakeful_ports::clock::Entropy as _;

use crate::failure::Failure;
use crate::system::RealEntropy;

/// Reads the key. A file that others can read is refused, because anyone who reads it can sign as this
/// device.
pub(crate) fn read(path: &Path) -> Result<DeviceKey, Failure> {
    seed(path).map(|seed| DeviceKey::from_seed(&seed))
}

/// The secret itself, for code that must redact it.
pub(crate) fn secret(path: &Path) -> Option<String> {
    seed(path).ok().map(|seed| Digest::from_bytes(seed).to_string())
}

fn seed(path: &Path) -> Result<[u8; 32], Failure> {
    let unreadable = |error: &std::io::Error| {
        let attempt = format!("cannot read the device key {}", path.display());
        Failure::io(
            "device_key_unreadable",
            &attempt,
            error,
            "make the file readable for your user",
        )
    };
    let found = fs::metadata(path).map_err(|error| unreadable(&error))?;
    let mode = found.permissions().mode();
    if mode & 0o077 != 0 {
        let message = format!(
            "the device key {} can be read by others (mode {:o})",
            path.display(),
            mode & 0o777
        );
        let hint =
            "run `wakeful doctor --fix` to make it private; anyone who has read it can sign as this device";
        return Err(Failure::new("device_key_exposed", message, hint));
    }
    let text = fs::read_to_string(path).map_err(|error| unreadable(&error))?;
    let seed = Digest::from_hex(text.trim()).map(|digest| *digest.as_bytes());
    seed.ok_or_else(|| {
        let message = format!("{} does not contain a device key", path.display());
        let hint = "restore it from a backup, or move it away to start as a new device";
        Failure::new("device_key_damaged", message, hint)
    })
}

/// Reads the key, or creates it if it does not exist. Concurrent processes all get the same key.
pub(crate) fn read_or_make(path: &Path) -> Result<DeviceKey, Failure> {
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        Ok(_) | Err(_) => return read(path),
    }
    let made = make(path);
    made.map_err(|error| {
        let attempt = format!("cannot create the device key {}", path.display());
        Failure::io("home_unwritable", &attempt, &error, "make the home writable")
    })?;
    read(path)
}

/// Writes the key to a temporary file and links it into place: a crash leaves no partial key, and the first
/// key wins.
fn make(path: &Path) -> std::io::Result<()> {
    let draft = path.with_extension(format!("draft.{}", std::process::id()));
    // Left over from an earlier process with the same pid.
    let _ = fs::remove_file(&draft);
    let text = Digest::from_bytes(RealEntropy.random_bytes()).to_string();
    let mut new = fs::OpenOptions::new();
    let mut file = new.write(true).create_new(true).mode(0o600).open(&draft)?;
    let linked = file
        .write_all(text.as_bytes())
        .and_then(|()| file.sync_all())
        .and_then(|()| fs::hard_link(&draft, path));
    fs::remove_file(&draft)?;
    match linked {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
        linked => linked,
    }?;
    path.parent()
        .map_or(Ok(()), |folder| fs::File::open(folder)?.sync_all())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_key_is_created_once_and_is_private() {
        let home = tempfile::tempdir().expect("a folder");
        let path = home.path().join("device.key");
        let made = read_or_make(&path).expect("made").public();
        assert_eq!(read_or_make(&path).expect("read").public(), made);
        let mode = fs::metadata(&path).expect("there").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        assert_eq!(
            fs::read_dir(home.path()).expect("a folder").count(),
            1,
            "no draft stays"
        );
    }

    #[test]
    fn a_device_key_that_is_exposed_or_invalid_is_refused() {
        let home = tempfile::tempdir().expect("a folder");
        let path = home.path().join("device.key");
        read_or_make(&path).expect("made");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).expect("changed");
        assert_eq!(read(&path).expect_err("exposed").code(), "device_key_exposed");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).expect("changed");
        fs::write(&path, "half a k").expect("damaged");
        assert_eq!(
            read_or_make(&path).expect_err("damaged").code(),
            "device_key_damaged"
        );
    }
}
