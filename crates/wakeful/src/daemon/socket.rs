//! The Unix socket in the home through which commands reach the daemon independently of the network.

use std::fs::{self, Metadata};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use tokio::net::{UnixListener, UnixStream};
use wakeful_api::socket::SocketName;

use crate::failure::Failure;

/// A listening socket. Its file is removed when this is dropped.
#[derive(Debug)]
pub(super) struct LocalSocket {
    path: PathBuf,
    /// Device and inode number of the file.
    file: (u64, u64),
}

impl LocalSocket {
    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for LocalSocket {
    fn drop(&mut self) {
        // Removes only the file of this socket: another process may have replaced it.
        if fs::symlink_metadata(&self.path).is_ok_and(|found| id(&found) == self.file) {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Listens at this path, in a folder that only the owner can access. The caller holds the lock of the home,
/// so a socket without a listener is left over from a dead daemon and is replaced. A socket with a
/// listener, or any other file, is left alone. Returns `None` where the file system has no sockets;
/// commands then use TCP.
pub(super) async fn bind(path: &Path) -> Result<Option<(UnixListener, LocalSocket)>, Failure> {
    remove_stale(path).await?;
    let bound = SocketName::of(path).and_then(|name| {
        let listener = UnixListener::bind(name.as_path())?;
        fs::set_permissions(path, fs::Permissions::from_mode(0o600))?;
        let file = id(&fs::symlink_metadata(path)?);
        let path = path.to_owned();
        Ok((listener, LocalSocket { path, file }))
    });
    match bound {
        Ok(bound) => Ok(Some(bound)),
        Err(error) if error.kind() == ErrorKind::AddrInUse => {
            Err(taken(path, "another process listens on it"))
        }
        Err(error) => {
            tracing::warn!(socket = %path.display(), %error, "cannot listen on the socket; commands use TCP");
            Ok(None)
        }
    }
}

fn id(file: &Metadata) -> (u64, u64) {
    (file.dev(), file.ino())
}

async fn remove_stale(path: &Path) -> Result<(), Failure> {
    let unusable = |error: io::Error| taken(path, &error.to_string());
    let found = match fs::symlink_metadata(path) {
        Ok(found) => found,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(unusable(error)),
    };
    if !found.file_type().is_socket() {
        return Err(taken(path, "it is not a socket"));
    }
    let name = SocketName::of(path).map_err(unusable)?;
    match UnixStream::connect(name.as_path()).await {
        Err(error) if error.kind() == ErrorKind::ConnectionRefused => fs::remove_file(path).map_err(unusable),
        // With any other connection error, a process may still be listening.
        Ok(_) | Err(_) => Err(taken(path, "another process listens on it")),
    }
}

fn taken(path: &Path, why: &str) -> Failure {
    let message = format!("cannot use the socket {}: {why}", path.display());
    let hint = "end the process that uses it, or move the file away; then `wakeful daemon start`";
    Failure::new("socket_in_use", message, hint)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::symlink_metadata(path).expect("a file").mode() & 0o777
    }

    #[tokio::test]
    async fn a_socket_is_private_and_removed_with_its_daemon() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("wakeful.sock");
        let bound = bind(&path).await.expect("free").expect("a socket");
        assert_eq!(mode(&path), 0o600);
        drop(bound);
        assert!(!path.exists());
    }

    #[tokio::test]
    async fn a_socket_of_a_dead_daemon_is_replaced() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("wakeful.sock");
        drop(std::os::unix::net::UnixListener::bind(&path).expect("bound"));
        assert!(path.exists(), "it left its file");
        bind(&path).await.expect("stale").expect("a socket");
    }

    #[tokio::test]
    async fn a_path_that_another_process_holds_is_left_alone() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("wakeful.sock");
        let other = std::os::unix::net::UnixListener::bind(&path).expect("bound");
        let refused = bind(&path).await.expect_err("taken");
        assert_eq!(refused.code(), "socket_in_use");
        UnixStream::connect(&path).await.expect("the other still listens");
        drop(other);
        let file = folder.path().join("file");
        fs::write(&file, "mine").expect("written");
        assert_eq!(bind(&file).await.expect_err("a file").code(), "socket_in_use");
        assert_eq!(fs::read_to_string(&file).expect("kept"), "mine");
    }
}
